/* SPDX-License-Identifier: MIT */
/** \file
 * `kgb-agent [OPERATORS]`: plan, generate, verify; and `--skip-gen`: verify existing kernels
 * again. */
#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "agent/run/run_series.h"
#include "agent/run/run_stages.h"

/** Refuse options that contradict each other: never guess before spending money. */
static int check_flags(const struct kgb_run_plan *plan, struct kgb_err *err)
{
	const struct kgb_flags *flags = &plan->cli->flags;
	if (flags->run && flags->kernels)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--run and --kernels both name kernels to verify: give one of them");
	if (flags->run && plan->generate)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--run names an earlier run to verify: add --skip-gen");
	if (flags->skip_verify && !plan->generate)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--skip-verify leaves nothing to do without generation");
	if (flags->from_run && !plan->generate)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--from-run names kernels to go on from, but no agent is going to run");
	if (flags->test_type && !kgb_str_eq(flags->test_type, "triton"))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--test-type '%s': there is one type, triton; each verdict has correctness and, on a GPU, times",
			flags->test_type);
	if (flags->op_name && (flags->single_test || flags->debug))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--op-name names the operator: leave out --single-test and --debug");
	if ((flags->single_test || flags->debug) && !kgb_cli_is_open(plan->cli))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--single-test and --debug choose among all operators: leave out the names");
	if (flags->single_test && kgb_run_series_is_asked(plan->cli) &&
	    plan->cli->config.settings.model.seed < 0)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--single-test would draw another operator for each method: fix the draw with --set model.seed=N, or name the operator");
	if (flags->single_test && flags->debug)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--single-test is for one operator, --debug for eight: give one of them");
	if (plan->generate && !kgb_cli_has_operators(plan->cli) && !flags->from_run &&
	    !flags->single_test && !flags->debug)
		return kgb_fail(err, KGB_ERR_INVALID,
				"name the operators, or `all`: see `kgb-agent list`");
	return 0;
}

/** Check operators and method; the caller reports their faults together with those of the
 * settings. */
static void check_names(struct kgb_cli *cli, struct kgb_faults *faults)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT, paths = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv methods = KGB_STRV_INIT;
	if (kgb_cli_has_operators(cli))
		kgb_cli_find_operators(cli, &names, &paths, faults);
	if (cli->flags.skip_gen || cli->flags.kernels)
		return;
	kgb_run_series_methods(cli, &methods, faults);
}

static int plan(struct kgb_run_plan *plan, bool earlier, struct kgb_err *err)
{
	const char *kernels = plan->cli->flags.kernels;

	if (check_flags(plan, err) < 0)
		return -1;
	if (earlier ? kgb_run_plan_earlier(plan, err) < 0 : kgb_run_plan_operators(plan, err) < 0)
		return -1;
	if (kernels && kgb_run_plan_foreign(plan, kernels, err) < 0)
		return kgb_ctx(err, "--kernels");
	if (plan->generate && kgb_run_plan_generation(plan, err) < 0)
		return -1;
	return kgb_run_plan_environment(plan, err);
}

/** Several methods, or one several times. */
static int make_series(struct kgb_cli *cli)
{
	const struct kgb_run_plan whole = {.cli = cli, .generate = true};
	struct kgb_err err = KGB_ERR_INIT;
	return check_flags(&whole, &err) < 0 ? kgb_cli_fail(&err, KGB_EXIT_USAGE)
					     : kgb_run_series(cli);
}

static int run_operators(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_run_plan work = KGB_RUN_PLAN_INIT;
	const bool generate = !cli->flags.skip_gen && !cli->flags.kernels;
	if (generate && kgb_run_series_is_asked(cli))
		return make_series(cli);
	const bool earlier = cli->flags.skip_gen && !cli->flags.kernels;

	work.cli = cli;
	work.generate = generate;
	if (plan(&work, earlier, &err) < 0) {
		kgb_run_plan_release(&work);
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	}
	const char *method = work.generate ? work.method.name
			     : earlier     ? kgb_run_log_state(work.log)->maker.method
					   : KGB_METHOD_KERNELS;
	if (!cli->flags.dry_run)
		return kgb_run_carry_out(&work, method, !earlier);
	int exit_code = kgb_run_print_plan(&work, method);
	kgb_run_plan_release(&work);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DATASET,
	KGB_OPTIONS_OF_SELECTION,
	KGB_OPTION_OF_SETTING(
		"method", 'm', "run.method", "NAME,...",
		"how kernels are produced; `list --methods` names them; several make a series"),
	KGB_OPTION_OF_SETTING(
		"repeat", 0, "run.repeats", "N",
		"number of runs of each method; they form a series whose operators take turns"),
	KGB_OPTION_OF_FLAG("op-name", 0, STR, op_name, "NAME", "the same as an operator"),
	KGB_OPTION_OF_FLAG("single-test", 0, FLAG, single_test, NULL,
			   "one operator, drawn by model.seed or anew each time"),
	KGB_OPTION_OF_FLAG("debug", 0, FLAG, debug, NULL,
			   "eight operators, spread over the dataset"),
	KGB_OPTION_OF_FLAG("resume-from", 0, STR, resume_from, "RUN", "the same as `resume RUN`"),
	KGB_OPTION_OF_FLAG("test-type", 0, STR, test_type, "TYPE", "triton, the only type"),
	KGB_OPTION_OF_FLAG(
		"from-run", 0, STR, from_run, "NAME",
		"start from the kernels of that earlier run (name or directory); for methods that work in rounds"),
	KGB_OPTIONS_OF_RUNS,
	KGB_OPTIONS_OF_SAMPLES,
	KGB_OPTION_ISOLATION,
	KGB_OPTION_MODEL,
	KGB_OPTION_OF_FLAG(
		"skip-gen", 0, FLAG, skip_gen, NULL,
		"run no agent: verify the kernels of the latest run, or of --run NAME, again"),
	KGB_OPTION_RUN,
	KGB_OPTION_OF_FLAG(
		"kernels", 0, STR, kernels, "DIR",
		"verify the kernels of this directory (aten__add.py, ...); implies --skip-gen"),
	KGB_OPTION_SKIP_VERIFY,
	KGB_OPTION_RUNS_DIR,
	KGB_OPTION_OF_FLAG("dry-run", 0, FLAG, dry_run, NULL,
			   "print the plan; create and start nothing"),
	{0},
};

static const char help[] =
	"Operators may be written add, aten::add or aten__add, separated by commas or blanks; they may be patterns\n"
	"('*softmax*', 'aten::*'), and @FILE has one on each line, where # begins a comment. `all` means every\n"
	"operator of the dataset; --source, --category, --failed-of and --not-in leave others out. The word `run` may\n"
	"be left out. With --skip-gen or --kernels the operators may be left out too: then all that have a kernel are\n"
	"verified. Results go to runs/<method>_<dataset>_<time>_<id>/, those of several methods or repetitions to\n"
	"runs/series_<dataset>_<time>_<id>/.\n"
	"\n"
	"With ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) in the environment the real API answers, and charges for it;\n"
	"without it, or with --set gateway.mode=offline, a built-in script answers.\n"
	"\n"
	"examples:\n"
	"  kgb-agent add -m normal_cc --device-count 1\n"
	"  kgb-agent add,softmax,mm -m naive_cc --model opus --timeout 10m\n"
	"  kgb-agent all -m naive_cc,normal_cc --repeat 5 --max-usd 20   ten runs in one folder, $20 each at most\n"
	"  kgb-agent add -m autokernel --iterations 5\n"
	"  kgb-agent --category Reduce --failed-of RUN -m normal_cc\n"
	"  kgb-agent -m cuda_optimized_skill --from-run NAME   make the kernels of that run faster\n"
	"  kgb-agent --skip-gen                   verify the kernels of the latest run again\n"
	"  kgb-agent add --kernels DIR            verify DIR/aten__add.py\n"
	"  kgb-agent all --device cuda --device-count 4   four at a time, on the first four GPUs\n"
	"\n"
	"exit status: 0 all verified, 1 finished with failures, 2 usage, 3 configuration, 4 environment, 5 budget,\n"
	"70 internal error, 75 another process holds the run, 129/130/143 interrupted\n";

const struct kgb_command kgb_run_command = {
	.usage = {.name = "run",
		  .positional = "OPERATOR...",
		  .max_positional = SIZE_MAX,
		  .summary = "Let an agent write kernels and judge them; the default command",
		  .help = help,
		  .options = options},
	.check_names = check_names,
	.run = run_operators,
};
