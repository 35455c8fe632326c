/* SPDX-License-Identifier: MIT */
/** \file
 * `show [RUN] OPERATOR`: how one kernel came about.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/answers/sheet.h"
#include "agent/answers/show.h"
#include "agent/report/terminal.h"
#include "base/system/memfd.h"

/* ---- what is meant ---- */

/** The one run that a word names. \param word NULL: the latest run */
static int open_run(struct kgb_cli *cli, const char *word, struct kgb_show *show,
		    struct kgb_err *err)
{
	KGB_AUTO(free) char *dir = kgb_config_runs(&cli->config);
	KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT, paths = KGB_STRV_INIT;
	if (word)
		kgb_strv_add(&words, word);
	if (kgb_runs_find(dir, &words, &paths, err) < 0)
		return -1;
	if (paths.n != 1)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' names %zu runs: name one", word,
				paths.n);
	return kgb_run_record_open(&show->record, paths.items[0], err);
}

/** Whether a word is an operator's name, with or without its source. */
static bool is_name_of(const struct kgb_op_state *op, const char *word)
{
	const char *base = strstr(op->name, "::");
	return kgb_str_eq(op->name, word) || kgb_str_eq(op->safe_name, word) ||
	       (base && kgb_str_eq(base + 2, word));
}

static int find_op(struct kgb_show *show, const char *word, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	for (size_t i = 0; i < show->record.state.n_ops; i++) {
		const struct kgb_op_state *op = &show->record.state.ops[i];
		if (is_name_of(op, word) && show->op)
			return kgb_fail(err, KGB_ERR_INVALID,
					"'%s' is '%s' or '%s': write the whole name", word,
					show->op->name, op->name);
		if (is_name_of(op, word))
			show->op = op;
		const char *base = strstr(op->name, "::");
		kgb_strv_add(&names, base && !strstr(word, "::") ? base + 2 : op->name);
	}
	if (show->op)
		return 0;
	if (names.n > 0)
		kgb_suggest(&hint, word, (const char *const *)names.items, names.n);
	return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no operator '%s'%s",
			show->record.dir.name, word,
			hint.len > 0 ? hint.ptr : ": show [RUN] OPERATOR");
}

static int take_number(const char *text, const char *option, int *out, struct kgb_err *err)
{
	int64_t number = 0;
	if (text && kgb_parse_i64(text, 1, INT32_MAX, &number, err) < 0)
		return kgb_ctx(err, "%s", option);
	*out = (int)number;
	return 0;
}

/** The sample whose kernel counts, else the first one. */
static int sample_that_counts(const struct kgb_op_state *op)
{
	for (size_t i = 0; i < op->n_samples; i++)
		if (op->made_sha256 && kgb_str_eq(op->samples[i].kernel_sha256, op->made_sha256))
			return op->samples[i].number;
	return op->n_samples > 0 ? op->samples[0].number : 0;
}

/** The selected drafts: those of an attempt, or of a sample. */
static int choose(struct kgb_cli *cli, struct kgb_show *show, struct kgb_err *err)
{
	const struct kgb_op_state *op = show->op;
	int attempt = 0, sample = 0;
	KGB_ASSERT(op);
	if (take_number(cli->flags.attempt, "--attempt", &attempt, err) < 0 ||
	    take_number(cli->flags.sample, "--sample", &sample, err) < 0)
		return -1;
	if (sample > 0 && op->n_samples == 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--sample: %s has no samples: they are of method llm", op->name);
	if (attempt > 0 && op->n_samples > 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--attempt: %s has samples of a bare model: choose one by --sample",
				op->name);
	if ((size_t)attempt > op->n_attempts)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "--attempt: %s has %zu attempts", op->name,
				op->n_attempts);
	show->sample = sample > 0 ? sample : sample_that_counts(op);
	show->attempt = attempt > 0 ? &op->attempts[attempt - 1] : kgb_op_counting_attempt(op);
	for (size_t i = 0; sample > 0 && i < op->n_samples; i++)
		if (op->samples[i].number == sample)
			return 0;
	return sample == 0 ? 0
			   : kgb_fail(err, KGB_ERR_NOT_FOUND, "--sample: %s has no answer %d",
				      op->name, sample);
}

/* ---- showing ---- */

/** Become the pager, with the text as its input. Returns only without a pager. */
static int open_pager(const struct kgb_buf *text, struct kgb_err *err)
{
	const char *pager = getenv("PAGER");
	KGB_AUTO(fd) int fd = -1;
	if (!pager || !*pager)
		pager = "less -R";
	if (kgb_memfd_of("show", text->ptr, text->len, &fd, err) < 0)
		return -1;
	if (dup2(fd, STDIN_FILENO) < 0)
		return kgb_fail_errno(err, errno, "give the text to '%s'", pager);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	return kgb_fail_errno(err, errno, "start '%s'", pager);
}

static int print(struct kgb_cli *cli, const struct kgb_show *show, struct kgb_err *err)
{
	const struct kgb_flags *flags = &cli->flags;
	const bool is_terminal = isatty(STDOUT_FILENO);
	const bool is_colored =
		kgb_terminal_is_capable(STDOUT_FILENO) && kgb_terminal_allows_color();
	const enum kgb_show_form form = flags->markdown ? KGB_SHOW_MARKDOWN
					: is_colored    ? KGB_SHOW_COLOR
							: KGB_SHOW_PLAIN;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	int rc = 0;
	if (flags->json)
		rc = kgb_show_json(show, &out, err);
	else if (flags->csv)
		kgb_table_csv(&show->versions, &out);
	else
		rc = kgb_show_text(show, form, kgb_terminal_width(STDOUT_FILENO), &out, err);
	if (rc < 0)
		return kgb_cli_fail(err, KGB_EXIT_USAGE);
	if (flags->open && is_terminal && open_pager(&out, err) < 0)
		return kgb_cli_fail(err, KGB_EXIT_USAGE);
	return kgb_cli_print(&out, KGB_EXIT_OK);
}

static int show_operator(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_show show = {.record = KGB_RECORD_INIT};
	const struct kgb_strv *words = &cli->operators;
	int rc = 0;
	if (words->n == 0)
		rc = kgb_fail(&err, KGB_ERR_INVALID, "name an operator: show [RUN] OPERATOR");
	else
		rc = kgb_sheet_check_form(cli, &err);
	if (rc == 0)
		rc = open_run(cli, words->n > 1 ? words->items[0] : NULL, &show, &err);
	if (rc == 0 && (find_op(&show, words->items[words->n - 1], &err) < 0 ||
			choose(cli, &show, &err) < 0 || kgb_show_read(&show, &err) < 0))
		rc = -1;
	const int exit_code = rc < 0 ? kgb_cli_fail(&err, KGB_EXIT_USAGE) : print(cli, &show, &err);
	kgb_show_release(&show);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("attempt", 0, STR, attempt, "N",
			   "versions of that attempt (default: the one that counts)"),
	KGB_OPTION_OF_FLAG("sample", 0, STR, sample, "N",
			   "rounds of that sample of a bare model (default: the one that counts)"),
	KGB_OPTION_OF_FLAG("open", 0, FLAG, open, NULL,
			   "read it in $PAGER, or else in less, on a terminal"),
	KGB_OPTIONS_OF_FORMATS,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Prints the history of an operator's kernel: the prompt, each version that was checked with its verdict and its\n"
	"changes, the cost, and the kernel that counts. Without RUN: in the latest run. A run is a name, a path or a pattern.\n"
	"--csv prints the table of versions; of a bare model that of its samples.\n"
	"\n"
	"examples:\n"
	"  kgb-agent show add --open\n"
	"  kgb-agent show 'llm_*' aten::softmax --sample 3\n"
	"\n"
	"exit status: 0, 2 usage, no such run or operator, or a file that cannot be read\n";

const struct kgb_command kgb_show_command = {
	.usage = {.name = "show",
		  .positional = "[RUN] OPERATOR",
		  .max_positional = 2,
		  .summary = "Show how a kernel came about: prompt, versions, verdicts",
		  .help = help,
		  .options = options},
	.one = "run or operator",
	.run = show_operator,
};
