/* SPDX-License-Identifier: MIT */
/** \file
 * `verify FILE --op NAME`: the judge alone, for people and scripts.
 */
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/shared_options.h"
#include "agent/config/env.h"
#include "agent/devices/devices.h"
#include "base/formats/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/system/fs.h"
#include "base/system/proc.h"
#include "verify/gpu/gpu_lease.h"
#include "verify/lane/report.h"
#include "verify/protocol/judge_request.h"
#include "verify/spec/spec.h"

#define SEED_BYTES 16
/** The judge ends itself at its timeout plus its wait for other judges, with the verdict for that;
 * this much later kgb-agent ends it. */
#define SLACK_MS (KGB_WAITS_MAX_MS + 30000)

/** "dir/aten__silu.py" -> "aten__silu"; owned by the caller. */
static char *stem_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	return kgb_xstrndup(file, strcspn(file, "."));
}

/** Check the whole command line before anything is started. */
static int check_arguments(struct kgb_cli *cli, const char **spec_out, struct kgb_err *err)
{
	if (cli->operators.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "verify: name the kernel FILE");
	uint8_t seed[SEED_BYTES];
	if (cli->flags.seed && kgb_parse_hex(cli->flags.seed, seed, sizeof(seed), err) < 0)
		return kgb_ctx(err, "--seed");
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(0);
	if (kgb_cli_read_kernel(cli->operators.items[0], &kernel, err) < 0)
		return -1;
	const struct kgb_spec_index *index = NULL;
	const char *name = NULL;
	if (kgb_cli_index(cli, cli->config.settings.run.dataset, &index, err) < 0)
		return -1;
	KGB_AUTO(free) char *stem = stem_of(cli->operators.items[0]);
	const char *op = cli->flags.op ? cli->flags.op : stem;
	if (kgb_spec_index_find(index, op, &name, spec_out, err) == 0)
		return 0;
	return cli->flags.op
		       ? kgb_ctx(err, "--op")
		       : kgb_fail(err, KGB_ERR_INVALID,
				  "verify: name the operator with --op: '%s' names none", stem);
}

static int find_device(const struct kgb_cli *cli, struct kgb_devices *out, struct kgb_err *err)
{
	if (kgb_devices_find(out, cli->config.settings.run.device, 1, cli->bin_dir, err) < 0)
		return -1;
	if (out->n > 1)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--device %s: a file is verified on one device: name one",
				cli->config.settings.run.device);
	return kgb_devices_try(out, err);
}

static void write_request(const struct kgb_cli *cli, const char *spec, const char *device,
			  struct kgb_buf *out)
{
	KGB_AUTO(free) char *python = kgb_config_python(&cli->config);
	struct kgb_arena arena = {0};
	struct kgb_judge_request request;

	kgb_config_judge_request(&cli->config, &request, &arena);
	request.spec = spec;
	request.kernel = cli->operators.items[0];
	request.device = device;
	request.python = python;
	request.seed = cli->flags.seed;
	request.parent = getpid();
	if (cli->flags.baseline)
		request.baseline = cli->flags.baseline;
	kgb_judge_request_write(&request, out);
	kgb_arena_release(&arena);
}

static int run_judge(const struct kgb_cli *cli, const char *spec_path, const char *device,
		     struct kgb_buf *out, struct kgb_proc_end *end, struct kgb_err *err)
{
	KGB_AUTO(free) char *judge = kgb_path_join(cli->bin_dir, "kgb-judge");
	const char *const argv[] = {judge, "verify", NULL};
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	KGB_AUTO(buf) struct kgb_buf request = KGB_BUF_INIT(0);
	write_request(cli, spec_path, device, &request);
	kgb_child_env(&env);
	kgb_strv_addf(&env, "KGB_DATA_DIR=%s", cli->data_dir);
	const struct kgb_proc_spec spec = {
		.argv = argv,
		.env = (const char *const *)env.items,
		.capture_fd = STDOUT_FILENO,
		.limit = KGB_LIMIT_VERDICT,
		.timeout_ms = cli->config.settings.limits.verify_timeout + SLACK_MS,
		.input = &request,
	};
	return kgb_proc_run(&spec, out, end, err);
}

/** The exit status for a verdict. */
static int exit_code_of(const cJSON *verdict)
{
	const char *status = kgb_json_str(verdict, "status", "infra_error");
	if (kgb_str_eq(status, "passed"))
		return KGB_EXIT_OK;
	return kgb_str_eq(status, "infra_error") ? KGB_EXIT_ENVIRONMENT : KGB_EXIT_FAILURES;
}

static int print_verdict(const struct kgb_cli *cli, const cJSON *verdict, const struct kgb_buf *raw)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (cli->flags.json) {
		kgb_buf_add(&text, raw->ptr, raw->len);
		if (raw->len > 0 && raw->ptr[raw->len - 1] != '\n')
			kgb_buf_addc(&text, '\n');
	} else {
		kgb_verdict_report(verdict, &text);
	}
	return kgb_cli_print(&text, exit_code_of(verdict));
}

static int verify_file(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	const char *spec_path = NULL;
	if (check_arguments(cli, &spec_path, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	KGB_AUTO(buf) struct kgb_buf raw = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	struct kgb_proc_end end = {0};
	struct kgb_devices devices;
	if (find_device(cli, &devices, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_USAGE);
	if (run_judge(cli, spec_path, devices.items[0].name, &raw, &end, &err) < 0)
		return kgb_cli_fail(&err, KGB_EXIT_ENVIRONMENT);
	if (end.interrupted)
		return 128 + end.interrupted;
	KGB_AUTO(json) cJSON *verdict = NULL;
	/* The judge has written the reason to stderr, which it shares with us. */
	if (raw.len == 0 &&
	    (end.exit_code == KGB_EXIT_USAGE || end.exit_code == KGB_EXIT_ENVIRONMENT))
		return end.exit_code;
	if (kgb_json_parse(raw.ptr, raw.len, &verdict, &err) < 0) {
		kgb_error("kgb-judge ended with status %d, signal %d, and without a verdict",
			  end.exit_code, end.term_signal);
		return KGB_EXIT_ENVIRONMENT;
	}
	return print_verdict(cli, verdict, &raw);
}

static const struct kgb_opt options[] = {
	KGB_OPTION_DATASET,
	KGB_OPTION_DEVICE,
	KGB_OPTION_TIMING_PRECISION,
	KGB_OPTION_OF_SETTING("timeout", 0, "limits.verify_timeout", "TIME",
			      "wall time of the verification, such as 300s"),
	KGB_OPTION_OF_FLAG("op", 0, STR, op, "NAME", "operator that FILE implements"),
	KGB_OPTION_OF_FLAG(
		"seed", 0, STR, seed, "HEX",
		"32 hex digits; the seed of an earlier verdict repeats its inputs (default: random)"),
	KGB_OPTION_OF_FLAG(
		"baseline", 0, STR, baseline, "WHAT",
		"on a GPU, time the kernel against torch, compile (torch.compile) or a kernel file (default: torch)"),
	{0},
};

static const char help[] =
	"Prints a report, or with --json the verdict. The file's code runs in a sandbox; no model is asked.\n"
	"\n"
	"examples:\n"
	"  kgb-agent verify kernel.py --op aten::silu\n"
	"  kgb-agent verify kernel.py --op silu --device cuda:1 --baseline compile\n"
	"\n"
	"exit status: 0 passed, 1 not passed, 2 usage, 4 the check could not be run here\n";

const struct kgb_command kgb_verify_command = {
	.usage = {.name = "verify",
		  .positional = "FILE",
		  .max_positional = 1,
		  .summary = "Judge one kernel file",
		  .help = help,
		  .options = options},
	.one = "file",
	.run = verify_file,
};
