/* SPDX-License-Identifier: MIT */
#include "agent/page/series.h"

#include <math.h>
#include <stdlib.h>

#include "agent/answers/figures.h"
#include "agent/statistics/paired.h"
#include "verify/lane/reached.h"

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void sort(double *values, size_t n)
{
	if (n > 0)
		qsort(values, n, sizeof(*values), by_value);
}

/** The share k of n with its interval: three numbers of the open array or object. */
static void write_share(struct kgb_jsonw *w, size_t k, size_t n)
{
	const struct kgb_interval share = kgb_wilson(k, n);
	kgb_jsonw_put(w, "share: %g, low: %g, high: %g", kgb_shortened(share.value),
		      kgb_shortened(share.low), kgb_shortened(share.high));
}

/** A word of an operator; NULL: unknown. */
typedef const char *(*word_fn)(const struct kgb_op_row *op);

/* ---- fast_p ---- */

/** Speedups of the operators that count; returns how many these are. */
static size_t take_speedups(const struct kgb_run_row *run, word_fn group_of, const char *group,
			    double *out, size_t *n_correct)
{
	size_t n = 0;
	*n_correct = 0;
	KGB_VEC_FOREACH(op, &run->ops) {
		if (op->is_replaced || (group_of && !kgb_str_eq(group_of(op), group)))
			continue;
		out[n++] = op->speedup;
		*n_correct += op->is_correct;
	}
	return n;
}

static void write_fast_point(struct kgb_jsonw *w, const double *speedups, size_t n, double p)
{
	const struct kgb_interval share = kgb_wilson(kgb_fast_p(speedups, n, p), n);
	kgb_jsonw_put(w, "[%g, %g, %g, %g]", kgb_shortened(p), kgb_shortened(share.value),
		      kgb_shortened(share.low), kgb_shortened(share.high));
}

/** The whole curve: it changes only at the measured speedups. */
static void write_fast_p(struct kgb_jsonw *w, size_t r, const struct kgb_run_row *run)
{
	KGB_AUTO(free) double *speedups = kgb_xcalloc(run->ops.n + 1, sizeof(*speedups));
	KGB_AUTO(free) double *known = kgb_xcalloc(run->ops.n + 1, sizeof(*known));
	size_t n_correct = 0, n_known = 0;
	const size_t n = take_speedups(run, NULL, NULL, speedups, &n_correct);
	for (size_t i = 0; i < n; i++)
		if (speedups[i] > 0)
			known[n_known++] = speedups[i];
	if (n_known == 0)
		return;
	sort(known, n_known);
	kgb_jsonw_put(w, "{run: %zu, operators: %zu, points: [", r, n);
	write_fast_point(w, speedups, n, 0);
	for (size_t i = 0; i < n_known; i++)
		if (i + 1 == n_known || known[i] != known[i + 1])
			write_fast_point(w, speedups, n, known[i]);
	kgb_jsonw_put(w, "]}");
}

/* ---- groups ---- */

static const char *category_of(const struct kgb_op_row *op)
{
	return op->category;
}

static const char *source_of(const struct kgb_op_row *op)
{
	return op->source;
}

static void write_group(struct kgb_jsonw *w, size_t r, const struct kgb_run_row *run,
			const char *by, word_fn of, const char *group)
{
	KGB_AUTO(free) double *speedups = kgb_xcalloc(run->ops.n + 1, sizeof(*speedups));
	KGB_AUTO(free) double *ones = kgb_xcalloc(run->ops.n + 1, sizeof(*ones));
	size_t n_correct = 0;
	const size_t n = take_speedups(run, of, group, speedups, &n_correct);
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		ones[i] = 1;
	const struct kgb_paired mean = kgb_paired_ratio(speedups, ones, n);
	kgb_jsonw_put(w, "{run: %zu, by: %s, group: %s, operators: %zu, correct: %zu", r, by,
		      group ? group : "unknown", n, n_correct);
	write_share(w, n_correct, n);
	kgb_jsonw_put(w, "timed: %zu, speedup: %g, speedup_low: %g, speedup_high: %g}", mean.n,
		      kgb_shortened(mean.n > 0 ? mean.value : (double)NAN), kgb_shortened(mean.low),
		      kgb_shortened(mean.high));
}

static void write_groups(struct kgb_jsonw *w, const struct kgb_collected *c, const char *by,
			 word_fn of)
{
	KGB_AUTO(strv) struct kgb_strv groups = KGB_STRV_INIT;
	KGB_VEC_FOREACH(op, &c->operators)
		if (of(op) && !kgb_strv_has(&groups, of(op)))
			kgb_strv_add(&groups, of(op));
	kgb_strv_sort(&groups);
	for (size_t g = 0; g <= groups.n; g++)
		for (size_t r = 0; r < c->runs.n; r++)
			write_group(w, r, c->runs.items[r].row, by, of,
				    g < groups.n ? groups.items[g] : NULL);
}

/* ---- the ladder ---- */

/** How far a kernel got, by the verdict: a kernel that passed and was timed reached the last
 * rung. */
static enum kgb_reached rung_of(const struct kgb_op_row *op)
{
	if (op->is_correct)
		return op->speedup > 0 ? KGB_REACHED_TIMED : KGB_REACHED_CORRECT;
	const enum kgb_reached reached =
		op->is_compiled ? kgb_reached_find(op->reached) : KGB_REACHED_UNKNOWN;
	return reached < KGB_REACHED_CORRECT ? reached : KGB_REACHED_CORE;
}

static void write_ladder(struct kgb_jsonw *w, size_t r, const struct kgb_run_row *run)
{
	for (enum kgb_reached rung = KGB_REACHED_COMPILES; rung <= KGB_REACHED_TIMED; rung++) {
		size_t n = 0, n_there = 0;
		KGB_VEC_FOREACH(op, &run->ops) {
			n += !op->is_replaced;
			n_there += !op->is_replaced && rung_of(op) >= rung;
		}
		if (rung == KGB_REACHED_TIMED && n_there == 0)
			continue;
		kgb_jsonw_put(w, "{run: %zu, rung: %s, reached: %zu, operators: %zu", r,
			      kgb_reached_name(rung), n_there, n);
		write_share(w, n_there, n);
		kgb_jsonw_object_end(w);
	}
}

/* ---- failures ---- */

/** Why the operator did not pass; NULL: it did. */
static const char *failure_of(const struct kgb_op_row *op)
{
	if (op->is_replaced)
		return "replaced";
	return op->is_correct ? NULL : op->code ? op->code : op->status;
}

static void write_failures(struct kgb_jsonw *w, const struct kgb_collected *c)
{
	KGB_AUTO(strv) struct kgb_strv codes = KGB_STRV_INIT;
	KGB_VEC_FOREACH(run, &c->runs)
		KGB_VEC_FOREACH(op, &run->row->ops)
			if (failure_of(op) && !kgb_strv_has(&codes, failure_of(op)))
				kgb_strv_add(&codes, failure_of(op));
	kgb_strv_sort(&codes);
	for (size_t i = 0; i < codes.n; i++)
		for (size_t r = 0; r < c->runs.n; r++) {
			const struct kgb_run_row *run = c->runs.items[r].row;
			const char *status = NULL;
			size_t n = 0;
			KGB_VEC_FOREACH(op, &run->ops) {
				if (!kgb_str_eq(failure_of(op), codes.items[i]))
					continue;
				status = op->status;
				n++;
			}
			if (n > 0)
				kgb_jsonw_put(w, "{run: %zu, code: %s, status: %s, operators: %zu}",
					      r, codes.items[i], status, n);
		}
}

/* ---- any-time curves ---- */

/** 0: a kernel that passed; else one that passed and is faster than so many times the baseline. */
static const double targets[] = {0, 1, 1.5, 2};

static void write_anytime(struct kgb_jsonw *w, size_t r, const struct kgb_collected_run *run,
			  double target, enum kgb_history_cost cost)
{
	KGB_AUTO(free) double *at = kgb_xcalloc(run->row->ops.n + 1, sizeof(*at));
	size_t n = 0, n_there = 0, n_known = 0;
	for (size_t i = 0; i < run->row->ops.n; i++) {
		const struct kgb_op_row *op = &run->row->ops.items[i];
		const double spent = kgb_history_cost(&run->histories[i], op, target, cost);
		n += !op->is_replaced;
		n_there += op->is_correct && (target <= 0 || op->speedup > target);
		if (!isnan(spent))
			at[n_known++] = spent;
	}
	sort(at, n_known);
	kgb_jsonw_put(w, "{run: %zu, target: %g, cost: %s, operators: %zu, reached: %zu, at: [", r,
		      target, kgb_history_cost_name(cost), n, n_there);
	for (size_t i = 0; i < n_known; i++)
		kgb_jsonw_num(w, kgb_shortened(at[i]));
	kgb_jsonw_put(w, "]}");
}

void kgb_series_write(struct kgb_jsonw *w, const struct kgb_collected *c)
{
	kgb_jsonw_put(w, "fast_p: [");
	for (size_t r = 0; r < c->runs.n; r++)
		write_fast_p(w, r, c->runs.items[r].row);
	kgb_jsonw_put(w, "], groups: [");
	write_groups(w, c, "category", category_of);
	write_groups(w, c, "source", source_of);
	kgb_jsonw_put(w, "], ladder: [");
	for (size_t r = 0; r < c->runs.n; r++)
		write_ladder(w, r, c->runs.items[r].row);
	kgb_jsonw_put(w, "], failures: [");
	write_failures(w, c);
	kgb_jsonw_put(w, "], anytime: [");
	for (size_t r = 0; r < c->runs.n; r++)
		for (size_t t = 0; t < KGB_ARRAY_LEN(targets); t++)
			for (enum kgb_history_cost cost = 0; cost < KGB_N_COSTS; cost++)
				write_anytime(w, r, &c->runs.items[r], targets[t], cost);
	kgb_jsonw_array_end(w);
}
