/* SPDX-License-Identifier: MIT */
/** \file
 * `kgb-agent [OPERATORS]`: plan, generate, verify; and `--skip-gen`: verify again what is there.
 * Everything that can be wrong with the command or the machine is found before anything is created.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "agent/cli/preflight.h"
#include "agent/cli/program_probe.h"
#include "agent/cli/run_specs.h"
#include "agent/devices/devices.h"
#include "agent/report/results.h"
#include "agent/report/terminal.h"
#include "agent/sched/sched.h"
#include "agent/store/events.h"
#include "agent/store/rundir.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "methods/method.h"
#include "verify/spec/spec.h"

/* The name that a run of foreign kernels bears in place of a method's. */
#define KERNELS_METHOD "kernels"
#define OTHER_PLACE ", or name another with --runs-dir"
/* Waits before an overloaded provider is asked again: the first, and the longest. */
#define RETRY_BASE_MS 500
#define RETRY_CAP_MS 30000

/** What is going to be done; everything in it is resolved and checked. */
struct plan {
	struct kgb_cli *cli;
	bool generate;
	bool resume; /* what an earlier start has left, in its directory */
	struct kgb_method method; /* when generating */
	bool has_method;
	struct kgb_spec *specs; /* one per operator */
	size_t n_specs;
	struct kgb_rundir from; /* of --from-run */
	char *start_dir; /* owned; its kernels; NULL: none */
	struct kgb_rundir dir;
	struct kgb_run_log *log;
	char *cli_path, *python;
	char cli_version[KGB_VERSION_LEN];
	const char *model;
	enum kgb_gateway_mode gateway_mode;
	struct kgb_account_spec accounts[KGB_N_PROVIDERS]; /* what the method's program may use */
	bool has_key;
	struct kgb_ladder ladder;
	struct kgb_devices devices;
	int at_a_time; /* operators */
	struct kgb_prices *prices; /* NULL: nothing is generated */
};

static void plan_release(struct plan *plan)
{
	if (plan->log)
		kgb_run_log_close(plan->log);
	kgb_rundir_release(&plan->dir);
	kgb_specs_free(plan->specs, plan->n_specs);
	if (plan->has_method)
		kgb_method_release(&plan->method);
	kgb_prices_free(plan->prices);
	kgb_rundir_release(&plan->from);
	kgb_free(plan->start_dir);
	kgb_free(plan->cli_path);
	kgb_free(plan->python);
}

/* ---- planning ---- */

/** Options that contradict each other. What costs money is never started by guessing. */
static int check_flags(const struct plan *plan, struct kgb_err *err)
{
	const struct kgb_flags *flags = &plan->cli->flags;
	if (flags->run && flags->kernels)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--run and --kernels both say what to verify: give one of them");
	if (flags->run && plan->generate)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--run names an earlier run to verify: add --skip-gen");
	if (flags->skip_verify && !plan->generate)
		return kgb_fail(err, KGB_ERR_INVALID,
				"--skip-verify leaves nothing to do without generation");
	if (flags->from_run && !plan->generate)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"--from-run names kernels to go on from, but no agent is going to run");
	if (plan->generate && plan->cli->operators.n == 0 && !flags->from_run)
		return kgb_fail(err, KGB_ERR_INVALID,
				"name the operators, or `all`: see `kgb-agent list`");
	return 0;
}

static int load_specs(struct plan *plan, const struct kgb_strv *paths, struct kgb_err *err)
{
	plan->specs = kgb_xcalloc(paths->n + 1, sizeof(*plan->specs));
	for (; plan->n_specs < paths->n; plan->n_specs++)
		if (kgb_spec_load(paths->items[plan->n_specs], &plan->specs[plan->n_specs], err) <
		    0)
			return -1;
	return 0;
}

/** The operators that the user named, or all of the dataset. */
static int plan_operators(struct plan *plan, struct kgb_err *err)
{
	struct kgb_spec_index index = {0};
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv paths = KGB_STRV_INIT;
	if (kgb_spec_index_load(plan->cli->data_dir, plan->cli->config.settings.run.dataset, &index,
				err) < 0)
		return -1;
	int rc = kgb_cli_operators(plan->cli, &index, &names, &paths, err);
	kgb_spec_index_release(&index);
	return rc < 0 ? -1 : load_specs(plan, &paths, err);
}

/** Keys of the providers whose protocols the method's program speaks, and no others. */
static void find_keys(struct plan *plan)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	const char *const urls[KGB_N_PROVIDERS] = {
		[KGB_PROVIDER_ANTHROPIC] = settings->gateway.upstream_url,
		[KGB_PROVIDER_OPENAI] = settings->gateway.openai_url,
	};
	unsigned protocols = kgb_program_protocols(&plan->method.program);
	for (int i = 0; i < KGB_N_PROTOCOLS; i++) {
		enum kgb_provider provider = kgb_protocol_provider((enum kgb_protocol)i);
		struct kgb_account_spec *account = &plan->accounts[provider];
		if (!(protocols & KGB_PROTOCOL_BIT((unsigned)i)))
			continue;
		account->url = urls[provider];
		account->api_key = kgb_api_key(provider, &account->key_is_bearer);
		plan->has_key = plan->has_key || account->api_key;
	}
}

/** "ANTHROPIC_API_KEY": what to set for the method's program. */
static const char *wanted_keys(const struct plan *plan)
{
	enum kgb_protocol protocol = (enum kgb_protocol)plan->method.program.protocol;
	if (protocol == KGB_N_PROTOCOLS)
		return "ANTHROPIC_API_KEY or OPENAI_API_KEY";
	return kgb_provider_key_variable(kgb_protocol_provider(protocol));
}

static int plan_gateway(struct plan *plan, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	find_keys(plan);
	if (settings->gateway.mode == KGB_GATEWAY_CHOICE_LIVE && !plan->has_key)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"gateway.mode is live but %s needs a key that is not there: set %s",
				plan->method.program.title, wanted_keys(plan));
	bool offline = settings->gateway.mode == KGB_GATEWAY_CHOICE_OFFLINE || !plan->has_key;
	plan->gateway_mode = offline ? KGB_GATEWAY_OFFLINE : KGB_GATEWAY_LIVE;
	for (size_t i = 0; offline && i < plan->n_specs; i++) {
		KGB_AUTO(free)
		char *script = kgb_xasprintf("%s/datasets/offline/%s.yaml", plan->cli->data_dir,
					     plan->specs[i].safe_name);
		if (!kgb_fs_exists(AT_FDCWD, script))
			return kgb_fail(
				err, KGB_ERR_UNAVAILABLE,
				"the offline model has no script for %s: set %s to use a real one",
				plan->specs[i].name, wanted_keys(plan));
	}
	return 0;
}

/** Prices are part of the configuration; a budget in dollars needs that of the model. */
static int plan_prices(struct plan *plan, struct kgb_err *err)
{
	const struct kgb_settings_budget *budget = &plan->cli->config.settings.budget;
	KGB_AUTO(free) char *path = kgb_config_prices(&plan->cli->config);
	if (kgb_prices_load(&plan->prices, path, err) < 0)
		return kgb_ctx(err, "paths.prices");
	bool limited = budget->run_usd > 0 || budget->operator_usd > 0 || budget->attempt_usd > 0;
	if (limited && plan->gateway_mode == KGB_GATEWAY_LIVE &&
	    !kgb_prices_find(plan->prices, plan->model, kgb_wall_ms()))
		return kgb_fail(err, KGB_ERR_INVALID,
				"a budget in dollars needs the price of model '%s': add it to '%s'",
				plan->model, path);
	return 0;
}

/** --kernels DIR: DIR/aten__add.py or DIR/add.py of each operator. */
static int find_kernel(const char *dir, const struct kgb_spec *spec, struct kgb_buf *out,
		       struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;
	if (kgb_fs_opendir(AT_FDCWD, dir, &fd, err) < 0)
		return -1;
	KGB_AUTO(free) char *safe_file = kgb_xasprintf("%s.py", spec->safe_name);
	KGB_AUTO(free) char *bare_file = kgb_xasprintf("%s.py", strstr(spec->name, "::") + 2);
	const char *file = kgb_fs_exists(fd, safe_file) ? safe_file : bare_file;
	if (!kgb_fs_exists(fd, file))
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"no kernel for %s: '%s' has neither %s nor %s", spec->name, dir,
				safe_file, bare_file);
	return kgb_fs_read_untrusted(fd, file, KGB_LIMIT_KERNEL, out, err) < 0
		       ? kgb_ctx(err, "'%s'", dir)
		       : 0;
}

/** Without operators on the command line: those that have a file in DIR. */
static int drop_without_kernel(struct plan *plan, const char *dir, struct kgb_err *err)
{
	size_t n = 0;
	for (size_t i = 0; i < plan->n_specs; i++) {
		struct kgb_err missing = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		if (find_kernel(dir, &plan->specs[i], &kernel, &missing) < 0 &&
		    missing.kind == KGB_ERR_NOT_FOUND) {
			kgb_spec_release(&plan->specs[i]);
			continue;
		}
		plan->specs[n++] = plan->specs[i];
	}
	plan->n_specs = n;
	if (n == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"'%s' holds no kernel of a known operator (NAMESPACE__NAME.py)",
				dir);
	return 0;
}

static int check_kernels(struct plan *plan, const char *dir, struct kgb_err *err)
{
	if (plan->cli->operators.n == 0)
		return drop_without_kernel(plan, dir, err);
	for (size_t i = 0; i < plan->n_specs; i++) {
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		if (find_kernel(dir, &plan->specs[i], &kernel, err) < 0)
			return -1;
	}
	return 0;
}

/** --from-run fits the method, and that run has the kernels. */
static int plan_start(struct plan *plan, struct kgb_err *err)
{
	const char *name = plan->cli->flags.from_run;
	const struct kgb_method_loop *loop = &plan->method.loop;
	if (!name && !plan->resume && loop->iterations > 0 &&
	    loop->start == KGB_METHOD_START_FROM_RUN)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"%s makes kernels faster that are there already: name the run that has them with --from-run NAME",
			plan->method.name);
	if (!name)
		return 0;
	if (loop->iterations == 0)
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"%s begins with nothing: --from-run is for methods that work in rounds (see docs/methods.md)",
			plan->method.name);
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	if (kgb_rundir_open(&plan->from, runs, name, KGB_RUNDIR_READ, err) < 0)
		return -1;
	plan->start_dir = kgb_path_join(plan->from.path, "kernels");
	return check_kernels(plan, plan->start_dir, err);
}

static int plan_generation(struct plan *plan, struct kgb_err *err)
{
	const struct kgb_config *config = &plan->cli->config;
	if (kgb_method_load(plan->cli->data_dir, config->settings.run.method, &plan->method, err) <
	    0)
		return -1;
	plan->has_method = true;
	plan->model =
		*config->settings.model.name ? config->settings.model.name : plan->method.model;
	plan->cli_path = kgb_config_program(config, &plan->method.program);
	return plan_start(plan, err);
}

/** The method's program, asked for its version where it can do no harm. */
static int plan_program(struct plan *plan, struct kgb_err *err)
{
	const struct kgb_program *program = &plan->method.program;
	KGB_AUTO(buf) struct kgb_buf untested = KGB_BUF_INIT(0);
	if (kgb_program_probe(program, plan->cli_path, plan->cli->bin_dir, &plan->ladder,
			      plan->cli_version, err) < 0)
		return -1;
	if (kgb_program_untested(program, plan->cli_version, &untested))
		kgb_warn("%s", untested.ptr);
	return 0;
}

/** What the machine must have for this plan. */
static int plan_environment(struct plan *plan, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	plan->python = kgb_config_python(&plan->cli->config);
	if (kgb_devices_find(&plan->devices, settings->run.device, settings->run.device_count,
			     plan->cli->bin_dir, err) < 0 ||
	    kgb_devices_try(&plan->devices, err) < 0)
		return -1;
	/* Whoever names GPUs wants them used. */
	plan->at_a_time = (int)settings->run.device_count;
	if ((size_t)plan->at_a_time < plan->devices.n)
		plan->at_a_time = (int)plan->devices.n;
	if (plan->generate && (plan_gateway(plan, err) < 0 || plan_prices(plan, err) < 0))
		return -1;
	enum kgb_isolation_level minimum =
		plan->generate ? (enum kgb_isolation_level)settings->sandbox.isolation
			       : KGB_ISOLATION_NONE;
	if (kgb_preflight_sandbox(plan->cli->bin_dir, minimum, &plan->ladder, err) < 0 ||
	    (plan->generate && plan_program(plan, err) < 0))
		return -1;
	bool needs_judge = !plan->cli->flags.skip_verify ||
			   (plan->has_method && kgb_method_needs_judge(&plan->method));
	if (needs_judge && plan->ladder.level < KGB_ISOLATION_L3)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"kernels are judged in namespaces only: %s",
				plan->ladder.no_sandbox);
	bool gpu = plan->devices.items[0].number >= 0;
	return plan->cli->flags.skip_verify ? 0 : kgb_preflight_python(plan->python, gpu, err);
}

/* ---- what to work on ---- */

static int start_new_run(struct plan *plan, const char *method, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	kgb_config_print(&plan->cli->config, &text);
	if (kgb_rundir_create(&plan->dir, runs, method, settings->run.dataset, err) < 0 ||
	    kgb_fs_write_atomic(plan->dir.fd, "config.yaml", text.ptr, text.len, 0644, true, err) <
		    0 ||
	    kgb_run_log_open(&plan->log, &plan->dir, err) < 0)
		return kgb_cli_bad_place(runs, OTHER_PLACE, err);
	return 0;
}

/** The kernels to begin with become part of the run, which needs no other run from now on. */
static int copy_start(struct plan *plan, struct kgb_err *err)
{
	if (!plan->start_dir)
		return 0;
	if (kgb_fs_mkdirs(plan->dir.fd, KGB_RUNDIR_START, 0755, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_specs; i++) {
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		KGB_AUTO(free)
		char *path = kgb_xasprintf(KGB_RUNDIR_START "/%s.py", plan->specs[i].safe_name);
		if (find_kernel(plan->start_dir, &plan->specs[i], &kernel, err) < 0 ||
		    kgb_fs_write_atomic(plan->dir.fd, path, kernel.ptr, kernel.len, 0644, true,
					err) < 0)
			return -1;
	}
	return 0;
}

static int append_start(struct plan *plan, const char *method, struct kgb_err *err)
{
	const struct kgb_run_state *before = kgb_run_log_state(plan->log);
	const char *dataset =
		before->dataset ? before->dataset : plan->cli->config.settings.run.dataset;
	const struct kgb_event_run_started started = {
		.run_name = plan->dir.name,
		.dataset = dataset,
		.method = method,
		.model = plan->model,
		.gateway_mode = plan->generate ? kgb_gateway_mode_name(plan->gateway_mode) : NULL,
		.cli_name = plan->has_method ? plan->method.cli : NULL,
		.cli_version = plan->has_method ? plan->cli_version : NULL,
		.isolation = kgb_isolation_level_name(plan->ladder.level),
		.platform = kgb_devices_platform(&plan->devices),
		.from_run = plan->from.name,
		.device_count = plan->at_a_time,
		.skip_gen = plan->cli->flags.skip_gen,
		.skip_verify = plan->cli->flags.skip_verify,
	};
	struct kgb_event_plan_item *items = kgb_xcalloc(plan->n_specs + 1, sizeof(*items));
	for (size_t i = 0; i < plan->n_specs; i++)
		items[i] = (struct kgb_event_plan_item){
			plan->specs[i].name, plan->specs[i].safe_name, plan->specs[i].sha256};
	int rc = kgb_event_run_started(plan->log, &started, err);
	if (rc == 0)
		rc = kgb_event_planned(plan->log, items, plan->n_specs, err);
	kgb_free(items);
	return rc;
}

static int adopt_kernels(struct plan *plan, const char *dir, struct kgb_err *err)
{
	for (size_t i = 0; i < plan->n_specs; i++) {
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		char sha256[KGB_SHA256_HEX_LEN];
		if (find_kernel(dir, &plan->specs[i], &kernel, err) < 0)
			return -1;
		kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
		if (kgb_rundir_write_kernel(&plan->dir, plan->specs[i].safe_name, kernel.ptr,
					    kernel.len, err) < 0 ||
		    kgb_event_kernel_adopted(plan->log, plan->specs[i].name, sha256, dir, err) < 0)
			return -1;
	}
	return 0;
}

/** All that a run has before its first attempt. In one that could not begin nothing has happened:
 * its folder would only be taken for the latest run. */
static int begin(struct plan *plan, const char *method, bool is_new, struct kgb_err *err)
{
	const char *kernels = plan->cli->flags.kernels;
	if ((!is_new || start_new_run(plan, method, err) == 0) && copy_start(plan, err) == 0 &&
	    append_start(plan, method, err) == 0 &&
	    (!kernels || adopt_kernels(plan, kernels, err) == 0))
		return 0;
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	if (kgb_cli_is_full(err))
		kgb_cli_bad_place(is_new ? runs : plan->dir.path, is_new ? OTHER_PLACE : "", err);
	if (is_new) {
		kgb_run_log_close(plan->log);
		plan->log = NULL;
		kgb_rundir_discard(&plan->dir);
	}
	return -1;
}

static bool has_kernel(const struct kgb_op_state *op, const void *payload)
{
	const struct kgb_rundir *dir = payload;
	KGB_AUTO(free) char *kernel = kgb_xasprintf("kernels/%s.py", op->safe_name);
	return kgb_fs_exists(dir->fd, kernel);
}

/** --skip-gen: the operators of an earlier run that have a kernel, or those of them that were
 * named. */
static int plan_earlier_run(struct plan *plan, struct kgb_err *err)
{
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	if (kgb_rundir_open(&plan->dir, runs, plan->cli->flags.run, KGB_RUNDIR_LOCK, err) < 0 ||
	    kgb_run_log_open(&plan->log, &plan->dir, err) < 0)
		return -1;
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	if (!state->dataset || !state->method)
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"run '%s' ended before it began: its journal is empty",
				plan->dir.name);
	if (plan->cli->operators.n > 0) {
		if (plan_operators(plan, err) < 0)
			return -1;
		for (size_t i = 0; i < plan->n_specs; i++)
			if (!kgb_run_state_op(state, plan->specs[i].name))
				return kgb_fail(err, KGB_ERR_NOT_FOUND,
						"run '%s' has no operator %s", plan->dir.name,
						plan->specs[i].name);
		return 0;
	}
	int rc = kgb_run_specs_load(plan->cli->data_dir, state, has_kernel, &plan->dir,
				    &plan->specs, &plan->n_specs, err);
	if (rc == 0 && plan->n_specs == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "run '%s' has no kernels to verify",
				plan->dir.name);
	return rc;
}

/** Whether a resume has something to do for an operator: a verdict, or an attempt that ended
 * without use by itself, is the end of it. */
static bool is_unfinished(const struct kgb_op_state *op, const void *payload)
{
	const struct kgb_flags *flags = payload;
	switch (op->status) {
	case KGB_OP_PLANNED:
	case KGB_OP_RUNNING:
	case KGB_OP_RETRYING:
	case KGB_OP_VERIFYING:
	case KGB_OP_BUDGET:
	case KGB_OP_CANCELLED:
	case KGB_OP_INFRA_ERROR:
		return true;
	case KGB_OP_GENERATED:
		return !flags->skip_verify;
	case KGB_OP_PASSED:
	case KGB_OP_FAILED:
	case KGB_OP_CHEATED:
	case KGB_OP_TIMEOUT:
	case KGB_OP_N_STATUSES:
		return false;
	}
	KGB_UNREACHABLE();
}

/** resume: the operators of the run that have not come to their end. */
static int plan_rest(struct plan *plan, struct kgb_err *err)
{
	struct kgb_flags *flags = &plan->cli->flags;
	if (kgb_rundir_open(&plan->dir, "", plan->cli->run_path, KGB_RUNDIR_LOCK, err) < 0 ||
	    kgb_run_log_open(&plan->log, &plan->dir, err) < 0)
		return -1;
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	if (!state->dataset || !state->gateway_mode)
		return kgb_fail(err, KGB_ERR_NOT_FOUND,
				"run '%s' has no agent's work to go on with", plan->dir.name);
	flags->skip_verify = flags->skip_verify || state->skip_verify;
	return kgb_run_specs_load(plan->cli->data_dir, state, is_unfinished, flags, &plan->specs,
				  &plan->n_specs, err);
}

/* ---- running ---- */

static void announce(const struct plan *plan)
{
	if (plan->generate && plan->gateway_mode == KGB_GATEWAY_OFFLINE)
		kgb_info(
			"offline: %s, so the model is kgb-agent's built-in script, not a language model",
			plan->has_key ? "gateway.mode says so" : "no API key is set");
	kgb_info("run %s", plan->dir.path);
}

static struct kgb_charge charge(int64_t tokens, double usd)
{
	return (struct kgb_charge){.tokens = tokens,
				   .nanos = llround(usd * (double)KGB_NANOS_PER_USD)};
}

/** After a resume an operator goes on where it was. */
static struct kgb_sched_item plan_item(const struct plan *plan, const struct kgb_spec *spec)
{
	struct kgb_sched_item item = {.spec = spec, .generate = plan->generate};
	const struct kgb_op_state *op = kgb_run_state_op(kgb_run_log_state(plan->log), spec->name);
	if (plan->resume && op) {
		item.generate = op->status != KGB_OP_GENERATED;
		item.n_attempts = (int)op->n_attempts;
	}
	return item;
}

static int drive(struct plan *plan, struct kgb_sched_outcome *outcome, struct kgb_err *err)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	struct kgb_sched_item *items = kgb_xcalloc(plan->n_specs + 1, sizeof(*items));
	for (size_t i = 0; i < plan->n_specs; i++)
		items[i] = plan_item(plan, &plan->specs[i]);
	const struct kgb_sched_spec spec = {
		.log = plan->log,
		.dir = &plan->dir,
		.method = plan->has_method ? &plan->method : NULL,
		.items = items,
		.n_items = plan->n_specs,
		.device_count = plan->at_a_time,
		.devices = &plan->devices,
		.skip_verify = plan->cli->flags.skip_verify,
		.status_style = plan->cli->flags.quiet ? KGB_STATUS_QUIET : KGB_STATUS_AUTO,
		.gateway =
			{
				.mode = plan->gateway_mode,
				.accounts = {plan->accounts[KGB_PROVIDER_ANTHROPIC],
					     plan->accounts[KGB_PROVIDER_OPENAI]},
				.model = plan->model,
				.allow_provider_tools = s->gateway.provider_tools,
				.connect_timeout_ms = s->gateway.connect_timeout,
				.idle_timeout_ms = s->gateway.idle_timeout,
				.retry = {.max_tries = (int)s->gateway.max_tries,
					  .base_ms = RETRY_BASE_MS,
					  .cap_ms = RETRY_CAP_MS,
					  .total_ms = s->gateway.max_wait},
				.max_concurrent = (size_t)s->gateway.max_concurrent,
				.prices = plan->prices,
			},
		.data_dir = plan->cli->data_dir,
		.bin_dir = plan->cli->bin_dir,
		.cli_path = plan->cli_path,
		.python = plan->python,
		.model = plan->model,
		.attempt_timeout_ms = s->limits.attempt_timeout,
		.verify_timeout_ms = s->limits.verify_timeout,
		.call_timeout_ms = s->limits.call_timeout,
		.memory_bytes = s->limits.memory,
		.walls = kgb_cli_walls(s, &plan->ladder, plan->python),
		.max_verify_calls = s->limits.verify_calls,
		.iterations = s->run.iterations,
		.max_attempts = (int)s->run.max_attempts,
		.run_budget = charge(s->budget.run_tokens, s->budget.run_usd),
		.operator_budget = charge(s->budget.operator_tokens, s->budget.operator_usd),
		.attempt_budget = charge(s->budget.attempt_tokens, s->budget.attempt_usd),
		.run_time_ms = s->budget.run_time,
		.operator_time_ms = s->budget.operator_time,
		.warn_percent = (int)s->budget.warn_at,
	};
	int rc = kgb_sched_run(&spec, outcome, err);
	kgb_free(items);
	return rc;
}

/** \param run_path of the results; NULL: they could not be written. */
static void add_table(const char *run_path, const struct kgb_run_state *state, struct kgb_buf *out)
{
	size_t rows = 0, columns = 0;
	kgb_terminal_size(STDOUT_FILENO, &rows, &columns);
	bool color = kgb_terminal_is_capable(STDOUT_FILENO) && kgb_terminal_allows_color();
	kgb_results_table(state, run_path, columns, color, out);
}

static void say_how_to_go_on(const struct plan *plan, bool broke_off)
{
	/* By its name a run is found only where runs are looked for. */
	bool by_name = kgb_str_eq(kgb_config_origin(&plan->cli->config, "paths.runs"), "default");
	KGB_AUTO(free)
	char *run = by_name ? kgb_xstrdup(plan->dir.name) : kgb_xasprintf("'%s'", plan->dir.path);
	bool has_agent = kgb_run_log_state(plan->log)->gateway_mode != NULL;
	KGB_AUTO(free)
	char *resume = kgb_xasprintf("go on with: kgb-agent resume %s, or ", run);
	kgb_info("%s %sverify what is there with: kgb-agent --skip-gen --run %s",
		 broke_off ? "broken off; when that is mended," : "interrupted;",
		 has_agent ? resume : "", run);
}

/** results.json, and the same for the user. */
static int report(struct plan *plan, const struct kgb_sched_outcome *outcome)
{
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	int exit_code = kgb_results_exit_code(state);
	if (outcome->fatal)
		exit_code = kgb_cli_fail(&outcome->err, KGB_EXIT_INTERNAL);
	bool written = kgb_results_write(plan->dir.fd, state, &err) == 0;
	if (!written) {
		kgb_ctx(&err, "'%s'", plan->dir.path);
		exit_code = kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	if (plan->cli->flags.json)
		kgb_results_render(state, 2, &text);
	else
		add_table(written ? plan->dir.path : NULL, state, &text);
	exit_code = kgb_cli_print(&text, exit_code);
	bool broke_off = outcome->fatal || !written;
	if (outcome->signal || broke_off)
		say_how_to_go_on(plan, broke_off);
	return outcome->signal ? 128 + outcome->signal : exit_code;
}

static void plan_text(const struct plan *plan, const char *method, struct kgb_buf *out)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	char timeout[32];
	if (plan->generate)
		kgb_buf_addf(out, "would generate and %sverify",
			     plan->cli->flags.skip_verify ? "not " : "");
	else
		kgb_buf_adds(out, "would verify");
	kgb_buf_addf(out, " %zu operator%s of %s", plan->n_specs, plan->n_specs == 1 ? "" : "s",
		     s->run.dataset);
	if (plan->generate)
		kgb_buf_addf(
			out, " with %s (model %s, %s), %d at a time, up to %s each", method,
			plan->model, kgb_gateway_mode_name(plan->gateway_mode), plan->at_a_time,
			kgb_duration_format(s->limits.attempt_timeout, timeout, sizeof(timeout)));
	else if (plan->cli->flags.kernels)
		kgb_buf_addf(out, " in %s", plan->cli->flags.kernels);
	else
		kgb_buf_addf(out, " in run %s", plan->dir.name);
	for (size_t i = 0; i < plan->devices.n; i++)
		kgb_buf_addf(out, "%s%s", i == 0 ? ", on " : ", ", plan->devices.items[i].name);
	kgb_buf_addc(out, '\n');
	for (size_t i = 0; i < plan->n_specs; i++)
		kgb_buf_addf(out, "  %s\n", plan->specs[i].name);
}

static void plan_json(const struct plan *plan, const char *method, struct kgb_buf *out)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "schema", "kgb.plan/1");
	kgb_jsonw_kbool(&w, "generate", plan->generate);
	kgb_jsonw_kbool(&w, "verify", !plan->cli->flags.skip_verify);
	kgb_jsonw_kstr(&w, "dataset", s->run.dataset);
	kgb_jsonw_kstr(&w, "method", method);
	kgb_jsonw_kstr(&w, "run", plan->dir.name);
	if (plan->generate) {
		kgb_jsonw_kstr(&w, "model", plan->model);
		kgb_jsonw_kstr(&w, "gateway", kgb_gateway_mode_name(plan->gateway_mode));
		kgb_jsonw_ki64(&w, "device_count", plan->at_a_time);
		kgb_jsonw_ki64(&w, "attempt_timeout_ms", s->limits.attempt_timeout);
	}
	kgb_jsonw_key(&w, "devices");
	kgb_jsonw_array(&w);
	for (size_t i = 0; i < plan->devices.n; i++)
		kgb_jsonw_str(&w, plan->devices.items[i].name);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_key(&w, "operators");
	kgb_jsonw_array(&w);
	for (size_t i = 0; i < plan->n_specs; i++)
		kgb_jsonw_str(&w, plan->specs[i].name);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

static int dry_run(const struct plan *plan, const char *method)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (plan->cli->flags.json)
		plan_json(plan, method, &text);
	else
		plan_text(plan, method, &text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}

/** Exit status for what went wrong while planning: the command line, unless the error says
 * otherwise. */
static int plan_failed(struct plan *plan, const struct kgb_err *err)
{
	plan_release(plan);
	return kgb_cli_fail(err, KGB_EXIT_USAGE);
}

/* What is planned and written down: run it, and say what came of it. */
static int carry_out(struct plan *plan)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sched_outcome outcome = {0};
	announce(plan);
	int exit_code = drive(plan, &outcome, &err) < 0 && !outcome.fatal
				? kgb_cli_fail(&err, KGB_EXIT_INTERNAL)
				: report(plan, &outcome);
	plan_release(plan);
	return exit_code;
}

int kgb_cmd_run(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	const char *kernels = cli->flags.kernels;
	struct plan plan = {.cli = cli,
			    .from = KGB_RUNDIR_INIT,
			    .dir = KGB_RUNDIR_INIT,
			    .generate = !cli->flags.skip_gen && !kernels};
	bool earlier = !plan.generate && !kernels;
	if (check_flags(&plan, &err) < 0)
		return plan_failed(&plan, &err);
	if (earlier ? plan_earlier_run(&plan, &err) < 0 : plan_operators(&plan, &err) < 0)
		return plan_failed(&plan, &err);
	if (kernels && check_kernels(&plan, kernels, &err) < 0)
		return plan_failed(&plan, &err);
	if (plan.generate && plan_generation(&plan, &err) < 0)
		return plan_failed(&plan, &err);
	if (plan_environment(&plan, &err) < 0)
		return plan_failed(&plan, &err);

	const char *method = plan.generate ? plan.method.name
			     : earlier     ? kgb_run_log_state(plan.log)->method
					   : KERNELS_METHOD;
	if (cli->flags.dry_run) {
		int exit_code = dry_run(&plan, method);
		plan_release(&plan);
		return exit_code;
	}
	if (begin(&plan, method, !earlier, &err) < 0) {
		plan_release(&plan);
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	return carry_out(&plan);
}

int kgb_cmd_resume(struct kgb_cli *cli)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct plan plan = {.cli = cli,
			    .from = KGB_RUNDIR_INIT,
			    .dir = KGB_RUNDIR_INIT,
			    .generate = true,
			    .resume = true};
	if (plan_rest(&plan, &err) < 0)
		return plan_failed(&plan, &err);
	if (plan.n_specs == 0) {
		kgb_info("run %s has come to its end already", plan.dir.name);
		const struct kgb_sched_outcome nothing = {0};
		int exit_code = report(&plan, &nothing);
		plan_release(&plan);
		return exit_code;
	}
	if (plan_generation(&plan, &err) < 0 || plan_environment(&plan, &err) < 0)
		return plan_failed(&plan, &err);
	if (begin(&plan, plan.method.name, false, &err) < 0) {
		plan_release(&plan);
		return kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	return carry_out(&plan);
}
