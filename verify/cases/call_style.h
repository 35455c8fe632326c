/* SPDX-License-Identifier: MIT */
/** \file
 * Drawn cases are called as users call: some arguments are left out or passed by name, lists may be
 * tuples, and torch and Python have other settings than those that they start with.
 */
#ifndef KGB_VERIFY_CASES_CALL_STYLE_H
#define KGB_VERIFY_CASES_CALL_STYLE_H

#include "verify/cases/case.h"
#include "verify/tensor/rng.h"

/** The styles are dealt like cards, so that the cases of each function have all of them. */
struct kgb_call_deck {
	const struct kgb_seed *seed;
	const struct kgb_interface *interface;
	uint32_t n_cases, n_with_default, n_with_float; /* dealt so far */
};

/** Of the cases that have such arguments half are called without those that are the schema's
 * default: each one by name, and those by position behind which none is passed. A quarter of all
 * get arguments by name, but for tensors before all others, half lists as tuples, a quarter
 * floating tensors as parameters; a quarter runs under torch.no_grad, another under
 * torch.inference_mode. Of those with a floating tensor, whose
 * results do not depend on it, a quarter has another default type. */
void kgb_case_deal_call_style(struct kgb_call_deck *deck, struct kgb_case *c);
/** For a twin: called like its model. */
void kgb_case_copy_call_style(struct kgb_case *c, const struct kgb_case *from);

#endif
