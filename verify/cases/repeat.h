/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases that pass one tensor for two arguments, as users do: torch.mul(x, x).
 */
#ifndef KGB_VERIFY_CASES_REPEAT_H
#define KGB_VERIFY_CASES_REPEAT_H

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

#endif
