/* SPDX-License-Identifier: MIT */
/** \file
 * Runs as rows: what each operator of each run came to, read from results.json, and of a run that
 * has not ended from its journal. Every answer about runs begins here.
 */
#ifndef KGB_AGENT_ANSWERS_RUNS_H
#define KGB_AGENT_ANSWERS_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

/** One operator of one run. Words are NULL and numbers NaN where nothing is known. */
struct kgb_op_row {
	const char *name; /* "aten::add" */
	const char *status; /* of results.json */
	const char *code; /* why it did not pass */
	const char *reached; /* the ladder's rung; of an older passed verdict "correct" */
	const char *source, *category, *gpu, *baseline, *spec_sha256;
	bool is_replaced; /* counts in no rate */
	bool is_finished; /* else it counts as not passed */
	bool is_compiled, is_core, is_correct; /* rungs reached by a kernel of the run */
	double speedup; /* of a correct kernel */
	double tokens, dollars; /* of all attempts, those lost included */
	double agent_seconds, verify_seconds;
};

struct kgb_run_row {
	const char *name, *path;
	const char *method, *model, *gateway, *dataset, *platform, *host;
	const char *status; /* "running" when the journal has no end */
	const char *start_time; /* RFC 3339 */
	bool is_offline; /* by the built-in script: its figures show nothing about a model */
	double wall_seconds;
	KGB_VEC(struct kgb_op_row) ops; /* in the order of the plan */
};

/** All runs that a command is about. */
struct kgb_runs {
	KGB_VEC(struct kgb_run_row) list;
	struct kgb_arena arena; /* of all words */
};

/** Add to `paths` the folders of the runs that the words name, each run once: a run below
 * `runs_dir`, the path of a run, a folder of runs, or a pattern of either ("naive_cc_*"). No word:
 * the latest run. NOT_FOUND with the nearest names. */
KGB_MUST_CHECK int kgb_runs_find(const char *runs_dir, const struct kgb_strv *words,
				 struct kgb_strv *paths, struct kgb_err *err);
/** Add the run in a folder. INVALID names the file that is broken. */
KGB_MUST_CHECK int kgb_runs_read(struct kgb_runs *runs, const char *path, struct kgb_err *err);
/** Append the text of its results.json; of a run whose journal is newer, or alone, what the journal
 * makes of it. */
KGB_MUST_CHECK int kgb_run_document(const char *path, struct kgb_buf *out, struct kgb_err *err);
/** Add a label for each run: its method, with a number where several runs have it. */
void kgb_runs_label(const struct kgb_runs *runs, struct kgb_strv *labels);
/** The operator of that name; NULL: the run has none. \param likely its place in a run of the same
 * plan, where it is looked for first. */
const struct kgb_op_row *kgb_run_row_find(const struct kgb_run_row *run, const char *name,
					  size_t likely);
void kgb_runs_release(struct kgb_runs *runs);
void kgb_auto_runs(struct kgb_runs *runs);

#endif
