/* SPDX-License-Identifier: MIT */
/** \file
 * How often intervals hold what is true, and how often tests see what is not there: simulated
 * runs with a known truth. Prints the table of docs/statistics.md; the draws are the same each
 * time. Ends with 1 when a share is outside of its bounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/statistics/bootstrap.h"
#include "agent/statistics/deviance.h"
#include "agent/statistics/paired.h"
#include "agent/statistics/power.h"
#include "agent/statistics/proportion.h"
#include "agent/statistics/remaining.h"
#include "base/mem.h"
#include "verify/tensor/rng.h"

#define N_RUNS 1000
#define N_OPS 210
#define N_ATTEMPTS 5

static struct kgb_rng rng;

static bool chance(double p)
{
	return kgb_rng_uniform(&rng) < p;
}

static bool holds(double low, double high, double truth)
{
	return low <= truth && truth <= high;
}

/* ---- one simulated run each: whether the event of the row happened ---- */

/** The interval of a pass rate holds it. */
static bool wilson(double p, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		k += chance(p);
	const struct kgb_interval share = kgb_wilson(k, n);
	return holds(share.low, share.high, p);
}

static bool wilson_of_few(void)
{
	return wilson(0.9, 20);
}

static bool wilson_of_rare(void)
{
	return wilson(0.02, N_OPS);
}

static bool wilson_of_many(void)
{
	return wilson(0.6, N_OPS);
}

/** Two methods that disagree on 20 % of the operators; `shift` more of them are A's. */
static bool mcnemar(double shift)
{
	size_t only_a = 0, only_b = 0;
	for (size_t i = 0; i < N_OPS; i++) {
		const double u = kgb_rng_uniform(&rng);
		only_a += u < 0.1 + shift / 2;
		only_b += u >= 0.1 + shift / 2 && u < 0.2;
	}
	return kgb_mcnemar(only_a, only_b) <= 0.05;
}

static bool mcnemar_alarm(void)
{
	return mcnemar(0);
}

static bool mcnemar_finds(void)
{
	return mcnemar(kgb_detectable(sqrt(0.2), N_OPS, 0.8));
}

/** Speedups of two methods: logarithms with a spread of operators (1) and of kernels (0.5). */
static struct kgb_paired speedups(size_t n, double log_ratio)
{
	double a[N_OPS], b[N_OPS];
	for (size_t i = 0; i < n; i++) {
		const double op = kgb_rng_normal(&rng);
		a[i] = exp(op + log_ratio + 0.35 * kgb_rng_normal(&rng));
		b[i] = exp(op + 0.35 * kgb_rng_normal(&rng));
	}
	return kgb_paired_ratio(a, b, n);
}

static bool ratio_alarm_of_few(void)
{
	return speedups(12, 0).p <= 0.05;
}

static bool ratio_alarm(void)
{
	return speedups(100, 0).p <= 0.05;
}

static bool ratio_finds(void)
{
	return speedups(100, kgb_detectable(0.35 * M_SQRT2, 100, 0.8)).p <= 0.05;
}

static bool ratio_holds_of_few(void)
{
	const struct kgb_paired ratio = speedups(12, 0.1);
	return holds(ratio.low, ratio.high, exp(0.1));
}

static bool ratio_holds(void)
{
	const struct kgb_paired ratio = speedups(100, 0.1);
	return holds(ratio.low, ratio.high, exp(0.1));
}

/** Attempts that pass at their operator's own rate: 0.2 or 0.9. */
static void attempt_all(unsigned char out[N_OPS * N_ATTEMPTS])
{
	for (size_t i = 0; i < N_OPS; i++) {
		const double rate = chance(0.5) ? 0.2 : 0.9;
		for (size_t k = 0; k < N_ATTEMPTS; k++)
			out[i * N_ATTEMPTS + k] = chance(rate);
	}
}

static bool clusters_hold(void)
{
	unsigned char passed[N_OPS * N_ATTEMPTS];
	double means[N_OPS] = {0};
	attempt_all(passed);
	for (size_t i = 0; i < N_OPS * N_ATTEMPTS; i++)
		means[i / N_ATTEMPTS] += (double)passed[i] / N_ATTEMPTS;
	const struct kgb_estimate mean = kgb_bootstrap_mean(means, N_OPS);
	return holds(mean.low, mean.high, 0.55);
}

/** What must not be done: attempts resampled as if each were an operator. */
static bool attempts_hold(void)
{
	unsigned char passed[N_OPS * N_ATTEMPTS];
	double values[N_OPS * N_ATTEMPTS];
	attempt_all(passed);
	for (size_t i = 0; i < N_OPS * N_ATTEMPTS; i++)
		values[i] = passed[i];
	const struct kgb_estimate mean = kgb_bootstrap_mean(values, N_OPS * N_ATTEMPTS);
	return holds(mean.low, mean.high, 0.55);
}

/** Three sources of fixed sizes with rates 0.9, 0.5 and 0.1. */
static bool strata_hold(void)
{
	double values[N_OPS];
	uint32_t sources[N_OPS];
	for (size_t i = 0; i < N_OPS; i++) {
		sources[i] = (uint32_t)(i % 3);
		values[i] = chance(0.9 - 0.4 * sources[i]);
	}
	const struct kgb_estimate mean = kgb_bootstrap_strata(values, sources, N_OPS);
	return holds(mean.low, mean.high, 0.5);
}

static bool holm_alarm(void)
{
	double p[3];
	for (size_t i = 0; i < 3; i++)
		p[i] = speedups(12, 0).p;
	kgb_holm(p, 3);
	return p[0] <= 0.05 || p[1] <= 0.05 || p[2] <= 0.05;
}

/** Operators are easy or hard, whatever their category and the method. */
static void judge_all(unsigned char outcomes[176 * 5], uint32_t categories[176])
{
	for (size_t i = 0; i < 176; i++) {
		const double rate = chance(0.5) ? 0.9 : 0.1;
		categories[i] = (uint32_t)(i % 15);
		for (size_t k = 0; k < 5; k++)
			outcomes[i * 5 + k] = chance(rate);
	}
}

static bool category_alarm(void)
{
	unsigned char outcomes[176 * 5];
	uint32_t categories[176];
	judge_all(outcomes, categories);
	return kgb_attribute_to_categories(outcomes, 176, 5, categories, 15).p <= 0.05;
}

static bool method_alarm(void)
{
	unsigned char outcomes[176 * 5];
	uint32_t categories[176];
	judge_all(outcomes, categories);
	return kgb_attribute_to_methods(outcomes, 176, 5, NULL, 0).p <= 0.05;
}

/** A run whose end is foretold. */
struct ended_run {
	size_t n, n_slots;
	double mean; /* of the time of an operator */
	double (*draw)(void); /* how long one takes, unless it meets the limit */
	double limit; /* 0: none */
};

/** A run, seen when 10 % to 70 % of its mean time is over: whether the range holds its true end. */
static bool end_in_range(const struct ended_run *run)
{
	struct kgb_work_piece pieces[N_OPS];
	double free_at[N_OPS] = {0}, end = 0;
	const double now = run->mean * (double)run->n / (double)run->n_slots *
			   (0.1 + 0.6 * kgb_rng_uniform(&rng));
	struct kgb_work work = {.pieces = pieces, .limit = run->limit};
	for (size_t i = 0; i < run->n; i++) {
		size_t slot = 0;
		for (size_t k = 1; k < run->n_slots; k++)
			slot = free_at[k] < free_at[slot] ? k : slot;
		const double begun = free_at[slot], takes = run->draw();
		free_at[slot] += run->limit > 0 ? fmin(takes, run->limit) : takes;
		end = fmax(end, free_at[slot]);
		if (begun <= now)
			pieces[work.n++] = (struct kgb_work_piece){fmin(free_at[slot], now) - begun,
								   free_at[slot] <= now};
	}
	work.n_waiting = run->n - work.n;
	const struct kgb_remaining left = kgb_remaining_time(&work, 1, run->n_slots);
	/* Seen too early, or after its end: another run. */
	if (isnan(left.median) || end <= now)
		return end_in_range(run);
	/* A range of one value, the limit, holds it but for rounding. */
	return holds(left.low - 1e-9 * end, left.high + 1e-9 * end, end - now);
}

static double log_normal(double sigma)
{
	return exp(sigma * kgb_rng_normal(&rng));
}

static double alike(void)
{
	return log_normal(0.4);
}

static double unlike(void)
{
	return log_normal(0.8);
}

/** Seven of ten operators are easy, three use up to twenty times their time. */
static double of_two_kinds(void)
{
	return chance(0.7) ? 1 + 0.3 * kgb_rng_uniform(&rng) : 10 + 10 * kgb_rng_uniform(&rng);
}

static bool end_of_alike(void)
{
	return end_in_range(&(struct ended_run){80, 6, exp(0.08), alike, 0});
}

static bool end_of_unlike(void)
{
	return end_in_range(&(struct ended_run){80, 6, exp(0.32), unlike, 0});
}

static bool end_of_two_kinds(void)
{
	return end_in_range(&(struct ended_run){80, 6, 5.3, of_two_kinds, 0});
}

static bool end_of_few(void)
{
	return end_in_range(&(struct ended_run){20, 6, exp(0.32), unlike, 0});
}

static bool end_of_alike_at_once(void)
{
	return end_in_range(&(struct ended_run){80, 80, exp(0.08), alike, 0});
}

static bool end_of_unlike_at_once(void)
{
	return end_in_range(&(struct ended_run){80, 80, exp(0.32), unlike, 0});
}

static bool end_of_unlike_in_many_slots(void)
{
	return end_in_range(&(struct ended_run){80, 32, exp(0.32), unlike, 0});
}

/* The limit ends one of five. */
static bool end_at_a_limit_at_once(void)
{
	return end_in_range(&(struct ended_run){80, 80, 1, unlike, 2});
}

static bool end_at_a_limit(void)
{
	return end_in_range(&(struct ended_run){80, 6, 1, unlike, 2});
}

/* Bounds are 4 standard errors of 1,000 runs about what is aimed at: 95 % is +- 2.8 points. A
 * percentile bootstrap of twelve operators is known to be narrow. */
static const struct {
	const char *what, *aim;
	bool (*run)(void);
	double low, high;
} rows[] = {
	{"Wilson interval holds a pass rate of 90 %, 20 operators", "95", wilson_of_few, 0.92,
	 0.99},
	{"Wilson interval holds a pass rate of 2 %, 210 operators", "95", wilson_of_rare, 0.92,
	 0.99},
	{"Wilson interval holds a pass rate of 60 %, 210 operators", "95", wilson_of_many, 0.92,
	 0.98},
	{"bootstrap of operators holds the rate of 5 attempts each", "95", clusters_hold, 0.92,
	 0.98},
	{"the same with attempts resampled one by one (wrong)", "-", attempts_hold, 0.6, 0.9},
	{"bootstrap within sources holds the rate", "95", strata_hold, 0.92, 0.98},
	{"paired interval holds the ratio of speedups, 100 operators", "95", ratio_holds, 0.92,
	 0.98},
	{"paired interval holds the ratio of speedups, 12 operators", "95", ratio_holds_of_few,
	 0.87, 0.97},
	{"McNemar's test: false alarms, 20 % discordant, 210 operators", "at most 5", mcnemar_alarm,
	 0, 0.05},
	{"McNemar's test finds the detectable difference at 80 %", "80", mcnemar_finds, 0.7, 0.85},
	{"sign-flip test: false alarms, 12 operators (exact)", "5", ratio_alarm_of_few, 0.02, 0.08},
	{"sign-flip test: false alarms, 100 operators (drawn)", "5", ratio_alarm, 0.02, 0.08},
	{"sign-flip test finds the detectable ratio at 80 %", "80", ratio_finds, 0.74, 0.86},
	{"Holm, three comparisons: at least one false alarm", "at most 5", holm_alarm, 0, 0.078},
	{"categories of 176 operators x 5 methods: false alarms", "5", category_alarm, 0.02, 0.08},
	{"methods on 176 operators x 5 methods: false alarms", "5", method_alarm, 0.02, 0.08},
	{"range of the end of a run, 80 operators that differ little", "80", end_of_alike, 0.75,
	 0.9},
	{"the same, operators that differ much", "80", end_of_unlike, 0.75, 0.9},
	{"the same, 70 % easy and 30 % ten times as long", "80", end_of_two_kinds, 0.75, 0.95},
	{"the same, 20 operators that differ much", "80", end_of_few, 0.7, 0.9},
	{"the same, 80 that differ much, 32 at a time", "80", end_of_unlike_in_many_slots, 0.7,
	 0.98},
	{"the same, 80 that differ little, all at once", "80", end_of_alike_at_once, 0.7, 0.98},
	{"the same, 80 that differ much, all at once", "80", end_of_unlike_at_once, 0.7, 0.98},
	{"the same, with a time limit that ends one of five", "80", end_at_a_limit_at_once, 0.7, 1},
	{"the same, 6 at a time", "80", end_at_a_limit, 0.7, 0.98},
};

int main(void)
{
	const struct kgb_seed seed = {{0}};
	int outside = 0;
	puts("| simulated 1,000 times | aim, % | seen, % |\n|---|---|---|");
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		size_t hits = 0;
		kgb_rng_init(&rng, &seed, rows[i].what, 0);
		for (size_t k = 0; k < N_RUNS; k++)
			hits += rows[i].run();
		const double share = (double)hits / N_RUNS;
		printf("| %s | %s | %.1f |\n", rows[i].what, rows[i].aim, 100 * share);
		fflush(stdout);
		if (share >= rows[i].low && share <= rows[i].high)
			continue;
		fprintf(stderr, "%s: %.1f %%, wanted %.1f to %.1f\n", rows[i].what, 100 * share,
			100 * rows[i].low, 100 * rows[i].high);
		outside = 1;
	}
	return outside;
}
