/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases that leave arguments out, as users do: torch.argmax(x).
 */
#ifndef KGB_VERIFY_CASES_LEAVE_OUT_H
#define KGB_VERIFY_CASES_LEAVE_OUT_H

#include "verify/cases/case.h"
#include "verify/tensor/rng.h"

/** In half of the cases arguments that are the schema's default are not passed: each one by name,
 * and those by position behind which none is passed. */
void kgb_case_leave_out(struct kgb_case *c, const struct kgb_seed *seed);

#endif
