/* SPDX-License-Identifier: MIT */
#include "agent/statistics/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "agent/statistics/proportion.h"
#include "base/hash.h"
#include "base/mem.h"
#include "verify/tensor/statistics.h"

#define N_RESAMPLES 2000
#define TAIL 0.025

/** A value, and the values of its stratum: any of them can be drawn in its place. */
struct member {
	double value;
	uint32_t stratum;
	size_t place; /* in the input: values of a stratum keep their order */
	size_t first, size; /* of the stratum */
};

static int by_stratum(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->stratum != y->stratum)
		return x->stratum < y->stratum ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static void find_strata(struct member *members, size_t n)
{
	qsort(members, n, sizeof(*members), by_stratum);
	for (size_t first = 0, end = 0; first < n; first = end) {
		while (end < n && members[end].stratum == members[first].stratum)
			end++;
		for (size_t i = first; i < end; i++) {
			members[i].first = first;
			members[i].size = end - first;
		}
	}
}

static double mean_of_resample(const struct member *members, size_t n, uint64_t *state)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += members[members[i].first + kgb_splitmix64(state) % members[i].size].value;
	return sum / (double)n;
}

struct kgb_estimate kgb_bootstrap_mean(const double *values, size_t n)
{
	return kgb_bootstrap_strata(values, NULL, n);
}

struct kgb_estimate kgb_bootstrap_strata(const double *values, const uint32_t *strata, size_t n)
{
	struct kgb_estimate estimate = {(double)NAN, (double)NAN, (double)NAN, 0};
	struct member *known = kgb_xcalloc(n + 1, sizeof(*known));
	double *means = kgb_xcalloc(N_RESAMPLES, sizeof(*means));
	double sum = 0;
	uint64_t state = 0; /* a fixed stream, so a result can be computed again */
	for (size_t i = 0; i < n; i++) {
		if (isnan(values[i]))
			continue;
		sum += values[i];
		known[estimate.n++] = (struct member){
			.value = values[i], .stratum = strata ? strata[i] : 0, .place = i};
	}
	find_strata(known, estimate.n);
	for (size_t i = 0; estimate.n > 0 && i < N_RESAMPLES; i++)
		means[i] = mean_of_resample(known, estimate.n, &state);
	if (estimate.n > 0) {
		estimate.value = sum / (double)estimate.n;
		estimate.low = kgb_quantile(means, N_RESAMPLES, TAIL);
		estimate.high = kgb_quantile(means, N_RESAMPLES, 1 - TAIL);
		if (kgb_quantile(means, N_RESAMPLES, 0) == kgb_quantile(means, N_RESAMPLES, 1)) {
			/* Resamples have no spread. */
			const struct kgb_interval wilson =
				kgb_wilson_share(estimate.value, estimate.n);
			estimate.low = wilson.low;
			estimate.high = wilson.high;
		}
	}
	kgb_free(known);
	kgb_free(means);
	return estimate;
}
