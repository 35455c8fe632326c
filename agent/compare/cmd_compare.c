/* SPDX-License-Identifier: MIT */
/** \file
 * `compare`: whether methods differ from the first one on the operators that both have, and the
 * smallest difference that the data could show. */
#include <math.h>

#include "agent/answers/groups.h"
#include "agent/answers/sheet.h"
#include "agent/compare/gpus.h"
#include "agent/compare/unlike.h"
#include "agent/compare/versus.h"
#include "agent/statistics/power.h"

/* One letter for each side. */
#define MOST_SIDES 26

static const struct kgb_table_column measure_columns[] = {
	{"side", "side", NULL},
	{"label", NULL, NULL},
	{"runs", NULL, NULL},
	{"a_label", NULL, NULL},
	{"a_runs", NULL, NULL},
	{"measure", "measure", NULL},
	{"operators", "of", NULL},
	{"a", "A", NULL},
	{"other", "other", NULL},
	{"difference", "difference", NULL},
	{"low", NULL, NULL},
	{"high", NULL, NULL},
	{"p", NULL, NULL},
	{"p_holm", "p", NULL},
	{"detectable", "detects", NULL},
};
static const struct kgb_table_column flip_columns[] = {
	{"side", "side", "Operators that differ by half of the attempts or more"},
	{"operator", "operator", "Operators that differ by half of the attempts or more"},
	{"a_passed", "A", "Operators that differ by half of the attempts or more"},
	{"a_attempts", NULL, "Operators that differ by half of the attempts or more"},
	{"other_passed", "other", "Operators that differ by half of the attempts or more"},
	{"other_attempts", NULL, "Operators that differ by half of the attempts or more"},
	{"code", "failed with", "Operators that differ by half of the attempts or more"},
};

static const struct kgb_table_column group_columns[] = {
	{"side", "side", NULL},
	{"label", NULL, NULL},
	{"by", NULL, NULL},
	{"group", "group", NULL},
	{"measure", "measure", NULL},
	{"operators", "of", NULL},
	{"a", "A", NULL},
	{"other", "other", NULL},
	{"difference", "difference", NULL},
	{"low", NULL, NULL},
	{"high", NULL, NULL},
	{"p", NULL, NULL},
	{"p_holm", "p", NULL},
	{"detectable", "detects", NULL},
};
/* Keys for groups of operators. Outcomes of a side are no keys, because such groups would keep its
 * chance. */
static const char *const group_keys[] = {"source", "category", "precision", "api", NULL};

static char letter_of(size_t side)
{
	return (char)('A' + (int)side);
}

static void add_letter(struct kgb_table *table, size_t side)
{
	kgb_table_word(table, (const char[]){letter_of(side), '\0'});
}

/* ---- rows ---- */

static void add_difference(struct kgb_table *table, const struct kgb_measure *m,
			   const struct kgb_versus *v)
{
	const double scale = m->kind == KGB_SHARE ? 100 : 1;
	const int digits = m->digits;
	if (m->kind == KGB_RATIO && isnan(v->d.low))
		kgb_table_number(table, v->d.value, "%.*fx", digits, v->d.value);
	else if (m->kind == KGB_RATIO)
		kgb_table_number(table, v->d.value, "%.*fx [%.*f, %.*f]", digits, v->d.value,
				 digits, v->d.low, digits, v->d.high);
	else if (isnan(v->d.low))
		kgb_table_number(table, v->d.value, "%+.*f", digits, scale * v->d.value);
	else
		kgb_table_number(table, v->d.value, "%+.*f [%+.*f, %+.*f]", digits,
				 scale * v->d.value, digits, scale * v->d.low, digits,
				 scale * v->d.high);
	kgb_table_number(table, v->d.low, "%s", "");
	kgb_table_number(table, v->d.high, "%s", "");
}

/** \param v with the adjusted p value */
static void add_measure(struct kgb_table *table, const struct kgb_measure *m,
			const struct kgb_versus *v)
{
	const double scale = m->kind == KGB_SHARE ? 100 : 1;
	const char *sign = m->kind == KGB_RATIO ? "x" : "";
	kgb_table_word(table, m->name);
	kgb_table_number(table, (double)v->d.n, "%zu", v->d.n);
	kgb_table_number(table, v->a, "%.*f%s", m->digits, scale * v->a, sign);
	kgb_table_number(table, v->b, "%.*f%s", m->digits, scale * v->b, sign);
	add_difference(table, m, v);
	kgb_table_number(table, v->d.n > 0 ? v->d.p : (double)NAN, "%s", "");
	if (v->p < 1e-3)
		kgb_table_number(table, v->p, "<0.001");
	else
		kgb_table_number(table, v->p, "%.2g", v->p);
	if (isinf(v->detectable) || (m->kind == KGB_SHARE && v->detectable > 1))
		kgb_table_number(table, v->detectable, "none");
	else
		kgb_table_number(table, v->detectable, "%.*f%s", m->digits, scale * v->detectable,
				 sign);
}

static size_t count_passed(const struct kgb_side_op *op)
{
	size_t n = 0;
	KGB_VEC_FOREACH(attempt, &op->tries)
		n += attempt->is_correct;
	return n;
}

static void add_passed(struct kgb_table *table, const struct kgb_side_op *op)
{
	const size_t n = count_passed(op);
	kgb_table_number(table, (double)n, "%zu/%zu", n, op->tries.n);
	kgb_table_number(table, (double)op->tries.n, "%s", "");
}

/** Rows of the operators that A, then of those that the other passed more often. */
static void add_flips(const struct kgb_match *match, size_t side, struct kgb_table *table)
{
	for (int by_other = 0; by_other < 2; by_other++)
		KGB_VEC_FOREACH(op, &match->ops) {
			const double more = kgb_side_op_value(op->b, kgb_measure_correct) -
					    kgb_side_op_value(op->a, kgb_measure_correct);
			if ((by_other ? more : -more) < 0.5)
				continue;
			add_letter(table, side);
			kgb_table_word(table, op->a->row->name);
			add_passed(table, op->a);
			add_passed(table, op->b);
			kgb_table_word(table, by_other ? op->a->code : op->b->code);
		}
}

/* ---- words ---- */

static void add_head(const struct kgb_side *side, size_t which, struct kgb_strv *notes)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_side_describe(side, &text);
	if (side->runs.n == 1)
		kgb_strv_addf(notes, "%c: %s", letter_of(which), text.ptr);
	else
		kgb_strv_addf(notes, "%c: %s, %s", letter_of(which), side->label, text.ptr);
}

/** The effective number of an operator's attempts. */
static void add_worth(const struct kgb_side *side, size_t which, struct kgb_strv *notes)
{
	KGB_VEC(double) values = {0};
	KGB_AUTO(free) size_t *sizes = kgb_xcalloc(side->ops.n + 1, sizeof(*sizes));
	for (size_t i = 0; i < side->ops.n; i++) {
		sizes[i] = side->ops.items[i].tries.n;
		KGB_VEC_FOREACH(attempt, &side->ops.items[i].tries)
			KGB_VEC_ADD(&values, attempt->is_correct);
	}
	const double n = (double)values.n, icc = kgb_icc(values.items, sizes, side->ops.n);
	if (!isnan(icc))
		kgb_strv_addf(notes,
			      "%c: %zu attempts at %zu operators, ICC %.2f: worth %.0f operators "
			      "with one attempt",
			      letter_of(which), values.n, side->ops.n, icc,
			      kgb_effective_n(n, n / (double)side->ops.n, fmax(icc, 0)));
	KGB_VEC_RELEASE(&values);
}

/* ---- all comparisons ---- */

/** Rows and words of the comparisons with the first side, in the order of the sides. */
static void add_comparisons(const struct kgb_sides *sides, const struct kgb_match *matches,
			    struct kgb_sheet *sheet)
{
	const size_t n = sides->list.n - 1;
	KGB_AUTO(free)
	struct kgb_versus *results = kgb_xcalloc(n * kgb_n_measures, sizeof(*results));
	for (size_t m = 0; m < kgb_n_measures; m++)
		kgb_versus_all(matches, n, &kgb_measures[m], &results[m * n]);
	for (size_t i = 0; i < n; i++) {
		for (size_t m = 0; m < kgb_n_measures; m++) {
			const struct kgb_measure *measure = &kgb_measures[m];
			add_letter(&sheet->tables[0].table, i + 1);
			kgb_table_word(&sheet->tables[0].table, matches[i].b->label);
			kgb_side_add_runs(matches[i].b, &sheet->tables[0].table);
			kgb_table_word(&sheet->tables[0].table, matches[i].a->label);
			kgb_side_add_runs(matches[i].a, &sheet->tables[0].table);
			add_measure(&sheet->tables[0].table, measure, &results[m * n + i]);
			if (measure == kgb_measure_correct || measure == kgb_measure_speedup)
				kgb_versus_add_words(&results[m * n + i], measure,
						     (const char[]){letter_of(i + 1), '\0'}, "A",
						     &sheet->notes);
		}
		add_flips(&matches[i], i + 1, &sheet->tables[1].table);
	}
}

static bool is_in_group(const struct kgb_op_row *op, const void *group)
{
	return kgb_op_is_in(op, group);
}

/** Rows of one key: each side in each group of operators. All of a measure are a family. */
static void add_groups(const struct kgb_sides *sides, const char *key,
		       const struct kgb_strv *groups, struct kgb_table *table)
{
	const size_t n_others = sides->list.n - 1, n = n_others * groups->n;
	const struct kgb_measure *const measures[] = {kgb_measure_correct, kgb_measure_speedup};
	KGB_AUTO(free) struct kgb_match *matches = kgb_xcalloc(n + 1, sizeof(*matches));
	KGB_AUTO(free) struct kgb_versus *results = kgb_xcalloc(n + 1, sizeof(*results));
	for (size_t i = 0; i < n; i++)
		kgb_match_init(&matches[i], &sides->list.items[0],
			       &sides->list.items[1 + i % n_others], is_in_group,
			       groups->items[i / n_others]);
	for (size_t m = 0; m < KGB_ARRAY_LEN(measures); m++) {
		kgb_versus_all(matches, n, measures[m], results);
		for (size_t i = 0; i < n; i++) {
			if (results[i].d.n == 0)
				continue;
			add_letter(table, 1 + i % n_others);
			kgb_table_word(table, matches[i].b->label);
			kgb_table_word(table, key);
			kgb_table_word(table, groups->items[i / n_others]);
			add_measure(table, measures[m], &results[i]);
		}
	}
	for (size_t i = 0; i < n; i++)
		kgb_match_release(&matches[i]);
}

/** "source" or "precision+api". */
static int check_key(const char *key, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;
	kgb_strv_split(&parts, key, '+');
	for (size_t i = 0; i < parts.n; i++)
		if (!kgb_str_is_one_of(parts.items[i], group_keys))
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"--by '%s': write gpu alone, or one or more of source, category, "
				"precision, api",
				key);
	return 0;
}

static int check_sides(const struct kgb_runs *runs, const struct kgb_sides *sides,
		       struct kgb_err *err)
{
	if (sides->list.n < 2)
		return kgb_fail(err, KGB_ERR_INVALID, "name two runs to compare: %zu were found",
				runs->list.n);
	if (sides->list.n > MOST_SIDES)
		return kgb_fail(err, KGB_ERR_INVALID, "%zu methods are compared, %d at most",
				sides->list.n, MOST_SIDES);
	return 0;
}

static int match_all(const struct kgb_sides *sides, struct kgb_match *matches, struct kgb_err *err)
{
	const struct kgb_side *first = &sides->list.items[0];
	for (size_t i = 1; i < sides->list.n; i++) {
		kgb_match_init(&matches[i - 1], first, &sides->list.items[i], NULL, NULL);
		if (matches[i - 1].ops.n == 0)
			return kgb_fail(err, KGB_ERR_INVALID, "%s and %s share no operator",
					first->label, sides->list.items[i].label);
	}
	return 0;
}

static int compare_sides(const struct kgb_cli *cli, struct kgb_runs *runs,
			 const struct kgb_strv *keys, struct kgb_sheet *sheet, struct kgb_err *err)
{
	KGB_AUTO(sides) struct kgb_sides sides = {.arena = KGB_ARENA_INIT};
	const enum kgb_sides_by by =
		cli->flags.each ? KGB_SIDES_BY_RUN : KGB_SIDES_BY_METHOD_OR_WORD;
	if (kgb_sides_of(runs, by, &sides, err) < 0 || check_sides(runs, &sides, err) < 0)
		return -1;
	const size_t n = sides.list.n - 1;
	KGB_AUTO(free) struct kgb_match *matches = kgb_xcalloc(n, sizeof(*matches));
	*sheet = (struct kgb_sheet){.schema = "kgb.compare/1",
				    .tables = {{"measures", KGB_TABLE(measure_columns)},
					       {"flips", KGB_TABLE(flip_columns)},
					       {"groups", KGB_TABLE(group_columns)}}};
	int rc = match_all(&sides, matches, err);
	if (rc == 0)
		rc = kgb_runs_check_alike(runs, cli->flags.force, &sheet->notes, err);
	for (size_t i = 0; rc == 0 && i < sides.list.n; i++) {
		add_head(&sides.list.items[i], i, &sheet->notes);
		add_worth(&sides.list.items[i], i, &sheet->notes);
	}
	if (rc == 0)
		add_comparisons(&sides, matches, sheet);
	for (size_t i = 0; rc == 0 && i < keys->n; i++) {
		KGB_AUTO(strv) struct kgb_strv groups = KGB_STRV_INIT;
		kgb_groups_assign(runs, keys->items[i], &groups);
		add_groups(&sides, keys->items[i], &groups, &sheet->tables[2].table);
	}
	for (size_t i = 0; i < n; i++)
		kgb_match_release(&matches[i]);
	return rc;
}

static int answer(struct kgb_cli *cli, struct kgb_runs *runs, struct kgb_sheet *sheet,
		  struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv keys = KGB_STRV_INIT;
	const bool by_gpu = kgb_str_eq(cli->flags.by, "gpu");
	if (!by_gpu && kgb_keys_parse(cli->flags.by, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.n; i++)
		if (check_key(keys.items[i], err) < 0)
			return -1;
	if (kgb_runs_open(cli, runs, err) < 0)
		return -1;
	return by_gpu ? kgb_compare_gpus(runs, sheet, err)
		      : compare_sides(cli, runs, &keys, sheet, err);
}

static int compare(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	struct kgb_sheet sheet = {0};
	const int rc = answer(cli, &runs, &sheet, &err);
	return kgb_sheet_end(cli, &sheet, rc, &err);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG(
		"by", 0, STR, by, "KEY,...",
		"gpu: the same kernels on several GPUs; source, category, precision, api: also rows for groups of operators"),
	KGB_OPTION_OF_FLAG("each", 0, FLAG, each, NULL,
			   "compare each run, also repeats of a method"),
	KGB_OPTION_OF_FLAG(
		"force", 0, FLAG, force, NULL,
		"compare runs that measure different things, with a note that names the differences"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Compares methods with the first one (A) on the operators that both have: what they passed, the ratio of speedups and\n"
	"the cost of each operator, by sign-flip tests (with one attempt at each operator McNemar's), intervals by resampling\n"
	"operators, and always the smallest difference that so many operators would show in four of five runs\n"
	"(docs/statistics.md). Runs of one method are its repeats; the samples of a bare model are its attempts. p values are\n"
	"adjusted for several methods (Holm). Runs with other specifications, GPUs, baselines or budgets, or of which one is\n"
	"offline, are refused. Without RUN: the latest series.\n"
	"\n"
	"examples:\n"
	"  kgb-agent compare naive_cc_KernelGenBench_20261121T080000Z_0a1b normal_cc_KernelGenBench_20261121T090000Z_77f0\n"
	"  kgb-agent compare 'naive_cc_*' 'normal_cc_*' 'llm_*' --by source\n"
	"  kgb-agent compare results/a results/b --json\n"
	"  kgb-agent compare results/h100 results/h200 --by gpu\n"
	"\n"
	"exit status: 0, 2 usage, a file that cannot be read, or runs that cannot be compared\n";

const struct kgb_command kgb_compare_command = {
	.usage =
		{.name = "compare",
		 .positional = "[RUN...]",
		 .max_positional = SIZE_MAX,
		 .summary =
			 "Show whether methods differ, and the smallest difference that the runs can show",
		 .help = help,
		 .options = options},
	.one = "run",
	.run = compare,
};
