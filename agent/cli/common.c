/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/selection.h"
#include "agent/store/series.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/system/fs.h"

bool kgb_cli_take_action(struct kgb_cli *cli, const char *action)
{
	struct kgb_strv *words = &cli->operators;
	if (words->n == 0 || !kgb_str_eq(words->items[0], action))
		return false;
	kgb_free(words->items[0]);
	words->n--;
	memmove(&words->items[0], &words->items[1], (words->n + 1) * sizeof(words->items[0]));
	return true;
}

char *kgb_cli_run_word(const struct kgb_cli *cli, const char *path)
{
	return kgb_str_eq(kgb_config_origin(&cli->config, "paths.runs"), "default")
		       ? kgb_series_run_name(path)
		       : kgb_xasprintf("'%s'", path);
}

int kgb_cli_fail(const struct kgb_err *err, int invalid)
{
	kgb_log_err(err);
	return kgb_err_exit(err, invalid);
}

bool kgb_cli_is_full(const struct kgb_err *err)
{
	return err->domain == KGB_ERR_DOMAIN_ERRNO && (err->code == ENOSPC || err->code == EDQUOT);
}

int kgb_cli_bad_place(const char *place, const char *otherwise, struct kgb_err *err)
{
	const char *remedy = kgb_cli_is_full(err) ? "free some space there" : "make it writable";
	KGB_AUTO(free) char *why = kgb_xstrdup(err->msg);
	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "'%s': %s; %s%s", place, why, remedy, otherwise);
}

int kgb_cli_print(const struct kgb_buf *text, int exit_code)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_write_all(STDOUT_FILENO, text->ptr, text->len, &err) < 0) {
		/* The reader has closed the pipe (`| head`): that is no fault. */
		if (err.code == EPIPE)
			return exit_code;
		kgb_ctx(&err, "stdout");
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	return exit_code;
}

KGB_PRINTF(2, 3) static void add_hint(struct kgb_err *err, const char *format, ...)
{
	size_t len = strlen(err->msg);
	va_list args;
	va_start(args, format);
	vsnprintf(err->msg + len, sizeof(err->msg) - len, format, args);
	va_end(args);
}

/** A word that is no operator may have been meant as a subcommand. */
static void add_command_hint(const char *word, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	const char *nearest = NULL;
	for (const struct kgb_subcommand *const *c = kgb_cli_syntax.commands; *c; c++)
		kgb_strv_add(&names, (*c)->name);
	if (!kgb_nearest(word, (const char *const *)names.items, names.n, &nearest, 1))
		return;
	add_hint(err, " (or the command '%s'?)", nearest);
}

/** Words that are commands of other programs of this kind: the names of operators near them are no
 * help. */
static bool is_foreign_command(const char *word)
{
	static const char *const words[] = {"report",  "results", "show",   "status",
					    "stop",    "logs",    "export", "init",
					    "install", "clean",   "test"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		if (kgb_str_eq(word, words[i]))
			return true;
	return false;
}

/** A guess at what the user meant; without one, the command that lists the names. */
static void explain_unknown(const void *payload, size_t position, struct kgb_err *err)
{
	const struct kgb_cli *cli = payload;
	const char *word = cli->operators.items[position];
	bool bare = !cli->named && position == 0;
	if (bare && is_foreign_command(word)) {
		(void)kgb_fail(
			err, KGB_ERR_INVALID,
			"'%s' is no command and no operator: `kgb-agent --help` lists the commands, `kgb-agent list` the operators; the results of a run are in its folder, in results.json",
			word);
		return;
	}
	if (bare && (kgb_str_eq(word, "help") || kgb_str_eq(word, "version")))
		add_hint(err, " (or the option '--%s'?)", word);
	else if (bare)
		add_command_hint(word, err);
	if (bare && !strstr(err->msg, "the command") && !strstr(err->msg, "the option"))
		add_hint(err, " (`kgb-agent --help` lists the commands)");
	if (strchr(word, ':') && !strstr(word, "::"))
		add_hint(err, " (or, with two colons, '%.*s::%s'?)", (int)strcspn(word, ":"), word,
			 strchr(word, ':') + 1);
	if (!strchr(err->msg, '?'))
		add_hint(err, "; `kgb-agent list` lists the operators");
}

int kgb_cli_index(struct kgb_cli *cli, const char *dataset, const struct kgb_spec_index **out,
		  struct kgb_err *err)
{
	if (!kgb_str_eq(cli->indexed, dataset)) {
		kgb_spec_index_release(&cli->index);
		kgb_free(KGB_TAKE(cli->indexed));
		if (kgb_spec_index_load(cli->data_dir, dataset, &cli->index, err) < 0)
			return -1;
		cli->indexed = kgb_xstrdup(dataset);
	}
	*out = &cli->index;
	return 0;
}

static struct kgb_selection selection_of(const struct kgb_cli *cli, const char *runs_dir)
{
	return (struct kgb_selection){.words = &cli->operators,
				      .source = cli->flags.source,
				      .category = cli->flags.category,
				      .failed_of = cli->flags.failed_of,
				      .not_in = cli->flags.not_in,
				      .runs_dir = runs_dir,
				      .explain = explain_unknown,
				      .payload = cli};
}

bool kgb_cli_has_operators(const struct kgb_cli *cli)
{
	const struct kgb_selection selection = selection_of(cli, NULL);
	return cli->operators.n > 0 || kgb_selection_has_filter(&selection);
}

bool kgb_cli_is_open(const struct kgb_cli *cli)
{
	const struct kgb_selection selection = selection_of(cli, NULL);
	return kgb_selection_is_open(&selection);
}

void kgb_cli_find_operators(struct kgb_cli *cli, struct kgb_strv *names, struct kgb_strv *paths,
			    struct kgb_faults *faults)
{
	const struct kgb_spec_index *index = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_cli_index(cli, cli->config.settings.run.dataset, &index, &err) < 0) {
		KGB_VEC_ADD(&faults->list, err);
		return;
	}
	KGB_AUTO(free) char *runs_dir = kgb_config_runs(&cli->config);
	const struct kgb_selection selection = selection_of(cli, runs_dir);
	kgb_select(&selection, index, names, paths, faults);
}

int kgb_cli_operators(struct kgb_cli *cli, struct kgb_strv *names, struct kgb_strv *paths,
		      struct kgb_err *err)
{
	struct kgb_faults faults = {0};
	kgb_cli_find_operators(cli, names, paths, &faults);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(sizeof(err->msg));
	KGB_VEC_FOREACH(fault, &faults.list)
		kgb_buf_addf(&text, "%s%s", text.len > 0 ? "; " : "", fault->msg);
	if (faults.list.n > 0)
		(void)kgb_fail(err, faults.list.items[0].kind, "%s", text.ptr);
	KGB_VEC_RELEASE(&faults.list);
	return text.len > 0 ? -1 : 0;
}

int kgb_cli_read_kernel(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return kgb_fail_errno(err, errno, "kernel '%s'", path);
	if (S_ISLNK(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID,
				"kernel '%s' is a symbolic link: name the file itself", path);
	if (!S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "kernel '%s' is not a regular file", path);
	if (st.st_size > (off_t)KGB_LIMIT_KERNEL)
		return kgb_fail(err, KGB_ERR_INVALID,
				"kernel '%s' is %lld bytes long: %u are allowed", path,
				(long long)st.st_size, KGB_LIMIT_KERNEL);
	/* The file may have been exchanged since: repeat the checks on the open descriptor. */
	KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "kernel '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "kernel '%s' is not a regular file", path);
	if (kgb_fs_read_fd(fd, KGB_LIMIT_KERNEL, out, err) < 0)
		return kgb_ctx(err, "kernel '%s'", path);
	return 0;
}

int kgb_cli_resume_from(struct kgb_cli *cli, struct kgb_cmdline *line, struct kgb_err *err)
{
	const struct kgb_flags *flags = &cli->flags;
	const struct {
		const char *name;
		bool is_given;
	} others[] = {{"operators", line->positional.n > 0}, {"--op-name", flags->op_name},
		      {"--single-test", flags->single_test}, {"--debug", flags->debug},
		      {"--skip-gen", flags->skip_gen},       {"--kernels", flags->kernels},
		      {"--from-run", flags->from_run},       {"--dry-run", flags->dry_run}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(others); i++)
		if (others[i].is_given)
			return kgb_fail(
				err, KGB_ERR_INVALID,
				"--resume-from continues a run with the operators and kernels that it has: leave out %s",
				others[i].name);
	cli->command = &kgb_resume_command;
	kgb_strv_add(&line->positional, flags->resume_from);
	return 0;
}

struct kgb_attempt_limits kgb_cli_attempt_limits(const struct kgb_settings *settings,
						 const struct kgb_ladder *ladder,
						 const char *python)
{
	return (struct kgb_attempt_limits){
		.ladder = ladder,
		.gpu = settings->sandbox.gpu == KGB_SANDBOX_GPU_AGENT,
		.python = python,
		.disk_bytes = settings->sandbox.disk,
		.n_files = settings->sandbox.files,
		.memory_bytes = settings->sandbox.memory,
		.n_tasks = settings->sandbox.processes,
		.idle_timeout_ms = settings->sandbox.idle_timeout,
		.first_request_ms = settings->limits.first_request,
		.tmp_bytes = settings->limits.tmp_size,
		.watch_files = settings->sandbox.watch_files,
	};
}

struct kgb_prompt_vars kgb_cli_prompt_vars(const struct kgb_settings *settings,
					   const char *platform, const char *versions,
					   const char *target)
{
	return (struct kgb_prompt_vars){
		.platform = platform,
		.versions = versions,
		.target = target,
		.max_verify_calls = settings->limits.verify_calls,
		.call_timeout_ms = settings->limits.call_timeout,
		.verify_timeout_ms = settings->limits.verify_timeout,
	};
}
