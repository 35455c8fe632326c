/* SPDX-License-Identifier: MIT */
#include "agent/run/run_samples.h"
#include "agent/run/run_stages.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

static int start_new_run(struct kgb_run_plan *plan, const char *method, struct kgb_err *err)
{
	const struct kgb_settings *settings = &plan->cli->config.settings;
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_YAML);
	kgb_config_print(&plan->cli->config, &text);
	const int made =
		plan->series
			? kgb_rundir_create_in(&plan->dir, plan->series, plan->label, err)
			: kgb_rundir_create(&plan->dir, runs, method, settings->run.dataset, err);
	if (made < 0 ||
	    kgb_fs_write_atomic(plan->dir.fd, "config.yaml", text.ptr, text.len, 0644, true, err) <
		    0 ||
	    kgb_run_log_open(&plan->log, &plan->dir, err) < 0)
		return kgb_cli_bad_place(runs, KGB_RUN_OTHER_PLACE, err);
	return 0;
}

/** Copy the initial kernels into the run, so that it no longer needs the other run. */
static int copy_start(struct kgb_run_plan *plan, struct kgb_err *err)
{
	if (!plan->start_dir)
		return 0;
	if (kgb_fs_mkdirs(plan->dir.fd, KGB_RUNDIR_START, 0755, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->n_specs; i++) {
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		KGB_AUTO(free)
		char *path = kgb_xasprintf(KGB_RUNDIR_START "/%s.py", plan->specs[i].safe_name);
		if (kgb_run_plan_find_kernel(plan->start_dir, &plan->specs[i], &kernel, err) < 0 ||
		    kgb_fs_write_atomic(plan->dir.fd, path, kernel.ptr, kernel.len, 0644, true,
					err) < 0)
			return -1;
	}
	return 0;
}

static int append_start(struct kgb_run_plan *plan, const char *method, struct kgb_err *err)
{
	const struct kgb_run_state *before = kgb_run_log_state(plan->log);
	const char *dataset =
		before->dataset ? before->dataset : plan->cli->config.settings.run.dataset;
	struct kgb_event_run_started started = {
		.run_name = plan->dir.name,
		.dataset = dataset,
		.maker = plan->generate || plan->cli->flags.kernels
				 ? kgb_run_plan_maker(plan)
				 : (struct kgb_maker){.method = method},
		.cli_name = plan->has_method ? plan->method.cli : NULL,
		.cli_version = plan->has_method ? plan->cli_version : NULL,
		.isolation = kgb_isolation_level_name(plan->ladder.level),
		.platform = kgb_devices_platform(&plan->devices),
		.from_run = plan->from.name,
		.device_count = plan->at_a_time,
		.n_samples = before->n_samples,
		.n_rounds = before->n_rounds,
		.skip_gen = plan->cli->flags.skip_gen,
		.skip_verify = plan->cli->flags.skip_verify,
	};
	if (plan->has_texts)
		kgb_run_plan_count_samples(plan, &started.n_samples, &started.n_rounds);
	struct kgb_event_plan_item *items = kgb_xcalloc(plan->n_specs + 1, sizeof(*items));
	for (size_t i = 0; i < plan->n_specs; i++)
		items[i] = (struct kgb_event_plan_item){
			plan->specs[i].name, plan->specs[i].safe_name, plan->specs[i].sha256,
			plan->specs[i].source, plan->specs[i].category};
	int rc = kgb_event_run_started(plan->log, &started, err);
	if (rc == 0)
		rc = kgb_event_planned(plan->log, items, plan->n_specs, err);
	kgb_free(items);
	return rc;
}

static int adopt_kernels(struct kgb_run_plan *plan, const char *dir, struct kgb_err *err)
{
	for (size_t i = 0; i < plan->n_specs; i++) {
		KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
		char sha256[KGB_SHA256_HEX_LEN];
		if (kgb_run_plan_find_kernel(dir, &plan->specs[i], &kernel, err) < 0)
			return -1;
		kgb_sha256_hex(kernel.ptr, kernel.len, sha256);
		if (kgb_rundir_write_kernel(&plan->dir, plan->specs[i].safe_name, kernel.ptr,
					    kernel.len, err) < 0 ||
		    kgb_event_kernel_adopted(plan->log, plan->specs[i].name, sha256, dir, err) < 0)
			return -1;
	}
	return 0;
}

/** Everything that a run has before its first attempt. Remove a run that could not begin: else its
 * folder would be taken for the latest run. */
int kgb_run_create(struct kgb_run_plan *plan, const char *method, bool is_new, struct kgb_err *err)
{
	const char *kernels = plan->cli->flags.kernels;
	if ((!is_new ||
	     (start_new_run(plan, method, err) == 0 && kgb_run_plan_keep_texts(plan, err) == 0)) &&
	    copy_start(plan, err) == 0 && append_start(plan, method, err) == 0 &&
	    (!kernels || adopt_kernels(plan, kernels, err) == 0))
		return 0;
	KGB_AUTO(free) char *runs = kgb_config_runs(&plan->cli->config);
	if (kgb_cli_is_full(err))
		kgb_cli_bad_place(is_new ? runs : plan->dir.path, is_new ? KGB_RUN_OTHER_PLACE : "",
				  err);
	if (is_new) {
		kgb_run_log_close(plan->log);
		plan->log = NULL;
		kgb_rundir_discard(&plan->dir);
	}
	return -1;
}
