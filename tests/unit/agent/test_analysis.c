/* SPDX-License-Identifier: MIT */
/** \file
 * The tables of `analyze`, over runs that are small enough to count by hand.
 */
#include <math.h>
#include <stdlib.h>

#include "agent/analysis/analysis.h"
#include "agent/report/tabular.h"
#include "tests/unit/base/support.h"

/** Two runs of four operators; the chains of the first one have rounds. */
struct scene {
	struct kgb_runs runs;
	struct kgb_strv notes;
	struct kgb_analysis analysis;
};

#define NOTHING .speedup = (double)NAN, .tokens = (double)NAN, .dollars = (double)NAN

static const struct kgb_op_step rescued[] = {{1, 1, false, false, true, (double)NAN},
					     {1, 2, true, true, true, 1.5}};
static const struct kgb_op_step kept[] = {{1, 1, true, true, true, 2}, {1, 2, true, true, true, 3}};
static const struct kgb_op_step lost[] = {{1, 1, true, true, true, 4},
					  {1, 2, true, false, true, (double)NAN}};

static const struct kgb_op_row first_run[] = {
	{.name = "aten::a",
	 .source = "aten",
	 .category = "Math",
	 .status = "passed",
	 .is_correct = true,
	 .speedup = 1.5,
	 .steps = rescued,
	 .n_steps = 2,
	 .solved = {100, 0.5, 10}},
	{.name = "aten::b",
	 .source = "aten",
	 .category = "Math",
	 .status = "passed",
	 .is_correct = true,
	 .speedup = 3,
	 .steps = kept,
	 .n_steps = 2,
	 .solved = {300, 1.5, 10}},
	{.name = "vllm13::c",
	 .source = "vllm",
	 .category = "Fusion",
	 .status = "failed",
	 .code = "verify.mismatch",
	 NOTHING,
	 .steps = lost,
	 .n_steps = 2,
	 .solved = {(double)NAN, (double)NAN, (double)NAN}},
	{.name = "vllm13::d",
	 .source = "vllm",
	 .category = "Fusion",
	 .status = "running",
	 NOTHING,
	 .solved = {(double)NAN, (double)NAN, (double)NAN}},
};
static const struct kgb_op_row second_run[] = {
	{.name = "vllm13::d",
	 .source = "vllm",
	 .category = "Fusion",
	 .status = "infra_error",
	 .code = "infra.judge",
	 NOTHING,
	 .solved = {(double)NAN, (double)NAN, (double)NAN}},
	{.name = "vllm13::c",
	 .source = "vllm",
	 .category = "Fusion",
	 .status = "failed",
	 .code = "verify.mismatch",
	 NOTHING,
	 .solved = {(double)NAN, (double)NAN, (double)NAN}},
	{.name = "aten::b",
	 .source = "aten",
	 .category = "Math",
	 .status = "passed",
	 .is_correct = true,
	 .speedup = 0.5,
	 .solved = {40, (double)NAN, 1}},
	{.name = "aten::a",
	 .source = "aten",
	 .category = "Math",
	 .status = "failed",
	 .code = "verify.mismatch",
	 NOTHING,
	 .solved = {(double)NAN, (double)NAN, (double)NAN}},
};

static void add_run(struct scene *s, const char *name, const struct kgb_op_row *rows, size_t n)
{
	struct kgb_run_row run = {.name = name, .method = name};
	for (size_t i = 0; i < n; i++)
		KGB_VEC_ADD(&run.ops, rows[i]);
	KGB_VEC_ADD(&s->runs.list, run);
	kgb_strv_add(&s->analysis.labels, name);
}

static void set_up(struct scene *s, const char *key)
{
	*s = (struct scene){0};
	s->analysis.runs = &s->runs;
	s->analysis.notes = &s->notes;
	if (key)
		kgb_strv_add(&s->analysis.keys, key);
	add_run(s, "one", first_run, KGB_ARRAY_LEN(first_run));
	add_run(s, "two", second_run, KGB_ARRAY_LEN(second_run));
}

static void tear_down(struct scene *s)
{
	kgb_strv_release(&s->analysis.labels);
	kgb_strv_release(&s->analysis.keys);
	kgb_strv_release(&s->notes);
	kgb_runs_release(&s->runs);
}

/** Rows as "a b c; d e f", of these columns (separated by blanks). */
static char *shown(const struct kgb_table *table, const char *keys)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(strv) struct kgb_strv wanted = KGB_STRV_INIT;
	kgb_strv_split(&wanted, keys, ' ');
	for (size_t row = 0; row < kgb_table_n_rows(table); row++)
		for (size_t k = 0; k < wanted.n; k++) {
			size_t column = 0;
			while (column < table->n_columns &&
			       !kgb_str_eq(table->columns[column].key, wanted.items[k]))
				column++;
			assert_true(column < table->n_columns);
			const struct kgb_table_cell *cell =
				&table->cells.items[row * table->n_columns + column];
			kgb_buf_adds(&out, k > 0 ? " " : row > 0 ? "; " : "");
			if (cell->word)
				kgb_buf_adds(&out, cell->word);
			else
				kgb_buf_addf(&out, "%.4g", cell->number);
		}
	return kgb_buf_take(&out);
}

static const struct {
	const char *name;
	const struct kgb_view *view;
	const char *key, *columns, *wanted;
} cases[] = {
	{"shares of operators, and of those that pass", &kgb_view_figures, NULL,
	 "label operators finished correct timed speedup_correct speedup_common slower",
	 "one 4 0 0.5 2 2.121 3 0; two 4 0 0.25 1 0.5 0.5 1"},
	{"groups of a key follow, in each the runs", &kgb_view_figures, "category",
	 "by group label operators correct",
	 "all all one 4 0.5; all all two 4 0.25; category Fusion one 2 0; category Fusion two 2 0; "
	 "category Math one 2 1; category Math two 2 0.5"},
	{"codes by their number, and what has not ended by its status", &kgb_view_failures, NULL,
	 "label code status blame failed operators share",
	 "one running running nan 1 4 0.25; one verify.mismatch failed kernel 1 4 0.25; "
	 "two verify.mismatch failed kernel 2 4 0.5; two infra.judge infra_error machine 1 4 0.25"},
	{"what all runs fail, wherever it stands in their plans", &kgb_view_unsolved, "category",
	 "group operators unsolved solved_by_all names",
	 "all 4 2 1 vllm13::c vllm13::d; Fusion 2 2 0 vllm13::c vllm13::d; Math 2 0 1 "},
	{"each round: rescued, kept and lost kernels", &kgb_view_rounds, NULL,
	 "label round chains compiled correct ever_correct speedup timed rescued speedup_rescued "
	 "kept speedup_kept kept_change lost",
	 "one 1 4 0.5 0.5 0.5 2.828 2 nan nan nan nan nan nan; "
	 "one 2 4 0.75 0.5 0.75 2.121 2 1 1.5 1 3 1.5 1"},
	{"rounds of a group", &kgb_view_rounds, "source", "group round chains correct lost",
	 "all 1 4 0.5 nan; all 2 4 0.5 1; aten 1 2 0.5 nan; aten 2 2 1 0; vllm 1 2 0.5 nan; "
	 "vllm 2 2 0 1"},
	{"solved within a cost, at the same costs for all runs", &kgb_view_anytime, NULL,
	 "measure within label solved share",
	 "tokens 50 one 0 0; tokens 50 two 1 0.25; tokens 100 one 1 0.25; tokens 100 two 1 0.25; "
	 "tokens 200 one 1 0.25; tokens 200 two 1 0.25; tokens 500 one 2 0.5; tokens 500 two 1 0.25; "
	 "usd 0.5 one 1 0.25; usd 0.5 two 0 0; usd 1 one 1 0.25; usd 1 two 0 0; usd 2 one 2 0.5; "
	 "usd 2 two 0 0; seconds 1 one 0 0; seconds 1 two 1 0.25; seconds 2 one 0 0; "
	 "seconds 2 two 1 0.25; seconds 5 one 0 0; seconds 5 two 1 0.25; seconds 10 one 2 0.5; "
	 "seconds 10 two 1 0.25"},
	/* 3 of 8 are right: 1 - (H(3/4) + H(0)) / 2 H(3/8); by method 1 - (H(2/4) + H(1/4)) / 2
	 * H(3/8)
	 */
	{"what category and method explain", &kgb_view_attribution, "category",
	 "factor levels operators runs explained", "category 2 4 2 0.575; method 2 4 2 0.05112"},
};

static void test_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct scene s;
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(table)
		struct kgb_table table = {.columns = cases[i].view->columns,
					  .n_columns = cases[i].view->n_columns,
					  .arena = KGB_ARENA_INIT};
		set_up(&s, cases[i].key);
		assert_ok(cases[i].view->add(&s.analysis, &table, &err), err);
		KGB_AUTO(free) char *found = shown(&table, cases[i].columns);
		if (!kgb_str_eq(found, cases[i].wanted))
			fail_msg("%s:\n%s\nnot\n%s", cases[i].name, found, cases[i].wanted);
		tear_down(&s);
	}
}

/** fast_p at 1 and 3 of the first run: 2 and 0 of 4 operators, with a band around the share. */
static void test_a_curve_is_a_share_of_all_operators(void **state)
{
	(void)state;
	struct scene s;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(table)
	struct kgb_table table = {.columns = kgb_view_curve.columns,
				  .n_columns = kgb_view_curve.n_columns,
				  .arena = KGB_ARENA_INIT};
	set_up(&s, NULL);
	assert_ok(kgb_view_curve.add(&s.analysis, &table, &err), err);
	KGB_AUTO(free) char *found = shown(&table, "label p faster operators fast_p");
	static const char *const rows[] = {"one 0 2 4 0.5; ",    "one 1 2 4 0.5; ",
					   "one 1.5 1 4 0.25; ", "one 2.7 1 4 0.25; one 3 0 4 0; ",
					   "two 0 1 4 0.25; ",   "two 0.4 1 4 0.25; two 0.5 0 4 0"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		if (!strstr(found, rows[i]))
			fail_msg("no '%s' in\n%s", rows[i], found);
	assert_null(strstr(found, "one 3.5")); /* it stays 0 */
	KGB_AUTO(free) char *bands = shown(&table, "fast_p_low fast_p fast_p_high");
	char *end = NULL;
	const double low = strtod(bands, &end), share = strtod(end, &end), high = strtod(end, &end);
	assert_true(share == 0.5 && low < share && share < high && low >= 0 && high <= 1);
	tear_down(&s);
}

/** How many compiled is not known where a round's verdict has no rung. */
static void test_older_rounds_do_not_show_what_compiled(void **state)
{
	(void)state;
	static const struct kgb_op_step older[] = {{1, 1, false, false, false, (double)NAN},
						   {1, 2, true, true, true, 2}};
	struct scene s;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(table)
	struct kgb_table table = {.columns = kgb_view_rounds.columns,
				  .n_columns = kgb_view_rounds.n_columns,
				  .arena = KGB_ARENA_INIT};
	set_up(&s, NULL);
	s.runs.list.items[0].ops.items[0].steps = older;
	assert_ok(kgb_view_rounds.add(&s.analysis, &table, &err), err);
	KGB_AUTO(free) char *found = shown(&table, "round compiled correct");
	assert_string_equal(found, "1 nan 0.5; 2 0.75 0.5");
	tear_down(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_a_curve_is_a_share_of_all_operators),
		cmocka_unit_test(test_older_rounds_do_not_show_what_compiled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
