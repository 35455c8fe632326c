/* SPDX-License-Identifier: MIT */
/** \file
 * What is left of work that consists of many pieces alike, some of them under way: time, or money.
 */
#ifndef KGB_AGENT_STATISTICS_REMAINING_H
#define KGB_AGENT_STATISTICS_REMAINING_H

#include <stdbool.h>
#include <stddef.h>

/** Fewer ended pieces show no spread: nothing is foretold of them. */
#define KGB_REMAINING_LEAST 3

/** What one piece of work has taken so far, in any unit. */
struct kgb_piece {
	double amount;
	bool ended; /* else it is under way and takes more than that */
};

/** NaN: fewer than KGB_REMAINING_LEAST pieces have ended. */
struct kgb_remaining {
	double median, low,
		high; /* of all work that is left; quantiles 5 % and 95 %, which hold the
			 truth in about four of five simulated runs (docs/statistics.md) */
};

/** What the pieces under way and `n_waiting` others take from now on, by 200 simulations. Each
 * draws the known pieces with replacement (Efron 1981, censored pairs stay together), estimates
 * from them how much a piece takes (Kaplan and Meier 1958, so that long pieces under way count),
 * and draws from that estimate: a piece under way given what it has taken, a waiting one afresh.
 * Beyond the largest known amount the rest is exponential, with all amounts by the number of ends
 * as its mean. \param at_a_time Pieces that are worked on at the same time: the result is the time
 * until the last one ends, when each free place takes the next piece. 0: the result is the sum. The
 * simulations are the same for the same input. */
struct kgb_remaining kgb_remaining(const struct kgb_piece *pieces, size_t n, size_t n_waiting,
				   size_t at_a_time);

#endif
