/* SPDX-License-Identifier: MIT */
/** \file
 * Deals to drawn cases how the elements of their tensors differ from independent draws of one size
 * (verify/fills/values.h). docs/operator-spec.md has the rules.
 */
#ifndef KGB_VERIFY_CASES_VALUE_DECK_H
#define KGB_VERIFY_CASES_VALUE_DECK_H

#include "verify/cases/case.h"
#include "verify/draw/dictionary.h"
#include "verify/tensor/rng.h"

/** The styles are dealt like cards, so that the cases of each function have all of them. */
struct kgb_value_deck {
	const struct kgb_seed *seed;
	const struct kgb_dictionary *numbers; /* of the candidate's text; NULL: none */
	uint32_t n_cases, n_scaled, n_patterns, n_regions, n_points, n_relations, n_wide,
		n_numbers; /* dealt so far */
};

/** Draw the styles of a case's tensors. `from` is the template of the case: what it excludes from
 * special cases, no style adds. */
void kgb_case_deal_values(struct kgb_value_deck *deck, const struct kgb_case_vars *from,
			  struct kgb_case *c);
/** Give those tensors of a twin that have the fill of its model's the styles of these. */
void kgb_case_copy_values(struct kgb_case *c, const struct kgb_case *from);

#endif
