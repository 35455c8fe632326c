/* SPDX-License-Identifier: MIT */
/* Loops and conversions: both compilations give the same bits, narrow floats round as
 * kgb_dtype_store does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "verify/lanes/lanes.h"
#include "verify/lanes/narrow.h"
#include "verify/tensor/dtype.h"

static uint64_t state_of_random = 1;

static uint64_t draw(void)
{
	uint64_t z = state_of_random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#define N 509

static void test_narrow_floats_are_those_of_dtypes(void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT16, KGB_DTYPE_BFLOAT16,
						KGB_DTYPE_FLOAT8_E4M3FN};
	float floats[N];
	uint8_t bytes[2 * N];

	(void)state;
	for (size_t t = 0; t < KGB_ARRAY_LEN(dtypes); t++) {
		const size_t size = kgb_dtype_size(dtypes[t]);
		for (uint32_t bits = 0; bits < 1u << (8 * size); bits++) {
			float got;
			kgb_dtype_load_floats(dtypes[t], &bits, 1, &got);
			double want = kgb_dtype_load(dtypes[t], &bits);
			assert_true((double)got == want || (got != got && want != want));
		}
		for (int round = 0; round < 2000; round++) {
			for (size_t i = 0; i < N; i++) {
				uint32_t bits = (uint32_t)draw();
				if (round % 2) /* around the values that the type has */
					bits = (bits & 0x8fffffff) |
					       (0x30000000 + (bits >> 3 & 0x1fff0000));
				memcpy(&floats[i], &bits, sizeof(bits));
			}
			kgb_dtype_store_floats(dtypes[t], floats, N, bytes);
			for (size_t i = 0; i < N; i++) {
				uint64_t want = 0;
				kgb_dtype_store(dtypes[t], &want, (double)floats[i]);
				assert_memory_equal(bytes + i * size, &want, size);
			}
		}
	}
}

static void test_f8e5m2(void **state)
{
	static const struct {
		float from;
		uint8_t bits;
	} rows[] = {
		{0.f, 0x00},          {-0.f, 0x80},       {1.f, 0x3c},        {57344.f, 0x7b},
		{61439.f, 0x7b},      {1e9f, 0x7b},       {-1e9f, 0xfb},      {0x1p-16f, 0x01},
		{0x1p-17f, 0x00},     {0x1.8p-17f, 0x01}, {0x1.8p-16f, 0x02}, {0x1p-14f, 0x04},
		{0x1.fffp-15f, 0x04}, {1.125f, 0x3c},     {1.375f, 0x3e},     {1.126f, 0x3d},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		uint8_t bits;
		float back;
		kgb_narrow_round(KGB_TTIR_F8E5M2, &rows[i].from, 1, &bits);
		if (bits != rows[i].bits)
			fail_msg("%a becomes 0x%02x, not 0x%02x", (double)rows[i].from, bits,
				 rows[i].bits);
		kgb_narrow_widen(KGB_TTIR_F8E5M2, &bits, 1, &back);
		kgb_narrow_round(KGB_TTIR_F8E5M2, &back, 1, &bits);
		assert_int_equal(bits, rows[i].bits);
	}
}

/* Corners among random bits. */
static void fill(void *to, size_t bytes)
{
	static const uint64_t corners[] = {0,
					   1,
					   UINT64_MAX,
					   UINT64_C(1) << 63,
					   UINT64_C(0x7f8000007f800000),
					   UINT64_C(0x3ff0000000000000),
					   UINT64_C(0x7ff0000000000000),
					   UINT64_C(0xff800000ff800000),
					   UINT64_C(0x8000000080000000),
					   UINT64_C(0x7fffffff7fffffff),
					   UINT64_C(0x4048f5c34048f5c3)};

	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = draw();
		if (word % 4 == 0)
			word = corners[word / 4 % KGB_ARRAY_LEN(corners)];
		memcpy((char *)to + i, &word, 8);
	}
}

/* Which of two operands' payloads a NaN gets is the compiler's choice. */
static bool same(const uint64_t *a, const uint64_t *b, int type)
{
	double x, y;
	float u[2], v[2];

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	memcpy(u, a, sizeof(u));
	memcpy(v, b, sizeof(v));
	if (type == KGB_LANES_F64 && x != x && y != y)
		return true;
	for (int i = 0; type == KGB_LANES_F32 && i < 2; i++)
		if (((const uint32_t *)a)[i] != ((const uint32_t *)b)[i] &&
		    (u[i] == u[i] || v[i] == v[i]))
			return false;
	return type == KGB_LANES_F32 || *a == *b;
}

static void compare(kgb_lanes_fn any, kgb_lanes_fn wide, const char *what, int id, int type)
{
	_Alignas(64) uint64_t in[3][N + 3], out[2][N + 3];

	for (unsigned moves = 0; moves < 8; moves++) {
		for (int k = 0; k < 3; k++)
			fill(in[k], sizeof(in[k]));
		memset(out, 0, sizeof(out));
		any(out[0], in[0], in[1], in[2], moves, N);
		wide(out[1], in[0], in[1], in[2], moves, N);
		if (memcmp(out[0], out[1], sizeof(out[0])) == 0)
			continue;
		for (size_t i = 0; i < N + 3; i++)
			if (!same(&out[0][i], &out[1][i], type))
				fail_msg(
					"%s %d of type %d, operands %u, lane %zu: 0x%llx and 0x%llx",
					what, id, type, moves, i, (unsigned long long)out[0][i],
					(unsigned long long)out[1][i]);
	}
}

static void test_both_compilations_give_the_same_bits(void **state)
{
	const struct kgb_lanes *any = &kgb_lanes_any, *wide = kgb_lanes_choose();

	(void)state;
	if (any == wide)
		skip();
	for (int id = 0; id < KGB_N_LANES; id++)
		for (int type = 0; type < KGB_N_LANES_TYPES; type++)
			if (any->elementwise[id][type])
				compare(any->elementwise[id][type], wide->elementwise[id][type],
					"operation", id, type);
	for (int from = 0; from < 4; from++) {
		for (int to = 0; to < 4; to++) {
			compare(any->sign_extend[from][to], wide->sign_extend[from][to], "sign",
				from, to);
			compare(any->zero_extend[from][to], wide->zero_extend[from][to], "zero",
				from, to);
		}
		for (int to = 0; to < 2; to++) {
			compare(any->signed_to_float[from][to], wide->signed_to_float[from][to],
				"float", from, to);
			compare(any->unsigned_to_float[from][to], wide->unsigned_to_float[from][to],
				"unsigned float", from, to);
		}
		compare(any->advance[from], wide->advance[from], "advance", from, 0);
	}
}

/* The sizes of results, 0: that of the operands. */
enum {
	SIZE_T = 0,
	SIZE_uint8_t = 1,
	SIZE_int32_t = 4,
	SIZE_uint32_t = 4,
	SIZE_int64_t = 8,
	SIZE_uint64_t = 8
};

/* Whether N lanes at a time give what each lane gives alone. `sizes` are those of the operands'
 * elements, `size` that of the result's. */
static bool lanes_are_alone(kgb_lanes_fn fn, unsigned moves, const size_t sizes[3], size_t size,
			    int type)
{
	_Alignas(64) uint64_t in[3][N], out[2][N];

	for (int k = 0; k < 3; k++)
		fill(in[k], sizeof(in[k]));
	memset(out, 0, sizeof(out));
	fn(out[0], in[0], in[1], in[2], moves, N);
	for (size_t i = 0; i < N; i++) {
		const char *at[3];
		for (unsigned k = 0; k < 3; k++)
			at[k] = (const char *)in[k] + (moves >> k & 1 ? i : 0) * sizes[k];
		fn((char *)out[1] + i * size, at[0], at[1], at[2], 7, 1);
	}
	for (size_t i = 0; i < N; i++)
		if (!same(&out[0][i], &out[1][i], type))
			return false;
	return true;
}

/* Also where operands are one element for all lanes. */
static void test_each_lane_has_its_own_operands(void **state)
{
#define INTEGERS(name, n, sign, out, ...) [KGB_LANES_##name] = {n, SIZE_##out},
#define FLOATS(name, n, out, ...) [KGB_LANES_##name] = {n, SIZE_##out},
	static const struct {
		unsigned n;
		size_t size;
	} rows[KGB_N_LANES] = {KGB_LANES_INTEGER(INTEGERS)
				       KGB_LANES_FLOAT(FLOATS)[KGB_LANES_SELECT] = {3, SIZE_T}};
	static const size_t sizes[KGB_N_LANES_TYPES] = {
		[KGB_LANES_I8] = 1,  [KGB_LANES_I16] = 2, [KGB_LANES_I32] = 4,
		[KGB_LANES_I64] = 8, [KGB_LANES_F32] = 4, [KGB_LANES_F64] = 8};

	(void)state;
	for (int id = 0; id < KGB_N_LANES; id++)
		for (int type = 0; type < KGB_N_LANES_TYPES; type++) {
			const kgb_lanes_fn fn = kgb_lanes_choose()->elementwise[id][type];
			const size_t own = sizes[type], size = rows[id].size ? rows[id].size : own;
			const size_t of[3] = {id == KGB_LANES_SELECT ? 1 : own, own, own};
			for (unsigned moves = 0; fn && moves < 8; moves++)
				if ((rows[id].n > 1 || moves & 1) &&
				    !lanes_are_alone(fn, moves, of, size, type))
					fail_msg("operation %d, type %d, moves %u", id, type,
						 moves);
		}
}

static void test_products_have_the_same_bits(void **state)
{
	static const size_t sizes[][3] = {
		{1, 1, 1}, {4, 16, 8}, {5, 19, 33}, {16, 16, 16}, {7, 32, 3}};
	const struct kgb_lanes *any = &kgb_lanes_any, *wide = kgb_lanes_choose();

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(sizes); i++) {
		const size_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
		float a[16 * 33], b[33 * 32], c[2][16 * 32];
		for (size_t j = 0; j < m * k; j++)
			a[j] = (float)(int32_t)draw() * 0x1p-31f;
		for (size_t j = 0; j < k * n; j++)
			b[j] = (float)(int32_t)draw() * 0x1p-31f;
		for (size_t j = 0; j < m * n; j++)
			c[0][j] = c[1][j] = (float)j;
		any->product_f32(c[0], a, b, m, n, k);
		wide->product_f32(c[1], a, b, m, n, k);
		assert_memory_equal(c[0], c[1], m * n * sizeof(float));
		double sum = 0;
		for (size_t p = 0; p < k; p++)
			sum += (double)a[p] * (double)b[p * n];
		assert_true(sum - (double)c[0][0] < 1e-5 && (double)c[0][0] - sum < 1e-5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_narrow_floats_are_those_of_dtypes),
		cmocka_unit_test(test_f8e5m2),
		cmocka_unit_test(test_both_compilations_give_the_same_bits),
		cmocka_unit_test(test_each_lane_has_its_own_operands),
		cmocka_unit_test(test_products_have_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
