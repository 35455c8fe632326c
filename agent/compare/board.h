/* SPDX-License-Identifier: MIT */
/** \file
 * A ranking of methods, with ties where no test separates them. */
#ifndef KGB_AGENT_COMPARE_BOARD_H
#define KGB_AGENT_COMPARE_BOARD_H

#include "agent/compare/sides.h"
#include "agent/statistics/bootstrap.h"
#include "agent/statistics/paired.h"
#include "agent/statistics/ranks.h"
#include "agent/statistics/speedup.h"

/** One row: a side with the best of k attempts at each operator (pass@k). Values of operators are
 * those of the operators that all sides have. */
struct kgb_contender {
	const struct kgb_side *side;
	size_t k;
	double *passed; /* owned; of each operator the probability that one of k passes. With fewer
			   attempts than k: of as many as there are */
	struct kgb_estimate core, correct; /* means; Wilson's interval where attempts are single */
	struct kgb_mean of_correct; /* speedup of the fastest of k that are right */
	double with_fallback; /* the same over all operators, 1 where none is right */
	double tokens, dollars, seconds; /* of k attempts, means of operators */
	struct kgb_rank rank;
};

/** Two contenders, the better first. */
struct kgb_contest {
	size_t better, other; /* places */
	struct kgb_paired d; /* of `passed` */
	double p; /* adjusted for all contests */
	double detectable; /* in so many contests */
	bool is_separated;
};

struct kgb_board {
	KGB_VEC(struct kgb_contender) list; /* the best first */
	KGB_VEC(struct kgb_contest) contests; /* all pairs */
	size_t n_ops; /* that all sides have */
	size_t n_left_out; /* that a side lacks */
};

/** The rows of a side: best of k attempts, for each k up to the attempts of its operators. */
struct kgb_board_rows {
	size_t ks[8], n;
	bool one_for_repeats; /* repeats of a run have only k = 1; samples have all */
};

/** Rank the sides. Ranks are those of kgb_rank_with_ties: two share a rank unless a test on their
 * operators (sign flips, adjusted for all pairs by Holm) separates them. INVALID when the sides
 * share no operator. */
KGB_MUST_CHECK int kgb_board_of(const struct kgb_sides *sides, const struct kgb_board_rows *rows,
				struct kgb_board *out, struct kgb_err *err);
void kgb_board_release(struct kgb_board *board);

#endif
