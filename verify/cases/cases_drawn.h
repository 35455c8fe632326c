/* SPDX-License-Identifier: MIT */
/** \file
 * The cases of an interface that a seed draws from its templates. For cases.c.
 */
#ifndef KGB_VERIFY_CASES_CASES_DRAWN_H
#define KGB_VERIFY_CASES_CASES_DRAWN_H

#include "verify/cases/case_args.h"
#include "verify/cases/cases.h"

/** Add a case for each type of the expansion's line. */
KGB_MUST_CHECK int kgb_cases__expand_line(struct kgb_case_expander *x, struct kgb_cases *cases);
/** Add the cases that `seed` draws for the expansion's interface, which has `n_listed` listed
 * cases. */
KGB_MUST_CHECK int kgb_cases__draw(struct kgb_case_expander *x, const struct kgb_seed *seed,
				   size_t n_listed, struct kgb_cases *cases);

#endif
