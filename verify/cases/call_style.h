/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases are called in users' styles: some arguments are left out, lists may be tuples, and
 * gradients may be off. */
#ifndef KGB_VERIFY_CASES_CALL_STYLE_H
#define KGB_VERIFY_CASES_CALL_STYLE_H

#include "verify/cases/case.h"
#include "verify/tensor/rng.h"

/** In half of the cases arguments that are the schema's default are not passed: each one by name,
 * and those by position behind which none is passed. In half of them lists are tuples, in a quarter
 * floating tensors are parameters. A quarter is called under torch.no_grad, another under
 * torch.inference_mode. */
void kgb_case_draw_call_style(struct kgb_case *c, const struct kgb_seed *seed);

#endif
