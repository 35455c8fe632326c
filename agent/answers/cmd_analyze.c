/* SPDX-License-Identifier: MIT */
/** \file
 * `analyze`: how right, how fast and how dear the kernels of runs are, in all and by group.
 */
#include <math.h>

#include "agent/answers/figures.h"
#include "agent/answers/sheet.h"
#include "agent/report/common.h"

#define CORRECT "Kernels that compile, are right on core cases, on all: % of operators [95 %]"
#define SPEED "Speedup over the baseline, geometric means"
#define FAST "Right, and faster than this many times the baseline: % of operators"
#define COST "Cost, lost attempts included; each: of one correct kernel"

static const struct kgb_table_column columns[] = {
	{"run", NULL, NULL},
	{"label", "method", NULL},
	{"by", NULL, NULL},
	{"group", "group", NULL},
	{"operators", NULL, CORRECT},
	{"finished", "ended", CORRECT},
	{"compiled", "compiles", CORRECT},
	{"core", "core", CORRECT},
	{"core_low", NULL, CORRECT},
	{"core_high", NULL, CORRECT},
	{"correct", "correct", CORRECT},
	{"correct_low", NULL, CORRECT},
	{"correct_high", NULL, CORRECT},
	{"correct_of_compiled", NULL, CORRECT},
	{"timed", "timed", SPEED},
	{"speedup_correct", "correct only", SPEED},
	{"speedup_fallback", "failed = 1.0", SPEED},
	{"speedup_common", "common", SPEED},
	{"common", "of", SPEED},
	{"speedup_median", "median", SPEED},
	{"slower", "slower", SPEED},
	{"fast_0.5", "0.5x", FAST},
	{"fast_0.8", "0.8x", FAST},
	{"fast_1", "1x", FAST},
	{"fast_1.2", "1.2x", FAST},
	{"fast_1.5", "1.5x", FAST},
	{"fast_2", "2x", FAST},
	{"fast_3", "3x", FAST},
	{"fast_5", "5x", FAST},
	{"tokens", "tokens", COST},
	{"tokens_per_correct", "each", COST},
	{"usd", "USD", COST},
	{"usd_per_correct", "each", COST},
	{"agent_seconds", "agent time", COST},
	{"agent_seconds_per_correct", "each", COST},
};

/* ---- groups ---- */

static const char *source_of(const struct kgb_op_row *op)
{
	return op->source;
}

static const char *category_of(const struct kgb_op_row *op)
{
	return op->category;
}

static const char *status_of(const struct kgb_op_row *op)
{
	return op->status;
}

static const char *code_of(const struct kgb_op_row *op)
{
	return op->code ? op->code : op->status;
}

static const char *reached_of(const struct kgb_op_row *op)
{
	return op->reached;
}

static const char *gpu_of(const struct kgb_op_row *op)
{
	return op->gpu;
}

static const char *baseline_of(const struct kgb_op_row *op)
{
	return op->baseline;
}

/** What operators can be grouped by. */
static const struct group_key {
	const char *name;
	kgb_group_fn of;
} group_keys[] = {
	{"source", source_of},     {"category", category_of}, {"status", status_of},
	{"code", code_of},         {"reached", reached_of},   {"gpu", gpu_of},
	{"baseline", baseline_of},
};

static const struct group_key *find_key(const char *name)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(group_keys); i++)
		if (kgb_str_eq(group_keys[i].name, name))
			return &group_keys[i];
	return NULL;
}

static int take_keys(const char *text, struct kgb_strv *out, struct kgb_err *err)
{
	if (text)
		kgb_strv_split(out, text, ',');
	for (size_t i = 0; i < out->n; i++) {
		if (find_key(out->items[i]))
			continue;
		KGB_AUTO(buf) struct kgb_buf known = KGB_BUF_INIT(0);
		for (size_t k = 0; k < KGB_ARRAY_LEN(group_keys); k++)
			kgb_buf_addf(&known, "%s%s", k > 0 ? ", " : "", group_keys[k].name);
		return kgb_fail(err, KGB_ERR_INVALID, "--by '%s': write one or more of %s",
				out->items[i], known.ptr);
	}
	return 0;
}

/* ---- rows ---- */

struct analysis {
	const struct kgb_runs *runs;
	struct kgb_strv labels; /* of each run */
	struct kgb_table *table;
};

/** Speedup of one run where all have one. NaN for one run: it would repeat a figure. */
static struct kgb_mean common_mean(const struct kgb_runs *runs, size_t which)
{
	const size_t n_runs = runs->list.n, n = runs->list.items[which].ops.n;
	KGB_AUTO(free) double *values = kgb_xcalloc(n_runs * n + 1, sizeof(*values));
	KGB_AUTO(free) const double **arrays = kgb_xcalloc(n_runs, sizeof(*arrays));
	if (n_runs < 2)
		return (struct kgb_mean){(double)NAN, 0};
	for (size_t r = 0; r < n_runs; r++) {
		arrays[r] = &values[r * n];
		for (size_t i = 0; i < n; i++) {
			const struct kgb_op_row *op = kgb_run_row_find(
				&runs->list.items[r], runs->list.items[which].ops.items[i].name, i);
			values[r * n + i] = op ? op->speedup : (double)NAN;
		}
	}
	return kgb_geometric_mean_of_common(arrays, n_runs, n, which);
}

static void add_share(struct kgb_table *table, const struct kgb_interval *share)
{
	kgb_table_number(table, share->value, "%.1f [%.1f, %.1f]", 100 * share->value,
			 100 * share->low, 100 * share->high);
	kgb_table_number(table, share->low, "%g", share->low);
	kgb_table_number(table, share->high, "%g", share->high);
}

static void add_count(struct kgb_table *table, size_t n)
{
	kgb_table_number(table, (double)n, "%zu", n);
}

/** A sum, and its share of each correct kernel. */
static void add_tokens(struct kgb_table *table, double tokens, double n_correct)
{
	char text[32];
	const double each = n_correct > 0 ? tokens / n_correct : (double)NAN;
	kgb_table_number(
		table, tokens, "%s",
		kgb_report__count(isnan(tokens) ? -1 : (int64_t)tokens, text, sizeof(text)));
	kgb_table_number(table, each, "%s",
			 kgb_report__count(isnan(each) ? -1 : (int64_t)each, text, sizeof(text)));
}

static void add_dollars(struct kgb_table *table, double dollars, double n_correct)
{
	const double each = n_correct > 0 ? dollars / n_correct : (double)NAN;
	kgb_table_number(table, dollars, "%.2f", dollars);
	kgb_table_number(table, each, "%.3f", each);
}

static void add_seconds(struct kgb_table *table, double seconds, double n_correct)
{
	char text[32];
	const double each = n_correct > 0 ? seconds / n_correct : (double)NAN;
	kgb_table_number(table, seconds, "%s",
			 kgb_duration_format(isnan(seconds) ? 0 : (int64_t)(1000 * seconds), text,
					     sizeof(text)));
	kgb_table_number(
		table, each, "%s",
		kgb_duration_format(isnan(each) ? 0 : (int64_t)(1000 * each), text, sizeof(text)));
}

static void add_figures(struct kgb_table *table, const struct kgb_figures *f,
			const struct kgb_mean *common)
{
	const double n = (double)f->n, n_timed = (double)f->of_correct.n;
	add_count(table, f->n);
	kgb_table_number(table, (double)f->n_finished, "%zu/%zu", f->n_finished, f->n);
	kgb_table_number(table, n > 0 ? (double)f->n_compiled / n : (double)NAN, "%.1f",
			 100 * (double)f->n_compiled / n);
	add_share(table, &f->core);
	add_share(table, &f->correct);
	kgb_table_number(table,
			 f->n_compiled > 0 ? (double)f->n_correct / (double)f->n_compiled
					   : (double)NAN,
			 "%s", "");
	add_count(table, f->of_correct.n);
	kgb_table_number(table, f->of_correct.value, "%.2fx", f->of_correct.value);
	kgb_table_number(table, f->with_fallback.value, "%.2fx", f->with_fallback.value);
	kgb_table_number(table, common->value, "%.2fx", common->value);
	kgb_table_number(table, isnan(common->value) ? (double)NAN : (double)common->n, "%zu",
			 common->n);
	kgb_table_number(table, f->median_speedup, "%.2fx", f->median_speedup);
	kgb_table_number(table, n_timed > 0 ? (double)f->n_slower / n_timed : (double)NAN,
			 "%.1f %%", 100 * (double)f->n_slower / n_timed);
	for (size_t i = 0; i < KGB_N_FAST; i++)
		kgb_table_number(table, n_timed > 0 ? (double)f->fast[i] / n : (double)NAN, "%.1f",
				 100 * (double)f->fast[i] / n);
	add_tokens(table, f->tokens, (double)f->n_correct);
	add_dollars(table, f->dollars, (double)f->n_correct);
	add_seconds(table, f->seconds, (double)f->n_correct);
}

/** One row: the operators of run `r` that are in the group. \param key NULL: all of them */
static void add_row(struct analysis *a, size_t r, const struct group_key *key, const char *group)
{
	const struct kgb_run_row *run = &a->runs->list.items[r];
	struct kgb_mean common = {(double)NAN, 0};
	struct kgb_figures figures;
	kgb_figures_of(run, key ? key->of : NULL, group, &figures);
	if (key && figures.n == 0)
		return;
	if (!key)
		common = common_mean(a->runs, r);
	kgb_table_word(a->table, run->name);
	kgb_table_word(a->table, a->labels.items[r]);
	kgb_table_word(a->table, key ? key->name : "all");
	kgb_table_word(a->table, !key ? "all" : group ? group : "unknown");
	add_figures(a->table, &figures, &common);
}

/** Rows of one key: groups in alphabetical order, in each the runs. */
static void add_groups(struct analysis *a, const struct group_key *key)
{
	KGB_AUTO(strv) struct kgb_strv groups = KGB_STRV_INIT;
	bool has_unknown = false;
	KGB_VEC_FOREACH(run, &a->runs->list)
		KGB_VEC_FOREACH(op, &run->ops) {
			const char *group = key->of(op);
			has_unknown = has_unknown || !group;
			if (group && !kgb_strv_has(&groups, group))
				kgb_strv_add(&groups, group);
		}
	kgb_strv_sort(&groups);
	for (size_t g = 0; g < groups.n + has_unknown; g++)
		for (size_t r = 0; r < a->runs->list.n; r++)
			add_row(a, r, key, g < groups.n ? groups.items[g] : NULL);
}

static void add_heads(const struct analysis *a, struct kgb_strv *notes)
{
	for (size_t i = 0; i < a->runs->list.n; i++) {
		const struct kgb_run_row *run = &a->runs->list.items[i];
		const bool has_model = run->model && !run->is_offline;
		kgb_strv_addf(notes, "%s: %s%s%s%s, %s", a->labels.items[i],
			      run->is_offline ? KGB_MARK_OFFLINE ", " : "", run->name,
			      has_model ? ", model " : "", has_model ? run->model : "",
			      run->status ? run->status : "running");
	}
}

static int analyze(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	KGB_AUTO(strv) struct kgb_strv keys = KGB_STRV_INIT;
	struct kgb_sheet sheet = {
		.schema = "kgb.analyze/1", .member = "rows", .table = KGB_TABLE(columns)};
	struct analysis a = {.runs = &runs, .table = &sheet.table};
	if (take_keys(cli->flags.by, &keys, &err) < 0 || kgb_runs_open(cli, &runs, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	kgb_runs_label(&runs, &a.labels);
	add_heads(&a, &sheet.notes);
	for (size_t r = 0; r < runs.list.n; r++)
		add_row(&a, r, NULL, NULL);
	for (size_t i = 0; i < keys.n; i++)
		add_groups(&a, find_key(keys.items[i]));
	const int exit_code = kgb_sheet_print(cli, &sheet);
	kgb_sheet_release(&sheet);
	kgb_strv_release(&a.labels);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG(
		"by", 0, STR, by, "KEY,...",
		"also rows for groups of operators: source, category, status, code, reached, gpu, baseline"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"How right, how fast and how dear the kernels of runs are. RUN is a run's name, its folder, a folder of runs or a\n"
	"pattern; without it, the latest run. Operators that have not ended count as not passed. Definitions:\n"
	"docs/statistics.md.\n"
	"\n"
	"examples:\n"
	"  kgb-agent analyze\n"
	"  kgb-agent analyze 'naive_cc_*' 'normal_cc_*' --by source\n"
	"  kgb-agent analyze results/ --csv >figures.csv\n"
	"\n"
	"exit status: 0, 2 usage or a file that cannot be read\n";

const struct kgb_command kgb_analyze_command = {
	.usage = {.name = "analyze",
		  .positional = "[RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Show accuracy, speed and cost of runs",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = analyze,
};
