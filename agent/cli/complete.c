/* SPDX-License-Identifier: MIT */
#include "agent/cli/complete.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/config/version.h"
#include "agent/store/rundir.h"
#include "base/mem.h"
#include "base/system/install.h"
#include "methods/method.h"
#include "verify/spec/spec.h"

/* Print `before` and the name for each name that begins with `typed`. */
static void offer(struct kgb_buf *out, const char *name, const char *before, const char *typed)
{
	if (kgb_str_starts(name, typed))
		kgb_buf_addf(out, "%s%s\n", before, name);
}

static void offer_words(struct kgb_buf *out, const char *const *names, const char *typed)
{
	for (; *names; names++)
		offer(out, *names, "", typed);
}

/* The unfinished name in a list: the text before the last comma stays. */
static const char *last_of_list(const char *typed, char **before)
{
	const char *comma = strrchr(typed, ',');
	const char *last = comma ? comma + 1 : typed;
	*before = kgb_xstrndup(typed, (size_t)(last - typed));
	return last;
}

/* Bare names, since shells split words at colons. */
static void offer_operators(struct kgb_buf *out, const char *typed)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec_index index = KGB_SPEC_INDEX_INIT;
	KGB_AUTO(strv) struct kgb_strv datasets = KGB_STRV_INIT;
	KGB_AUTO(free) char *data = kgb_install_data();
	KGB_AUTO(free) char *before = NULL;
	const char *last = last_of_list(typed, &before);

	if (kgb_spec_datasets(data, &datasets, &err) < 0 || datasets.n == 0 ||
	    kgb_spec_index_load(data, datasets.items[0], &index, &err) < 0)
		return;
	for (size_t i = 0; i < index.names.n; i++)
		offer(out, strstr(index.names.items[i], "::") + 2, before, last);
	if (last == typed)
		offer(out, "all", "", typed);
	kgb_spec_index_release(&index);
}

static void offer_datasets(struct kgb_buf *out, const char *typed)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(free) char *data = kgb_install_data();

	if (kgb_spec_datasets(data, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		offer(out, names.items[i], "", typed);
}

static void offer_methods(struct kgb_buf *out, const char *typed)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(free) char *data = kgb_install_data();

	KGB_AUTO(free) char *before = NULL;
	const char *last = last_of_list(typed, &before);
	if (kgb_method_names(data, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		offer(out, names.items[i], before, last);
}

/* A series stands before its runs, which have its name. Some options take a list of them. */
static void offer_run_names(struct kgb_buf *out, const struct kgb_strv *names, const char *typed)
{
	KGB_AUTO(strv) struct kgb_strv series = KGB_STRV_INIT;
	KGB_AUTO(free) char *before = NULL;
	const char *last = last_of_list(typed, &before);
	for (size_t i = 0; i < names->n; i++) {
		const char *slash = strchr(names->items[i], '/');
		KGB_AUTO(free)
		char *of = slash ? kgb_xstrndup(names->items[i], (size_t)(slash - names->items[i]))
				 : NULL;
		if (of && !kgb_strv_has(&series, of)) {
			kgb_strv_add(&series, of);
			offer(out, of, before, last);
		}
		offer(out, names->items[i], before, last);
	}
}

static void offer_runs(struct kgb_buf *out, const char *typed)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_config config = KGB_CONFIG_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;

	if (kgb_config_load(&config, NULL, (const char *const *)environ, &err) == 0) {
		KGB_AUTO(free) char *runs = kgb_config_runs(&config);
		if (kgb_rundir_list(runs, &names, &err) == 0)
			offer_run_names(out, &names, typed);
	}
	kgb_config_release(&config);
}

/* Values of an option, by its name. Others take a file, a number or a free text. */
static void offer_values(struct kgb_buf *out, const struct kgb_opt *option, const char *typed)
{
	static const char *const devices[] = {"auto", "cpu", "cuda", "cuda:0", NULL};
	static const char *const levels[] = {"L3", "L4", NULL};
	static const char *const sources[] = {"aten", "cublas", "vllm", NULL};
	static const char *const baselines[] = {"torch", "compile", NULL};
	static const struct {
		const char *option;
		const char *const *words;
		void (*offer)(struct kgb_buf *out, const char *typed);
	} table[] = {
		{"method", NULL, offer_methods},   {"op", NULL, offer_operators},
		{"run", NULL, offer_runs},         {"from-run", NULL, offer_runs},
		{"failed-of", NULL, offer_runs},   {"not-in", NULL, offer_runs},
		{"source", sources, NULL},         {"device", devices, NULL},
		{"isolation", levels, NULL},       {"baseline", baselines, NULL},
		{"dataset", NULL, offer_datasets},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++) {
		if (!kgb_str_eq(table[i].option, option->name))
			continue;
		if (table[i].words)
			offer_words(out, table[i].words, typed);
		else
			table[i].offer(out, typed);
	}
}

static void offer_options(struct kgb_buf *out, const struct kgb_opt *options, const char *typed)
{
	for (; options->name; options++) {
		KGB_AUTO(free) char *shown = kgb_xasprintf("--%s", options->name);
		offer(out, shown, "", typed);
	}
}

/* The option that takes `word` as its value; NULL: none. */
static const struct kgb_opt *option_before(const struct kgb_subcommand *command, const char *word)
{
	const struct kgb_opt *option = NULL;

	if (kgb_str_starts(word, "--"))
		option = kgb_opt_find(&kgb_cli_syntax, command, word + 2, strlen(word + 2));
	else if (word[0] == '-' && word[1] && !word[2])
		option = kgb_opt_find_letter(&kgb_cli_syntax, command, word[1]);
	return option && kgb_opt_takes_value(option) ? option : NULL;
}

static void offer_positional(struct kgb_buf *out, const struct kgb_subcommand *command,
			     bool is_first, const char *typed)
{
	static const struct {
		const char *command;
		const char *words[4]; /* further candidates for its first positional */
	} actions[] = {{"dataset", {"lint", "table", "prompt"}},
		       {"runs", {"prune"}},
		       {"export", {"pairs", "atif", "junit"}}};

	if (!command->positional || kgb_str_eq(command->positional, "FILE"))
		return;
	for (size_t i = 0; is_first && i < KGB_ARRAY_LEN(actions); i++)
		if (kgb_str_eq(command->name, actions[i].command))
			offer_words(out, actions[i].words, typed);
	if (strstr(command->positional, "RUN"))
		offer_runs(out, typed);
	if (strstr(command->positional, "OPERATOR") &&
	    !(is_first && kgb_str_eq(command->name, "dataset")))
		offer_operators(out, typed);
}

void kgb_complete(const char *const *words, size_t n, struct kgb_buf *out)
{
	const struct kgb_subcommand *command =
		n > 1 ? kgb_opt_command(&kgb_cli_syntax, words[0]) : NULL;
	const bool named = command != NULL;
	const char *typed = n > 0 ? words[n - 1] : "";

	if (!command)
		command = kgb_opt_command(&kgb_cli_syntax, kgb_cli_syntax.fallback);
	const struct kgb_opt *option = n > 1 ? option_before(command, words[n - 2]) : NULL;
	if (option) {
		offer_values(out, option, typed);
		return;
	}
	if (typed[0] == '-') {
		offer_options(out, command->options, typed);
		offer_options(out, kgb_cli_syntax.common, typed);
		return;
	}
	for (const struct kgb_subcommand *const *c = kgb_cli_syntax.commands; n <= 1 && *c; c++)
		offer(out, (*c)->name, "", typed);
	offer_positional(out, command, n == (named ? 2 : 1), typed);
}

void kgb_man_page(struct kgb_buf *out)
{
	static const char more[] =
		".SH ENVIRONMENT\n"
		".TP\n.B ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, OPENAI_API_KEY\n"
		"Keys of the providers. They never enter a sandbox.\n"
		".TP\n.B KGB_*\n"
		"Every setting, in upper case with _ for the dot: KGB_RUN_METHOD is run.method.\n"
		".TP\n.B KGB_DATA_DIR, KGB_DEPS_DIR\n"
		"Folders of the data, and of what setup has fetched.\n"
		".SH FILES\n"
		".TP\n.I config.yaml\n"
		"Settings of the working directory; config.example.yaml describes each.\n"
		".TP\n.I runs/\n"
		"One folder for each run: results.json, progress.json, kernels, verdicts, evidence.\n"
		".SH EXIT STATUS\n"
		"0 all verified, 1 finished with failures, 2 usage, 3 configuration, 4 something is missing on this\n"
		"machine or its disk is full, 5 a budget is used up, 70 internal error, 75 another process holds the\n"
		"run, 129, 130 or 143 ended by a signal.\n";

	kgb_opt_man(&kgb_cli_syntax, kgb_version(),
		    "measures how well coding agents write Triton GPU kernels", more, out);
}
