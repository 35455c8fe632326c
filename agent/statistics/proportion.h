/* SPDX-License-Identifier: MIT */
/** \file
 * Shares of operators, and tests of the difference of two methods on the same operators. */
#ifndef KGB_AGENT_STATISTICS_PROPORTION_H
#define KGB_AGENT_STATISTICS_PROPORTION_H

#include <stddef.h>

#include "verify/tensor/statistics.h"

/** k of n with the 95 % score interval of Wilson (1927): the shares p with |k/n - p| <= z sqrt(p (1
 * - p) / n), z = 1.96. It stays within 0 and 1 and has a width at both borders (Brown, Cai and
 * DasGupta 2001). NaN for n = 0. */
struct kgb_interval kgb_wilson(size_t k, size_t n);
/** The same for a share between 0 and 1 of n trials. It holds for the mean of n values between 0
 * and 1 too: none of that mean have a larger variance. */
struct kgb_interval kgb_wilson_share(double share, size_t n);

/** p value, two-sided, of McNemar's exact test: `only_a` operators that only method A passed
 * against `only_b` that only B passed. Without a difference each of them is A's with probability
 * 1/2, so that p = min(1, 2 P(X <= min(only_a, only_b))), X binomial with only_a + only_b draws. 1
 * when there is none. */
double kgb_mcnemar(size_t only_a, size_t only_b);

#endif
