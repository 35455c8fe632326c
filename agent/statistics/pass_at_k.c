/* SPDX-License-Identifier: MIT */
#include "agent/statistics/pass_at_k.h"

#include <math.h>
#include <stdlib.h>

double kgb_pass_at_k(size_t n, size_t c, size_t k)
{
	double none = 1; /* probability that no sample is right */
	if (n < k || c > n)
		return (double)NAN;
	if (n - c < k)
		return 1;
	for (size_t i = n - c + 1; i <= n; i++)
		none *= 1 - (double)k / (double)i;
	return 1 - none;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double kgb_best_at_k(double *values, size_t n, size_t k)
{
	if (k == 0 || n < k)
		return (double)NAN;
	qsort(values, n, sizeof(*values), ascending);
	/* Probability that the sample of rank r is the largest of k: k/n for the last one; each
	 * rank before it has (r-k)/(r-1) times that of its successor. */
	double weight = (double)k / (double)n, sum = 0;
	for (size_t r = n; r >= k; r--) {
		sum += weight * values[r - 1];
		if (r > 1)
			weight *= (double)(r - k) / (double)(r - 1);
	}
	return sum;
}

double kgb_best_right_at_k(double *values, size_t n_right, size_t n, size_t k)
{
	if (k == 0 || n < k || n_right == 0 || n_right > n)
		return (double)NAN;
	qsort(values, n_right, sizeof(*values), ascending);
	const size_t n_wrong = n - n_right;
	double weight = 1, sum = 0, all = 0; /* weights as above, without a factor */
	for (size_t r = n; r >= k && r > n_wrong; r--) {
		sum += weight * values[r - n_wrong - 1];
		all += weight;
		if (r > 1)
			weight *= (double)(r - k) / (double)(r - 1);
	}
	return sum / all;
}
