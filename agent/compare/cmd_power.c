/* SPDX-License-Identifier: MIT */
/** \file
 * `power`: how many operators and attempts show a difference of a given size, from the variance
 * that runs have.
 */
#include <math.h>
#include <string.h>

#include "agent/answers/sheet.h"
#include "agent/compare/versus.h"
#include "agent/statistics/power.h"

/* Assumptions in place of measurements. */
#define ASSUMED_ICC 0.5
#define ASSUMED_CORRELATION 0.8

static const double points[] = {0.02, 0.05, 0.1, 0.15, 0.2};
static const double factors[] = {0.05, 0.1, 0.2, 0.5};
static const double attempts[] = {1, 2, 5, 10};

static const struct kgb_table_column columns[] = {
	{"measure", "measure", NULL},       {"effect", "difference", NULL},
	{"operators_1", "1 attempt", NULL}, {"operators_2", "2 each", NULL},
	{"operators_5", "5 each", NULL},    {"operators_10", "10 each", NULL},
	{"attempts", "attempts", NULL},     {"power", "power", NULL},
};

/** The sources of the spread of a comparison of two methods. */
struct basis {
	double within; /* variance of one attempt about its operator's mean */
	double between; /* of the operators' true differences between the methods */
	double n, m; /* operators there are, and attempts at each */
	double mean, icc;
	bool is_icc_assumed;
};

/* ---- variances ---- */

struct values {
	KGB_VEC(double) list;
	size_t *sizes; /* owned; of each operator that has values */
	size_t n_ops;
	double inverse; /* mean of 1 / attempts */
};

static void take_values(const struct kgb_side *side, const struct kgb_measure *measure,
			struct values *out)
{
	*out = (struct values){.sizes = kgb_xcalloc(side->ops.n + 1, sizeof(*out->sizes))};
	KGB_VEC_FOREACH(op, &side->ops) {
		const size_t before = out->list.n;
		KGB_VEC_FOREACH(attempt, &op->tries) {
			const double value = measure->of(attempt);
			if (isnan(value))
				continue;
			KGB_VEC_ADD(&out->list, measure->kind == KGB_RATIO ? log(value) : value);
		}
		if (out->list.n == before)
			continue;
		out->sizes[out->n_ops++] = out->list.n - before;
		out->inverse += 1 / (double)(out->list.n - before);
	}
	out->inverse /= (double)out->n_ops;
}

static void release_values(struct values *values)
{
	KGB_VEC_RELEASE(&values->list);
	kgb_free(values->sizes);
}

static double variance_of(const double *values, size_t n, double *mean_out)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		sum += values[i];
	*mean_out = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - *mean_out) * (values[i] - *mean_out);
	return n > 1 ? squares / (double)(n - 1) : (double)NAN;
}

/** One method: the other one is assumed to find nearly the same operators hard. */
static struct basis basis_of(const struct kgb_side *side, const struct kgb_measure *measure)
{
	struct values values;
	struct basis basis = {0};
	take_values(side, measure, &values);
	const double all = variance_of(values.list.items, values.list.n, &basis.mean);
	struct kgb_components v =
		kgb_variance_components(values.list.items, values.sizes, values.n_ops);
	basis.is_icc_assumed = isnan(v.within);
	if (basis.is_icc_assumed)
		v = (struct kgb_components){.within = all * (1 - ASSUMED_ICC),
					    .between = all * ASSUMED_ICC};
	v.between = fmax(v.between, 0);
	basis.icc = v.between / (v.between + v.within);
	basis.within = v.within;
	basis.between = 2 * v.between * (1 - ASSUMED_CORRELATION);
	basis.n = (double)values.n_ops;
	basis.m = 1 / values.inverse;
	release_values(&values);
	return basis;
}

/** Two methods: the spread of their differences beyond that of their attempts. */
static struct basis basis_of_two(const struct kgb_side *a, const struct kgb_side *b,
				 const struct kgb_measure *measure)
{
	struct kgb_match match;
	struct kgb_versus versus;
	struct basis of_a = basis_of(a, measure), of_b = basis_of(b, measure);
	kgb_match_init(&match, a, b, NULL, NULL);
	kgb_versus(&match, measure, &versus);
	kgb_match_release(&match);
	struct basis both = {
		.within = (of_a.within + of_b.within) / 2,
		.n = (double)versus.d.n,
		.m = 2 / (1 / of_a.m + 1 / of_b.m),
		.mean = (of_a.mean + of_b.mean) / 2,
		.icc = (of_a.icc + of_b.icc) / 2,
		.is_icc_assumed = of_a.is_icc_assumed || of_b.is_icc_assumed,
	};
	both.between =
		fmax(0, versus.d.sd * versus.d.sd - of_a.within / of_a.m - of_b.within / of_b.m);
	return both;
}

/* ---- rows ---- */

static void add_count(struct kgb_table *table, double n)
{
	if (isinf(n))
		kgb_table_number(table, n, "never");
	else
		kgb_table_number(table, n, "%.0f", n);
}

static void add_row(struct kgb_table *table, const struct kgb_measure *measure,
		    const struct basis *basis, double effect, double power)
{
	const bool is_ratio = measure->kind == KGB_RATIO;
	const double size = is_ratio ? log1p(effect) : effect;
	const double sd = kgb_attempts_sd(basis->within, basis->between, basis->m);
	const bool is_enough = basis->n >= KGB_FEWEST_OPERATORS;
	const double now = is_enough ? kgb_power(size, sd, basis->n) : 0;
	kgb_table_word(table, is_ratio ? "speedup" : "correct");
	if (is_ratio)
		kgb_table_speedup(table, 1 + effect);
	else
		kgb_table_number(table, effect, "%.1f points", 100 * effect);
	for (size_t i = 0; i < KGB_ARRAY_LEN(attempts); i++) {
		const double of_m = kgb_attempts_sd(basis->within, basis->between, attempts[i]);
		add_count(table, fmax(kgb_needed_n(size, of_m, power), KGB_FEWEST_OPERATORS));
	}
	add_count(table, is_enough ? kgb_needed_attempts(size, basis->within, basis->between,
							 basis->n, power)
				   : (double)INFINITY);
	kgb_table_number(table, now, "%.0f %%", 100 * now);
}

static void add_notes(const struct kgb_sides *sides, const struct kgb_measure *measure,
		      const struct basis *basis, struct kgb_strv *notes)
{
	const bool is_ratio = measure->kind == KGB_RATIO;
	KGB_AUTO(free)
	char *mean = is_ratio ? kgb_xasprintf("speedup %.2fx", exp(basis->mean))
			      : kgb_xasprintf("correct %.1f %%", 100 * basis->mean);
	kgb_strv_addf(notes, "%s of %.0f operators x %.3g attempts, ICC %.2f%s", mean, basis->n,
		      basis->m, basis->icc, basis->is_icc_assumed ? " (assumed: no repeats)" : "");
	if (sides->list.n == 1 && !is_ratio)
		kgb_strv_addf(
			notes,
			"assumed: rates of operators correlate by %.1f between methods (not measured)",
			ASSUMED_CORRELATION);
}

/** Rows of one measure. \param effect NaN: the usual ones. */
static void add_measure(const struct kgb_sides *sides, const struct kgb_measure *measure,
			double effect, double power, struct kgb_sheet *sheet)
{
	const struct kgb_side *side = sides->list.items;
	const struct basis basis = sides->list.n > 1 ? basis_of_two(&side[0], &side[1], measure)
						     : basis_of(&side[0], measure);
	const bool is_ratio = measure->kind == KGB_RATIO;
	const double *effects = is_ratio ? factors : points;
	const size_t n = is_ratio ? KGB_ARRAY_LEN(factors) : KGB_ARRAY_LEN(points);
	if (!(basis.within + basis.between > 0)) {
		kgb_strv_addf(&sheet->notes,
			      "%s: too few attempts, or all alike: their variance is unknown",
			      is_ratio ? "speedup" : "correct");
		return;
	}
	add_notes(sides, measure, &basis, &sheet->notes);
	for (size_t i = 0; i < (isnan(effect) ? n : 1); i++)
		add_row(&sheet->tables[0].table, measure, &basis,
			isnan(effect) ? effects[i] : effect, power);
}

/* ---- the command ---- */

/** "5%" or "5" as 0.05. */
static int parse_percent(const char *option, const char *text, double least, double most,
			 double *out, struct kgb_err *err)
{
	const size_t len = strlen(text);
	KGB_AUTO(free)
	char *number = kgb_xstrndup(text, len > 0 && text[len - 1] == '%' ? len - 1 : len);
	double percent = 0;
	struct kgb_err fault = KGB_ERR_INIT;
	if (kgb_parse_double(number, &percent, &fault) < 0 || percent < least || percent > most)
		return kgb_fail(err, KGB_ERR_INVALID, "%s '%s': write a percentage from %g to %g",
				option, text, least, most);
	*out = percent / 100;
	return 0;
}

static int answer(const struct kgb_cli *cli, const struct kgb_runs *runs, struct kgb_sheet *sheet,
		  struct kgb_err *err)
{
	KGB_AUTO(sides) struct kgb_sides sides = {.arena = KGB_ARENA_INIT};
	double effect = (double)NAN, power = KGB_POWER;
	if ((cli->flags.effect &&
	     parse_percent("--effect", cli->flags.effect, 0.1, 1000, &effect, err) < 0) ||
	    (cli->flags.power &&
	     parse_percent("--power", cli->flags.power, 10, 99.9, &power, err) < 0) ||
	    kgb_sides_of(runs, KGB_SIDES_BY_METHOD, &sides, err) < 0)
		return -1;
	if (sides.list.n > 2)
		return kgb_fail(err, KGB_ERR_INVALID,
				"name the runs of one method or of two: %zu were found",
				sides.list.n);
	for (size_t i = 0; i < sides.list.n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_side_describe(&sides.list.items[i], &text);
		kgb_strv_addf(&sheet->notes, "%s: %s", sides.list.items[i].label, text.ptr);
	}
	add_measure(&sides, kgb_measure_correct, effect, power, sheet);
	add_measure(&sides, kgb_measure_speedup, effect, power, sheet);
	kgb_strv_addf(
		&sheet->notes,
		"operators that show a difference in %.0f %% of comparisons, by attempts at each;",
		100 * power);
	kgb_strv_add(&sheet->notes,
		     "attempts that these operators need; power of what there is now");
	return 0;
}

static int run_power(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	struct kgb_sheet sheet = {.schema = "kgb.power/1",
				  .tables = {{"rows", KGB_TABLE(columns)}}};
	int rc = kgb_runs_open(cli, &runs, &err);
	if (rc == 0)
		rc = answer(cli, &runs, &sheet, &err);
	return kgb_sheet_end(cli, &sheet, rc, &err);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("effect", 0, STR, effect, "PERCENT",
			   "one difference, in points or percent of speedup, instead of a table"),
	KGB_OPTION_OF_FLAG("power", 0, STR, power, "PERCENT",
			   "share of runs that find it (default: 80%)"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"How many operators, and how many attempts at each, show a difference between two methods. The variance is that of the\n"
	"runs: repeats of a method, or the samples of a bare model, measure how far attempts at an operator agree; runs of two\n"
	"methods measure how far the methods differ. A value that the runs do not measure is assumed; a note names it (docs/statistics.md).\n"
	"\n"
	"examples:\n"
	"  kgb-agent power\n"
	"  kgb-agent power 'naive_cc_*' 'normal_cc_*'\n"
	"  kgb-agent power 'naive_cc_*' --effect 5% --power 90%\n"
	"\n"
	"exit status: 0, 2 usage or a file that cannot be read\n";

const struct kgb_command kgb_power_command = {
	.usage = {.name = "power",
		  .positional = "[RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Show how many operators and attempts a comparison needs",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = run_power,
};
