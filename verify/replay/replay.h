/* SPDX-License-Identifier: MIT */
/** \file
 * Judging by replay: a case is called in the runner while its work is written down, the record is
 * proved to be the candidate's work and made into a plan, and kgb-exec runs that plan on data that
 * the runner never had, on a GPU or in the machine on the CPU. The results that the runner returns
 * only help to refuse early. */
#ifndef KGB_VERIFY_REPLAY_REPLAY_H
#define KGB_VERIFY_REPLAY_REPLAY_H

#include "verify/ablation/result_origin.h"
#include "verify/lane/candidate_call.h"
#include "verify/lane/gpu_facts.h"
#include "verify/lane/lane.h"
#include "verify/process/exec_client.h"
#include "verify/record/replay_plan.h"
#include "verify/record/window_form.h"

#define KGB_REPLAY_CALLS 3 /* the first; new data in the same tensors; new tensors */

/** Make lane->gpu. The reference process must run. UNAVAILABLE names the missing part. */
KGB_MUST_CHECK int kgb_gpu_facts_new(struct kgb_lane *lane, struct kgb_err *err);
void kgb_gpu_facts_free(struct kgb_gpu_facts *facts);

/** kgb-exec and the memory that is shared with it. Lanes share one: `lock` is held from loading a
 * plan to its last run. */
struct kgb_replayer {
	pthread_mutex_t lock;
	struct kgb_exec_client exec;
	bool begun; /* it is starting */
	bool runs;
	pid_t starter; /* thread that started the process; the process ends with it */
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
	struct kgb_replayer *replayer; /* on the verification's device; owned, unless it is lent */
	bool replayer_is_lent;
	struct kgb_replayer *machine; /* on a GPU: in the machine for Triton's IR; owned; NULL: none
					 yet */
	struct kgb_replayer *uses; /* one of both: that of the case which is judged */
	struct kgb_provenance *provenance; /* owned */
};

/** The replayer of the machine for Triton's IR, of a lane on a GPU. */
struct kgb_replayer *kgb_replay_machine(struct kgb_replay *replay);
/** Make lane->replay and begin to start its kgb-exec. */
KGB_MUST_CHECK int kgb_replay_begin(struct kgb_lane *lane, struct kgb_err *err);
/** Make lane->replay with the kgb-exec and the reference of another lane, which must outlive this
 * one. */
void kgb_replay_borrow(struct kgb_lane *lane, const struct kgb_lane *lender);
/** Complete lane->replay. On a GPU lane->gpu must exist. */
void kgb_replay_new(struct kgb_lane *lane);
/** Begin to end the kgb-exec without waiting, unless it is another lane's
 * (kgb_exec_process_leave). `replay` may be NULL; kgb_replay_free must follow. */
void kgb_replay_leave(struct kgb_replay *replay, const struct kgb_gpu_lease *lease);
void kgb_replay_free(struct kgb_replay *replay);

/** Three calls of a case and their recorded GPU work. */
struct kgb_recorded {
	struct kgb_case_data
		data[2]; /* of the first and the last call (borrowed), of the second (owned) */
	struct kgb_candidate_call *calls; /* owned; KGB_REPLAY_CALLS of them, without values */
	size_t arena_bytes; /* of the runner's arena during the calls */
	struct kgb_buf bytes; /* owned; bytes that `record` points into */
	struct kgb_record record;
	/* Of kgb_replay_prove: */
	struct kgb_arena_place places[KGB_REPLAY_CALLS][KGB_MAX_ARGS];
	struct kgb_window windows[KGB_REPLAY_CALLS]; /* in the form that lane->replay->uses takes */
	struct kgb_recorded_call captures[KGB_REPLAY_CALLS];
	struct kgb_classification classification;
};

/** Call the case three times under the trace. `data` (with its truth) is that of the first and the
 * last call; the second gets variant 1 of the case's inputs. 0: *out is recorded. 1: *failure has
 * the reason of a refusal. -1: *err. *out must be released in every case. */
KGB_MUST_CHECK int kgb_replay_record(struct kgb_lane *lane, const struct kgb_case_data *data,
				     struct kgb_recorded *out, struct kgb_failure *failure,
				     struct kgb_err *err);
void kgb_recorded_release(struct kgb_recorded *recorded);

/** Make the memfd for records, lane->replay->record_fd, unless it exists. */
KGB_MUST_CHECK int kgb_replay_make_record_fd(struct kgb_lane *lane, struct kgb_err *err);
/** The request that hands this memfd to a worker. */
extern const char kgb_record_request[];
#define KGB_REPLAY_RECORD_BYTES (64 << 20) /* largest record, in bytes */
/** A private copy of a file that another process may still be writing. */
KGB_MUST_CHECK int kgb_replay_copy(int fd, size_t limit, struct kgb_buf *out, struct kgb_err *err);

/** A case that is ready to be replayed. */
struct kgb_replay_case {
	struct kgb_candidate_call
		call; /* the last recorded call: the places of its arguments, and its reply */
	struct kgb_replay_plan plan; /* of that call; plan 0 of kgb-exec */
	struct kgb_replay_plan
		prologue; /* of the first call; plan 1 of kgb-exec, if has_prologue */
	bool has_prologue;
	enum kgb_replay_class replay;
	uint64_t upload_bytes; /* that the host sent in the last call */
	struct kgb_exec_range ranges[KGB_MAX_RESULTS]; /* of results that are returned fresh */
	const char *lacks_launch; /* why the result needs a kernel, and none ran; else NULL */
};

/** Prove whose code the launches run, choose lane->replay->uses, and check that a replay can repeat
 * the calls. On a GPU the machine replays a case if the record names all its launches by Triton's
 * IR, unless the seed draws the case for the GPU: no code in the runner can depend on that choice.
 * 0: *out is ready for kgb_replay_load. 1: *failure has the reason of a refusal. -1: *err. *out
 * must be released in every case. */
KGB_MUST_CHECK int kgb_replay_prove(struct kgb_lane *lane, struct kgb_recorded *recorded,
				    struct kgb_replay_case *out, struct kgb_failure *failure,
				    struct kgb_err *err);
/** Call after replays gave the right result. A result that needs a kernel, and for which none
 * was launched, is a cheat; a wrong one is not. 0, 1 *failure. */
int kgb_replay_refuse_without_launch(const struct kgb_replay_case *rcase,
				     struct kgb_failure *failure);
/** Make the plan of the case and load it. lane->replay->uses must be locked, unless no other lane
 * runs. 0, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_replay_load(struct kgb_lane *lane, struct kgb_recorded *recorded,
				   struct kgb_replay_case *out, struct kgb_failure *failure,
				   struct kgb_err *err);
/** Let the GPU replay a case that the machine cannot execute. 0, 1 *failure. */
KGB_MUST_CHECK int kgb_replay_leave_machine(struct kgb_lane *lane, struct kgb_recorded *recorded,
					    struct kgb_failure *failure);
void kgb_replay_case_release(struct kgb_replay_case *rcase);

enum { KGB_REPLAY_SKIP_NOTHING = -1, KGB_REPLAY_SKIP_KERNELS = -2 };
/** Run the plan on `data` under random poison, without op number `skip`, or without any launch of
 * the candidate's kernels (KGB_REPLAY_SKIP_KERNELS). 0: *call, lane->image and lane->after are as
 * after kgb_candidate_call_run. 1: *failure. -1: *err. *call must be released in every case. */
KGB_MUST_CHECK int kgb_replay_run(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
				  const struct kgb_case_data *data, int repetition, int skip,
				  struct kgb_candidate_call *call, struct kgb_failure *failure,
				  struct kgb_err *err);
/** Make the plan of the case and its prologue those of the replayer again, whatever it had since.
 * 0, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_replay_reload(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
				     struct kgb_failure *failure, struct kgb_err *err);
/** Give the GPU's replayer inputs for kgb_replay_run_first and kgb_replay_run_ranges.
 * `inputs->output_fd` and `output_bytes` are set here. 0, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_replay_give_inputs(struct kgb_lane *lane,
					  const struct kgb_replay_case *rcase,
					  const struct kgb_case_data *data,
					  struct kgb_exec_arena_spec *inputs,
					  struct kgb_failure *failure, struct kgb_err *err);
/** Run the plan on `data` with values that the spec excludes, if it excludes any, so that
 * conditions show whether they wait for these. Results and faults do not count. Nothing is done for
 * a case that a GPU replays. 0, -1 *err. */
KGB_MUST_CHECK int kgb_replay_outside(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
				      const struct kgb_case_data *data, struct kgb_err *err);
/** Add what the machine has seen of kernel.py's conditions in this lane to its verdict. 0, -1
 * *err. */
KGB_MUST_CHECK int kgb_replay_take_conditions(struct kgb_lane *lane, struct kgb_err *err);
/** Whether no parameter holds a result. */
bool kgb_replay_returns_all_fresh(const struct kgb_case_data *data);
/** Room in an output for the arena and all results, and for ranges of these, which may lie in the
 * arena. */
size_t kgb_replay_output_bytes(const struct kgb_replay_case *rcase,
			       const struct kgb_case_data *data);
/** Run the loaded plan on slot 0 of those inputs, under random poison. `data` has the forms of the
 * results. 0: *call has the results; lane->after is as after kgb_candidate_call_run. 1: *failure.
 * -1: *err. *call must be released in every case. */
KGB_MUST_CHECK int kgb_replay_run_first(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
					const struct kgb_case_data *data,
					struct kgb_candidate_call *call,
					struct kgb_failure *failure, struct kgb_err *err);
/** Run it on any slot. Only these ranges of memory are brought back, to *layout in the replayer's
 * output. */
KGB_MUST_CHECK int kgb_replay_run_ranges(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
					 uint32_t slot, const struct kgb_exec_range *ranges,
					 uint32_t n_ranges, struct kgb_exec_layout *layout,
					 struct kgb_failure *failure, struct kgb_err *err);
/** Run the first `n_ops` ops of the plan on origin->data, with or without the candidate's kernels,
 * and add all memory to `origin` as written by `by`. 0, 1 *failure, -1 *err. */
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
/** Judge a recorded case by replays, and check that the candidate's kernels compute it. 0 right, 1
 * *failure, -1 *err. In some cases memory is watched, too (result_origin.h). */
KGB_MUST_CHECK int kgb_replay_check(struct kgb_lane *lane, struct kgb_recorded *recorded,
				    struct kgb_failure *failure, struct kgb_err *err);

/** Whether the case was refused only because its launches depend on data, as the spec permits. Then
 * a replay is impossible, the runner's results are judged, and the verdict records that. */
bool kgb_replay_stays_in_sandbox(const struct kgb_lane *lane, const struct kgb_replay_case *rcase);
/** Whether the storages of a case's last recorded call and of its replays are placed tightly
 * (KGB_PLACED_TIGHT). Those of benchmarks are not, because no program places its tensors so. */
bool kgb_replay_is_tight(const struct kgb_case *c);
/** Write the device memory of the fresh results, which kgb-exec brings back, to ranges[]. Returns
 * the number of ranges. */
uint32_t kgb_replay_ranges(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			   struct kgb_exec_range ranges[KGB_MAX_RESULTS]);
/** Fill lane->after and call->values from kgb-exec's output. The reply and the places of *call are
 * those of the case. */
void kgb_replay_take(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		     const struct kgb_case_data *data, const char *output,
		     const struct kgb_exec_layout *layout, struct kgb_candidate_call *call);
/** The recorded call as a replay makes it: all that it leaves is brought back. Its values are
 * missing. */
struct kgb_candidate_call kgb_replay_call(const struct kgb_replay_case *rcase);
/** The same as kgb_replay_take, but only for results that no parameter holds; the output need not
 * contain the arena. */
void kgb_replay_take_fresh(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			   const char *output, const struct kgb_exec_layout *layout,
			   struct kgb_candidate_call *call);

/** The place of result i in kgb-exec's output, and its layout there (*view). NULL: the result has
 * no elements, or was not brought back. */
const char *kgb_replay_result(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			      size_t i, const char *output, const struct kgb_exec_layout *layout,
			      struct kgb_tensor_view *view);

/** Make the plan of the baseline for the case that `data` belongs to. Starts its process when there
 * is none. */
KGB_MUST_CHECK int kgb_replay_capture_baseline(struct kgb_lane *lane,
					       const struct kgb_case_data *data,
					       struct kgb_replay_plan *out, struct kgb_err *err);

/** How a kgb-exec on the verification's GPU is started. */
struct kgb_exec_spec kgb_replay_gpu_spec(const struct kgb_lane *lane);
/** Start kgb-exec, unless it runs. */
KGB_MUST_CHECK int kgb_replay_start_exec(struct kgb_lane *lane, struct kgb_err *err);
/** Explain why kgb-exec did not carry out a request. 1 with *failure: the candidate caused it. -1:
 * a fault of the judge, *err unchanged. */
KGB_MUST_CHECK int kgb_replay_explain(struct kgb_lane *lane, enum kgb_exec_outcome outcome,
				      struct kgb_failure *failure, struct kgb_err *err);

#endif
