/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases that pass one tensor for two arguments, as users do: torch.mul(x, x).
 */
#ifndef KGB_VERIFY_CASES_REPEAT_H
#define KGB_VERIFY_CASES_REPEAT_H

#include "verify/cases/case.h"
#include "verify/tensor/rng.h"

/** Whether it reads two tensors, so that one could be both. */
bool kgb_interface_can_repeat_tensors(const struct kgb_interface *interface);

/** A tensor that the call only reads, of the type, sizes and fill of an earlier such argument,
 * which has its layout or may have it, becomes that argument, and where its last two sizes are
 * swapped the transpose of it; also where one of both is changed, if the spec says `may_be`. In
 * each case that can, or with `by_chance` in half of these. Returns whether one did. */
bool kgb_case_repeat_tensors(struct kgb_case *c, const struct kgb_seed *seed, bool by_chance);

#endif
