/* SPDX-License-Identifier: MIT */
/** \file
 * Judging by replay: a case is called in the runner while its work is written down, the record is
 * proved to be the candidate's work and made into a plan, and kgb-exec runs that plan on data that
 * the runner never had, on a GPU or in the machine on the CPU. What the runner returned itself only
 * helps to refuse early. */
#ifndef KGB_VERIFY_REPLAY_REPLAY_H
#define KGB_VERIFY_REPLAY_REPLAY_H

#include "verify/ablation/result_origin.h"
#include "verify/lane/candidate_call.h"
#include "verify/lane/gpu_facts.h"
#include "verify/lane/lane.h"
#include "verify/process/exec_client.h"
#include "verify/record/replay_plan.h"

#define KGB_REPLAY_CALLS 3 /* cold, new data in the same tensors, new tensors */

/** Set judge->gpu up. The reference process must run. UNAVAILABLE names the missing part. */
KGB_MUST_CHECK int kgb_gpu_facts_new(struct kgb_lane *lane, struct kgb_err *err);
void kgb_gpu_facts_free(struct kgb_gpu_facts *facts);

/** kgb-exec and the memory that is shared with it. Lanes share one: `lock` is held from loading a
 * plan to its last run. */
struct kgb_replayer {
	pthread_mutex_t lock;
	struct kgb_exec_client exec;
	bool begun; /* it is starting */
	bool runs;
	pid_t starter; /* thread that started it, and that it ends with */
	int input_fd, output_fd; /* shared with it */
	char *input, *output; /* our mappings of them */
	size_t input_bytes, output_bytes;
};
#define KGB_REPLAYER_INIT                                                                        \
	{                                                                                        \
		.lock = PTHREAD_MUTEX_INITIALIZER, .exec = KGB_EXEC_CLIENT_INIT, .input_fd = -1, \
		.output_fd = -1                                                                  \
	}

/** State of a lane between cases. */
struct kgb_replay {
	int record_fd; /* memfd that the runner's trace library writes to; -1: none yet */
	struct kgb_replayer *replayer; /* owned, unless it is lent */
	bool replayer_is_lent;
	struct kgb_provenance *provenance; /* owned */
};

/** Make judge->replay and let its kgb-exec start meanwhile. */
KGB_MUST_CHECK int kgb_replay_begin(struct kgb_lane *lane, struct kgb_err *err);
/** Make judge->replay with the kgb-exec and the reference of another lane, which must outlive this
 * one. */
void kgb_replay_borrow(struct kgb_lane *lane, const struct kgb_lane *lender);
/** Complete judge->replay. judge->gpu must be, on a GPU. */
void kgb_replay_new(struct kgb_lane *lane);
/** Kill its kgb-exec without waiting. `replay` may be NULL. */
void kgb_replay_kill(struct kgb_replay *replay);
void kgb_replay_free(struct kgb_replay *replay);

/** Three calls of a case and their recorded GPU work. */
struct kgb_recorded {
	struct kgb_case_data
		data[2]; /* of the first and the last call (borrowed), of the second (owned) */
	struct kgb_candidate_call *calls; /* owned; KGB_REPLAY_CALLS of them, without values */
	bool needs_kernel; /* else fills and copies will do */
	size_t arena_bytes; /* of the runner, then */
	struct kgb_buf bytes; /* that record looks into */
	struct kgb_record record;
};

/** Call the case three times under the trace. `data` (with its truth) is that of the first and the
 * last call; the second gets variant 1 of the case's inputs. 0: *out is recorded. 1: *failure has
 * the reason of a refusal. -1: *err. *out must be released in every case. */
KGB_MUST_CHECK int kgb_replay_record(struct kgb_lane *lane, const struct kgb_case_data *data,
				     struct kgb_recorded *out, struct kgb_failure *failure,
				     struct kgb_err *err);
void kgb_recorded_release(struct kgb_recorded *recorded);

/** A memfd for records, in judge->replay. */
KGB_MUST_CHECK int kgb_replay_make_record_fd(struct kgb_lane *lane, struct kgb_err *err);
/** The request that goes with it. */
extern const char kgb_record_request[];
#define KGB_REPLAY_RECORD_BYTES (64 << 20) /* of a record, at most */
/** A private copy of a file that another process may still be writing. */
KGB_MUST_CHECK int kgb_replay_copy(int fd, size_t limit, struct kgb_buf *out, struct kgb_err *err);

/** A case that is ready to be replayed. */
struct kgb_replay_case {
	struct kgb_candidate_call
		call; /* the last recorded one: its places and the results that it named */
	struct kgb_replay_plan plan; /* of that call; plan 0 of kgb-exec */
	struct kgb_replay_plan
		prologue; /* of the first call; plan 1 of kgb-exec, if has_prologue */
	bool has_prologue;
	enum kgb_replay_class replay;
	uint64_t upload_bytes; /* that the host sent in the last call */
	struct kgb_exec_range ranges[KGB_MAX_RESULTS]; /* of results that are returned fresh */
};

/** Prove the makers of the code, make the plan of the case, and load it. 0: *out is ready. 1:
 * *failure has the reason of a refusal. -1: *err. *out must be released in every case. */
KGB_MUST_CHECK int kgb_replay_make(struct kgb_lane *lane, struct kgb_recorded *recorded,
				   struct kgb_replay_case *out, struct kgb_failure *failure,
				   struct kgb_err *err);
/** Both: record, make. */
KGB_MUST_CHECK int kgb_replay_capture(struct kgb_lane *lane, const struct kgb_case_data *data,
				      struct kgb_replay_case *out, struct kgb_failure *failure,
				      struct kgb_err *err);
void kgb_replay_case_release(struct kgb_replay_case *rcase);

enum { KGB_REPLAY_SKIP_NOTHING = -1, KGB_REPLAY_SKIP_KERNELS = -2 };
/** Run the plan on `data` under random poison, without op number `skip`, or without any launch of
 * the candidate's kernels (KGB_REPLAY_SKIP_KERNELS). 0: *call is as after kgb_candidate_call_run,
 * judge->image and judge->after too. 1: *failure. -1: *err. *call must be released in every case.
 */
KGB_MUST_CHECK int kgb_replay_run(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
				  const struct kgb_case_data *data, int repetition, int skip,
				  struct kgb_candidate_call *call, struct kgb_failure *failure,
				  struct kgb_err *err);
/** Run the first `n_ops` ops of the plan, without the candidate's kernels if so wanted, and add all
 * memory to `arranged` (of the data to run it on) as `by`'s work. 0, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_replay_watch(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
				    size_t n_ops, bool with_kernels, enum kgb_origin_writer by,
				    struct kgb_result_origin *origin, struct kgb_failure *failure,
				    struct kgb_err *err);
/** Check that torch did not compute the results of a case that is right on `data` (with its truth).
 * If anything except the candidate's kernels writes to memory, and kgb_ablation_is_sensitive, the
 * case runs without the kernels: its results must be wrong then, else lane->needless names the
 * case. 0, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_replay_find_computer(struct kgb_lane *lane,
					    const struct kgb_replay_case *rcase,
					    const struct kgb_case_data *data,
					    struct kgb_failure *failure, struct kgb_err *err);
/** Judge a case that was recorded and whose images were proved, and find who computed it. 0 right,
 * 1 *failure, -1 *err. In some cases memory is watched, too (result_origin.h). */
KGB_MUST_CHECK int kgb_replay_check(struct kgb_lane *lane, struct kgb_recorded *recorded,
				    struct kgb_failure *failure, struct kgb_err *err);

/** Whether the case was refused only because its launches depend on data, as the spec permits. Then
 * a replay is impossible, the runner's results are judged, and the verdict records that. */
bool kgb_replay_stays_in_sandbox(const struct kgb_lane *lane, const struct kgb_replay_case *rcase);
/** Do the storages of a case's last recorded call and of its replays lie tightly? Not where they
 * are timed: no program has its tensors there. */
bool kgb_replay_is_tight(const struct kgb_case *c);
/** What results and where on the device kgb-exec brings back: writes to ranges[] and returns how
 * many. */
uint32_t kgb_replay_ranges(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			   struct kgb_exec_range ranges[KGB_MAX_RESULTS]);
/** Fill judge->after and call->values from kgb-exec's output. call->reply and call->places are
 * those of the case. */
void kgb_replay_take(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		     const struct kgb_case_data *data, const char *output,
		     const struct kgb_exec_layout *layout, struct kgb_candidate_call *call);
/** The same for results that no parameter holds alone; the arena need not have come back. */
void kgb_replay_take_fresh(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			   const char *output, const struct kgb_exec_layout *layout,
			   struct kgb_candidate_call *call);

/** Where result i lies in kgb-exec's output, and how (*view): NULL if it has no elements, or was
 * not brought back. */
const char *kgb_replay_result(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			      size_t i, const char *output, const struct kgb_exec_layout *layout,
			      struct kgb_tensor_view *view);

/** Make the plan of the baseline for the case that `data` belongs to. Starts its process when there
 * is none. */
KGB_MUST_CHECK int kgb_replay_capture_baseline(struct kgb_lane *lane,
					       const struct kgb_case_data *data,
					       struct kgb_replay_plan *out, struct kgb_err *err);

/** A kgb-exec that runs. */
KGB_MUST_CHECK int kgb_replay_start_exec(struct kgb_lane *lane, struct kgb_err *err);
/** What it means that kgb-exec did not do as asked. 1 with *failure: the candidate's doing. -1:
 * ours, *err as it was. */
KGB_MUST_CHECK int kgb_replay_explain(struct kgb_lane *lane, enum kgb_exec_outcome outcome,
				      struct kgb_failure *failure, struct kgb_err *err);

#endif
