/* SPDX-License-Identifier: MIT */
/** \file
 * The precisions and their demands on a session. The reasons are in docs/timing.md. */
#include "verify/timer/timer_parts.h"

enum { PLACEMENTS_MIN = 3 }; /* that a result needs */

const struct kgb_timer_level kgb_timer_levels[KGB_N_PRECISIONS] = {
	[KGB_PRECISION_QUICK] =
		{
			.precision = KGB_PRECISION_QUICK,
			.half_width = 0.014,
			.far = 0.1,
			.placement_rounds = 2,
			.min_placements = 3,
			.far_placements = 3,
			.max_rounds = 64,
			.process_placements = 2,
			.max_processes = 1,
			.max_slots = 8,
			.solo_blocks = 3,
			.activity_blocks = 2,
			.budget_ns = UINT64_C(400000000),
		},
	[KGB_PRECISION_STANDARD] =
		{
			.precision = KGB_PRECISION_STANDARD,
			.width = 0.7,
			.half_width = 0.007,
			.far = 0.03,
			.placement_rounds = 2,
			.min_placements = 4,
			.far_placements = 3,
			.max_rounds = 128,
			.process_placements = 2,
			.max_processes = 3,
			.max_slots = 8,
			.solo_blocks = 3,
			.activity_blocks = 4,
			.budget_ns = UINT64_C(1500000000),
		},
	[KGB_PRECISION_THOROUGH] =
		{
			.precision = KGB_PRECISION_THOROUGH,
			.width = 0.4,
			.far = 0.005,
			.placement_rounds = 1,
			.min_placements = 16,
			.far_placements = 8,
			.max_rounds = 256,
			.process_placements = 8,
			.max_processes = 8,
			.max_slots = KGB_TIMER_INPUTS_MAX,
			.solo_blocks = KGB_TIMER_SOLO_BLOCKS_MAX,
			.activity_blocks = 4,
			.budget_ns = UINT64_C(3000000000),
		},
};

bool kgb_timer__is_level(const struct kgb_timer_level *l)
{
	return l->width >= 0 && l->width < 1 && l->half_width >= 0 && l->half_width < 1 &&
	       l->width + l->half_width > 0 && l->far >= 0 && l->far < 1 &&
	       l->placement_rounds > 0 && l->far_placements >= PLACEMENTS_MIN &&
	       l->far_placements <= l->min_placements &&
	       l->min_placements <= l->max_rounds / l->placement_rounds &&
	       l->max_rounds <= KGB_TIMER_ROUNDS_MAX && l->process_placements > 0 &&
	       l->max_processes > 0 && l->max_slots >= 2 && l->max_slots <= KGB_TIMER_INPUTS_MAX &&
	       l->solo_blocks >= 2 && l->solo_blocks <= KGB_TIMER_SOLO_BLOCKS_MAX &&
	       l->activity_blocks >= 2 && l->activity_blocks <= 4 && l->budget_ns > 0 &&
	       l->budget_ns <= UINT64_MAX / 8;
}
