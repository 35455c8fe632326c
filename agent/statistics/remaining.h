/* SPDX-License-Identifier: MIT */
/** \file
 * Forecasts the rest of work that consists of many pieces, some of them under way: its time, or its
 * cost. */
#ifndef KGB_AGENT_STATISTICS_REMAINING_H
#define KGB_AGENT_STATISTICS_REMAINING_H

#include <stdbool.h>
#include <stddef.h>

/** Fewest ended pieces of a kind for a forecast: fewer show no spread. */
#define KGB_REMAINING_LEAST 3

/** The amount that one piece of work has taken so far, in any unit. */
struct kgb_work_piece {
	double amount;
	bool ended; /* else it is under way and takes more than that */
};

/** Pieces that are alike: the ended ones predict the others. */
struct kgb_work {
	const struct kgb_work_piece *pieces; /* ended or under way; borrowed */
	size_t n;
	size_t n_waiting;
	size_t n_places; /* separate places, for so many pieces at the same time; 0: shares places
			  */
	double limit; /* where a piece is ended that has not ended before; 0: none is known */
};

/** NaN: of a kind of which something is left, fewer than KGB_REMAINING_LEAST pieces have ended. */
struct kgb_remaining {
	double median, low,
		high; /* of all work that is left; quantiles 5 % and 95 %, which hold the
			 truth in about four of five simulated runs (docs/statistics.md) */
};

/** The time from now until the last piece ends, if each free place takes the next piece that waits;
 * kinds that share places take turns. By up to 200 simulations, of which each
 * - draws the known pieces of a kind with replacement (Efron 1981, censored pairs stay together);
 * - estimates from them how much a piece takes: as Kaplan and Meier (1958) do up to the longest
 *   piece that has ended, so that long pieces under way count, and beyond it by the most likely
 *   log-normal distribution, up to the limit;
 * - draws from that estimate: a piece under way given what it has taken, a waiting one afresh. They
 * are the same for the same input. \param n_shared Places that kinds without separate places share;
 * one at least when there are such kinds. */
struct kgb_remaining kgb_remaining_time(const struct kgb_work *kinds, size_t n_kinds,
					size_t n_shared);
/** The same for the total of all pieces from now on. */
struct kgb_remaining kgb_remaining_sum(const struct kgb_work *kinds, size_t n_kinds);

#endif
