/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "agent/cli/cmd.h"

#define FLAG(member) offsetof(struct kgb_flags, member)
#define ALL KGB_COMMAND_ANY

const struct kgb_opt kgb_cli_options[] = {
	{.name = "dataset",
	 .letter = 'd',
	 .type = KGB_OPT_STR,
	 .setting = "run.dataset",
	 .arg = "NAME",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_LIST | KGB_COMMAND_VERIFY | KGB_COMMAND_DATASET |
		     KGB_COMMAND_CONFIG,
	 .doc = "which operators exist (KernelGenBench, KernelGenBench-aten, ...)"},
	{.name = "method",
	 .letter = 'm',
	 .type = KGB_OPT_STR,
	 .setting = "run.method",
	 .arg = "NAME",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_DATASET | KGB_COMMAND_CONFIG,
	 .doc = "how kernels are produced; `list --methods` names them"},
	{.name = "from-run",
	 .type = KGB_OPT_STR,
	 .offset = FLAG(from_run),
	 .arg = "NAME",
	 .commands = KGB_COMMAND_RUN,
	 .doc = "begin with the kernels of that earlier run (name or directory); for methods that work in rounds"},
	{.name = "iterations",
	 .letter = 'i',
	 .type = KGB_OPT_INT,
	 .setting = "run.iterations",
	 .arg = "N",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_CONFIG,
	 .doc = "rounds at most of a method that works in rounds (default: as many as it says)"},
	{.name = "device-count",
	 .type = KGB_OPT_INT,
	 .setting = "run.device_count",
	 .arg = "N",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_CONFIG,
	 .doc = "operators worked on at the same time, each on a GPU of its own if there are so many"},
	{.name = "device",
	 .type = KGB_OPT_STR,
	 .setting = "run.device",
	 .arg = "WHERE",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_VERIFY |
		     KGB_COMMAND_DOCTOR | KGB_COMMAND_DATASET | KGB_COMMAND_CONFIG,
	 .doc = "judge on cpu, cuda, or GPUs by number (cuda:0,2), an operator on each; auto: GPUs if there are any"},
	{.name = "timeout",
	 .type = KGB_OPT_DURATION,
	 .setting = "limits.attempt_timeout",
	 .arg = "TIME",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_CONFIG,
	 .doc = "wall time of one attempt of an agent, such as 20m"},
	{.name = "timeout",
	 .type = KGB_OPT_DURATION,
	 .setting = "limits.verify_timeout",
	 .arg = "TIME",
	 .commands = KGB_COMMAND_VERIFY,
	 .doc = "wall time of the verification, such as 300s"},
	{.name = "max-tokens",
	 .type = KGB_OPT_INT,
	 .setting = "budget.run_tokens",
	 .arg = "N",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_CONFIG,
	 .doc = "tokens of all classes that the run may use; then it stops (--set budget... for each operator or attempt)"},
	{.name = "max-usd",
	 .type = KGB_OPT_STR,
	 .setting = "budget.run_usd",
	 .arg = "USD",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_CONFIG,
	 .doc = "dollars that the run may cost by the table of prices, such as 2.50; then it stops"},
	{.name = "isolation",
	 .type = KGB_OPT_STR,
	 .setting = "sandbox.isolation",
	 .arg = "LEVEL",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_DOCTOR | KGB_COMMAND_CONFIG,
	 .doc = "least isolation of agents that is accepted: L4 or L3 (the default); `doctor` shows the level of this machine"},
	{.name = "model",
	 .type = KGB_OPT_STR,
	 .setting = "model.name",
	 .arg = "NAME",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_CONFIG,
	 .doc = "model that the coding CLI asks for"},
	{.name = "skip-gen",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(skip_gen),
	 .commands = KGB_COMMAND_RUN,
	 .doc = "run no agent: verify the kernels of the latest run or of --run NAME again"},
	{.name = "run",
	 .type = KGB_OPT_STR,
	 .offset = FLAG(run),
	 .arg = "NAME",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_REBUILD,
	 .doc = "an earlier run (its name or directory), in place of the latest"},
	{.name = "kernels",
	 .type = KGB_OPT_STR,
	 .offset = FLAG(kernels),
	 .arg = "DIR",
	 .commands = KGB_COMMAND_RUN,
	 .doc = "verify the kernels of this directory (aten__add.py, ...); implies --skip-gen"},
	{.name = "skip-verify",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(skip_verify),
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME,
	 .doc = "produce kernels without the final verification"},
	{.name = "op",
	 .type = KGB_OPT_STR,
	 .offset = FLAG(op),
	 .arg = "NAME",
	 .commands = KGB_COMMAND_VERIFY,
	 .doc = "the operator that FILE implements"},
	{.name = "seed",
	 .type = KGB_OPT_STR,
	 .offset = FLAG(seed),
	 .arg = "HEX",
	 .commands = KGB_COMMAND_VERIFY,
	 .doc = "32 hex digits; the seed of an earlier verdict repeats its inputs (default: random)"},
	{.name = "baseline",
	 .type = KGB_OPT_STR,
	 .offset = FLAG(baseline),
	 .arg = "WHAT",
	 .commands = KGB_COMMAND_VERIFY,
	 .doc = "on a GPU, time it against torch, compile (torch.compile) or a kernel file (default: torch)"},
	{.name = "methods",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(methods),
	 .commands = KGB_COMMAND_LIST,
	 .doc = "list methods instead of operators"},
	{.name = "schema",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(schema),
	 .commands = KGB_COMMAND_CONFIG,
	 .doc = "print the JSON Schema of the configuration file"},
	{.name = "example",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(example),
	 .commands = KGB_COMMAND_CONFIG,
	 .doc = "print config.example.yaml"},
	{.name = "runs-dir",
	 .type = KGB_OPT_STR,
	 .setting = "paths.runs",
	 .arg = "DIR",
	 .commands = KGB_COMMAND_RUN | KGB_COMMAND_RESUME | KGB_COMMAND_REBUILD |
		     KGB_COMMAND_REPLAY | KGB_COMMAND_DOCTOR | KGB_COMMAND_CONFIG,
	 .doc = "where run directories are"},
	{.name = "config",
	 .letter = 'c',
	 .type = KGB_OPT_STR,
	 .offset = FLAG(config),
	 .arg = "FILE",
	 .commands = ALL,
	 .doc = "configuration file (default: $KGB_CONFIG, else config.yaml here, if there is one)"},
	{.name = "set",
	 .type = KGB_OPT_STRS,
	 .offset = FLAG(set),
	 .arg = "KEY=VALUE",
	 .commands = ALL,
	 .doc = "override any setting, such as --set limits.call_timeout=10s; may be repeated"},
	{.name = "dry-run",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(dry_run),
	 .commands = KGB_COMMAND_RUN,
	 .doc = "say what would be done, create and start nothing"},
	{.name = "json",
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(json),
	 .commands = ALL,
	 .doc = "print one JSON document on stdout"},
	{.name = "verbose",
	 .letter = 'v',
	 .type = KGB_OPT_COUNT,
	 .offset = FLAG(verbose),
	 .commands = ALL,
	 .doc = "also say what is refused or ended early; twice: where errors come from"},
	{.name = "quiet",
	 .letter = 'q',
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(quiet),
	 .commands = ALL,
	 .doc = "only warnings and errors on stderr"},
	{.name = "help",
	 .letter = 'h',
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(help),
	 .commands = ALL,
	 .doc = "this text"},
	{.name = "version",
	 .letter = 'V',
	 .type = KGB_OPT_FLAG,
	 .offset = FLAG(version),
	 .commands = ALL,
	 .doc = "versions of kgb-agent and of its libraries"},
	{0},
};

static const char run_help[] =
	"Operators may be written add, aten::add or aten__add, separated by commas or blanks; `all` means every\n"
	"operator of the dataset. The word `run` may be left out. With --skip-gen or --kernels the operators may\n"
	"be left out too: then it is all that have a kernel. Results go to runs/<method>_<dataset>_<time>_<id>/.\n"
	"\n"
	"With ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) in the environment the real API answers and is paid for;\n"
	"without it, or with --set gateway.mode=offline, a built-in script does.\n"
	"\n"
	"examples:\n"
	"  kgb-agent add -m normal_cc --device-count 1\n"
	"  kgb-agent add,softmax,mm -m naive_cc --model opus --timeout 10m\n"
	"  kgb-agent add -m autokernel --iterations 5\n"
	"  kgb-agent -m cuda_optimized_skill --from-run NAME   make the kernels of that run faster\n"
	"  kgb-agent --skip-gen                   verify the kernels of the latest run again\n"
	"  kgb-agent add --kernels DIR            verify DIR/aten__add.py\n"
	"  kgb-agent all --device cuda --device-count 4   four at a time, on the first four GPUs\n"
	"\n"
	"exit status: 0 all verified, 1 finished with failures, 2 usage, 3 configuration, 4 environment, 5 budget,\n"
	"70 internal error, 75 the run is held by another process, 130/143 interrupted\n";

static const char verify_help[] =
	"Prints a report, or with --json the verdict. The file's code runs in a sandbox; no model is asked.\n"
	"\n"
	"examples:\n"
	"  kgb-agent verify kernel.py --op aten::silu\n"
	"  kgb-agent verify kernel.py --op silu --device cuda:1 --baseline compile\n"
	"\n"
	"exit status: 0 passed, 1 not passed, 2 usage, 4 the check could not be run here\n";

static const char doctor_help[] =
	"Tries what a run needs and prints one line for each: PASS, WARN or FAIL, with the command that fixes it.\n"
	"\n"
	"exit status: 0 nothing failed, 4 something did\n";

static const char config_help[] =
	"Every setting with its value and where that comes from: default, file:line, environment variable, option.\n"
	"What it prints is itself a configuration file.\n"
	"\n"
	"exit status: 0, 2 usage, 3 the file or a variable is wrong\n";

static const char rebuild_help[] =
	"Writes progress.json and results.json of a run again from its journal. They come out byte for byte the same.\n"
	"Without --run: the latest run.\n"
	"\n"
	"exit status: 0, 2 there is no such run, 75 it is held by another process\n";

static const char resume_help[] =
	"Goes on with a run that was interrupted, killed or stopped by its budget: operators without a verdict get their\n"
	"next attempt, kernels that nobody judged are judged. The run's own settings hold, but for the options given\n"
	"here. What it has spent counts: with a budget that is used up give a larger one. Without RUN: the latest.\n"
	"\n"
	"examples:\n"
	"  kgb-agent resume\n"
	"  kgb-agent resume normal_cc_KernelGenBench_20261121T080000Z_0a1b --max-usd 20\n"
	"\n"
	"exit status: as of run\n";

static const char replay_help[] =
	"Runs the coding CLI of an earlier run once more, without a model, a judge and money: the model's answers and\n"
	"the verdicts come from the run's record. A request that is not in it is an error that names the nearest one\n"
	"and the difference. Without RUN: the latest. The replay is kept in RUN/replays/.\n"
	"\n"
	"examples:\n"
	"  kgb-agent replay\n"
	"  kgb-agent replay normal_cc_KernelGenBench_20261121T080000Z_0a1b --json\n"
	"\n"
	"exit status: 0 kernels and checked versions are byte for byte as recorded, 1 they are not, 2 there is no such\n"
	"run, 4 this machine lacks something\n";

static const char list_help[] =
	"Operators of the dataset, or those named; -v also shows their types and the functions of a kernel file.\n"
	"\n"
	"examples:\n"
	"  kgb-agent list\n"
	"  kgb-agent list add softmax -v\n"
	"  kgb-agent list --methods\n"
	"\n"
	"exit status: 0, 2 usage\n";

static const char dataset_help[] =
	"lint sees that prompts are in order and asks the reference for every case of every operator (or of those\n"
	"named): schemas agree with torch's, what is right is accepted, what is wrong is not, all arguments matter\n"
	"(docs/operator-spec.md). What was found good on the CPU is known until something changes. With --json one line\n"
	"for each. table prints docs/operators.md, prompt what an agent is told (of --method, on --device).\n"
	"\n"
	"examples:\n"
	"  kgb-agent dataset lint --dataset KernelGenBench-vllm\n"
	"  kgb-agent dataset lint add mm --device cuda\n"
	"  kgb-agent dataset table >docs/operators.md\n"
	"\n"
	"exit status: 0 all is well, 1 not, 2 usage, 4 the lint could not be run here\n";

const struct kgb_subcommand kgb_cli_commands[] = {
	{.name = "run",
	 .bit = KGB_COMMAND_RUN,
	 .positional = "OPERATOR...",
	 .max_positional = SIZE_MAX,
	 .summary = "Let an agent write kernels and judge them; the default command",
	 .help = run_help},
	{.name = "verify",
	 .bit = KGB_COMMAND_VERIFY,
	 .positional = "FILE",
	 .max_positional = 1,
	 .summary = "Judge one kernel file",
	 .help = verify_help},
	{.name = "list",
	 .bit = KGB_COMMAND_LIST,
	 .positional = "[OPERATOR...]",
	 .max_positional = SIZE_MAX,
	 .summary = "Show operators or methods",
	 .help = list_help},
	{.name = "dataset",
	 .bit = KGB_COMMAND_DATASET,
	 .positional = "lint|table|prompt [OPERATOR...]",
	 .max_positional = SIZE_MAX,
	 .summary = "Check the operators' specs, print the table of them, or their prompts",
	 .help = dataset_help},
	{.name = "doctor",
	 .bit = KGB_COMMAND_DOCTOR,
	 .summary = "Check this machine",
	 .help = doctor_help},
	{.name = "config",
	 .bit = KGB_COMMAND_CONFIG,
	 .summary = "Show the resolved settings",
	 .help = config_help},
	{.name = "rebuild",
	 .bit = KGB_COMMAND_REBUILD,
	 .summary = "Write a run's JSON files again from its journal",
	 .help = rebuild_help},
	{.name = "resume",
	 .bit = KGB_COMMAND_RESUME,
	 .positional = "[RUN]",
	 .max_positional = 1,
	 .summary = "Go on with a run that did not come to its end",
	 .help = resume_help},
	{.name = "replay",
	 .bit = KGB_COMMAND_REPLAY,
	 .positional = "[RUN]",
	 .max_positional = 1,
	 .summary = "Run the agents of an earlier run again from its record",
	 .help = replay_help},
	{0},
};
