/* SPDX-License-Identifier: MIT */
#include "verify/tensor/dtype.h"
#include "verify/tensor/simd_clones.h"

/* The bits of a float32, and back. */
KGB_SIMD_BODY uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

KGB_SIMD_BODY float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

KGB_SIMD_BODY float power_of_2(int exponent)
{
	return float_of((uint32_t)(exponent + 127) << 23);
}

/* As decode and encode in dtype.c, with 32 bits for 64: `bias` of the exponent, `mantissa` bits
 * that are stored, `width` of both fields. `most` is infinity, or the only NaN where there is none.
 */
KGB_SIMD_BODY float decode(uint32_t bits, int width, int mantissa, int bias, uint32_t most)
{
	uint32_t magnitude = bits & ((UINT32_C(1) << width) - 1);
	uint32_t shifted = magnitude << (23 - mantissa);
	uint32_t scaled = bits_of(float_of(shifted) * power_of_2(127 - bias));
	uint32_t special = shifted | UINT32_C(0xff) << 23;
	uint32_t sign = (bits ^ magnitude) << (31 - width);

	return float_of((magnitude >= most ? special : scaled) | sign);
}

KGB_SIMD_BODY uint32_t encode(float value, int width, int mantissa, int bias, uint32_t most)
{
	int shift = 23 - mantissa;
	uint32_t magnitude = bits_of(value) & 0x7fffffff;
	uint32_t sign = bits_of(value) >> 31 << width;
	float addend = power_of_2(23 + 1 - bias - mantissa);
	uint32_t subnormal = bits_of(float_of(magnitude) + addend) - bits_of(addend);
	uint32_t rounded =
		magnitude + (magnitude >> shift & 1) + ((UINT32_C(1) << (shift - 1)) - 1);
	uint32_t normal = (rounded >> shift) - ((uint32_t)(127 - bias) << mantissa);
	uint32_t bits = float_of(magnitude) < power_of_2(1 - bias) ? subnormal : normal;
	uint32_t nan = most | UINT32_C(1) << (mantissa - 1);

	bits = magnitude >= bits_of(power_of_2(bias + 1)) && bits > most ? most : bits;
	bits = magnitude > UINT32_C(0xff) << 23 ? nan : bits;
	return bits | sign;
}

#define FLOAT16 15, 10, 15, 0x7c00
#define BFLOAT16 15, 7, 127, 0x7f80
#define FLOAT8_E4M3FN 7, 3, 7, 0x7f

KGB_SIMD_BODY void load_body(enum kgb_dtype dtype, const uint8_t *p, size_t n, float *out)
{
	const uint16_t *halves = (const void *)p;

	if (dtype == KGB_DTYPE_FLOAT16)
		for (size_t i = 0; i < n; i++)
			out[i] = decode(halves[i], FLOAT16);
	else if (dtype == KGB_DTYPE_BFLOAT16)
		for (size_t i = 0; i < n; i++)
			out[i] = float_of((uint32_t)halves[i] << 16);
	else
		for (size_t i = 0; i < n; i++)
			out[i] = decode(p[i], FLOAT8_E4M3FN);
}
KGB_SIMD_CLONES(load, (enum kgb_dtype dtype, const uint8_t *p, size_t n, float *out),
		(dtype, p, n, out))

KGB_SIMD_BODY void store_body(enum kgb_dtype dtype, const float *values, size_t n, uint8_t *p)
{
	uint16_t *halves = (void *)p;

	if (dtype == KGB_DTYPE_FLOAT16)
		for (size_t i = 0; i < n; i++)
			halves[i] = (uint16_t)encode(values[i], FLOAT16);
	else if (dtype == KGB_DTYPE_BFLOAT16)
		for (size_t i = 0; i < n; i++)
			halves[i] = (uint16_t)encode(values[i], BFLOAT16);
	else
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)encode(values[i], FLOAT8_E4M3FN);
}
KGB_SIMD_CLONES(store, (enum kgb_dtype dtype, const float *values, size_t n, uint8_t *p),
		(dtype, values, n, p))

void kgb_dtype_load_floats(enum kgb_dtype dtype, const void *p, size_t n, float *out)
{
	load(dtype, p, n, out);
}

void kgb_dtype_store_floats(enum kgb_dtype dtype, const float *values, size_t n, void *p)
{
	store(dtype, values, n, p);
}
