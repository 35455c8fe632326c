/* SPDX-License-Identifier: MIT */
/** \file
 * Comparison of a candidate's result with the fp64 reference by a derived tolerance. With r the
 * reference in fp64, n the same computed by a trusted implementation in the result's own precision,
 * c the candidate, m a power of two near the median |r|, w_i = max(|r_i|, m, smallest normal), S_i
 * the magnitude (sum of |term|; w_i where the spec declares none):
 *
 *   element:  |c_i - r_i| <= ulps * (eps * w_i + eps_S * S_i) + factor * E_i + flushed
 *             E_i = max_j |n_j - r_j| * min(1, w_i / |r_j|)
 *   bulk:     rms((c - r) / w) <= factor * rms((n - r) / w)
 *                                 + ulps * (eps * (1/4 + 1/sqrt(count)) + eps_S * rms(S / w))
 *
 * eps is that of the result's dtype. eps_S is 4 eps(float32) for terms that are added up in
 * float32, eps / 2 for terms that may be rounded to the dtype; `flushed` is the smallest normal
 * value where hardware flushes subnormals (not float16). E_i is the native implementation's own
 * error, carried from large elements to small ones in proportion, so that an outlier's rounding
 * excuses nothing elsewhere. The w and S terms are what an honest kernel with another summation
 * order needs where the native error is 0 by luck (exact results, a single element, cancellation);
 * as eps_S is tied to float32, accumulating in half precision is still seen. The bulk line bounds
 * the precision of the tensor as a whole. docs/tolerance.md has the numbers and the reasons.
 *
 * Real and imaginary parts are compared one by one, as numbers of their own; `ref64` and
 * `magnitude` have two doubles for each complex number, and elements are counted by parts.
 *
 * Of what is copied or converted (`is_exact`) nothing is allowed: c_i must be n_i, or r_i rounded
 * once; NaN are all the same. With `has_signed_zeros`, where r_i and n_i are zeros of one sign a
 * c_i that is zero must have that sign.
 *
 * Integers and bool must be equal to n. NaN must stand where NaN stands and infinities where they
 * stand, in r or in n; where only rounding to the dtype overflows, the infinity and the largest
 * finite values are both right.
 */
#ifndef KGB_VERIFY_CASES_COMPARE_H
#define KGB_VERIFY_CASES_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "verify/spec/spec.h"
#include "verify/tensor/tensor_view.h"

struct kgb_compare {
	bool ok;
	int64_t n_elements;
	int64_t n_wrong;
	int64_t first_wrong; /* row-major number of the first wrong element, -1 none */
	int64_t reported; /* the element that expected, got and allowed_abs_err speak of: the first
			     with a misplaced NaN or infinity, else the one furthest over (or
			     nearest to) its bound; -1 without elements */
	double expected, got;
	double max_abs_err; /* over elements that are finite in candidate and reference */
	double allowed_abs_err; /* at the reported element */
	double rms_err, allowed_rms_err; /* the bulk line, relative to w; 0 for integers */
	bool rms_failed;
	double share; /* error over allowed error, the largest: of an element or of the bulk line; 0
			 for integers, rounded results and draws. Above 1 something is wrong */
	const char *unlikely; /* of draws (law.h): why they are none; static, NULL: nothing */
};

/** `candidate`: storage bytes behind cand_view, whose dtype is the result's. `native`: contiguous,
 * same sizes and dtype. `ref64`: contiguous float64 (ignored for integers and bool). `magnitude`:
 * contiguous float64 or NULL. Sizes were checked by the caller. Large results are compared by
 * several threads; what comes out does not depend on their number. */
void kgb_compare(const struct kgb_tensor_view *cand_view, const void *candidate, const void *native,
		 const double *ref64, const double *magnitude,
		 const struct kgb_tolerance *tolerance, struct kgb_compare *out);

/** The same for results that are rounded to a type far coarser than what they are computed in
 * (quantised): `ref64` is the value before that rounding, known up to ulps * eps * S_i. Right is
 * what the trusted implementation gave, and whatever a number within that of r rounds to. */
void kgb_compare_rounded(const struct kgb_tensor_view *cand_view, const void *candidate,
			 const void *native, const double *ref64, const double *magnitude,
			 double eps, const struct kgb_tolerance *tolerance,
			 struct kgb_compare *out);

#endif
