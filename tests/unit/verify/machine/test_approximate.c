/* SPDX-License-Identifier: MIT */
/* Approximations stay within what is documented, and come near it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "verify/lanes/approximate.h"

static double one_over(double x)
{
	return 1 / x;
}

static double one_over_root(double x)
{
	return 1 / sqrt(x);
}

static const struct {
	float (*approximate)(float);
	double (*exact)(double);
	float low, high;
	double absolute, relative; /* documented */
} rows[] = {
	{kgb_approximate_sin, sin, -6.2F, 6.2F, 6.75e-7, 0},
	{kgb_approximate_cos, cos, -314, 314, 3.76e-5, 0},
	{kgb_approximate_log2, log2, 0.5F, 2, 0x1p-22, 0},
	{kgb_approximate_log2, log2, 2, 1e9F, 0, 0x1p-22},
	{kgb_approximate_exp2, exp2, -20, 20, 0, 1.69e-7},
	{kgb_approximate_tanh, tanh, -4, 4, 0, 0x1.01p-11},
	{kgb_approximate_reciprocal, one_over, 1, 1000, 0, 0x1p-23},
	{kgb_approximate_rsqrt, one_over_root, 1, 1000, 0, 1.28e-7},
	{kgb_approximate_sqrt, sqrt, 1, 1000, 0, 0x1p-23},
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		double most = 0;
		for (int k = 1; k < 1000; k++) {
			const float x =
				rows[i].low + (rows[i].high - rows[i].low) * (float)k / 1000;
			const double exact = rows[i].exact((double)x);
			const double allowed = rows[i].absolute + rows[i].relative * fabs(exact);
			const double error = fabs((double)rows[i].approximate(x) - exact);
			assert_true(rows[i].approximate(x) == rows[i].approximate(x));
			if (error > allowed)
				fail_msg("row %zu: %g at %g", i, error, (double)x);
			most = error / allowed > most ? error / allowed : most;
		}
		if (most < 0.75)
			fail_msg("row %zu: at most %g of what is allowed", i, most);
	}
}

static void test_exact_results(void **state)
{
	(void)state;
	assert_true(kgb_approximate_exp2(3) == 8);
	assert_true(kgb_approximate_reciprocal(4) == 0.25F);
	assert_true(kgb_approximate_sin(0) == 0 && kgb_approximate_cos(0) == 1);
	assert_true(isnan(kgb_approximate_log2(-1)) && isinf(kgb_approximate_reciprocal(0)));
	assert_true(kgb_approximate_rcp64h(3) != 1.0 / 3);
	assert_true(fabs(kgb_approximate_rcp64h(3) * 3 - 1) < 0x1p-19);
}

/* ---- divisions ---- */

#define INF ((float)INFINITY)
#define QNAN ((float)NAN)

static const struct {
	float x, y, full, fast;
} quotients[] = {
	{6, 3, 2, 2},
	{5, 1, 5, 5},
	{-31, 31, -1, -1},
	{1, 0, INF, INF},
	{-1, 0, -INF, -INF},
	{1, -0.0F, -INF, -INF},
	{0, 0, QNAN, QNAN},
	{1, INF, 0, 0},
	{INF, INF, QNAN, QNAN},
	{QNAN, 1, QNAN, QNAN},
	{1, QNAN, QNAN, QNAN},
	/* what an H200 makes of the limits of the range */
	{1, 0x1p126F, 0x1p-126F, 0x1p-126F},
	{0x1p127F, 0x1.8p126F, 0x1.555556p0F, 0},
	{INF, 0x1.8p126F, INF, QNAN},
	{0x1p-149F, 0x1p-149F, 1, QNAN},
	{1, 0x1p-149F, INF, INF},
	{0x1p-100F, 0x1p-140F, 0x1p40F, INF},
	{0x1p-140F, 4, 0x1p-142F, 0},
};

static void assert_same(float got, float want, size_t row)
{
	if (isnan(want) ? !isnan(got) : got != want || signbit(got) != signbit(want))
		fail_msg("quotient %zu: %a", row, (double)got);
}

static void test_quotients(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(quotients); i++) {
		const float x = quotients[i].x, y = quotients[i].y;
		assert_same(kgb_approximate_quotient(x, y), quotients[i].full, i);
		assert_same(kgb_approximate_fast_quotient(x, y), quotients[i].fast, i);
	}
}

/* An H200 rounds 13.2 % of the inverses to the wrong side, and 16.3 % of x / x are not 1; the
 * largest error of a quotient that was seen is 2 ulp. */
static void test_quotients_are_as_inexact_as_a_gpu_s(void **state)
{
	const int n = 100000;
	int wrong = 0, not_one = 0;

	(void)state;
	for (int i = 0; i < n; i++) {
		const float y = 1 + (float)i / (float)n, x = 1 + (float)(i * 7 % n) / (float)n;
		const double exact = (double)x / (double)y, ulp = exact < 1 ? 0x1p-24 : 0x1p-23;
		const double error = fabs((double)kgb_approximate_quotient(x, y) - exact);
		if (error > 2 * ulp)
			fail_msg("%a / %a: %g ulp", (double)x, (double)y, error / ulp);
		wrong += kgb_approximate_quotient(1, y) != 1 / y;
		not_one += kgb_approximate_quotient(y, y) != 1;
		assert_true(kgb_approximate_quotient(x, -2 * y) ==
			    -kgb_approximate_quotient(x, y) / 2);
	}
	assert_in_range(wrong, n / 10, n / 6);
	assert_in_range(not_one, n / 10, n / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_exact_results),
		cmocka_unit_test(test_quotients),
		cmocka_unit_test(test_quotients_are_as_inexact_as_a_gpu_s),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
