/* SPDX-License-Identifier: MIT */
/** \file
 * `report`: runs as one HTML page.
 */
#include <fcntl.h>

#include "agent/answers/sheet.h"
#include "agent/cli/shared_options.h"
#include "agent/page/document.h"
#include "agent/page/page.h"
#include "base/system/fs.h"
#include "base/time.h"

#define DEFAULT_NAME "report.html"

static int write_page(const struct kgb_collected *c, const char *name, const struct kgb_buf *page,
		      const struct kgb_strv *left_out)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	if (kgb_str_eq(name, "-"))
		return kgb_cli_print(page, KGB_EXIT_OK);
	if (kgb_fs_write_atomic(AT_FDCWD, name, page->ptr, page->len, 0644, false, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	kgb_buf_addf(&line, "%s: %zu run%s, %zu operators, %.1f MB", name, c->runs.n,
		     c->runs.n == 1 ? "" : "s", c->operators.n, (double)page->len / 1e6);
	for (size_t i = 0; i < left_out->n; i++)
		kgb_buf_addf(&line, "%s%s", i == 0 ? " without " : ", ", left_out->items[i]);
	kgb_buf_adds(&line, "; open it in a browser\n");
	return kgb_cli_print(&line, KGB_EXIT_OK);
}

static int print(const struct kgb_cli *cli, const struct kgb_runs *runs,
		 const struct kgb_collected *c)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf json = KGB_BUF_INIT(0), page = KGB_BUF_INIT(0);
	KGB_AUTO(strv) struct kgb_strv left_out = KGB_STRV_INIT;
	size_t frame = 0;
	if (!cli->flags.json && kgb_page_size(&frame, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (kgb_report_document(runs, c, kgb_wall_ms(), KGB_PAGE_LIMIT - frame, &json, &left_out,
				&err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (cli->flags.json)
		return kgb_cli_print(&json, KGB_EXIT_OK);
	if (kgb_page_render(json.ptr, json.len, &page, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	return write_page(c, cli->flags.output ? cli->flags.output : DEFAULT_NAME, &page,
			  &left_out);
}

static int report(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(runs) struct kgb_runs runs = {.details = KGB_DETAIL_STEPS};
	KGB_AUTO(strv) struct kgb_strv labels = KGB_STRV_INIT;
	KGB_AUTO(collected) struct kgb_collected collected = {0};
	if (kgb_runs_open(cli, &runs, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	kgb_runs_label(&runs, &labels);
	if (kgb_collect(&runs, &labels, &collected, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	return print(cli, &runs, &collected);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_OF_FLAG("output", 'o', STR, output, "FILE",
			   "the page to write (default: " DEFAULT_NAME "; -: standard output)"),
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Writes runs as one HTML page that needs no network: a summary in words, how many kernels are right and how fast,\n"
	"by category and against cost, the timeline of each run, and a cell for each operator and run with its kernel,\n"
	"verdict and history. RUN is a run's name, its folder, a folder of runs or a pattern; without it, the latest run.\n"
	"--json prints the figures of the page (docs/answers.md).\n"
	"\n"
	"examples:\n"
	"  kgb-agent report\n"
	"  kgb-agent report 'naive_cc_*' 'normal_cc_*' -o methods.html\n"
	"\n"
	"exit status: 0, 2 usage or a file that cannot be read, 4 the page cannot be made here\n";

const struct kgb_command kgb_report_command = {
	.usage = {.name = "report",
		  .positional = "[RUN...]",
		  .max_positional = SIZE_MAX,
		  .summary = "Write runs as one HTML page",
		  .help = help,
		  .options = options},
	.one = "run",
	.run = report,
};
