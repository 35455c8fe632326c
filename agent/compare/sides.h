/* SPDX-License-Identifier: MIT */
/** \file
 * The sides of a comparison, each with all attempts of a method at each operator. Repeats of a
 * method are joined; the samples of a bare model are its attempts. */
#ifndef KGB_AGENT_COMPARE_SIDES_H
#define KGB_AGENT_COMPARE_SIDES_H

#include "agent/answers/runs.h"
#include "agent/report/tabular.h"
#include "base/buf.h"

/** One attempt at an operator: the final outcome of a run, or a sample or a chain of rounds of a
 * bare model. NaN: unknown. */
struct kgb_try {
	bool is_core, is_correct;
	double speedup; /* of a correct kernel */
	double tokens, dollars, seconds;
};

struct kgb_side_op {
	const struct kgb_op_row *row; /* of the first run that has it */
	const char *code; /* why an attempt did not pass: of the last that did not; NULL: all did */
	KGB_VEC(struct kgb_try) tries; /* at least one */
};

struct kgb_side {
	const char *label; /* kgb_run_rows_label of the first runs of all sides */
	KGB_VEC(const struct kgb_run_row *) runs;
	KGB_VEC(struct kgb_side_op) ops; /* in the order of the plans, without replaced kernels */
	size_t max_tries; /* of an operator */
};

struct kgb_sides {
	KGB_VEC(struct kgb_side) list;
	struct kgb_arena arena; /* of labels and codes */
};

/** The rule that joins runs to one side. */
enum kgb_sides_by {
	KGB_SIDES_BY_METHOD, /* the same method and model, and whether it was offline */
	/* The same, unless that leaves one side: then each word of the command line is a side, and
	 * when there is one word, each run. */
	KGB_SIDES_BY_METHOD_OR_WORD,
	KGB_SIDES_BY_RUN, /* nothing: each run is a side */
};

/** Sort runs into sides, in the order of the first run of each. An operator of a bare model without
 * a judged sample has one attempt that failed: it stays in the denominator. \param runs must
 * outlive the sides */
KGB_MUST_CHECK int kgb_sides_of(const struct kgb_runs *runs, enum kgb_sides_by by,
				struct kgb_sides *out, struct kgb_err *err);
/** The operator of that name; NULL: the side has none. \param likely its place, tried first. */
const struct kgb_side_op *kgb_side_find(const struct kgb_side *side, const char *name,
					size_t likely);
/** Append a description of the side for people: "3 runs, model m-1, 2 completed", or a run's name
 * in place of their number. */
void kgb_side_describe(const struct kgb_side *side, struct kgb_buf *out);
/** Add a cell with the names of its runs, separated by blanks. */
void kgb_side_add_runs(const struct kgb_side *side, struct kgb_table *table);
void kgb_sides_release(struct kgb_sides *sides);
void kgb_auto_sides(struct kgb_sides *sides);

/* Within this room. */

/** Add the outcome of an attempt; `code` is copied into the arena. */
void kgb_side__add_try(struct kgb_side_op *op, const struct kgb_try *attempt, const char *code,
		       struct kgb_arena *arena);
/** Add the judged samples of a run to the side, which has its operators. \param text samples.jsonl
 */
KGB_MUST_CHECK int kgb_side__add_samples(struct kgb_side *side, const struct kgb_run_row *run,
					 const char *text, struct kgb_arena *arena,
					 struct kgb_err *err);

#endif
