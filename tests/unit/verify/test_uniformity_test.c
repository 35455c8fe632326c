/* SPDX-License-Identifier: MIT */
#include "verify/tensor/uniformity_test.h"

#include <math.h>

#include "base/hash.h"
#include "base/mem.h"
#include "tests/unit/base/support.h"
#include "verify/tensor/rng.h"

/* Seeds are fresh in every run: honest rows are refused once in 2^34 tests, wrong ones always. */

static const size_t sizes[] = {1, 7, 255, 256, 1000, 4099, 65536};

static double *draw(size_t n, uint32_t stream)
{
	double *u = kgb_xcalloc(n + 1, sizeof(*u));
	struct kgb_seed seed;
	struct kgb_rng rng;

	kgb_random(seed.bytes, sizeof(seed.bytes));
	kgb_rng_init(&rng, &seed, "uniform", stream);
	kgb_rng_uniforms(&rng, u, n);
	return u;
}

static void test_honest_draws_are_not_doubted(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(sizes); i++) {
		KGB_AUTO(free) double *a = draw(sizes[i], 1);
		KGB_AUTO(free) double *b = draw(sizes[i], 2);
		assert_null(kgb_uniformity_doubt(a, sizes[i]));
		assert_null(kgb_uniformity_relation(a, b, sizes[i]));
		assert_null(kgb_uniformity_coarse(a, sizes[i]));
	}
	assert_null(kgb_uniformity_doubt(NULL, 0));
	assert_null(kgb_uniformity_relation(NULL, NULL, 0));
	assert_null(kgb_uniformity_coarse(NULL, 0));
}

/* Each changes honest draws so that they are none. */
typedef void (*spoil_fn)(double *u, size_t n);

static void repeat(double *u, size_t n, size_t period)
{
	for (size_t i = period; i < n; i++)
		u[i] = u[i - period];
}

static void constant(double *u, size_t n)
{
	repeat(u, n, 1);
}

static void squared(double *u, size_t n)
{
	for (size_t i = 0; i < n; i++)
		u[i] *= u[i];
}

/* Mean and variance are right. */
static void two_values(double *u, size_t n)
{
	for (size_t i = 0; i < n; i++)
		u[i] = u[i] < 0.5 ? 0.5 - sqrt(1.0 / 12) : 0.5 + sqrt(1.0 / 12);
}

static void grid_of_64(double *u, size_t n)
{
	for (size_t i = 0; i < n; i++)
		u[i] = floor(u[i] * 64) / 64;
}

static void rows_alike(double *u, size_t n)
{
	repeat(u, n, 53);
}

static void blocks_of_1024_alike(double *u, size_t n)
{
	repeat(u, n, 1024);
}

static void halves_alike(double *u, size_t n)
{
	repeat(u, n, n / 2 / 64 * 64);
}

static void pairs_alike(double *u, size_t n)
{
	for (size_t i = 1; i < n; i += 2)
		u[i] = u[i - 1];
}

static void pairs_opposite(double *u, size_t n)
{
	for (size_t i = 1; i < n; i += 2)
		u[i] = 1 - u[i - 1];
}

static void ascending(double *u, size_t n)
{
	for (size_t i = 0; i < n; i++)
		u[i] = ((double)i + u[i]) / (double)n;
}

/* Multiples of the golden ratio: evenly spread, and each known from the one before. */
static void evenly_spread(double *u, size_t n)
{
	for (size_t i = 1; i < n; i++)
		u[i] = fmod(u[i - 1] + 0.6180339887498949, 1);
}

static void end_is_zero(double *u, size_t n)
{
	for (size_t i = n - 200; i < n; i++)
		u[i] = 0;
}

static void start_is_one(double *u, KGB_UNUSED size_t n)
{
	for (size_t i = 0; i < 200; i++)
		u[i] = 0.999;
}

static void every_fourth_is_zero(double *u, size_t n)
{
	for (size_t i = 0; i < n; i += 4)
		u[i] = 0;
}

static void test_what_is_no_draw_is_doubted_at_any_seed(KGB_UNUSED void **state)
{
	static const struct {
		spoil_fn spoil;
		size_t n;
	} rows[] = {
		{constant, 256},        {squared, 1000},       {two_values, 1000},
		{grid_of_64, 65536},    {rows_alike, 1000},    {blocks_of_1024_alike, 4099},
		{halves_alike, 65536},  {halves_alike, 1000},  {pairs_alike, 1000},
		{pairs_opposite, 1000}, {ascending, 1000},     {evenly_spread, 4099},
		{end_is_zero, 65536},   {start_is_one, 65536}, {every_fourth_is_zero, 1000},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) double *u = draw(rows[i].n, 3);
		rows[i].spoil(u, rows[i].n);
		if (!kgb_uniformity_doubt(u, rows[i].n))
			fail_msg("row %zu is not doubted", i);
	}
}

static void test_related_rows_are_told(KGB_UNUSED void **state)
{
	enum { N = 4099 };
	static const size_t shifts[] = {0, 1, 64, 1000};

	for (size_t i = 0; i < KGB_ARRAY_LEN(shifts); i++) {
		KGB_AUTO(free) double *a = draw(N + shifts[i], 4);
		assert_non_null(kgb_uniformity_relation(a, a + shifts[i], N));
		assert_non_null(kgb_uniformity_relation(a + shifts[i], a, N));
		for (size_t k = 0; k < N; k++)
			a[k] = 1 - a[k];
		assert_null(kgb_uniformity_doubt(a, N));
	}
}

static void test_few_different_numbers_are_told(KGB_UNUSED void **state)
{
	enum { N = 65536 };
	static const struct {
		double levels;
		bool is_coarse;
	} rows[] = {
		{0x1p12, true}, {0x1p16, true}, {0x1p20, true}, {0x1p24, false}, {0x1p31, false}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) double *u = draw(N, 5);
		for (size_t k = 0; k < N; k++)
			u[k] = floor(u[k] * rows[i].levels) / rows[i].levels;
		assert_int_equal(kgb_uniformity_coarse(u, N) != NULL, rows[i].is_coarse);
	}
}

/* Draws of so many levels, rounded to 1000 values of equal probability. */
static void test_few_levels_of_narrow_types_are_told(KGB_UNUSED void **state)
{
	enum { N = 4096, VALUES = 1000 };
	static const struct {
		double levels;
		bool is_coarse;
	} rows[] = {{0x1p7, true}, {0x1p8, true}, {0x1p24, false}};
	double masses[N];

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) double *u = draw(N, 6);
		for (size_t k = 0; k < N; k++) {
			const double level = floor(u[k] * rows[i].levels) / rows[i].levels;
			u[k] = floor(level * VALUES);
			masses[k] = 1.0 / VALUES;
		}
		assert_int_equal(kgb_uniformity_sparse(u, masses, N) != NULL, rows[i].is_coarse);
	}
	assert_null(kgb_uniformity_sparse(NULL, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_honest_draws_are_not_doubted),
		cmocka_unit_test(test_what_is_no_draw_is_doubted_at_any_seed),
		cmocka_unit_test(test_related_rows_are_told),
		cmocka_unit_test(test_few_different_numbers_are_told),
		cmocka_unit_test(test_few_levels_of_narrow_types_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
