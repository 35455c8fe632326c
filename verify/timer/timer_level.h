/* SPDX-License-Identifier: MIT */
/** \file
 * The precision of a timing, and its demands on a session (docs/timing.md). */
#ifndef KGB_VERIFY_TIMER_TIMER_LEVEL_H
#define KGB_VERIFY_TIMER_TIMER_LEVEL_H

#include <stdint.h>

#include "verify/protocol/judge_request.h"

#define KGB_TIMER_INPUTS_MAX 16u /* of kgb_timer_level.max_slots */

/** The demands of a precision on a session. The interval of the logarithm of the speedup has two
 * parts: the noise within processes, and the choice of processes. A part is narrow if its
 * half-width is at most half_width, or `width` times the logarithm of 1 + margin if that is larger.
 */
struct kgb_timer_level {
	enum kgb_timing_precision precision; /* to which the demands belong */
	double width;
	double half_width;
	double far; /* the session also ends when the half-width of the whole interval is at most
		       `far` times the logarithm */
	uint32_t placement_rounds; /* consecutive rounds that share a placement; the timer uses 1
				      where calls are slow: a new placement then costs little */
	uint32_t min_placements;
	uint32_t far_placements; /* min_placements for `far` */
	uint32_t max_rounds;
	uint32_t process_placements; /* consecutive placements that share the processes, while the
					part of the choice of processes is not narrow */
	uint32_t max_processes; /* of each side; 1: they never change */
	uint32_t max_slots; /* input sets to prepare, at most */
	uint32_t solo_blocks; /* of the baseline alone, before and after; the first is warm-up */
	uint32_t
		activity_blocks; /* of the four of a round, the first ones; in every fourth round */
	uint64_t budget_ns; /* wall time of all blocks by the judge's clock. A session with fewer
			       than min_placements may take four times as long */
};
extern const struct kgb_timer_level kgb_timer_levels[KGB_N_PRECISIONS];

#endif
