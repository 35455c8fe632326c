/* SPDX-License-Identifier: MIT */
/** \file
 * Options that several subcommands have, as rows for their tables (opt.h). An option with a setting
 * overrides that setting and needs no other code.
 */
#ifndef KGB_AGENT_CLI_SHARED_OPTIONS_H
#define KGB_AGENT_CLI_SHARED_OPTIONS_H

#include <stddef.h>

#include "agent/cli/cmd.h"

/** The offset of a value in struct kgb_flags. */
#define KGB_FLAG(member) offsetof(struct kgb_flags, member)

#define KGB_OPTION_DATASET                                                                       \
	{                                                                                        \
		.name = "dataset", .letter = 'd', .type = KGB_OPT_STR, .setting = "run.dataset", \
		.arg = "NAME",                                                                   \
		.doc = "which operators exist (KernelGenBench, KernelGenBench-aten, ...)"        \
	}
#define KGB_OPTION_METHOD                                                                      \
	{                                                                                      \
		.name = "method", .letter = 'm', .type = KGB_OPT_STR, .setting = "run.method", \
		.arg = "NAME", .doc = "how kernels are produced; `list --methods` names them"  \
	}
#define KGB_OPTION_ITERATIONS                                                                            \
	{                                                                                                \
		.name = "iterations", .letter = 'i', .type = KGB_OPT_INT,                                \
		.setting = "run.iterations", .arg = "N",                                                 \
		.doc = "most rounds of a method that works in rounds (default: the method's own number)" \
	}
#define KGB_OPTION_DEVICE_COUNT                                                                              \
	{                                                                                                    \
		.name = "device-count", .type = KGB_OPT_INT, .setting = "run.device_count",                  \
		.arg = "N",                                                                                  \
		.doc = "operators to work on at the same time, each on a GPU of its own if there are enough" \
	}
#define KGB_OPTION_DEVICE                                                                                                    \
	{                                                                                                                    \
		.name = "device", .type = KGB_OPT_STR, .setting = "run.device", .arg = "WHERE",                              \
		.doc = "judge on cpu, cuda, or GPUs by number (cuda:0,2), one operator on each; auto: GPUs if there are any" \
	}
#define KGB_OPTION_MAX_TOKENS                                                                                                         \
	{                                                                                                                             \
		.name = "max-tokens", .type = KGB_OPT_INT, .setting = "budget.run_tokens",                                            \
		.arg = "N",                                                                                                           \
		.doc = "tokens of all classes that the run may use before it stops (--set budget... limits each operator or attempt)" \
	}
#define KGB_OPTION_MAX_USD                                                                                    \
	{                                                                                                     \
		.name = "max-usd", .type = KGB_OPT_STR, .setting = "budget.run_usd", .arg = "USD",            \
		.doc = "dollars that the run may cost, by the table of prices, before it stops; such as 2.50" \
	}
#define KGB_OPTION_ISOLATION                                                                                                          \
	{                                                                                                                             \
		.name = "isolation", .type = KGB_OPT_STR, .setting = "sandbox.isolation",                                             \
		.arg = "LEVEL",                                                                                                       \
		.doc = "least isolation of agents that is accepted: L4 or L3 (the default); `doctor` shows the level of this machine" \
	}
#define KGB_OPTION_MODEL                                                                      \
	{                                                                                     \
		.name = "model", .type = KGB_OPT_STR, .setting = "model.name", .arg = "NAME", \
		.doc = "model that the coding CLI requests"                                   \
	}
#define KGB_OPTION_RUN                                                                      \
	{                                                                                   \
		.name = "run", .type = KGB_OPT_STR, .offset = KGB_FLAG(run), .arg = "NAME", \
		.doc = "an earlier run (name or directory) instead of the latest"           \
	}
#define KGB_OPTION_SKIP_VERIFY                                                                \
	{                                                                                     \
		.name = "skip-verify", .type = KGB_OPT_FLAG, .offset = KGB_FLAG(skip_verify), \
		.doc = "produce kernels without the final verification"                       \
	}
#define KGB_OPTION_RUNS_DIR                                                                     \
	{                                                                                       \
		.name = "runs-dir", .type = KGB_OPT_STR, .setting = "paths.runs", .arg = "DIR", \
		.doc = "directory of runs"                                                      \
	}
#define KGB_OPTION_ATTEMPT_TIMEOUT                                                                \
	{                                                                                         \
		.name = "timeout", .type = KGB_OPT_DURATION, .setting = "limits.attempt_timeout", \
		.arg = "TIME", .doc = "wall time of one attempt of an agent, such as 20m"         \
	}
/** What a run may do and cost: of the commands that run, and of `config`. */
#define KGB_OPTIONS_OF_RUNS                                                \
	KGB_OPTION_ITERATIONS, KGB_OPTION_DEVICE_COUNT, KGB_OPTION_DEVICE, \
		KGB_OPTION_ATTEMPT_TIMEOUT, KGB_OPTION_MAX_TOKENS, KGB_OPTION_MAX_USD

#endif
