/* SPDX-License-Identifier: MIT */
/** \file
 * Runs as rows: the outcome of each operator of each run, read from results.json, or from the
 * journal of a run that has not ended. Every answer about runs begins here. */
#ifndef KGB_AGENT_ANSWERS_RUNS_H
#define KGB_AGENT_ANSWERS_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

/** Details beyond the figures of an operator. Each makes long runs slower to read. */
enum kgb_detail {
	KGB_DETAIL_STEPS = 1, /* `steps` and `solved` */
	KGB_DETAIL_PARTS = 2, /* `parts` */
};

/** A kernel on the way to the last one: a round of a method that works in rounds, or a sample of a
 * bare model. */
struct kgb_op_step {
	int chain; /* attempt, or sample */
	int round; /* of the chain, ascending; 0: the kernel that it began with */
	bool is_compiled, is_correct;
	bool has_rung; /* else its verdict is older, and is_compiled is known of a correct kernel
			  only */
	double speedup; /* of a correct kernel */
};

/** The cases of one interface or one element type of an operator. */
struct kgb_op_part {
	const char *name; /* "add_Tensor", "float32" */
	bool is_dtype;
	const char *reached; /* of an interface */
	bool is_correct; /* right on all of its cases */
	double speedup; /* geometric mean over its timed cases */
};

/** The cost of an operator up to some point. */
struct kgb_op_cost {
	double tokens, dollars, seconds;
};

/** One operator of one run. Words are NULL and numbers NaN where nothing is known. */
struct kgb_op_row {
	const char *name; /* "aten::add" */
	const char *status; /* of results.json */
	const char *code; /* why it did not pass */
	const char *reached; /* the ladder's rung; of an older passed verdict "correct" */
	const char *source, *category, *platform, *gpu, *baseline, *spec_sha256;
	const char *timing_precision; /* "quick", ... */
	const char *kernel, *kernel_sha256; /* its file, below the run's folder; and its hash */
	const char *group; /* of kgb_groups_assign */
	const char *part; /* of a row that is a part of an operator (kgb_runs_split) */
	bool is_replaced; /* counts in no rate */
	bool is_finished; /* else it counts as not passed */
	bool is_compiled, is_run, is_core, is_correct; /* rungs reached by a kernel of the run */
	double standard, outlier; /* 1: right on all cases of the mode; NaN: it has no such case */
	double speedup; /* of a correct kernel */
	double speedup_device; /* the same by the device's own clock */
	double peak_share; /* of the device's peak, the larger of memory and arithmetic */
	double tokens, dollars; /* of all attempts, those lost included */
	double agent_seconds, verify_seconds;
	/* Details, in the arena of the runs; none unless they are asked for. */
	const struct kgb_op_step *steps;
	size_t n_steps;
	struct kgb_op_cost solved; /* when its first right kernel was there; NaN: there is none */
	const struct kgb_op_part *parts;
	size_t n_parts;
	const struct kgb_quality
		*quality; /* of its kernel, where agent/analysis/quality.c has asked */
};

struct kgb_run_row {
	const char *name, *path;
	const char *word; /* word of the command line that named it; NULL: none */
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
	unsigned details; /* enum kgb_detail; set before runs are read */
};

/** Add to `paths` the folders of the runs that the words name, each run once: a run below
 * `runs_dir`, the path of a run, a folder of runs, or a pattern of either ("naive_cc_*"). No word:
 * the latest run. NOT_FOUND with the nearest names. */
KGB_MUST_CHECK int kgb_runs_find(const char *runs_dir, const struct kgb_strv *words,
				 struct kgb_strv *paths, struct kgb_err *err);
/** Add the run in a folder. INVALID names the file that is broken. */
KGB_MUST_CHECK int kgb_runs_read(struct kgb_runs *runs, const char *path, struct kgb_err *err);
/** Append the text of its results.json. If the journal is newer, or alone, the text is made from
 * it. */
KGB_MUST_CHECK int kgb_run_document(const char *path, struct kgb_buf *out, struct kgb_err *err);
/** Append its samples.jsonl, likewise; nothing for a run that has none. */
KGB_MUST_CHECK int kgb_run_samples(const char *path, struct kgb_buf *out, struct kgb_err *err);
/** Whether they are repeats: the same method and model, and whether it was offline. */
bool kgb_run_rows_are_repeats(const struct kgb_run_row *a, const struct kgb_run_row *b);
/** Add a unique label for each run: its method, and the model if several runs share the method. A
 * repeat gets the word of the command line if that is short and unique, else a number. */
void kgb_run_rows_label(const struct kgb_run_row *const *rows, size_t n, struct kgb_strv *labels);
/** The same for all runs. */
void kgb_runs_label(const struct kgb_runs *runs, struct kgb_strv *labels);
/** The operator of that name; NULL: the run has none. \param likely its place in a run of the same
 * plan, where it is looked for first. */
const struct kgb_op_row *kgb_run_row_find(const struct kgb_run_row *run, const char *name,
					  size_t likely);
/** Leave out the operators whose name fits none of the patterns ("aten::*", "cublas?gemm*": one
 * without "::" is compared with the name after it). NOT_FOUND: none is left. */
KGB_MUST_CHECK int kgb_runs_keep(struct kgb_runs *runs, const struct kgb_strv *patterns,
				 struct kgb_err *err);
void kgb_runs_release(struct kgb_runs *runs);
void kgb_auto_runs(struct kgb_runs *runs);

#endif
