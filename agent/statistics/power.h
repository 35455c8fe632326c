/* SPDX-License-Identifier: MIT */
/** \file
 * What a comparison of two methods can see before money is spent. A difference is a mean over
 * operators of one value for each: A's success minus B's, or the logarithm of the ratio of their
 * speedups. Normal approximation: an exact test of few operators sees a little less.
 */
#ifndef KGB_AGENT_STATISTICS_POWER_H
#define KGB_AGENT_STATISTICS_POWER_H

#include <stddef.h>

#define KGB_Z_95 1.9599639845400545 /* quantile 0.975 of the standard normal distribution */

/** Standard deviation of "A passed minus B passed" over operators, when they disagree on this share
 * of them and there is no difference: sqrt(discordance). */
double kgb_discordance_sd(double discordance);

/** Operators that n answers are worth when each operator has m of them with intraclass correlation
 * `icc`: n / (1 + (m - 1) icc), Kish (1965). */
double kgb_effective_n(double n, double m, double icc);

/** Intraclass correlation of n operators with m values each, values[i * m + k]: ICC(1) of Shrout
 * and Fleiss (1979), (B - W) / (B + (m - 1) W), B and W the mean squares between and within
 * operators. NaN when n or m is below 2, or all values are equal. */
double kgb_icc(const double *values, size_t n, size_t m);

/** Smallest mean difference that a two-sided test at 5 % finds with this power: (z(0.975) +
 * z(power)) sd / sqrt(n), n effective. NaN when n <= 0. */
double kgb_detectable(double sd, double n, double power);

/** Probability that a two-sided test at 5 % finds a mean difference `effect`: Phi(d - z) + Phi(-d -
 * z), d = |effect| sqrt(n) / sd. */
double kgb_power(double effect, double sd, double n);

/** Operators needed to find `effect` with this power: ((z(0.975) + z(power)) sd / effect)^2,
 * rounded up. Infinite for an effect of 0. */
double kgb_needed_n(double effect, double sd, double power);

#endif
