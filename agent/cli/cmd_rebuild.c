/* SPDX-License-Identifier: MIT */
#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "agent/report/progress.h"
#include "agent/report/results.h"
#include "agent/store/events.h"
#include "base/formats/jsonw.h"
#include "base/log.h"

/** The journal is only read, a torn tail stays where it is: it is cut off by the next append.
 */
static int rebuild(const struct kgb_rundir *dir, struct kgb_run_state *state,
		   struct kgb_journal_scan *scan, struct kgb_err *err)
{
	if (kgb_journal_read(dir->fd, kgb_run_state_fold, state, scan, err) < 0 ||
	    kgb_progress_write(dir->fd, state, err) < 0 ||
	    kgb_results_write(dir->fd, state, err) < 0)
		return kgb_ctx(err, "run '%s'", dir->name);
	return 0;
}

static void describe(const struct kgb_cli *cli, const struct kgb_rundir *dir,
		     const struct kgb_journal_scan *scan, struct kgb_buf *out)
{
	if (!cli->flags.json) {
		kgb_buf_addf(out, "%s/%s\n%s/%s\n", dir->path, KGB_PROGRESS_NAME, dir->path,
			     KGB_RESULTS_NAME);
		return;
	}
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w, "{run: %s, path: %s, records: %ld, torn_bytes: %zu}", dir->name,
		      dir->path, scan->n_records, scan->torn_bytes);
	kgb_buf_addc(out, '\n');
}

static int rebuild_run(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *runs = kgb_config_runs(&cli->config);
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	KGB_AUTO(run_state) struct kgb_run_state state = KGB_RUN_STATE_INIT;
	struct kgb_journal_scan scan = {0};
	const char *run = cli->operators.n > 0 ? cli->operators.items[0] : NULL;
	if (kgb_rundir_open(&dir, runs, run, KGB_RUNDIR_LOCK, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (rebuild(&dir, &state, &scan, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	if (scan.torn_bytes > 0)
		kgb_warn("%s ends in %zu bytes of an unfinished record, which were not counted",
			 KGB_JOURNAL_NAME, scan.torn_bytes);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	describe(cli, &dir, &scan, &text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Writes progress.json and results.json of a run again from its journal, byte for byte the same. Without RUN:\n"
	"the latest run.\n"
	"\n"
	"exit status: 0, 2 there is no such run, 75 another process holds it\n";

const struct kgb_command kgb_rebuild_command = {
	.usage = {.name = "rebuild",
		  .positional = "[RUN]",
		  .max_positional = 1,
		  .summary = "Write a run's JSON files again from its journal",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = rebuild_run,
};
