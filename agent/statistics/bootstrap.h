/* SPDX-License-Identifier: MIT */
/** \file
 * Intervals by resampling whole operators: samples of one operator are not independent evidence.
 */
#ifndef KGB_AGENT_STATISTICS_BOOTSTRAP_H
#define KGB_AGENT_STATISTICS_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

/** NaN where nothing is known. */
struct kgb_estimate {
	double value, low, high; /* mean, and its interval of 95 % */
	size_t n; /* operators */
};

/** Mean of one value for each operator; NaN values are left out. The interval is the percentile
 * bootstrap over operators with 2,000 resamples. When all values are the same (or there is one), a
 * resample shows no spread: then it is the score interval of Wilson for n trials with that share of
 * successes, which needs values between 0 and 1. The resamples are the same for the same
 * input. */
struct kgb_estimate kgb_bootstrap_mean(const double *values, size_t n);

/** The same, but an operator is replaced only by operators of its stratum (its source, such as
 * vLLM): the numbers of operators of each source are part of the data set, not of chance. The value
 * of an operator with several attempts is their mean, so that its attempts stay together (cluster
 * bootstrap). \param strata of each value; NULL: all are of one. */
struct kgb_estimate kgb_bootstrap_strata(const double *values, const uint32_t *strata, size_t n);

#endif
