/* SPDX-License-Identifier: MIT */
#include "verify/tensor/dtype.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "verify/tensor/simd_clones.h"

struct float_format {
	int exponent_bits;
	int mantissa_bits; /* stored ones, without the implicit bit */
	bool is_finite; /* no infinities: all bits set is NaN, other patterns are numbers */
};

struct dtype_info {
	const char *name;
	size_t size;
	int64_t min, max; /* integers and bool */
	struct float_format format; /* floats; zero else */
};

static const struct dtype_info infos[] = {
	[KGB_DTYPE_BOOL] = {"bool", 1, 0, 1, {0}},
	[KGB_DTYPE_UINT8] = {"uint8", 1, 0, UINT8_MAX, {0}},
	[KGB_DTYPE_INT8] = {"int8", 1, INT8_MIN, INT8_MAX, {0}},
	[KGB_DTYPE_INT16] = {"int16", 2, INT16_MIN, INT16_MAX, {0}},
	[KGB_DTYPE_INT32] = {"int32", 4, INT32_MIN, INT32_MAX, {0}},
	[KGB_DTYPE_INT64] = {"int64", 8, INT64_MIN, INT64_MAX, {0}},
	[KGB_DTYPE_FLOAT16] = {"float16", 2, 0, 0, {5, 10, false}},
	[KGB_DTYPE_BFLOAT16] = {"bfloat16", 2, 0, 0, {8, 7, false}},
	[KGB_DTYPE_FLOAT32] = {"float32", 4, 0, 0, {8, 23, false}},
	[KGB_DTYPE_FLOAT64] = {"float64", 8, 0, 0, {11, 52, false}},
	[KGB_DTYPE_FLOAT8_E4M3FN] = {"float8_e4m3fn", 1, 0, 0, {4, 3, true}},
	[KGB_DTYPE_COMPLEX64] = {"complex64", 8, 0, 0, {8, 23, false}},
	[KGB_DTYPE_COMPLEX128] = {"complex128", 16, 0, 0, {11, 52, false}},
};
static_assert(KGB_ARRAY_LEN(infos) == KGB_N_DTYPES, "one row per dtype");

const char *kgb_dtype_name(enum kgb_dtype dtype)
{
	return infos[dtype].name;
}

int kgb_dtype_parse(const char *name, enum kgb_dtype *out, struct kgb_err *err)
{
	const char *names[KGB_N_DTYPES];
	for (int i = 0; i < KGB_N_DTYPES; i++) {
		names[i] = infos[i].name;
		if (kgb_str_eq(name, names[i])) {
			*out = (enum kgb_dtype)i;
			return 0;
		}
	}
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(256);
	kgb_suggest(&hint, name, names, KGB_N_DTYPES);
	return kgb_fail(err, KGB_ERR_INVALID, "unknown dtype '%.40s'%s", name, hint.ptr);
}

size_t kgb_dtype_size(enum kgb_dtype dtype)
{
	return infos[dtype].size;
}

bool kgb_dtype_is_float(enum kgb_dtype dtype)
{
	return infos[dtype].format.exponent_bits > 0;
}

enum kgb_dtype kgb_dtype_part(enum kgb_dtype dtype)
{
	return dtype == KGB_DTYPE_COMPLEX64    ? KGB_DTYPE_FLOAT32
	       : dtype == KGB_DTYPE_COMPLEX128 ? KGB_DTYPE_FLOAT64
					       : dtype;
}

bool kgb_dtype_is_complex(enum kgb_dtype dtype)
{
	return kgb_dtype_part(dtype) != dtype;
}

static int exponent_bias(struct float_format format)
{
	return (1 << (format.exponent_bits - 1)) - 1;
}

double kgb_dtype_eps(enum kgb_dtype dtype)
{
	return kgb_dtype_is_float(dtype) ? ldexp(1.0, -infos[dtype].format.mantissa_bits) : 0;
}

double kgb_dtype_max(enum kgb_dtype dtype)
{
	if (!kgb_dtype_is_float(dtype))
		return (double)infos[dtype].max;
	double eps = kgb_dtype_eps(dtype);
	int bias = exponent_bias(infos[dtype].format);
	return infos[dtype].format.is_finite ? ldexp(2 - 2 * eps, bias + 1) : ldexp(2 - eps, bias);
}

double kgb_dtype_tiny(enum kgb_dtype dtype)
{
	return kgb_dtype_is_float(dtype) ? ldexp(1.0, 1 - exponent_bias(infos[dtype].format)) : 0;
}

int64_t kgb_dtype_min_i64(enum kgb_dtype dtype)
{
	return infos[dtype].min;
}

int64_t kgb_dtype_max_i64(enum kgb_dtype dtype)
{
	return infos[dtype].max;
}

/* ---- bits of a narrow float, without branches ---- */

#define FLOAT16 ((struct float_format){5, 10, false})
#define BFLOAT16 ((struct float_format){8, 7, false})

KGB_SIMD_BODY double power_of_2(int exponent)
{
	return kgb_double_of((uint64_t)(exponent + 1023) << 52);
}

KGB_SIMD_BODY uint64_t infinity_of(struct float_format format)
{
	return ((UINT64_C(1) << format.exponent_bits) - 1) << format.mantissa_bits;
}

KGB_SIMD_BODY uint64_t all_set(struct float_format format)
{
	return (UINT64_C(1) << (format.exponent_bits + format.mantissa_bits)) - 1;
}

/* The bits shifted into place make a double that is 2^(bias - 1023) times too small, also from a
 * subnormal; infinities and NaN have another exponent. */
KGB_SIMD_BODY double decode(uint64_t bits, struct float_format format)
{
	uint64_t magnitude = bits & all_set(format);
	uint64_t shifted = magnitude << (52 - format.mantissa_bits);
	uint64_t scaled =
		kgb_bits_of(kgb_double_of(shifted) * power_of_2(1023 - exponent_bias(format)));
	uint64_t special = shifted | UINT64_C(0x7ff) << 52;
	uint64_t first_special = format.is_finite ? all_set(format) : infinity_of(format);
	uint64_t sign = (bits ^ magnitude) << (63 - format.exponent_bits - format.mantissa_bits);

	return kgb_double_of((magnitude >= first_special ? special : scaled) | sign);
}

KGB_SIMD_BODY uint64_t encode(double value, struct float_format format)
{
	int shift = 52 - format.mantissa_bits, bias = exponent_bias(format);
	uint64_t magnitude = kgb_bits_of(value) & (UINT64_MAX >> 1);
	uint64_t sign = kgb_bits_of(value) >> 63 << (format.exponent_bits + format.mantissa_bits);
	/* Subnormals: an addend whose last bit weighs as much as theirs rounds them. */
	double addend = power_of_2(52 + 1 - bias - format.mantissa_bits);
	uint64_t subnormal = kgb_bits_of(kgb_double_of(magnitude) + addend) - kgb_bits_of(addend);
	/* The others: to nearest, ties to even; a carry adds to the exponent. */
	uint64_t rounded =
		magnitude + (magnitude >> shift & 1) + ((UINT64_C(1) << (shift - 1)) - 1);
	uint64_t normal = (rounded >> shift) - ((uint64_t)(1023 - bias) << format.mantissa_bits);
	uint64_t bits = kgb_double_of(magnitude) < power_of_2(1 - bias) ? subnormal : normal;
	/* An overflow gives infinity, or NaN where there is none. */
	uint64_t most = format.is_finite ? all_set(format) : infinity_of(format);
	uint64_t nan = most | UINT64_C(1) << (format.mantissa_bits - 1);

	bits = kgb_double_of(magnitude) >= power_of_2(bias + 1) && bits > most ? most : bits;
	bits = magnitude > UINT64_C(0x7ff) << 52 ? nan : bits;
	return bits | sign;
}

KGB_SIMD_BODY uint32_t encode_float32(double value)
{
	float rounded = (float)value;
	uint32_t bits;

	memcpy(&bits, &rounded, sizeof(bits));
	/* NaN keeps its sign and nothing else. */
	return (bits & 0x7fffffff) > 0x7f800000 ? bits & 0xffc00000 : bits;
}

/* ---- one element ---- */

/* The little-endian bits of an element. One copy for each size: then the compiler uses a register.
 */
static uint64_t load_bits(const void *p, size_t size)
{
	uint64_t bits = 0;

	(void)(size == 1   ? memcpy(&bits, p, 1)
	       : size == 2 ? memcpy(&bits, p, 2)
	       : size == 4 ? memcpy(&bits, p, 4)
			   : memcpy(&bits, p, 8));
	return bits;
}

int64_t kgb_dtype_load_i64(enum kgb_dtype dtype, const void *p)
{
	const int unused_bits = 64 - 8 * (int)infos[dtype].size;
	const uint64_t bits = load_bits(p, infos[dtype].size);

	KGB_ASSERT(!kgb_dtype_is_float(dtype));
	return infos[dtype].min < 0 ? (int64_t)(bits << unused_bits) >> unused_bits : (int64_t)bits;
}

double kgb_dtype_load(enum kgb_dtype dtype, const void *p)
{
	float f32;

	if (!kgb_dtype_is_float(dtype))
		return (double)kgb_dtype_load_i64(dtype, p);
	dtype = kgb_dtype_part(dtype);
	const uint64_t bits = load_bits(p, infos[dtype].size);
	if (dtype == KGB_DTYPE_FLOAT64)
		return kgb_double_of(bits);
	if (dtype != KGB_DTYPE_FLOAT32)
		return decode(bits, infos[dtype].format);
	memcpy(&f32, p, sizeof(f32));
	return (double)f32;
}

void kgb_dtype_store_i64(enum kgb_dtype dtype, void *p, int64_t value)
{
	const struct dtype_info *info = &infos[dtype];

	KGB_ASSERT(!kgb_dtype_is_float(dtype));
	if (dtype == KGB_DTYPE_BOOL)
		value = value != 0;
	value = value < info->min ? info->min : value > info->max ? info->max : value;
	memcpy(p, &value, info->size); /* little-endian */
}

static int64_t saturate_i64(double value)
{
	if (isnan(value))
		return 0;
	value = nearbyint(value);
	if (value >= 0x1p63)
		return INT64_MAX;
	if (value < -0x1p63)
		return INT64_MIN;
	return (int64_t)value;
}

void kgb_dtype_store(enum kgb_dtype dtype, void *p, double value)
{
	if (kgb_dtype_is_complex(dtype)) {
		memset(p, 0, infos[dtype].size);
		kgb_dtype_store(kgb_dtype_part(dtype), p, value);
	} else if (dtype == KGB_DTYPE_BOOL) {
		kgb_dtype_store_i64(dtype, p, value != 0);
	} else if (!kgb_dtype_is_float(dtype)) {
		kgb_dtype_store_i64(dtype, p, saturate_i64(value));
	} else if (dtype == KGB_DTYPE_FLOAT64) {
		memcpy(p, &value, sizeof(value));
	} else {
		uint64_t bits = dtype == KGB_DTYPE_FLOAT32 ? encode_float32(value)
							   : encode(value, infos[dtype].format);
		memcpy(p, &bits, infos[dtype].size); /* little-endian */
	}
}

static void store_nan(enum kgb_dtype dtype, void *p, uint64_t random)
{
	dtype = kgb_dtype_part(dtype);
	const int bits = 8 * (int)infos[dtype].size;
	const struct float_format format = infos[dtype].format;
	const uint64_t ones = UINT64_MAX >> (65 - bits); /* without the sign */
	const uint64_t quiet = UINT64_C(1) << (format.mantissa_bits - 1);
	uint64_t nan = ones;

	KGB_ASSERT(kgb_dtype_is_float(dtype));
	if (!format.is_finite) /* else all bits set is the only NaN */
		nan = (ones & ~(quiet - 1)) | (random >> 1 & (quiet - 1));
	nan |= (random & 1) << (bits - 1);
	memcpy(p, &nan, infos[dtype].size); /* little-endian */
}

void kgb_dtype_store_special(enum kgb_dtype dtype, void *p, double value, uint64_t nan_bits)
{
	kgb_dtype_store(dtype, p, value);
	if (isnan(value) && nan_bits)
		store_nan(dtype, p, nan_bits);
}

double kgb_dtype_round(enum kgb_dtype dtype, double value)
{
	char bytes[16];

	kgb_dtype_store(dtype, bytes, value);
	return kgb_dtype_load(dtype, bytes);
}

bool kgb_dtype_is_copy(enum kgb_dtype from, const void *a, enum kgb_dtype to, const void *b)
{
	if (kgb_dtype_is_float(from) || kgb_dtype_is_float(to)) {
		const double rounded = kgb_dtype_round(to, kgb_dtype_load(from, a));
		const double copy = kgb_dtype_load(to, b);
		return rounded == copy || (isnan(rounded) && isnan(copy));
	}
	const int64_t whole = kgb_dtype_load_i64(from, a);
	return to == KGB_DTYPE_BOOL ? kgb_dtype_load_i64(to, b) == (whole != 0)
				    : memcmp(&whole, b, kgb_dtype_size(to)) == 0;
}

/* ---- arrays: the formats are constants, which makes vector instructions of the loops ---- */

KGB_SIMD_BODY void load_halves(const char *p, size_t n, double *out, struct float_format format)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits;
		memcpy(&bits, p + i * sizeof(bits), sizeof(bits));
		out[i] = decode(bits, format);
	}
}

KGB_SIMD_BODY void store_halves(const double *values, size_t n, char *p, struct float_format format)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits = (uint16_t)encode(values[i], format);
		memcpy(p + i * sizeof(bits), &bits, sizeof(bits));
	}
}

KGB_SIMD_BODY void load_array_body(enum kgb_dtype dtype, const char *p, size_t n, double *out)
{
	if (dtype == KGB_DTYPE_FLOAT16) {
		load_halves(p, n, out, FLOAT16);
	} else if (dtype == KGB_DTYPE_BFLOAT16) {
		load_halves(p, n, out, BFLOAT16);
	} else if (dtype == KGB_DTYPE_FLOAT32) {
		for (size_t i = 0; i < n; i++) {
			float value;
			memcpy(&value, p + i * sizeof(value), sizeof(value));
			out[i] = (double)value;
		}
	} else {
		for (size_t i = 0; i < n; i++)
			out[i] = kgb_dtype_load(dtype, p + i * infos[dtype].size);
	}
}
KGB_SIMD_CLONES(load_array, (enum kgb_dtype dtype, const char *p, size_t n, double *out),
		(dtype, p, n, out))

void kgb_dtype_load_array(enum kgb_dtype dtype, const void *p, size_t n, double *out)
{
	if (dtype == KGB_DTYPE_FLOAT64)
		memcpy(out, p, n * sizeof(*out));
	else
		load_array(dtype, p, n, out);
}

/* Whole numbers within the range are stored as they are; what is left goes the long way. */
KGB_SIMD_BODY void store_integers(enum kgb_dtype dtype, size_t size, const double *values, size_t n,
				  char *p)
{
	double low = (double)infos[dtype].min, high = (double)infos[dtype].max;

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

KGB_SIMD_BODY void store_array_body(enum kgb_dtype dtype, const double *values, size_t n, char *p)
{
	const size_t size = infos[dtype].size;

	if (dtype == KGB_DTYPE_FLOAT16) {
		store_halves(values, n, p, FLOAT16);
	} else if (dtype == KGB_DTYPE_BFLOAT16) {
		store_halves(values, n, p, BFLOAT16);
	} else if (dtype == KGB_DTYPE_FLOAT32) {
		for (size_t i = 0; i < n; i++) {
			uint32_t bits = encode_float32(values[i]);
			memcpy(p + i * sizeof(bits), &bits, sizeof(bits));
		}
	} else if (kgb_dtype_is_float(dtype)) {
		for (size_t i = 0; i < n; i++)
			kgb_dtype_store(dtype, p + i * size, values[i]);
	} else if (size == 8) {
		store_integers(dtype, 8, values, n, p);
	} else if (size == 4) {
		store_integers(dtype, 4, values, n, p);
	} else {
		store_integers(dtype, size, values, n, p);
	}
}
KGB_SIMD_CLONES(store_array, (enum kgb_dtype dtype, const double *values, size_t n, char *p),
		(dtype, values, n, p))

void kgb_dtype_store_array(enum kgb_dtype dtype, const double *values, size_t n, void *p)
{
	if (dtype == KGB_DTYPE_FLOAT64)
		memcpy(p, values, n * sizeof(*values));
	else
		store_array(dtype, values, n, p);
}
