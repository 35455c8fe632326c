/* SPDX-License-Identifier: MIT */
/** \file
 * The precision of a timing, and its demands on a session (docs/timing.md). */
#ifndef KGB_VERIFY_TIMER_TIMER_LEVEL_H
#define KGB_VERIFY_TIMER_TIMER_LEVEL_H

#include <stdint.h>

#include "verify/protocol/judge_request.h"

#define KGB_TIMER_INPUTS_MAX 16u /* of kgb_timer_level.max_slots */

/** The demands of a precision on a session. Both parts of the interval, the rest and the choice of
 * processes, count as narrow up to the larger of two half-widths of the logarithm. */
struct kgb_timer_level {
	enum kgb_timing_precision precision; /* that it is of */
	double width; /* in parts of the margin */
	double half_width;
	double far; /* in parts of the logarithm of the speedup, for the whole interval */
	uint32_t placement_rounds; /* this many rounds in a row share their placement; 1 where calls
				      are so slow that a placement costs little beside them */
	uint32_t min_placements;
	uint32_t far_placements; /* instead, for `far` */
	uint32_t max_rounds;
	uint32_t process_placements; /* this many placements in a row share the processes, while the
					choice of those is not narrow */
	uint32_t max_processes; /* of each side; 1: they never change */
	uint32_t max_slots; /* input sets that are worth their making */
	uint32_t solo_blocks; /* of the baseline alone, before and after; the first is warm-up */
	uint64_t budget_ns; /* wall time of all blocks by the clock outside. min_placements are
			       tried even then, but no round begins after four times this */
};
extern const struct kgb_timer_level kgb_timer_levels[KGB_N_PRECISIONS];

#endif
