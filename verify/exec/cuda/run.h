/* SPDX-License-Identifier: MIT */
/** \file
 * Running plans: once for their results (RUN), many times for their time (TIME).
 */
#ifndef KGB_VERIFY_EXEC_CUDA_RUN_H
#define KGB_VERIFY_EXEC_CUDA_RUN_H

#include "verify/exec/cuda/clock.h"
#include "verify/exec/cuda/plan.h"
#include "verify/protocol/exec_request.h"

/** Resources of runs besides plans and memory. */
struct kgb_run {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_device_memory *memory; /* borrowed */
	/** Words in pinned memory that the GPU reads and writes: a timed run starts when [0] is
	 * set, ops that have ended set the rest. */
	volatile uint32_t *words;
	CUdeviceptr words_address;
	CUevent begin, end;
	struct kgb_clock clock;
	const char *cupti; /* borrowed: path of the library; NULL: the loader's path */
};

KGB_MUST_CHECK int kgb_run_open(struct kgb_run *run, struct kgb_gpu *gpu,
				struct kgb_device_memory *memory, const char *cupti,
				struct kgb_err *err);

/** KGB_EXEC_RUN. `prologue` may be NULL. *value, UINT64_MAX before, is as in the reply to a fault
 * or to slack. */
KGB_MUST_CHECK int kgb_run_once(struct kgb_run *run, const struct kgb_exec_request *request,
				struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
				uint64_t *value, struct kgb_err *err);

/** KGB_EXEC_TIME. After success err->msg may hold the reason why there is no activity. */
KGB_MUST_CHECK int kgb_run_timed(struct kgb_run *run, const struct kgb_exec_request *request,
				 struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
				 uint64_t *value, struct kgb_err *err);

/** Put the ops of a plan on its streams, joined to the main stream at both ends. `skip`: an op that
 * is left out, -1: none. `progress`: each op that ends sets its word. Returns before they have run;
 * KGB_EXEC_BAD_PLAN names an op that the driver refuses. */
KGB_MUST_CHECK int kgb_run_issue(struct kgb_run *run, struct kgb_gpu_plan *plan, int32_t skip,
				 bool progress, struct kgb_err *err);

/** Put a prologue on the main stream. Images are cleared first: the plan must not depend on work of
 * the prologue on the plan's input, least of all when only the plan is timed. */
KGB_MUST_CHECK int kgb_run_prologue(struct kgb_run *run, struct kgb_gpu_plan *prologue,
				    struct kgb_err *err);

/** Puts work on the main stream. */
typedef int (*kgb_run_issue_fn)(struct kgb_run *run, void *payload, struct kgb_err *err);
/** Measure work on an idle stream by events and by the host's clock. `gated`: the stream starts
 * only after all of it is issued, so that neither time includes the issue. */
KGB_MUST_CHECK int kgb_run_measure(struct kgb_run *run, kgb_run_issue_fn issue, void *payload,
				   bool gated, int64_t *host_ns, struct kgb_err *err);
/** Nanoseconds between the events of the last measurement. */
KGB_MUST_CHECK int kgb_run_event_ns(struct kgb_run *run, uint64_t *out, struct kgb_err *err);

/** Check that all ops stay in memory that is mapped and that the slots exist. Slack is then all
 * memory without a block of either plan. */
KGB_MUST_CHECK int kgb_run_begin(struct kgb_run *run, const struct kgb_exec_request *request,
				 const struct kgb_gpu_plan *plan,
				 const struct kgb_gpu_plan *prologue, struct kgb_exec_layout *out,
				 struct kgb_err *err);
/** Wait for the end and bring the results back, also when slack was written: the status is then
 * SLACK and *value the lowest address. */
KGB_MUST_CHECK int kgb_run_end(struct kgb_run *run, const struct kgb_exec_request *request,
			       const struct kgb_exec_layout *layout, uint64_t *value,
			       struct kgb_err *err);

#endif
