/* SPDX-License-Identifier: MIT */
/** \file
 * The tier of a case. `core` covers the reference system's tests of operators: tensors with
 * elements, of the operator's types, in their usual layout, with ordinary values. `edge` is the
 * rest. */
#ifndef KGB_VERIFY_CASES_TIER_H
#define KGB_VERIFY_CASES_TIER_H

#include "verify/cases/case.h"

/** The tier that the case line names, or else the tier by the rule in docs/operator-spec.md. */
enum kgb_tier kgb_case_tier(const struct kgb_spec *spec, const struct kgb_case *c);

#endif
