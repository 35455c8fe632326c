/* SPDX-License-Identifier: MIT */
/** \file
 * Ranks that do not order what no test can separate.
 */
#ifndef KGB_AGENT_STATISTICS_RANKS_H
#define KGB_AGENT_STATISTICS_RANKS_H

#include <stdbool.h>
#include <stddef.h>

/** The ranks that the tests leave open to a method: it has the rank `best` when it shares that rank
 * with all methods that no test separates from it. Methods whose ranges meet are a tie group. */
struct kgb_rank {
	size_t best; /* 1 + number of methods that are separably better */
	size_t worst; /* n - number of methods that are separably worse */
};

/** Ranks of n methods by score, a higher one being better, after Mogstad, Romano, Shaikh and
 * Wilhelm (2024). \param separated n x n, symmetric: whether a test (adjusted for their number,
 * kgb_holm) finds a difference between methods i and k. */
void kgb_rank_with_ties(const double *scores, const bool *separated, size_t n,
			struct kgb_rank *out);

#endif
