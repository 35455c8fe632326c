/* SPDX-License-Identifier: MIT */
/** \file
 * The table of `analyze`: how right, how fast and how dear kernels are.
 */
#include <math.h>

#include "agent/analysis/analysis.h"
#include "agent/answers/figures.h"
#include "agent/report/common.h"

#define LADDER "Kernels, %: compile, run, right of those that compile, right by kind of input"
#define CORRECT "Right on core cases, right on all cases: % of operators [95 %]"
#define SPEED "Speedup over the baseline, geometric means"
#define DEVICE "Correct kernels by the device's own clock, and their share of its peak"
#define FAST "Right, and faster than this many times the baseline: % of operators"
#define COST "Cost, lost attempts included; each: of one correct kernel"

static const struct kgb_table_column columns[] = {
	KGB_ANALYSIS_COLUMNS,
	{"operators", NULL, LADDER},
	{"finished", "ended", LADDER},
	{"compiled", "compile", LADDER},
	{"executed", "run", LADDER},
	{"correct_of_compiled", "right of these", LADDER},
	{"standard", "standard", LADDER},
	{"standard_operators", NULL, LADDER},
	{"outlier", "outlier", LADDER},
	{"outlier_operators", NULL, LADDER},
	{"core", "core", CORRECT},
	{"core_low", NULL, CORRECT},
	{"core_high", NULL, CORRECT},
	{"correct", "correct", CORRECT},
	{"correct_low", NULL, CORRECT},
	{"correct_high", NULL, CORRECT},
	{"timed", "timed", SPEED},
	{"speedup_correct", "correct only", SPEED},
	{"speedup_fallback", "failed = 1.0", SPEED},
	{"speedup_common", "common", SPEED},
	{"common", "of", SPEED},
	{"speedup_median", "median", SPEED},
	{"slower", "slower", SPEED},
	{"speedup_device", "speedup", DEVICE},
	{"device_operators", "of", DEVICE},
	{"peak_share", "of peak", DEVICE},
	{"peak_operators", "of", DEVICE},
	{"fast_0.5", "0.5x", FAST},
	{"fast_0.8", "0.8x", FAST},
	{"fast_1", "1x", FAST},
	{"fast_1.2", "1.2x", FAST},
	{"fast_1.5", "1.5x", FAST},
	{"fast_2", "2x", FAST},
	{"fast_3", "3x", FAST},
	{"fast_5", "5x", FAST},
	{"tokens", "tokens", COST},
	{"tokens_per_correct", "each", COST},
	{"usd", "USD", COST},
	{"usd_per_correct", "each", COST},
	{"agent_seconds", "agent time", COST},
	{"agent_seconds_per_correct", "each", COST},
};

/** Speedup of one run where all have one. NaN for one run: it would repeat a figure. */
static struct kgb_mean common_mean(const struct kgb_runs *runs, size_t which)
{
	const size_t n_runs = runs->list.n, n = runs->list.items[which].ops.n;
	KGB_AUTO(free) double *values = kgb_xcalloc(n_runs * n + 1, sizeof(*values));
	KGB_AUTO(free) const double **arrays = kgb_xcalloc(n_runs, sizeof(*arrays));
	if (n_runs < 2)
		return (struct kgb_mean){(double)NAN, 0};
	for (size_t r = 0; r < n_runs; r++) {
		arrays[r] = &values[r * n];
		for (size_t i = 0; i < n; i++) {
			const struct kgb_op_row *op = kgb_run_row_find(
				&runs->list.items[r], runs->list.items[which].ops.items[i].name, i);
			values[r * n + i] = op ? op->speedup : (double)NAN;
		}
	}
	return kgb_geometric_mean_of_common(arrays, n_runs, n, which);
}

static double ratio(size_t part, size_t whole)
{
	return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

/** A mean and its n; without a value the n is unknown too. */
static void add_of(struct kgb_table *table, size_t n, double value)
{
	kgb_table_number(table, isnan(value) ? (double)NAN : (double)n, "%zu", n);
}

static void add_ladder(struct kgb_table *table, const struct kgb_figures *f)
{
	kgb_table_count(table, f->n);
	kgb_table_number(table, (double)f->n_finished, "%zu/%zu", f->n_finished, f->n);
	kgb_table_share(table, ratio(f->n_compiled, f->n));
	kgb_table_share(table, ratio(f->n_run, f->n));
	kgb_table_share(table, ratio(f->n_correct, f->n_compiled));
	kgb_table_share(table, f->standard.value);
	kgb_table_count(table, f->standard.n);
	kgb_table_share(table, f->outlier.value);
	kgb_table_count(table, f->outlier.n);
	kgb_table_interval(table, f->core.value, f->core.low, f->core.high);
	kgb_table_interval(table, f->correct.value, f->correct.low, f->correct.high);
}

static void add_speed(struct kgb_table *table, const struct kgb_figures *f,
		      const struct kgb_mean *common)
{
	const double slower = ratio(f->n_slower, f->of_correct.n);
	kgb_table_count(table, f->of_correct.n);
	kgb_table_speedup(table, f->of_correct.value);
	kgb_table_speedup(table, f->with_fallback.value);
	kgb_table_speedup(table, common->value);
	add_of(table, common->n, common->value);
	kgb_table_speedup(table, f->median_speedup);
	kgb_table_number(table, slower, "%.1f %%", 100 * slower);
	kgb_table_speedup(table, f->device.value);
	add_of(table, f->device.n, f->device.value);
	kgb_table_number(table, f->peak_share.value, "%.1f %%", 100 * f->peak_share.value);
	add_of(table, f->peak_share.n, f->peak_share.value);
	for (size_t i = 0; i < KGB_N_FAST; i++)
		kgb_table_share(table, f->of_correct.n > 0 ? ratio(f->fast[i], f->n) : (double)NAN);
}

/** Sums, and their share of each correct kernel. */
static void add_cost(struct kgb_table *table, const struct kgb_figures *f)
{
	const double n = f->n_correct > 0 ? (double)f->n_correct : (double)NAN;
	kgb_table_tokens(table, f->tokens);
	kgb_table_tokens(table, f->tokens / n);
	kgb_table_number(table, f->dollars, "%.2f", f->dollars);
	kgb_table_number(table, f->dollars / n, "%.3f", f->dollars / n);
	kgb_table_seconds(table, f->seconds);
	kgb_table_seconds(table, f->seconds / n);
}

/** One row for each run that has operators of the group. */
static void add_rows(struct kgb_analysis *a, const struct kgb_group *group, struct kgb_table *table)
{
	for (size_t r = 0; r < group->runs->list.n; r++) {
		struct kgb_mean common = {(double)NAN, 0};
		struct kgb_figures f;
		kgb_figures_of(&group->runs->list.items[r], group->name, &f);
		if (group->name && f.n == 0)
			continue;
		if (!group->name)
			common = common_mean(group->runs, r);
		kgb_analysis_begin(a, group, r, table);
		add_ladder(table, &f);
		add_speed(table, &f, &common);
		add_cost(table, &f);
	}
}

static int add(struct kgb_analysis *a, struct kgb_table *table, KGB_UNUSED struct kgb_err *err)
{
	kgb_analysis_each(a, add_rows, table);
	return 0;
}

const struct kgb_view kgb_view_figures = {
	.member = "rows",
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
