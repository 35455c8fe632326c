/* SPDX-License-Identifier: MIT */
/** \file
 * How much of what is right the category of an operator explains, and how much the method: shares
 * of deviance, each beside the share that labels without a meaning explain.
 */
#include <math.h>

#include "agent/analysis/analysis.h"
#include "agent/statistics/deviance.h"

#define ATTRIBUTION "Explained deviance of right kernels, operators that all runs have"

static const struct kgb_table_column columns[] = {
	{"factor", "factor", NULL},
	{"levels", "levels", ATTRIBUTION},
	{"operators", "operators", ATTRIBUTION},
	{"runs", "runs", ATTRIBUTION},
	{"explained", "explained", ATTRIBUTION},
	{"by_chance", "by chance", ATTRIBUTION},
	{"p", "p", ATTRIBUTION},
};

/** Outcomes of the operators that all runs have, operator by operator. */
struct outcomes {
	unsigned char *passed; /* owned; n_ops * n_runs */
	uint32_t *levels; /* owned; of each operator */
	size_t n_ops, n_runs, n_levels;
};

/** \param groups names of the levels; an operator has the level of the first run's group */
static void take(const struct kgb_runs *runs, const struct kgb_strv *groups, struct outcomes *out)
{
	const struct kgb_run_row *first = &runs->list.items[0];
	const size_t n_runs = runs->list.n;
	*out = (struct outcomes){
		.passed = kgb_xcalloc(first->ops.n * n_runs + 1, 1),
		.levels = kgb_xcalloc(first->ops.n + 1, sizeof(*out->levels)),
		.n_runs = n_runs,
		.n_levels = groups->n,
	};
	for (size_t i = 0; i < first->ops.n; i++) {
		bool is_common = true;
		for (size_t r = 0; r < n_runs; r++) {
			const struct kgb_op_row *op =
				kgb_op_find_same(&runs->list.items[r], &first->ops.items[i], i);
			is_common = is_common && op && !op->is_replaced;
			out->passed[out->n_ops * n_runs + r] = op && op->is_correct;
		}
		for (uint32_t level = 0; is_common && level < groups->n; level++)
			if (kgb_str_eq(groups->items[level], first->ops.items[i].group))
				out->levels[out->n_ops] = level;
		out->n_ops += is_common;
	}
}

static void release(struct outcomes *o)
{
	kgb_free(o->passed);
	kgb_free(o->levels);
}

static void add_row(struct kgb_table *table, const char *factor, const struct outcomes *o,
		    size_t n_levels, struct kgb_attribution found)
{
	kgb_table_word(table, factor);
	kgb_table_count(table, n_levels);
	kgb_table_count(table, o->n_ops);
	kgb_table_count(table, o->n_runs);
	kgb_table_number(table, found.explained, "%.1f %%", 100 * found.explained);
	kgb_table_number(table, isnan(found.explained) ? (double)NAN : found.by_chance, "%.1f %%",
			 100 * found.by_chance);
	kgb_table_number(table, isnan(found.explained) ? (double)NAN : found.p, "%.3f", found.p);
}

static void add_categories(struct kgb_analysis *a, const char *key, struct kgb_table *table)
{
	KGB_AUTO(strv) struct kgb_strv groups = KGB_STRV_INIT;
	struct outcomes o;
	kgb_groups_assign(a->runs, key, &groups);
	take(a->runs, &groups, &o);
	add_row(table, key, &o, o.n_levels,
		kgb_attribute_to_categories(o.passed, o.n_ops, o.n_runs, o.levels, o.n_levels));
	release(&o);
}

/** Runs of one method and model are of one level. Where there is only one method, the runs are
 * compared. */
static void add_methods(struct kgb_analysis *a, struct kgb_table *table)
{
	const size_t n = a->runs->list.n;
	KGB_AUTO(free) uint32_t *methods = kgb_xcalloc(n + 1, sizeof(*methods));
	KGB_AUTO(strv) struct kgb_strv none = KGB_STRV_INIT;
	struct outcomes o;
	uint32_t n_methods = 0;
	for (size_t r = 0; r < n; r++) {
		const struct kgb_run_row *run = &a->runs->list.items[r];
		size_t same = 0;
		while (same < r && !(kgb_str_eq(run->method, a->runs->list.items[same].method) &&
				     kgb_str_eq(run->model, a->runs->list.items[same].model)))
			same++;
		methods[r] = same < r ? methods[same] : n_methods++;
	}
	take(a->runs, &none, &o);
	if (n_methods > 1)
		add_row(table, "method", &o, n_methods,
			kgb_attribute_to_methods(o.passed, o.n_ops, n, methods, n_methods));
	if (n > n_methods)
		add_row(table, "run", &o, n,
			kgb_attribute_to_methods(o.passed, o.n_ops, n, NULL, 0));
	release(&o);
}

static int add(struct kgb_analysis *a, struct kgb_table *table, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv keys = KGB_STRV_INIT;
	if (a->keys.n > 0)
		kgb_strv_add_all(&keys, (const char *const *)a->keys.items);
	else
		KGB_STRV_ADD(&keys, "source", "category");
	for (size_t i = 0; i < keys.n; i++) {
		if (kgb_key_splits(keys.items[i]))
			return kgb_fail(err, KGB_ERR_INVALID,
					"--attribution: '%s' divides operators: name a key that "
					"each operator has one of, such as category",
					keys.items[i]);
		add_categories(a, keys.items[i], table);
	}
	add_methods(a, table);
	kgb_strv_add(a->notes, "by chance: the mean share that permuted labels explain");
	return 0;
}

const struct kgb_view kgb_view_attribution = {
	.member = "attribution",
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
