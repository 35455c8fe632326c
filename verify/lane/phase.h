/* SPDX-License-Identifier: MIT */
/** \file
 * Where the time of a verification goes. What is measured does not nest, but for results in
 * KGB_PHASE_TIMER that the reference has to decide; lanes (lanes.h) add theirs up, so that the sum
 * may be longer than the wall time.
 */
#ifndef KGB_VERIFY_LANE_PHASE_H
#define KGB_VERIFY_LANE_PHASE_H

#include <stdint.h>

#include "base/time.h"

enum kgb_phase {
	KGB_PHASE_RUNNER, /* start the candidate's process and load kernel.py */
	KGB_PHASE_REFERENCE, /* start the reference */
	KGB_PHASE_DEVICE, /* ask what the GPU is, digests of torch's libraries */
	KGB_PHASE_EXEC, /* start kgb-exec */
	KGB_PHASE_FILL, /* make inputs */
	KGB_PHASE_TRUTH, /* the reference's answers */
	KGB_PHASE_FIRST_CALL, /* the candidate's first call of a case, with compiling */
	KGB_PHASE_CALL, /* its other calls */
	KGB_PHASE_CHECK, /* compare what calls returned */
	KGB_PHASE_CLAIMS, /* what the candidate's compiler left */
	KGB_PHASE_PROVE, /* whose code it is */
	KGB_PHASE_PLAN, /* make plans and load them */
	KGB_PHASE_REPLAY,
	KGB_PHASE_ABLATION,
	KGB_PHASE_BASELINE, /* start it, and its calls */
	KGB_PHASE_SLOTS, /* inputs and right results for the timer */
	KGB_PHASE_TIMER,
	KGB_PHASE_HEALTH, /* of the GPU */
	KGB_PHASE_END, /* end processes */
	KGB_N_PHASES,
};
const char *kgb_phase_name(enum kgb_phase phase);

/** Adds the time from its making to the end of its scope to *sum. */
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
