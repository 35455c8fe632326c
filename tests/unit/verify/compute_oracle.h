/* SPDX-License-Identifier: MIT */
/** \file
 * Filling and comparing as one would write it without a thought of speed, one element after the
 * other: what the judge's own functions must agree with.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_COMPUTE_ORACLE_H
#define KGB_TESTS_UNIT_VERIFY_COMPUTE_ORACLE_H

#include "verify/comparator/compare.h"
#include "verify/fills/fill.h"

/** The same bytes as kgb_fill. */
void oracle_fill(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng, void *storage);
/** The same as kgb_compare but for the last bits of rms_err and allowed_rms_err, whose sums are
 * rounded in another order. */
void oracle_compare(const struct kgb_tensor_view *cand_view, const void *candidate,
		    const void *native, const double *ref64, const double *magnitude,
		    const struct kgb_tolerance *tolerance, struct kgb_compare *out);

#endif
