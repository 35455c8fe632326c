/* SPDX-License-Identifier: MIT */
/** \file
 * The time of a verification by phase. Phases do not nest, with two exceptions: TIMER includes the
 * phases whose names begin with TIMER_, and TRUTH if the reference must judge the result of a timed
 * call. The times of all lanes (lanes.h) are added up, so that the sum may be longer than the wall
 * time.
 */
#ifndef KGB_VERIFY_LANE_PHASE_H
#define KGB_VERIFY_LANE_PHASE_H

#include <stdint.h>

#include "base/time.h"

/* clang-format off */
#define KGB_PHASES(X) \
	X(RUNNER, "runner") /* start the candidate's process and load kernel.py */ \
	X(REFERENCE, "reference") /* start the reference */ \
	X(DEVICE, "device") /* identify the GPU, digests of torch's libraries */ \
	X(EXEC, "exec") /* start kgb-exec */ \
	X(FILL, "fill") /* make inputs */ \
	X(TRUTH, "truth") /* the reference's answers */ \
	X(FIRST_CALL, "first_call") /* the candidate's first call of a case, with compiling */ \
	X(CALL, "call") /* its other calls */ \
	X(CHECK, "check") /* compare what calls returned */ \
	X(PROVE, "prove") /* find the compilation that made each kernel's code */ \
	X(CODE, "code") /* compile for a GPU the kernels that a record names by their IR */ \
	X(PLAN, "plan") /* make plans and load them */ \
	X(REPLAY, "replay") \
	X(ABLATION, "ablation") \
	X(BASELINE, "baseline") /* start the baseline and call it */ \
	X(SLOTS, "slots") /* inputs and right results for the timer */ \
	X(REHEARSAL, "rehearsal") /* load code and inputs of a benchmark, and samples that do not count */ \
	X(TIMER, "timer") \
	X(TIMER_STARTS, "timer_starts") /* in TIMER: new processes, with their plans */ \
	X(TIMER_BLOCKS, "timer_blocks") /* in TIMER: samples, with kgb-exec's work for them */ \
	X(TIMER_CHECKS, "timer_checks") /* in TIMER: compare results of timed calls */ \
	X(ROOM, "room") /* wait for memory of the GPU */ \
	X(HEALTH, "health") /* test the GPU */ \
	X(END, "end") /* end processes */
/* clang-format on */
#define KGB_PHASE_ENUMERATOR(name, text) KGB_PHASE_##name,
enum kgb_phase { KGB_PHASES(KGB_PHASE_ENUMERATOR) KGB_N_PHASES };

/** Adds the time from its start to the end of its scope to *sum_ns. */
struct kgb_stopwatch {
	int64_t *sum_ns;
	int64_t started_ns;
};
#define KGB_MEASURE(lane, phase)                                                              \
	__attribute__((cleanup(kgb_stopwatch_stop), unused)) struct kgb_stopwatch stopwatch = \
		kgb_stopwatch_start(&(lane)->verdict->phase_ns[phase])

static inline struct kgb_stopwatch kgb_stopwatch_start(int64_t *sum_ns)
{
	return (struct kgb_stopwatch){.sum_ns = sum_ns, .started_ns = kgb_mono_ns()};
}

static inline void kgb_stopwatch_stop(struct kgb_stopwatch *stopwatch)
{
	*stopwatch->sum_ns += kgb_mono_ns() - stopwatch->started_ns;
}

#endif
