/* SPDX-License-Identifier: MIT */
/** \file
 * Comparison of a candidate's result c with the float64 reference r, and n, the same computed by a
 * trusted implementation in the result's own precision. docs/tolerance.md has the formulas, their
 * reasons and numbers: a line for each element, and the bulk line for the tensor as a whole.
 *
 * Real and imaginary parts are separate numbers; `ref64` and `magnitude` have two doubles for each
 * complex number, and elements are counted by parts. Integers and bool must be equal to n. NaN and
 * infinities must be at the places of those in r or in n; where only rounding to the dtype
 * overflows, the infinity and the largest finite value are both right. With `is_exact` c must be n,
 * or r rounded once; all NaN are the same, or with `has_nan_bits` those of the same bits. With
 * signed `zeros` a zero must have the common sign of r and n if both are zeros of the same
 * sign. */
#ifndef KGB_VERIFY_COMPARATOR_COMPARE_H
#define KGB_VERIFY_COMPARATOR_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "verify/spec/spec.h"
#include "verify/tensor/tensor_view.h"

struct kgb_compare {
	bool ok;
	int64_t n_elements;
	int64_t n_wrong;
	int64_t first_wrong; /* row-major number of the first wrong element, -1 none */
	int64_t reported; /* the element of expected, got and allowed_abs_err: the first with a
			     misplaced NaN or infinity, else the one furthest over (or nearest to)
			     its bound; -1 without elements */
	double expected, got;
	double max_abs_err; /* over elements that are finite in candidate and reference */
	double allowed_abs_err; /* at the reported element */
	double rms_err, allowed_rms_err; /* the bulk line, relative to w; 0 for integers */
	bool rms_failed;
	double share; /* error over allowed error, the largest: of an element or of the bulk line; 0
			 for integers, rounded results and draws. Above 1 something is wrong */
	const char *unlikely; /* of random results (random_results.h): why they are improbable;
				 static, NULL: nothing */
};

/** `candidate`: storage bytes behind cand_view, whose dtype is the result's. `native`: contiguous,
 * same sizes and dtype. `ref64`: contiguous float64 (ignored for integers and bool). `magnitude`:
 * contiguous float64 or NULL. Sizes were checked by the caller. Several threads compare large
 * results; the outcome does not depend on their number. */
void kgb_compare(const struct kgb_tensor_view *cand_view, const void *candidate, const void *native,
		 const double *ref64, const double *magnitude,
		 const struct kgb_tolerance *tolerance, struct kgb_compare *out);

/** The same for results that are rounded to a type far coarser than that of the computation
 * (quantised): `ref64` is the value before that rounding, exact to ulps * eps * S_i. The trusted
 * implementation's result is right, and so is the rounding of each number within that distance of
 * r. */
void kgb_compare_rounded(const struct kgb_tensor_view *cand_view, const void *candidate,
			 const void *native, const double *ref64, const double *magnitude,
			 double eps, const struct kgb_tolerance *tolerance,
			 struct kgb_compare *out);

/** Whether kgb_compare or kgb_compare_rounded would find the result right. Ends at the first wrong
 * element, as nearly all elements of results without their kernels are. */
bool kgb_compare_passes(const struct kgb_tensor_view *cand_view, const void *candidate,
			const void *native, const double *ref64, const double *magnitude,
			const struct kgb_tolerance *tolerance);
bool kgb_compare_rounded_passes(const struct kgb_tensor_view *cand_view, const void *candidate,
				const void *native, const double *ref64, const double *magnitude,
				double eps, const struct kgb_tolerance *tolerance);

#endif
