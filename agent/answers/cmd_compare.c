/* SPDX-License-Identifier: MIT */
/** \file
 * `compare`: whether two runs differ on the operators that both have, and what difference could
 * have been seen.
 */
#include <math.h>

#include "agent/answers/runs.h"
#include "agent/answers/sheet.h"
#include "agent/report/common.h"
#include "agent/statistics/paired.h"
#include "agent/statistics/power.h"
#include "agent/statistics/proportion.h"

#define POWER 0.8
#define LEVEL 0.05
/* A difference that nobody would choose a method for: 5 points, or a factor of 1.05. */
#define SMALL 0.05

static const struct kgb_table_column measure_columns[] = {
	{"measure", "measure", NULL},
	{"operators", "of", NULL},
	{"a", "A", NULL},
	{"b", "B", NULL},
	{"difference", "B to A", NULL},
	{"low", NULL, NULL},
	{"high", NULL, NULL},
	{"p", "p", NULL},
	{"detectable", "detectable", NULL},
};
static const struct kgb_table_column flip_columns[] = {
	{"passed_by", "passed by", "Operators that one of them passed"},
	{"operator", "operator", "Operators that one of them passed"},
	{"other_code", "the other", "Operators that one of them passed"},
};

struct pair {
	const struct kgb_op_row *a, *b;
};

/** The operators that both runs have and neither has replaced. */
struct pairs {
	const struct kgb_run_row *a_run, *b_run;
	KGB_VEC(struct pair) list;
	size_t only_a, only_b; /* operators that only A, only B passed */
};

static void find_pairs(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->a_run->ops.n; i++) {
		const struct kgb_op_row *a = &pairs->a_run->ops.items[i];
		const struct kgb_op_row *b = kgb_run_row_find(pairs->b_run, a->name, i);
		if (!b || a->is_replaced || b->is_replaced)
			continue;
		KGB_VEC_ADD(&pairs->list, (struct pair){a, b});
		pairs->only_a += a->is_correct && !b->is_correct;
		pairs->only_b += b->is_correct && !a->is_correct;
	}
}

/* ---- whether the runs can be compared ---- */

static bool differ(const char *a, const char *b)
{
	return a && b && !kgb_str_eq(a, b);
}

/** Add why the runs measure different things. */
static void find_reasons(const struct pairs *pairs, struct kgb_strv *reasons)
{
	size_t n_specs = 0, n_gpus = 0, n_baselines = 0;
	KGB_VEC_FOREACH(pair, &pairs->list) {
		n_specs += differ(pair->a->spec_sha256, pair->b->spec_sha256);
		n_gpus += differ(pair->a->gpu, pair->b->gpu);
		n_baselines += differ(pair->a->baseline, pair->b->baseline);
	}
	if (pairs->a_run->is_offline != pairs->b_run->is_offline)
		kgb_strv_add(reasons, "one run is offline, which shows nothing about a model");
	if (differ(pairs->a_run->platform, pairs->b_run->platform))
		kgb_strv_addf(reasons, "judged on %s and %s", pairs->a_run->platform,
			      pairs->b_run->platform);
	if (n_specs > 0)
		kgb_strv_addf(reasons, "%zu operators have another specification", n_specs);
	if (n_gpus > 0)
		kgb_strv_addf(reasons, "%zu operators were timed on another GPU", n_gpus);
	if (n_baselines > 0)
		kgb_strv_addf(reasons, "%zu operators have another baseline", n_baselines);
}

static int check_comparable(const struct pairs *pairs, bool force, struct kgb_strv *notes,
			    struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv reasons = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (pairs->list.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "the runs share no operator");
	find_reasons(pairs, &reasons);
	for (size_t i = 0; i < reasons.n; i++)
		kgb_buf_addf(&text, "%s%s", i > 0 ? "; " : "", reasons.items[i]);
	if (reasons.n > 0 && !force)
		return kgb_fail(err, KGB_ERR_INVALID,
				"the runs measure different things: %s; --force compares them",
				text.ptr);
	if (reasons.n > 0)
		kgb_strv_addf(notes, "FORCED, the runs measure different things: %s", text.ptr);
	return 0;
}

/* ---- measures ---- */

/** A number of each operator; NaN: unknown. */
struct measure {
	const char *name;
	double (*of)(const struct kgb_op_row *op);
	enum { SHARE, RATIO, AMOUNT } kind;
	int digits; /* that people see after the point */
};

static double correct_of(const struct kgb_op_row *op)
{
	return op->is_correct;
}

static double core_of(const struct kgb_op_row *op)
{
	return op->is_core;
}

static double speedup_of(const struct kgb_op_row *op)
{
	return op->speedup;
}

static double tokens_of(const struct kgb_op_row *op)
{
	return op->tokens / 1000;
}

static double dollars_of(const struct kgb_op_row *op)
{
	return op->dollars;
}

static double seconds_of(const struct kgb_op_row *op)
{
	return op->agent_seconds;
}

static const struct measure measures[] = {
	{"correct, %", correct_of, SHARE, 1},
	{"core, %", core_of, SHARE, 1},
	{"speedup, common", speedup_of, RATIO, 2},
	{"tokens, thousands", tokens_of, AMOUNT, 1},
	{"USD", dollars_of, AMOUNT, 3},
	{"agent time, s", seconds_of, AMOUNT, 1},
};

struct result {
	double a, b, detectable;
	struct kgb_paired d; /* B to A: a difference, or a ratio */
};

static double mean_of(const double *values, const double *others, size_t n, bool of_logs)
{
	double sum = 0;
	size_t n_known = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(values[i]) || isnan(others[i]))
			continue;
		sum += of_logs ? log(values[i]) : values[i];
		n_known++;
	}
	const double mean = n_known > 0 ? sum / (double)n_known : (double)NAN;
	return of_logs ? exp(mean) : mean;
}

/** p of McNemar's test, for a share. */
static double discordant_p(const double *a, const double *b, size_t n, double *sd)
{
	size_t only_a = 0, only_b = 0;
	for (size_t i = 0; i < n; i++) {
		only_a += a[i] > b[i];
		only_b += b[i] > a[i];
	}
	/* Without a discordant operator one more may well be: its share is at least 1 / n. */
	const double discordance = fmax((double)(only_a + only_b), 1) / (double)n;
	*sd = kgb_discordance_sd(discordance);
	return kgb_mcnemar(only_a, only_b);
}

static struct result measure(const struct pairs *pairs, const struct measure *m)
{
	const size_t n = pairs->list.n;
	KGB_AUTO(free) double *a = kgb_xcalloc(2 * n, sizeof(*a));
	double *b = a + n;
	for (size_t i = 0; i < n; i++) {
		a[i] = m->of(pairs->list.items[i].a);
		b[i] = m->of(pairs->list.items[i].b);
	}
	struct result r = {
		.a = mean_of(a, b, n, m->kind == RATIO),
		.b = mean_of(b, a, n, m->kind == RATIO),
		.d = m->kind == RATIO ? kgb_paired_ratio(b, a, n) : kgb_paired_difference(b, a, n),
	};
	if (m->kind == SHARE)
		r.d.p = discordant_p(a, b, n, &r.d.sd);
	r.detectable = kgb_detectable(r.d.sd, (double)r.d.n, POWER);
	if (m->kind == RATIO)
		r.detectable = exp(r.detectable);
	return r;
}

static void add_measure(struct kgb_table *table, const struct measure *m, const struct result *r)
{
	const double scale = m->kind == SHARE ? 100 : 1;
	const char *sign = m->kind == RATIO ? "x" : "";
	const int digits = m->digits;
	kgb_table_word(table, m->name);
	kgb_table_number(table, (double)r->d.n, "%zu", r->d.n);
	kgb_table_number(table, r->a, "%.*f%s", digits, scale * r->a, sign);
	kgb_table_number(table, r->b, "%.*f%s", digits, scale * r->b, sign);
	if (isnan(r->d.low))
		kgb_table_number(table, r->d.value, m->kind == RATIO ? "%.*f%s" : "%+.*f%s", digits,
				 scale * r->d.value, sign);
	else
		kgb_table_number(table, r->d.value,
				 m->kind == RATIO ? "%.*f%s [%.*f, %.*f]"
						  : "%+.*f%s [%+.*f, %+.*f]",
				 digits, scale * r->d.value, sign, digits, scale * r->d.low, digits,
				 scale * r->d.high);
	kgb_table_number(table, r->d.low, "%s", "");
	kgb_table_number(table, r->d.high, "%s", "");
	kgb_table_number(table, r->d.n > 0 ? r->d.p : (double)NAN, "%.3g", r->d.p);
	kgb_table_number(table, r->detectable, "%.*f%s", digits, scale * r->detectable, sign);
}

/* ---- a verdict in words ---- */

/** "B is better", "no difference larger than ...", or "cannot tell". */
static void add_verdict(const struct measure *m, const struct result *r, struct kgb_strv *notes)
{
	const bool ratio = m->kind == RATIO;
	const char *what = ratio ? "common speedup" : "operators passed";
	const double low = ratio ? log(r->d.low) : r->d.low;
	const double high = ratio ? log(r->d.high) : r->d.high;
	const double least = ratio ? log(r->detectable) : r->detectable;
	/* Equal differences have no interval; what could have been seen bounds them. */
	const double bound = isnan(low) ? least : fmax(fabs(low), fabs(high));
	const double shown = bound <= SMALL ? bound : least;
	KGB_AUTO(free)
	char *size = ratio ? kgb_xasprintf("a factor of %.2f", exp(shown))
			   : kgb_xasprintf("%.1f points", 100 * shown);
	if (r->d.n == 0)
		kgb_strv_addf(notes, "%s: nothing to compare", what);
	else if (r->d.p <= LEVEL)
		kgb_strv_addf(notes, "%s: B is %s (p = %.2g)", what,
			      r->d.value > (ratio ? 1 : 0) ? "better" : "worse", r->d.p);
	else if (bound <= SMALL)
		kgb_strv_addf(notes, "%s: no difference larger than %s (p = %.2g)", what, size,
			      r->d.p);
	else
		kgb_strv_addf(notes, "%s: cannot tell (p = %.2g; %zu operators can show %s)", what,
			      r->d.p, r->d.n, size);
}

static void add_flips(const struct pairs *pairs, struct kgb_table *table)
{
	for (int by_b = 0; by_b < 2; by_b++)
		KGB_VEC_FOREACH(pair, &pairs->list) {
			const struct kgb_op_row *winner = by_b ? pair->b : pair->a;
			const struct kgb_op_row *other = by_b ? pair->a : pair->b;
			if (!winner->is_correct || other->is_correct)
				continue;
			kgb_table_word(table, by_b ? "B" : "A");
			kgb_table_word(table, winner->name);
			kgb_table_word(table, other->code ? other->code : other->status);
		}
}

static void add_head(const char *letter, const struct kgb_run_row *run, struct kgb_strv *notes)
{
	kgb_strv_addf(notes, "%s: %s%s, %s", letter, run->is_offline ? KGB_MARK_OFFLINE ", " : "",
		      run->name, run->status ? run->status : "running");
}

static int answer(const struct kgb_cli *cli, struct pairs *pairs, struct kgb_sheet *sheet,
		  struct kgb_err *err)
{
	find_pairs(pairs);
	if (check_comparable(pairs, cli->flags.force, &sheet->notes, err) < 0)
		return -1;
	add_head("A", pairs->a_run, &sheet->notes);
	add_head("B", pairs->b_run, &sheet->notes);
	for (size_t i = 0; i < KGB_ARRAY_LEN(measures); i++) {
		const struct result r = measure(pairs, &measures[i]);
		add_measure(&sheet->tables[0].table, &measures[i], &r);
		if (measures[i].of == correct_of || measures[i].of == speedup_of)
			add_verdict(&measures[i], &r, &sheet->notes);
	}
	add_flips(pairs, &sheet->tables[1].table);
	return 0;
}

static int compare(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	struct kgb_sheet sheet = {.schema = "kgb.compare/1",
				  .tables = {{"measures", KGB_TABLE(measure_columns)},
					     {"flips", KGB_TABLE(flip_columns)}}};
	struct pairs pairs = {0};
	int rc = kgb_runs_open(cli, &runs, &err);
	if (rc == 0 && runs.list.n != 2)
		rc = kgb_fail(&err, KGB_ERR_INVALID, "name two runs to compare: %zu were found",
			      runs.list.n);
	if (rc == 0) {
		pairs.a_run = &runs.list.items[0];
		pairs.b_run = &runs.list.items[1];
		rc = answer(cli, &pairs, &sheet, &err);
	}
	const int exit_code =
		rc < 0 ? kgb_cli_fail(&err, KGB_EXIT_USAGE) : kgb_sheet_print(cli, &sheet);
	KGB_VEC_RELEASE(&pairs.list);
	kgb_sheet_release(&sheet);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("force", 0, FLAG, force, NULL,
			   "compare runs that measure different things, and say so"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Compares two runs on the operators that both have: McNemar's exact test of what they passed, the ratio of speedups\n"
	"and the cost of each operator with sign-flip tests, intervals by resampling operators, and always the smallest\n"
	"difference that so many operators would show in four of five runs (docs/statistics.md). Runs with other\n"
	"specifications, GPUs or baselines, or of which one is offline, are refused.\n"
	"\n"
	"examples:\n"
	"  kgb-agent compare naive_cc_KernelGenBench_20261121T080000Z_0a1b normal_cc_KernelGenBench_20261121T090000Z_77f0\n"
	"  kgb-agent compare results/a results/b --json\n"
	"\n"
	"exit status: 0, 2 usage, a file that cannot be read, or runs that cannot be compared\n";

const struct kgb_command kgb_compare_command = {
	.usage = {.name = "compare",
		  .positional = "RUN RUN",
		  .max_positional = 2,
		  .summary = "Show whether two runs differ, and what difference could be seen",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = compare,
};
