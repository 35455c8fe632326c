/* SPDX-License-Identifier: MIT */
/** \file
 * Running a plan once, for its results.
 */
#ifndef KGB_VERIFY_EXEC_CPU_RUN_H
#define KGB_VERIFY_EXEC_CPU_RUN_H

#include "verify/exec/cpu/memory.h"
#include "verify/exec/cpu/plan.h"

struct kgb_cpu_run {
	struct kgb_cpu_memory memory;
	struct kgb_exec_arena arena;
	int n_threads; /* of launches; 0: as many as cores */
	bool notes_conditions; /* of launches: they have all of the plan's input */
	bool is_outside; /* the input has values that no valid call has */
	int64_t fuel; /* steps of each program of a launch; 0: KGB_MACHINE_FUEL */
};

/** The end of a run. */
struct kgb_cpu_end {
	uint64_t op; /* its number; UINT64_MAX: none, or one of the prologue */
	enum kgb_exec_fault fault; /* KERNEL_FAULT */
};

/** KGB_EXEC_RUN. `prologue` may be NULL. *end, initialised to no op and no fault, describes a
 * failure. */
KGB_MUST_CHECK int kgb_cpu_run_once(struct kgb_cpu_run *run, const struct kgb_exec_request *request,
				    const struct kgb_cpu_plan *plan,
				    const struct kgb_cpu_plan *prologue, struct kgb_cpu_end *end,
				    struct kgb_err *err);

#endif
