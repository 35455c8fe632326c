/* SPDX-License-Identifier: MIT */
/** \file
 * What is left of work that consists of many pieces, some of them under way: time, or money.
 */
#ifndef KGB_AGENT_STATISTICS_REMAINING_H
#define KGB_AGENT_STATISTICS_REMAINING_H

#include <stdbool.h>
#include <stddef.h>

/** Fewer ended pieces of a kind show no spread: nothing is foretold of them. */
#define KGB_REMAINING_LEAST 3

/** What one piece of work has taken so far, in any unit. */
struct kgb_work_piece {
	double amount;
	bool ended; /* else it is under way and takes more than that */
};

/** Pieces that are alike: some of them foretell the others. */
struct kgb_work {
	const struct kgb_work_piece *pieces; /* ended or under way; borrowed */
	size_t n;
	size_t n_waiting;
	size_t n_places; /* of its own, for so many pieces at the same time; 0: it shares places */
	double limit; /* where a piece is ended that has not ended before; 0: none is known */
};

/** NaN: of a kind of which something is left, fewer than KGB_REMAINING_LEAST pieces have ended. */
struct kgb_remaining {
	double median, low,
		high; /* of all work that is left; quantiles 5 % and 95 %, which hold the
			 truth in about four of five simulated runs (docs/statistics.md) */
};

/** When the last piece ends, from now on, where each free place takes the next piece that waits;
 * kinds that share places take turns. By up to 200 simulations, of which each
 * - draws the known pieces of a kind with replacement (Efron 1981, censored pairs stay together);
 * - estimates from them how much a piece takes: as Kaplan and Meier (1958) do up to the longest
 *   piece that has ended, so that long pieces under way count, and beyond it by the most likely
 *   log-normal distribution, up to the limit;
 * - draws from that estimate: a piece under way given what it has taken, a waiting one afresh.
 * They are the same for the same input. \param n_shared Places that kinds without places of their
 * own share; one at least when there are such kinds. */
struct kgb_remaining kgb_remaining_time(const struct kgb_work *kinds, size_t n_kinds,
					size_t n_shared);
/** The same for what all pieces take together from now on. */
struct kgb_remaining kgb_remaining_sum(const struct kgb_work *kinds, size_t n_kinds);

#endif
