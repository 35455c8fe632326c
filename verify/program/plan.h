/* SPDX-License-Identifier: MIT */
/** \file
 * Loops over the lanes of operands that are stored in different ways. Inside of the room only. */
#ifndef KGB_VERIFY_PROGRAM_PLAN_H
#define KGB_VERIFY_PROGRAM_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "verify/ttir/ttir_type.h"

/** How a loop traverses operands that collapse different axes: in runs, and along axes around the
 * runs. From lane to lane of a run, each operand moves by one element or stays. */
struct kgb_plan {
	uint32_t n_runs, run; /* run: elements of the result in each */
	unsigned moves; /* bit k: operand k moves within a run */
	uint32_t n_axes; /* around the runs, outermost first */
	uint32_t sizes[KGB_TTIR_RANK_MAX];
	uint32_t strides[3][KGB_TTIR_RANK_MAX]; /* of operand k, in elements */
};

/** A position in a plan: offset[k] is the offset of operand k in the current run, in elements. */
struct kgb_plan_cursor {
	const struct kgb_plan *plan;
	uint32_t at[KGB_TTIR_RANK_MAX];
	size_t offset[3];
	uint32_t i; /* runs done */
};
void kgb_plan_cursor__next(struct kgb_plan_cursor *runs);

#endif
