/* SPDX-License-Identifier: MIT */
/** \file
 * Why operators failed: their codes, and who is to blame by the table of codes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/analysis/analysis.h"
#include "base/codes.h"

#define FAILURES "Operators that did not pass, by code"

static const struct kgb_table_column columns[] = {
	KGB_ANALYSIS_COLUMNS,
	{"code", "code", FAILURES},
	{"status", NULL, FAILURES},
	{"blame", "blame", FAILURES},
	{"failed", "operators", FAILURES},
	{"operators", NULL, FAILURES},
	{"share", "%", FAILURES},
	{"meaning", NULL, FAILURES},
};

struct failure {
	const char *code, *status;
	size_t n;
};
struct failures {
	KGB_VEC(struct failure) list;
	size_t n; /* operators of the group, failed or not */
};

/** An operator that has not ended has its status for a code. */
static void take(struct failures *out, const struct kgb_op_row *op)
{
	const char *code = op->code ? op->code : op->status;
	out->n++;
	if (op->is_correct)
		return;
	KGB_VEC_FOREACH(failure, &out->list)
		if (kgb_str_eq(failure->code, code)) {
			failure->n++;
			return;
		}
	KGB_VEC_ADD(&out->list, (struct failure){code, op->status, 1});
}

/** The most frequent first. */
static int by_count(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;
	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->code, y->code);
}

static void add_failure(struct kgb_table *table, const struct failure *failure, size_t n)
{
	const struct kgb_code_row *row = kgb_code_row(kgb_code_find(failure->code));
	const double share = (double)failure->n / (double)n;
	kgb_table_word(table, failure->code);
	kgb_table_word(table, failure->status);
	kgb_table_word(table, row->name ? kgb_blame_name(row->blame) : NULL);
	kgb_table_count(table, failure->n);
	kgb_table_count(table, n);
	kgb_table_share(table, share);
	kgb_table_word(table, row->sentence);
}

static void add_rows(struct kgb_analysis *a, const struct kgb_group *group, struct kgb_table *table)
{
	for (size_t r = 0; r < group->runs->list.n; r++) {
		struct failures failures = {0};
		KGB_VEC_FOREACH(op, &group->runs->list.items[r].ops)
			if (kgb_op_is_in(op, group->name))
				take(&failures, op);
		if (failures.list.n > 0)
			qsort(failures.list.items, failures.list.n, sizeof(*failures.list.items),
			      by_count);
		KGB_VEC_FOREACH(failure, &failures.list) {
			kgb_analysis_begin(a, group, r, table);
			add_failure(table, failure, failures.n);
		}
		KGB_VEC_RELEASE(&failures.list);
	}
}

static int add(struct kgb_analysis *a, struct kgb_table *table, KGB_UNUSED struct kgb_err *err)
{
	kgb_analysis_each(a, add_rows, table);
	return 0;
}

const struct kgb_view kgb_view_failures = {
	.member = "failures",
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
