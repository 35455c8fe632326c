/* SPDX-License-Identifier: MIT */
#include "verify/program/plan.h"

void kgb_plan_cursor__next(struct kgb_plan_cursor *runs)
{
	const struct kgb_plan *plan = runs->plan;

	runs->i++;
	for (uint32_t axis = plan->n_axes; axis-- > 0;) {
		for (int k = 0; k < 3; k++)
			runs->offset[k] += plan->strides[k][axis];
		if (++runs->at[axis] < plan->sizes[axis])
			return;
		for (int k = 0; k < 3; k++)
			runs->offset[k] -= (size_t)plan->strides[k][axis] * plan->sizes[axis];
		runs->at[axis] = 0;
	}
}
