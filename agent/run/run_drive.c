/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "agent/report/common.h"
#include "agent/report/terminal.h"
#include "agent/run/run_samples.h"
#include "agent/run/run_stages.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/meter/prices.h"

/* The first and the longest wait before the next call to an overloaded provider. */
#define RETRY_BASE_MS 500
#define RETRY_CAP_MS 30000

static struct kgb_charge charge(int64_t tokens, double usd)
{
	return (struct kgb_charge){.tokens = tokens, .nanos = kgb_usd_to_nanos(usd)};
}

/** After a resume an operator goes on where it was; with --skip-gen the samples of a bare model
 * that have no verdict are judged first. */
static struct kgb_sched_item plan_item(const struct kgb_run_plan *plan, const struct kgb_spec *spec)
{
	struct kgb_sched_item item = {.spec = spec, .generate = plan->generate};
	const struct kgb_op_state *op = kgb_run_state_op(kgb_run_log_state(plan->log), spec->name);
	if (!op)
		return item;
	if (plan->resume)
		item.generate =
			op->status != KGB_OP_GENERATED || kgb_run_plan_lacks_samples(op, plan->cli);
	else if (!plan->generate && plan->has_method)
		item.generate = kgb_run_plan_lacks_verdicts(op);
	item.n_attempts = (int)op->n_attempts;
	return item;
}

/** The schedule's input from one run, and the objects that must outlive it. */
struct part {
	struct kgb_sched_item *items; /* owned */
	struct kgb_sampling_plan samples;
	char *offline_seed; /* owned */
};

/** The draw of the offline model, when the user asks for the mixture. */
static char *offline_seed(const struct kgb_run_plan *plan)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	if (plan->gateway_mode != KGB_GATEWAY_OFFLINE ||
	    s->model.offline != KGB_OFFLINE_CHOICE_MIXTURE)
		return NULL;
	return kgb_xasprintf("%" PRId64 " %s", kgb_config_seed(s, true), plan->method.name);
}

static void fill_run(const struct kgb_run_plan *plan, struct part *part, struct kgb_sched_run *run)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	const bool is_bare = plan->has_method && plan->method.program.builtin;
	part->items = kgb_xcalloc(plan->n_specs + 1, sizeof(*part->items));
	for (size_t i = 0; i < plan->n_specs; i++)
		part->items[i] = plan_item(plan, &plan->specs[i]);
	part->samples = kgb_run_plan_samples(plan);
	part->offline_seed = plan->generate ? offline_seed(plan) : NULL;
	*run = (struct kgb_sched_run){
		.label = plan->label,
		.env.log = plan->log,
		.env.dir = &plan->dir,
		.env.method = plan->has_method ? &plan->method : NULL,
		.items = part->items,
		.n_items = plan->n_specs,
		.own_slots = is_bare ? plan->at_a_time : 0,
		.env.samples = is_bare ? &part->samples : NULL,
		.env.offline_seed = part->offline_seed,
		.skip_verify = plan->cli->flags.skip_verify,
		.env.maker = plan->generate ? kgb_run_plan_maker(plan)
					    : kgb_run_log_state(plan->log)->maker,
		.env.data_dir = plan->cli->data_dir,
		.env.bin_dir = plan->cli->bin_dir,
		.env.cli_path = plan->cli_path,
		.env.model = plan->model,
		.attempt_timeout_ms = s->limits.attempt_timeout,
		.env.limits = kgb_cli_attempt_limits(s, &plan->ladder, plan->python),
		.env.prompt = kgb_cli_prompt_vars(s, kgb_devices_platform(&plan->devices),
						  plan->versions, plan->devices.target),
		.env.iterations = s->run.iterations,
		.env.max_attempts = (int)s->run.max_attempts,
		.run_budget = charge(s->budget.run_tokens, s->budget.run_usd),
		.operator_budget = charge(s->budget.operator_tokens, s->budget.operator_usd),
		.env.budget = charge(s->budget.attempt_tokens, s->budget.attempt_usd),
		.run_time_ms = s->budget.run_time,
		.operator_time_ms = s->budget.operator_time,
		.env.warn_percent = (int)s->budget.warn_at,
	};
}

/** The account at each provider that some run uses. */
static void fill_accounts(const struct kgb_run_plans *plans, struct kgb_accounts_spec *accounts)
{
	KGB_VEC_FOREACH(plan, plans)
		for (int i = 0; i < KGB_N_PROVIDERS; i++)
			if (!accounts->by_provider[i].api_key)
				accounts->by_provider[i] = (*plan)->accounts[i];
}

/** Shared by all runs: the settings of the first run hold for all. */
static void fill_shared(const struct kgb_run_plans *plans, struct kgb_sched_spec *spec)
{
	const struct kgb_run_plan *first = plans->items[0];
	const struct kgb_settings *s = &first->cli->config.settings;
	spec->devices = &first->devices;
	spec->device_count = first->judges;
	spec->max_judges = first->judges;
	spec->max_questions = (int)s->model.concurrency;
	spec->display.style = first->cli->flags.quiet ? KGB_DISPLAY_QUIET : KGB_DISPLAY_AUTO;
	spec->gateway = (struct kgb_gateway_spec){
		.mode = first->gateway_mode,
		.allow_provider_tools = s->gateway.provider_tools,
		.accounts.connect_timeout_ms = s->gateway.connect_timeout,
		.accounts.idle_timeout_ms = s->gateway.idle_timeout,
		.accounts.retry = {.max_tries = (int)s->gateway.max_tries,
				   .base_ms = RETRY_BASE_MS,
				   .cap_ms = RETRY_CAP_MS,
				   .total_ms = s->gateway.max_wait},
		.accounts.max_concurrent = (size_t)s->gateway.max_concurrent,
		.prices = first->prices,
	};
	fill_accounts(plans, &spec->gateway.accounts);
}

int kgb_run_drive(const struct kgb_run_plans *plans, const struct kgb_display_spec *shown,
		  struct kgb_sched_outcome *outcomes, struct kgb_err *err)
{
	const struct kgb_run_plan *first = plans->items[0];
	struct part *parts = kgb_xcalloc(plans->n, sizeof(*parts));
	struct kgb_sched_run *runs = kgb_xcalloc(plans->n, sizeof(*runs));
	struct kgb_sched_spec spec = {.runs = runs, .n_runs = plans->n, .display = *shown};
	struct kgb_arena arena = {0};
	for (size_t i = 0; i < plans->n; i++)
		fill_run(plans->items[i], &parts[i], &runs[i]);
	fill_shared(plans, &spec);
	kgb_config_judge_request(&first->cli->config, &spec.judge_request, &arena);
	spec.judge_request.python = first->python;
	int rc = kgb_sched_drive(&spec, outcomes, err);
	kgb_arena_release(&arena);
	for (size_t i = 0; i < plans->n; i++) {
		kgb_free(parts[i].items);
		kgb_free(parts[i].offline_seed);
	}
	kgb_free(parts);
	kgb_free(runs);
	return rc;
}

void kgb_run_announce_model(const struct kgb_run_plan *plan)
{
	/* From here on all lines belong to runs: on a terminal they need no program name. */
	if (kgb_terminal_is_capable(STDERR_FILENO))
		kgb_log_set_program(NULL);
	if (plan->generate && plan->gateway_mode == KGB_GATEWAY_OFFLINE)
		kgb_info(
			"offline: %s, so the model is kgb-agent's built-in script, not a language model",
			plan->endpoint ? "gateway.mode is set to it" : "no API key is set");
	const struct kgb_maker maker = kgb_run_plan_maker(plan);
	if (plan->cli->flags.kernels && plan->from.name)
		kgb_info("the kernels are those of run %s%s", plan->from.name,
			 kgb_maker_is_offline(&maker) ? ", which is " KGB_MARK_OFFLINE : "");
}

int kgb_run_carry_out(struct kgb_run_plan *plan, const char *method, bool is_new)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sched_outcome outcome = {0};
	int exit_code;

	if (kgb_run_create(plan, method, is_new, &err) < 0) {
		exit_code = kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	} else {
		struct kgb_run_plans alone = {.items = &plan, .n = 1};
		const struct kgb_display_run run = {.log = plan->log};
		const struct kgb_display_spec shown = {.runs = &run, .n_runs = 1};
		kgb_run_announce_model(plan);
		kgb_info("run %s", plan->dir.path);
		exit_code = kgb_run_drive(&alone, &shown, &outcome, &err) < 0 && !outcome.fatal
				    ? kgb_cli_fail(&err, KGB_EXIT_INTERNAL)
				    : kgb_run_report(plan, &outcome);
	}
	kgb_run_plan_release(plan);
	return exit_code;
}
