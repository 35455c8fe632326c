/* SPDX-License-Identifier: MIT */
/** \file
 * Lanes that reach memory: a store or an atomic follows from them, and the program performs it.
 * Only there does an outcome of a condition count. When a region ends, its operations are gone
 * through from the last to the first: those lanes of an operand reach memory from which lanes of
 * the result follow that do. Where it is not known which these are, all do. Inside of the room
 * only. */
#ifndef KGB_VERIFY_PROGRAM_REACH_H
#define KGB_VERIFY_PROGRAM_REACH_H

#include "verify/program/program.h"

/** Of a thread that runs programs. */
struct kgb_reach {
	uint8_t *outcomes; /* borrowed; of the launch; NULL: nothing is noted */
	uint64_t open; /* conditions that had an outcome in this program that they lack, but it is
			  not known whether in a lane that reaches memory */
	const struct kgb_machine_program *program; /* borrowed */
	uint8_t *const *at; /* borrowed; address of each value's elements */
	uint32_t n_searches; /* regions that had something to search for */
	uint8_t *lanes; /* owned; 1: a lane of what follows from a condition reaches memory */
};

/** Prepare for programs whose values are `at` these addresses; release it. `outcomes` is set. */
void kgb_reach__init(struct kgb_reach *reach, const struct kgb_machine_program *program,
		     uint8_t *const *at);
void kgb_reach__release(struct kgb_reach *reach);
/** A condition has run; `width`: combinations at a time. */
void kgb_reach__see(struct kgb_reach *reach, const struct kgb_operation *op, size_t width);
/** A region has run; `blocks`: a bit for each of its blocks that did. */
void kgb_reach__leave(struct kgb_reach *reach, const struct kgb_region *region, uint64_t blocks);

#endif
