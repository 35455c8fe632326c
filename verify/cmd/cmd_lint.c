/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-judge lint: lints several specs side by side (lint.h). A good result is cached until one of
 * its inputs changes. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/formats/jsonw.h"
#include "base/parallel.h"
#include "base/system/cache_dir.h"
#include "base/system/disk_cache.h"
#include "verify/cmd/cli.h"
#include "verify/lint/lint.h"

enum {
	READY_MS = 120 * 1000,
	JOBS_MAX = 16,
	JOBS_ON_GPU = 4, /* each has two contexts there */
	KEPT_MAX = 64 << 10,
	KEPT_TOTAL = 16 << 20,
};

struct arguments {
	const char *dataset, *dataset_dir, *python, *device, *seed;
	bool json, no_cache, time;
	int64_t jobs; /* 0: as many as there are processors */
	int64_t die_with_parent; /* number of the parent process; 0: the option is absent */
};

#define ROW(type, member, ...) KGB_FIELD_ROW(type, arguments, member, __VA_ARGS__)
static const struct kgb_field arguments_table[] = {
	ROW(STR, dataset, "dataset whose specs are linted", .required = true),
	ROW(STR, dataset_dir, "directory that holds datasets/"),
	ROW(STR, python, "interpreter with torch and triton"),
	ROW(STR, device, "cpu, cuda, cuda:N or auto", .def = "cpu"),
	ROW(STR, seed, "32 digits: the same inputs again",
	    .def = "00000000000000000000000000000000"),
	ROW(BOOL, json, "one line of JSON for each operator"),
	ROW(BOOL, no_cache, "lint again operators with a cached good report"),
	ROW(BOOL, time, "time the baselines on every benchmark"),
	ROW(I64, jobs, "number of operators at a time", .min = 1, .max = JOBS_MAX),
	ROW(I64, die_with_parent, "end when this process ends", .min = 1, .max = INT_MAX),
	KGB_FIELD_END,
};
#undef ROW

/* Shared by the threads. */
struct work {
	const struct kgb_lint_options *options;
	const struct kgb_strv *names, *paths;
	struct kgb_disk_cache *kept; /* NULL: none */
	bool json;
	pthread_mutex_t lock; /* protects the members below, and stdout */
	size_t next;
	size_t n_bad;
};

/* ---- output ---- */

/* `name` is that of an operator, or of the dataset for a report on all its operators. */
static void add_text(const char *name, const struct kgb_lint_report *report, struct kgb_buf *out)
{
	kgb_buf_addf(out, "%s - %s: %zu cases, %zu benchmarks, %.1f s%s\n",
		     report->n_problems ? "not ok" : "ok", name, report->n_cases,
		     report->n_benchmarks, (double)report->wall_ms / 1000,
		     report->is_kept ? ", known" : "");
	for (size_t i = 0; i < report->problems.n; i++)
		kgb_buf_addf(out, "#   %s\n", report->problems.items[i]);
	if (report->n_problems > report->problems.n)
		kgb_buf_addf(out, "#   and %zu more\n", report->n_problems - report->problems.n);
}

static void add_list(struct kgb_jsonw *w, const char *key, const struct kgb_strv *list)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_array(w);
	for (size_t i = 0; i < list->n; i++)
		kgb_jsonw_str(w, list->items[i]);
	kgb_jsonw_array_end(w);
}

static void add_medians(struct kgb_jsonw *w, const struct kgb_strv *list)
{
	kgb_jsonw_put(w, "median_ms: {");
	for (size_t i = 0; i < list->n; i++) {
		const char *blank = strrchr(list->items[i], ' ');
		KGB_AUTO(free)
		char *name = kgb_xstrndup(list->items[i], (size_t)(blank - list->items[i]));
		kgb_jsonw_knum(w, name, strtod(blank + 1, NULL));
	}
	kgb_jsonw_object_end(w);
}

static void add_json(const char *name, const struct kgb_lint_report *report, struct kgb_buf *out)
{
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{operator: %s, spec_sha256: %s, benchmarks_sha256: %s, ok: %hhd", name,
		      report->spec_sha256, report->benchmarks_sha256,
		      (bool)(report->n_problems == 0));
	kgb_jsonw_put(&w, "interfaces: %ld, cases: %ld, benchmarks: %ld, wall_ms: %ld",
		      (int64_t)report->n_interfaces, (int64_t)report->n_cases,
		      (int64_t)report->n_benchmarks, report->wall_ms);
	kgb_jsonw_put(&w, "known: %hhd, n_problems: %ld", report->is_kept,
		      (int64_t)report->n_problems);
	add_list(&w, "problems", &report->problems);
	add_medians(&w, &report->medians);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

/* ---- cached reports ---- */

/* Digest of all inputs of a good report except the seed. */
static bool kept_key(const struct work *work, const char *spec_sha256, char key[KGB_SHA256_HEX_LEN])
{
	const char *identity = work->options->zygote.identity;

	if (!work->kept || !identity[0])
		return false;
	KGB_AUTO(free)
	char *text = kgb_xasprintf("lint %d\n%s\n%s\n%s\n", KGB_LINT_VERSION, KGB_VERSION, identity,
				   spec_sha256);
	kgb_sha256_hex(text, strlen(text), key);
	return true;
}

static bool recall(const struct work *work, const char *path, struct kgb_lint_report *report)
{
	struct kgb_spec spec;
	struct kgb_err ignored = KGB_ERR_INIT;
	char key[KGB_SHA256_HEX_LEN];
	KGB_AUTO(buf) struct kgb_buf entry = KGB_BUF_INIT(0);

	if (!work->kept || kgb_spec_load(path, &spec, &ignored) < 0)
		return false;
	memcpy(report->spec_sha256, spec.sha256, sizeof(report->spec_sha256));
	report->n_interfaces = spec.n_interfaces;
	kgb_spec_release(&spec);
	if (!kept_key(work, report->spec_sha256, key) ||
	    !kgb_disk_cache_get(work->kept, key, &entry) || entry.len != 2 * sizeof(uint64_t))
		return false;
	uint64_t counts[2];
	memcpy(counts, entry.ptr, sizeof(counts));
	report->n_cases = (size_t)counts[0];
	report->n_benchmarks = (size_t)counts[1];
	report->is_kept = true;
	return true;
}

static void keep(const struct work *work, const struct kgb_lint_report *report)
{
	const uint64_t counts[] = {report->n_cases, report->n_benchmarks};
	char key[KGB_SHA256_HEX_LEN];

	if (report->n_problems == 0 && kept_key(work, report->spec_sha256, key))
		kgb_disk_cache_put(work->kept, key, counts, sizeof(counts));
}

/* ---- threads ---- */

static bool take_next(struct work *work, size_t *number)
{
	pthread_mutex_lock(&work->lock);
	bool taken = work->next < work->names->n;
	*number = work->next;
	work->next += taken;
	pthread_mutex_unlock(&work->lock);
	return taken;
}

static void *run_thread(void *payload)
{
	struct work *work = payload;
	size_t number;

	while (take_next(work, &number)) {
		struct kgb_lint_report report = {0};
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		if (!recall(work, work->paths->items[number], &report)) {
			kgb_lint_spec(work->options, work->paths->items[number], &report);
			keep(work, &report);
		}
		(work->json ? add_json : add_text)(work->names->items[number], &report, &text);
		pthread_mutex_lock(&work->lock);
		work->n_bad += report.n_problems > 0;
		fputs(text.ptr, stdout);
		fflush(stdout);
		pthread_mutex_unlock(&work->lock);
		kgb_lint_report_release(&report);
	}
	return NULL;
}

static void run_threads(struct work *work, size_t n)
{
	pthread_t threads[JOBS_MAX];
	size_t n_started = 0;

	while (n_started + 1 < n && n_started < JOBS_MAX &&
	       pthread_create(&threads[n_started], NULL, run_thread, work) == 0)
		n_started++;
	(void)run_thread(work);
	for (size_t i = 0; i < n_started; i++)
		(void)pthread_join(threads[i], NULL);
}

/* ---- operators ---- */

/* The named operators, or all. */
static int choose(const struct kgb_spec_index *index, char **typed, size_t n_typed,
		  struct kgb_strv *names, struct kgb_strv *paths, struct kgb_err *err)
{
	for (size_t i = 0; i < (n_typed ? n_typed : index->names.n); i++) {
		const char *name = n_typed ? NULL : index->names.items[i];
		const char *path = n_typed ? NULL : index->paths.items[i];
		if (n_typed && kgb_spec_index_find(index, typed[i], &name, &path, err) < 0)
			return -1;
		kgb_strv_add(names, name);
		kgb_strv_add(paths, path);
	}
	return 0;
}

static size_t count_jobs(const struct arguments *a, int device, size_t n)
{
	const size_t most = device == KGB_DEVICE_CPU ? JOBS_MAX : JOBS_ON_GPU;
	size_t jobs = a->jobs ? (size_t)a->jobs : (size_t)kgb_parallel_cores();

	jobs = a->jobs || jobs < most ? jobs : most;
	return jobs < n ? jobs : n;
}

static int start_zygote(const struct kgb_judge_paths *places, struct kgb_zygote_spec *spec,
			struct kgb_zygote *zygote, struct kgb_err *err)
{
	spec->python = places->python;
	spec->library = places->library;
	spec->data_dir = places->data_dir;
	spec->tells_sizes = true;
	if (kgb_zygote_start(zygote, KGB_ROLE_REFERENCE, spec, err) < 0)
		return -1;
	return kgb_zygote_wait_ready(zygote, READY_MS, err);
}

/* Returns the number of faulty operators; -1: *err. */
static int lint_chosen(const struct arguments *a, const struct kgb_seed *seed,
		       const struct kgb_judge_paths *places, const struct kgb_strv *names,
		       const struct kgb_strv *paths, struct kgb_err *err)
{
	struct kgb_judge_options judge = {0};
	struct kgb_arena arena = {0};
	struct kgb_lint_options options = {.judge = &judge, .seed = *seed};
	struct kgb_zygote_spec device = {0}, cpu = {.device = KGB_DEVICE_CPU};
	struct work work = {.options = &options, .names = names, .paths = paths, .json = a->json};
	int rc = kgb_judge_paths_device(places, a->device, &device, err);

	pthread_rwlock_t quiet;
	pthread_rwlockattr_t waiting_first;
	(void)pthread_rwlockattr_init(&waiting_first);
	(void)pthread_rwlockattr_setkind_np(&waiting_first,
					    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	(void)pthread_rwlock_init(&quiet, &waiting_first);
	options.quiet = a->time ? &quiet : NULL;
	kgb_judge_request_init(&judge.request, &arena);
	judge.device = device.device;
	judge.data_dir = places->data_dir;
	if (rc == 0)
		rc = start_zygote(places, &device, &options.zygote, err);
	if (rc == 0 && judge.device != KGB_DEVICE_CPU)
		rc = start_zygote(places, &cpu, &options.witness, err);
	if (rc == 0) {
		KGB_AUTO(free) char *dir = kgb_cache_dir("lints");
		if (!a->no_cache && judge.device == KGB_DEVICE_CPU && !a->time)
			work.kept = kgb_disk_cache_try(dir, KEPT_MAX, KEPT_TOTAL);
		pthread_mutex_init(&work.lock, NULL);
		run_threads(&work, count_jobs(a, judge.device, names->n));
		pthread_mutex_destroy(&work.lock);
		kgb_disk_cache_free(work.kept);
		rc = (int)work.n_bad;
	}
	kgb_zygote_stop(&options.zygote);
	kgb_zygote_stop(&options.witness);
	kgb_arena_release(&arena);
	(void)pthread_rwlock_destroy(&quiet);
	(void)pthread_rwlockattr_destroy(&waiting_first);
	return rc;
}

/* Checks the names of the dataset's operators: 1 if they are faulty, else 0. */
static int lint_names(const struct arguments *a, const struct kgb_spec_index *index)
{
	struct kgb_lint_report report = {0};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	kgb_lint_names(index, &report);
	(a->json ? add_json : add_text)(a->dataset, &report, &text);
	fputs(text.ptr, stdout);
	int n_bad = report.n_problems > 0;
	kgb_lint_report_release(&report);
	return n_bad;
}

static int lint_all(const struct arguments *a, char **typed, size_t n_typed, struct kgb_err *err)
{
	struct kgb_seed seed = {0};
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	struct kgb_judge_paths places = {0};
	struct kgb_spec_index index = KGB_SPEC_INDEX_INIT;
	int n_bad = 0;

	if (kgb_parse_hex(a->seed, seed.bytes, sizeof(seed.bytes), err) < 0)
		return kgb_ctx(err, "--seed");
	int rc = kgb_judge_paths_find(&places, a->python, err);
	if (rc == 0)
		rc = kgb_spec_index_load(a->dataset_dir ? a->dataset_dir : places.data_dir,
					 a->dataset, &index, err);
	if (rc == 0)
		rc = choose(&index, typed, n_typed, &names, &paths, err);
	if (rc == 0 && n_typed == 0)
		n_bad = lint_names(a, &index);
	if (rc == 0)
		rc = lint_chosen(a, &seed, &places, &names, &paths, err);
	kgb_spec_index_release(&index);
	kgb_judge_paths_release(&places);
	return rc < 0 ? rc : rc + n_bad;
}

int kgb_cmd_lint(int argc, char **argv)
{
	struct kgb_arena arena = {0};
	struct arguments a;
	struct kgb_err err = KGB_ERR_INIT;
	size_t n_typed;

	(void)signal(SIGPIPE, SIG_IGN);
	kgb_decode_defaults(arguments_table, &a, &arena);
	int rc = kgb_options_parse(arguments_table, &a, &arena, argc, argv, &n_typed, &err);
	if (rc == 0 && a.die_with_parent > 0)
		kgb_die_with_parent(a.die_with_parent);
	if (rc == 0 && !a.dataset)
		rc = kgb_fail(&err, KGB_ERR_INVALID, "--dataset NAME is missing");
	if (rc == 0)
		rc = lint_all(&a, argv + 1, n_typed, &err);
	kgb_arena_release(&arena);
	return rc < 0 ? kgb_exit_of(&err) : rc > 0 ? KGB_EXIT_FAILURES : KGB_EXIT_OK;
}
