/* SPDX-License-Identifier: MIT */
/** \file
 * `kgb-agent resume [RUN]`: continue a run that was interrupted, killed or stopped by its budget.
 */
#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "agent/run/run_series.h"
#include "agent/run/run_stages.h"
#include "base/log.h"

static int resume_run(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_run_plan work = KGB_RUN_PLAN_INIT;

	if (cli->series_path)
		return kgb_run_series_resume(cli, cli->series_path, &cli->series_runs);
	work.cli = cli;
	work.generate = true;
	work.resume = true;
	int rc = kgb_run_plan_rest(&work, &err);
	if (rc == 0 && work.n_specs == 0) {
		const struct kgb_sched_outcome nothing = {0};
		kgb_info("run %s is complete already", work.dir.name);
		int exit_code = kgb_run_report(&work, &nothing);
		kgb_run_plan_release(&work);
		return exit_code;
	}
	if (rc == 0)
		rc = kgb_run_plan_generation(&work, &err);
	if (rc == 0)
		rc = kgb_run_plan_environment(&work, &err);
	if (rc < 0) {
		kgb_run_plan_release(&work);
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	}
	return kgb_run_carry_out(&work, work.method.name, false);
}

static const struct kgb_opt options[] = {
	KGB_OPTIONS_OF_RUNS,
	KGB_OPTIONS_OF_SAMPLES,
	KGB_OPTION_SKIP_VERIFY,
	KGB_OPTION_RUNS_DIR,
	KGB_OPTION_OF_FLAG(
		"force", 0, FLAG, force, NULL,
		"continue even with another method, model, endpoint or gateway mode; the results say \"mixed\""),
	{0},
};

static const char help[] =
	"Continues a run that was interrupted, killed or stopped by its budget: operators without a verdict get their\n"
	"next attempt, and kernels without a verdict are judged. The run's own settings apply, except for the options given\n"
	"here. What the run has spent counts: after a budget is used up, give a larger one. Without RUN: the latest.\n"
	"Of a series (its folder is named), and of the latest run if it belongs to one, all unfinished runs go on.\n"
	"A run has one method, model, endpoint and gateway mode: another is refused without --force.\n"
	"\n"
	"examples:\n"
	"  kgb-agent resume\n"
	"  kgb-agent resume normal_cc_KernelGenBench_20261121T080000Z_0a1b --max-usd 20\n"
	"\n"
	"exit status: as of run\n";

const struct kgb_command kgb_resume_command = {
	.usage = {.name = "resume",
		  .positional = "[RUN]",
		  .max_positional = 1,
		  .summary = "Continue a run that did not reach its end",
		  .help = help,
		  .options = options},
	.one = "run",
	.own_config = true,
	.run = resume_run,
};
