/* SPDX-License-Identifier: MIT */
/** \file
 * `export pairs|atif|junit [RUN...] -o FILE`: runs in the forms that other tools read.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/answers/runs.h"
#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "agent/exports/atif.h"
#include "agent/exports/junit.h"
#include "agent/exports/output.h"
#include "agent/exports/pairs.h"
#include "base/log.h"
#include "base/system/fs.h"

struct export
{
	const char *where;
	bool is_folder; /* each document goes to a separate file below `where` */
	struct kgb_output output;
	struct kgb_buf suites; /* JUnit's, whose totals come before them */
	struct kgb_junit_totals totals;
	size_t n; /* documents, pairs or cases */
};

/* ---- one form a function ---- */

static int export_pairs(struct export *e, const struct kgb_run_record *record, struct kgb_err *err)
{
	for (size_t i = 0; i < record->state.n_ops; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		if (kgb_pairs_of(record, &record->state.ops[i], &text, &e->n, err) < 0)
			return kgb_ctx(err, "run '%s'", record->dir.name);
		if (kgb_output_add(&e->output, &text, err) < 0)
			return -1;
	}
	return 0;
}

/** Write a document to a line of the file, or to a separate file with a unique name. */
static int put_document(struct export *e, const struct kgb_run_record *record,
			const struct kgb_op_state *op, const char *number, struct kgb_buf *text,
			struct kgb_err *err)
{
	e->n++;
	if (!e->is_folder)
		return kgb_output_add(&e->output, text, err);
	KGB_AUTO(free)
	char *name = kgb_xasprintf("%s__%s__%s.json", record->dir.name, op->safe_name, number);
	KGB_AUTO(free) char *path = kgb_path_join(e->where, name);
	return kgb_fs_write_atomic(AT_FDCWD, path, text->ptr, text->len, 0644, true, err);
}

static int export_attempts(struct export *e, const struct kgb_run_record *record,
			   const struct kgb_op_state *op, struct kgb_err *err)
{
	for (size_t i = 0; i < op->n_attempts; i++) {
		char number[16];
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		snprintf(number, sizeof(number), "%03d", op->attempts[i].number);
		if (kgb_atif_of_attempt(record, op, &op->attempts[i], &text, err) < 0 ||
		    put_document(e, record, op, number, &text, err) < 0)
			return -1;
	}
	return 0;
}

static int export_samples(struct export *e, const struct kgb_run_record *record,
			  const struct kgb_op_state *op, struct kgb_err *err)
{
	for (size_t i = 0; i < op->n_samples; i++) {
		char number[32];
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		if (op->samples[i].round != 1)
			continue;
		snprintf(number, sizeof(number), "sample-%04d", op->samples[i].number);
		if (kgb_atif_of_sample(record, op, op->samples[i].number, &text, err) < 0 ||
		    put_document(e, record, op, number, &text, err) < 0)
			return -1;
	}
	return 0;
}

static int export_atif(struct export *e, const struct kgb_run_record *record, struct kgb_err *err)
{
	for (size_t i = 0; i < record->state.n_ops; i++) {
		const struct kgb_op_state *op = &record->state.ops[i];
		const int rc = record->state.n_samples > 0 ? export_samples(e, record, op, err)
							   : export_attempts(e, record, op, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int export_junit(struct export *e, const struct kgb_run_record *record,
			KGB_UNUSED struct kgb_err *err)
{
	kgb_junit_suite(record, &e->suites, &e->totals);
	e->n += record->state.n_ops;
	return 0;
}

static const struct form {
	const char *name, *noun;
	bool may_be_folder;
	int (*add)(struct export *e, const struct kgb_run_record *record, struct kgb_err *err);
} forms[] = {
	{"pairs", "pairs", false, export_pairs},
	{"atif", "trajectories", true, export_atif},
	{"junit", "test cases", false, export_junit},
};

/* ---- the command ---- */

static int find_form(struct kgb_cli *cli, const struct form **out, struct kgb_err *err)
{
	const char *names[KGB_ARRAY_LEN(forms)];
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(forms); i++) {
		names[i] = forms[i].name;
		if (!kgb_cli_take_action(cli, forms[i].name))
			continue;
		*out = &forms[i];
		return 0;
	}
	if (cli->operators.n > 0)
		kgb_suggest(&hint, cli->operators.items[0], names, KGB_ARRAY_LEN(names));
	return kgb_fail(err, KGB_ERR_INVALID, "name the format: pairs, atif or junit%s", hint.ptr);
}

static int open_output(struct export *e, const struct form *form, const char *where,
		       struct kgb_err *err)
{
	struct stat st;
	if (!where)
		return kgb_fail(err, KGB_ERR_INVALID,
				"name the destination: -o FILE, or -o - for standard output");
	e->where = where;
	e->is_folder = form->may_be_folder &&
		       ((stat(where, &st) == 0 && S_ISDIR(st.st_mode)) || kgb_str_ends(where, "/"));
	return e->is_folder ? kgb_fs_mkdirs(AT_FDCWD, where, 0755, err)
			    : kgb_output_open(&e->output, where, err);
}

static int export_all(struct export *e, const struct form *form, const struct kgb_strv *paths,
		      struct kgb_err *err)
{
	for (size_t i = 0; i < paths->n; i++) {
		KGB_AUTO(record) struct kgb_run_record record = KGB_RECORD_INIT;
		if (kgb_run_record_open(&record, paths->items[i], err) < 0 ||
		    form->add(e, &record, err) < 0)
			return -1;
	}
	if (form->add == export_junit) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_junit_document(&e->suites, &e->totals, &text);
		if (kgb_output_add(&e->output, &text, err) < 0)
			return -1;
	}
	return e->is_folder ? 0 : kgb_output_commit(&e->output, err);
}

static int export_runs(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	const struct form *form = &forms[0];
	KGB_AUTO(free) char *runs_dir = kgb_config_runs(&cli->config);
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	struct export e = {.output = KGB_OUTPUT_INIT, .suites = KGB_BUF_INIT(0)};
	int rc = find_form(cli, &form, &err);
	if (rc == 0)
		rc = kgb_runs_find(runs_dir, &cli->operators, &paths, &err);
	if (rc == 0)
		rc = open_output(&e, form, cli->flags.output, &err);
	if (rc == 0)
		rc = export_all(&e, form, &paths, &err);
	kgb_output_release(&e.output);
	kgb_buf_release(&e.suites);
	if (rc < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (!kgb_str_eq(e.where, "-"))
		kgb_info("%s: %zu %s of %zu runs", e.where, e.n, form->noun, paths.n);
	return KGB_EXIT_OK;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("output", 'o', STR, output, "FILE",
			   "the file, which is replaced as a whole; - is standard output"),
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Writes runs in the formats of other tools; the latest run when none is named.\n"
	"\n"
	"  pairs   versions of kernels to learn from, as JSON lines: one that failed with the next that passed, and a\n"
	"          slower one with the next that is faster beyond doubt\n"
	"  atif    messages and actions of agents and models, as trajectories in ATIF 1.7: JSON lines, or one file for each\n"
	"          attempt when FILE is a folder or ends with /\n"
	"  junit   JUnit XML for CI: a suite is a run, a test case is an operator\n"
	"\n"
	"examples:\n"
	"  kgb-agent export junit -o junit.xml\n"
	"  kgb-agent export pairs 'normal_cc_*' -o pairs.jsonl\n"
	"  kgb-agent export atif RUN -o trajectories/\n"
	"\n"
	"exit status: 0, 2 usage, no such run, or a file that cannot be read, 4 FILE cannot be written\n";

const struct kgb_command kgb_export_command = {
	.usage = {.name = "export",
		  .positional = "pairs|atif|junit [RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Write pairs of versions, trajectories or JUnit XML to a file",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = export_runs,
};
