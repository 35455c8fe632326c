/* SPDX-License-Identifier: MIT */
/** \file
 * Lines of drawn cases whose elements have a relation: users have probabilities, unit vectors,
 * windows, and evenly spaced numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "verify/fills/values.h"
#include "verify/tensor/statistics.h"

/* Positive numbers with this sum, also as the type rounds them: the largest one gets what is left.
 */
static void make_shares(const struct kgb_arg *arg, double total, double *line, int64_t n)
{
	double sum = 0, left = total;
	int64_t largest = 0;

	for (int64_t k = 0; k < n; k++)
		sum += fabs(line[k]);
	for (int64_t k = 0; k < n && sum > 0; k++) {
		line[k] = kgb_dtype_round(arg->view.dtype, fabs(line[k]) / sum * total);
		left -= line[k];
		largest = line[k] > line[largest] ? k : largest;
	}
	if (sum > 0 && line[largest] + left > 0)
		line[largest] += left;
}

static void make_unit(double norm, double *line, int64_t n)
{
	double sum = 0;

	for (int64_t k = 0; k < n; k++)
		sum += line[k] * line[k];
	for (int64_t k = 0; k < n && sum > 0; k++)
		line[k] *= norm / sqrt(sum);
}

/* From the first element to the last one. */
static void make_even(const struct kgb_arg *arg, double *line, int64_t n)
{
	const bool is_whole = !kgb_dtype_is_float(arg->view.dtype) || arg->fill == KGB_FILL_INT;
	const double first = line[0], step = n > 1 ? (line[n - 1] - first) / (double)(n - 1) : 0;

	for (int64_t k = 1; k < n; k++)
		line[k] = first + (double)k * (is_whole ? trunc(step) : step);
}

/* The elements with even numbers, in order, come first; the others follow backwards. */
static void make_peak(double *line, double *sorted, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		sorted[k] = line[k];
	qsort(sorted, (size_t)n, sizeof(*sorted), kgb_compare_doubles);
	for (int64_t k = 0; k < n; k++)
		line[k % 2 ? n - 1 - k / 2 : k / 2] = sorted[k];
}

static void make_opposite(bool is_beside, double *line, int64_t n)
{
	for (int64_t k = 0; k < n / 2; k++) {
		const int64_t from = is_beside ? 2 * k : k;
		line[is_beside ? from + 1 : from + n / 2] = -line[from];
	}
}

void kgb_values_relate(const struct kgb_arg *arg, struct kgb_rng *rng, double *line, double *work,
		       int64_t n)
{
	const enum kgb_pattern pattern = arg->values.pattern;

	if (pattern == KGB_PATTERN_SHARES)
		make_shares(arg, arg->values.points.first, line, n);
	else if (pattern == KGB_PATTERN_UNIT)
		make_unit(arg->values.points.first, line, n);
	else if (pattern == KGB_PATTERN_EVEN)
		make_even(arg, line, n);
	else if (pattern == KGB_PATTERN_PEAK)
		make_peak(line, work, n);
	else if (pattern == KGB_PATTERN_MIRRORED)
		for (int64_t k = 0; k < n / 2; k++)
			line[n - 1 - k] = line[k];
	else if (pattern == KGB_PATTERN_OPPOSITE)
		make_opposite(kgb_rng_int(rng, 0, 1), line, n);
}
