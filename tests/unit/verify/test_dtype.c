/* SPDX-License-Identifier: MIT */
#include "verify/tensor/dtype.h"

#include <float.h>
#include <math.h>

#include "tests/unit/base/support.h"

static double load_bits(enum kgb_dtype dtype, uint64_t bits)
{
	return kgb_dtype_load(dtype, &bits);
}

static uint64_t store_bits(enum kgb_dtype dtype, double value)
{
	uint64_t bits = 0;
	kgb_dtype_store(dtype, &bits, value);
	return bits;
}

static void test_names_sizes_and_limits_are_torch_s(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_dtype dtype;
		const char *name;
		size_t size;
		double eps, max, tiny;
	} rows[] = {
		{KGB_DTYPE_BOOL, "bool", 1, 0, 1, 0},
		{KGB_DTYPE_UINT8, "uint8", 1, 0, 255, 0},
		{KGB_DTYPE_INT8, "int8", 1, 0, 127, 0},
		{KGB_DTYPE_INT16, "int16", 2, 0, 32767, 0},
		{KGB_DTYPE_INT32, "int32", 4, 0, 2147483647, 0},
		{KGB_DTYPE_INT64, "int64", 8, 0, 0x1p63, 0},
		{KGB_DTYPE_FLOAT16, "float16", 2, 0x1p-10, 65504, 0x1p-14},
		{KGB_DTYPE_BFLOAT16, "bfloat16", 2, 0x1p-7, 0x1.fep127, 0x1p-126},
		{KGB_DTYPE_FLOAT32, "float32", 4, (double)FLT_EPSILON, (double)FLT_MAX,
		 (double)FLT_MIN},
		{KGB_DTYPE_FLOAT64, "float64", 8, DBL_EPSILON, DBL_MAX, DBL_MIN},
		{KGB_DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn", 1, 0x1p-3, 448, 0x1p-6},
		{KGB_DTYPE_COMPLEX64, "complex64", 8, (double)FLT_EPSILON, (double)FLT_MAX,
		 (double)FLT_MIN},
		{KGB_DTYPE_COMPLEX128, "complex128", 16, DBL_EPSILON, DBL_MAX, DBL_MIN},
	};
	assert_int_equal(KGB_ARRAY_LEN(rows), KGB_N_DTYPES);
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		enum kgb_dtype parsed = KGB_N_DTYPES;
		assert_ok(kgb_dtype_parse(rows[i].name, &parsed, &err), err);
		assert_int_equal(parsed, rows[i].dtype);
		assert_string_equal(kgb_dtype_name(rows[i].dtype), rows[i].name);
		assert_int_equal(kgb_dtype_size(rows[i].dtype), rows[i].size);
		assert_true(kgb_dtype_eps(rows[i].dtype) == rows[i].eps);
		assert_true(kgb_dtype_max(rows[i].dtype) == rows[i].max);
		assert_true(kgb_dtype_tiny(rows[i].dtype) == rows[i].tiny);
		assert_int_equal(kgb_dtype_is_float(rows[i].dtype), rows[i].eps > 0);
	}
}

static void test_an_unknown_name_is_refused_with_the_nearest(KGB_UNUSED void **state)
{
	enum kgb_dtype out = KGB_DTYPE_INT16;
	struct kgb_err err;

	memset(&err, 0, sizeof(err));
	assert_int_equal(kgb_dtype_parse("float23", &out, &err), -1);
	assert_contains(err.msg, "unknown dtype 'float23'");
	assert_contains(err.msg, "float32");
	assert_int_equal(out, KGB_DTYPE_INT16);
	assert_fails(kgb_dtype_parse("", &out, &err), err, "unknown dtype ''");
}

/* The value of a bit pattern by the definition of the format, not by our decoder's steps. */
static double by_definition(uint32_t bits, int exponent_bits, int mantissa_bits)
{
	double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
	int field = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
	double fraction =
		(double)(bits & ((1u << mantissa_bits) - 1)) / (double)(1u << mantissa_bits);
	int bias = (1 << (exponent_bits - 1)) - 1;

	if (field == (1 << exponent_bits) - 1)
		return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
	return field == 0 ? sign * fraction * exp2(1 - bias)
			  : sign * (1 + fraction) * exp2(field - bias);
}

static const struct half {
	enum kgb_dtype dtype;
	int exponent_bits, mantissa_bits;
} halves[] = {{KGB_DTYPE_FLOAT16, 5, 10}, {KGB_DTYPE_BFLOAT16, 8, 7}};

static void test_all_half_patterns_load_by_definition_and_come_back(KGB_UNUSED void **state)
{
	for (size_t h = 0; h < KGB_ARRAY_LEN(halves); h++) {
		for (uint32_t bits = 0; bits < 65536; bits++) {
			double loaded = load_bits(halves[h].dtype, bits);
			double wanted = by_definition(bits, halves[h].exponent_bits,
						      halves[h].mantissa_bits);
			uint64_t back = store_bits(halves[h].dtype, loaded);
			if (isnan(wanted)) {
				assert_true(isnan(loaded) &&
					    isnan(load_bits(halves[h].dtype, back)));
				continue;
			}
			assert_true(loaded == wanted && signbit(loaded) == signbit(wanted));
			assert_int_equal(back, bits);
		}
	}
}

/* Rounding changes only at the middle between neighbours. So trying each middle and the doubles
 * right beside it tries every decision there is, and a detour through float32 (double rounding)
 * would be caught by the doubles beside it. */
static void test_every_rounding_boundary_of_the_halves_is_exact(KGB_UNUSED void **state)
{
	for (size_t h = 0; h < KGB_ARRAY_LEN(halves); h++) {
		enum kgb_dtype dtype = halves[h].dtype;
		uint32_t infinity = ((1u << halves[h].exponent_bits) - 1)
				    << halves[h].mantissa_bits;
		for (uint32_t low = 0; low < infinity; low++) {
			double a = load_bits(dtype, low);
			/* Past the largest value the next one would be a whole spacing away. */
			double spacing = low + 1 < infinity ? load_bits(dtype, low + 1) - a
							    : a - load_bits(dtype, low - 1);
			double middle = a + spacing / 2;
			uint32_t even = low % 2 == 0 ? low : low + 1;
			assert_int_equal(store_bits(dtype, middle), even);
			assert_int_equal(store_bits(dtype, nextafter(middle, 0)), low);
			assert_int_equal(store_bits(dtype, nextafter(middle, (double)INFINITY)),
					 low + 1);
			assert_int_equal(store_bits(dtype, -middle), even | 0x8000);
			assert_int_equal(store_bits(dtype, nextafter(-middle, (double)-INFINITY)),
					 (low + 1) | 0x8000);
		}
	}
}

static void test_float32_stores_like_the_processor(KGB_UNUSED void **state)
{
	uint64_t x = 88172645463325252;
	for (int i = 0; i < 400000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Exponents around the whole range of float32, its subnormals and its overflow
		 * included. */
		double value = ldexp(1 + (double)(x >> 12) * 0x1p-52, (int)(x % 300) - 160) *
			       (x & 2048 ? 1 : -1);
		if (i % 2)
			value = (double)(float)value * (1 + 0x1p-24); /* near or at ties */
		float wanted = (float)value, got;
		kgb_dtype_store(KGB_DTYPE_FLOAT32, &got, value);
		assert_memory_equal(&got, &wanted, sizeof(got));
		assert_true(kgb_dtype_load(KGB_DTYPE_FLOAT32, &got) == (double)wanted);
	}
}

static void test_special_floats_keep_their_kind_and_sign(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT16, KGB_DTYPE_BFLOAT16,
						KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT64};
	for (size_t i = 0; i < KGB_ARRAY_LEN(dtypes); i++) {
		enum kgb_dtype d = dtypes[i];
		assert_true(isnan(kgb_dtype_round(d, (double)NAN)));
		assert_true(isnan(kgb_dtype_round(d, -(double)NAN)));
		assert_true(kgb_dtype_round(d, (double)INFINITY) == (double)INFINITY);
		assert_true(kgb_dtype_round(d, -(double)INFINITY) == -(double)INFINITY);
		assert_true(kgb_dtype_round(d, -0.0) == 0 && signbit(kgb_dtype_round(d, -0.0)));
		assert_true(kgb_dtype_round(d, kgb_dtype_max(d)) == kgb_dtype_max(d));
		assert_true(kgb_dtype_round(d, -kgb_dtype_tiny(d)) == -kgb_dtype_tiny(d));
		assert_true(kgb_dtype_round(d, 1 + kgb_dtype_eps(d)) == 1 + kgb_dtype_eps(d));
	}
	for (size_t i = 0; i < 3; i++) {
		assert_true(kgb_dtype_round(dtypes[i], 1e300) == (double)INFINITY);
		assert_true(kgb_dtype_round(dtypes[i], -1e300) == -(double)INFINITY);
		assert_true(kgb_dtype_round(dtypes[i], 1e-300) == 0);
		assert_true(kgb_dtype_round(dtypes[i], 5e-324) == 0);
	}
	assert_true(kgb_dtype_round(KGB_DTYPE_FLOAT16, 65519.99) == 65504);
	assert_true(kgb_dtype_round(KGB_DTYPE_FLOAT16, 65520) == (double)INFINITY);
	/* 1.5 units of the smallest subnormal: a tie, to the even one. */
	assert_true(kgb_dtype_round(KGB_DTYPE_FLOAT16, 0x1.8p-24) == 0x1p-23);
	assert_true(kgb_dtype_round(KGB_DTYPE_FLOAT16, 0x1p-25) == 0);
}

static void test_integers_saturate_and_round_to_even(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_dtype dtype;
		double value;
		int64_t stored;
	} rows[] = {
		{KGB_DTYPE_INT8, 127.4, 127},
		{KGB_DTYPE_INT8, 1000, 127},
		{KGB_DTYPE_INT8, -1000, -128},
		{KGB_DTYPE_UINT8, -3, 0},
		{KGB_DTYPE_UINT8, 256, 255},
		{KGB_DTYPE_INT16, 2.5, 2},
		{KGB_DTYPE_INT16, 3.5, 4},
		{KGB_DTYPE_INT16, -40000, -32768},
		{KGB_DTYPE_INT32, 1e30, INT32_MAX},
		{KGB_DTYPE_INT32, -7, -7},
		{KGB_DTYPE_INT64, 0x1p63, INT64_MAX},
		{KGB_DTYPE_INT64, -0x1p63, INT64_MIN},
		{KGB_DTYPE_INT64, -1e300, INT64_MIN},
		{KGB_DTYPE_INT64, 0x1p62, INT64_C(1) << 62},
		{KGB_DTYPE_INT32, (double)NAN, 0},
		{KGB_DTYPE_INT64, (double)INFINITY, INT64_MAX},
		{KGB_DTYPE_BOOL, 0, 0},
		{KGB_DTYPE_BOOL, 0.25, 1},
		{KGB_DTYPE_BOOL, -7, 1},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		uint64_t bits = 0;
		kgb_dtype_store(rows[i].dtype, &bits, rows[i].value);
		assert_int_equal(kgb_dtype_load_i64(rows[i].dtype, &bits), rows[i].stored);
		assert_true(kgb_dtype_load(rows[i].dtype, &bits) == (double)rows[i].stored);
	}
}

static void test_integers_beyond_doubles_are_exact(KGB_UNUSED void **state)
{
	char at_odd_address[9];
	const int64_t value = (INT64_C(1) << 53) + 1;

	kgb_dtype_store_i64(KGB_DTYPE_INT64, at_odd_address + 1, value);
	assert_int_equal(kgb_dtype_load_i64(KGB_DTYPE_INT64, at_odd_address + 1), value);
	kgb_dtype_store_i64(KGB_DTYPE_INT8, at_odd_address, 300);
	assert_int_equal(kgb_dtype_load_i64(KGB_DTYPE_INT8, at_odd_address), 127);
	assert_int_equal(kgb_dtype_min_i64(KGB_DTYPE_INT16), INT16_MIN);
	assert_int_equal(kgb_dtype_max_i64(KGB_DTYPE_UINT8), 255);
}

static void test_an_invalid_bool_is_visible(KGB_UNUSED void **state)
{
	assert_int_equal(kgb_dtype_load_i64(KGB_DTYPE_BOOL, "\x02"), 2);
	assert_true(load_bits(KGB_DTYPE_BOOL, 255) == 255);
}

/* No infinities: all bits but the sign are NaN, and what is too large becomes that. */
static void test_float8_e4m3fn_is_finite(KGB_UNUSED void **state)
{
	static const struct {
		double value;
		uint8_t bits;
	} rows[] = {
		{0, 0},         {-0.0, 0x80},    {1, 0x38},
		{448, 0x7e},    {-448, 0xfe},    {0x1p-6, 0x08},
		{0x1p-9, 0x01}, {0x1p-10, 0x00}, {0x1.8p-10, 0x01},
		{464, 0x7e},    {464.1, 0x7f},   {480, 0x7f},
		{1e300, 0x7f},  {-1e300, 0xff},  {HUGE_VAL, 0x7f},
		{1.0625, 0x38}, {1.1875, 0x3a},
	};
	uint8_t bits;

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		kgb_dtype_store(KGB_DTYPE_FLOAT8_E4M3FN, &bits, rows[i].value);
		if (bits != rows[i].bits)
			fail_msg("%g is stored as %#x", rows[i].value, bits);
	}
	for (int i = 0; i < 256; i++) {
		uint8_t pattern = (uint8_t)i;
		double value = kgb_dtype_load(KGB_DTYPE_FLOAT8_E4M3FN, &pattern);
		assert_int_equal(isnan(value) != 0, (i & 0x7f) == 0x7f);
		kgb_dtype_store(KGB_DTYPE_FLOAT8_E4M3FN, &bits, value);
		assert_int_equal(bits, pattern);
	}
}

static void test_complex_numbers_are_two_parts(KGB_UNUSED void **state)
{
	static const float number[] = {-2.5f, 7};
	static const double stored[] = {-2.5, 0};
	double bytes[2] = {1, 1};

	assert_int_equal(kgb_dtype_part(KGB_DTYPE_COMPLEX64), KGB_DTYPE_FLOAT32);
	assert_int_equal(kgb_dtype_part(KGB_DTYPE_COMPLEX128), KGB_DTYPE_FLOAT64);
	assert_int_equal(kgb_dtype_part(KGB_DTYPE_INT8), KGB_DTYPE_INT8);
	assert_true(kgb_dtype_is_complex(KGB_DTYPE_COMPLEX128));
	assert_false(kgb_dtype_is_complex(KGB_DTYPE_FLOAT64));
	assert_true(kgb_dtype_load(KGB_DTYPE_COMPLEX64, number) == -2.5);
	kgb_dtype_store(KGB_DTYPE_COMPLEX128, bytes, -2.5);
	assert_memory_equal(bytes, stored, sizeof(stored));
}

static void test_a_store_touches_its_own_bytes_only(KGB_UNUSED void **state)
{
	for (int d = 0; d < KGB_N_DTYPES; d++) {
		char bytes[24];
		memset(bytes, 0x5a, sizeof(bytes));
		kgb_dtype_store((enum kgb_dtype)d, bytes, 1);
		for (size_t i = kgb_dtype_size((enum kgb_dtype)d); i < sizeof(bytes); i++)
			assert_int_equal(bytes[i], 0x5a);
		assert_true(kgb_dtype_load((enum kgb_dtype)d, bytes) == 1);
	}
}

static void test_stored_nan_are_quiet_and_have_random_bits(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_dtype dtype;
		uint64_t random, bits;
	} rows[] = {
		{KGB_DTYPE_FLOAT64, UINT64_MAX, UINT64_MAX},
		{KGB_DTYPE_FLOAT64, 14, 0x7ff8000000000007},
		{KGB_DTYPE_FLOAT32, 15, 0xffc00007},
		{KGB_DTYPE_COMPLEX64, 14, 0x7fc00007},
		{KGB_DTYPE_FLOAT16, 0, 0x7e00},
		{KGB_DTYPE_FLOAT16, 2, 0x7e01},
		{KGB_DTYPE_BFLOAT16, 3, 0xffc1},
		{KGB_DTYPE_FLOAT8_E4M3FN, 2, 0x7f},
		{KGB_DTYPE_FLOAT8_E4M3FN, 3, 0xff},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		uint64_t bits = 0;
		kgb_dtype_store_special(rows[i].dtype, &bits, (double)NAN, rows[i].random);
		if (bits != rows[i].bits)
			fail_msg("row %zu: %llx", i, (unsigned long long)bits);
		assert_true(isnan(kgb_dtype_load(rows[i].dtype, &bits)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_sizes_and_limits_are_torch_s),
		cmocka_unit_test(test_an_unknown_name_is_refused_with_the_nearest),
		cmocka_unit_test(test_all_half_patterns_load_by_definition_and_come_back),
		cmocka_unit_test(test_every_rounding_boundary_of_the_halves_is_exact),
		cmocka_unit_test(test_float32_stores_like_the_processor),
		cmocka_unit_test(test_special_floats_keep_their_kind_and_sign),
		cmocka_unit_test(test_integers_saturate_and_round_to_even),
		cmocka_unit_test(test_integers_beyond_doubles_are_exact),
		cmocka_unit_test(test_an_invalid_bool_is_visible),
		cmocka_unit_test(test_float8_e4m3fn_is_finite),
		cmocka_unit_test(test_stored_nan_are_quiet_and_have_random_bits),
		cmocka_unit_test(test_complex_numbers_are_two_parts),
		cmocka_unit_test(test_a_store_touches_its_own_bytes_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
