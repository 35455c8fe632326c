/* SPDX-License-Identifier: MIT */
/** \file
 * Operators that all runs fail: the intersection of their failures.
 */
#include <math.h>

#include "agent/analysis/analysis.h"
#include "agent/statistics/proportion.h"

#define UNSOLVED "Operators that all runs have: failed by all, passed by all"

static const struct kgb_table_column columns[] = {
	{"by", NULL, NULL},
	{"group", "group", NULL},
	{"runs", NULL, UNSOLVED},
	{"operators", "operators", UNSOLVED},
	{"unsolved", "failed by all", UNSOLVED},
	{"unsolved_share", "% [95 %]", UNSOLVED},
	{"unsolved_low", NULL, UNSOLVED},
	{"unsolved_high", NULL, UNSOLVED},
	{"solved_by_all", "passed by all", UNSOLVED},
	{"names", NULL, UNSOLVED},
};

struct tally {
	size_t n, n_unsolved, n_solved;
	struct kgb_buf names; /* of those that all runs fail */
};

/** Runs that passed it; -1: not all runs have it. */
static int count_passed(const struct kgb_runs *runs, size_t place)
{
	const struct kgb_op_row *first = &runs->list.items[0].ops.items[place];
	int n = 0;
	KGB_VEC_FOREACH(run, &runs->list) {
		const struct kgb_op_row *op = kgb_op_find_same(run, first, place);
		if (!op || op->is_replaced)
			return -1;
		n += op->is_correct;
	}
	return n;
}

static void take(const struct kgb_group *group, struct tally *out)
{
	const struct kgb_run_row *first = &group->runs->list.items[0];
	for (size_t i = 0; i < first->ops.n; i++) {
		const struct kgb_op_row *op = &first->ops.items[i];
		const int n_passed =
			kgb_op_is_in(op, group->name) ? count_passed(group->runs, i) : -1;
		if (n_passed < 0)
			continue;
		out->n++;
		out->n_solved += n_passed == (int)group->runs->list.n;
		out->n_unsolved += n_passed == 0;
		if (n_passed == 0)
			kgb_buf_addf(&out->names, "%s%s%s%s", out->names.len > 0 ? " " : "",
				     op->name, op->part ? "/" : "", op->part ? op->part : "");
	}
}

/** Its group is that of the first run. */
static void add_row(KGB_UNUSED struct kgb_analysis *a, const struct kgb_group *group,
		    struct kgb_table *table)
{
	struct tally t = {.names = KGB_BUF_INIT(0)};
	take(group, &t);
	const struct kgb_interval share = kgb_wilson(t.n_unsolved, t.n);
	if (t.n > 0 || !group->name) {
		kgb_table_word(table, group->by);
		kgb_table_word(table, group->name ? group->name : "all");
		kgb_table_count(table, group->runs->list.n);
		kgb_table_count(table, t.n);
		kgb_table_count(table, t.n_unsolved);
		kgb_table_interval(table, share.value, share.low, share.high);
		kgb_table_count(table, t.n_solved);
		kgb_table_word(table, t.names.ptr);
	}
	kgb_buf_release(&t.names);
}

static int add(struct kgb_analysis *a, struct kgb_table *table, KGB_UNUSED struct kgb_err *err)
{
	kgb_analysis_each(a, add_row, table);
	return 0;
}

const struct kgb_view kgb_view_unsolved = {
	.member = "unsolved",
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
