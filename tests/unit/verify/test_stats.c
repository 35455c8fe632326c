/* SPDX-License-Identifier: MIT */
#include "verify/tensor/statistics.h"

#include <math.h>

#include "tests/unit/base/support.h"

#define assert_near(got, expected, tolerance)                                      \
	do {                                                                       \
		double got_ = (got), expected_ = (expected);                       \
		if (!(fabs(got_ - expected_) <= (tolerance)))                      \
			fail_msg("%s is %.12g, not %.12g", #got, got_, expected_); \
	} while (0)

#define NONE ((double)NAN)

static void start_rng(struct kgb_rng *rng, uint32_t index)
{
	const struct kgb_seed seed = {{7}};
	kgb_rng_init(rng, &seed, "stats", index);
}

/* ---- one sample ---- */

static void test_locations_and_spreads_of_known_samples(KGB_UNUSED void **state)
{
	static const double four[] = {4, 1, 3, 2}, seven[] = {9, 1, 6, 1, 2, 4, 2};
	static const double five[] = {100, 1, 3, 2, 4};

	assert_near(kgb_quantile(four, 4, 0.25), 1.75, 0);
	assert_near(kgb_quantile(four, 4, 0), 1, 0);
	assert_near(kgb_quantile(four, 4, 1), 4, 0);
	assert_near(kgb_median(four, 4), 2.5, 0);
	assert_near(kgb_median(four, 1), 4, 0);
	assert_near(kgb_mad(seven, 7), 1, 0);
	assert_near(kgb_trimmed_mean(five, 5, 0.2), 3, 0);
	assert_near(kgb_trimmed_mean(five, 5, 0), 22, 1e-12);
	/* winsorized: 2 2 3 4 4, sum of squares 4; sqrt(4 / (3 * 2)) */
	assert_near(kgb_trimmed_error(five, 5, 0.2), 0.816496580927726, 1e-12);
	/* without trimming it is the usual standard error */
	assert_near(kgb_trimmed_error(four, 4, 0), sqrt(5.0 / 12), 1e-12);
	assert_int_equal(four[0], 4);
	assert_int_equal(five[0], 100);
}

static void test_an_error_of_large_numbers_keeps_its_digits(KGB_UNUSED void **state)
{
	static const double values[] = {1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4, 1e9 + 100};

	assert_near(kgb_trimmed_error(values, 5, 0.2), 0.816496580927726, 1e-9);
}

static void test_nothing_usable_gives_no_number(KGB_UNUSED void **state)
{
	const double bad[] = {1, NONE, 2}, infinite[] = {1, (double)INFINITY}, one[] = {1};
	const double three[] = {1, 2, 4};
	struct kgb_rng rng;

	start_rng(&rng, 0);
	assert_true(isnan(kgb_median(bad, 0)));
	assert_true(isnan(kgb_median(bad, 3)));
	assert_true(isnan(kgb_mad(bad, 3)));
	assert_true(isnan(kgb_trimmed_mean(infinite, 2, 0)));
	assert_true(isnan(kgb_trimmed_error(one, 1, 0)));
	assert_true(isnan(kgb_trimmed_bootstrap(infinite, 2, 0, 0.95, 10, &rng).low));
	assert_true(isnan(kgb_trimmed_bootstrap(bad, 3, 0, 0.95, 10, &rng).value));
	/* One value is left after trimming: it has no spread to go by. */
	assert_true(isnan(kgb_trimmed_bootstrap(three, 3, 0.4, 0.95, 10, &rng).low));
	assert_true(isnan(kgb_median_ratio_bootstrap(NULL, 0, NULL, 0, 0, 0.95, 10, &rng).value));
}

/* ---- intervals ---- */

enum { TRIALS = 400, N = 20 };

/* Share of intervals that cover the true location 3. */
static double coverage(double outlier_share, double *mean_width)
{
	double values[N];
	int n_covered = 0;
	struct kgb_rng rng;

	start_rng(&rng, 2);
	*mean_width = 0;
	for (int t = 0; t < TRIALS; t++) {
		for (int i = 0; i < N; i++) {
			double scale = kgb_rng_uniform(&rng) < outlier_share ? 30 : 1;
			values[i] = 3 + scale * kgb_rng_normal(&rng);
		}
		struct kgb_interval x = kgb_trimmed_bootstrap(values, N, 0.2, 0.95, 999, &rng);
		n_covered += x.low <= 3 && 3 <= x.high ? 1 : 0;
		*mean_width += (x.high - x.low) / TRIALS;
	}
	return (double)n_covered / TRIALS;
}

static void test_bootstrap_intervals_cover_the_truth_as_often_as_they_claim(KGB_UNUSED void **state)
{
	double width, width_with_outliers;
	double share = coverage(0, &width);

	assert_true(share > 0.93 && share < 0.97);
	share = coverage(0.1, &width_with_outliers);
	assert_true(share > 0.93 && share < 0.99);
	/* A mean's interval would be three times as wide. */
	assert_true(width_with_outliers < 1.4 * width);
}

static void test_a_bootstrap_depends_on_its_seed_alone(KGB_UNUSED void **state)
{
	static const double values[] = {1, 2, 4, 7, 11, 16, 22, 29};
	struct kgb_interval x[3];

	for (uint32_t i = 0; i < 3; i++) {
		struct kgb_rng rng;
		start_rng(&rng, i / 2);
		x[i] = kgb_trimmed_bootstrap(values, 8, 0.2, 0.95, 999, &rng);
	}
	assert_true(x[0].low == x[1].low && x[0].high == x[1].high);
	assert_true(x[0].low != x[2].low);
	assert_near(x[0].value - x[0].low, x[0].high - x[0].value, 1e-12);
}

static void test_equal_values_have_no_width_and_ties_an_open_one(KGB_UNUSED void **state)
{
	static const double equal[] = {5, 5, 5, 5, 5, 5}, tied[] = {5, 5, 5, 5, 6, 6};
	struct kgb_rng rng;

	start_rng(&rng, 3);
	struct kgb_interval x = kgb_trimmed_bootstrap(equal, 6, 0.2, 0.95, 999, &rng);
	assert_true(x.value == 5 && x.low == 5 && x.high == 5);
	/* Resamples without any spread say that nothing is known, not that all is. */
	x = kgb_trimmed_bootstrap(tied, 6, 0.2, 0.95, 999, &rng);
	assert_true(isinf(x.high) && isinf(x.low));
}

/* Rounds whose common factor varies by 20 %, b half of a but for 1 %. */
static struct kgb_interval ratio_of_rounds(bool paired)
{
	enum { ROUNDS = 30, EACH = 4 };
	struct kgb_round_value a[ROUNDS * EACH], b[ROUNDS * EACH];
	struct kgb_rng rng;

	start_rng(&rng, 4);
	for (uint32_t i = 0; i < ROUNDS * EACH; i++) {
		uint32_t round = i / EACH, other = (round + ROUNDS / 2) % ROUNDS;
		double common = 1 + 0.2 * round / ROUNDS;
		a[i] = (struct kgb_round_value){100 * common * (1 + 0.01 * kgb_rng_normal(&rng)),
						round};
		b[i] = (struct kgb_round_value){50 * common * (1 + 0.01 * kgb_rng_normal(&rng)),
						paired ? round : other};
	}
	return kgb_median_ratio_bootstrap(a, ROUNDS * EACH, b, ROUNDS * EACH, ROUNDS, 0.95, 999,
					  &rng);
}

static void test_a_ratio_of_medians_profits_from_pairs(KGB_UNUSED void **state)
{
	struct kgb_interval paired = ratio_of_rounds(true), apart = ratio_of_rounds(false);

	assert_near(paired.value, 2, 0.04);
	assert_true(paired.value == apart.value);
	assert_true(paired.low <= 2 && 2 <= paired.high);
	assert_true((paired.high - paired.low) * 4 < apart.high - apart.low);
}

/* The same draws with the sides swapped give the reciprocal, so both tails weigh the same. */
static void test_a_ratio_of_medians_has_two_equal_tails(KGB_UNUSED void **state)
{
	enum { ROUNDS = 40 };
	struct kgb_round_value a[ROUNDS], b[ROUNDS];
	struct kgb_rng rng;

	start_rng(&rng, 6);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		a[i] = (struct kgb_round_value){100 + 5 * kgb_rng_normal(&rng), i};
		b[i] = (struct kgb_round_value){100 + 5 * kgb_rng_normal(&rng), i};
	}
	start_rng(&rng, 7);
	struct kgb_interval x =
		kgb_median_ratio_bootstrap(a, ROUNDS, b, ROUNDS, ROUNDS, 0.9, 1999, &rng);
	start_rng(&rng, 7);
	struct kgb_interval y =
		kgb_median_ratio_bootstrap(b, ROUNDS, a, ROUNDS, ROUNDS, 0.9, 1999, &rng);
	assert_near(x.value * y.value, 1, 1e-12);
	assert_near(x.low * y.high, 1, 1e-4);
	assert_near(x.high * y.low, 1, 1e-4);
	assert_true(x.low < x.value && x.value < x.high);
}

static void test_medians_of_rounds_are_medians(KGB_UNUSED void **state)
{
	static const struct kgb_round_value a[] = {{8, 0}, {2, 0}, {6, 0}, {4, 0}};
	static const struct kgb_round_value b[] = {{1, 0}, {3, 0}, {1, 0}};
	struct kgb_rng rng;

	start_rng(&rng, 5);
	struct kgb_interval x = kgb_median_ratio_bootstrap(a, 4, b, 3, 1, 0.95, 99, &rng);
	assert_true(x.value == 5 && x.low == 5 && x.high == 5);
}

static void test_a_geometric_mean_combines_intervals(KGB_UNUSED void **state)
{
	static const struct kgb_interval values[] = {{2, 1, 4}, {8, 4, 16}};
	static const struct kgb_interval skewed[] = {{1, 1, 2}};
	static const struct kgb_interval unknown[] = {{2, 1, 4}, {2, 0, 4}};
	static const double none[2] = {0, 0}, all[] = {M_LN2, M_LN2}, part[] = {0.6 * M_LN2, 0};
	struct kgb_interval x = kgb_geometric_mean(values, none, 2);

	assert_near(x.value, 4, 1e-12);
	assert_near(x.low, 4 / pow(2, M_SQRT1_2), 1e-12);
	assert_near(x.high, 4 * pow(2, M_SQRT1_2), 1e-12);
	x = kgb_geometric_mean(skewed, none, 1);
	assert_near(x.low, 1, 1e-12);
	assert_near(x.high, 2, 1e-12);
	/* An error that all share does not shrink by averaging. */
	x = kgb_geometric_mean(values, all, 2);
	assert_near(x.low, 2, 1e-12);
	assert_near(x.high, 8, 1e-12);
	/* The root of (0.6 + 0)^2 + 0.8^2 + 1. */
	x = kgb_geometric_mean(values, part, 2);
	assert_near(x.high, 4 * pow(2, M_SQRT2 / 2), 1e-12);
	/* A part that exceeds a lopsided distance leaves no rest below 0. */
	x = kgb_geometric_mean(skewed, all, 1);
	assert_near(x.low, 0.5, 1e-12);
	assert_near(x.high, 2, 1e-12);
	assert_true(isnan(kgb_geometric_mean(unknown, none, 2).value));
	assert_true(isnan(kgb_geometric_mean(values, none, 0).value));
}

/* ---- groups ---- */

static void test_groups_differ_by_more_than_their_values_do(KGB_UNUSED void **state)
{
	static const double values[] = {1, 3, 5, 7, 9}, near[] = {1, 3, 1, 3};
	static const uint32_t two[] = {0, 0, 4, 4, 4}, one[] = {7, 7, 7, 7, 7};
	double centred[5];

	/* Means 2 and 7. Squares within: 2 + 8, so s^2 = 10 / 3 and error^2 = s^2 / 5. */
	struct kgb_grouped x = kgb_group_values(values, two, 5, 0, centred);
	assert_int_equal(x.n_groups, 2);
	assert_near(x.value, 5, 1e-12);
	assert_near(x.error, sqrt(10.0 / 15), 1e-12);
	assert_near(x.share, 0.52, 1e-12);
	assert_near(x.variance, (30 - 10.0 / 3) / 2.4, 1e-12);
	assert_near(centred[0], 5 - sqrt(4.0 / 3), 1e-12);
	assert_near(centred[3], 5, 1e-12);
	/* Groups that lie nearer to each other than chance would put them. */
	x = kgb_group_values(near, two, 4, 0, centred);
	assert_near(x.value, 2, 1e-12);
	assert_near(x.variance, 0, 0);
	/* One group is a plain sample. */
	x = kgb_group_values(values, one, 5, 0.2, centred);
	assert_int_equal(x.n_groups, 1);
	assert_near(x.value, 5, 1e-12);
	assert_near(x.error, kgb_trimmed_error(values, 5, 0.2), 1e-12);
	assert_near(x.share, 1, 0);
	assert_near(x.variance, 0, 0);
	assert_near(centred[4], 9, 1e-12);
	/* A group of one value each has no spread to go by. */
	assert_true(
		isnan(kgb_group_values(values, (const uint32_t[]){1, 2, 3}, 3, 0, centred).error));
	x = kgb_group_values(NULL, NULL, 0, 0.2, centred);
	assert_true(isnan(x.value) && isnan(x.error) && x.n_groups == 0);
}

static void test_quantiles_of_known_distributions(KGB_UNUSED void **state)
{
	assert_near(kgb_normal_quantile(0.5), 0, 1e-12);
	assert_near(kgb_normal_quantile(0.975), 1.959963984540054, 1e-9);
	assert_near(kgb_normal_quantile(0.025), -1.959963984540054, 1e-9);
	assert_near(kgb_normal_quantile(1e-6), -4.753424308822899, 1e-9);
	/* Tables of Student's t. */
	assert_near(kgb_t_quantile(0.975, 3), 3.182446, 0.02);
	assert_near(kgb_t_quantile(0.975, 5), 2.570582, 0.002);
	assert_near(kgb_t_quantile(0.975, 8), 2.306004, 2e-4);
	assert_near(kgb_t_quantile(0.975, 11), 2.200985, 5e-5);
	assert_near(kgb_t_quantile(0.9, 5), 1.475884, 2e-3);
	assert_near(kgb_t_quantile(0.025, 30), -2.042272, 1e-5);
	assert_near(kgb_t_quantile(0.975, 1e9), 1.959963985, 1e-8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locations_and_spreads_of_known_samples),
		cmocka_unit_test(test_an_error_of_large_numbers_keeps_its_digits),
		cmocka_unit_test(test_nothing_usable_gives_no_number),
		cmocka_unit_test(test_bootstrap_intervals_cover_the_truth_as_often_as_they_claim),
		cmocka_unit_test(test_a_bootstrap_depends_on_its_seed_alone),
		cmocka_unit_test(test_equal_values_have_no_width_and_ties_an_open_one),
		cmocka_unit_test(test_a_ratio_of_medians_profits_from_pairs),
		cmocka_unit_test(test_a_ratio_of_medians_has_two_equal_tails),
		cmocka_unit_test(test_medians_of_rounds_are_medians),
		cmocka_unit_test(test_a_geometric_mean_combines_intervals),
		cmocka_unit_test(test_groups_differ_by_more_than_their_values_do),
		cmocka_unit_test(test_quantiles_of_known_distributions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
