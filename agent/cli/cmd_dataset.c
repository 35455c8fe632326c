/* SPDX-License-Identifier: MIT */
/** \file `dataset lint`, `table` and `prompt`: check the specs, list their contents, and print an
 * agent's prompts for them. kgb-judge lints operators; prompts are checked here, because only
 * kgb-agent makes them.
 */
#include <inttypes.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/dataset_table.h"
#include "agent/cli/shared_options.h"
#include "agent/config/env.h"
#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "methods/chat_prompt.h"
#include "methods/method.h"
#include "methods/prompt.h"
#include "verify/spec/spec.h"

#define PROMPT_MAX (40u << 10) /* bytes of a prompt: about 10,000 tokens */
#define PROBLEMS_MAX 12
#define LINT_MS (2 * 3600 * 1000)
#define NOBODYS_FD 3 /* the judge writes nothing there: its stdout is ours */

struct linted_method {
	struct kgb_method method;
	struct kgb_strv problems; /* the first PROBLEMS_MAX */
};

struct prompt_lint {
	const struct kgb_cli *cli;
	struct kgb_strv platforms;
	struct linted_method *methods;
	size_t n_methods;
	struct kgb_strv problems; /* the first PROBLEMS_MAX, by method */
	size_t n_problems, n_prompts, largest;
};

static void note(struct prompt_lint *lint, struct linted_method *with, const char *name,
		 const char *platform, const char *what)
{
	lint->n_problems++;
	if (with->problems.n < PROBLEMS_MAX)
		kgb_strv_addf(&with->problems, "prompt: %s with %s on %s: %s", name,
			      with->method.name, platform, what);
}

static void lint_prompt(struct prompt_lint *lint, const struct kgb_prompt_operator *op,
			struct linted_method *with, const char *platform)
{
	const struct kgb_prompt_vars vars =
		kgb_cli_prompt_vars(&lint->cli->config.settings, platform, NULL, NULL);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_prompt_operator_render(lint->cli->data_dir, &with->method, op, &vars, &text, &err) <
	    0) {
		note(lint, with, op->spec->name, platform, err.msg);
		return;
	}
	lint->n_prompts++;
	if (text.len > lint->largest)
		lint->largest = text.len;
	if (text.len > PROMPT_MAX) {
		KGB_AUTO(free)
		char *what = kgb_xasprintf("%zu bytes, the limit is %u", text.len, PROMPT_MAX);
		note(lint, with, op->spec->name, platform, what);
	}
}

/** Do the checks that depend neither on the method nor on the platform once. */
static void lint_operator(struct prompt_lint *lint, const char *path)
{
	struct kgb_spec spec;
	struct kgb_prompt_operator op;
	struct kgb_err why = KGB_ERR_INIT;
	if (kgb_spec_load(path, &spec, &why) < 0)
		return; /* the judge reports that */
	bool good = kgb_prompt_operator_init(&op, &spec, &why) == 0;
	for (size_t m = 0; m < lint->n_methods; m++) {
		struct linted_method *with = &lint->methods[m];
		for (size_t p = 0; p < lint->platforms.n; p++) {
			if (good)
				lint_prompt(lint, &op, with, lint->platforms.items[p]);
			else
				note(lint, with, spec.name, lint->platforms.items[p], why.msg);
		}
	}
	if (good)
		kgb_prompt_operator_release(&op);
	kgb_spec_release(&spec);
}

static int load_methods(struct prompt_lint *lint, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_method_names(lint->cli->data_dir, &names, err) < 0)
		return -1;
	lint->methods = kgb_xcalloc(names.n + 1, sizeof(*lint->methods));
	for (; lint->n_methods < names.n; lint->n_methods++)
		if (kgb_method_load(lint->cli->data_dir, names.items[lint->n_methods],
				    &lint->methods[lint->n_methods].method, err) < 0)
			return -1;
	return 0;
}

static int lint_prompts(struct prompt_lint *lint, const struct kgb_strv *paths, struct kgb_err *err)
{
	if (kgb_prompt_platforms(lint->cli->data_dir, &lint->platforms, err) < 0 ||
	    load_methods(lint, err) < 0)
		return -1;
	for (size_t i = 0; i < paths->n; i++)
		lint_operator(lint, paths->items[i]);
	for (size_t m = 0; m < lint->n_methods; m++) {
		const struct kgb_strv *problems = &lint->methods[m].problems;
		for (size_t i = 0; i < problems->n && lint->problems.n < PROBLEMS_MAX; i++)
			kgb_strv_add(&lint->problems, problems->items[i]);
	}
	return 0;
}

static void release_prompt_lint(struct prompt_lint *lint)
{
	for (size_t i = 0; i < lint->n_methods; i++) {
		kgb_method_release(&lint->methods[i].method);
		kgb_strv_release(&lint->methods[i].problems);
	}
	kgb_free(lint->methods);
	kgb_strv_release(&lint->platforms);
	kgb_strv_release(&lint->problems);
}

static void print_prompts(const struct prompt_lint *lint, bool json, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	if (!json) {
		kgb_buf_addf(out, "%s - prompts: %zu, the largest of %zu bytes\n",
			     lint->n_problems ? "not ok" : "ok", lint->n_prompts, lint->largest);
		for (size_t i = 0; i < lint->problems.n; i++)
			kgb_buf_addf(out, "#   %s\n", lint->problems.items[i]);
		return;
	}
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(
		&w, "{prompts: %zu, largest_bytes: %zu, ok: %hhd, n_problems: %zu, problems: [",
		lint->n_prompts, lint->largest, (bool)(lint->n_problems == 0), lint->n_problems);
	for (size_t i = 0; i < lint->problems.n; i++)
		kgb_jsonw_str(&w, lint->problems.items[i]);
	kgb_jsonw_put(&w, "]}");
	kgb_buf_addc(out, '\n');
}

/** Its report goes straight to our stdout. Without words pass no names, so that the judge also
 * checks for missing operators. */
static int run_judge(const struct kgb_cli *cli, bool all, const struct kgb_strv *names,
		     struct kgb_proc_end *end, struct kgb_err *err)
{
	KGB_AUTO(free) char *judge = kgb_path_join(cli->bin_dir, "kgb-judge");
	KGB_AUTO(free) char *python = kgb_config_python(&cli->config);
	KGB_AUTO(buf) struct kgb_buf nothing = KGB_BUF_INIT(0);
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	const char *device = cli->config.settings.run.device;
	kgb_strv_add(&argv, judge);
	kgb_strv_add(&argv, "lint");
	kgb_strv_addf(&argv, "--dataset=%s", cli->config.settings.run.dataset);
	kgb_strv_addf(&argv, "--device=%s", device ? device : "auto");
	kgb_strv_addf(&argv, "--python=%s", python);
	kgb_strv_addf(&argv, "--die-with-parent=%d", (int)getpid());
	if (cli->flags.json)
		kgb_strv_add(&argv, "--json");
	for (size_t i = 0; !all && i < names->n; i++)
		kgb_strv_add(&argv, names->items[i]);
	kgb_child_env(&env);
	kgb_strv_addf(&env, "KGB_DATA_DIR=%s", cli->data_dir);
	const struct kgb_proc_spec spec = {
		.argv = (const char *const *)argv.items,
		.env = (const char *const *)env.items,
		.capture_fd = NOBODYS_FD,
		.limit = 1,
		.timeout_ms = LINT_MS,
	};
	return kgb_proc_run(&spec, &nothing, end, err);
}

static int lint(const struct kgb_cli *cli, const struct kgb_strv *names,
		const struct kgb_strv *paths)
{
	struct prompt_lint prompts = {.cli = cli};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_proc_end end = {0};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	int rc = lint_prompts(&prompts, paths, &err);
	if (rc == 0) {
		print_prompts(&prompts, cli->flags.json, &text);
		rc = kgb_cli_print(&text, 0) ? KGB_EXIT_INTERNAL : 0;
	}
	if (rc == 0)
		rc = run_judge(cli, !kgb_cli_has_operators(cli), names, &end, &err);
	bool bad = prompts.n_problems > 0;
	release_prompt_lint(&prompts);
	if (rc < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (rc > 0)
		return rc;
	if (end.interrupted)
		return 128 + end.interrupted;
	if (end.exit_code < 0)
		kgb_error("kgb-judge was ended by signal %d", end.term_signal);
	return end.exit_code < 0   ? KGB_EXIT_ENVIRONMENT
	       : end.exit_code > 0 ? end.exit_code
	       : bad               ? KGB_EXIT_FAILURES
				   : KGB_EXIT_OK;
}

static int table(const struct kgb_cli *cli, KGB_UNUSED const struct kgb_strv *names,
		 const struct kgb_strv *paths)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (kgb_dataset_table(cli->data_dir, paths, &text, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

/** Append the messages to a bare model about an operator. */
static int add_chat_prompt(const struct kgb_cli *cli, const struct kgb_method *method,
			   const struct kgb_spec *spec, const struct kgb_prompt_vars *vars,
			   struct kgb_buf *out, struct kgb_err *err)
{
	const struct kgb_settings_prompt *prompt = &cli->config.settings.prompt;
	const char *const files[KGB_N_CHAT_TEXTS] = {prompt->system_text, prompt->examples,
						     prompt->reflection};
	struct kgb_chat_texts texts;
	struct kgb_chat_prompt chat;
	if (kgb_chat_texts_read(&texts, method, files, err) < 0)
		return -1;
	const int rc =
		kgb_chat_prompt_render(&chat, cli->data_dir, method, &texts, spec, vars, err);
	if (rc == 0) {
		kgb_buf_addf(out, "=== system ===\n%s\n=== user ===\n%s", chat.system_text.ptr,
			     chat.task.ptr);
		if (cli->config.settings.model.reflection)
			kgb_buf_addf(out, "\n=== assistant, then user, in each later round ===\n%s",
				     texts.texts[KGB_CHAT_REFLECTION].ptr);
		kgb_chat_prompt_release(&chat);
	}
	kgb_chat_texts_release(&texts);
	return rc;
}

/** Prints the task of each operator, by the method and for the device of the settings. */
static int print_tasks(const struct kgb_cli *cli, KGB_UNUSED const struct kgb_strv *names,
		       const struct kgb_strv *paths)
{
	const struct kgb_settings *settings = &cli->config.settings;
	const bool on_gpu = settings->run.device && kgb_str_starts(settings->run.device, "cuda");
	KGB_AUTO(free) char *versions = kgb_config_versions(&cli->config);
	const struct kgb_prompt_vars vars =
		kgb_cli_prompt_vars(settings, on_gpu ? "cuda" : "cpu", versions, NULL);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_method method = {0};
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	int rc = kgb_method_load(cli->data_dir, settings->run.method, &method, &err);
	for (size_t i = 0; rc == 0 && i < paths->n; i++) {
		struct kgb_spec spec;
		rc = kgb_spec_load(paths->items[i], &spec, &err);
		if (rc < 0)
			break;
		rc = method.program.builtin
			     ? add_chat_prompt(cli, &method, &spec, &vars, &text, &err)
			     : kgb_prompt_render(cli->data_dir, &method, &spec, &vars, &text, &err);
		kgb_spec_release(&spec);
	}
	kgb_method_release(&method);
	return rc < 0 ? kgb_cli_fail(&err, KGB_EXIT_USAGE) : kgb_cli_print(&text, KGB_EXIT_OK);
}

static int act_on_dataset(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	static const struct {
		const char *name;
		int (*act)(const struct kgb_cli *cli, const struct kgb_strv *names,
			   const struct kgb_strv *paths);
	} actions[] = {{"lint", lint}, {"table", table}, {"prompt", print_tasks}};
	size_t action = 0;
	int rc = 0;
	while (action < KGB_ARRAY_LEN(actions) && !kgb_cli_take_action(cli, actions[action].name))
		action++;
	if (action == KGB_ARRAY_LEN(actions)) {
		static const char *const known[] = {"lint", "table", "prompt"};
		KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
		if (cli->operators.n > 0)
			kgb_suggest(&hint, cli->operators.items[0], known, KGB_ARRAY_LEN(known));
		rc = kgb_fail(&err, KGB_ERR_INVALID, "name the action: lint, table or prompt%s",
			      hint.ptr);
	}
	if (rc == 0)
		rc = kgb_cli_operators(cli, &names, &paths, &err);
	if (rc < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	return actions[action].act(cli, &names, &paths);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DATASET, KGB_OPTIONS_OF_SELECTION, KGB_OPTION_RUNS_DIR,
	KGB_OPTION_METHOD,  KGB_OPTION_DEVICE,        {0},
};

static const char help[] =
	"lint renders every prompt and asks the reference for every case of every operator (or of those named): schemas\n"
	"agree with torch's, right results are accepted, wrong results are refused, every argument has an effect\n"
	"(docs/operator-spec.md). A result on the CPU is kept until its inputs change. With --json one line for each\n"
	"operator. table prints docs/operators.md; prompt prints the task of an agent (of --method, on --device), of\n"
	"a bare model (-m llm) all texts that it gets.\n"
	"\n"
	"examples:\n"
	"  kgb-agent dataset lint --dataset KernelGenBench-vllm\n"
	"  kgb-agent dataset lint add mm --device cuda\n"
	"  kgb-agent dataset table >docs/operators.md\n"
	"  kgb-agent dataset prompt add -m llm --set prompt.examples=FILE\n"
	"\n"
	"exit status: 0 no problem, 1 problems, 2 usage, 4 the lint could not be run here\n";

const struct kgb_command kgb_dataset_command = {
	.usage = {.name = "dataset",
		  .positional = "lint|table|prompt [OPERATOR...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Check the operators' specs, print their table or their prompts",
		  .help = help,
		  .options = options},
	.run = act_on_dataset,
};
