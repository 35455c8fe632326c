/* SPDX-License-Identifier: MIT */
/** \file
 * A lane: one thread that judges cases, with processes and memory for them. Lane 0 is the thread
 * that runs the stages; its verdict is that of the verification.
 */
#ifndef KGB_VERIFY_LANE_LANE_H
#define KGB_VERIFY_LANE_LANE_H

#include <pthread.h>

#include "verify/lane/case_data.h"
#include "verify/lane/judge.h"
#include "verify/lane/verdict.h"
#include "verify/process/shared_arena.h"
#include "verify/process/worker.h"

struct kgb_replay;
struct kgb_gpu_facts;
struct kgb_nvml;
struct kgb_compiler_seat;
struct kgb_benchmarks;

struct kgb_lane {
	const struct kgb_judge *judge; /* borrowed */
	struct kgb_verdict *verdict; /* borrowed; of this lane */
	int64_t deadline_ms; /* of the whole verification, monotonic, had it not waited for the GPU
			      */
	int64_t waited_ms; /* spent waiting for processes to start, which is no time of the
			      verification; deadline_ms has it */
	struct kgb_nvml *nvml; /* of lane 0; owned; NULL: none */
	struct kgb_gpu_facts *gpu; /* owned by lane 0; NULL without a GPU */
	struct kgb_worker runner;
	bool without_asserts; /* the runner compiled kernel.py as "python -OO" does */
	bool only_records; /* recorded calls launch nothing (on the CPU those after the first one),
			      and the judge replays their launches by Triton's IR; false once a
			      kernel needs to be launched */
	struct kgb_compiler_seat *seat; /* of the runner; NULL: none */
	struct kgb_trusted own_reference;
	struct kgb_trusted *reference; /* own_reference, or on a GPU that of lane 0 */
	struct kgb_trusted own_baseline; /* on a GPU, from the first benchmark on */
	struct kgb_trusted *baseline; /* own_baseline, or that of lane 0 */
	struct kgb_shared_arena runner_memory;
	struct kgb_buf image; /* the arena before the call, as the judge wrote it */
	struct kgb_buf after; /* the arena after the call */
	struct kgb_replay *replay; /* owned; NULL before stage correctness */
	struct kgb_benchmarks *benchmarks; /* of lane 0; owned; NULL: nothing is timed */
	bool launched; /* the current case launched a kernel, and Triton's compiler refused none */
	struct kgb_failure needless; /* failure of a case that is right without any kernel */
};

/** Texts of verdicts live as long as the lane's verdict. */
#define kgb_lane_text(lane, ...) kgb_arena_printf(&(lane)->verdict->arena, __VA_ARGS__)

/** A lane without processes. It must not be moved in memory. */
void kgb_lane_init(struct kgb_lane *lane, const struct kgb_judge *judge,
		   struct kgb_verdict *verdict);
/** Begin to end the lane's processes without waiting for them: a CUDA context takes time to end.
 * With a lease the runner ends by itself under a copy of it (kgb_worker_leave); NULL: none. */
void kgb_lane_leave(struct kgb_lane *lane, const struct kgb_gpu_lease *lease);
/** End the lane's processes and free its memory. A second call does nothing. The other fields stay:
 * `replay`, `benchmarks`, `gpu` and `nvml` belong to the stages. */
void kgb_lane_release(struct kgb_lane *lane);

/** Wait until requests may use the GPU (gpu_lease.h). 0, 1 decided: the locks of the GPU cannot be
 * used, or others use it for too long. */
KGB_MUST_CHECK int kgb_lane_await_gpu(struct kgb_lane *lane, enum kgb_stage stage);
/** The deadline of the whole verification, in monotonic milliseconds. It moves while the
 * verification waits for the GPU. */
int64_t kgb_lane_deadline(const struct kgb_lane *lane);
/** kgb_worker_start, without counting its wait as the verification's time. */
KGB_MUST_CHECK int kgb_lane_start_worker(struct kgb_lane *lane, struct kgb_worker *worker,
					 enum kgb_role role, const struct kgb_worker_spec *spec,
					 int64_t timeout_ms, struct kgb_err *err);
/** Start the runner that the case needs, with the candidate loaded, unless it runs. 0, 1 with
 * *failure (the import failed), -1 with *err (infrastructure). */
KGB_MUST_CHECK int kgb_lane_load(struct kgb_lane *lane, const struct kgb_case *c,
				 struct kgb_failure *failure, struct kgb_err *err);
/** Wait for the runner's reply, as long as one call may take. The runner's wait for the judge's
 * compiler does not count: it depends on the load of the machine. The verification's time does
 * count it. 0 with *reply, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_lane_await_runner(struct kgb_lane *lane, struct kgb_wire_reply *reply,
					 struct kgb_failure *failure, struct kgb_err *err);
/** Send the runner a request with one descriptor and wait for the reply. */
KGB_MUST_CHECK int kgb_lane_ask_runner(struct kgb_lane *lane, const char *json, int fd,
				       struct kgb_wire_reply *reply, struct kgb_failure *failure,
				       struct kgb_err *err);
/** Start the reference and give it the spec's Python functions. */
KGB_MUST_CHECK int kgb_lane_start_reference(struct kgb_lane *lane, struct kgb_err *err);
/** Request the right results for `data` from the reference, unless the cache has them.
 * kgb_lane_receive_truth must take the answer before the next request. For lanes that share no
 * reference. */
KGB_MUST_CHECK int kgb_lane_request_truth(struct kgb_lane *lane, struct kgb_case_data *data,
					  struct kgb_err *err);
KGB_MUST_CHECK int kgb_lane_receive_truth(struct kgb_lane *lane, struct kgb_case_data *data,
					  struct kgb_err *err);
/** Request the right results for `data` and wait for them. */
KGB_MUST_CHECK int kgb_lane_fetch_truth(struct kgb_lane *lane, struct kgb_case_data *data,
					struct kgb_err *err);
/** kgb_case_data_fill with the verification's seed. */
void kgb_lane_fill(struct kgb_lane *lane, struct kgb_case_data *data, const struct kgb_case *c,
		   uint32_t variant);
/** Start the process that calls the baseline, on a GPU. lane->baseline must be locked. */
KGB_MUST_CHECK int kgb_lane_start_baseline(struct kgb_lane *lane, struct kgb_err *err);
/** The deadline of a call that begins now, in monotonic milliseconds: the limit on one call, at
 * most the verification's deadline. */
int64_t kgb_lane_call_deadline(const struct kgb_lane *lane);
/** Fill *failure with code, message and hint, and clear its other members. Both texts must live as
 * long as the lane's verdict. Every failure needs a hint with the remedy. Returns 1. */
int kgb_refuse(struct kgb_failure *failure, enum kgb_code code, const char *message,
	       const char *hint);
/** kgb_refuse with a message from a format. */
int kgb_lane_refuse(struct kgb_lane *lane, struct kgb_failure *failure, enum kgb_code code,
		    const char *hint, const char *fmt, ...) KGB_PRINTF(5, 6);
/** Decide the verification against the kernel, with the failure of kgb_lane_refuse. Returns 1. */
int kgb_lane_decide(struct kgb_lane *lane, enum kgb_stage stage, enum kgb_code code,
		    const char *hint, const char *fmt, ...) KGB_PRINTF(5, 6);
/** The hint for an operation that the judge's CPU does not execute. */
extern const char kgb_unsupported_hint[];
/** Refuse a result that shares memory with an earlier one. */
int kgb_refuse_kept(struct kgb_failure *failure);
/** The end of a worker's stderr, for a message; "" if it is empty. */
const char *kgb_lane_last_words(struct kgb_lane *lane, const struct kgb_worker *worker);
/** Fill *failure from the end of the runner. 1, or -1 with *err when the candidate did not cause
 * it. */
int kgb_lane_explain_end(struct kgb_lane *lane, struct kgb_failure *failure, struct kgb_err *err);
/** Fill *failure from a reply whose status is not OK, or that lists forbidden operators. 1, or 0
 * when the reply is in order. */
int kgb_lane_explain_reply(struct kgb_lane *lane, const struct kgb_wire_reply *reply,
			   struct kgb_failure *failure);

#endif
