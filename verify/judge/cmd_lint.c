/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-judge lint: are the specs good? For every case the reference is asked, and what is known to
 * be right or wrong is compared with its answer by the tolerance that candidates meet.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>

#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/judge/call.h"
#include "verify/judge/cli.h"

enum {
	READY_MS = 120 * 1000,
	STEPS_OF = 50, /* one element of so many may lie at a step of the operator */
	TRUSTED_ULPS = 16, /* times what a spec allows: the trusted implementation's own error */
};

/* What nobody should get away with: each must be refused for every result in at least one case of
 * an interface. */
enum wrong {
	WRONG_ZEROS,
	WRONG_ONES,
	WRONG_INPUT, /* the first input of the same number of elements */
	WRONG_UNCHANGED, /* what the parameter held before the call */
	WRONG_COARSE, /* half the precision */
	WRONG_LAST, /* the last element is missing */
	N_WRONG,
};

static const char *const wrong_names[N_WRONG] = {
	"zeros",
	"ones",
	"an input",
	"what was there before",
	"half the precision",
	"the last element left out",
};

struct lint {
	struct kgb_judge judge;
	struct kgb_buf problems;
	size_t n_problems;
	bool refused[KGB_MAX_RESULTS][N_WRONG]; /* of the interface at hand */
	bool tried[KGB_MAX_RESULTS][N_WRONG];
	bool does_something; /* a case of it changes an argument or gives a new tensor */
};

static void note(struct lint *lint, const char *fmt, ...) KGB_PRINTF(2, 3);
static void note(struct lint *lint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	if (lint->n_problems++ < 8)
		kgb_buf_addf(&lint->problems, "#   %s\n", text);
}

/* ---- results that are right and wrong ---- */

static int64_t numel(const struct kgb_truth *truth)
{
	return kgb_view_numel(&truth->view);
}

static const void *input_like(const struct kgb_data *data, const struct kgb_truth *truth)
{
	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_view *view = &data->kase->args[i].view;
		if (data->storages[i] && view->dtype == truth->view.dtype &&
		    view->storage_elements == numel(truth) && view->offset == 0)
			return data->storages[i];
	}
	return NULL;
}

/* What the result's own parameter holds before the call, if it is an input. */
static bool unchanged(const struct kgb_data *data, size_t result, char *values)
{
	size_t holder = kgb_call_holder(data->kase, result);

	if (holder == SIZE_MAX || data->kase->args[holder].param->kind != KGB_PARAM_TENSOR)
		return false;
	kgb_view_gather(&data->kase->args[holder].view, data->storages[holder], values);
	return true;
}

static enum kgb_dtype coarser(enum kgb_dtype dtype)
{
	return dtype == KGB_DTYPE_FLOAT64   ? KGB_DTYPE_FLOAT32
	       : dtype == KGB_DTYPE_FLOAT32 ? KGB_DTYPE_FLOAT16
	       : dtype == KGB_DTYPE_FLOAT16 ? KGB_DTYPE_BFLOAT16
					    : KGB_N_DTYPES;
}

/* Changes `values`, which hold the native result; false if it cannot be made wrong this way. */
static bool make_wrong(const struct kgb_data *data, size_t result, enum wrong wrong, char *values)
{
	const struct kgb_truth *truth = &data->results[result];
	enum kgb_dtype dtype = truth->view.dtype;
	size_t size = kgb_dtype_size(dtype);
	const void *input = NULL;

	switch (wrong) {
	case WRONG_ZEROS:
		memset(values, 0, (size_t)numel(truth) * size);
		return true;
	case WRONG_ONES:
		for (int64_t i = 0; i < numel(truth); i++)
			kgb_dtype_store(dtype, values + (size_t)i * size, 1);
		return true;
	case WRONG_INPUT:
		input = input_like(data, truth);
		if (input)
			memcpy(values, input, (size_t)numel(truth) * size);
		return input != NULL;
	case WRONG_UNCHANGED:
		return unchanged(data, result, values);
	case WRONG_COARSE: /* infinities and the like are often right in any precision */
		if (data->kase->mode == KGB_MODE_SPECIAL)
			return false;
		for (int64_t i = 0; coarser(dtype) != KGB_N_DTYPES && i < numel(truth); i++) {
			char *at = values + (size_t)i * size;
			kgb_dtype_store(dtype, at,
					kgb_dtype_round(coarser(dtype), kgb_dtype_load(dtype, at)));
		}
		return coarser(dtype) != KGB_N_DTYPES;
	case WRONG_LAST:
		memset(values + (size_t)(numel(truth) - 1) * size, 0, size);
		return true;
	case N_WRONG:
		break;
	}
	KGB_UNREACHABLE();
}

/* Every result as the trusted implementation made it, in one way made wrong. */
static void try_wrong(struct lint *lint, const struct kgb_data *data, size_t i, enum wrong wrong)
{
	const struct kgb_truth *truth = &data->results[i];
	size_t bytes = (size_t)numel(truth) * kgb_dtype_size(truth->view.dtype);
	struct kgb_call call = {0};
	struct kgb_compare compare;

	if (lint->refused[i][wrong] || !truth->native)
		return;
	call.values[i] = kgb_xmalloc(bytes);
	memcpy(call.values[i], truth->native, bytes);
	/* What changes nothing is not wrong: with k = 1 a sum over k is its input. */
	bool is_made = make_wrong(data, i, wrong, call.values[i]);
	bool differs = memcmp(call.values[i], truth->native, bytes) != 0;
	lint->does_something |= wrong == WRONG_UNCHANGED && (!is_made || differs);
	if (is_made && differs) {
		lint->tried[i][wrong] = true;
		lint->refused[i][wrong] = !kgb_call_compare(data, &call, i, &compare);
	}
	kgb_call_release(&call);
}

static void try_right(struct lint *lint, const struct kgb_data *data, size_t i)
{
	struct kgb_call call = {0};
	struct kgb_compare compare;

	call.values[i] = data->results[i].native; /* borrowed */
	if (!kgb_call_compare(data, &call, i, &compare))
		note(lint,
		     "%s: result %zu of the reference itself is refused: %lld of %lld wrong, %g "
		     "instead of %g",
		     data->kase->name, i, (long long)compare.n_wrong, (long long)compare.n_elements,
		     compare.got, compare.expected);
}

/* Its error widens the tolerance, so it must not be a large one: measured by that of rounding the
 * truth alone. A few elements may lie at a step of the operator (a division that is cut off), and
 * what is quantised from half precision is known to be no more exact. */
static void try_precise(struct lint *lint, const struct kgb_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];
	enum kgb_dtype dtype = truth->view.dtype;
	struct kgb_tolerance tolerance = data->kase->interface->tolerance;
	struct kgb_compare compare;

	if (!truth->exact || !kgb_dtype_is_float(dtype) || data->kase->interface->is_rounded[i] ||
	    (tolerance.before_rounding == KGB_ACCUMULATE_RESULT &&
	     data->kase->dtype != KGB_DTYPE_FLOAT32))
		return;
	KGB_AUTO(free)
	char *rounded = kgb_xreallocarray(NULL, (size_t)numel(truth) + 1, kgb_dtype_size(dtype));
	kgb_dtype_store_array(dtype, truth->exact, (size_t)numel(truth), rounded);
	tolerance.ulps *= TRUSTED_ULPS;
	kgb_compare(&truth->view, truth->native, rounded, truth->exact, truth->magnitude,
		    &tolerance, &compare);
	if (compare.n_wrong * STEPS_OF > compare.n_elements || compare.rms_failed)
		note(lint,
		     "%s: result %zu of the reference is imprecise: %g instead of %g, allowed %g",
		     data->kase->name, i, compare.got, compare.expected, compare.allowed_abs_err);
}

/* ---- cases ---- */

static int lint_case(struct lint *lint, const struct kgb_case *c, struct kgb_err *err)
{
	struct kgb_data data;

	kgb_judge_fill(&lint->judge, &data, c, 0);
	int rc = kgb_judge_learn(&lint->judge, &data, err);
	for (size_t i = 0; rc == 0 && i < data.n_results; i++) {
		try_right(lint, &data, i);
		try_precise(lint, &data, i);
		for (int wrong = 0; wrong < N_WRONG; wrong++)
			try_wrong(lint, &data, i, (enum wrong)wrong);
	}
	kgb_data_release(&data);
	return rc;
}

static void settle_interface(struct lint *lint, const struct kgb_interface *interface)
{
	for (size_t i = 0; i < interface->n_results; i++)
		for (int wrong = 0; wrong < N_WRONG; wrong++)
			if (lint->tried[i][wrong] && !lint->refused[i][wrong])
				note(lint, "%s: no case refuses %s as result %zu", interface->entry,
				     wrong_names[wrong], i);
	if (!lint->does_something)
		note(lint, "%s: no case changes anything", interface->entry);
	lint->does_something = false;
	memset(lint->refused, 0, sizeof(lint->refused));
	memset(lint->tried, 0, sizeof(lint->tried));
}

static int lint_cases(struct lint *lint, struct kgb_err *err)
{
	const struct kgb_cases *cases = &lint->judge.cases;
	const struct kgb_interface *interface = NULL;

	for (size_t i = 0; i < cases->n; i++) {
		if (interface && interface != cases->items[i].interface)
			settle_interface(lint, interface);
		interface = cases->items[i].interface;
		if (lint_case(lint, &cases->items[i], err) < 0)
			return -1;
	}
	if (interface)
		settle_interface(lint, interface);
	return 0;
}

/* ---- specs ---- */

struct arguments {
	const char *dataset, *dataset_dir, *python, *device;
	struct kgb_seed seed;
	bool has_seed;
};

static int lint_loaded(struct lint *lint, struct kgb_err *err)
{
	if (kgb_cases_expand(&lint->judge.spec, &lint->judge.cases, err) < 0)
		return -1;
	if (lint->judge.cases.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "no case decides on correctness");
	return kgb_judge_start_reference(&lint->judge, err) < 0 ? -1 : lint_cases(lint, err);
}

/* 0 good, 1 not good. */
static int lint_spec(const struct arguments *a, const struct kgb_judge_options *options,
		     const struct kgb_zygote *zygote, const char *name, const char *path)
{
	struct lint *lint = kgb_xcalloc(1, sizeof(*lint));
	struct kgb_judge *judge = &lint->judge;
	struct kgb_err err = KGB_ERR_INIT;
	int64_t started_ms = kgb_mono_ms();

	lint->problems = (struct kgb_buf)KGB_BUF_INIT(0);
	judge->options = options;
	judge->verdict = kgb_xmalloc(sizeof(*judge->verdict));
	kgb_verdict_init(judge->verdict);
	judge->verdict->seed = a->seed;
	judge->zygotes[KGB_ROLE_REFERENCE] = *zygote;
	kgb_judge_init_lane(judge);
	int rc = kgb_spec_load(path, &judge->spec, &err);
	if (rc == 0)
		rc = lint_loaded(lint, &err);
	if (rc < 0)
		note(lint, "%s", err.msg);
	printf("%s - %s: %zu cases, %zu benchmarks, %.1f s\n%s", lint->n_problems ? "not ok" : "ok",
	       name, judge->cases.n, judge->cases.n_benchmarks,
	       (double)(kgb_mono_ms() - started_ms) / 1000, lint->problems.ptr);
	fflush(stdout);
	rc = lint->n_problems > 0;
	kgb_judge_release_lane(judge);
	kgb_cases_release(&judge->cases);
	kgb_spec_release(&judge->spec);
	kgb_verdict_release(judge->verdict);
	kgb_free(judge->verdict);
	kgb_buf_release(&lint->problems);
	kgb_free(lint);
	return rc;
}

/* Those that were named, or all. -1 *err; else how many are not good. */
static int lint_index(const struct arguments *a, const struct kgb_judge_options *options,
		      const struct kgb_zygote *zygote, char **typed, size_t n_typed,
		      const struct kgb_spec_index *index, struct kgb_err *err)
{
	int n_bad = 0;

	for (size_t i = 0; i < (n_typed ? n_typed : index->names.n); i++) {
		const char *name = n_typed ? NULL : index->names.items[i];
		const char *path = n_typed ? NULL : index->paths.items[i];
		if (n_typed && kgb_spec_index_find(index, typed[i], &name, &path, err) < 0)
			return -1;
		n_bad += lint_spec(a, options, zygote, name, path);
	}
	return n_bad;
}

static int lint_all(const struct arguments *a, char **typed, size_t n_typed, struct kgb_err *err)
{
	struct kgb_places places = {0};
	struct kgb_zygote_spec device = {0};
	struct kgb_zygote zygote = {0};
	struct kgb_spec_index index = {0};
	struct kgb_judge_options options = KGB_JUDGE_OPTIONS_INIT;
	int rc = kgb_places_find(&places, a->python, err);

	if (rc == 0)
		rc = kgb_places_device(&places, a->device, &device, err);
	if (rc == 0)
		rc = kgb_spec_index_load(a->dataset_dir ? a->dataset_dir : places.data_dir,
					 a->dataset, &index, err);
	if (rc == 0) {
		options.device = device.device;
		options.data_dir = device.data_dir = places.data_dir;
		device.python = places.python;
		device.library = places.library;
		rc = kgb_zygote_start(&zygote, KGB_ROLE_REFERENCE, &device, err);
	}
	if (rc == 0)
		rc = kgb_zygote_wait_ready(&zygote, READY_MS, err);
	if (rc == 0)
		rc = lint_index(a, &options, &zygote, typed, n_typed, &index, err);
	kgb_zygote_stop(&zygote);
	kgb_spec_index_release(&index);
	kgb_places_release(&places);
	return rc;
}

int kgb_cmd_lint(int argc, char **argv)
{
	static const struct option options[] = {
		{"dataset", required_argument, NULL, 'd'},
		{"dataset-dir", required_argument, NULL, 'r'},
		{"python", required_argument, NULL, 'p'},
		{"device", required_argument, NULL, 'g'},
		{"seed", required_argument, NULL, 'e'},
		{NULL, 0, NULL, 0},
	};
	struct arguments a = {.dataset = "KernelGenBench", .device = "cpu"};
	struct kgb_err err = KGB_ERR_INIT;
	int option, rc = 0;

	(void)signal(SIGPIPE, SIG_IGN);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1 && rc == 0) {
		if (option == 'd')
			a.dataset = optarg;
		else if (option == 'r')
			a.dataset_dir = optarg;
		else if (option == 'p')
			a.python = optarg;
		else if (option == 'g')
			a.device = optarg;
		else if (option == 'e') {
			a.has_seed = true;
			rc = kgb_parse_hex(optarg, a.seed.bytes, sizeof(a.seed.bytes), &err);
		} else
			rc = kgb_fail(&err, KGB_ERR_INVALID,
				      "unknown option or missing value; see 'kgb-judge --help'");
	}
	if (rc == 0 && !a.has_seed)
		kgb_random(a.seed.bytes, sizeof(a.seed.bytes));
	if (rc == 0)
		rc = lint_all(&a, argv + optind, (size_t)(argc - optind), &err);
	return rc < 0 ? kgb_exit_of(&err) : rc > 0 ? KGB_EXIT_FAILURES : KGB_EXIT_OK;
}
