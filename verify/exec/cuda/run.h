/* SPDX-License-Identifier: MIT */
/** \file
 * Running plans: once for their results (RUN), many times for their time (TIME). Statuses as in
 * verify/exec/cuda/gpu.h.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_RUN_H
#define KGB_VERIFY_EXEC_CUDA_RUN_H

#include "verify/exec/cuda/clock.h"
#include "verify/exec/cuda/plan.h"
#include "verify/protocol/exec_request.h"

/** What runs need besides plans and memory. */
struct kgb_run {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_memory *memory; /* borrowed */
	/** Words in pinned memory that the GPU reads and writes: [0] lets a timed run go, the rest
	 * are set by ops that have ended. */
	volatile uint32_t *words;
	CUdeviceptr words_address;
	CUevent begin, end;
	struct kgb_clock clock;
	const char *cupti; /* borrowed: path of the library, NULL for where the loader finds it */
};

enum kgb_exec_status kgb_run_open(struct kgb_run *run, struct kgb_gpu *gpu,
				  struct kgb_memory *memory, const char *cupti,
				  struct kgb_err *err);

/** KGB_EXEC_RUN. `prologue` may be NULL. *value as in the reply. */
enum kgb_exec_status kgb_run_once(struct kgb_run *run, const struct kgb_exec_request *request,
				  struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
				  uint64_t *value, struct kgb_err *err);

/** KGB_EXEC_TIME. After a good end *err may say why there is no activity (err->msg not empty). */
enum kgb_exec_status kgb_run_timed(struct kgb_run *run, const struct kgb_exec_request *request,
				   struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue,
				   uint64_t *value, struct kgb_err *err);

/** Put the ops of a plan on its streams, joined to the main stream at both ends. `skip`: an op that
 * is left out, -1. `progress`: each op that ends sets its word. Returns before they have run;
 * KGB_EXEC_BAD_PLAN names an op that the driver refuses. */
enum kgb_exec_status kgb_run_issue(struct kgb_run *run, struct kgb_gpu_plan *plan, int32_t skip,
				   bool progress, struct kgb_err *err);

/** Put a prologue on the main stream. It finds zeros where images lie: it shall do nothing that
 * the plan's own work on its input could rest on, least of all where only the plan is timed. */
enum kgb_exec_status kgb_run_prologue(struct kgb_run *run, struct kgb_gpu_plan *prologue,
				      struct kgb_err *err);

/** Puts work on the main stream. */
typedef enum kgb_exec_status (*kgb_run_issue_fn)(struct kgb_run *run, void *payload,
						 struct kgb_err *err);
/** Measure work on an idle stream by events and by the host's clock. `gated`: the stream does not
 * start before all is there, so that neither sees how long that took. */
enum kgb_exec_status kgb_run_measure(struct kgb_run *run, kgb_run_issue_fn issue, void *payload,
				     bool gated, int64_t *host_ns, struct kgb_err *err);
/** What the events of the last measurement say. */
enum kgb_exec_status kgb_run_event_ns(struct kgb_run *run, uint64_t *out, struct kgb_err *err);

/** Slack is what neither plan has a block on. */
enum kgb_exec_status kgb_run_set_slack(struct kgb_run *run, const struct kgb_gpu_plan *plan,
				       const struct kgb_gpu_plan *prologue, struct kgb_err *err);
/** Do all ops stay in memory that is mapped, and are the slots there? */
enum kgb_exec_status kgb_run_check(struct kgb_run *run, const struct kgb_exec_request *request,
				   const struct kgb_gpu_plan *plan,
				   const struct kgb_gpu_plan *prologue, struct kgb_exec_layout *out,
				   struct kgb_err *err);

#endif
