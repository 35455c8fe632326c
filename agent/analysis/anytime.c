/* SPDX-License-Identifier: MIT */
/** \file
 * Any-time curves: operators that had a right kernel within so many tokens, dollars or seconds.
 */
#include <math.h>

#include "agent/analysis/analysis.h"
#include "agent/report/common.h"
#include "agent/statistics/proportion.h"
#include "agent/statistics/speedup.h"

#define ANYTIME "Operators solved within a cost for each operator: % [95 %]"

static const struct kgb_table_column columns[] = {
	KGB_ANALYSIS_COLUMNS,          {"measure", "of", ANYTIME},
	{"within", "within", ANYTIME}, {"solved", "solved", ANYTIME},
	{"operators", NULL, ANYTIME},  {"share", "% [95 %]", ANYTIME},
	{"share_low", NULL, ANYTIME},  {"share_high", NULL, ANYTIME},
};

static double tokens_of(const struct kgb_op_row *op)
{
	return op->solved.tokens;
}

static double dollars_of(const struct kgb_op_row *op)
{
	return op->solved.dollars;
}

static double seconds_of(const struct kgb_op_row *op)
{
	return op->solved.seconds;
}

static const struct measure {
	const char *name;
	double (*of)(const struct kgb_op_row *op);
} measures[] = {{"tokens", tokens_of}, {"usd", dollars_of}, {"seconds", seconds_of}};

static const char *format_cost(const struct measure *m, double cost, char *out, size_t cap)
{
	if (m->of == tokens_of)
		return kgb_report__count((int64_t)cost, out, cap);
	if (m->of == seconds_of)
		return kgb_duration_format((int64_t)(1000 * cost), out, cap);
	snprintf(out, cap, "%g", cost);
	return out;
}

/** 1, 2, 5, 10, 20, ...: the first of them that is not below `cost`. */
static double round_up(double cost)
{
	static const double steps[] = {1, 2, 5, 10};
	const double decade = pow(10, floor(log10(cost)));
	for (size_t i = 0; i < KGB_ARRAY_LEN(steps); i++)
		if (steps[i] * decade >= cost)
			return steps[i] * decade;
	return 10 * decade;
}

/** Costs of all runs, so that their curves have the same points. */
static void find_range(const struct kgb_group *group, const struct measure *m, double *low,
		       double *high)
{
	*low = *high = (double)NAN;
	KGB_VEC_FOREACH(run, &group->runs->list)
		KGB_VEC_FOREACH(op, &run->ops) {
			const double cost = m->of(op);
			if (!kgb_op_is_in(op, group->name) || !(cost > 0))
				continue;
			*low = fmin(*low, cost);
			*high = fmax(*high, cost);
		}
}

static void add_point(struct kgb_analysis *a, const struct kgb_group *group, size_t r,
		      const struct measure *m, double cost, struct kgb_table *table)
{
	const struct kgb_run_row *run = &group->runs->list.items[r];
	KGB_AUTO(free) double *costs = kgb_xcalloc(run->ops.n + 1, sizeof(*costs));
	char text[32];
	size_t n = 0;
	KGB_VEC_FOREACH(op, &run->ops)
		if (kgb_op_is_in(op, group->name))
			costs[n++] = m->of(op);
	if (n == 0)
		return;
	const size_t n_solved = kgb_solved_within(costs, n, cost);
	const struct kgb_interval share = kgb_wilson(n_solved, n);
	kgb_analysis_begin(a, group, r, table);
	kgb_table_word(table, m->name);
	kgb_table_number(table, cost, "%s", format_cost(m, cost, text, sizeof(text)));
	kgb_table_count(table, n_solved);
	kgb_table_count(table, n);
	kgb_table_interval(table, share.value, share.low, share.high);
}

static void add_rows(struct kgb_analysis *a, const struct kgb_group *group, struct kgb_table *table)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(measures); i++) {
		double low, high;
		find_range(group, &measures[i], &low, &high);
		if (isnan(low)) {
			if (!group->name)
				kgb_strv_addf(a->notes,
					      "no operator was solved at a known cost in %s",
					      measures[i].name);
			continue;
		}
		const double last = round_up(high);
		double cost = round_up(low);
		while (cost <= last) {
			for (size_t r = 0; r < group->runs->list.n; r++)
				add_point(a, group, r, &measures[i], cost, table);
			cost = round_up(1.5 * cost);
		}
	}
}

static int add(struct kgb_analysis *a, struct kgb_table *table, KGB_UNUSED struct kgb_err *err)
{
	kgb_analysis_each(a, add_rows, table);
	return 0;
}

const struct kgb_view kgb_view_anytime = {
	.member = "anytime",
	.details = KGB_DETAIL_STEPS,
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
