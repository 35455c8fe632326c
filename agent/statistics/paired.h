/* SPDX-License-Identifier: MIT */
/** \file
 * Two methods on the same operators: each operator is compared with itself, so that hard and easy
 * ones do not blur the difference.
 */
#ifndef KGB_AGENT_STATISTICS_PAIRED_H
#define KGB_AGENT_STATISTICS_PAIRED_H

#include <stddef.h>

/** A mean of differences. NaN: unknown. */
struct kgb_paired {
	double value, low, high; /* mean, and its interval of 95 % by resampling operators; no
				    bounds for fewer than two different values */
	double p; /* of the sign-flip test; 1 without operators */
	double sd; /* of the differences; for kgb_detectable */
	size_t n; /* operators where both values are known */
};

/** p value, two-sided, that n differences are symmetric about 0: share of all 2^n choices of their
 * signs whose sum is as far from 0 as the sum observed (Fisher 1935). NaN values are left out.
 * Differences of one size, such as those of operators with one attempt each, give McNemar's exact
 * test (kgb_mcnemar). Else up to 16 differences other than 0 all choices are counted; above, 99,999
 * random ones, and p = (1 + hits) / 100,000 (Phipson and Smyth 2010). The choices are the same for
 * the same input. */
double kgb_sign_flip(const double *differences, size_t n);

/** Mean of a - b over the operators where both are known. */
struct kgb_paired kgb_paired_difference(const double *a, const double *b, size_t n);

/** Geometric mean of a / b over the operators where both are positive: exp of the mean of log(a) -
 * log(b), its interval likewise; `sd` and `p` are those of the logarithms. */
struct kgb_paired kgb_paired_ratio(const double *a, const double *b, size_t n);

/** Adjust m p values for m comparisons: Holm (1979). With p in ascending order, adjusted(i) is the
 * largest min(1, (m - j + 1) p(j)) for j <= i; a comparison is significant at level L when its
 * adjusted p is at most L, and then at least one false alarm among all has probability L at most.
 * \param p replaced by the adjusted values, in the same order. */
void kgb_holm(double *p, size_t m);

#endif
