/* SPDX-License-Identifier: MIT */
/** \file
 * Statistics of repeated measurements: robust locations, intervals that do not assume a
 * distribution, and the differences that an experiment could detect. Pure arithmetic; random
 * numbers come from the caller's counter-based generator, so the same seed gives the same interval.
 * Formulas and sources: docs/timing.md.
 *
 * Inputs are never changed. An empty or unusable input gives NaN, never a number that looks right.
 */
#ifndef KGB_VERIFY_TENSOR_STATISTICS_H
#define KGB_VERIFY_TENSOR_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "verify/tensor/rng.h"

/** An estimate and an interval that covers the truth with the confidence asked for. */
struct kgb_interval {
	double value, low, high;
};

/** For qsort: doubles in ascending order. */
int kgb_compare_doubles(const void *a, const void *b);

/* ---- one sample ---- */

/** Quantile 0 <= p <= 1 of n values, type 7 of Hyndman and Fan: linear between order statistics. */
double kgb_quantile(const double *values, size_t n, double p);
double kgb_median(const double *values, size_t n);
/** Median of |x - median|, unscaled; times KGB_MAD_TO_SIGMA it estimates a normal sigma. */
double kgb_mad(const double *values, size_t n);
#define KGB_MAD_TO_SIGMA 1.4826022185056018
/** Mean of what is left when floor(cut * n) values are taken from each end; 0 <= cut < 0.5. */
double kgb_trimmed_mean(const double *values, size_t n, double cut);
/** Yuen's standard error of the trimmed mean: sqrt(SS_w / (h (h - 1))), SS_w the winsorized sum of
 * squares about its mean, h the number of values that are left. NaN for h < 2. */
double kgb_trimmed_error(const double *values, size_t n, double cut);

/* ---- intervals ---- */

/** Trimmed mean with a studentized bootstrap interval, symmetric in t: value -+ q * error, q the
 * `confidence` quantile of |t*| over n_replicas resamples. NaN bounds for fewer than 3 values. */
struct kgb_interval kgb_trimmed_bootstrap(const double *values, size_t n, double cut,
					  double confidence, size_t n_replicas,
					  struct kgb_rng *rng);

/** Values of groups that share something which the values of other groups do not share. */
struct kgb_grouped {
	double value; /* mean of the groups' trimmed means, each weighted by its number of values */
	double error; /* standard error of `value` by the spread within groups */
	double variance; /* between the groups' true means; 0 for one group */
	double share; /* sum of the squared weights: 1 / n_groups for groups of one size. So
			 variance * share is what groups add to the variance of `value` */
	size_t n_groups; /* that have values */
};
/** Random effects of groups: `variance` is the moment estimate of DerSimonian and Laird (1986),
 * (sum n_g (m_g - value)^2 - (k - 1) s^2) / (n - sum n_g^2 / n), at least 0, with s^2 = n error^2.
 * \param groups of each value, in ascending order.
 * \param centred_out n values about `value`, with the spread that there is within groups: what is
 * left of their differences, times sqrt((n - 1) / (n - k)) for the k means taken out.
 * NaN without values, as for kgb_trimmed_error. */
struct kgb_grouped kgb_group_values(const double *values, const uint32_t *groups, size_t n,
				    double cut, double *centred_out);

/** One number of one round; rounds are what is resampled, because samples of one round share its
 * clock and neighbours. */
struct kgb_round_value {
	double value; /* > 0 */
	uint32_t round; /* 0 .. n_rounds - 1 */
};
/** median(a) / median(b) over all samples, with a percentile bootstrap that resamples whole rounds
 * (a's and b's samples of a round stay together). */
struct kgb_interval kgb_median_ratio_bootstrap(const struct kgb_round_value *a, size_t n_a,
					       const struct kgb_round_value *b, size_t n_b,
					       uint32_t n_rounds, double confidence,
					       size_t n_replicas, struct kgb_rng *rng);

/** Geometric mean of n positive values. Its interval combines theirs in the logarithm (Zou and
 * Donner's recovery of variances); NaN if any is not positive. `common[i]`, at most the distance of
 * value i's bounds, is the part of that distance by an error that all values share: such parts add
 * up, the rest is independent. */
struct kgb_interval kgb_geometric_mean(const struct kgb_interval *values, const double *common,
				       size_t n);

/** Standard normal quantile, 0 < p < 1, to 1e-9. */
double kgb_normal_quantile(double p);
/** Student's t quantile, 0 < p < 1, by the expansion in 1 / freedom of Abramowitz and
 * Stegun 26.7.5: for 0.025 <= p <= 0.975 off by less than 1 % from 3 degrees of freedom on, 0.1 %
 * from 5 on. */
double kgb_t_quantile(double p, double freedom);

#endif
