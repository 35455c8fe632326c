/* SPDX-License-Identifier: MIT */
#include "agent/config/config.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/system/fs.h"
#include "base/system/install.h"
#include "methods/method.h"

#define DEFAULT_FILE "config.yaml"

/* A row of a section's table. A text with a default of "\"\"" may be empty. */
#define SETTING(section, member, kind, ...)                                         \
	{                                                                           \
		KGB_FIELD(struct kgb_settings_##section, member, kind), __VA_ARGS__ \
	}

static const struct kgb_field paths_table[] = {
	SETTING(paths, runs, STR, .def = "runs",
		.doc = "Directory of the run directories, relative to the working directory."),
	SETTING(paths, python, STR, .def = "\"\"",
		.doc = "Python interpreter with torch and triton; empty: .deps/venv/bin/python, as bootstrap installs it."),
	SETTING(paths, claude, STR, .def = "\"\"",
		.doc = "Claude Code's native binary; empty: the one that bootstrap installs below .deps/cli."),
	SETTING(paths, opencode, STR, .def = "\"\"",
		.doc = "OpenCode's native binary; empty: the one that bootstrap installs."),
	SETTING(paths, codex, STR, .def = "\"\"",
		.doc = "Codex's native binary; empty: the one that bootstrap installs."),
	SETTING(paths, command, STR, .def = "\"\"",
		.doc = "The program of the method `command`: a file, or a folder with an executable `run`."),
	SETTING(paths, prices, STR, .def = "\"\"",
		.doc = "Table of the prices of models; empty: datasets/prices.yaml."),
	KGB_FIELD_END,
};

static const struct kgb_field run_table[] = {
	SETTING(run, dataset, STR, .def = "KernelGenBench", .doc = "Set of operators (-d)."),
	SETTING(run, method, STR, .def = "normal_cc",
		.doc = "Method that produces kernels (-m), or several separated by commas, as a series; `kgb-agent list --methods` names the methods."),
	SETTING(run, device, STR, .def = "auto",
		.doc = "Devices that judge kernels (--device). cpu; cuda: the first GPUs; cuda:0,2: these GPUs; auto: GPUs if there are any."),
	SETTING(run, device_count, I64, .min = 1, .max = 256, .def = "1",
		.doc = "Operators at the same time, each on a separate GPU if there are so many (--device-count)."),
	SETTING(run, max_attempts, I64, .min = 1, .max = 10, .def = "3",
		.doc = "Attempts per operator at most; only a fault of the provider or of this machine leads to another attempt."),
	SETTING(run, iterations, I64, .min = 0, .max = KGB_METHOD_ITERATIONS_MAX, .def = "0",
		.doc = "Rounds at most of a method that works in rounds (--iterations); 0: the method's number."),
	SETTING(run, repeats, I64, .min = 1, .max = KGB_REPEATS_MAX, .def = "1",
		.doc = "Runs of each method, as a series (--repeat)."),
	SETTING(run, repetition, I64, .min = 1, .max = KGB_REPEATS_MAX, .def = "1",
		.doc = "Number of a run among those of its method; a series sets it."),
	SETTING(run, timing_precision, ENUM, .names = kgb_timing_precision_names,
		.def = KGB_TIMING_PRECISION,
		.doc = "How precisely a GPU times the final kernel (--timing-precision). quick: speedups within 2 %, in up to 0.4 s for each benchmark; standard: within 1 %; thorough: for figures to publish, several times as long. Checks of agents are quick."),
	KGB_FIELD_END,
};

#define SECOND_MS 1000
#define DAY_MS (24 * 3600 * SECOND_MS)

static const struct kgb_field limits_table[] = {
	SETTING(limits, attempt_timeout, DURATION, .min = SECOND_MS, .max = DAY_MS, .def = "20m",
		.doc = "Wall time of one attempt of an agent (--timeout)."),
	SETTING(limits, verify_timeout, DURATION, .min = SECOND_MS, .max = DAY_MS,
		.def = KGB_VERIFY_TIMEOUT, .doc = "Wall time of one verification."),
	SETTING(limits, call_timeout, DURATION, .min = SECOND_MS, .max = DAY_MS,
		.def = KGB_CALL_TIMEOUT, .doc = "Wall time of one call of a candidate's function."),
	SETTING(limits, verify_calls, I64, .min = 1, .max = 10000, .def = "50",
		.doc = "Checks that the agent may request in one attempt."),
	SETTING(limits, memory, SIZE, .min = 256 << 20, .max = (int64_t)1 << 42,
		.def = KGB_CANDIDATE_MEMORY, .doc = "Memory of a candidate under verification."),
	SETTING(limits, first_request, DURATION, .max = DAY_MS, .def = "3m",
		.doc = "Time in which a coding CLI must send the model its first request: a program that is not that CLI sends none. Not for the method `command`; 0s: no limit."),
	SETTING(limits, tmp_size, SIZE, .min = 1 << 20, .max = (int64_t)1 << 40, .def = "1GiB",
		.doc = "Size of an agent's /tmp and HOME, which are in memory."),
	KGB_FIELD_END,
};

#define MAX_TOKENS ((int64_t)1 << 50)
#define MAX_USD 1000000
#define YEAR_MS (365 * (int64_t)DAY_MS)

#define TOKENS(member, text) \
	SETTING(budget, member, I64, .max = MAX_TOKENS, .def = "0", .doc = (text))
#define USD(member, text) SETTING(budget, member, NUM, .max = MAX_USD, .def = "0", .doc = (text))
#define BUDGET_TIME(member, text) \
	SETTING(budget, member, DURATION, .max = YEAR_MS, .def = "0s", .doc = (text))

static const struct kgb_field budget_table[] = {
	TOKENS(run_tokens,
	       "Tokens of all classes that a run may use, over all its starts (--max-tokens); 0: no limit."),
	TOKENS(operator_tokens, "The same limit for all attempts of one operator."),
	TOKENS(attempt_tokens, "The same limit for one attempt."),
	USD(run_usd,
	    "Dollars that a run may cost by the table of prices (--max-usd); 0: no limit. A limit refuses models without a price."),
	USD(operator_usd, "The same limit for all attempts of one operator."),
	USD(attempt_usd, "The same limit for one attempt."),
	BUDGET_TIME(run_time,
		    "Wall time in which agents may work, over all starts of a run; 0s: no limit."),
	BUDGET_TIME(operator_time,
		    "Wall time of all attempts of one operator together; 0s: no limit."),
	SETTING(budget, warn_at, I64, .max = 100, .def = "80",
		.doc = "Percent of a budget from which on kgb-verify prints a warning below each verdict; 0: never."),
	KGB_FIELD_END,
};

/* In the order of enum kgb_isolation_level. */
static const char *const isolation_levels[] = {"L3", "L4", NULL};
static const char *const sandbox_gpus[] = {"none", "agent", NULL};

static const struct kgb_field sandbox_table[] = {
	SETTING(sandbox, isolation, ENUM, .names = isolation_levels, .def = "L3",
		.doc = "Lowest accepted isolation of agents (--isolation); a run uses the highest that works on this machine. L4: namespaces, Landlock, system-call filter, cgroup; L3: without Landlock or cgroup."),
	SETTING(sandbox, gpu, ENUM, .names = sandbox_gpus, .def = "none",
		.doc = "none: agents have no GPU, and only the judge runs their kernels; agent: an agent has the one GPU on which its kernels are judged."),
	SETTING(sandbox, disk, SIZE, .min = 16 << 20, .max = (int64_t)1 << 44, .def = "4GiB",
		.doc = "Bytes that one attempt may write: workspace, HOME, output, recorded requests. More bytes end the attempt."),
	SETTING(sandbox, files, I64, .min = 1000, .max = 100000000, .def = "200000",
		.doc = "Files that one attempt may have at a time. More files end the attempt."),
	SETTING(sandbox, memory, SIZE, .min = 256 << 20, .max = (int64_t)1 << 44, .def = "8GiB",
		.doc = "Memory of all processes of one attempt, with a cgroup also of /tmp. More memory ends the largest process."),
	SETTING(sandbox, processes, I64, .min = 64, .max = 1000000, .def = "4096",
		.doc = "Processes and threads of one attempt. More of them end the attempt."),
	SETTING(sandbox, idle_timeout, DURATION, .max = DAY_MS, .def = "15m",
		.doc = "Time without a sign of life (no event, no request to the model, no processor time, no disk IO, no change of processes) after which an attempt ends; 0s: never."),
	SETTING(sandbox, watch_files, BOOL, .def = "true",
		.doc = "Report when an agent opens files with keys or our own files; costs some 25 us for each opened file."),
	KGB_FIELD_END,
};

/* In the order of enum kgb_offline_choice. */
static const char *const offline_choices[] = {"script", "mixture", NULL};

static const struct kgb_field model_table[] = {
	SETTING(model, name, STR, .def = "\"\"",
		.doc = "Model that the coding CLI requests (--model); empty: the method's model."),
	SETTING(model, server, STR, .def = "auto",
		.doc = "Protocol of a bare model's server (--server-type): anthropic (Messages), openai (Chat Completions), openai-responses; any other name is a server that speaks Chat Completions. auto: anthropic when ANTHROPIC_API_KEY is set, else openai."),
	SETTING(model, samples, I64, .min = 1, .max = KGB_SAMPLES_MAX, .def = "1",
		.doc = "Independent answers of a bare model for each operator, with reflection independent chains of rounds (--samples)."),
	SETTING(model, reflection, BOOL, .def = "false",
		.doc = "Show a bare model the verdict on its last kernel, and ask again (--reflection)."),
	SETTING(model, max_rounds, I64, .min = 0, .max = KGB_SAMPLES_MAX, .def = "0",
		.doc = "Rounds of a chain with reflection at most, 5 if 0; without reflection the same as model.samples, and the larger number counts (--max-rounds)."),
	SETTING(model, choices, I64, .min = 1, .max = 128, .def = "1",
		.doc = "Samples of one operator that one request asks for, n of Chat Completions (--choices); a server that gives only one choice is asked for each sample."),
	SETTING(model, batch, BOOL, .def = "false",
		.doc = "Ask a bare model by way of its provider's batches (--batch): half the price, and up to 24 hours."),
	SETTING(model, batch_poll, DURATION, .min = 100, .max = 3600 * SECOND_MS, .def = "60s",
		.doc = "Time between two queries of a batch's state."),
	SETTING(model, concurrency, I64, .min = 1, .max = 1024, .def = "16",
		.doc = "Questions to a bare model at the same time (--concurrency)."),
	SETTING(model, temperature, NUM, .min = -1, .max = 2, .def = "-1",
		.doc = "Sampling temperature of a bare model (--temperature); -1: the provider's default."),
	SETTING(model, top_p, NUM, .min = -1, .max = 1, .def = "-1",
		.doc = "Share of the probability from which a bare model samples (--top-p); -1: the provider's default."),
	SETTING(model, max_output, I64, .min = 1, .max = 1000000, .def = "16384",
		.doc = "Tokens of one answer of a bare model at most (--max-output)."),
	SETTING(model, seed, I64, .min = -1, .max = 2000000000, .def = "-1",
		.doc = "Seed of a bare model's samples where the server takes one: sample N gets seed + N - 1, 10000 more in each further round, and 1000000 more in each further repetition; -1: none is sent."),
	SETTING(model, offline, ENUM, .names = offline_choices, .def = "script",
		.doc = "What the offline model gives a coding agent. script: a mistake, then the kernel without it; mixture: a right, wrong or cheating kernel, drawn by seed, method, repetition, operator and round (docs/methods.md). A bare model always gets the mixture."),
	SETTING(model, effort, STR, .def = "\"\"",
		.doc = "Effort of reasoning of a bare model (--reasoning-effort), such as low; empty: not sent."),
	SETTING(model, stream, BOOL, .def = "true",
		.doc = "Whether a bare model streams its answers."),
	KGB_FIELD_END,
};

static const struct kgb_field prompt_table[] = {
	KGB_FIELD_ROW_AS(STR, kgb_settings_prompt, "system", system_text,
			 "File with the system text of a bare model; empty: the method's.",
			 .def = "\"\""),
	SETTING(prompt, examples, STR, .def = "\"\"",
		.doc = "File with examples that follow the system text; empty: the method's, which has none, because each task has a complete example."),
	SETTING(prompt, reflection, STR, .def = "\"\"",
		.doc = "File with the text of a later round about the last answer; {{verdict}}, {{kernel}}, {{round}}, {{rounds}} and {{operator}} are filled in; empty: the method's."),
	KGB_FIELD_END,
};

/* Addresses of the providers themselves. */
#define ANTHROPIC_URL "https://api.anthropic.com"
#define OPENAI_URL "https://api.openai.com"

static const char *const gateway_modes[] = {"auto", "live", "offline", NULL};

static const struct kgb_field gateway_table[] = {
	SETTING(gateway, mode, ENUM, .names = gateway_modes, .def = "auto",
		.doc = "live: the real API; offline: the built-in scripted model; auto: live when an API key is in the "
		       "environment, or a URL below is not the provider's."),
	SETTING(gateway, upstream_url, STR, .def = "\"" ANTHROPIC_URL "\"",
		.doc = "URL for live requests in Anthropic's protocol; may have a path."),
	SETTING(gateway, openai_url, STR, .def = "\"" OPENAI_URL "\"",
		.doc = "URL for live requests in OpenAI's protocols, without /v1."),
	SETTING(gateway, provider_tools, BOOL, .def = "false",
		.doc = "Let agents use tools that the provider runs, such as web search."),
	SETTING(gateway, connect_timeout, DURATION, .min = 100, .max = 600 * SECOND_MS,
		.def = "20s", .doc = "Time limit for a connection to the real API."),
	SETTING(gateway, idle_timeout, DURATION, .min = SECOND_MS, .max = 3600 * SECOND_MS,
		.def = "300s", .doc = "Time without a byte after which the gateway ends a call."),
	SETTING(gateway, max_tries, I64, .min = 1, .max = 100, .def = "8",
		.doc = "Calls for one request, the first included, while the provider is overloaded, limits us or cannot be reached; 1: only the CLI retries."),
	SETTING(gateway, max_wait, DURATION, .max = 3600 * SECOND_MS, .def = "4m",
		.doc = "Time that one request may wait for these calls; CLIs give up after ten minutes."),
	SETTING(gateway, max_concurrent, I64, .min = 1, .max = 4096, .def = "256",
		.doc = "Calls at the same time at most; fewer while the provider is overloaded."),
	KGB_FIELD_END,
};

#define SECTION(member, text)                                                          \
	{                                                                              \
		KGB_FIELD(struct kgb_settings, member, OBJECT), .sub = member##_table, \
								.doc = (text)          \
	}
const struct kgb_field kgb_settings_table[] = {
	SECTION(paths, "Paths."),
	SECTION(run, "The run."),
	SECTION(limits, "Limits of time, checks and memory."),
	SECTION(budget,
		"Limits of tokens, dollars and time. The gateway checks them before a request leaves, for every CLI."),
	SECTION(sandbox, "The sandbox of an agent."),
	SECTION(model, "The language model."),
	SECTION(prompt, "The texts of a bare model, in place of the method's. A run keeps copies."),
	SECTION(gateway, "The gateway between sandbox and model."),
	KGB_FIELD_END,
};

/** Short names that other programs of this project use too. */
static const struct {
	const char *variable;
	const char *key;
} aliases[] = {{"KGB_PYTHON", "paths.python"},
	       {"KGB_CLAUDE_BIN", "paths.claude"},
	       {"KGB_OPENCODE_BIN", "paths.opencode"},
	       {"KGB_CODEX_BIN", "paths.codex"},
	       {"KGB_COMMAND_BIN", "paths.command"}};

/** KGB_ variables that are no settings. */
static const char *const other_variables[] = {"KGB_CONFIG",    "KGB_DATA_DIR", "KGB_DEPS_DIR",
					      "KGB_CACHE_DIR", "KGB_BWRAP",    "KGB_ZYGOTES"};
static const char *const other_prefixes[] = {"KGB_TEST", "KGB_BOOTSTRAP_"};

static void collect_keys(const struct kgb_field *table, const char *prefix, struct kgb_strv *out)
{
	for (; table->name; table++) {
		KGB_AUTO(free)
		char *key = kgb_xasprintf("%s%s%s", prefix, *prefix ? "." : "", table->name);
		if (table->type == KGB_FIELD_OBJECT)
			collect_keys(table->sub, key, out);
		else
			kgb_strv_add(out, key);
	}
}

static size_t key_index(const struct kgb_config *config, const char *key)
{
	size_t i = 0;
	while (i < config->keys.n && !kgb_str_eq(config->keys.items[i], key))
		i++;
	return i;
}

static void set_origin(struct kgb_config *config, size_t index, const char *origin)
{
	kgb_free(config->origins.items[index]);
	config->origins.items[index] = kgb_xstrdup(origin);
}

static void set_defaults(struct kgb_config *config)
{
	*config = (struct kgb_config)KGB_CONFIG_INIT;
	kgb_decode_defaults(kgb_settings_table, &config->settings, &config->arena);
	collect_keys(kgb_settings_table, "", &config->keys);
	for (size_t i = 0; i < config->keys.n; i++)
		kgb_strv_add(&config->origins, "default");
}

/** "limits.attempt_timeout" -> "KGB_LIMITS_ATTEMPT_TIMEOUT"; malloc'ed. */
static char *variable_of(const char *key)
{
	char *name = kgb_xasprintf("KGB_%s", key);
	for (char *c = name; *c; c++) {
		if (*c == '.')
			*c = '_';
		else if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	}
	return name;
}

static int set_key(struct kgb_config *config, const char *key, const char *text, const char *origin,
		   struct kgb_err *err)
{
	size_t index = key_index(config, key);
	if (kgb_decode_set(kgb_settings_table, key, text, origin, &config->settings, &config->arena,
			   err) < 0)
		return -1;
	KGB_ASSERT(index < config->keys.n);
	set_origin(config, index, origin);
	return 0;
}

/** Texts have no range in the table: one whose default is empty may be empty, no other. `*key` is
 * the number of the table's first leaf among config->keys. */
static void check_texts(const struct kgb_config *config, const struct kgb_field *table,
			const void *in, size_t *key, struct kgb_faults *faults)
{
	for (; table->name; table++) {
		const char *slot = (const char *)in + table->offset;
		if (table->type == KGB_FIELD_OBJECT) {
			check_texts(config, table->sub, slot, key, faults);
			continue;
		}
		size_t i = (*key)++;
		if (table->type != KGB_FIELD_STR)
			continue;
		const char *text;
		memcpy(&text, slot, sizeof(text));
		if (text && (*text || kgb_str_eq(table->def, "\"\"")))
			continue;
		struct kgb_err err = KGB_ERR_INIT;
		(void)kgb_fail(&err, KGB_ERR_INVALID,
			       "%s: %s must not be empty: leave it out for the default, %s",
			       config->origins.items[i], config->keys.items[i], table->def);
		KGB_VEC_ADD(&faults->list, err);
	}
}

/** Checks that the table cannot express, after all sources. */
static void check(const struct kgb_config *config, struct kgb_faults *faults)
{
	const struct kgb_settings *s = &config->settings;
	size_t key = 0;
	check_texts(config, kgb_settings_table, s, &key, faults);
	const char *const urls[] = {"gateway.upstream_url", s->gateway.upstream_url,
				    "gateway.openai_url", s->gateway.openai_url};
	if (s->model.reflection && s->model.max_rounds > KGB_ROUNDS_MAX) {
		struct kgb_err err = KGB_ERR_INIT;
		(void)kgb_fail(&err, KGB_ERR_INVALID,
			       "%s: model.max_rounds: with reflection %d rounds are the most",
			       kgb_config_origin(config, "model.max_rounds"), KGB_ROUNDS_MAX);
		KGB_VEC_ADD(&faults->list, err);
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(urls); i += 2) {
		struct kgb_err err = KGB_ERR_INIT;
		if (!urls[i + 1] || !*urls[i + 1] || kgb_str_starts(urls[i + 1], "https://") ||
		    kgb_str_starts(urls[i + 1], "http://"))
			continue;
		(void)kgb_fail(&err, KGB_ERR_INVALID,
			       "%s: %s must start with https:// or http://, not '%.80s'",
			       kgb_config_origin(config, urls[i]), urls[i], urls[i + 1]);
		KGB_VEC_ADD(&faults->list, err);
	}
}

/** The first fault as the result of a function; frees the list. */
static int take_first(struct kgb_faults *faults, struct kgb_err *err)
{
	const bool ok = faults->list.n == 0;
	if (!ok)
		*err = faults->list.items[0];
	KGB_VEC_RELEASE(&faults->list);
	return ok ? 0 : -1;
}

static int apply_alias(struct kgb_config *config, const char *name, const char *value, bool *known,
		       struct kgb_err *err)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(aliases); i++) {
		if (!kgb_str_eq(aliases[i].variable, name))
			continue;
		*known = true;
		return set_key(config, aliases[i].key, value, name, err);
	}
	return 0;
}

static void warn_unknown(const char *name, const struct kgb_strv *variables)
{
	KGB_AUTO(strv) struct kgb_strv known = KGB_STRV_INIT;
	for (size_t i = 0; i < KGB_ARRAY_LEN(other_variables); i++)
		if (kgb_str_eq(name, other_variables[i]))
			return;
	for (size_t i = 0; i < KGB_ARRAY_LEN(other_prefixes); i++)
		if (kgb_str_starts(name, other_prefixes[i]))
			return;
	kgb_strv_add_all(&known, (const char *const *)variables->items);
	for (size_t i = 0; i < KGB_ARRAY_LEN(aliases); i++)
		kgb_strv_add(&known, aliases[i].variable);
	for (size_t i = 0; i < KGB_ARRAY_LEN(other_variables); i++)
		kgb_strv_add(&known, other_variables[i]);
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	kgb_suggest(&hint, name, (const char *const *)known.items, known.n);
	kgb_warn("environment: '%s' is no setting and is ignored%s", name, hint.ptr);
}

static int apply_variable(struct kgb_config *config, const struct kgb_strv *variables,
			  const char *entry, struct kgb_err *err)
{
	const char *equals = strchr(entry, '=');
	if (!equals)
		return 0;
	KGB_AUTO(free) char *name = kgb_xstrndup(entry, (size_t)(equals - entry));
	bool known = false;
	if (apply_alias(config, name, equals + 1, &known, err) < 0)
		return -1;
	for (size_t i = 0; i < variables->n && !known; i++) {
		if (!kgb_str_eq(variables->items[i], name))
			continue;
		known = true;
		if (set_key(config, config->keys.items[i], equals + 1, name, err) < 0)
			return -1;
	}
	if (!known)
		warn_unknown(name, variables);
	return 0;
}

/** Addresses from variables that other programs read too. Their addresses of OpenAI end in the
 * version, ours do not. */
static int apply_base_url(struct kgb_config *config, const char *entry, struct kgb_err *err)
{
	static const struct {
		const char *variable, *key, *suffix;
	} urls[] = {{"ANTHROPIC_BASE_URL", "gateway.upstream_url", ""},
		    {"OPENAI_BASE_URL", "gateway.openai_url", "/v1"}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(urls); i++) {
		const size_t len = strlen(urls[i].variable);
		if (strncmp(entry, urls[i].variable, len) != 0 || entry[len] != '=' ||
		    !entry[len + 1])
			continue;
		KGB_AUTO(free) char *url = kgb_xstrdup(entry + len + 1);
		for (size_t n = strlen(url); n > 0 && url[n - 1] == '/'; n--)
			url[n - 1] = '\0';
		if (*urls[i].suffix && kgb_str_ends(url, urls[i].suffix))
			url[strlen(url) - strlen(urls[i].suffix)] = '\0';
		return set_key(config, urls[i].key, url, urls[i].variable, err);
	}
	return 0;
}

static void apply_env(struct kgb_config *config, const char *const *env, struct kgb_faults *faults)
{
	KGB_AUTO(strv) struct kgb_strv variables = KGB_STRV_INIT;
	for (size_t i = 0; i < config->keys.n; i++) {
		KGB_AUTO(free) char *name = variable_of(config->keys.items[i]);
		kgb_strv_add(&variables, name);
	}
	for (; env && *env; env++) {
		struct kgb_err err = KGB_ERR_INIT;
		if (kgb_str_starts(*env, "KGB_")
			    ? apply_variable(config, &variables, *env, &err) < 0
			    : apply_base_url(config, *env, &err) < 0)
			KGB_VEC_ADD(&faults->list, err);
	}
}

static void apply_document(struct kgb_config *config, const struct kgb_yaml *doc,
			   struct kgb_faults *faults)
{
	/* A file of comments only is a fine configuration. */
	if (cJSON_IsNull(doc->root))
		return;
	kgb_decode_all(kgb_settings_table, doc, doc->root, &config->settings, &config->arena,
		       faults);
	for (size_t i = 0; i < config->keys.n; i++) {
		const cJSON *node = kgb_json_get(doc->root, config->keys.items[i]);
		if (!node)
			continue;
		int line = 0;
		int column = 0;
		kgb_yaml_where(doc, node, &line, &column);
		KGB_AUTO(free) char *origin = kgb_xasprintf("%s:%d", doc->name, line);
		set_origin(config, i, origin);
	}
}

/** Defaults < text < environment. `text` NULL: there is no file. */
static void collect(struct kgb_config *out, const char *name, const struct kgb_buf *text,
		    const char *const *env, struct kgb_faults *faults)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	set_defaults(out);
	if (text && kgb_yaml_parse(name, text->ptr, text->len, &doc, &err) < 0)
		KGB_VEC_ADD(&faults->list, err);
	else if (text)
		apply_document(out, &doc, faults);
	apply_env(out, env, faults);
	check(out, faults);
}

static const char *env_value(const char *const *env, const char *name)
{
	size_t len = strlen(name);
	for (; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=' && (*env)[len + 1])
			return *env + len + 1;
	return NULL;
}

void kgb_config_collect(struct kgb_config *out, const char *path, const char *const *env,
			struct kgb_faults *faults)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	if (!path)
		path = env_value(env, "KGB_CONFIG");
	if (!path && kgb_fs_exists(AT_FDCWD, DEFAULT_FILE))
		path = DEFAULT_FILE;
	if (path && kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_YAML, &text, &err) < 0) {
		(void)kgb_ctx(&err, "configuration");
		KGB_VEC_ADD(&faults->list, err);
		path = NULL;
	}
	collect(out, path, path ? &text : NULL, env, faults);
}

/** Move `from` out, unless there are faults: then the first one is the error. */
static int finish(struct kgb_config *out, struct kgb_config *from, struct kgb_faults *faults,
		  struct kgb_err *err)
{
	if (take_first(faults, err) < 0)
		return -1;
	*out = *from;
	*from = (struct kgb_config)KGB_CONFIG_INIT;
	return 0;
}

int kgb_config_load(struct kgb_config *out, const char *path, const char *const *env,
		    struct kgb_err *err)
{
	KGB_AUTO(config) struct kgb_config config;
	struct kgb_faults faults = {0};
	kgb_config_collect(&config, path, env, &faults);
	return finish(out, &config, &faults, err);
}

int kgb_config_parse(struct kgb_config *out, const char *name, const char *text, size_t len,
		     const char *const *env, struct kgb_err *err)
{
	KGB_AUTO(config) struct kgb_config config;
	KGB_AUTO(buf) struct kgb_buf copy = KGB_BUF_INIT(0);
	struct kgb_faults faults = {0};
	kgb_buf_add(&copy, text, len);
	collect(&config, name, &copy, env, &faults);
	return finish(out, &config, &faults, err);
}

int kgb_config_set(struct kgb_config *config, const char *key, const char *text, const char *origin,
		   struct kgb_err *err)
{
	struct kgb_faults faults = {0};
	if (set_key(config, key, text, origin, err) < 0)
		return -1;
	check(config, &faults);
	return take_first(&faults, err);
}

const char *kgb_config_origin(const struct kgb_config *config, const char *key)
{
	size_t index = key_index(config, key);
	return index < config->keys.n ? config->origins.items[index] : NULL;
}

/** The settings as YAML, parsed again: the values in their written form. */
static void print_tree(const struct kgb_config *config, struct kgb_yaml *doc)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	kgb_decode_print(kgb_settings_table, &config->settings, false, &text);
	int rc = kgb_yaml_parse("settings", text.ptr, text.len, doc, &err);
	KGB_ASSERT(rc == 0);
}

void kgb_config_print(const struct kgb_config *config, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_decode_print(kgb_settings_table, &config->settings, false, &text);
	/* The printer writes one leaf per line in table order, which is the order of the keys; a
	 * section's line ends in ':'. */
	size_t key = 0;
	const char *line = text.ptr;
	for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
		kgb_buf_add(out, line, (size_t)(end - line));
		if (end > line && end[-1] != ':')
			kgb_buf_addf(out, "  # %s", config->origins.items[key++]);
		kgb_buf_addc(out, '\n');
	}
	KGB_ASSERT(key == config->keys.n);
}

void kgb_config_json(const struct kgb_config *config, struct kgb_buf *out)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	print_tree(config, &doc);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_object(&w);
	for (size_t i = 0; i < config->keys.n; i++) {
		kgb_jsonw_key(&w, config->keys.items[i]);
		kgb_jsonw_object(&w);
		kgb_jsonw_key(&w, "value");
		kgb_jsonw_tree(&w, kgb_json_get(doc.root, config->keys.items[i]));
		kgb_jsonw_kstr(&w, "origin", config->origins.items[i]);
		kgb_jsonw_object_end(&w);
	}
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

void kgb_config_example(struct kgb_buf *out)
{
	KGB_AUTO(config) struct kgb_config config;
	set_defaults(&config);
	kgb_buf_adds(
		out,
		"# Settings of kgb-agent with their defaults. Copy this file to config.yaml and keep what you change.\n"
		"# Generated by `kgb-agent config --example`; a test compares.\n"
		"#\n"
		"# Precedence: defaults < this file < environment < command line. A key like limits.attempt_timeout is\n"
		"# KGB_LIMITS_ATTEMPT_TIMEOUT in the environment and `--set limits.attempt_timeout=10m` on the command line.\n"
		"# Durations need a unit (ms, s, m, h), sizes may have one (KiB, MiB, GiB).\n"
		"#\n"
		"# API keys do not belong here: kgb-agent reads them only from ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and OPENAI_API_KEY.\n\n");
	kgb_decode_print(kgb_settings_table, &config.settings, true, out);
}

void kgb_config_copy(struct kgb_config *out, const struct kgb_config *from)
{
	*out = (struct kgb_config)KGB_CONFIG_INIT;
	out->settings = from->settings;
	kgb_strv_add_all(&out->keys, (const char *const *)from->keys.items);
	kgb_strv_add_all(&out->origins, (const char *const *)from->origins.items);
}

void kgb_config_release(struct kgb_config *config)
{
	kgb_arena_release(&config->arena);
	kgb_strv_release(&config->keys);
	kgb_strv_release(&config->origins);
	*config = (struct kgb_config)KGB_CONFIG_INIT;
}

void kgb_auto_config(struct kgb_config *config)
{
	kgb_config_release(config);
}

enum kgb_model_server kgb_config_server(const struct kgb_settings_model *model, bool *is_known)
{
	static const char *const names[] = {"auto", "anthropic", "openai", "openai-responses"};
	*is_known = true;
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (kgb_str_eq(model->server, names[i]))
			return (enum kgb_model_server)i;
	*is_known = false;
	return KGB_MODEL_SERVER_OPENAI;
}

/* More than all rounds of all samples of an operator take. */
#define SEEDS_OF_A_RUN (KGB_SAMPLES_MAX * (int64_t)KGB_ROUNDS_MAX)

int64_t kgb_config_seed(const struct kgb_settings *settings, bool is_offline)
{
	/* The offline model draws by it. */
	const int64_t seed = settings->model.seed < 0 && is_offline ? 0 : settings->model.seed;
	return seed < 0 ? -1 : seed + (settings->run.repetition - 1) * SEEDS_OF_A_RUN;
}

void kgb_config_samples(const struct kgb_settings_model *model, int *n_samples, int *n_rounds)
{
	const int64_t rounds = model->max_rounds;
	*n_samples = (int)(!model->reflection && rounds > model->samples ? rounds : model->samples);
	*n_rounds = !model->reflection ? 0 : rounds > 0 ? (int)rounds : KGB_DEFAULT_ROUNDS;
}

char *kgb_config_first_method(const struct kgb_config *config)
{
	const char *methods = config->settings.run.method;
	return kgb_xstrndup(methods, strcspn(methods, ","));
}

/* A path from the settings, or what setup fetched. */
static char *installed(const char *setting, const char *below_deps)
{
	if (*setting) {
		/* A bare name is looked up as a shell would. */
		KGB_AUTO(free) char *found = kgb_path_which(setting, getenv("PATH"));
		return kgb_path_absolute(found ? found : setting);
	}
	return kgb_install_dep(below_deps);
}

char *kgb_config_python(const struct kgb_config *config)
{
	return installed(config->settings.paths.python, "venv/bin/python");
}

char *kgb_config_program(const struct kgb_config *config, const struct kgb_program *program)
{
	const struct kgb_settings_paths *paths = &config->settings.paths;
	const struct {
		const char *name;
		const char *setting;
	} table[] = {{"claude", paths->claude},
		     {"opencode", paths->opencode},
		     {"codex", paths->codex},
		     {"command", paths->command}};
	KGB_AUTO(free) char *below = kgb_program_installed(program);
	const char *setting = "";
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (kgb_str_eq(table[i].name, program->name))
			setting = table[i].setting;
	return *setting || below ? installed(setting, below) : NULL;
}

char *kgb_config_prices(const struct kgb_config *config)
{
	if (*config->settings.paths.prices)
		return kgb_xstrdup(config->settings.paths.prices);
	KGB_AUTO(free) char *data_dir = kgb_install_data();
	return kgb_path_join(data_dir, "datasets/prices.yaml");
}

char *kgb_config_runs(const struct kgb_config *config)
{
	return kgb_path_absolute(config->settings.paths.runs);
}

const char *kgb_api_key(const struct kgb_settings_gateway *gateway, enum kgb_provider provider,
			bool *is_bearer)
{
	const bool is_anthropic = provider == KGB_PROVIDER_ANTHROPIC;
	const bool is_own = is_anthropic ? kgb_str_eq(gateway->upstream_url, ANTHROPIC_URL)
					 : kgb_str_eq(gateway->openai_url, OPENAI_URL);
	const char *key = getenv(kgb_provider_key_variable(provider));
	const char *token = is_anthropic ? getenv("ANTHROPIC_AUTH_TOKEN") : NULL;
	*is_bearer = false;
	if (key && *key)
		return key;
	*is_bearer = token && *token;
	if (*is_bearer)
		return token;
	return is_own ? NULL : "no-key-is-set";
}

void kgb_config_judge_request(const struct kgb_config *config, struct kgb_judge_request *request,
			      struct kgb_arena *arena)
{
	const struct kgb_settings_limits *limits = &config->settings.limits;

	kgb_judge_request_init(request, arena);
	request->timeout_ms = limits->verify_timeout;
	request->call_timeout_ms = limits->call_timeout;
	request->memory_bytes = limits->memory;
	request->timing_precision = config->settings.run.timing_precision;
}
