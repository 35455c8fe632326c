/* SPDX-License-Identifier: MIT */
/** \file
 * `runs`: which runs there are.
 */
#include <fts.h>
#include <math.h>
#include <sys/stat.h>

#include "agent/answers/figures.h"
#include "agent/answers/sheet.h"
#include "agent/report/common.h"
#include "agent/store/rundir.h"
#include "agent/store/series.h"

/* The name is last, whole on any terminal: it is what other commands are given. */
static const struct kgb_table_column columns[] = {
	{"status", "state", NULL}, {"operators", NULL, NULL},     {"passed", "passed", NULL},
	{"usd", "USD", NULL},      {"bytes", "MB on disk", NULL}, {"method", NULL, NULL},
	{"model", "model", NULL},  {"start_time", NULL, NULL},    {"path", NULL, NULL},
	{"run", "run", NULL},
};

/** Bytes that the files below take on the disk. */
static double size_on_disk(const char *path)
{
	KGB_AUTO(free) char *copy = kgb_xstrdup(path);
	char *const roots[] = {copy, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	double bytes = 0;
	if (!walk)
		return (double)NAN;
	for (const FTSENT *entry = fts_read(walk); entry; entry = fts_read(walk))
		if (entry->fts_info != FTS_DP && entry->fts_statp)
			bytes += 512.0 * (double)entry->fts_statp->st_blocks;
	fts_close(walk);
	return bytes;
}

static void add_run(struct kgb_table *table, const struct kgb_run_row *run)
{
	struct kgb_figures f;
	kgb_figures_of(run, NULL, &f);
	const double bytes = size_on_disk(run->path);
	kgb_table_word(table, run->status);
	kgb_table_number(table, (double)f.n, "%zu", f.n);
	kgb_table_number(table, (double)f.n_correct, "%zu/%zu", f.n_correct, f.n);
	kgb_table_number(table, f.dollars, "%.2f", f.dollars);
	kgb_table_number(table, bytes, "%.1f", bytes / 1e6);
	kgb_table_word(table, run->method);
	kgb_table_word(table, run->is_offline ? KGB_MARK_OFFLINE : run->model);
	kgb_table_word(table, run->start_time);
	kgb_table_word(table, run->path);
	KGB_AUTO(free) char *name = kgb_series_run_name(run->path);
	kgb_table_word(table, name);
}

/** All runs below the folder of runs, latest first, where none is named. */
static int name_all(struct kgb_cli *cli, struct kgb_err *err)
{
	KGB_AUTO(free) char *dir = kgb_config_runs(&cli->config);
	if (cli->operators.n > 0)
		return 0;
	if (kgb_rundir_list(dir, &cli->operators, err) < 0)
		return -1;
	if (cli->operators.n == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "there is no run in '%s' yet", dir);
	return 0;
}

static int list_runs(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {0};
	struct kgb_sheet sheet = {.schema = "kgb.runs/1", .tables = {{"runs", KGB_TABLE(columns)}}};
	if (name_all(cli, &err) < 0 || kgb_runs_open(cli, &runs, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	KGB_VEC_FOREACH(run, &runs.list)
		add_run(&sheet.tables[0].table, run);
	const int exit_code = kgb_sheet_print(cli, &sheet);
	kgb_sheet_release(&sheet);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"The runs that there are, latest first, or those named: a name, a folder, a folder of runs or a pattern.\n"
	"\n"
	"examples:\n"
	"  kgb-agent runs\n"
	"  kgb-agent runs 'llm_*' --csv\n"
	"\n"
	"exit status: 0, 2 usage or a file that cannot be read\n";

const struct kgb_command kgb_runs_command = {
	.usage = {.name = "runs",
		  .positional = "[RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Show the runs, their state and cost",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = list_runs,
};
