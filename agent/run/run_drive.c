/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/run/run_samples.h"
#include "agent/run/run_stages.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/meter/prices.h"

/* Waits before an overloaded provider is asked again: the first, and the longest. */
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

int kgb_run_drive(struct kgb_run_plan *plan, struct kgb_sched_outcome *outcome, struct kgb_err *err)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	struct kgb_sched_item *items = kgb_xcalloc(plan->n_specs + 1, sizeof(*items));
	for (size_t i = 0; i < plan->n_specs; i++)
		items[i] = plan_item(plan, &plan->specs[i]);
	struct kgb_arena arena = {0};
	struct kgb_sampling_plan samples = kgb_run_plan_samples(plan);
	struct kgb_sched_spec spec = {
		.env.log = plan->log,
		.env.dir = &plan->dir,
		.env.method = plan->has_method ? &plan->method : NULL,
		.items = items,
		.n_items = plan->n_specs,
		.device_count = plan->at_a_time,
		.max_judges = plan->judges,
		.max_questions = (int)s->model.concurrency,
		.env.samples = plan->has_method && plan->method.program.builtin ? &samples : NULL,
		.env.devices = &plan->devices,
		.skip_verify = plan->cli->flags.skip_verify,
		.status_style = plan->cli->flags.quiet ? KGB_DISPLAY_QUIET : KGB_DISPLAY_AUTO,
		.gateway =
			{
				.mode = plan->gateway_mode,
				.accounts.by_provider = {plan->accounts[KGB_PROVIDER_ANTHROPIC],
							 plan->accounts[KGB_PROVIDER_OPENAI]},
				.model = plan->model,
				.allow_provider_tools = s->gateway.provider_tools,
				.accounts.connect_timeout_ms = s->gateway.connect_timeout,
				.accounts.idle_timeout_ms = s->gateway.idle_timeout,
				.accounts.retry = {.max_tries = (int)s->gateway.max_tries,
						   .base_ms = RETRY_BASE_MS,
						   .cap_ms = RETRY_CAP_MS,
						   .total_ms = s->gateway.max_wait},
				.accounts.max_concurrent = (size_t)s->gateway.max_concurrent,
				.prices = plan->prices,
			},
		.env.maker = plan->generate ? kgb_run_plan_maker(plan)
					    : kgb_run_log_state(plan->log)->maker,
		.env.data_dir = plan->cli->data_dir,
		.env.bin_dir = plan->cli->bin_dir,
		.env.cli_path = plan->cli_path,
		.env.model = plan->model,
		.attempt_timeout_ms = s->limits.attempt_timeout,
		.env.limits = kgb_cli_attempt_limits(s, &plan->ladder, plan->python),
		.env.max_verify_calls = s->limits.verify_calls,
		.env.iterations = s->run.iterations,
		.env.max_attempts = (int)s->run.max_attempts,
		.run_budget = charge(s->budget.run_tokens, s->budget.run_usd),
		.operator_budget = charge(s->budget.operator_tokens, s->budget.operator_usd),
		.env.budget = charge(s->budget.attempt_tokens, s->budget.attempt_usd),
		.run_time_ms = s->budget.run_time,
		.operator_time_ms = s->budget.operator_time,
		.env.warn_percent = (int)s->budget.warn_at,
	};
	kgb_config_judge_request(&plan->cli->config, &spec.judge_request, &arena);
	spec.judge_request.python = plan->python;
	int rc = kgb_sched_run(&spec, outcome, err);
	kgb_arena_release(&arena);
	kgb_free(items);
	return rc;
}

static void announce(const struct kgb_run_plan *plan)
{
	if (plan->generate && plan->gateway_mode == KGB_GATEWAY_OFFLINE)
		kgb_info(
			"offline: %s, so the model is kgb-agent's built-in script, not a language model",
			plan->endpoint ? "gateway.mode says so" : "no API key is set");
	kgb_info("run %s", plan->dir.path);
}

int kgb_run_carry_out(struct kgb_run_plan *plan, const char *method, bool is_new)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sched_outcome outcome = {0};
	int exit_code;

	if (kgb_run_create(plan, method, is_new, &err) < 0) {
		exit_code = kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	} else {
		announce(plan);
		exit_code = kgb_run_drive(plan, &outcome, &err) < 0 && !outcome.fatal
				    ? kgb_cli_fail(&err, KGB_EXIT_INTERNAL)
				    : kgb_run_report(plan, &outcome);
	}
	kgb_run_plan_release(plan);
	return exit_code;
}
