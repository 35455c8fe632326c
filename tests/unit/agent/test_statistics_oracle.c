/* SPDX-License-Identifier: MIT */
/** \file
 * The statistics against the results of scipy and statsmodels, which
 * tests/oracles/statistics_oracle.py recorded.
 */
#include <math.h>

#include "agent/statistics/deviance.h"
#include "agent/statistics/paired.h"
#include "agent/statistics/pass_at_k.h"
#include "agent/statistics/power.h"
#include "agent/statistics/proportion.h"
#include "agent/statistics/ranks.h"
#include "agent/statistics/speedup.h"
#include "base/formats/json.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"

#define RECORDED KGB_TEST_SOURCE_DIR "/tests/fixtures/statistics.json"
#define MOST 2000

/** Of one row: its lists. */
struct lists {
	double a[MOST], b[MOST];
	unsigned char flags[MOST];
	uint32_t labels[MOST];
};

static double number(const cJSON *row, const char *key)
{
	return kgb_json_num(row, key, (double)NAN);
}

static size_t count(const cJSON *row, const char *key)
{
	return (size_t)kgb_json_i64(row, key, -1);
}

/** null is NaN. */
static size_t list(const cJSON *row, const char *key, double out[MOST])
{
	const cJSON *item = NULL;
	size_t n = 0;
	cJSON_ArrayForEach(item, kgb_json_get(row, key)) {
		assert_true(n < MOST);
		out[n++] = cJSON_IsNumber(item) ? item->valuedouble
			   : cJSON_IsBool(item) ? cJSON_IsTrue(item)
						: (double)NAN;
	}
	return n;
}

static void near(const cJSON *row, const char *what, double value, double wanted, double tolerance)
{
	if (isnan(wanted) ? isnan(value)
			  : fabs(value - wanted) <= tolerance * fmax(1, fabs(wanted)))
		return;
	char *text = cJSON_PrintUnformatted(row);
	print_error("%s\n", text);
	cJSON_free(text);
	fail_msg("%s is %.17g, wanted %.17g", what, value, wanted);
}

static void check_wilson(const cJSON *row, struct lists *lists)
{
	(void)lists;
	const struct kgb_interval share = kgb_wilson(count(row, "k"), count(row, "n"));
	near(row, "low", share.low, number(row, "low"), 1e-12);
	near(row, "high", share.high, number(row, "high"), 1e-12);
	near(row, "value", share.value, number(row, "k") / number(row, "n"), 1e-15);
}

static void check_mcnemar(const cJSON *row, struct lists *lists)
{
	(void)lists;
	const double p = kgb_mcnemar(count(row, "only_a"), count(row, "only_b"));
	near(row, "p", p / number(row, "p"), 1, 1e-9);
}

static void check_sign_flip(const cJSON *row, struct lists *lists)
{
	const size_t n = list(row, "differences", lists->a);
	near(row, "p", kgb_sign_flip(lists->a, n), number(row, "p"), 1e-12);
}

static void check_long_sign_flip(const cJSON *row, struct lists *lists)
{
	const size_t n = list(row, "differences", lists->a);
	const double p = number(row, "p");
	near(row, "p", kgb_sign_flip(lists->a, n), p, 4 * sqrt(p * (1 - p) / 66667) + 1e-5);
}

static void check_holm(const cJSON *row, struct lists *lists)
{
	const size_t n = list(row, "p", lists->a);
	assert_int_equal(list(row, "adjusted", lists->b), n);
	kgb_holm(lists->a, n);
	for (size_t i = 0; i < n; i++)
		near(row, "adjusted p", lists->a[i], lists->b[i], 1e-12);
}

static void check_detectable(const cJSON *row, struct lists *lists)
{
	(void)lists;
	const double sd = number(row, "sd"), n = number(row, "n"), power = number(row, "power"),
		     effect = number(row, "effect");
	near(row, "effect", kgb_detectable(sd, n, power), effect, 1e-9);
	near(row, "of 10", kgb_detectable_by_flips(sd, (size_t)n, power, 10), number(row, "of_10"),
	     1e-9);
	near(row, "n", kgb_needed_n(effect * (1 + 1e-9), sd, power), n, 0);
}

static void check_power(const cJSON *row, struct lists *lists)
{
	(void)lists;
	near(row, "power", kgb_power(number(row, "effect"), number(row, "sd"), number(row, "n")),
	     number(row, "power"), 1e-9);
}

static void check_icc(const cJSON *row, struct lists *lists)
{
	size_t sizes[16];
	list(row, "values", lists->a);
	const size_t n = list(row, "sizes", lists->b);
	assert_true(n <= KGB_ARRAY_LEN(sizes));
	for (size_t i = 0; i < n; i++)
		sizes[i] = (size_t)lists->b[i];
	const struct kgb_components v = kgb_variance_components(lists->a, sizes, n);
	near(row, "within", v.within, number(row, "within"), 1e-12);
	near(row, "between", v.between, number(row, "between"), 1e-12);
	near(row, "icc", kgb_icc(lists->a, sizes, n), number(row, "icc"), 1e-12);
}

static void check_attempts(const cJSON *row, struct lists *lists)
{
	const double within = number(row, "within"), between = number(row, "between"),
		     needed = kgb_needed_attempts(number(row, "effect"), within, between,
						  number(row, "n"), number(row, "power"));
	near(row, "needed", isinf(needed) ? (double)NAN : needed, number(row, "needed"), 0);
	assert_int_equal(list(row, "sd", lists->a), 2);
	near(row, "sd of 1", kgb_attempts_sd(within, between, 1), lists->a[0], 1e-15);
	near(row, "sd of 5", kgb_attempts_sd(within, between, 5), lists->a[1], 1e-15);
}

static void check_best_right(const cJSON *row, struct lists *lists)
{
	const size_t n_right = list(row, "right", lists->a);
	near(row, "best", kgb_best_right_at_k(lists->a, n_right, count(row, "n"), count(row, "k")),
	     number(row, "best"), 1e-12);
}

static void check_geometric(const cJSON *row, struct lists *lists)
{
	const size_t n = list(row, "speedups", lists->a);
	const cJSON *fast = NULL;
	near(row, "correct", kgb_geometric_mean_of_correct(lists->a, n).value,
	     number(row, "correct"), 1e-12);
	near(row, "fallback", kgb_geometric_mean_with_fallback(lists->a, n).value,
	     number(row, "fallback"), 1e-12);
	cJSON_ArrayForEach(fast, kgb_json_get(row, "fast")) {
		double p = 0;
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_parse_double(fast->string, &p, &err), err);
		assert_int_equal(kgb_fast_p(lists->a, n, p), fast->valueint);
	}
}

static void check_any_time(const cJSON *row, struct lists *lists)
{
	const size_t n = list(row, "costs", lists->a);
	const cJSON *solved = NULL;
	cJSON_ArrayForEach(solved, kgb_json_get(row, "solved")) {
		double at = 0;
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_parse_double(solved->string, &at, &err), err);
		near(row, solved->string, (double)kgb_solved_within(lists->a, n, at) / (double)n,
		     solved->valuedouble, 1e-12);
	}
}

static size_t flags(const cJSON *row, struct lists *lists)
{
	const size_t n = list(row, "outcomes", lists->a);
	for (size_t i = 0; i < n; i++)
		lists->flags[i] = lists->a[i] != 0;
	return n;
}

static void labels(const cJSON *row, const char *key, struct lists *lists)
{
	const size_t n = list(row, key, lists->b);
	for (size_t i = 0; i < n; i++)
		lists->labels[i] = (uint32_t)lists->b[i];
}

static void check_deviance(const cJSON *row, struct lists *lists)
{
	const size_t n = flags(row, lists);
	labels(row, "levels", lists);
	near(row, "explained",
	     kgb_explained_deviance(lists->flags, lists->labels, n, count(row, "n_levels")),
	     number(row, "explained"), 1e-12);
}

static void check_permuted(const cJSON *row, struct lists *lists)
{
	const size_t n = flags(row, lists), n_methods = count(row, "n_methods");
	labels(row, "categories", lists);
	const struct kgb_attribution of = kgb_attribute_to_categories(lists->flags, n / n_methods,
								      n_methods, lists->labels, 2);
	near(row, "explained", of.explained, number(row, "explained"), 1e-12);
	/* 999 permutations: about four standard errors. */
	near(row, "by_chance", of.by_chance, number(row, "by_chance"), 0.02);
	near(row, "p", of.p, number(row, "p"), 0.04);
}

static void check_ranks(const cJSON *row, struct lists *lists)
{
	struct kgb_rank ranks[8];
	bool separated[64];
	double scores[MOST];
	const size_t n = list(row, "scores", scores), n_pairs = list(row, "separated", lists->a);
	assert_true(n <= 8 && n_pairs == n * n);
	for (size_t i = 0; i < n_pairs; i++)
		separated[i] = lists->a[i] != 0;
	kgb_rank_with_ties(scores, separated, n, ranks);
	list(row, "best", lists->a);
	list(row, "worst", lists->b);
	for (size_t i = 0; i < n; i++) {
		near(row, "best", (double)ranks[i].best, lists->a[i], 0);
		near(row, "worst", (double)ranks[i].worst, lists->b[i], 0);
	}
}

static const struct {
	const char *name;
	void (*check)(const cJSON *row, struct lists *lists);
} sections[] = {
	{"wilson", check_wilson},       {"mcnemar", check_mcnemar},
	{"sign_flip", check_sign_flip}, {"long_sign_flip", check_long_sign_flip},
	{"holm", check_holm},           {"detectable", check_detectable},
	{"power", check_power},         {"icc", check_icc},
	{"attempts", check_attempts},   {"best_right", check_best_right},
	{"geometric", check_geometric}, {"any_time", check_any_time},
	{"deviance", check_deviance},   {"permuted", check_permuted},
	{"ranks", check_ranks},
};

static void test_statistics_are_those_of_scipy_and_statsmodels(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(json) cJSON *recorded = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) struct lists *lists = kgb_xcalloc(1, sizeof(*lists));
	assert_ok(kgb_fs_read(AT_FDCWD, RECORDED, 1u << 20, &text, &err), err);
	assert_ok(kgb_json_parse(text.ptr, text.len, &recorded, &err), err);
	assert_int_equal(cJSON_GetArraySize(recorded), KGB_ARRAY_LEN(sections));
	for (size_t i = 0; i < KGB_ARRAY_LEN(sections); i++) {
		const cJSON *rows = kgb_json_get(recorded, sections[i].name), *row = NULL;
		assert_true(cJSON_GetArraySize(rows) > 0);
		cJSON_ArrayForEach(row, rows)
			sections[i].check(row, lists);
	}
}

/* ---- what no other implementation has ---- */

static void test_figures_that_the_literature_gives(void **state)
{
	(void)state;
	/* At 80 % power: points of pass rate for 210 and 110 operators by discordance, and percent
	 * of geometric mean by the standard deviation of logarithms. */
	static const struct {
		double discordance, sd, n, points;
	} rows[] = {
		{.discordance = 0.1, .n = 210, .points = 6.1},
		{.discordance = 0.2, .n = 210, .points = 8.6},
		{.discordance = 0.3, .n = 210, .points = 10.6},
		{.discordance = 0.1, .n = 110, .points = 8.4},
		{.discordance = 0.2, .n = 110, .points = 11.9},
		{.discordance = 0.3, .n = 110, .points = 14.6},
		{.sd = 0.3, .n = 210, .points = 6},
		{.sd = 0.5, .n = 210, .points = 10},
		{.sd = 0.8, .n = 210, .points = 17},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const bool logs = rows[i].sd > 0;
		const double sd = logs ? rows[i].sd : sqrt(rows[i].discordance);
		const double least = kgb_detectable(sd, rows[i].n, 0.8);
		const double points = 100 * (logs ? expm1(least) : least);
		if (fabs(points - rows[i].points) > (logs ? 0.5 : 0.06))
			fail_msg("row %zu: %g points, wanted %g", i, points, rows[i].points);
	}
	assert_true(kgb_effective_n(210, 1, 0.7) == 210);
	assert_true(fabs(kgb_effective_n(210, 5, 0.5) - 70) < 1e-12);
}

static void test_flips_of_one_size_are_counted_not_drawn(void **state)
{
	(void)state;
	double differences[60] = {(double)NAN};
	for (size_t i = 1; i < 60; i++)
		differences[i] = i < 30 ? 0.25 : i < 40 ? -0.25 : 0;
	assert_true(kgb_sign_flip(differences, 60) == kgb_mcnemar(29, 10));
	assert_true(kgb_sign_flip(differences, 1) == 1);
	/* One attempt each: the standard deviation is that of the discordance. */
	assert_true(fabs(kgb_null_sd(differences, 60, 0.25) - 0.25 * sqrt(39 / 59.0)) < 1e-15);
	assert_true(fabs(kgb_null_sd(differences + 40, 20, 0.5) - 0.5 / sqrt(20)) < 1e-15);
}

static void test_few_operators_show_nothing(void **state)
{
	(void)state;
	static const double equal[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	for (size_t m = 1; m <= 10; m++)
		for (size_t n = 1; n <= KGB_ARRAY_LEN(equal); n++) {
			const double least = kgb_detectable_by_flips(0.5, n, 0.8, m);
			const bool shows = kgb_sign_flip(equal, n) <= 0.05 / (double)m;
			assert_true(isinf(least) == !shows);
		}
	assert_true(fabs(kgb_detectable_by_flips(0.5, 6, 0.8, 1) / kgb_detectable(0.5, 6, 0.8) -
			 1) < 1e-9);
	assert_true(isnan(kgb_detectable_by_flips(0.5, 0, 0.8, 1)));
}

static void test_a_ratio_is_that_of_its_operators(void **state)
{
	(void)state;
	static const double a[] = {2, (double)NAN, 3, 0.5, 8}, b[] = {1, 4, (double)NAN, 0.5, 2};
	const struct kgb_paired ratio = kgb_paired_ratio(a, b, 5);
	assert_int_equal(ratio.n, 3);
	assert_true(fabs(ratio.value - 2) < 1e-15); /* (2 * 1 * 4)^(1/3) */
	assert_true(fabs(ratio.sd - M_LN2) < 1e-15);
	assert_true(ratio.low >= 1 && ratio.low < 2 && ratio.high > 2 && ratio.high <= 4);
	assert_true(ratio.p == 0.5); /* log 2 and log 4, and a zero */
	const struct kgb_paired back = kgb_paired_ratio(b, a, 5);
	assert_true(fabs(back.value * ratio.value - 1) < 1e-15 && back.p == ratio.p);
	/* Without a spread there is no interval. */
	const struct kgb_paired one = kgb_paired_ratio(a, b, 1);
	assert_true(one.n == 1 && one.value == 2 && isnan(one.low) && isnan(one.high) &&
		    one.p == 1);
	const struct kgb_paired none = kgb_paired_ratio(a, b, 0);
	assert_true(none.n == 0 && isnan(none.value) && none.p == 1);
}

static void test_a_mean_over_what_all_have(void **state)
{
	(void)state;
	static const double a[] = {2, 3, (double)NAN, 8}, b[] = {1, (double)NAN, 5, 4};
	const double *const both[] = {a, b};
	const struct kgb_mean of_a = kgb_geometric_mean_of_common(both, 2, 4, 0);
	const struct kgb_mean of_b = kgb_geometric_mean_of_common(both, 2, 4, 1);
	assert_true(of_a.n == 2 && fabs(of_a.value - 4) < 1e-15);
	assert_true(of_b.n == 2 && fabs(of_b.value - 2) < 1e-15);
}

static void test_expected_cost_of_a_success(void **state)
{
	(void)state;
	static const double spent[] = {3, 5, 4};
	assert_true(kgb_cost_per_success(spent, (const unsigned char[]){1, 0, 1}, 3) == 6);
	assert_true(isinf(kgb_cost_per_success(spent, (const unsigned char[]){0, 0, 0}, 3)));
	assert_true(isnan(kgb_cost_per_success(spent, NULL, 0)));
}

static void test_methods_explain_what_they_make(void **state)
{
	(void)state;
	unsigned char outcomes[40];
	for (size_t i = 0; i < 40; i++)
		outcomes[i] = i % 2 == 0; /* method 0 passes all, method 1 none */
	const struct kgb_attribution all = kgb_attribute_to_methods(outcomes, 20, 2, NULL, 0);
	assert_true(fabs(all.explained - 1) < 1e-12 && all.p == 0.001 && all.by_chance < 0.1);
	/* The same outcomes as two runs of each of two methods on ten operators. */
	static const uint32_t methods[] = {0, 1, 0, 1}, other[] = {0, 0, 1, 1};
	const struct kgb_attribution two = kgb_attribute_to_methods(outcomes, 10, 4, methods, 2);
	assert_true(fabs(two.explained - 1) < 1e-12 && two.p == 0.001);
	const struct kgb_attribution wrong = kgb_attribute_to_methods(outcomes, 10, 4, other, 2);
	assert_true(fabs(wrong.explained) < 1e-12 && wrong.p > 0.5);
	memset(outcomes, 1, sizeof(outcomes));
	const struct kgb_attribution none = kgb_attribute_to_methods(outcomes, 20, 2, NULL, 0);
	assert_true(isnan(none.explained) && isnan(none.p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statistics_are_those_of_scipy_and_statsmodels),
		cmocka_unit_test(test_figures_that_the_literature_gives),
		cmocka_unit_test(test_flips_of_one_size_are_counted_not_drawn),
		cmocka_unit_test(test_few_operators_show_nothing),
		cmocka_unit_test(test_a_ratio_is_that_of_its_operators),
		cmocka_unit_test(test_a_mean_over_what_all_have),
		cmocka_unit_test(test_expected_cost_of_a_success),
		cmocka_unit_test(test_methods_explain_what_they_make),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
