/* SPDX-License-Identifier: MIT */
#include "agent/statistics/power.h"

#include <math.h>

#include "verify/tensor/statistics.h"

#define LEVEL 0.05

double kgb_null_sd(const double *differences, size_t n, double step)
{
	double squares = 0;
	size_t n_known = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(differences[i]))
			continue;
		squares += differences[i] * differences[i];
		n_known++;
	}
	return sqrt(fmax(squares, step * step) / (double)n_known);
}

struct kgb_components kgb_variance_components(const double *values, const size_t *sizes, size_t n)
{
	double total = 0, squares_of_sizes = 0, between = 0, within = 0;
	size_t n_values = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			total += values[n_values + k];
		n_values += sizes[i];
		squares_of_sizes += (double)sizes[i] * (double)sizes[i];
	}
	if (n < 2 || n_values <= n)
		return (struct kgb_components){(double)NAN, (double)NAN};
	const double all = (double)n_values, mean = total / all;
	const double *own = values;
	for (size_t i = 0; i < n; own += sizes[i], i++) {
		const double m = (double)sizes[i];
		double sum = 0;
		for (size_t k = 0; k < sizes[i]; k++)
			sum += own[k];
		between += m * (sum / m - mean) * (sum / m - mean);
		for (size_t k = 0; k < sizes[i]; k++)
			within += (own[k] - sum / m) * (own[k] - sum / m);
	}
	within /= all - (double)n;
	between /= (double)(n - 1);
	const double m0 = (all - squares_of_sizes / all) / (double)(n - 1);
	return (struct kgb_components){.within = within, .between = (between - within) / m0};
}

double kgb_icc(const double *values, const size_t *sizes, size_t n)
{
	const struct kgb_components v = kgb_variance_components(values, sizes, n);
	return v.between / (v.between + v.within);
}

double kgb_effective_n(double n, double m, double icc)
{
	return n / (1 + (m - 1) * icc);
}

double kgb_attempts_sd(double within, double between, double m)
{
	return sqrt(between + 2 * within / m);
}

static double sum_of_quantiles(double power)
{
	return KGB_Z_95 + kgb_normal_quantile(power);
}

double kgb_detectable(double sd, double n, double power)
{
	return n > 0 ? sum_of_quantiles(power) * sd / sqrt(n) : (double)NAN;
}

double kgb_detectable_by_flips(double sd, size_t n, double power, size_t m)
{
	const double level = LEVEL / (double)m;
	if (n > 0 && exp2(1 - (double)n) > level)
		return (double)INFINITY;
	return kgb_detectable(sd, (double)n, power) *
	       (kgb_normal_quantile(1 - level / 2) + kgb_normal_quantile(power)) /
	       sum_of_quantiles(power);
}

static double normal_cdf(double z)
{
	return erfc(-z / M_SQRT2) / 2;
}

double kgb_power(double effect, double sd, double n)
{
	const double d = fabs(effect) * sqrt(n) / sd;
	return normal_cdf(d - KGB_Z_95) + normal_cdf(-d - KGB_Z_95);
}

double kgb_needed_n(double effect, double sd, double power)
{
	const double ratio = sum_of_quantiles(power) * sd / effect;
	return ceil(ratio * ratio);
}

double kgb_needed_attempts(double effect, double within, double between, double n, double power)
{
	const double sd = fabs(effect) * sqrt(n) / sum_of_quantiles(power);
	const double left = sd * sd - between;
	return left > 0 ? fmax(1, ceil(2 * within / left)) : (double)INFINITY;
}
