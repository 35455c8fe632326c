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
	uint32_t n_cases, n_with_default, n_with_float, n_compiled; /* dealt so far */
};

/** Draw how a case is called. Of the cases with arguments that equal the schema's default, half are
 * called without these: without those that are passed by name, and without trailing positional
 * ones. A quarter of all cases pass arguments by name, except the leading tensors; half pass lists
 * as tuples; a quarter pass floating tensors as torch.nn.Parameter. In a quarter torch computes the
 * gradient of floating tensors that the call only reads, as of leaves, in another quarter as of
 * results of an operator; leaves that the call changes only under torch.no_grad. A quarter run
 * under torch.no_grad, another under torch.inference_mode. Of the cases with a floating tensor,
 * whose results do not depend on torch's default type, a quarter run with another default type. In
 * a quarter torch answers that the call is compiled, half of these by export; in another quarter
 * that it is traced. Half of all cases call a kernel.py that is compiled without asserts and
 * docstrings.
 */
void kgb_case_deal_call_style(struct kgb_call_deck *deck, struct kgb_case *c);
/** Call a twin as its model is called. */
void kgb_case_copy_call_style(struct kgb_case *c, const struct kgb_case *from);

#endif
