/* SPDX-License-Identifier: MIT */
/** \file
 * `doctor`: tries each need of a run, instead of comparing version numbers, and prints remedies for
 * faults. */
#include "agent/cli/shared_options.h"
#include "agent/doctor/checks.h"
#include "base/formats/jsonw.h"

/** The results of doctor, as text and as JSON. */
struct report {
	struct kgb_buf text, json;
	struct kgb_jsonw w;
	bool failed;
};

static void add_finding(struct report *report, const struct kgb_check *row,
			const struct kgb_check_result *f)
{
	static const char *const names[] = {"PASS", "WARN", "FAIL"};
	const bool passed = f->outcome == KGB_PASS;
	const char *fix = *f->fix || passed ? f->fix : row->fix;
	report->failed = report->failed || f->outcome == KGB_FAIL;
	kgb_jsonw_put(&report->w, "{name: %s, status: %s, detail: %s, why: %s, fix: %s}", row->name,
		      names[f->outcome], f->detail, row->why, *fix ? fix : NULL);
	kgb_buf_addf(&report->text, "%s  %-9s ", names[f->outcome], row->name);
	kgb_escape(&report->text, f->detail, strlen(f->detail));
	kgb_buf_addc(&report->text, '\n');
	if (!passed)
		kgb_buf_addf(&report->text, "                why: %s\n", row->why);
	if (*fix)
		kgb_buf_addf(&report->text, "                %s: %s\n",
			     passed ? "to change that" : "fix", fix);
}

/** One line for each GPU, and one for torch with them. */
static void add_gpus(struct kgb_cli *cli, struct report *report)
{
	static const struct kgb_check gpu = {
		.name = "gpu", .why = "kernels are judged and timed there", .fix = ""};
	static const struct kgb_check torch = {
		.name = "torch-gpu",
		.why = "candidates run on torch tensors there, and CUPTI records what they do",
		.fix = ""};
	struct kgb_devices devices;
	struct kgb_check_result f = {.cli = cli};
	bool found = false;
	kgb_check_find_gpus(&f, &devices, &found);
	if (!found) {
		add_finding(report, &gpu, &f);
		return;
	}
	for (size_t i = 0; i < devices.n; i++) {
		kgb_check_gpu(&f, &devices.items[i]);
		add_finding(report, &gpu, &f);
	}
	kgb_check_torch_gpu(&f, &devices);
	add_finding(report, &torch, &f);
}

static int examine(struct kgb_cli *cli)
{
	struct report report = {.text = KGB_BUF_INIT(0), .json = KGB_BUF_INIT(0)};
	kgb_jsonw_init(&report.w, &report.json, 2);
	kgb_jsonw_put(&report.w, "{schema: 'kgb.doctor/1', checks: [");
	for (const struct kgb_check *row = kgb_checks; row->name; row++) {
		struct kgb_check_result f = {.cli = cli};
		row->check(&f);
		add_finding(&report, row, &f);
	}
	add_gpus(cli, &report);
	const bool ok = !report.failed;
	kgb_jsonw_put(&report.w, "], ok: %hhd}", ok);
	kgb_buf_addc(&report.json, '\n');
	int exit_code = kgb_cli_print(cli->flags.json ? &report.json : &report.text,
				      ok ? KGB_EXIT_OK : KGB_EXIT_ENVIRONMENT);
	kgb_buf_release(&report.text);
	kgb_buf_release(&report.json);
	return exit_code;
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DEVICE,
	KGB_OPTION_ISOLATION,
	KGB_OPTION_RUNS_DIR,
	{0},
};

static const char help[] =
	"Tries what a run needs and prints one line for each part: PASS, WARN or FAIL, with the remedy.\n"
	"\n"
	"exit status: 0 nothing failed, 4 something did\n";

const struct kgb_command kgb_doctor_command = {
	.usage = {.name = "doctor",
		  .summary = "Check this machine",
		  .help = help,
		  .options = options},
	.run = examine,
};
