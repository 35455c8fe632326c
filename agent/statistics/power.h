/* SPDX-License-Identifier: MIT */
/** \file
 * The differences that a comparison of two methods can detect, computed before money is spent. A
 * difference is a mean over operators of one value for each: A's success minus B's, or the
 * logarithm of the ratio of their speedups. Normal approximation: an exact test of few operators
 * detects a little less. */
#ifndef KGB_AGENT_STATISTICS_POWER_H
#define KGB_AGENT_STATISTICS_POWER_H

#include <stddef.h>

/* The smallest p value of n sign flips is 2^(1 - n): fewer operators have none of 0.05 or less. */
#define KGB_FEWEST_OPERATORS 6
#define KGB_Z_95 1.9599639845400545 /* quantile 0.975 of the standard normal distribution */

/** Standard deviation of the difference of pass rates of n operators when there is no difference:
 * the root mean square of the differences, NaN ones left out. With one attempt each this is the
 * root of the share of operators on which the methods disagree. \param step what one attempt more
 * that passes adds to an operator's rate (1 / attempts): without an observed difference, one of
 * that size is still possible. */
double kgb_null_sd(const double *differences, size_t n, double step);

/** Variance of attempts at operators, split by a one-way analysis of variance with random operators
 * of uneven sizes (Searle, Casella and McCulloch 1992, 3.6): W, B the mean squares within and
 * between operators, m0 = (N - sum m(i)^2 / N) / (n - 1) for N attempts. NaN: unknown. */
struct kgb_components {
	double within; /* of attempts about their operator's rate: W */
	double between; /* of the operators' rates: (B - W) / m0; below 0 by chance only */
};

/** \param values of all attempts, those of an operator together; \param sizes how many attempts
 * each of n operators has (m), at least 1. NaN when n < 2 or no operator has two attempts. */
struct kgb_components kgb_variance_components(const double *values, const size_t *sizes, size_t n);

/** Intraclass correlation of attempts: between / (between + within), which is ICC(1) of Shrout and
 * Fleiss (1979), (B - W) / (B + (m - 1) W), where all operators have m attempts. NaN when all
 * values are equal, or nothing is known. */
double kgb_icc(const double *values, const size_t *sizes, size_t n);

/** The effective number of operators of n answers when each operator has m of them with intraclass
 * correlation `icc`: n / (1 + (m - 1) icc), Kish (1965). */
double kgb_effective_n(double n, double m, double icc);

/** Standard deviation over operators of the difference of two methods' means of m attempts each:
 * sqrt(between + 2 within / m). \param between variance of the true differences of operators;
 * \param within variance of one attempt about its operator's mean. */
double kgb_attempts_sd(double within, double between, double m);

/** Attempts of each method at each of n operators that find `effect` with this power: the least m
 * for which kgb_detectable(kgb_attempts_sd(m), n) is at most `effect`. Infinite when the operators'
 * own differences hide it, however many attempts there are. */
double kgb_needed_attempts(double effect, double within, double between, double n, double power);

/** Smallest mean difference that a two-sided test at 5 % finds with this power: (z(0.975) +
 * z(power)) sd / sqrt(n), n effective. NaN when n <= 0. */
double kgb_detectable(double sd, double n, double power);

/** The same for one of m sign-flip tests (kgb_sign_flip) that kgb_holm adjusts: the level of its
 * first step, 0.05 / m, takes the place of 0.05. Infinite when no outcome of n flips has such a p
 * value: the smallest is 2^(1 - n). \param m at least 1 */
double kgb_detectable_by_flips(double sd, size_t n, double power, size_t m);

/** Probability that a two-sided test at 5 % finds a mean difference `effect`: Phi(d - z) + Phi(-d -
 * z), d = |effect| sqrt(n) / sd. */
double kgb_power(double effect, double sd, double n);

/** Operators needed to find `effect` with this power: ((z(0.975) + z(power)) sd / effect)^2,
 * rounded up. Infinite for an effect of 0. */
double kgb_needed_n(double effect, double sd, double power);

#endif
