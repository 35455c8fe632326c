/* SPDX-License-Identifier: MIT */
/** \file
 * `analyze`: how right, how fast and how dear the kernels of runs are, in all and by group.
 */
#include "agent/analysis/analysis.h"
#include "agent/answers/sheet.h"
#include "agent/report/common.h"

/** The views, with the option of each. */
static const struct choice {
	const struct kgb_view *view;
	size_t offset; /* of a bool in struct kgb_flags */
} choices[] = {
#define CHOICE(id, doc) {&kgb_view_##id, offsetof(struct kgb_flags, view_##id)},
	KGB_VIEWS(CHOICE)
#undef CHOICE
};

static bool is_chosen(const struct kgb_cli *cli, const struct choice *choice)
{
	return *(const bool *)((const char *)&cli->flags + choice->offset);
}

/** The views that the options select; without such an option the figures. NULL ends the list. */
static int choose(const struct kgb_cli *cli, const struct kgb_view *views[], struct kgb_err *err)
{
	size_t n = 0;
	for (size_t i = 0; i < KGB_ARRAY_LEN(choices); i++)
		if (is_chosen(cli, &choices[i]))
			views[n++] = choices[i].view;
	if (n == 0)
		views[n++] = &kgb_view_figures;
	if (cli->flags.csv && n > 1)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--csv prints one table: choose one of --%s and --%s",
				views[0]->member, views[1]->member);
	return 0;
}

static void add_heads(const struct kgb_analysis *a)
{
	for (size_t i = 0; i < a->runs->list.n; i++) {
		const struct kgb_run_row *run = &a->runs->list.items[i];
		const bool has_model = run->model && !run->is_offline;
		kgb_strv_addf(a->notes, "%s: %s%s%s%s, %s", a->labels.items[i],
			      run->is_offline ? KGB_MARK_OFFLINE ", " : "", run->name,
			      has_model ? ", model " : "", has_model ? run->model : "",
			      run->status ? run->status : "running");
	}
}

static int read_runs(struct kgb_cli *cli, struct kgb_analysis *a, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv patterns = KGB_STRV_INIT;
	if (cli->flags.only)
		kgb_strv_split(&patterns, cli->flags.only, ',');
	if (kgb_runs_open(cli, a->runs, err) < 0)
		return -1;
	return kgb_runs_keep(a->runs, &patterns, err) < 0 ? kgb_ctx(err, "--only") : 0;
}

static int add_tables(struct kgb_analysis *a, const struct kgb_view *const views[],
		      struct kgb_sheet *sheet, struct kgb_err *err)
{
	for (size_t i = 0; views[i]; i++) {
		sheet->tables[i].member = views[i]->member;
		sheet->tables[i].table = (struct kgb_table){.columns = views[i]->columns,
							    .n_columns = views[i]->n_columns,
							    .arena = KGB_ARENA_INIT};
		if (views[i]->add(a, &sheet->tables[i].table, err) < 0)
			return -1;
	}
	return 0;
}

static int answer(struct kgb_cli *cli, struct kgb_analysis *a, struct kgb_sheet *sheet,
		  struct kgb_err *err)
{
	const struct kgb_view *views[KGB_ARRAY_LEN(choices) + 1] = {NULL};
	if (choose(cli, views, err) < 0 || kgb_keys_parse(cli->flags.by, &a->keys, err) < 0)
		return -1;
	a->runs->details = kgb_keys_details(&a->keys);
	for (size_t i = 0; views[i]; i++)
		a->runs->details |= views[i]->details;
	if (read_runs(cli, a, err) < 0)
		return -1;
	kgb_runs_label(a->runs, &a->labels);
	add_heads(a);
	return add_tables(a, views, sheet, err);
}

static int analyze(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	KGB_AUTO(free) char *python = kgb_config_python(&cli->config);
	struct kgb_sheet sheet = {.schema = "kgb.analyze/1"};
	struct kgb_analysis a = {
		.runs = &runs, .notes = &sheet.notes, .python = python, .data_dir = cli->data_dir};
	const int rc = answer(cli, &a, &sheet, &err);
	const int exit_code = kgb_sheet_end(cli, &sheet, rc, &err);
	kgb_strv_release(&a.labels);
	kgb_strv_release(&a.keys);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG(
		"by", 0, STR, by, "KEY,...",
		"also rows for groups of operators: source, category, dtype, interface, operator, status, code, reached, chip, gpu, baseline, precision, api; source+category groups by both"),
	KGB_OPTION_OF_FLAG("only", 0, STR, only, "PATTERN,...",
			   "only operators of these names, such as 'aten::*' or 'cublas?gemm*'"),
#define OPTION(id, doc) KGB_OPTION_OF_FLAG(#id, 0, FLAG, view_##id, NULL, doc),
	KGB_VIEWS(OPTION)
#undef OPTION
		KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"How right, how fast and how dear the kernels of runs are. RUN is a run's name, its folder, a folder of runs or a\n"
	"pattern; without it, the latest run, with the series that it belongs to. Operators that have not ended count as not\n"
	"passed. Repeats have a row each; compare and leaderboard put them together. An option such as --rounds prints its table\n"
	"instead of the figures; several options print several tables. Definitions: docs/answers.md, docs/statistics.md.\n"
	"\n"
	"examples:\n"
	"  kgb-agent analyze\n"
	"  kgb-agent analyze 'naive_cc_*' 'normal_cc_*' --by source\n"
	"  kgb-agent analyze 'llm_*' --only 'cublas?gemm*' --by precision+api\n"
	"  kgb-agent analyze results/ --attribution --unsolved --by category\n"
	"  kgb-agent analyze results/ --csv >figures.csv\n"
	"\n"
	"exit status: 0, 2 usage or a file that cannot be read, 4 --quality without radon\n";

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
