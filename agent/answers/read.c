/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/answers/details.h"
#include "agent/answers/outline.h"
#include "agent/answers/runs.h"
#include "agent/report/results.h"
#include "agent/report/samples.h"
#include "agent/store/events.h"
#include "agent/store/journal.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/lane/reached.h"

static double number(const cJSON *node, const char *path)
{
	return kgb_json_num(node, path, (double)NAN);
}

/** A sum of what is known; NaN: nothing is. */
static double sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static const char *word(struct kgb_runs *runs, const cJSON *node, const char *path)
{
	const char *text = kgb_json_str(node, path, NULL);
	return text ? kgb_arena_strdup(&runs->arena, text) : NULL;
}

static double tokens_of(const cJSON *node)
{
	const double gateway = number(node, "tokens.gateway.total_tokens");
	return isnan(gateway) ? number(node, "tokens.cli.total_tokens") : gateway;
}

/** The rung that a kernel reached. An older verdict gives a rung only if it is "passed"; a cheating
 * kernel has none. */
static void take_rung(struct kgb_op_row *op)
{
	const bool passed = kgb_str_eq(op->status, "passed");
	const bool cheated = kgb_str_eq(op->status, "cheated");
	if (!op->reached && passed)
		op->reached = "correct";
	const enum kgb_reached reached =
		cheated ? KGB_REACHED_UNKNOWN : kgb_reached_find(op->reached);
	op->is_compiled = !op->is_replaced && reached >= KGB_REACHED_COMPILES;
	op->is_run = !op->is_replaced && reached >= KGB_REACHED_RUNS;
	op->is_core = !op->is_replaced && reached >= KGB_REACHED_CORE;
	op->is_correct = !op->is_replaced && passed;
}

/** 1: its kernel is right on all cases of the mode; NaN: it has no such case. A kernel without a
 * verdict, or that cheated, is not right. An older verdict gives a mode only if it is "passed". */
static double mode_of(const cJSON *node, const struct kgb_op_row *op, const char *mode)
{
	const cJSON *tally = kgb_json_get(kgb_json_get(node, "modes"), mode);
	const int64_t total = kgb_json_i64(tally, "total", -1);
	if (total == 0)
		return (double)NAN;
	if (op->is_replaced || kgb_str_eq(op->status, "cheated"))
		return 0;
	return op->is_correct || (total > 0 && kgb_json_i64(tally, "passed", 0) == total);
}

static void read_op(struct kgb_runs *runs, const cJSON *node, struct kgb_op_row *op)
{
	static const char *const unfinished[] = {"planned", "running", "verifying", "generated",
						 NULL};
	*op = (struct kgb_op_row){
		.name = kgb_arena_strdup(&runs->arena, node->string),
		.status = word(runs, node, "status"),
		.code = word(runs, node, "error_code"),
		.reached = word(runs, node, "reached"),
		.source = word(runs, node, "source"),
		.category = word(runs, node, "category"),
		.platform = word(runs, node, "platform"),
		.gpu = word(runs, node, "gpu"),
		.baseline = word(runs, node, "baseline"),
		.spec_sha256 = word(runs, node, "spec_sha256"),
		.timing_precision = word(runs, node, "timing_precision"),
		.kernel = word(runs, node, "kernel"),
		.kernel_sha256 = word(runs, node, "kernel_sha256"),
		.is_replaced = kgb_str_eq(kgb_json_str(node, "kernel_source", NULL), "replaced"),
		.tokens = sum(tokens_of(node), tokens_of(kgb_json_get(node, "lost"))),
		.dollars = sum(number(node, "cost_usd"), number(node, "lost.cost_usd")),
		.agent_seconds = number(node, "time.agent_seconds"),
		.verify_seconds = number(node, "time.verify_seconds"),
	};
	op->is_finished = !kgb_str_is_one_of(op->status, unfinished);
	take_rung(op);
	const double speedup = number(node, "speedup");
	op->speedup = op->is_correct && speedup > 0 ? speedup : (double)NAN;
	op->speedup_device = op->is_correct ? number(node, "speedup_device") : (double)NAN;
	op->peak_share = op->is_correct ? number(node, "peak_share") : (double)NAN;
	op->standard = mode_of(node, op, "standard");
	op->outlier = mode_of(node, op, "outlier");
	kgb_details__read(runs, node, op);
	if (!op->source) {
		/* Older runs lack it; the name has it. */
		const char *end = strstr(op->name, "::");
		op->source =
			end ? kgb_arena_strndup(&runs->arena, op->name, (size_t)(end - op->name))
			    : NULL;
	}
}

/* ---- documents ---- */

static int check_document(const cJSON *document, struct kgb_err *err)
{
	const char *schema = kgb_json_str(document, "schema", "");
	const cJSON *ops = kgb_json_get(document, "operators"), *op = NULL;
	if (!kgb_str_eq(schema, "kgb.results/1") && !kgb_str_eq(schema, "kgb.results/2"))
		return kgb_fail(err, KGB_ERR_INVALID,
				"schema '%s' is not 'kgb.results/1' or 'kgb.results/2'", schema);
	if (!cJSON_IsObject(ops))
		return kgb_fail(err, KGB_ERR_INVALID, "it has no object 'operators'");
	cJSON_ArrayForEach(op, ops) {
		if (!kgb_json_str(op, "status", NULL))
			return kgb_fail(err, KGB_ERR_INVALID, "operators.%s has no status",
					op->string);
	}
	return 0;
}

static void take_document(struct kgb_runs *runs, const cJSON *document, const char *path)
{
	const cJSON *op = NULL;
	struct kgb_run_row run = {
		.path = kgb_arena_strdup(&runs->arena, path),
		.method = word(runs, document, "method"),
		.model = word(runs, document, "model"),
		.gateway = word(runs, document, "gateway"),
		.dataset = word(runs, document, "dataset"),
		.platform = word(runs, document, "platform"),
		.host = word(runs, document, "host"),
		.status = word(runs, document, "status"),
		.start_time = word(runs, document, "start_time"),
		.wall_seconds = number(document, "summary.seconds.wall"),
	};
	const char *slash = strrchr(run.path, '/');
	run.name = slash ? slash + 1 : run.path; /* a copy has the name of its folder */
	run.is_offline = kgb_str_eq(run.gateway, "offline");
	cJSON_ArrayForEach(op, kgb_json_get(document, "operators")) {
		struct kgb_op_row row;
		read_op(runs, op, &row);
		KGB_VEC_ADD(&run.ops, row);
	}
	KGB_VEC_ADD(&runs->list, run);
}

/** The heavy members that the details are read from; NULL ends the list. */
static const char *const *kept_members(unsigned details)
{
	static const char *const kept[] = {"attempts",   "verify_calls", "timed_cases",
					   "interfaces", "dtypes",       NULL};
	static const char *const steps[] = {"attempts", "verify_calls", NULL};
	if (details == 0)
		return &kept[KGB_ARRAY_LEN(kept) - 1];
	if (details == KGB_DETAIL_STEPS)
		return steps;
	return details == KGB_DETAIL_PARTS ? &kept[2] : kept;
}

/** Parse the outline of a document. A fault has the position of the whole one. */
static int read_document(struct kgb_runs *runs, const char *text, size_t len, const char *path,
			 struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf outline = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *document = NULL;
	KGB_AUTO(json) cJSON *whole = NULL;
	struct kgb_err in_outline = KGB_ERR_INIT;
	kgb_outline(text, len, kept_members(runs->details), &outline);
	if (kgb_json_parse(outline.ptr, outline.len, &document, &in_outline) < 0 &&
	    kgb_json_parse(text, len, &whole, err) < 0)
		return -1;
	if (check_document(document ? document : whole, err) < 0)
		return -1;
	take_document(runs, document ? document : whole, path);
	return 0;
}

static void render_samples(const struct kgb_run_state *state, struct kgb_buf *out)
{
	for (size_t i = 0; i < state->n_ops; i++)
		for (size_t k = 0; k < state->ops[i].n_samples; k++)
			kgb_samples_write_line(&state->ops[i], &state->ops[i].samples[k], out);
}

/** \param samples append samples.jsonl, not results.json */
static int render_journal(const char *path, bool samples, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	KGB_AUTO(run_state) struct kgb_run_state state = KGB_RUN_STATE_INIT;
	struct kgb_journal_scan scan = {0};
	if (kgb_fs_opendir(AT_FDCWD, path, &fd, err) < 0 ||
	    kgb_journal_read(fd, kgb_run_state_fold, &state, &scan, err) < 0)
		return kgb_ctx(err, "%s", path);
	if (samples)
		render_samples(&state, out);
	else
		kgb_results_render(&state, 0, out);
	return 0;
}

/** A journal that went on after results.json was written (a run that lives, or was cut off). */
static bool is_journal_newer(const char *results, const char *journal)
{
	struct stat a, b;
	if (stat(journal, &b) < 0)
		return false;
	if (stat(results, &a) < 0)
		return true;
	return b.st_mtim.tv_sec > a.st_mtim.tv_sec ||
	       (b.st_mtim.tv_sec == a.st_mtim.tv_sec && b.st_mtim.tv_nsec > a.st_mtim.tv_nsec);
}

int kgb_run_document(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *results = kgb_path_join(path, KGB_RESULTS_NAME);
	KGB_AUTO(free) char *journal = kgb_path_join(path, KGB_JOURNAL_NAME);
	return is_journal_newer(results, journal)
		       ? render_journal(path, false, out, err)
		       : kgb_fs_read(AT_FDCWD, results, KGB_LIMIT_JSON, out, err);
}

int kgb_run_samples(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *results = kgb_path_join(path, KGB_RESULTS_NAME);
	KGB_AUTO(free) char *journal = kgb_path_join(path, KGB_JOURNAL_NAME);
	KGB_AUTO(free) char *samples = kgb_path_join(path, KGB_SAMPLES_NAME);
	if (is_journal_newer(results, journal))
		return render_journal(path, true, out, err);
	return access(samples, F_OK) < 0 ? 0
					 : kgb_fs_read(AT_FDCWD, samples, KGB_LIMIT_JSON, out, err);
}

int kgb_runs_read(struct kgb_runs *runs, const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_run_document(path, &text, err) < 0)
		return -1;
	if (read_document(runs, text.ptr, text.len, path, err) < 0)
		return kgb_ctx(err, "%s/%s", path, KGB_RESULTS_NAME);
	if (!(runs->details & KGB_DETAIL_STEPS))
		return 0;
	kgb_buf_clear(&text);
	if (kgb_run_samples(path, &text, err) < 0)
		return -1;
	struct kgb_run_row *run = &runs->list.items[runs->list.n - 1];
	return kgb_details__read_samples(runs, run, text.ptr, text.len, err) < 0
		       ? kgb_ctx(err, "%s", path)
		       : 0;
}

static bool fits(const char *name, const struct kgb_strv *patterns)
{
	const char *colons = strstr(name, "::");
	for (size_t i = 0; i < patterns->n; i++) {
		const char *pattern = patterns->items[i];
		if (fnmatch(pattern, name, 0) == 0 ||
		    (colons && fnmatch(pattern, colons + 2, 0) == 0))
			return true;
	}
	return false;
}

int kgb_runs_keep(struct kgb_runs *runs, const struct kgb_strv *patterns, struct kgb_err *err)
{
	size_t n_left = 0;
	if (patterns->n == 0)
		return 0;
	KGB_VEC_FOREACH(run, &runs->list) {
		size_t n = 0;
		KGB_VEC_FOREACH(op, &run->ops)
			if (fits(op->name, patterns))
				run->ops.items[n++] = *op;
		run->ops.n = n;
		n_left += n;
	}
	if (n_left == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "no operator of these runs is named '%s'",
				patterns->items[0]);
	return 0;
}

const struct kgb_op_row *kgb_run_row_find(const struct kgb_run_row *run, const char *name,
					  size_t likely)
{
	if (likely < run->ops.n && kgb_str_eq(run->ops.items[likely].name, name))
		return &run->ops.items[likely];
	KGB_VEC_FOREACH(op, &run->ops)
		if (kgb_str_eq(op->name, name))
			return op;
	return NULL;
}

void kgb_runs_release(struct kgb_runs *runs)
{
	KGB_VEC_FOREACH(run, &runs->list)
		KGB_VEC_RELEASE(&run->ops);
	KGB_VEC_RELEASE(&runs->list);
	kgb_arena_release(&runs->arena);
}

void kgb_auto_runs(struct kgb_runs *runs)
{
	kgb_runs_release(runs);
}
