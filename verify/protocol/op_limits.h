/* SPDX-License-Identifier: MIT */
/** \file
 * Rules for ops and blocks that can be replayed: within the limits of CUDA, with attributes that
 * are plain data, at addresses that a driver maps. The judge checks a record by these rules, and
 * kgb-exec checks a plan. */
#ifndef KGB_VERIFY_PROTOCOL_OP_LIMITS_H
#define KGB_VERIFY_PROTOCOL_OP_LIMITS_H

#include "base/err.h"
#include "verify/protocol/record.h"

/** INVALID gives the cause when an op cannot be replayed, independent of its addresses. */
KGB_MUST_CHECK int kgb_op_check(const struct kgb_op *op, struct kgb_err *err);

/** Attributes of a launch sorted by id, without ignored ones, their unused bytes cleared. INVALID
 * when one of them cannot be replayed. */
KGB_MUST_CHECK int kgb_launch_attrs(const struct kgb_launch *launch, struct kgb_launch_attr out[],
				    size_t *n_out, struct kgb_err *err);

/** Memory that an op names, its "destination" or "source". */
struct kgb_op_range {
	const char *name;
	uint64_t address, bytes;
};
#define KGB_OP_RANGES_MAX 2
/** The memory that a checked op names; returns the number of ranges. A launch names none. */
size_t kgb_op_ranges(const struct kgb_op *op, struct kgb_op_range out[KGB_OP_RANGES_MAX]);

/** Whether the op changes device memory: a KGB_OP_LAUNCH, _MEMSET, _COPY or _UPLOAD. */
bool kgb_op_writes(const struct kgb_op *op);

/** Why a block cannot be mapped at its address, or NULL. */
const char *kgb_block_fault(const struct kgb_block *block);

#endif
