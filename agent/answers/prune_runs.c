/* SPDX-License-Identifier: MIT */
#include "agent/answers/prune_runs.h"

#include <math.h>

#include "agent/answers/sheet.h"
#include "agent/evidence/prune.h"
#include "agent/store/journal.h"
#include "agent/store/series.h"
#include "base/log.h"
#include "base/time.h"

#define MEGA 1e6

static const struct kgb_table_column columns[] = {
	{"bytes_before", "MB before", NULL},
	{"bytes_after", "MB after", NULL},
	{"folders", "folders", NULL},
	{"outcome", "outcome", NULL},
	{"path", NULL, NULL},
	{"run", "run", NULL},
};

struct sweep {
	struct kgb_sheet sheet;
	double bytes_before, bytes_after;
	bool has_age;
	int64_t newest_ms; /* with an age: runs with a later record stay */
	bool is_dry_run, is_sweep; /* the runs are not named one by one */
	bool some_held, some_failed;
};

static void add_row(struct sweep *sweep, const char *path, const struct kgb_pruning *pruning,
		    const char *outcome)
{
	struct kgb_table *table = &sweep->sheet.tables[0].table;
	const double before = pruning ? (double)pruning->bytes_before : (double)NAN;
	const double after = pruning ? (double)pruning->bytes_after : (double)NAN;
	KGB_AUTO(free) char *name = kgb_series_run_name(path);
	kgb_table_number(table, before, "%.1f", before / MEGA);
	kgb_table_number(table, after, "%.1f", after / MEGA);
	kgb_table_number(table, pruning ? (double)pruning->n_folders : (double)NAN, "%lld",
			 pruning ? (long long)pruning->n_folders : 0LL);
	kgb_table_word(table, outcome);
	kgb_table_word(table, path);
	kgb_table_word(table, name);
	sweep->bytes_before += pruning ? before : 0;
	sweep->bytes_after += pruning ? after : 0;
}

static const char *outcome_of(const struct sweep *sweep, const struct kgb_pruning *pruning)
{
	if (pruning->n_folders == 0)
		return "nothing to drop";
	return sweep->is_dry_run ? "would be pruned" : "pruned";
}

/** A run that another process holds stays as it is; the others go on. */
static void on_failure(struct sweep *sweep, const char *path, const struct kgb_err *failure)
{
	const bool is_held = failure->kind == KGB_ERR_BUSY;
	sweep->some_held = sweep->some_held || (is_held && !sweep->is_sweep);
	sweep->some_failed = sweep->some_failed || !is_held;
	kgb_warn("%s", failure->msg);
	add_row(sweep, path, NULL, is_held ? "running: left alone" : "failed");
}

static void prune_one(struct sweep *sweep, const char *runs_dir, const char *path)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_journal_scan scan = {0};
	struct kgb_pruning pruning;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	if (sweep->has_age) {
		KGB_AUTO(rundir) struct kgb_rundir look = KGB_RUNDIR_INIT;
		if (kgb_rundir_open(&look, runs_dir, path, KGB_RUNDIR_READ, &err) < 0 ||
		    kgb_journal_read(look.fd, NULL, NULL, &scan, &err) < 0) {
			on_failure(sweep, path, &err);
			return;
		}
		if (scan.last_time_ms > sweep->newest_ms)
			return;
	}
	if (kgb_rundir_open(&dir, runs_dir, path, KGB_RUNDIR_LOCK, &err) < 0 ||
	    kgb_prune_run(&dir, sweep->is_dry_run, &pruning, &err) < 0) {
		on_failure(sweep, path, &err);
		return;
	}
	add_row(sweep, path, &pruning, outcome_of(sweep, &pruning));
}

static int find_runs(struct kgb_cli *cli, const char *runs_dir, struct sweep *sweep,
		     struct kgb_strv *paths, struct kgb_err *err)
{
	const char *age = cli->flags.older_than;
	int64_t age_ms = 0;
	if (age && kgb_parse_duration_ms(age, &age_ms, err) < 0)
		return kgb_ctx(err, "--older-than");
	sweep->has_age = age != NULL;
	sweep->newest_ms = kgb_wall_ms() - age_ms;
	sweep->is_sweep = cli->operators.n == 0;
	if (sweep->is_sweep && !age)
		return kgb_fail(err, KGB_ERR_INVALID,
				"name the runs to prune, or give --older-than 30d for all that are "
				"older");
	if (sweep->is_sweep && kgb_rundir_list(runs_dir, &cli->operators, err) < 0)
		return -1;
	return cli->operators.n > 0 ? kgb_runs_find(runs_dir, &cli->operators, paths, err) : 0;
}

int kgb_prune_runs(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *runs_dir = kgb_config_runs(&cli->config);
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	struct sweep sweep = {
		.sheet = {.schema = "kgb.prune/1", .tables = {{"runs", KGB_TABLE(columns)}}},
		.is_dry_run = cli->flags.dry_run};
	if (kgb_sheet_check_form(cli, &err) < 0 ||
	    find_runs(cli, runs_dir, &sweep, &paths, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	for (size_t i = 0; i < paths.n; i++)
		prune_one(&sweep, runs_dir, paths.items[i]);
	kgb_strv_addf(&sweep.sheet.notes, "%s%zu of %zu runs: %.1f MB before, %.1f MB after",
		      sweep.is_dry_run ? "dry run, nothing is dropped: " : "",
		      kgb_table_n_rows(&sweep.sheet.tables[0].table), paths.n,
		      sweep.bytes_before / MEGA, sweep.bytes_after / MEGA);
	int exit_code = kgb_sheet_print(cli, &sweep.sheet);
	kgb_sheet_release(&sweep.sheet);
	if (exit_code == KGB_EXIT_OK && sweep.some_failed)
		exit_code = KGB_EXIT_FAILURES;
	else if (exit_code == KGB_EXIT_OK && sweep.some_held)
		exit_code = KGB_EXIT_LOCKED;
	return exit_code;
}
