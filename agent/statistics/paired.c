/* SPDX-License-Identifier: MIT */
#include "agent/statistics/paired.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/statistics/bootstrap.h"
#include "agent/statistics/proportion.h"
#include "base/mem.h"
#include "verify/tensor/rng.h"

#define EXACT_MAX 16 /* 65,536 choices of signs */
#define N_CHOICES 99999
#define DRAWN_AT_ONCE 1000
/* Relative difference below which two sums count as equal: sums of the same numbers in other orders
 * differ by rounding. */
#define ROUNDING 1e-12

/** Differences other than 0, eight by eight: the sums that the 256 choices of their signs give. */
struct flips {
	double (*sums)[256]; /* owned */
	size_t n, n_bytes;
	double border; /* a sum from here on is as far from 0 as the one observed */
};

static void add_difference(struct flips *flips, double difference)
{
	double *sums = flips->sums[flips->n / 8];
	for (unsigned signs = 0; signs < 256; signs++)
		sums[signs] += (signs >> (flips->n % 8)) & 1 ? difference : -difference;
	flips->n++;
	flips->n_bytes = (flips->n + 7) / 8;
}

static bool is_as_far(const struct flips *flips, const uint8_t *signs)
{
	double sum = 0;
	for (size_t i = 0; i < flips->n_bytes; i++)
		sum += flips->sums[i][signs[i]];
	return fabs(sum) >= flips->border;
}

static double exact_p(const struct flips *flips)
{
	const unsigned n_choices = 1u << flips->n;
	size_t hits = 0;
	for (unsigned signs = 0; signs < n_choices; signs++)
		hits += is_as_far(flips, (const uint8_t[]){(uint8_t)signs, (uint8_t)(signs >> 8)});
	return (double)hits / (double)n_choices;
}

static double sampled_p(const struct flips *flips)
{
	const size_t n_bytes = flips->n_bytes;
	KGB_AUTO(free) uint8_t *signs = kgb_xcalloc(DRAWN_AT_ONCE, n_bytes);
	const struct kgb_seed seed = {{0}};
	struct kgb_rng rng;
	size_t hits = 0;
	kgb_rng_init(&rng, &seed, "sign flips", 0);
	for (size_t i = 0; i < N_CHOICES; i++) {
		if (i % DRAWN_AT_ONCE == 0)
			kgb_rng_bytes(&rng, signs, DRAWN_AT_ONCE * n_bytes);
		hits += is_as_far(flips, signs + i % DRAWN_AT_ONCE * n_bytes);
	}
	return (double)(hits + 1) / (N_CHOICES + 1);
}

static double flip(const double *differences, size_t n)
{
	struct flips flips = {.sums = kgb_xcalloc(n / 8 + 1, sizeof(*flips.sums))};
	double sum = 0, size = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(differences[i]) || differences[i] == 0)
			continue;
		add_difference(&flips, differences[i]);
		sum += differences[i];
		size += fabs(differences[i]);
	}
	flips.border = fabs(sum) - ROUNDING * size;
	const double p = flips.n <= EXACT_MAX ? exact_p(&flips) : sampled_p(&flips);
	kgb_free(flips.sums);
	return p;
}

double kgb_sign_flip(const double *differences, size_t n)
{
	double least = (double)INFINITY, most = 0; /* sizes other than 0 */
	size_t n_above = 0, n_below = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(differences[i]) || differences[i] == 0)
			continue;
		least = fmin(least, fabs(differences[i]));
		most = fmax(most, fabs(differences[i]));
		n_above += differences[i] > 0;
		n_below += differences[i] < 0;
	}
	/* The sum depends on the number of each sign only: its choices need not be drawn. */
	return n_above + n_below == 0 || least == most ? kgb_mcnemar(n_above, n_below)
						       : flip(differences, n);
}

static double sd_of(const double *values, size_t n, double mean)
{
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
}

static bool are_equal(const double *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (values[i] != values[0])
			return false;
	return true;
}

struct kgb_paired kgb_paired_difference(const double *a, const double *b, size_t n)
{
	KGB_AUTO(free) double *values = kgb_xcalloc(n + 1, sizeof(*values));
	size_t n_known = 0;
	for (size_t i = 0; i < n; i++)
		if (isfinite(a[i]) && isfinite(b[i]))
			values[n_known++] = a[i] - b[i];
	const struct kgb_estimate mean = kgb_bootstrap_mean(values, n_known);
	/* Equal values show no spread, and a difference has no natural bound. */
	const bool is_bounded = !are_equal(values, n_known);
	return (struct kgb_paired){
		.value = mean.value,
		.low = is_bounded ? mean.low : (double)NAN,
		.high = is_bounded ? mean.high : (double)NAN,
		.p = kgb_sign_flip(values, n_known),
		.sd = sd_of(values, n_known, mean.value),
		.n = n_known,
	};
}

struct kgb_paired kgb_paired_ratio(const double *a, const double *b, size_t n)
{
	KGB_AUTO(free) double *logs = kgb_xcalloc(2 * n + 1, sizeof(*logs));
	for (size_t i = 0; i < n; i++) {
		const bool known = a[i] > 0 && b[i] > 0;
		logs[i] = known ? log(a[i]) : (double)NAN;
		logs[n + i] = known ? log(b[i]) : (double)NAN;
	}
	struct kgb_paired ratio = kgb_paired_difference(logs, logs + n, n);
	ratio.value = exp(ratio.value);
	ratio.low = exp(ratio.low);
	ratio.high = exp(ratio.high);
	return ratio;
}

struct ranked {
	double p;
	size_t place;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return (x->p > y->p) - (x->p < y->p);
}

void kgb_holm(double *p, size_t m)
{
	KGB_AUTO(free) struct ranked *order = kgb_xcalloc(m + 1, sizeof(*order));
	for (size_t i = 0; i < m; i++)
		order[i] = (struct ranked){p[i], i};
	qsort(order, m, sizeof(*order), by_p);
	double largest = 0;
	for (size_t i = 0; i < m; i++) {
		largest = fmax(largest, fmin(1, (double)(m - i) * order[i].p));
		p[order[i].place] = largest;
	}
}
