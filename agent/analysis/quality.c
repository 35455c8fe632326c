/* SPDX-License-Identifier: MIT */
/** \file
 * Maintainability index and cyclomatic complexity of kernels, as radon computes them, beside the
 * outcomes of the kernels. */
#include <math.h>
#include <unistd.h>

#include "agent/analysis/analysis.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "verify/tensor/statistics.h"

#define QUALITY "Kernels: medians [quartiles]"
#define SCRIPT "verify/python/analysis/quality.py"
#define EXIT_NO_RADON 3 /* as the script has it */
#define TIMEOUT_MS (10 * 60 * 1000)
#define OUTPUT_MAX (32u << 20)

static const struct kgb_table_column columns[] = {
	KGB_ANALYSIS_COLUMNS,
	{"kernels", "kernels", NULL},
	{"n", "n", QUALITY},
	{"maintainability", "maintainability", QUALITY},
	{"maintainability_q1", NULL, QUALITY},
	{"maintainability_q3", NULL, QUALITY},
	{"trivial", "trivial", QUALITY},
	{"complexity", "complexity", QUALITY},
	{"complexity_q1", NULL, QUALITY},
	{"complexity_q3", NULL, QUALITY},
	{"complexity_max", "most", QUALITY},
	{"lines", "lines", QUALITY},
};

/** What radon finds about a kernel. */
struct kgb_quality {
	double maintainability, complexity, complexity_max, lines;
	bool is_trivial; /* without operators and operands */
};

/* ---- asking radon ---- */

static void write_paths(const struct kgb_runs *runs, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_array(&w);
	KGB_VEC_FOREACH(run, &runs->list)
		KGB_VEC_FOREACH(op, &run->ops) {
			KGB_AUTO(free)
			char *path = op->kernel ? kgb_path_join(run->path, op->kernel) : NULL;
			if (path)
				kgb_jsonw_str(&w, path);
		}
	kgb_jsonw_array_end(&w);
}

static int ask_radon(const struct kgb_analysis *a, cJSON **answer, struct kgb_err *err)
{
	KGB_AUTO(free) char *script = kgb_path_join(a->data_dir, SCRIPT);
	KGB_AUTO(buf) struct kgb_buf paths = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	const char *const argv[] = {a->python, "-I", script, NULL};
	const char *const env[] = {"LC_ALL=C.UTF-8", NULL};
	struct kgb_proc_end end;
	write_paths(a->runs, &paths);
	const struct kgb_proc_spec spec = {.argv = argv,
					   .env = env,
					   .capture_fd = STDOUT_FILENO,
					   .limit = OUTPUT_MAX,
					   .timeout_ms = TIMEOUT_MS,
					   .input = &paths};
	if (access(a->python, X_OK) < 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"--quality: there is no Python at '%s': run `kgb-agent setup`, or "
				"set paths.python",
				a->python);
	if (kgb_proc_run(&spec, &out, &end, err) < 0)
		return kgb_ctx(err, "--quality");
	if (end.interrupted)
		return kgb_fail(err, KGB_ERR_CANCELLED, "--quality: interrupted");
	if (end.exit_code == EXIT_NO_RADON)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"--quality: '%s' has no radon: run `kgb-agent setup`, or that "
				"Python with -m pip install radon==6.0.1",
				a->python);
	if (end.exit_code != 0)
		return kgb_fail(err, KGB_ERR_FAILED, "--quality: '%s' ended with status %d", script,
				end.exit_code);
	return kgb_json_parse(out.ptr, out.len, answer, err);
}

/** NULL: the file has no figures. */
static const struct kgb_quality *quality_of(struct kgb_runs *runs, const cJSON *answer)
{
	struct kgb_quality *out = NULL;
	if (!kgb_json_get(answer, "maintainability"))
		return NULL;
	out = kgb_arena_alloc(&runs->arena, sizeof(*out));
	*out = (struct kgb_quality){
		.maintainability = kgb_json_num(answer, "maintainability", (double)NAN),
		.complexity = kgb_json_num(answer, "complexity", (double)NAN),
		.complexity_max = kgb_json_num(answer, "complexity_max", (double)NAN),
		.lines = kgb_json_num(answer, "lines", (double)NAN),
		.is_trivial = kgb_json_bool(answer, "is_trivial", false),
	};
	return out;
}

/** In the order of write_paths. */
static void take_answer(struct kgb_analysis *a, const cJSON *answer)
{
	const cJSON *next = answer ? answer->child : NULL;
	for (size_t r = 0; r < a->runs->list.n; r++) {
		size_t n_unread = 0;
		KGB_VEC_FOREACH(op, &a->runs->list.items[r].ops) {
			if (!op->kernel || !next)
				continue;
			op->quality = quality_of(a->runs, next);
			n_unread += !op->quality;
			next = next->next;
		}
		if (n_unread > 0)
			kgb_strv_addf(a->notes, "%s: radon cannot read %zu kernels",
				      a->labels.items[r], n_unread);
	}
}

/* ---- rows ---- */

static bool is_any(KGB_UNUSED const struct kgb_op_row *op)
{
	return true;
}

static bool is_right(const struct kgb_op_row *op)
{
	return op->is_correct;
}

static bool is_wrong(const struct kgb_op_row *op)
{
	return !op->is_correct;
}

static bool is_faster(const struct kgb_op_row *op)
{
	return op->speedup > 1;
}

static bool is_slower(const struct kgb_op_row *op)
{
	return op->speedup <= 1;
}

static const struct outcome {
	const char *name;
	bool (*has)(const struct kgb_op_row *op);
} outcomes[] = {{"all", is_any},
		{"right", is_right},
		{"not right", is_wrong},
		{"faster", is_faster},
		{"not faster", is_slower}};

struct values {
	KGB_VEC(double) list;
};

static void add_quartiles(struct kgb_table *table, const struct values *values)
{
	const double *list = values->list.items;
	const size_t n = values->list.n;
	const double low = kgb_quantile(list, n, 0.25), high = kgb_quantile(list, n, 0.75);
	const double median = kgb_median(list, n);
	kgb_table_number(table, median, "%.1f [%.1f, %.1f]", median, low, high);
	kgb_table_number(table, low, "%s", "");
	kgb_table_number(table, high, "%s", "");
}

struct sample {
	struct values maintainability, complexity, lines;
	double complexity_max;
	size_t n_trivial;
};

static void take(const struct kgb_quality *q, struct sample *out)
{
	KGB_VEC_ADD(&out->maintainability.list, q->maintainability);
	KGB_VEC_ADD(&out->complexity.list, q->complexity);
	KGB_VEC_ADD(&out->lines.list, q->lines);
	out->complexity_max = fmax(out->complexity_max, q->complexity_max);
	out->n_trivial += q->is_trivial;
}

static void release(struct sample *s)
{
	KGB_VEC_RELEASE(&s->maintainability.list);
	KGB_VEC_RELEASE(&s->complexity.list);
	KGB_VEC_RELEASE(&s->lines.list);
}

static void add_row(const struct kgb_analysis *a, const struct kgb_group *group, size_t run,
		    const struct outcome *outcome, struct kgb_table *table)
{
	struct sample s = {.complexity_max = (double)NAN};
	KGB_VEC_FOREACH(op, &group->runs->list.items[run].ops)
		if (kgb_op_is_in(op, group->name) && op->quality && outcome->has(op))
			take(op->quality, &s);
	const double lines = kgb_median(s.lines.list.items, s.lines.list.n);
	if (s.lines.list.n > 0) {
		kgb_analysis_begin(a, group, run, table);
		kgb_table_word(table, outcome->name);
		kgb_table_count(table, s.lines.list.n);
		add_quartiles(table, &s.maintainability);
		kgb_table_count(table, s.n_trivial);
		add_quartiles(table, &s.complexity);
		kgb_table_number(table, s.complexity_max, "%.0f", s.complexity_max);
		kgb_table_number(table, lines, "%.0f", lines);
	}
	release(&s);
}

static void add_rows(struct kgb_analysis *a, const struct kgb_group *group, struct kgb_table *table)
{
	for (size_t r = 0; r < group->runs->list.n; r++)
		for (size_t i = 0; i < KGB_ARRAY_LEN(outcomes); i++)
			add_row(a, group, r, &outcomes[i], table);
}

static int add(struct kgb_analysis *a, struct kgb_table *table, struct kgb_err *err)
{
	KGB_AUTO(json) cJSON *answer = NULL;
	if (ask_radon(a, &answer, err) < 0)
		return -1;
	take_answer(a, answer);
	kgb_analysis_each(a, add_rows, table);
	kgb_strv_add(
		a->notes,
		"Neither figure shows whether a kernel is right or fast. The maintainability "
		"index falls with length and branches and rises with comments; it is 100 for a "
		"file without operators and operands (trivial).");
	return 0;
}

const struct kgb_view kgb_view_quality = {
	.member = "quality",
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
