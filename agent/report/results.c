/* SPDX-License-Identifier: MIT */
#include "agent/report/results.h"

#include <math.h>

#include "agent/report/common.h"
#include "agent/report/samples.h"
#include "agent/store/events_json.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/str.h"
#include "base/system/fs.h"

static void write_tokens(struct kgb_jsonw *w, const struct kgb_usage *gateway,
			 const struct kgb_usage *cli, const char *disagreement)
{
	kgb_jsonw_put(w, "tokens: {");
	kgb_report__usage(w, "gateway", gateway);
	kgb_report__usage(w, "cli", cli);
	kgb_report__agree(w, gateway, cli);
	kgb_jsonw_put(w, "disagreement: %s}", disagreement);
}

/** Members tokens, model_requests, model_calls, model_calls_unsure, cost_usd and cli_cost_usd. */
static void write_spent(struct kgb_jsonw *w, const struct kgb_spent *spent,
			const char *disagreement)
{
	write_tokens(w, &spent->gateway, &spent->cli, disagreement);
	kgb_jsonw_put(w,
		      "model_requests: %+ld, model_calls: %+ld, model_calls_unsure: %+ld, "
		      "cost_usd: %g, cli_cost_usd: %g",
		      spent->n_requests, spent->n_calls, spent->n_calls_unsure,
		      kgb_report__dollars(spent->cost_unknown ? -1 : spent->cost_nanos),
		      kgb_report__dollars(spent->cli_cost_nanos));
}

/** Member lost: attempts that do not count; null when there are none. */
static void write_lost(struct kgb_jsonw *w, const struct kgb_spent *lost)
{
	kgb_jsonw_key(w, "lost");
	if (lost->n_attempts == 0) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_put(w, "{attempts: %zu", lost->n_attempts);
	write_spent(w, lost, NULL);
	kgb_jsonw_object_end(w);
}

/** Whether the kernel of some operator that counts was judged. */
static bool has_verdict(const struct kgb_run_state *state)
{
	for (size_t i = 0; i < state->n_ops; i++)
		if (state->ops[i].has_verdict && !kgb_op_is_replaced(&state->ops[i]))
			return true;
	return false;
}

/** Cases of all operators by tier or mode, and the operators whose kernel is right on all of one.
 */
static void write_tallies(struct kgb_jsonw *w, const struct kgb_run_state *state, const char *key,
			  const char *const names[])
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_object(w);
	for (; *names; names++) {
		int64_t n_right = 0, total = 0, passed = 0, failed = 0;
		for (size_t i = 0; i < state->n_ops; i++) {
			const struct kgb_op_state *op = &state->ops[i];
			const struct kgb_verdict_summary *v = &op->verdict;
			if (!op->has_verdict || !v->reached || kgb_op_is_replaced(op))
				continue;
			const cJSON *tally = kgb_json_get(
				kgb_str_eq(key, "tiers") ? v->tiers : v->modes, *names);
			const int64_t of_op = kgb_json_i64(tally, "total", 0);
			const int64_t right = kgb_json_i64(tally, "passed", 0);
			n_right += of_op > 0 && right == of_op;
			total += of_op;
			passed += right;
			failed += kgb_json_i64(tally, "failed", 0);
		}
		kgb_jsonw_key(w, *names);
		kgb_jsonw_put(w, "{operators: %ld, total: %ld, passed: %ld, failed: %ld}", n_right,
			      total, passed, failed);
	}
	kgb_jsonw_object_end(w);
}

/** Member gpu_seconds; null where no GPU judged a kernel. */
static void write_gpus(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	kgb_jsonw_key(w, "gpu_seconds");
	if (state->n_gpus == 0) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	for (size_t i = 0; i < state->n_gpus; i++) {
		const struct kgb_gpu_times *gpu = &state->gpus[i];
		kgb_jsonw_key(w, gpu->name);
		kgb_jsonw_put(
			w, "{alone: %g, shared: %g, idle: %g}", kgb_report__seconds(gpu->alone_ms),
			kgb_report__seconds(gpu->shared_ms), kgb_report__seconds(gpu->idle_ms));
	}
	kgb_jsonw_object_end(w);
}

static void write_summary(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	struct kgb_spent spent, lost;
	kgb_run_spent(state, &spent, &lost);
	int64_t agent_ms = 0, verify_ms = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		agent_ms += kgb_op_agent_ms(&state->ops[i]);
		const int64_t ms = kgb_report__verify_ms(&state->ops[i]);
		verify_ms += ms > 0 ? ms : 0;
	}
	size_t passed = counts.by_status[KGB_OP_PASSED];
	size_t rated = counts.total - counts.replaced;
	kgb_jsonw_put(w,
		      "summary: {total: %zu, passed: %zu, failed: %zu, unfinished: %zu, replaced: "
		      "%zu, pass_rate: %g, core: %zu, core_rate: %g",
		      counts.total, passed, counts.failed, (counts.total - passed - counts.failed),
		      counts.replaced,
		      has_verdict(state) ? (double)passed / (double)rated : (double)NAN,
		      counts.core,
		      has_verdict(state) ? (double)counts.core / (double)rated : (double)NAN);
	write_tallies(w, state, "tiers", (const char *const[]){"core", "edge", NULL});
	write_tallies(w, state, "modes",
		      (const char *const[]){"standard", "outlier", "special", NULL});
	kgb_report__by_status(w, &counts);
	kgb_report__speedup(w, state);
	KGB_AUTO(buf) struct kgb_buf disagreement = KGB_BUF_INIT(0);
	kgb_report__run_disagreement(state, &disagreement);
	write_spent(w, &spent, disagreement.len > 0 ? disagreement.ptr : NULL);
	write_lost(w, &lost);
	kgb_samples_write_run(w, state);
	kgb_jsonw_put(w, "seconds: {agent: %g, verify: %g, wall: %g}",
		      kgb_report__seconds(agent_ms), kgb_report__seconds(verify_ms),
		      kgb_report__seconds(kgb_run_wall_ms(state)));
	write_gpus(w, state);
	kgb_jsonw_object_end(w);
}

static void write_round(struct kgb_jsonw *w, const struct kgb_round *round)
{
	const struct kgb_verdict_summary *v = round->has_verdict ? &round->verdict : NULL;
	kgb_jsonw_put(w, "{number: %d, time: %s, end: %s, status: %s, code: %s, reached: %s",
		      round->number, KGB_REPORT_TIME(round->time_ms), round->end,
		      v ? v->status : NULL, v ? v->code : round->code, v ? v->reached : NULL);
	kgb_jsonw_put(w, "kept: %hhd", round->kept);
	kgb_verdict_summary__write_speedup(w, v);
	kgb_jsonw_put(w,
		      "summary: %s, check: %+d, kernel_sha256: %s, commit: %s, session_id: %s, "
		      "prompt_sha256: %s",
		      round->summary, round->check > 0 ? round->check : -1,
		      v ? v->kernel_sha256 : NULL, round->commit, round->session_id,
		      round->prompt_sha256);
	write_tokens(w, &round->gateway, &round->cli, NULL);
	kgb_jsonw_object_end(w);
}

/** Only a method that works in rounds has any. */
static void write_rounds(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	if (attempt->n_rounds == 0)
		return;
	const struct kgb_round *best = kgb_attempt_best_round(attempt);
	kgb_jsonw_put(w, "best_round: %+d, stopped_by: %s, rounds: [", best ? best->number : -1,
		      attempt->stopped_by);
	for (size_t i = 0; i < attempt->n_rounds; i++)
		write_round(w, &attempt->rounds[i]);
	kgb_jsonw_array_end(w);
}

/** The models that the answers name, with their number of messages. */
static void write_models(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	kgb_jsonw_put(w, "models_answered: {");
	for (size_t i = 0; i < attempt->gateway.n_models; i++)
		kgb_jsonw_ki64(w, attempt->gateway.models[i].name,
			       attempt->gateway.models[i].n_messages);
	kgb_jsonw_object_end(w);
}

/** Nanos a token are thousandths of a dollar a million tokens. */
static double usd_per_million(int64_t nanos)
{
	return nanos < 0 ? (double)NAN : (double)nanos / 1e3;
}

static void write_price(struct kgb_jsonw *w, const struct kgb_price *price)
{
	kgb_jsonw_put(
		w,
		"usd_per_million_tokens: {input: %g, output: %g, cache_write: %g, cache_read: %g}",
		usd_per_million(price->input), usd_per_million(price->output),
		usd_per_million(price->cache_write), usd_per_million(price->cache_read));
}

static void write_attempt(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	bool ended = attempt->ended_ms >= 0;
	kgb_jsonw_put(w, "{number: %d, device: %+d, dir: %s", attempt->number, attempt->device,
		      attempt->dir);
	kgb_rows_write(w, kgb_maker__rows, &attempt->maker);
	write_models(w, attempt);
	write_price(w, &attempt->price);
	kgb_jsonw_put(
		w,
		"start_time: %s, end_time: %s, duration_seconds: %g, end: %s, exit_code: %+d, "
		"term_signal: %d, code_generated: %hhd, kernel_source: %s, kernel_sha256: %s, "
		"prompt_sha256: %s, error_code: %s, error: %s, "
		"model_seconds: %g, turns: %+ld, session_id: %s, bad_lines: %+ld, "
		"unknown_events: %+ld",
		KGB_REPORT_TIME(attempt->started_ms), KGB_REPORT_TIME(attempt->ended_ms),
		kgb_report__seconds(ended ? attempt->ended_ms - attempt->started_ms : -1),
		ended ? kgb_agent_end_code(attempt->end) : NULL, attempt->exit_code,
		attempt->term_signal, attempt->code_generated, attempt->kernel_source,
		attempt->kernel_sha256, attempt->prompt_sha256, attempt->error_code,
		attempt->error_message,
		kgb_report__seconds(attempt->has_gateway ? attempt->gateway.busy_ms : -1),
		attempt->has_cli ? attempt->cli.n_turns : -1,
		attempt->has_cli && *attempt->cli.session_id ? attempt->cli.session_id : NULL,
		attempt->has_cli ? attempt->cli.n_bad_lines : -1,
		attempt->has_cli ? attempt->cli.n_unknown_events : -1);
	struct kgb_spent spent;
	kgb_attempt_spent(attempt, &spent);
	write_spent(w, &spent, kgb_report__disagreement(attempt));
	kgb_jsonw_put(w, "charged_tokens: %+ld, model_retries: %+ld, model_wait_seconds: %g",
		      attempt->has_gateway ? attempt->gateway.charged_tokens : -1,
		      attempt->has_gateway ? attempt->gateway.n_retries : -1,
		      kgb_report__seconds(attempt->has_gateway ? attempt->gateway.wait_ms : -1));
	write_rounds(w, attempt);
	if (attempt->sandbox) {
		kgb_jsonw_key(w, "sandbox");
		kgb_jsonw_raw(w, attempt->sandbox);
	}
	kgb_jsonw_object_end(w);
}

static void write_call(struct kgb_jsonw *w, const struct kgb_verify_call *call)
{
	const struct kgb_verdict_summary *v = &call->verdict;
	kgb_jsonw_put(
		w,
		"{attempt: %d, number: %d, time: %s, status: %s, code: %s, reached: %s, message: %s, "
		"failing_case: %s, total_tests: %+ld, passed_tests: %+ld",
		call->attempt, call->number, KGB_REPORT_TIME(call->time_ms), v->status, v->code,
		v->reached, v->message, v->failing_case, v->total_tests, v->passed_tests);
	kgb_verdict_summary__write_speedup(w, v);
	kgb_jsonw_put(w, "seconds: %g, kernel_sha256: %s, commit: %s, spent: {model_requests: %+ld",
		      kgb_report__seconds(v->wall_ms), v->kernel_sha256, call->commit,
		      call->spent.n_requests);
	kgb_report__usage(w, "tokens", &call->spent.gateway);
	kgb_jsonw_put(w, "cost_usd: %g}}", kgb_report__dollars(call->spent.cost_nanos));
}

/** How far the kernel got, its cases by tier, mode, element type and interface, and their times. */
static const struct kgb_row ladder_rows[] = {
	KGB_ROW(TEXT, struct kgb_verdict_summary, reached, "reached"),
	KGB_ROW(TREE, struct kgb_verdict_summary, tiers, "tiers"),
	KGB_ROW(TREE, struct kgb_verdict_summary, modes, "modes"),
	KGB_ROW(TREE, struct kgb_verdict_summary, dtypes, "dtypes"),
	KGB_ROW(TREE, struct kgb_verdict_summary, interfaces, "interfaces"),
	KGB_ROW(TREE, struct kgb_verdict_summary, timed_cases, "timed_cases"),
	KGB_ROWS_END,
};

/** Means over the timed cases: the speedup by the device's own clock, where every case has one, and
 * the share of the device's peak that the kernel reached, where some case has one. */
static void write_device(struct kgb_jsonw *w, const cJSON *timed_cases)
{
	double logs = 0, shares = 0;
	size_t n = 0, n_shares = 0;
	for (const cJSON *timed = timed_cases ? timed_cases->child : NULL; timed;
	     timed = timed->next) {
		const double share = kgb_json_num(timed, "candidate.peak_share", (double)NAN);
		logs += log(kgb_json_num(timed, "speedup_device.value", (double)NAN));
		n++;
		shares += isnan(share) ? 0 : share;
		n_shares += isnan(share) ? 0 : 1;
	}
	kgb_jsonw_put(w, "speedup_device: %g, peak_share: %g",
		      n > 0 ? exp(logs / (double)n) : (double)NAN,
		      n_shares > 0 ? shares / (double)n_shares : (double)NAN);
}

static void write_verdict(struct kgb_jsonw *w, const struct kgb_op_state *op)
{
	const struct kgb_verdict_summary *v = op->has_verdict ? &op->verdict : NULL;
	kgb_jsonw_put(w, "total_tests: %+ld, passed_tests: %+ld, failed_tests: %+ld, noted: %+ld",
		      v ? v->total_tests : -1, v ? v->passed_tests : -1, v ? v->failed_tests : -1,
		      v ? v->noted : -1);
	kgb_rows_write(w, ladder_rows, v ? v : &(struct kgb_verdict_summary){0});
	kgb_verdict_summary__write_speedup(w, v);
	write_device(w, v ? v->timed_cases : NULL);
	kgb_jsonw_put(w,
		      "error: %s, error_code: %s, failing_case: %s, verdict: %s, platform: %s, "
		      "device: %s, gpu: %s, baseline: %s, timing_precision: %s, seed: %s",
		      op->error_message, op->error_code, v ? v->failing_case : NULL,
		      op->verdict_path, v ? v->platform : NULL, op->device, v ? v->gpu : NULL,
		      v ? v->baseline : NULL, v ? v->timing_precision : NULL, v ? v->seed : NULL);
}

/** Where the judged kernel comes from; NULL: there is none. */
static const char *kernel_source(const struct kgb_op_state *op)
{
	if (kgb_op_is_replaced(op))
		return "replaced";
	const struct kgb_attempt_state *attempt = kgb_op_counting_attempt(op);
	return attempt ? attempt->kernel_source : op->made_sha256 ? "adopted" : NULL;
}

static void write_op(struct kgb_jsonw *w, const struct kgb_run_state *state,
		     const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *counting = kgb_op_counting_attempt(op);
	struct kgb_spent spent, lost;
	kgb_op_spent(op, &spent);
	kgb_op_lost(op, &lost);
	kgb_jsonw_key(w, op->name);
	kgb_jsonw_put(w, "{status: %s, source: %s, category: %s", kgb_op_status_name(op->status),
		      op->source, op->category);
	write_verdict(w, op);
	KGB_AUTO(free) char *kernel = kgb_xasprintf("kernels/%s.py", op->safe_name);
	kgb_jsonw_put(w, "kernel: %s, kernel_sha256: %s, kernel_source: %s, spec_sha256: %s",
		      op->kernel_sha256 ? kernel : NULL, op->kernel_sha256, kernel_source(op),
		      op->spec_sha256);
	write_spent(w, &spent, counting ? kgb_report__disagreement(counting) : NULL);
	write_lost(w, &lost);
	kgb_samples_write_op(w, state, op);
	kgb_jsonw_put(
		w,
		"time: {start_time: %s, end_time: %s, agent_seconds: %g, verify_seconds: %g}, "
		"attempts: [",
		KGB_REPORT_TIME(kgb_report__op_start(op)), KGB_REPORT_TIME(kgb_report__op_end(op)),
		kgb_report__seconds(kgb_op_agent_ms(op)),
		kgb_report__seconds(kgb_report__verify_ms(op)));
	for (size_t i = 0; i < op->n_attempts; i++)
		write_attempt(w, &op->attempts[i]);
	kgb_jsonw_put(w, "], verify_calls: [");
	for (size_t i = 0; i < op->n_calls; i++)
		write_call(w, &op->calls[i]);
	kgb_jsonw_put(w, "]}");
}

void kgb_results_render(const struct kgb_run_state *state, int indent, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, indent);
	kgb_jsonw_put(&w, "{schema: 'kgb.results/2', run_name: %s, dataset: %s", state->run_name,
		      state->dataset);
	const struct kgb_maker maker = kgb_run_maker(state);
	kgb_rows_write(&w, kgb_maker__rows, &maker);
	kgb_jsonw_put(&w, "platform: %s, isolation: %s", state->platform, state->isolation);
	if (state->from_run)
		kgb_jsonw_kstr(&w, "from_run", state->from_run);
	kgb_jsonw_put(&w,
		      "host: %s, kgb_version: %s, cli: %s, cli_version: %s, timestamp: %s, "
		      "start_time: %s, end_time: %s, status: %s, message: %s",
		      state->host, state->version, state->cli_name, state->cli_version,
		      KGB_REPORT_TIME(state->updated_ms), KGB_REPORT_TIME(state->first_started_ms),
		      KGB_REPORT_TIME(state->ended_ms),
		      state->finished ? kgb_run_end_name(state->end) : "running",
		      state->end_message);
	write_summary(&w, state);
	kgb_jsonw_put(&w, "operators: {");
	for (size_t i = 0; i < state->n_ops; i++)
		write_op(&w, state, &state->ops[i]);
	kgb_jsonw_put(&w, "}}");
	kgb_buf_addc(out, '\n');
}

int kgb_results_write(int dir_fd, const struct kgb_run_state *state, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_results_render(state, 2, &text);
	if (kgb_samples_write_file(dir_fd, state, err) < 0)
		return -1;
	return kgb_fs_write_atomic(dir_fd, KGB_RESULTS_NAME, text.ptr, text.len, 0644, true, err);
}

int kgb_results_exit_code(const struct kgb_run_state *state)
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	size_t good = counts.by_status[KGB_OP_PASSED];
	if (state->skip_verify)
		good += counts.generated;
	if (good == counts.total)
		return KGB_EXIT_OK;
	if (counts.by_status[KGB_OP_INFRA_ERROR] == counts.total)
		return KGB_EXIT_ENVIRONMENT;
	if (counts.by_status[KGB_OP_BUDGET] > 0)
		return KGB_EXIT_BUDGET;
	return KGB_EXIT_FAILURES;
}
