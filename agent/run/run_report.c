/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "agent/report/common.h"
#include "agent/report/results.h"
#include "agent/report/terminal.h"
#include "agent/run/run_stages.h"
#include "base/formats/jsonw.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"

/** \param run_path of the results; NULL: they could not be written. */
static void add_table(const char *run_path, const struct kgb_run_state *state, struct kgb_buf *out)
{
	size_t rows = 0, columns = 0;
	kgb_terminal_size(STDOUT_FILENO, &rows, &columns);
	bool color = kgb_terminal_is_capable(STDOUT_FILENO) && kgb_terminal_allows_color();
	kgb_results_table(state, run_path, columns, color, out);
}

static void print_how_to_continue(const struct kgb_run_plan *plan, bool broke_off)
{
	KGB_AUTO(free) char *run = kgb_cli_run_word(plan->cli, plan->dir.path);
	bool has_agent = kgb_run_is_made(kgb_run_log_state(plan->log));
	KGB_AUTO(free)
	char *resume = kgb_xasprintf("continue with: kgb-agent resume %s, or ", run);
	kgb_info("%s %sverify what is there with: kgb-agent --skip-gen --run %s",
		 broke_off ? "broken off; when that is mended," : "interrupted;",
		 has_agent ? resume : "", run);
}

int kgb_run_conclude(struct kgb_run_plan *plan, const struct kgb_sched_outcome *outcome,
		     bool *is_written)
{
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	struct kgb_err err = KGB_ERR_INIT;
	int exit_code = kgb_results_exit_code(state);
	if (outcome->fatal)
		exit_code = kgb_err_exit(&outcome->err, KGB_EXIT_INTERNAL);
	*is_written = kgb_results_write(plan->dir.fd, state, &err) == 0;
	if (!*is_written) {
		kgb_ctx(&err, "'%s'", plan->dir.path);
		exit_code = kgb_cli_fail(&err, KGB_EXIT_INTERNAL);
	}
	return exit_code;
}

/** Write results.json, and print the same for the user. */
int kgb_run_report(struct kgb_run_plan *plan, const struct kgb_sched_outcome *outcome)
{
	const struct kgb_run_state *state = kgb_run_log_state(plan->log);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	bool written = false;
	if (outcome->fatal)
		kgb_log_err(&outcome->err);
	int exit_code = kgb_run_conclude(plan, outcome, &written);
	if (plan->cli->flags.json)
		kgb_results_render(state, 2, &text);
	else
		add_table(written ? plan->dir.path : NULL, state, &text);
	exit_code = kgb_cli_print(&text, exit_code);
	bool broke_off = outcome->fatal || !written;
	if (outcome->signal || broke_off)
		print_how_to_continue(plan, broke_off);
	return outcome->signal ? 128 + outcome->signal : exit_code;
}

static void plan_text(const struct kgb_run_plan *plan, const char *method, struct kgb_buf *out)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	const struct kgb_maker maker = kgb_run_plan_maker(plan);
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
		kgb_buf_addf(out, " in %s%s", plan->cli->flags.kernels,
			     kgb_maker_is_offline(&maker) ? ", made " KGB_MARK_OFFLINE : "");
	else
		kgb_buf_addf(out, " in run %s", plan->dir.name);
	for (size_t i = 0; i < plan->devices.n; i++)
		kgb_buf_addf(out, "%s%s", i == 0 ? ", on " : ", ", plan->devices.items[i].name);
	kgb_buf_addc(out, '\n');
	for (size_t i = 0; i < plan->n_specs; i++)
		kgb_buf_addf(out, "  %s\n", plan->specs[i].name);
}

static void plan_json(const struct kgb_run_plan *plan, const char *method, struct kgb_buf *out)
{
	const struct kgb_settings *s = &plan->cli->config.settings;
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(
		&w,
		"{schema: 'kgb.plan/1', generate: %hhd, verify: %hhd, dataset: %s, method: %s, "
		"run: %s",
		plan->generate, (bool)(!plan->cli->flags.skip_verify), s->run.dataset, method,
		plan->dir.name);
	if (plan->generate) {
		kgb_jsonw_put(&w,
			      "model: %s, gateway: %s, device_count: %d, attempt_timeout_ms: %ld",
			      plan->model, kgb_gateway_mode_name(plan->gateway_mode),
			      plan->at_a_time, s->limits.attempt_timeout);
	}
	kgb_jsonw_put(&w, "devices: [");
	for (size_t i = 0; i < plan->devices.n; i++)
		kgb_jsonw_str(&w, plan->devices.items[i].name);
	kgb_jsonw_put(&w, "], operators: [");
	for (size_t i = 0; i < plan->n_specs; i++)
		kgb_jsonw_str(&w, plan->specs[i].name);
	kgb_jsonw_put(&w, "]}");
	kgb_buf_addc(out, '\n');
}

int kgb_run_print_plan(const struct kgb_run_plan *plan, const char *method)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (plan->cli->flags.json)
		plan_json(plan, method, &text);
	else
		plan_text(plan, method, &text);
	return kgb_cli_print(&text, KGB_EXIT_OK);
}
