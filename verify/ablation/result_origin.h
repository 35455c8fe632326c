/* SPDX-License-Identifier: MIT */
/** \file
 * The origin of a result's arrangement. Torch may allocate, fill, copy and convert beside a
 * candidate's kernels, and by copies alone a result can be laid out (a stack, a rotation, a
 * conversion that computes) for a kernel that only copies it on. No stage that leaves kernels out
 * notices: the result does depend on that kernel. So memory is looked at while the call goes on,
 * for neighbours: a few consecutive elements of the result that no input has side by side. Whoever
 * made memory hold them first has arranged them, torch or a kernel.
 */
#ifndef KGB_VERIFY_ABLATION_RESULT_ORIGIN_H
#define KGB_VERIFY_ABLATION_RESULT_ORIGIN_H

#include "verify/lane/case_data.h"

enum kgb_origin_writer { KGB_ORIGIN_HOST, KGB_ORIGIN_KERNEL };

struct kgb_result_origin {
	const struct kgb_case_data *data; /* borrowed, with its truth */
	struct kgb_neighbours *results[KGB_MAX_RESULTS]; /* owned; NULL: no elements that count */
	enum kgb_dtype dtypes[KGB_MAX_ARGS]; /* of inputs: what results may lie about as, too */
	size_t n_dtypes;
	size_t n; /* groups of neighbours, of all results */
	size_t n_by_host; /* that torch put together, among those seen so far */
};

/** Find the neighbours of the results of `data`. `alone`: the operator is a fill or a copy itself
 * (KGB_TRITON_ALONE); then one value everywhere tells as well, and an input in row-major order is
 * no more known than any other order, where it is the result. Pair with kgb_result_origin_release.
 */
void kgb_result_origin_init(struct kgb_result_origin *origin, const struct kgb_case_data *data,
			    bool alone);
void kgb_result_origin_release(struct kgb_result_origin *origin);

/** Are there enough of them to tell anything? */
bool kgb_result_origin_tells(const struct kgb_result_origin *origin);
/** What lies at `bytes` is there since `by` did something. In the order in which it happened. */
void kgb_result_origin_see(struct kgb_result_origin *origin, const void *bytes, size_t n_bytes,
			   enum kgb_origin_writer by);
/** Did torch put together half of them or more? */
bool kgb_result_origin_by_host(const struct kgb_result_origin *origin);

#endif
