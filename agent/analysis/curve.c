/* SPDX-License-Identifier: MIT */
/** \file
 * fast_p as a curve: the share of operators that are right and more than p times as fast as the
 * baseline, with the band of a bootstrap over operators within their sources.
 */
#include <math.h>

#include "agent/analysis/analysis.h"
#include "agent/statistics/bootstrap.h"

#define CURVE "Right, and more than p times as fast as the baseline: % of operators [95 %]"

static const struct kgb_table_column columns[] = {
	KGB_ANALYSIS_COLUMNS,         {"p", "p", CURVE},           {"faster", "faster", CURVE},
	{"operators", "of", CURVE},   {"fast_p", "fast_p", CURVE}, {"fast_p_low", NULL, CURVE},
	{"fast_p_high", NULL, CURVE},
};

static const double ps[] = {0,    0.1, 0.2,  0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1,
			    1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8,  1.9, 2,    2.2,
			    2.5,  2.7, 3,    3.5, 4,   5,   6,   8,   10,  15,   20,  50,   100};

struct speeds {
	double *speedups, *values; /* owned; of each operator */
	uint32_t *strata; /* owned; its source */
	size_t n, n_timed;
};

static void take(const struct kgb_run_row *run, const char *group, struct speeds *out)
{
	KGB_AUTO(strv) struct kgb_strv sources = KGB_STRV_INIT;
	*out = (struct speeds){
		.speedups = kgb_xcalloc(run->ops.n + 1, sizeof(*out->speedups)),
		.values = kgb_xcalloc(run->ops.n + 1, sizeof(*out->values)),
		.strata = kgb_xcalloc(run->ops.n + 1, sizeof(*out->strata)),
	};
	KGB_VEC_FOREACH(op, &run->ops) {
		const char *source = op->source ? op->source : "";
		uint32_t stratum = 0;
		if (!kgb_op_is_in(op, group))
			continue;
		while (stratum < sources.n && !kgb_str_eq(sources.items[stratum], source))
			stratum++;
		if (stratum == sources.n)
			kgb_strv_add(&sources, source);
		out->strata[out->n] = stratum;
		out->speedups[out->n++] = op->speedup;
		out->n_timed += op->speedup > 0;
	}
}

static void release(struct speeds *s)
{
	kgb_free(s->speedups);
	kgb_free(s->values);
	kgb_free(s->strata);
}

static void add_points(struct kgb_analysis *a, const struct kgb_group *group, size_t run,
		       const struct speeds *s, struct kgb_table *table)
{
	struct kgb_estimate e = {0};
	size_t n_before = SIZE_MAX;
	for (size_t i = 0; i < KGB_ARRAY_LEN(ps) && n_before > 0; i++) {
		size_t n_faster = 0;
		for (size_t k = 0; k < s->n; k++) {
			s->values[k] = s->speedups[k] > ps[i];
			n_faster += s->speedups[k] > ps[i];
		}
		if (n_faster != n_before) /* else the same operators: the curve falls */
			e = kgb_bootstrap_strata(s->values, s->strata, s->n);
		n_before = n_faster;
		kgb_analysis_begin(a, group, run, table);
		kgb_table_number(table, ps[i], "%g", ps[i]);
		kgb_table_count(table, n_faster);
		kgb_table_count(table, s->n);
		kgb_table_interval(table, e.value, e.low, e.high);
	}
}

static void add_rows(struct kgb_analysis *a, const struct kgb_group *group, struct kgb_table *table)
{
	for (size_t r = 0; r < group->runs->list.n; r++) {
		struct speeds s;
		take(&group->runs->list.items[r], group->name, &s);
		if (s.n_timed > 0)
			add_points(a, group, r, &s, table);
		else if (!group->name)
			kgb_strv_addf(a->notes, "%s: no kernel was timed, so the run has no curve",
				      a->labels.items[r]);
		release(&s);
	}
}

static int add(struct kgb_analysis *a, struct kgb_table *table, KGB_UNUSED struct kgb_err *err)
{
	kgb_analysis_each(a, add_rows, table);
	return 0;
}

const struct kgb_view kgb_view_curve = {
	.member = "curve",
	.details = 0,
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
