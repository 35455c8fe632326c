/* SPDX-License-Identifier: MIT */
/** \file
 * The origin of a result's arrangement. Torch may allocate, fill, copy and convert beside a
 * candidate's kernels, and copies alone can lay out a result (a stack, a rotation, a conversion
 * that computes) for a kernel that only copies it on. Stages that leave kernels out miss this,
 * because the result does depend on that kernel. So memory is searched during the call for
 * neighbours: a few consecutive elements of the result that are consecutive in no input. The op
 * that first wrote them to memory, of torch or of a kernel, has arranged them. */
#ifndef KGB_VERIFY_ABLATION_RESULT_ORIGIN_H
#define KGB_VERIFY_ABLATION_RESULT_ORIGIN_H

#include "base/buf.h"
#include "base/vec.h"
#include "verify/lane/case_data.h"

enum kgb_origin_writer { KGB_ORIGIN_HOST, KGB_ORIGIN_KERNEL };

struct kgb_result_origin {
	const struct kgb_case_data *data; /* borrowed, with its truth */
	struct kgb_neighbours *results[KGB_MAX_RESULTS]; /* owned; NULL: no elements that count */
	enum kgb_dtype dtypes[KGB_MAX_ARGS]; /* of inputs: other types in which results may lie in
						memory */
	size_t n_dtypes;
	uint64_t poison; /* of all replays in which memory is examined: what nothing writes keeps
			    its bytes from one to the next */
	KGB_VEC(struct kgb_buf) memories; /* as kgb_result_origin_see found them last */
	size_t n; /* groups of neighbours, of all results */
	size_t n_by_host; /* arranged by torch, among those found so far */
};

/** Find the neighbours of the results of `data`. `alone`: the operator is a fill or a copy itself
 * (KGB_TRITON_ALONE); then one value everywhere counts as well, and an input in row-major order
 * counts as new where that order is the result. Pair with kgb_result_origin_release. */
void kgb_result_origin_init(struct kgb_result_origin *origin, const struct kgb_case_data *data,
			    bool alone);
void kgb_result_origin_release(struct kgb_result_origin *origin);

/** Whether there are enough neighbours for a decision. */
bool kgb_result_origin_suffices(const struct kgb_result_origin *origin);
/** Note that `by` produced `bytes`. Call in chronological order. */
void kgb_result_origin_add(struct kgb_result_origin *origin, const void *bytes, size_t n_bytes,
			   enum kgb_origin_writer by);
/** The same for memory number `place` (from 0 on, without gaps), of which only that counts which
 * has changed since it was seen last. */
void kgb_result_origin_see(struct kgb_result_origin *origin, size_t place, const char *bytes,
			   size_t n_bytes, enum kgb_origin_writer by);
/** Whether torch arranged half of them or more. */
bool kgb_result_origin_by_host(const struct kgb_result_origin *origin);

#endif
