/* SPDX-License-Identifier: MIT */
/** \file
 * The processes that run timed calls: pairs of one for the baseline and one for the candidate. A
 * context takes longer to make than most benchmarks to measure, so all benchmarks of a verification
 * share the pairs, which are made while its cases are judged.
 */
#ifndef KGB_VERIFY_STAGES_TIMING_PROCESSES_H
#define KGB_VERIFY_STAGES_TIMING_PROCESSES_H

#include "verify/lane/lane.h"
#include "verify/replay/replay.h"
#include "verify/timer/timer.h"

#define KGB_TIMING_PAIRS_MAX 8 /* of kgb_timer_level.max_processes */
/* Pairs that are started while others use the GPU, too, and those of them that rehearse large
 * benchmarks. At `standard` 72 % of 995 benchmarks needed one pair, 14 % two and 14 % three, but
 * 60 % of the verifications needed a third pair for one of theirs, whose start took 0.4 s with the
 * GPU alone (H200, 2026-11-30). */
#define KGB_TIMING_PAIRS_STARTED 3
#define KGB_TIMING_PAIRS_AHEAD 2
#define KGB_TIMING_PROCESSES_MAX (KGB_TIMING_PAIRS_MAX * KGB_N_SIDES)

struct kgb_timing_process {
	struct kgb_exec_client exec;
	bool begun; /* its start has begun and is not finished */
	bool runs;
	bool rehearsed; /* it has loaded code before */
	bool is_unfit; /* it cannot have the memory of a plan, and was stopped */
	const void *holds[KGB_EXEC_SETS_MAX]; /* what the plans and inputs of each set belong to;
						 NULL: nothing */
	uint32_t placement; /* in force */
};

struct kgb_timing_processes {
	struct kgb_timing_process pairs[KGB_TIMING_PAIRS_MAX][KGB_N_SIDES];
	/** Memory that the processes of a side write results and samples to, one at a time. */
	struct kgb_timing_output {
		int fd; /* memfd; -1: none yet */
		char *bytes;
		size_t n_bytes;
	} outputs[KGB_N_SIDES];
};

/** Processes are numbered by pair, then by side: i % KGB_N_SIDES. */
static inline struct kgb_timing_process *
kgb_timing_process_at(struct kgb_timing_processes *processes, int64_t i)
{
	return &processes->pairs[i / KGB_N_SIDES][i % KGB_N_SIDES];
}

void kgb_timing_processes_init(struct kgb_timing_processes *processes);
/** A pool that lent processes gets those of the baseline back, and ends the others under the lease
 * (kgb_exec_process_leave). */
void kgb_timing_processes_release(struct kgb_timing_processes *processes,
				  const struct kgb_gpu_lease *lease);

/** Begin the start of the first `n_pairs` pairs, without waiting, unless they have begun; no more
 * than the free memory of the GPU allows, none while that is not known. The first process of the
 * candidate is not among them (kgb_timing_processes_adopt). They end with the thread that calls
 * this, unless a pool lends them. */
KGB_MUST_CHECK int kgb_timing_processes_begin(struct kgb_timing_processes *processes,
					      const struct kgb_lane *lane, uint32_t n_pairs,
					      struct kgb_err *err);
/** Take the process that replayed the cases as the first one of the candidate: one context less.
 * Nothing is replayed afterwards. */
void kgb_timing_processes_adopt(struct kgb_timing_processes *processes,
				struct kgb_replayer *replayer);
/** Wait for all starts that have begun: a context that is made delays what is timed. */
KGB_MUST_CHECK int kgb_timing_processes_await(struct kgb_timing_processes *processes,
					      const struct kgb_lane *lane, struct kgb_err *err);
/** Start a process, unless it runs. */
KGB_MUST_CHECK int kgb_timing_process_open(struct kgb_timing_process *process,
					   const struct kgb_lane *lane, struct kgb_err *err);
void kgb_timing_process_stop(struct kgb_timing_process *process);
/** Make a side's output at least this long. Processes must be given the memory again then. */
KGB_MUST_CHECK int kgb_timing_output_reserve(struct kgb_timing_processes *processes,
					     enum kgb_timer_side side, size_t n_bytes,
					     struct kgb_err *err);

#endif
