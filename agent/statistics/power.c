/* SPDX-License-Identifier: MIT */
#include "agent/statistics/power.h"

#include <math.h>

#include "verify/tensor/statistics.h"

double kgb_discordance_sd(double discordance)
{
	return sqrt(discordance);
}

double kgb_effective_n(double n, double m, double icc)
{
	return n / (1 + (m - 1) * icc);
}

double kgb_icc(const double *values, size_t n, size_t m)
{
	double total = 0, between = 0, within = 0;
	if (n < 2 || m < 2)
		return (double)NAN;
	for (size_t i = 0; i < n * m; i++)
		total += values[i];
	const double mean = total / (double)(n * m);
	for (size_t i = 0; i < n; i++) {
		double sum = 0;
		for (size_t k = 0; k < m; k++)
			sum += values[i * m + k];
		const double own = sum / (double)m;
		between += (double)m * (own - mean) * (own - mean);
		for (size_t k = 0; k < m; k++)
			within += (values[i * m + k] - own) * (values[i * m + k] - own);
	}
	between /= (double)(n - 1);
	within /= (double)(n * (m - 1));
	return (between - within) / (between + (double)(m - 1) * within);
}

static double sum_of_quantiles(double power)
{
	return KGB_Z_95 + kgb_normal_quantile(power);
}

double kgb_detectable(double sd, double n, double power)
{
	return n > 0 ? sum_of_quantiles(power) * sd / sqrt(n) : (double)NAN;
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
