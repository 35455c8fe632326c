/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases that pass one tensor for two arguments, as users do: torch.mul(x, x).
 */
#ifndef KGB_VERIFY_CASES_REPEAT_H
#define KGB_VERIFY_CASES_REPEAT_H

#include "verify/cases/case.h"
#include "verify/tensor/rng.h"

/** Of two cases that can, one by chance repeats a tensor: a tensor that the call only reads, of the
 * type, sizes, layout and fill of an earlier such argument, becomes that argument's. */
void kgb_case_repeat_tensors(struct kgb_case *c, const struct kgb_seed *seed);

#endif
