/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/statistics/bootstrap.h"
#include "agent/statistics/pass_at_k.h"
#include "agent/statistics/proportion.h"
#include "agent/statistics/remaining.h"
#include "tests/unit/base/support.h"

#define NO ((double)NAN)

static void assert_near(double value, double wanted, double tolerance, const char *what, size_t n,
			size_t k)
{
	if (!(fabs(value - wanted) <= tolerance * fmax(1, fabs(wanted))))
		fail_msg("%s of %zu, k %zu: %.17g, wanted %.17g", what, n, k, value, wanted);
}

/* ---- pass@k ---- */

/* Exact binomials, by Pascal's triangle: C(62, 31) fits into 64 bits. */
#define MOST 62
static uint64_t binomial[MOST + 1][MOST + 1];

static void fill_binomials(void)
{
	for (int n = 0; n <= MOST; n++) {
		binomial[n][0] = 1;
		for (int k = 1; k <= n; k++)
			binomial[n][k] = binomial[n - 1][k - 1] + (k < n ? binomial[n - 1][k] : 0);
	}
}

static void test_pass_at_k_is_that_of_exact_binomials(void **state)
{
	(void)state;
	fill_binomials();
	for (size_t n = 1; n <= MOST; n++)
		for (size_t c = 0; c <= n; c++)
			for (size_t k = 1; k <= n; k++) {
				const uint64_t all = binomial[n][k], none = binomial[n - c][k];
				assert_near(kgb_pass_at_k(n, c, k),
					    (double)(all - none) / (double)all, 1e-14, "pass@k", n,
					    k);
			}
}

/* Made by Python: float(1 - Fraction(comb(n - c, k), comb(n, k))) */
static const struct {
	size_t n, c, k;
	double wanted;
} passes[] = {
	{100, 1, 10, 0.1},
	{100, 37, 5, 0.90663994510644},
	{200, 3, 100, 0.8768844221105527},
	{1000, 1, 1, 0.001},
	{1000, 7, 100, 0.5228229441621675},
	{1000, 500, 10, 0.9990668121978155},
	{10000, 1, 5000, 0.5},
	{10000, 9999, 1, 0.9999},
	{10000, 37, 250, 0.6087743627543005},
	{10000, 2, 9998, 0.9999999799979998},
};

static void test_pass_at_k_of_many_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(passes); i++)
		assert_near(kgb_pass_at_k(passes[i].n, passes[i].c, passes[i].k), passes[i].wanted,
			    1e-12, "pass@k", passes[i].n, passes[i].k);
}

static void test_pass_at_k_at_its_borders(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 10000; n = n * 3 + 1) {
		assert_true(kgb_pass_at_k(n, 0, n) == 0);
		assert_true(kgb_pass_at_k(n, 0, 1) == 0);
		assert_true(kgb_pass_at_k(n, n, 1) == 1);
		assert_true(kgb_pass_at_k(n, 1, n) == 1);
		assert_true(isnan(kgb_pass_at_k(n, 0, n + 1)));
		assert_true(isnan(kgb_pass_at_k(n, n, n + 1)));
		assert_true(isnan(kgb_pass_at_k(n, n + 1, 1)));
	}
	assert_true(isnan(kgb_pass_at_k(0, 0, 1)));
}

/* ---- best@k ---- */

/** Mean of the largest value over all subsets of k; NaN: there is none. */
static double mean_of_best(const double *values, size_t n, size_t k)
{
	double sum = 0;
	size_t n_subsets = 0;
	for (unsigned subset = 0; subset < 1u << n; subset++) {
		double best = -(double)INFINITY;
		if ((size_t)__builtin_popcount(subset) != k)
			continue;
		for (size_t i = 0; i < n; i++)
			if (subset & (1u << i))
				best = fmax(best, values[i]);
		sum += best;
		n_subsets++;
	}
	return k > 0 && n_subsets > 0 ? sum / (double)n_subsets : NO;
}

static void test_best_at_k_is_the_mean_over_all_subsets(void **state)
{
	(void)state;
	static const double all[] = {0, 1.5, 0, 0.2, 7, 1.5, 3.25, 0, 0.9, 2};
	for (size_t n = 0; n <= KGB_ARRAY_LEN(all); n++)
		for (size_t k = 0; k <= n + 1; k++) {
			double values[KGB_ARRAY_LEN(all)];
			memcpy(values, all, sizeof(all));
			const double wanted = mean_of_best(all, n, k),
				     best = kgb_best_at_k(values, n, k);
			if (isnan(wanted))
				assert_true(isnan(best));
			else
				assert_near(best, wanted, 1e-14, "best@k", n, k);
		}
}

/* Made by Python: sum of Fraction(comb(r - 1, k - 1), comb(n, k)) * value(r) */
static void test_best_at_k_of_many_samples(void **state)
{
	(void)state;
	static const struct {
		size_t n, k;
		bool squares;
		double wanted;
	} bests[] = {
		{100, 1, true, 3383.5},
		{100, 2, true, 5083.666666666667},
		{100, 5, true, 7274.4047619047615},
		{100, 10, true, 8493.181818181818},
		{100, 100, true, 10000},
		{10000, 1, false, 5000.5},
		{10000, 10, false, 9091.818181818182},
		{10000, 9999, false, 9999.9999},
	};
	double *values = kgb_xcalloc(10000, sizeof(*values));
	for (size_t i = 0; i < KGB_ARRAY_LEN(bests); i++) {
		for (size_t r = 1; r <= bests[i].n; r++)
			values[bests[i].n - r] = bests[i].squares ? (double)(r * r) : (double)r;
		assert_near(kgb_best_at_k(values, bests[i].n, bests[i].k), bests[i].wanted, 1e-12,
			    "best@k", bests[i].n, bests[i].k);
	}
	kgb_free(values);
}

/* ---- intervals ---- */

static void test_an_interval_surrounds_its_mean_and_comes_again(void **state)
{
	(void)state;
	static const double values[] = {0.1, NO, 0.9, 0.5, 0.5, 0, 1, NO, 0.3};
	const struct kgb_estimate a = kgb_bootstrap_mean(values, KGB_ARRAY_LEN(values));
	const struct kgb_estimate b = kgb_bootstrap_mean(values, KGB_ARRAY_LEN(values));
	assert_int_equal(a.n, 7);
	assert_near(a.value, 3.3 / 7, 1e-15, "mean", a.n, 0);
	assert_true(a.low > 0 && a.low < a.value && a.value < a.high && a.high < 1);
	assert_memory_equal(&a, &b, sizeof(a));
	/* The seed is the same for each input, and the order of the values is part of it. */
	static const double known[] = {0.1, 0.9, 0.5, 0.5, 0, 1, 0.3};
	const struct kgb_estimate c = kgb_bootstrap_mean(known, KGB_ARRAY_LEN(known));
	assert_memory_equal(&a, &c, sizeof(a));
}

/* Ends of an interval of Wilson are the shares p of which the mean is z standard errors away. */
static void assert_score(double value, double p, size_t n, const char *what)
{
	const double z = 1.959963984540054;
	assert_near(fabs(value - p), z * sqrt(p * (1 - p) / (double)n), 1e-12, what, n, 0);
}

static void test_values_that_are_all_the_same(void **state)
{
	(void)state;
	/* 0 and 5 of 10: R's prop.test(x, 10, correct = FALSE) */
	static const struct {
		double value;
		size_t n;
		double low, high;
	} known[] = {{0, 10, 0, 0.2775328}, {0.5, 10, 0.2365931, 0.7634069}};
	static const double same[] = {0, 0.1, 0.5, 0.75, 1};
	static const size_t counts[] = {1, 2, 3, 10, 210};
	double values[210];
	for (size_t i = 0; i < KGB_ARRAY_LEN(same); i++)
		for (size_t j = 0; j < KGB_ARRAY_LEN(counts); j++) {
			for (size_t k = 0; k < counts[j]; k++)
				values[k] = same[i];
			const struct kgb_estimate e = kgb_bootstrap_mean(values, counts[j]);
			assert_near(e.value, same[i], 1e-15, "mean", e.n, i);
			assert_true(0 <= e.low && e.low <= e.value && e.value <= e.high &&
				    e.high <= 1 && e.low < e.high);
			if (e.low > 0)
				assert_score(e.value, e.low, e.n, "low");
			if (e.high < 1)
				assert_score(e.value, e.high, e.n, "high");
			for (size_t k = 0; k < KGB_ARRAY_LEN(known); k++) {
				if (known[k].value != same[i] || known[k].n != counts[j])
					continue;
				assert_near(e.low, known[k].low, 1e-6, "low", e.n, k);
				assert_near(e.high, known[k].high, 1e-6, "high", e.n, k);
			}
		}
}

static void test_operators_are_resampled_within_their_source(void **state)
{
	(void)state;
	static const double values[] = {0.25, 0.75, NO, 0.25, 0.75, 0.25, 0.75, NO};
	static const uint32_t sources[] = {7, 2, 2, 7, 2, 7, 2, 7},
			      mixed[] = {0, 0, 0, 0, 1, 1, 1, 1};
	/* Sources without a spread: any resample has the same mean. */
	const struct kgb_estimate fixed = kgb_bootstrap_strata(values, sources, 8);
	const struct kgb_interval wilson = kgb_wilson(3, 6);
	assert_true(fixed.n == 6 && fixed.value == 0.5 && fixed.low == wilson.low &&
		    fixed.high == wilson.high);
	const struct kgb_estimate spread = kgb_bootstrap_strata(values, mixed, 8);
	assert_true(spread.n == 6 && spread.value == 0.5 && spread.low < 0.5 && spread.high > 0.5);
	assert_true(spread.low >= 0.25 && spread.high <= 0.75);
}

static void test_nothing_is_known_of_no_values(void **state)
{
	(void)state;
	static const double nothing[] = {NO, NO};
	for (size_t n = 0; n <= 2; n++) {
		const struct kgb_estimate e = kgb_bootstrap_mean(nothing, n);
		assert_true(e.n == 0 && isnan(e.value) && isnan(e.low) && isnan(e.high));
	}
}

static double draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / (double)(UINT64_C(1) << 53);
}

/* Of 400 runs of 60 operators with a known mean, about 95 % of the intervals hold it: between 90 %
 * and 99 %, which is four standard errors of a true rate of 94 % on each side. */
static void test_intervals_hold_the_true_mean_as_often_as_they_claim(void **state)
{
	(void)state;
	static const double rates[] = {0.2, 0.5, 0.85};
	uint64_t seed = 7;
	for (size_t r = 0; r < KGB_ARRAY_LEN(rates); r++) {
		int n_held = 0;
		for (int run = 0; run < 400; run++) {
			double values[60];
			for (size_t i = 0; i < KGB_ARRAY_LEN(values); i++) {
				/* pass@1 of four samples; operators differ in their rates. */
				const double rate =
					draw(&seed) < 0.5 ? rates[r] : rates[r] * rates[r];
				int c = 0;
				for (int k = 0; k < 4; k++)
					c += draw(&seed) < rate;
				values[i] = kgb_pass_at_k(4, (size_t)c, 1);
			}
			const struct kgb_estimate e =
				kgb_bootstrap_mean(values, KGB_ARRAY_LEN(values));
			const double mean = (rates[r] + rates[r] * rates[r]) / 2;
			n_held += e.low <= mean && mean <= e.high;
		}
		if (n_held < 360 || n_held > 396)
			fail_msg("rate %g: %d of 400 intervals hold the mean", rates[r], n_held);
	}
}

/* ---- what is left ---- */

static void test_what_is_left_of_pieces_that_are_all_alike(void **state)
{
	static const struct {
		size_t n_ended, n_live, n_waiting, at_a_time;
		double wanted;
	} cases[] = {
		{2, 0, 1, 1, NO}, /* too few ends */
		{3, 0, 0, 4, 0},  {3, 0, 6, 2, 30}, {3, 0, 7, 2, 40},
		{3, 0, 6, 6, 10}, {3, 1, 0, 1, 6}, /* of 10, it has taken 4 */
		{3, 1, 2, 1, 26}, {3, 2, 2, 2, 16}, {3, 3, 1, 2, 16}, /* more run than slots */
		{3, 2, 5, 0, 62}, /* a sum */
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_work_piece pieces[8] = {{0}};
		const size_t n = cases[i].n_ended + cases[i].n_live;
		for (size_t k = 0; k < n; k++)
			pieces[k] = (struct kgb_work_piece){k < cases[i].n_ended ? 10 : 4,
							    k < cases[i].n_ended};
		const struct kgb_work work = {
			.pieces = pieces, .n = n, .n_waiting = cases[i].n_waiting};
		const struct kgb_remaining r =
			cases[i].at_a_time > 0 ? kgb_remaining_time(&work, 1, cases[i].at_a_time)
					       : kgb_remaining_sum(&work, 1);
		const double wanted = cases[i].wanted;
		if (isnan(wanted) ? !isnan(r.median) : !(fabs(r.median - wanted) < 1e-9))
			fail_msg("case %zu: %g, wanted %g", i, r.median, wanted);
	}
}

/* Of ten pieces, nine ended at 1 and one is under way at 100: a new one is not of 1 for sure. */
static void test_a_long_piece_under_way_counts(void **state)
{
	(void)state;
	struct kgb_work_piece pieces[10] = {[9] = {100, false}};
	for (size_t i = 0; i < 9; i++)
		pieces[i] = (struct kgb_work_piece){1, true};
	const struct kgb_work work = {.pieces = pieces, .n = 10, .n_waiting = 40};
	const struct kgb_remaining r = kgb_remaining_time(&work, 1, 4);
	assert_true(r.low <= r.median && r.median <= r.high);
	assert_true(r.high > 100);
}

/* A piece that has taken 50 is one of the long ones, of which three of four take 100. */
static void test_a_piece_under_way_is_not_a_fresh_one(void **state)
{
	(void)state;
	struct kgb_work_piece pieces[49] = {[48] = {50, false}};
	for (size_t i = 0; i < 48; i++)
		pieces[i] = (struct kgb_work_piece){i < 40 ? 1 : i < 42 ? 60 : 100, true};
	const struct kgb_work work = {.pieces = pieces, .n = 49};
	const struct kgb_remaining r = kgb_remaining_time(&work, 1, 1);
	assert_true(r.low == 10 && r.median == 50 && r.high == 50);
}

/* Pieces of two kinds take 10 and 40: each is foretold by its own. */
static void test_kinds_take_turns_in_the_places_that_they_share(void **state)
{
	static const struct kgb_work_piece short_ones[] = {
		{10, true}, {10, true}, {10, true}, {4, false}};
	static const struct kgb_work_piece long_ones[] = {
		{40, true}, {40, true}, {40, true}, {30, false}};
	static const struct {
		size_t n_short, n_long; /* that wait */
		size_t own_places; /* of the long ones; 0: they share two places */
		double wanted;
	} cases[] = {
		{0, 0, 0, 10},
		/* The first place is free at 6, the other one at 10. */
		{0, 1, 0, 46},
		{1, 1, 0, 50},
		{2, 2, 0, 66},
		/* The long ones in three places of their own: 10, 40, 40, then 50. */
		{1, 3, 3, 50},
		{8, 1, 3, 86},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_work kinds[] = {
			{.pieces = short_ones, .n = 4, .n_waiting = cases[i].n_short},
			{.pieces = long_ones,
			 .n = 4,
			 .n_waiting = cases[i].n_long,
			 .n_places = cases[i].own_places}};
		const struct kgb_remaining r =
			kgb_remaining_time(kinds, 2, cases[i].own_places > 0 ? 1 : 2);
		if (fabs(r.median - cases[i].wanted) > 1e-9)
			fail_msg("case %zu: %g, wanted %g", i, r.median, cases[i].wanted);
		const struct kgb_remaining sum = kgb_remaining_sum(kinds, 2);
		const double all =
			6 + 10 + 10 * (double)cases[i].n_short + 40 * (double)cases[i].n_long;
		assert_true(fabs(sum.median - all) < 1e-9);
	}
	/* Of one kind too little is known. */
	const struct kgb_work kinds[] = {{.pieces = short_ones, .n = 4},
					 {.pieces = long_ones, .n = 2, .n_waiting = 1}};
	assert_true(isnan(kgb_remaining_time(kinds, 2, 2).median));
}

/* Nothing has ended near the limit yet, but no piece goes beyond it. */
static void test_a_limit_bounds_what_pieces_under_way_take(void **state)
{
	(void)state;
	struct kgb_work_piece pieces[40] = {{0}};
	for (size_t i = 0; i < 40; i++)
		pieces[i] = (struct kgb_work_piece){i < 4 ? 5 + (double)i : 9, i < 4};
	struct kgb_work work = {.pieces = pieces, .n = 40};
	assert_true(kgb_remaining_time(&work, 1, 40).median > 11);
	work.limit = 20;
	const struct kgb_remaining r = kgb_remaining_time(&work, 1, 40);
	assert_true(r.median == 11 && r.high == 11);
	work.limit = 5; /* they are beyond it: it says nothing */
	assert_true(kgb_remaining_time(&work, 1, 40).median > 11);
}

/** Durations of operators: many short ones, a few long ones. */
static double draw_duration(uint64_t *seed, double spread)
{
	const double z = sqrt(-2 * log(1 - draw(seed))) * cos(6.283185307179586 * draw(seed));
	return exp(5 + spread * z);
}

enum { N_PIECES = 60 };

/** Time at which the last of 60 operators ends, and what is known of them at `now`. */
static double run_to_the_end(uint64_t *seed, double spread, size_t n_slots, double now,
			     struct kgb_work_piece *pieces, struct kgb_work *work)
{
	double free_at[N_PIECES] = {0}, end = 0;
	*work = (struct kgb_work){.pieces = pieces};
	for (int i = 0; i < N_PIECES; i++) {
		size_t slot = 0;
		for (size_t k = 1; k < n_slots; k++)
			slot = free_at[k] < free_at[slot] ? k : slot;
		const double begun = free_at[slot];
		free_at[slot] += draw_duration(seed, spread);
		end = fmax(end, free_at[slot]);
		if (begun > now)
			work->n_waiting++;
		else
			pieces[work->n++] = (struct kgb_work_piece){
				fmin(free_at[slot], now) - begun, free_at[slot] <= now};
	}
	return end;
}

/* Of simulated runs, seen when about a tenth to four fifths is done, the range holds the true end
 * in about 80 %: between 71 % and 95 %. Half of the ends are below the median, and where all
 * operators begin at once up to three quarters, as the estimate is careful then. */
static void test_the_range_holds_the_true_end_as_often_as_it_claims(void **state)
{
	static const struct {
		size_t n_slots;
		double spread, first, last;
		int n_runs;
	} cases[] = {
		{6, 0.8, 300, 1700, 300},
		{N_PIECES, 0.4, 80, 250, 80},
		{N_PIECES, 0.8, 60, 400, 80},
	};
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		uint64_t seed = 11;
		int n_held = 0, n_runs = 0, n_below = 0;
		while (n_runs < cases[i].n_runs) {
			struct kgb_work_piece pieces[N_PIECES];
			struct kgb_work work;
			const double now =
				cases[i].first + (cases[i].last - cases[i].first) * draw(&seed);
			const double end = run_to_the_end(&seed, cases[i].spread, cases[i].n_slots,
							  now, pieces, &work);
			const struct kgb_remaining r =
				kgb_remaining_time(&work, 1, cases[i].n_slots);
			if (isnan(r.median) || end <= now)
				continue;
			n_runs++;
			n_held += r.low <= end - now && end - now <= r.high;
			n_below += end - now < r.median;
		}
		const double held = (double)n_held / n_runs, below = (double)n_below / n_runs;
		if (held < 0.71 || held > 0.95 || below < 0.36 || below > 0.76)
			fail_msg(
				"case %zu: %.0f %% of the ranges hold the end; %.0f %% of the ends are below the median",
				i, 100 * held, 100 * below);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass_at_k_is_that_of_exact_binomials),
		cmocka_unit_test(test_pass_at_k_of_many_samples),
		cmocka_unit_test(test_pass_at_k_at_its_borders),
		cmocka_unit_test(test_best_at_k_is_the_mean_over_all_subsets),
		cmocka_unit_test(test_best_at_k_of_many_samples),
		cmocka_unit_test(test_an_interval_surrounds_its_mean_and_comes_again),
		cmocka_unit_test(test_values_that_are_all_the_same),
		cmocka_unit_test(test_operators_are_resampled_within_their_source),
		cmocka_unit_test(test_nothing_is_known_of_no_values),
		cmocka_unit_test(test_intervals_hold_the_true_mean_as_often_as_they_claim),
		cmocka_unit_test(test_what_is_left_of_pieces_that_are_all_alike),
		cmocka_unit_test(test_a_long_piece_under_way_counts),
		cmocka_unit_test(test_a_piece_under_way_is_not_a_fresh_one),
		cmocka_unit_test(test_kinds_take_turns_in_the_places_that_they_share),
		cmocka_unit_test(test_a_limit_bounds_what_pieces_under_way_take),
		cmocka_unit_test(test_the_range_holds_the_true_end_as_often_as_it_claims),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
