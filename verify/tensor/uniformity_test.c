/* SPDX-License-Identifier: MIT */
#include "verify/tensor/uniformity_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "verify/tensor/statistics.h"

enum {
	N_BINS = 4096,
	END = 256, /* draws at the beginning and at the end with a separate test */
	NEAR = 8192,
	WORD = 64,
};

/* -ln of the probability with which one test may refuse honest draws: 2^-34, shared by 8 tests of a
 * call. */
#define TEST_COST (37 * M_LN2)
/* The same where one test checks many distances, less than 2^16 of them. */
#define DISTANCE_COST (TEST_COST + 16 * M_LN2)
#define MOST_PROBABLE 0x1p-22 /* probability of one value, at most: kgb_uniformity_coarse */

/* ---- law ---- */

static bool has_wrong_law(const double *u, size_t n)
{
	uint32_t bins[N_BINS] = {0};
	const double allowed = (double)n * sqrt((TEST_COST + M_LN2) / 2 / (double)n);
	double seen = 0;

	for (size_t i = 0; i < n; i++) {
		double place = u[i] * N_BINS;
		bins[place < 0 ? 0 : place >= N_BINS ? N_BINS - 1 : (size_t)place]++;
	}
	for (size_t k = 0; k < N_BINS; k++) {
		seen += bins[k];
		if (fabs(seen - (double)n * (double)(k + 1) / N_BINS) >= allowed)
			return true;
	}
	return false;
}

/* ---- repetition ---- */

/* One bit for each draw, and a word of zeros behind them. */
static uint64_t *halves_of(const double *u, size_t n)
{
	uint64_t *bits = kgb_xcalloc(n / WORD + 2, sizeof(*bits));

	for (size_t i = 0; i < n; i++)
		bits[i / WORD] |= (uint64_t)(u[i] < 0.5) << (i % WORD);
	return bits;
}

static uint64_t word_at(const uint64_t *bits, size_t i)
{
	unsigned shift = i % WORD;

	return shift == 0 ? bits[i / WORD]
			  : bits[i / WORD] >> shift | bits[i / WORD + 1] << (WORD - shift);
}

/* Whether the first m bits of `a` differ from the bits of `b` from `lag` on as often as fair
 * coins. */
static bool is_fair(const uint64_t *a, const uint64_t *b, size_t lag, size_t m)
{
	size_t n_different = 0, i = 0;

	for (; i + WORD <= m; i += WORD)
		n_different += (size_t)__builtin_popcountll(a[i / WORD] ^ word_at(b, i + lag));
	if (i < m)
		n_different += (size_t)__builtin_popcountll((a[i / WORD] ^ word_at(b, i + lag)) &
							    ((UINT64_C(1) << (m - i)) - 1));
	return fabs((double)n_different - (double)m / 2) <
	       sqrt((double)m * (DISTANCE_COST + M_LN2) / 2);
}

static bool repeats(const double *u, size_t n)
{
	KGB_AUTO(free) uint64_t *bits = halves_of(u, n);
	size_t n_near = n < NEAR ? n : NEAR;
	bool fair = true;

	for (size_t lag = 1; lag < n_near && fair; lag++)
		fair = is_fair(bits, bits, lag, n_near - lag);
	for (size_t lag = WORD; lag < n && fair; lag += WORD)
		fair = is_fair(bits, bits, lag, n - lag);
	return !fair;
}

const char *kgb_uniformity_doubt(const double *u, size_t n)
{
	size_t n_end = n < END ? n : END;

	if (n == 0)
		return NULL;
	if (has_wrong_law(u, n))
		return "the values have another distribution";
	if (has_wrong_law(u, n_end))
		return "the first values have another distribution";
	if (has_wrong_law(u + n - n_end, n_end))
		return "the last values have another distribution";
	return repeats(u, n) ? "elements at some distance from each other are not independent"
			     : NULL;
}

const char *kgb_uniformity_relation(const double *a, const double *b, size_t n)
{
	KGB_AUTO(free) uint64_t *first = halves_of(a, n);
	KGB_AUTO(free) uint64_t *second = halves_of(b, n);
	size_t n_near = n < NEAR ? n : NEAR;
	bool fair = n == 0 || is_fair(first, second, 0, n);

	for (size_t lag = 1; lag < n_near && fair; lag++)
		fair = is_fair(first, second, lag, n_near - lag) &&
		       is_fair(second, first, lag, n_near - lag);
	return fair ? NULL : "their elements depend on each other";
}

/* ---- resolution ---- */

const char *kgb_uniformity_coarse(double *values, size_t n)
{
	double expected = MOST_PROBABLE * (double)n * ((double)n - 1) / 2;
	double count = 0;

	if (n == 0)
		return NULL;
	qsort(values, n, sizeof(*values), kgb_compare_doubles);
	for (size_t i = 1; i < n; i++)
		count += values[i] == values[i - 1];
	if (count <= expected)
		return NULL;
	return expected - count + count * log(count / expected) > TEST_COST
		       ? "too few different numbers occur"
		       : NULL;
}

struct place {
	double value;
	size_t at;
};

static int compare_places(const void *a, const void *b)
{
	return kgb_compare_doubles(&((const struct place *)a)->value,
				   &((const struct place *)b)->value);
}

/* For each draw whether it is the first one of its value. */
static bool *find_first(const double *values, size_t n)
{
	KGB_AUTO(free) struct place *places = kgb_xreallocarray(NULL, n, sizeof(*places));
	bool *is_first = kgb_xcalloc(n, sizeof(*is_first));

	for (size_t i = 0; i < n; i++)
		places[i] = (struct place){values[i], i};
	qsort(places, n, sizeof(*places), compare_places);
	for (size_t i = 0; i < n;) {
		const double value = places[i].value;
		size_t first = places[i].at;
		for (; i < n && places[i].value == value; i++)
			first = places[i].at < first ? places[i].at : first;
		is_first[first] = true;
	}
	return is_first;
}

const char *kgb_uniformity_sparse(const double *values, const double *masses, size_t n)
{
	static const double rates[] = {0.125, 1};
	double seen = 0, expected = 0, count = 0;

	if (n == 0)
		return NULL;
	KGB_AUTO(free) bool *is_first = find_first(values, n);
	for (size_t i = 0; i < n; i++) {
		expected += fmin(seen, 1);
		count += !is_first[i];
		seen += is_first[i] ? masses[i] + MOST_PROBABLE : 0;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(rates); i++)
		if (rates[i] * count - expm1(rates[i]) * expected > TEST_COST + M_LN2)
			return "too few different numbers occur";
	return NULL;
}
