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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_exact_results),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
