/* SPDX-License-Identifier: MIT */
/** \file
 * Benchmarks: cases that are timed. A lane prepares a benchmark while other verifications use the
 * GPU, too: it records the call, proves and checks it, and makes the inputs of the timed calls.
 * Lane 0 measures all benchmarks one after the other, when it has the GPU alone.
 */
#ifndef KGB_VERIFY_STAGES_BENCHMARK_H
#define KGB_VERIFY_STAGES_BENCHMARK_H

#include "verify/replay/replay.h"
#include "verify/stages/timing_processes.h"
#include "verify/timer/timer.h"

enum kgb_benchmark_state {
	KGB_BENCHMARK_UNTOUCHED,
	KGB_BENCHMARK_READY,
	KGB_BENCHMARK_SKIPPED, /* it cannot be replayed, as the spec permits */
	KGB_BENCHMARK_REFUSED, /* `failure` has the reason */
	KGB_BENCHMARK_BROKEN, /* `err`: a fault of the judge */
};

#define KGB_KEPT_WINDOWS 64

/** What is kept of the right results on one slot (timed_results.h): of small ones all, of large
 * ones windows. */
struct kgb_result_windows {
	uint32_t n, n_whole; /* whole results come first */
	struct kgb_result_window {
		size_t result; /* its number */
		struct kgb_exec_range range; /* of the process's memory */
		uint64_t kept_at; /* in `right` of that result */
	} items[KGB_MAX_RESULTS + KGB_KEPT_WINDOWS];
};

struct kgb_benchmark {
	const struct kgb_case *kase; /* borrowed */
	uint32_t set; /* number of its set in processes that time (KGB_EXEC_SELECT) */
	enum kgb_benchmark_state state;
	struct kgb_failure failure; /* its texts live as long as the verdict of the lane */
	struct kgb_err err;
	struct kgb_case_data data; /* the forms of the results, no bytes */
	struct kgb_replay_case rcase; /* the candidate's plan */
	struct kgb_replay_plan baseline;
	struct kgb_exec_range ranges[KGB_MAX_RESULTS];
	uint32_t n_ranges;
	int input_fd; /* n_images images of arena_bytes: inputs of the timed calls */
	size_t input_bytes, arena_bytes;
	uint32_t n_slots, n_images; /* the slots beyond n_images have turned images */
	struct kgb_exec_range turned[KGB_MAX_ARGS]; /* in order of address */
	uint32_t n_turned;
	struct kgb_result_windows windows[KGB_TIMER_INPUTS_MAX]; /* of each slot */
	void *right[KGB_TIMER_INPUTS_MAX][KGB_MAX_RESULTS]; /* owned; of the results of untimed
							       calls on each slot, what its windows
							       show; NULL: not known yet */
	struct kgb_case_data truths[KGB_TIMER_INPUTS_MAX]; /* right results, without inputs; no
							      results: not known yet */
};

/** All benchmarks of a verification, and the processes that time them. */
struct kgb_benchmarks {
	struct kgb_benchmark *items; /* owned */
	size_t n;
	struct kgb_timing_processes processes;
};

struct kgb_benchmarks *kgb_benchmarks_new(const struct kgb_judge *judge);
/** Accepts NULL. The lease is that of kgb_timing_processes_release. */
void kgb_benchmarks_free(struct kgb_benchmarks *benchmarks, const struct kgb_gpu_lease *lease);

/** Whether the elements of a tensor of a benchmark are drawn independently of their places and of
 * other tensors, so that the storage may be turned: what was its end becomes its beginning. */
bool kgb_benchmark_may_turn(const struct kgb_case *c, size_t i);
/** The inputs as kgb-exec takes them, without an output. */
struct kgb_exec_arena_spec kgb_benchmark_inputs(const struct kgb_benchmark *benchmark);
/** Make the tensors of a slot, as its timed calls find them. */
void kgb_benchmark_fill(struct kgb_lane *lane, const struct kgb_benchmark *benchmark, uint32_t slot,
			struct kgb_case_data *out);
/** Whether the reference decides about results of timed calls on this slot that are not the same in
 * each call: it does so for four slots or a few more, because a right result takes longer than all
 * samples of a benchmark. */
bool kgb_benchmark_needs_truth(const struct kgb_benchmark *benchmark, uint32_t slot);
/** Get the right results of a slot, if they are not known yet. */
KGB_MUST_CHECK int kgb_benchmark_fetch_truth(struct kgb_lane *lane, struct kgb_benchmark *benchmark,
					     uint32_t slot, struct kgb_err *err);
/** The demands of the precision that was requested. */
const struct kgb_timer_level *kgb_benchmark_level(const struct kgb_judge *judge);

/** Prepare a benchmark; its `state` tells the outcome. */
void kgb_benchmark_prepare(struct kgb_lane *lane, struct kgb_benchmark *benchmark);
/** Let processes that time load the benchmarks that are ready and run them, while other
 * verifications use the GPU, too. */
KGB_MUST_CHECK int kgb_benchmarks_rehearse(struct kgb_lane *lane, struct kgb_benchmarks *benchmarks,
					   struct kgb_err *err);
/** Time a benchmark that is ready, and free its memory. 0: the verdict has the times. 1: *failure
 * has the reason of a refusal. -1: *err. */
KGB_MUST_CHECK int kgb_benchmark_measure(struct kgb_lane *lane, struct kgb_benchmark *benchmark,
					 struct kgb_timing_processes *processes,
					 struct kgb_failure *failure, struct kgb_err *err);
/** Free the memory of a benchmark. Its state and its texts stay. */
void kgb_benchmark_release(struct kgb_benchmark *benchmark);

#endif
