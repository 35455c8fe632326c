/* SPDX-License-Identifier: MIT */
/** \file
 * A plan that is ready to run on the CPU: checked, its modules of Triton's IR parsed.
 */
#ifndef KGB_VERIFY_EXEC_CPU_PLAN_H
#define KGB_VERIFY_EXEC_CPU_PLAN_H

#include "verify/exec/exec_plan.h"
#include "verify/machine/machine.h"
#include "verify/protocol/conditions.h"

struct kgb_cpu_plan {
	struct kgb_exec_plan sent; /* its `bytes` are NULL: there is no such plan */
	struct kgb_machine_program **programs; /* owned; one for each image of the record; NULL for
						  the image of torch's moves */
	uint8_t **outcomes; /* owned; for each program: what its conditions were so far, then what
			       they were on inputs that no valid call has */
};

/** Make a plan of a memfd with a record. BAD_PLAN names the part that cannot be replayed,
 * UNSUPPORTED an operation that the machine lacks, or a module that is too large for it. *value,
 * UINT64_MAX before: the op of such a launch. On failure *plan is empty. */
KGB_MUST_CHECK int kgb_cpu_plan_load(struct kgb_cpu_plan *plan, int record_fd, uint64_t *value,
				     struct kgb_err *err);
void kgb_cpu_plan_release(struct kgb_cpu_plan *plan);

/** The program of a launch; NULL: it is one of torch's moves. */
const struct kgb_machine_program *kgb_cpu_plan_program(const struct kgb_cpu_plan *plan,
						       const struct kgb_launch *launch);
/** Where such a launch notes its conditions. `outside`: on inputs that no valid call has. */
uint8_t *kgb_cpu_plan_outcomes(const struct kgb_cpu_plan *plan, const struct kgb_launch *launch,
			       bool outside);
/** Add what all conditions of the plan were so far. The plan may be empty. */
void kgb_cpu_plan_add_conditions(const struct kgb_cpu_plan *plan,
				 struct kgb_conditions *conditions);

#endif
