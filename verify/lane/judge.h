/* SPDX-License-Identifier: MIT */
/** \file
 * One verification of one candidate: everything the stages share, and what each lane (lanes.h) has
 * for itself. A lane is one thread.
 */
#ifndef KGB_VERIFY_LANE_JUDGE_H
#define KGB_VERIFY_LANE_JUDGE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/system/disk_cache.h"
#include "verify/gpu/gpu_lease.h"
#include "verify/lane/case_data.h"
#include "verify/lane/verdict.h"
#include "verify/process/shared_arena.h"
#include "verify/process/worker.h"
#include "verify/process/zygote.h"
#include "verify/protocol/judge_request.h"
#include "verify/spec/spec.h"
#include "verify/static/scan.h"

/** What a candidate's speed is measured against. */
enum kgb_baseline {
	KGB_BASELINE_TORCH, /* torch's own implementation, called eagerly */
	KGB_BASELINE_COMPILE, /* the same through torch.compile */
	KGB_BASELINE_KERNEL, /* another kernel file, which is taken as it is */
};

struct kgb_judge_options {
	struct kgb_judge_request request;
	/* What was found for it. */
	const char
		*data_dir; /* holds verify/python/runner, verify/python/reference, verify/policy */
	const char *python; /* NULL with zygotes */
	const char *library; /* _kgbrun.abi3.so; NULL with zygotes */
	int device; /* number of the GPU, KGB_DEVICE_CPU: none. As the zygotes were started for */
	const char *trace_library; /* libkgb_trace.so; with a GPU and cold zygotes only */
	enum kgb_baseline baseline;
};

struct kgb_replay;
struct kgb_result_origin;
struct kgb_gpu_facts;

/** The trusted process that knows what is right. Lanes on a GPU share one, because a context is
 * dear there: `lock` is held from a question to its answer. */
struct kgb_reference {
	pthread_mutex_t lock;
	struct kgb_worker worker;
	struct kgb_shared_arena memory;
};
#define KGB_REFERENCE_INIT                                                   \
	{                                                                    \
		.lock = PTHREAD_MUTEX_INITIALIZER, .worker = KGB_WORKER_INIT \
	}
struct kgb_nvml;
struct kgb_compiler;
struct kgb_compiler_seat;

/** Cases of one interface that told whether its kernels matter. */
struct kgb_ablation_tally {
	unsigned char n_ablated; /* in which kernels were left out */
	unsigned char n_watched; /* in which memory was looked at (arranged.h), and of them: */
	unsigned char n_arranged; /* those whose result torch had put together */
};

/** Lanes (lanes.h) have copies of this: what they share is only read while they run. */
struct kgb_judge {
	const struct kgb_judge_options *options; /* borrowed */
	struct kgb_verdict *verdict; /* borrowed */
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_buf source; /* kernel.py */
	struct kgb_l1 *l1;
	struct kgb_strv allowed_ops; /* torch operators that may run outside a kernel */
	struct kgb_zygote zygotes[KGB_N_ROLES];
	char *noise; /* KGB_NOISE_BYTES random bytes: redzones and poison are cut from it */
	int64_t deadline_ms; /* of the whole verification, monotonic */
	int64_t waited_ms; /* for others: not the verification's time */
	struct kgb_gpu_facts *gpu; /* owned; NULL without a GPU */
	struct kgb_gpu_lease lease; /* on the GPU */
	struct kgb_nvml *nvml; /* owned; NULL: none */
	struct kgb_disk_cache *truths; /* owned; NULL: none */
	struct kgb_disk_cache *proofs; /* owned; NULL: none */
	struct kgb_compiler *compiler; /* owned; NULL without a GPU */
	unsigned char *may_tell; /* owned; for each case: may tell whether kernels matter */
	struct kgb_ablation_tally *tallies; /* owned; for each interface; lanes add to them */

	/* Of each lane. */
	struct kgb_worker runner;
	struct kgb_compiler_seat *seat; /* of the runner; NULL: none */
	struct kgb_reference *reference; /* owned, unless it is lent */
	bool reference_is_lent;
	struct kgb_worker baseline; /* on a GPU */
	struct kgb_shared_arena baseline_memory;
	struct kgb_shared_arena runner_memory;
	struct kgb_buf image; /* what we wrote to the arena */
	struct kgb_buf after; /* what we found there after the call */
	struct kgb_replay *replay; /* owned; NULL without a GPU */
	struct kgb_failure
		ghost; /* of a case that is right whatever is left out; code NULL: none */
	const char *no_launch_case; /* first case that needed a launch and made none; borrowed from
				       cases */
};
#define KGB_NOISE_BYTES ((size_t)1 << 20)

/** Verify one kernel. 0: *verdict is decided, whatever it is. -1: nothing could be decided because
 * the environment or the arguments are wrong (unknown operator, no sandbox, no torch); no verdict
 * should be written. */
KGB_MUST_CHECK int kgb_judge_run(const struct kgb_judge_options *options,
				 struct kgb_verdict *verdict, struct kgb_err *err);

/** Make everything of the lane empty, whatever it held: for a copy of another lane. */
void kgb_judge_init_lane(struct kgb_judge *judge);
/** End the lane's processes and free what is its own. */
void kgb_judge_release_lane(struct kgb_judge *judge);

/* Stages. Each decides through judge->verdict and returns 0 to go on, 1 when something was decided.
 * Trouble of ours is decided too (infra_error). */
int kgb_stage_static(struct kgb_judge *judge); /* contract and l1 */
int kgb_stage_correctness(struct kgb_judge *judge);
int kgb_stage_ablation(struct kgb_judge *judge);
int kgb_stage_timing(struct kgb_judge *judge);
/** Time one case on a GPU. 0, 1 decided, -1 *err. */
KGB_MUST_CHECK int kgb_time_on_gpu(struct kgb_judge *judge, const struct kgb_case *c,
				   struct kgb_err *err);

/** Take the right to use the GPU, shared or alone (lease.h). Waiting for it does not use up the
 * verification's time, and is bounded on its own (KGB_WAITS_MAX_MS). 0, 1 decided. */
KGB_MUST_CHECK int kgb_judge_take_gpu(struct kgb_judge *judge, enum kgb_stage stage, bool alone);
/** kgb_worker_start, whose waiting is not the verification's time either. */
KGB_MUST_CHECK int kgb_judge_start_worker(struct kgb_judge *judge, struct kgb_worker *worker,
					  enum kgb_role role, const struct kgb_worker_spec *spec,
					  int64_t timeout_ms, struct kgb_err *err);
/** Start the runner with the candidate loaded. 0, 1 with *failure (the import failed), -1 with *err
 * (ours). */
KGB_MUST_CHECK int kgb_judge_load(struct kgb_judge *judge, struct kgb_failure *failure,
				  struct kgb_err *err);
/** Start the reference and give it the spec's Python functions. */
KGB_MUST_CHECK int kgb_judge_start_reference(struct kgb_judge *judge, struct kgb_err *err);
/** Ask the reference what is right for `data`, unless that is known; its answer must be taken by
 * kgb_judge_take_truth before anything else is asked. For lanes that share none. */
KGB_MUST_CHECK int kgb_judge_ask_truth(struct kgb_judge *judge, struct kgb_case_data *data,
				       struct kgb_err *err);
KGB_MUST_CHECK int kgb_judge_take_truth(struct kgb_judge *judge, struct kgb_case_data *data,
					struct kgb_err *err);
/** Have the reference tell what is right for `data`, and wait for it. */
KGB_MUST_CHECK int kgb_judge_learn(struct kgb_judge *judge, struct kgb_case_data *data,
				   struct kgb_err *err);
/** kgb_case_data_fill with the verification's seed. */
void kgb_judge_fill(struct kgb_judge *judge, struct kgb_case_data *data, const struct kgb_case *c,
		    uint32_t variant);
/** Is there anything to compute? Not when no result has elements, nor for operators that only
 * rearrange metadata. */
bool kgb_case_computes(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Does the case need a kernel for that? Where each result is an argument as it was (no pass,
 * nothing scattered) or, with an empty input, one number everywhere (the sum of nothing), torch's
 * copies and fills will do, unless the operator is a fill or a copy itself or the case is a
 * benchmark. `data` has its truth. */
bool kgb_case_needs_launch(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Note which cases are to tell whether kernels matter: the cheapest of each interface. */
void kgb_ablation_choose(struct kgb_judge *judge);
/** Can the case tell that? Not when its results are constants or inputs, unless the operator is a
 * fill or a copy itself. */
bool kgb_ablation_tells(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** The same on a GPU: is it one of those that were chosen? */
bool kgb_ablation_may_tell(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** And is there need of leaving its kernels out? */
bool kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** A case told, on a GPU. */
void kgb_ablation_count(struct kgb_judge *judge, const struct kgb_case_data *data);
/** Is there need to look at a case's memory? True: *arranged has its neighbours (arranged.h), and
 * is to be released. */
bool kgb_ablation_begin_watch(const struct kgb_judge *judge, const struct kgb_case_data *data,
			      struct kgb_result_origin *arranged);
/** It was looked at. */
void kgb_ablation_count_watched(struct kgb_judge *judge, const struct kgb_result_origin *arranged);
/** Start the process that calls what the candidate is measured against, on a GPU. */
KGB_MUST_CHECK int kgb_judge_start_baseline(struct kgb_judge *judge, struct kgb_err *err);
/** Until when one call may take: its own limit, and never past the end of the verification. */
int64_t kgb_judge_call_deadline(const struct kgb_judge *judge);
/** Fill *failure with this, and nothing else: returns 1. */
int kgb_judge_refuse(struct kgb_failure *failure, enum kgb_code code, const char *message,
		     const char *hint);
/** The same for a result that lies where an earlier one does. */
int kgb_judge_refuse_kept(struct kgb_failure *failure);
/** The end of what a worker wrote to stderr, for a message; "" when there is nothing. */
const char *kgb_judge_last_words(struct kgb_judge *judge, const struct kgb_worker *worker);
/** Fill *failure from the way the runner died. 1, or -1 with *err when it was not the candidate's
 * doing. */
int kgb_judge_explain_end(struct kgb_judge *judge, struct kgb_failure *failure,
			  struct kgb_err *err);
/** Send the runner a request with one descriptor, and wait for what it says. 0 with *reply, 1
 * *failure, -1 *err. */
KGB_MUST_CHECK int kgb_judge_ask_runner(struct kgb_judge *judge, const char *json, int fd,
					int64_t deadline_ms, struct kgb_wire_reply *reply,
					struct kgb_failure *failure, struct kgb_err *err);
/** Fill *failure from a reply whose status is not OK, or that lists forbidden operators. 1, or 0
 * when it is fine. */
int kgb_judge_explain_reply(struct kgb_judge *judge, const struct kgb_wire_reply *reply,
			    struct kgb_failure *failure);

#endif
