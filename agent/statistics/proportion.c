/* SPDX-License-Identifier: MIT */
#include "agent/statistics/proportion.h"

#include <math.h>

#include "agent/statistics/power.h"

struct kgb_interval kgb_wilson_share(double share, size_t n)
{
	const double count = (double)n, p = share, z = KGB_Z_95;
	if (n == 0 || !(p >= 0 && p <= 1))
		return (struct kgb_interval){(double)NAN, (double)NAN, (double)NAN};
	const double shrink = 1 + z * z / count;
	const double middle = (p + z * z / (2 * count)) / shrink;
	const double reach = z / shrink * sqrt(p * (1 - p) / count + z * z / (4 * count * count));
	return (struct kgb_interval){
		.value = p,
		.low = p <= 0 ? 0 : middle - reach,
		.high = p >= 1 ? 1 : middle + reach,
	};
}

struct kgb_interval kgb_wilson(size_t k, size_t n)
{
	return kgb_wilson_share((double)k / (double)n, n);
}

double kgb_mcnemar(size_t only_a, size_t only_b)
{
	const size_t n = only_a + only_b, few = only_a < only_b ? only_a : only_b;
	/* C(n, i) / 2^n for i from `few` down: each is i / (n - i + 1) of its successor. */
	int sign = 0;
	double term = exp(lgamma_r((double)n + 1, &sign) - lgamma_r((double)few + 1, &sign) -
			  lgamma_r((double)(n - few) + 1, &sign) - (double)n * M_LN2);
	double sum = 0;
	for (size_t i = few;; i--) {
		sum += term;
		if (i == 0)
			break;
		term *= (double)i / (double)(n - i + 1);
	}
	return fmin(1, 2 * sum);
}
