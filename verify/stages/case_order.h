/* SPDX-License-Identifier: MIT */
/** \file
 * In which order the cases of an operator are judged.
 */
#ifndef KGB_VERIFY_STAGES_CASE_ORDER_H
#define KGB_VERIFY_STAGES_CASE_ORDER_H

#include <stddef.h>

#include "verify/cases/cases.h"

/** Write the numbers of all cases to order[], which has room for them: the cheapest ordinary case
 * first, so that a broken kernel is told so at once; then the others as listed, those of the same
 * types together. */
void kgb_case_order(const struct kgb_cases *cases, size_t *order);

#endif
