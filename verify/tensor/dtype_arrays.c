/* SPDX-License-Identifier: MIT */
/** \file
 * Conversion of many elements at once: the same bits as one at a time (dtype.c), without its
 * branches.
 */
#include <float.h>
#include <math.h>

#include "base/err.h"
#include "verify/tensor/dtype.h"
#include "verify/tensor/simd_clones.h"

/* What tells float16 and bfloat16 apart. */
struct half {
	int mantissa_bits, bias;
};
#define FLOAT16 ((struct half){10, 15})
#define BFLOAT16 ((struct half){7, 127})

KGB_WIDE_BODY uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

KGB_WIDE_BODY double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

KGB_WIDE_BODY double power_of_2(int exponent)
{
	return of_bits((uint64_t)(exponent + 1023) << 52);
}

/* Its bits shifted into place make a double that is 2^(bias - 1023) times too small, also from a
 * subnormal; infinities and NaN have another exponent. */
KGB_WIDE_BODY double decode(uint64_t bits, struct half half)
{
	uint64_t infinity = (UINT64_C(0x7fff) >> half.mantissa_bits) << half.mantissa_bits;
	uint64_t magnitude = bits & 0x7fff;
	uint64_t shifted = magnitude << (52 - half.mantissa_bits);
	uint64_t scaled = bits_of(of_bits(shifted) * power_of_2(1023 - half.bias));
	uint64_t special = shifted | UINT64_C(0x7ff) << 52;

	return of_bits((magnitude >= infinity ? special : scaled) | (bits & 0x8000) << 48);
}

KGB_WIDE_BODY uint16_t encode(double value, struct half half)
{
	int shift = 52 - half.mantissa_bits;
	uint64_t infinity = (UINT64_C(0x7fff) >> half.mantissa_bits) << half.mantissa_bits;
	uint64_t magnitude = bits_of(value) & (UINT64_MAX >> 1);
	/* Subnormals: an addend whose last bit weighs as much as theirs rounds them. */
	double addend = power_of_2(52 + 1 - half.bias - half.mantissa_bits);
	uint64_t subnormal = bits_of(of_bits(magnitude) + addend) - bits_of(addend);
	/* The others: to nearest, ties to even; a carry adds to the exponent. */
	uint64_t rounded =
		magnitude + (magnitude >> shift & 1) + ((UINT64_C(1) << (shift - 1)) - 1);
	uint64_t normal = (rounded >> shift) - ((uint64_t)(1023 - half.bias) << half.mantissa_bits);
	uint64_t bits = of_bits(magnitude) < power_of_2(1 - half.bias) ? subnormal : normal;

	bits = of_bits(magnitude) >= power_of_2(half.bias + 1) ? infinity : bits;
	bits = magnitude > UINT64_C(0x7ff) << 52
		       ? infinity | UINT64_C(1) << (half.mantissa_bits - 1)
		       : bits;
	return (uint16_t)(bits | bits_of(value) >> 63 << 15);
}

/* ---- loads ---- */

KGB_WIDE_BODY void load_float32_body(const char *p, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		float value;
		memcpy(&value, p + i * sizeof(value), sizeof(value));
		out[i] = (double)value;
	}
}
KGB_WIDE(load_float32, (const char *p, size_t n, double *out), (p, n, out))

KGB_WIDE_BODY void load_half(const char *p, size_t n, double *out, struct half half)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits;
		memcpy(&bits, p + i * sizeof(bits), sizeof(bits));
		out[i] = decode(bits, half);
	}
}

KGB_WIDE_BODY void load_float16_body(const char *p, size_t n, double *out)
{
	load_half(p, n, out, FLOAT16);
}
KGB_WIDE(load_float16, (const char *p, size_t n, double *out), (p, n, out))

KGB_WIDE_BODY void load_bfloat16_body(const char *p, size_t n, double *out)
{
	load_half(p, n, out, BFLOAT16);
}
KGB_WIDE(load_bfloat16, (const char *p, size_t n, double *out), (p, n, out))

void kgb_dtype_load_array(enum kgb_dtype dtype, const void *p, size_t n, double *out)
{
	size_t size = kgb_dtype_size(dtype);

	switch (dtype) {
	case KGB_DTYPE_FLOAT16:
		load_float16(p, n, out);
		return;
	case KGB_DTYPE_BFLOAT16:
		load_bfloat16(p, n, out);
		return;
	case KGB_DTYPE_FLOAT32:
		load_float32(p, n, out);
		return;
	case KGB_DTYPE_FLOAT64:
		memcpy(out, p, n * size);
		return;
	case KGB_DTYPE_BOOL:
	case KGB_DTYPE_UINT8:
	case KGB_DTYPE_INT8:
	case KGB_DTYPE_INT16:
	case KGB_DTYPE_INT32:
	case KGB_DTYPE_INT64:
	case KGB_DTYPE_FLOAT8_E4M3FN:
	case KGB_DTYPE_COMPLEX64:
	case KGB_DTYPE_COMPLEX128:
		for (size_t i = 0; i < n; i++)
			out[i] = kgb_dtype_load(dtype, (const char *)p + i * size);
		return;
	case KGB_N_DTYPES:
		break;
	}
	KGB_UNREACHABLE();
}

/* ---- stores ---- */

KGB_WIDE_BODY void store_float32_body(const double *values, size_t n, char *p)
{
	for (size_t i = 0; i < n; i++) {
		float value = (float)values[i];
		uint32_t bits;
		memcpy(&bits, &value, sizeof(bits));
		/* NaN keeps its sign and nothing else. */
		bits = (bits & 0x7fffffff) > 0x7f800000 ? bits & 0xffc00000 : bits;
		memcpy(p + i * sizeof(bits), &bits, sizeof(bits));
	}
}
KGB_WIDE(store_float32, (const double *values, size_t n, char *p), (values, n, p))

KGB_WIDE_BODY void store_half(const double *values, size_t n, char *p, struct half half)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits = encode(values[i], half);
		memcpy(p + i * sizeof(bits), &bits, sizeof(bits));
	}
}

KGB_WIDE_BODY void store_float16_body(const double *values, size_t n, char *p)
{
	store_half(values, n, p, FLOAT16);
}
KGB_WIDE(store_float16, (const double *values, size_t n, char *p), (values, n, p))

KGB_WIDE_BODY void store_bfloat16_body(const double *values, size_t n, char *p)
{
	store_half(values, n, p, BFLOAT16);
}
KGB_WIDE(store_bfloat16, (const double *values, size_t n, char *p), (values, n, p))

/* Whole numbers within the range are stored as they are; what is left goes the long way. */
KGB_WIDE_BODY void store_integers(enum kgb_dtype dtype, size_t size, const double *values, size_t n,
				  char *p)
{
	double low = (double)kgb_dtype_min_i64(dtype), high = (double)kgb_dtype_max_i64(dtype);

	for (size_t i = 0; i < n; i++) {
		/* 2^63 itself is no int64. */
		bool within = values[i] >= low && values[i] <= high && values[i] < 0x1p63;
		int64_t whole = within ? (int64_t)values[i] : 0;
		if (within && (double)whole == values[i])
			memcpy(p + i * size, &whole, size); /* little-endian */
		else
			kgb_dtype_store(dtype, p + i * size, values[i]);
	}
}

void kgb_dtype_store_array(enum kgb_dtype dtype, const double *values, size_t n, void *p)
{
	size_t size = kgb_dtype_size(dtype);

	switch (dtype) {
	case KGB_DTYPE_FLOAT16:
		store_float16(values, n, p);
		return;
	case KGB_DTYPE_BFLOAT16:
		store_bfloat16(values, n, p);
		return;
	case KGB_DTYPE_FLOAT32:
		store_float32(values, n, p);
		return;
	case KGB_DTYPE_FLOAT64:
		memcpy(p, values, n * sizeof(*values));
		return;
	case KGB_DTYPE_BOOL:
	case KGB_DTYPE_UINT8:
	case KGB_DTYPE_INT8:
		store_integers(dtype, 1, values, n, p);
		return;
	case KGB_DTYPE_INT16:
		store_integers(dtype, 2, values, n, p);
		return;
	case KGB_DTYPE_INT32:
		store_integers(dtype, 4, values, n, p);
		return;
	case KGB_DTYPE_INT64:
		store_integers(dtype, 8, values, n, p);
		return;
	case KGB_DTYPE_FLOAT8_E4M3FN:
	case KGB_DTYPE_COMPLEX64:
	case KGB_DTYPE_COMPLEX128:
		for (size_t i = 0; i < n; i++)
			kgb_dtype_store(dtype, (char *)p + i * size, values[i]);
		return;
	case KGB_N_DTYPES:
		break;
	}
	KGB_UNREACHABLE();
}
