/* SPDX-License-Identifier: MIT */
/** \file
 * From a recorded call that may be replayed to the plan that kgb-exec gets: a record of one window
 * that holds what the replay needs and nothing else, written anew from what was checked.
 */
#ifndef KGB_VERIFY_RECORD_REPLAY_PLAN_H
#define KGB_VERIFY_RECORD_REPLAY_PLAN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "verify/protocol/exec_protocol.h"
#include "verify/record/call_classify.h"

/** One op of the plan. A request to kgb-exec may leave it out by its number. */
struct kgb_replay_plan_op {
	enum kgb_op_kind kind;
	bool writes; /* memory of the device */
	enum kgb_owner owner; /* of a LAUNCH */
	const char *kernel; /* of a LAUNCH, else NULL; lives with the plan */
	size_t source; /* number of the op in the window it came from */
};

struct kgb_replay_plan {
	struct kgb_arena arena;
	struct kgb_buf record; /* the bytes for kgb-exec */
	struct kgb_replay_plan_op *ops;
	size_t n_ops;
	struct kgb_exec_range *blocks; /* to map beside the arena */
	size_t n_blocks;
	uint64_t block_bytes; /* of them all, less slack */
};

/** Make a plan. INVALID when the call cannot be replayed; LIMIT when the
 * record grows too large. The plan names the owner of each launch and does not judge it. All memory
 * that was alive during the call is in the plan: kernels may find addresses in memory. Pair with
 * kgb_replay_plan_release. */
KGB_MUST_CHECK int kgb_replay_plan_make(const struct kgb_recorded_call *capture,
					const struct kgb_owners *owners,
					struct kgb_replay_plan *out, struct kgb_err *err);
void kgb_replay_plan_release(struct kgb_replay_plan *plan);

/** Append to `record` the bytes of a plan that holds the first `n_ops` ops of this plan, without
 * the candidate's launches when `with_kernels` is false. */
KGB_MUST_CHECK int kgb_replay_plan_part(const struct kgb_replay_plan *plan, size_t n_ops,
					bool with_kernels, struct kgb_buf *record,
					struct kgb_err *err);

/** Whether anything except the candidate's kernels writes to memory: fills, copies, the host. */
bool kgb_replay_plan_moves(const struct kgb_replay_plan *plan);

/** Whether op `number` is a launch of the candidate's kernel. Ablation leaves these out one at a
 * time. */
bool kgb_replay_plan_is_candidate(const struct kgb_replay_plan *plan, size_t number);

#endif
