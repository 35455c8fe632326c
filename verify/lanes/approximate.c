/* SPDX-License-Identifier: MIT */
#include "verify/lanes/approximate.h"

#include <stdbool.h>

#include "base/hash.h"

#define HALF_ULP 0x1p-24 /* of a result: largest error of rounding to float32 */
#define BEYOND 2e-7 /* error per radian above 100 pi, where the PTX ISA gives no bound */

/* A number within `error` of the exact one. */
static double moved(double exact, double error, float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	const uint64_t drawn = kgb_mix64(bits + UINT64_C(0x9e3779b97f4a7c15));
	const double size = drawn & 2 ? 1 : (double)(drawn >> 11) * 0x1p-53;
	return exact + (drawn & 1 ? size : -size) * error;
}

static float approximate(double exact, double error, float x)
{
	if (!isfinite(exact) || (double)(float)exact == exact)
		return (float)exact;
	return (float)moved(exact, error, x);
}

static float within_one(float x)
{
	return x > 1 ? 1 : x < -1 ? -1 : x;
}

static float angle(double exact, float x)
{
	const double size = fabs((double)x);
	const double error = size <= 2 * M_PI     ? 0x1p-21 * M_SQRT2
			     : size <= 100 * M_PI ? 0x1p-15 * 1.23
						  : size * BEYOND;

	return within_one(approximate(exact, error - HALF_ULP, x));
}

float kgb_approximate_sin(float x)
{
	return angle(sin((double)x), x);
}

float kgb_approximate_cos(float x)
{
	return angle(cos((double)x), x);
}

float kgb_approximate_tan(float x)
{
	return kgb_approximate_sin(x) * kgb_approximate_reciprocal(kgb_approximate_cos(x));
}

float kgb_approximate_log2(float x)
{
	const double exact = log2((double)x);
	const bool is_near_one = x > 0.5F && x < 2;

	return approximate(exact, (is_near_one ? 1 : fabs(exact)) * (0x1p-22 - HALF_ULP), x);
}

float kgb_approximate_log(float x)
{
	return kgb_approximate_log2(x) * (float)M_LN2;
}

float kgb_approximate_log10(float x)
{
	return kgb_approximate_log2(x) * (float)(M_LN2 / M_LN10);
}

float kgb_approximate_exp2(float x)
{
	const double exact = exp2((double)x);

	return approximate(exact, exact * (0x1p-23 * M_SQRT2 - HALF_ULP), x);
}

float kgb_approximate_exp(float x)
{
	return kgb_approximate_exp2(x * (float)M_LOG2E);
}

float kgb_approximate_exp10(float x)
{
	return kgb_approximate_exp2(x * (float)(M_LN10 / M_LN2));
}

float kgb_approximate_pow(float x, float y)
{
	return kgb_approximate_exp2(y * kgb_approximate_log2(x));
}

float kgb_approximate_tanh(float x)
{
	const double exact = tanh((double)x);

	return within_one(approximate(exact, exact * 0x1p-11, x));
}

float kgb_approximate_reciprocal(float x)
{
	const double exact = 1 / (double)x;

	return approximate(exact, exact * HALF_ULP, x);
}

float kgb_approximate_rsqrt(float x)
{
	const double exact = 1 / sqrt((double)x);

	return approximate(exact, exact * (0x1p-23 * 1.07 - HALF_ULP), x);
}

float kgb_approximate_sqrt(float x)
{
	const double exact = sqrt((double)x);

	return approximate(exact, exact * HALF_ULP, x);
}

static float flushed(float x)
{
	return fabsf(x) < 0x1p-126F ? copysignf(0, x) : x;
}

float kgb_approximate_fast_quotient(float x, float y)
{
	return flushed(flushed(x) * flushed(kgb_approximate_inverse(flushed(y))));
}

static double upper_half(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits &= UINT64_C(0xffffffff00000000);
	memcpy(&x, &bits, sizeof(x));
	return x;
}

double kgb_approximate_rcp64h(double x)
{
	return upper_half(1 / upper_half(x));
}
