/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases that pass one tensor for two arguments, as users do: torch.mul(x, x); or tensors that
 * are parts of one storage: chunks and slices of a packed tensor, x[:-1] and x[1:], a row of a
 * buffer that is added to another one.
 */
#ifndef KGB_VERIFY_CASES_REPEAT_H
#define KGB_VERIFY_CASES_REPEAT_H

#include <cjson/cJSON.h>

#include "verify/cases/case.h"
#include "verify/tensor/rng.h"

/** Whether one tensor could be passed for two parameters of the interface. */
bool kgb_interface_can_repeat_tensors(const struct kgb_interface *interface);

/** Pass one tensor for two arguments, if the case can. A tensor that the call only reads becomes an
 * earlier such argument of the same type, sizes and fill, if it has or may have the same layout; or
 * the transpose of one whose last two sizes are swapped. If the spec says `may_be`, the call may
 * also change one of the two. With `by_chance` this is done in half of the cases only. Returns
 * whether it was done. */
bool kgb_case_repeat_tensors(struct kgb_case *c, const struct kgb_seed *seed, bool by_chance);

/** Whether both tensors have elements of the same kind. */
bool kgb_arg_has_same_fill(const struct kgb_arg *arg, const struct kgb_arg *first);

/** Whether tensors could have one storage. */
bool kgb_interface_can_share_storage(const struct kgb_interface *interface);

/** Which cases get such a storage. */
enum kgb_share {
	KGB_SHARE_HALF, /* half of those that can have one */
	KGB_SHARE_ALL,
	KGB_SHARE_ALIKE, /* those in which a part has the strides of the first one */
};

/** Put tensors of one type into one storage, if the case has at least two and repeats none: one
 * behind the other; beside each other, as slices of a larger tensor along a dimension; or, where
 * the call only reads them, as windows that overlap. Only the elements of windows are filled in
 * another way than before. A tensor whose layout the case's template lets be any may get the
 * strides of the first one, or of its transpose, or become dense. No part overlaps one that the
 * call changes. Returns whether it was done; if not, the case can only be dropped, but for
 * KGB_SHARE_HALF. */
bool kgb_case_share_storage(struct kgb_case *c, const cJSON *template, const struct kgb_seed *seed,
			    enum kgb_share which);

/** Let one tensor in four that is row-major in all cases begin inside its storage, as a part of a
 * larger one. Cases with the same stream have the same ones. Errors of layouts. */
KGB_MUST_CHECK int kgb_case_begin_behind(struct kgb_case *c, const struct kgb_seed *seed,
					 uint32_t stream, struct kgb_err *err);

#endif
