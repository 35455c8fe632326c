/* SPDX-License-Identifier: MIT */
#include "agent/statistics/speedup.h"

#include <math.h>
#include <stdbool.h>

static struct kgb_mean mean_of_logs(double sum, size_t n)
{
	return (struct kgb_mean){n > 0 ? exp(sum / (double)n) : (double)NAN, n};
}

struct kgb_mean kgb_geometric_mean_of_correct(const double *speedups, size_t n)
{
	return kgb_geometric_mean_of_common(&speedups, 1, n, 0);
}

struct kgb_mean kgb_geometric_mean_with_fallback(const double *speedups, size_t n)
{
	const struct kgb_mean known = kgb_geometric_mean_of_correct(speedups, n);
	/* The others add log(1) = 0. */
	return known.n > 0 ? mean_of_logs(log(known.value) * (double)known.n, n) : known;
}

struct kgb_mean kgb_geometric_mean_of_common(const double *const *speedups, size_t n_runs, size_t n,
					     size_t which)
{
	double sum = 0;
	size_t n_common = 0;
	for (size_t i = 0; i < n; i++) {
		bool is_common = true;
		for (size_t r = 0; r < n_runs; r++)
			is_common = is_common && speedups[r][i] > 0;
		if (!is_common)
			continue;
		sum += log(speedups[which][i]);
		n_common++;
	}
	return mean_of_logs(sum, n_common);
}

size_t kgb_fast_p(const double *speedups, size_t n, double p)
{
	size_t n_fast = 0;
	for (size_t i = 0; i < n; i++)
		n_fast += speedups[i] > p;
	return n_fast;
}

size_t kgb_solved_within(const double *costs, size_t n, double cost)
{
	size_t n_solved = 0;
	for (size_t i = 0; i < n; i++)
		n_solved += costs[i] <= cost;
	return n_solved;
}

double kgb_cost_per_success(const double *spent, const unsigned char *solved, size_t n)
{
	double sum = 0;
	size_t n_solved = 0;
	for (size_t i = 0; i < n; i++) {
		sum += spent[i];
		n_solved += solved[i] != 0;
	}
	return n_solved > 0 ? sum / (double)n_solved : n > 0 ? (double)INFINITY : (double)NAN;
}
