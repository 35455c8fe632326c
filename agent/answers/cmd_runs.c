/* SPDX-License-Identifier: MIT */
/** \file `runs`: lists runs.
 */
#include <fcntl.h>
#include <math.h>

#include "agent/answers/figures.h"
#include "agent/answers/prune_runs.h"
#include "agent/answers/sheet.h"
#include "agent/evidence/prune.h"
#include "agent/report/common.h"
#include "agent/store/rundir.h"
#include "agent/store/series.h"
#include "base/system/fs.h"
#include "sandbox/isolation/disk.h"

/* The name is the last column, so that no terminal cuts it: other commands take it as an
 * argument. */
static const struct kgb_table_column columns[] = {
	{"status", "state", NULL}, {"operators", NULL, NULL},     {"passed", "passed", NULL},
	{"usd", "USD", NULL},      {"bytes", "MB on disk", NULL}, {"pruned", NULL, NULL},
	{"method", NULL, NULL},    {"model", "model", NULL},      {"start_time", NULL, NULL},
	{"path", NULL, NULL},      {"run", "run", NULL},
};

/** Bytes that a run takes on the disk, and whether it was pruned. */
static double size_on_disk(const char *path, bool *is_pruned)
{
	struct kgb_disk_usage usage = {0};
	KGB_AUTO(fd) int fd = -1;
	*is_pruned = false;
	if (kgb_fs_opendir(AT_FDCWD, path, &fd, NULL) < 0 ||
	    kgb_disk_usage_add(fd, ".", &usage, NULL) < 0)
		return (double)NAN;
	*is_pruned = kgb_run_is_pruned(fd);
	return (double)usage.bytes;
}

static void add_run(struct kgb_table *table, const struct kgb_run_row *run)
{
	struct kgb_figures f;
	kgb_figures_of(run, NULL, &f);
	bool is_pruned;
	const double bytes = size_on_disk(run->path, &is_pruned);
	kgb_table_word(table, run->status);
	kgb_table_count(table, f.n);
	kgb_table_number(table, (double)f.n_correct, "%zu/%zu", f.n_correct, f.n);
	kgb_table_number(table, f.dollars, "%.2f", f.dollars);
	kgb_table_number(table, bytes, is_pruned ? "%.1f pruned" : "%.1f", bytes / 1e6);
	kgb_table_word(table, is_pruned ? "yes" : "no");
	kgb_table_word(table, run->method);
	kgb_table_word(table, run->is_offline ? KGB_MARK_OFFLINE : run->model);
	kgb_table_word(table, run->start_time);
	kgb_table_word(table, run->path);
	KGB_AUTO(free) char *name = kgb_series_run_name(run->path);
	kgb_table_word(table, name);
}

/** All runs below the folder of runs, latest first. For a command line that names none. */
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
	if (kgb_cli_take_action(cli, "prune"))
		return kgb_prune_runs(cli);
	if (name_all(cli, &err) < 0 || kgb_runs_open(cli, &runs, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	KGB_VEC_FOREACH(run, &runs.list)
		add_run(&sheet.tables[0].table, run);
	return kgb_sheet_end(cli, &sheet, 0, &err);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("older-than", 0, STR, older_than, "TIME",
			   "prune: only runs whose last record is older, such as 30d"),
	KGB_OPTION_OF_FLAG("dry-run", 'n', FLAG, dry_run, NULL,
			   "prune: delete nothing, print how much space it would free"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Lists all runs, the latest first, or those named: by a name, a folder, a folder of runs or a pattern.\n"
	"\n"
	"prune drops what no figure needs: the homes and workspaces of agents, their git histories and the recorded model\n"
	"requests. Results, journal, kernels, verdicts, samples, prompts and event streams stay. A pruned run cannot be\n"
	"replayed; all else works. A run that another process holds is left alone.\n"
	"\n"
	"examples:\n"
	"  kgb-agent runs\n"
	"  kgb-agent runs 'llm_*' --csv\n"
	"  kgb-agent runs prune --older-than 30d --dry-run\n"
	"\n"
	"exit status: 0, 1 a run could not be pruned, 2 usage or a file that cannot be read, 75 another process holds a\n"
	"run that is to be pruned\n";

const struct kgb_command kgb_runs_command = {
	.usage = {.name = "runs",
		  .positional = "[prune] [RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Show the runs, their state and cost, or drop bulky evidence",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = list_runs,
};
