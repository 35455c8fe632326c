/* SPDX-License-Identifier: MIT */
#include "verify/tensor/dtype.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

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

/* Bits of the format -> double; every value of a format narrower than double is a double. */
static double decode_float(uint64_t bits, struct float_format format)
{
	uint64_t mantissa = bits & ((UINT64_C(1) << format.mantissa_bits) - 1);
	uint64_t all_ones = (UINT64_C(1) << format.exponent_bits) - 1;
	uint64_t exponent = bits >> format.mantissa_bits & all_ones;
	uint64_t sign = bits >> (format.mantissa_bits + format.exponent_bits) & 1;
	double value;

	if (exponent == 0) {
		value = (double)mantissa *
			ldexp(1.0, 1 - exponent_bias(format) - format.mantissa_bits);
		return sign ? -value : value;
	}
	bool is_special =
		exponent == all_ones &&
		(!format.is_finite || mantissa == (UINT64_C(1) << format.mantissa_bits) - 1);
	uint64_t wide = is_special ? 0x7ff : exponent + 1023 - (uint64_t)exponent_bias(format);
	uint64_t pattern = sign << 63 | wide << 52 | mantissa << (52 - format.mantissa_bits);
	memcpy(&value, &pattern, sizeof(value));
	return value;
}

/* Double -> bits of a narrower format, rounded once, to nearest, ties to even. */
static uint64_t encode_float(double value, struct float_format format)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint64_t sign = bits >> 63 << (format.exponent_bits + format.mantissa_bits);
	uint64_t infinity = ((UINT64_C(1) << format.exponent_bits) - 1) << format.mantissa_bits;
	uint64_t all_set = infinity | ((UINT64_C(1) << format.mantissa_bits) - 1);
	int double_exponent = (int)(bits >> 52) & 0x7ff;

	if (double_exponent == 0x7ff) {
		bool is_nan = bits << 12 != 0;
		if (format.is_finite)
			return sign | all_set;
		return sign | infinity | (is_nan ? UINT64_C(1) << (format.mantissa_bits - 1) : 0);
	}
	/* Double's own subnormals are below half of the smallest subnormal of every narrower
	 * format. */
	if (double_exponent == 0)
		return sign;
	int exponent = double_exponent - 1023 + exponent_bias(format);
	if (exponent >= (1 << format.exponent_bits) - !format.is_finite)
		return sign | (format.is_finite ? all_set : infinity);

	uint64_t significand = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
	int shift = 52 - format.mantissa_bits + (exponent <= 0 ? 1 - exponent : 0);
	if (shift > 53)
		return sign;
	uint64_t kept = significand >> shift;
	uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
	uint64_t half = UINT64_C(1) << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	/* A normal number's implicit bit, and a carry out of rounding, both add one to the exponent
	 * field. An overflow lands exactly on the pattern of infinity, or on or past that of a NaN.
	 */
	uint64_t field = exponent > 0 ? (uint64_t)(exponent - 1) << format.mantissa_bits : 0;
	return sign | (format.is_finite && field + kept > all_set ? all_set : field + kept);
}

int64_t kgb_dtype_load_i64(enum kgb_dtype dtype, const void *p)
{
	union {
		uint8_t u8;
		int8_t i8;
		int16_t i16;
		int32_t i32;
		int64_t i64;
	} u;
	memcpy(&u, p, infos[dtype].size);
	switch (dtype) {
	case KGB_DTYPE_BOOL:
	case KGB_DTYPE_UINT8:
		return u.u8;
	case KGB_DTYPE_INT8:
		return u.i8;
	case KGB_DTYPE_INT16:
		return u.i16;
	case KGB_DTYPE_INT32:
		return u.i32;
	case KGB_DTYPE_INT64:
		return u.i64;
	case KGB_DTYPE_FLOAT16:
	case KGB_DTYPE_BFLOAT16:
	case KGB_DTYPE_FLOAT32:
	case KGB_DTYPE_FLOAT64:
	case KGB_DTYPE_FLOAT8_E4M3FN:
	case KGB_DTYPE_COMPLEX64:
	case KGB_DTYPE_COMPLEX128:
	case KGB_N_DTYPES:
		break;
	}
	KGB_UNREACHABLE();
}

double kgb_dtype_load(enum kgb_dtype dtype, const void *p)
{
	union {
		uint8_t u8;
		uint16_t u16;
		float f32;
		double f64;
	} u;

	if (!kgb_dtype_is_float(dtype))
		return (double)kgb_dtype_load_i64(dtype, p);
	dtype = kgb_dtype_part(dtype);
	memcpy(&u, p, infos[dtype].size);
	if (dtype == KGB_DTYPE_FLOAT64)
		return u.f64;
	if (dtype == KGB_DTYPE_FLOAT32)
		return (double)u.f32;
	return decode_float(dtype == KGB_DTYPE_FLOAT8_E4M3FN ? u.u8 : u.u16, infos[dtype].format);
}

void kgb_dtype_store_i64(enum kgb_dtype dtype, void *p, int64_t value)
{
	const struct dtype_info *info = &infos[dtype];

	KGB_ASSERT(!kgb_dtype_is_float(dtype));
	if (dtype == KGB_DTYPE_BOOL)
		value = value != 0;
	value = value < info->min ? info->min : value > info->max ? info->max : value;
	int32_t i32 = (int32_t)value;
	int16_t i16 = (int16_t)value;
	uint8_t u8 = (uint8_t)value;
	const void *from = info->size == 8   ? (const void *)&value
			   : info->size == 4 ? (const void *)&i32
			   : info->size == 2 ? (const void *)&i16
					     : (const void *)&u8;
	memcpy(p, from, info->size);
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
		uint32_t u32 = (uint32_t)encode_float(value, infos[dtype].format);
		memcpy(p, &u32, infos[dtype].size); /* little-endian */
	}
}

double kgb_dtype_round(enum kgb_dtype dtype, double value)
{
	char bytes[16];

	kgb_dtype_store(dtype, bytes, value);
	return kgb_dtype_load(dtype, bytes);
}
