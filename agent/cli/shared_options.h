/* SPDX-License-Identifier: MIT */
/** \file
 * Options that several subcommands have, as rows for their tables (opt.h). An option with a setting
 * overrides that setting and needs no other code.
 */
#ifndef KGB_AGENT_CLI_SHARED_OPTIONS_H
#define KGB_AGENT_CLI_SHARED_OPTIONS_H

#include <stddef.h>

#include "agent/cli/cmd.h"

/** A row for an option that overrides a setting, and for one with a value in struct kgb_flags. */
#define KGB_OPTION_OF_SETTING(text, short, key, value, sentence)                          \
	{                                                                                 \
		.name = (text), .letter = (short), .type = KGB_OPT_STR, .setting = (key), \
		.arg = (value), .doc = (sentence)                                         \
	}
#define KGB_OPTION_OF_FLAG(text, short, kind, member, value, sentence)                          \
	{                                                                                       \
		.name = (text), .letter = (short), .type = KGB_OPT_##kind,                      \
		.offset = offsetof(struct kgb_flags, member), .arg = (value), .doc = (sentence) \
	}

#define KGB_OPTION_DATASET                             \
	KGB_OPTION_OF_SETTING(                         \
		"dataset", 'd', "run.dataset", "NAME", \
		"the dataset that has the operators (KernelGenBench, KernelGenBench-aten, ...)")
/** For the commands on operators. */
#define KGB_OPTIONS_OF_SELECTION                                                               \
	KGB_OPTION_OF_FLAG("source", 0, STR, source, "NAME",                                   \
			   "only operators of these sources: aten, cublas, vllm"),             \
		KGB_OPTION_OF_FLAG("category", 0, STR, category, "NAME",                       \
				   "only operators of these categories, such as Reduce,Loss"), \
		KGB_OPTION_OF_FLAG(                                                            \
			"failed-of", 0, STR, failed_of, "RUN",                                 \
			"only operators that one of these runs has and that passed in none"),  \
		KGB_OPTION_OF_FLAG("not-in", 0, STR, not_in, "RUN",                            \
				   "only operators that none of these runs has, such as RUN,RUN")
#define KGB_OPTION_METHOD                                          \
	KGB_OPTION_OF_SETTING("method", 'm', "run.method", "NAME", \
			      "how kernels are produced; `list --methods` names them")
#define KGB_OPTION_ITERATIONS                             \
	KGB_OPTION_OF_SETTING(                            \
		"iterations", 'i', "run.iterations", "N", \
		"most rounds of a method that works in rounds (default: the method's own number)")
#define KGB_OPTION_DEVICE_COUNT                             \
	KGB_OPTION_OF_SETTING(                              \
		"device-count", 0, "run.device_count", "N", \
		"operators to work on at the same time, each on a GPU of its own if there are enough")
#define KGB_OPTION_DEVICE                           \
	KGB_OPTION_OF_SETTING(                      \
		"device", 0, "run.device", "WHERE", \
		"judge on cpu, cuda, or GPUs by number (cuda:0,2); auto: GPUs if there are any")
#define KGB_OPTION_TIMING_PRECISION                                     \
	KGB_OPTION_OF_SETTING(                                          \
		"timing-precision", 0, "run.timing_precision", "LEVEL", \
		"how precisely a GPU times the final kernel: quick, standard (the default) or thorough")
#define KGB_OPTION_MAX_TOKENS                              \
	KGB_OPTION_OF_SETTING(                             \
		"max-tokens", 0, "budget.run_tokens", "N", \
		"tokens of all classes that the run may use before it stops (--set budget... limits each operator or attempt)")
#define KGB_OPTION_MAX_USD                             \
	KGB_OPTION_OF_SETTING(                         \
		"max-usd", 0, "budget.run_usd", "USD", \
		"dollars that the run may cost, by the table of prices, before it stops; such as 2.50")
#define KGB_OPTION_ISOLATION                                  \
	KGB_OPTION_OF_SETTING(                                \
		"isolation", 0, "sandbox.isolation", "LEVEL", \
		"least isolation of agents that is accepted: L4 or L3 (the default); `doctor` shows the level of this machine")
#define KGB_OPTION_MODEL                                                                \
	KGB_OPTION_OF_SETTING("model", 0, "model.name", "NAME",                         \
			      "model that the coding CLI requests, or the bare model"), \
		KGB_OPTION_OF_SETTING("model-name", 0, "model.name", "NAME",            \
				      "the same as --model")
/** Request settings of a bare model (method llm). */
#define KGB_OPTIONS_OF_SAMPLES                                                                                           \
	KGB_OPTION_OF_SETTING(                                                                                           \
		"server-type", 0, "model.server", "TYPE",                                                                \
		"protocol of a bare model's server: anthropic, openai, openai-responses, auto; any other name: openai"), \
		KGB_OPTION_OF_SETTING("samples", 0, "model.samples", "N",                                                \
				      "answers of a bare model for each operator"),                                      \
		{.name = "reflection",                                                                                   \
		 .type = KGB_OPT_FLAG,                                                                                   \
		 .setting = "model.reflection",                                                                          \
		 .doc = "show a bare model the verdict on its kernel and ask again"},                                    \
		KGB_OPTION_OF_SETTING(                                                                                   \
			"max-rounds", 0, "model.max_rounds", "N",                                                        \
			"rounds with --reflection at most; without, the same as --samples"),                             \
		KGB_OPTION_OF_SETTING("choices", 0, "model.choices", "N",                                                \
				      "samples that one request asks for (OpenAI's n)"),                                 \
		{.name = "batch",                                                                                        \
		 .type = KGB_OPT_FLAG,                                                                                   \
		 .setting = "model.batch",                                                                               \
		 .doc = "ask a bare model by way of the provider's batches, for half the price"},                        \
		KGB_OPTION_OF_SETTING("concurrency", 0, "model.concurrency", "N",                                        \
				      "questions to a bare model at the same time"),                                     \
		KGB_OPTION_OF_SETTING("num-workers", 0, "model.concurrency", "N",                                        \
				      "the same as --concurrency"),                                                      \
		KGB_OPTION_OF_SETTING("temperature", 0, "model.temperature", "T",                                        \
				      "sampling temperature of a bare model"),                                           \
		KGB_OPTION_OF_SETTING("top-p", 0, "model.top_p", "P",                                                    \
				      "share of the probability from which a bare model samples"),                       \
		KGB_OPTION_OF_SETTING("max-output", 0, "model.max_output", "N",                                          \
				      "tokens of one answer of a bare model at most"),                                   \
		KGB_OPTION_OF_SETTING("reasoning-effort", 0, "model.effort", "LEVEL",                                    \
				      "effort of reasoning of a bare model, such as low")
#define KGB_OPTION_RUN                                 \
	KGB_OPTION_OF_FLAG("run", 0, STR, run, "NAME", \
			   "an earlier run (name or directory) instead of the latest")
#define KGB_OPTION_SKIP_VERIFY                                        \
	KGB_OPTION_OF_FLAG("skip-verify", 0, FLAG, skip_verify, NULL, \
			   "produce kernels without the final verification")
#define KGB_OPTION_RUNS_DIR                                                             \
	KGB_OPTION_OF_SETTING("runs-dir", 0, "paths.runs", "DIR", "directory of runs"), \
		KGB_OPTION_OF_SETTING("output-dir", 0, "paths.runs", "DIR",             \
				      "the same as --runs-dir")
#define KGB_OPTION_ATTEMPT_TIMEOUT                                            \
	KGB_OPTION_OF_SETTING("timeout", 0, "limits.attempt_timeout", "TIME", \
			      "wall time of one attempt of an agent, such as 20m")
/** Limits and costs of a run: for the commands that run, and for `config`. */
#define KGB_OPTIONS_OF_RUNS                                                                     \
	KGB_OPTION_ITERATIONS, KGB_OPTION_DEVICE_COUNT, KGB_OPTION_DEVICE,                      \
		KGB_OPTION_TIMING_PRECISION, KGB_OPTION_ATTEMPT_TIMEOUT, KGB_OPTION_MAX_TOKENS, \
		KGB_OPTION_MAX_USD

#endif
