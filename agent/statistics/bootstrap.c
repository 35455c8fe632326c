/* SPDX-License-Identifier: MIT */
#include "agent/statistics/bootstrap.h"

#include <math.h>
#include <stdint.h>

#include "base/mem.h"
#include "verify/tensor/statistics.h"

#define N_RESAMPLES 2000
#define TAIL 0.025

/* SplitMix64 (Steele, Lea, Flood 2014): a fixed stream, so a result can be computed again. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static double mean_of_resample(const double *values, size_t n, uint64_t *state)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += values[next(state) % n];
	return sum / (double)n;
}

/** All values are the same: what n operators without an exception allow. */
static void widen(struct kgb_estimate *estimate)
{
	const double reach = pow(TAIL, 1 / (double)estimate->n);
	if (estimate->value <= 0)
		estimate->high = 1 - reach;
	else if (estimate->value >= 1)
		estimate->low = reach;
}

struct kgb_estimate kgb_bootstrap_mean(const double *values, size_t n)
{
	struct kgb_estimate estimate = {(double)NAN, (double)NAN, (double)NAN, 0};
	double *known = kgb_xcalloc(n + 1, sizeof(*known));
	double *means = kgb_xcalloc(N_RESAMPLES, sizeof(*means));
	double sum = 0;
	uint64_t state = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		known[estimate.n++] = values[i];
	}
	for (size_t i = 0; estimate.n > 0 && i < N_RESAMPLES; i++)
		means[i] = mean_of_resample(known, estimate.n, &state);
	if (estimate.n > 0) {
		estimate.value = sum / (double)estimate.n;
		estimate.low = kgb_quantile(means, N_RESAMPLES, TAIL);
		estimate.high = kgb_quantile(means, N_RESAMPLES, 1 - TAIL);
		if (kgb_quantile(means, N_RESAMPLES, 0) == kgb_quantile(means, N_RESAMPLES, 1))
			widen(&estimate);
	}
	kgb_free(known);
	kgb_free(means);
	return estimate;
}
