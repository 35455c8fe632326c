/* SPDX-License-Identifier: MIT */
#include "verify/lanes/narrow.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "verify/tensor/dtype.h"

#define CHUNK 512

static enum kgb_dtype dtype_of(enum kgb_ttir_element element)
{
	return element == KGB_TTIR_F16    ? KGB_DTYPE_FLOAT16
	       : element == KGB_TTIR_BF16 ? KGB_DTYPE_BFLOAT16
					  : KGB_DTYPE_FLOAT8_E4M3FN;
}

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

void kgb_narrow_widen(enum kgb_ttir_element element, const void *from, size_t n, float *to)
{
	if (element != KGB_TTIR_F8E5M2) {
		kgb_dtype_load_floats(dtype_of(element), from, n, to);
		return;
	}
	/* The upper half of a float16. */
	uint16_t halves[CHUNK];
	for (size_t i = 0; i < n; i += CHUNK) {
		size_t some = n - i < CHUNK ? n - i : CHUNK;
		for (size_t k = 0; k < some; k++)
			halves[k] = (uint16_t)(((const uint8_t *)from)[i + k] << 8);
		kgb_dtype_load_floats(KGB_DTYPE_FLOAT16, halves, some, to + i);
	}
}

#define F8E4M3_MAX 448.f
#define F8E5M2_MAX 57344.f
#define F8_NAN 0x7f /* of both; hardware gives no other, whatever the sign */

static float saturated(float x, float most)
{
	return x > most ? most : x < -most ? -most : x;
}

/* Two bits of mantissa: rounds the bits of a float32 that was cut to its range. */
static uint8_t round_f8e5m2(float x)
{
	uint32_t bits = bits_of(saturated(x, F8E5M2_MAX)), magnitude = bits & 0x7fffffff;
	uint32_t sign = bits >> 24 & 0x80;

	if (magnitude > 0x7f800000)
		return F8_NAN;
	if (magnitude < (127u - 14) << 23) /* subnormal: multiples of 2^-16 */
		return (uint8_t)(sign | (uint32_t)rintf(float_of(magnitude) * 0x1p16f));
	magnitude += 0xfffff + (magnitude >> 21 & 1);
	return (uint8_t)(sign | ((magnitude >> 21) - ((127u - 15) << 2)));
}

void kgb_narrow_round(enum kgb_ttir_element element, const float *from, size_t n, void *to)
{
	float KGB_UNCLEARED cut[CHUNK];

	if (element == KGB_TTIR_F8E5M2) {
		for (size_t i = 0; i < n; i++)
			((uint8_t *)to)[i] = round_f8e5m2(from[i]);
		return;
	}
	if (element != KGB_TTIR_F8E4M3) {
		kgb_dtype_store_floats(dtype_of(element), from, n, to);
		return;
	}
	for (size_t i = 0; i < n; i += CHUNK) {
		size_t some = n - i < CHUNK ? n - i : CHUNK;
		for (size_t k = 0; k < some; k++)
			cut[k] = saturated(from[i + k], F8E4M3_MAX);
		kgb_dtype_store_floats(KGB_DTYPE_FLOAT8_E4M3FN, cut, some, (uint8_t *)to + i);
		for (size_t k = 0; k < some; k++)
			if (isnan(cut[k]))
				((uint8_t *)to)[i + k] = F8_NAN;
	}
}

/* Convert to float32 exactly, or else with the last bit set: a second rounding then gives the same
 * as a single rounding of x. */
static float round_to_odd(double x)
{
	float y = (float)x;

	if ((double)y == x || x != x)
		return y;
	if (isinf(y))
		return copysignf(0x1.fffffep127f, y);
	uint32_t bits = bits_of(y);
	bits -= fabs((double)y) > fabs(x); /* towards zero */
	return float_of(bits | 1);
}

void kgb_narrow_round_double(enum kgb_ttir_element element, const double *from, size_t n, void *to)
{
	const size_t size = kgb_ttir_element_size(element);
	float KGB_UNCLEARED odd[CHUNK];

	for (size_t i = 0; i < n; i += CHUNK) {
		size_t some = n - i < CHUNK ? n - i : CHUNK;
		for (size_t k = 0; k < some; k++)
			odd[k] = round_to_odd(from[i + k]);
		kgb_narrow_round(element, odd, some, (uint8_t *)to + i * size);
	}
}

void kgb_narrow_truncate(enum kgb_ttir_element element, float *values, size_t n)
{
	const uint32_t kept = element == KGB_TTIR_F16      ? 0xffffe000
			      : element == KGB_TTIR_BF16   ? 0xffff0000
			      : element == KGB_TTIR_F8E4M3 ? 0xfff00000
							   : 0xffe00000;
	const int bias = element == KGB_TTIR_BF16 ? 127 : element == KGB_TTIR_F8E4M3 ? 7 : 15;
	const float normal = ldexpf(1.f, 1 - bias);
	const int bits = element == KGB_TTIR_F16      ? 10
			 : element == KGB_TTIR_BF16   ? 7
			 : element == KGB_TTIR_F8E4M3 ? 3
						      : 2;
	const float step = ldexpf(1.f, bias == 127 ? -133 : 1 - bias - bits);
	const float most = element == KGB_TTIR_F16    ? 65504.f
			   : element == KGB_TTIR_BF16 ? float_of(0x7f7f0000)
						      : INFINITY;

	for (size_t i = 0; i < n; i++) {
		if (fabsf(values[i]) < normal)
			values[i] = copysignf(truncf(values[i] / step) * step, values[i]);
		else if (isfinite(values[i]))
			values[i] = saturated(float_of(bits_of(values[i]) & kept), most);
	}
}
