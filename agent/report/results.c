/* SPDX-License-Identifier: MIT */
#include "agent/report/results.h"

#include <math.h>

#include "agent/report/common.h"
#include "agent/store/events_json.h"
#include "base/formats/jsonw.h"
#include "base/str.h"
#include "base/system/fs.h"

/** What the operators add up to. */
struct sums {
	struct kgb_spent spent; /* by the attempts that count */
	struct kgb_spent lost; /* by the others */
	size_t n_lost;
	int64_t agent_ms, verify_ms;
};

static void sum_up(const struct kgb_run_state *state, struct sums *out)
{
	*out = (struct sums){.spent = KGB_SPENT_NOTHING, .lost = KGB_SPENT_NOTHING};
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		struct kgb_spent part;
		kgb_attempt_spent(kgb_op_counting_attempt(op), &part);
		kgb_spent_add(&out->spent, &part);
		kgb_op_lost(op, &part);
		kgb_spent_add(&out->lost, &part);
		out->n_lost += op->n_attempts > 0 ? op->n_attempts - 1 : 0;
		out->agent_ms += kgb_op_agent_ms(op);
		int64_t verify_ms = kgb_report__verify_ms(op);
		out->verify_ms += verify_ms > 0 ? verify_ms : 0;
	}
}

static void write_tokens(struct kgb_jsonw *w, const struct kgb_usage *gateway,
			 const struct kgb_usage *cli, const char *disagreement)
{
	kgb_jsonw_key(w, "tokens");
	kgb_jsonw_object(w);
	kgb_report__usage(w, "gateway", gateway);
	kgb_report__usage(w, "cli", cli);
	kgb_report__agree(w, gateway, cli);
	kgb_jsonw_kstr(w, "disagreement", disagreement);
	kgb_jsonw_object_end(w);
}

/** Members tokens, cost_usd and cli_cost_usd. */
static void write_spent(struct kgb_jsonw *w, const struct kgb_spent *spent,
			const char *disagreement)
{
	write_tokens(w, &spent->gateway, &spent->cli, disagreement);
	kgb_report__dollars(w, "cost_usd", spent->cost_unknown ? -1 : spent->cost_nanos);
	kgb_report__dollars(w, "cli_cost_usd", spent->cli_cost_nanos);
}

/** Member lost: attempts that do not count; null when there are none. */
static void write_lost(struct kgb_jsonw *w, const struct kgb_spent *lost, size_t n_attempts)
{
	kgb_jsonw_key(w, "lost");
	if (n_attempts == 0) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "attempts", (int64_t)n_attempts);
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

static void write_summary(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	struct sums sums;
	sum_up(state, &sums);
	size_t passed = counts.by_status[KGB_OP_PASSED];
	size_t rated = counts.total - counts.replaced;
	kgb_jsonw_key(w, "summary");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "total", (int64_t)counts.total);
	kgb_jsonw_ki64(w, "passed", (int64_t)passed);
	kgb_jsonw_ki64(w, "failed", (int64_t)counts.failed);
	kgb_jsonw_ki64(w, "unfinished", (int64_t)(counts.total - passed - counts.failed));
	kgb_jsonw_ki64(w, "replaced", (int64_t)counts.replaced);
	kgb_jsonw_knum(w, "pass_rate",
		       has_verdict(state) ? (double)passed / (double)rated : (double)NAN);
	kgb_jsonw_key(w, "by_status");
	kgb_jsonw_object(w);
	for (int i = 0; i < KGB_OP_N_STATUSES; i++)
		if (counts.by_status[i] > 0)
			kgb_jsonw_ki64(w, kgb_op_status_name((enum kgb_op_status)i),
				       (int64_t)counts.by_status[i]);
	kgb_jsonw_object_end(w);
	kgb_report__speedup(w, state);
	KGB_AUTO(buf) struct kgb_buf disagreement = KGB_BUF_INIT(0);
	kgb_report__run_disagreement(state, &disagreement);
	write_spent(w, &sums.spent, disagreement.len > 0 ? disagreement.ptr : NULL);
	write_lost(w, &sums.lost, sums.n_lost);
	kgb_jsonw_key(w, "seconds");
	kgb_jsonw_object(w);
	kgb_report__seconds(w, "agent", sums.agent_ms);
	kgb_report__seconds(w, "verify", sums.verify_ms);
	kgb_report__seconds(w, "wall", kgb_run_wall_ms(state));
	kgb_jsonw_object_end(w);
	kgb_jsonw_object_end(w);
}

static void write_round(struct kgb_jsonw *w, const struct kgb_round *round)
{
	const struct kgb_verdict_summary *v = round->has_verdict ? &round->verdict : NULL;
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "number", round->number);
	kgb_report__time(w, "time", round->time_ms);
	kgb_jsonw_kstr(w, "end", round->end);
	kgb_jsonw_kstr(w, "status", v ? v->status : NULL);
	kgb_jsonw_kstr(w, "code", v ? v->code : round->code);
	kgb_jsonw_kbool(w, "kept", round->kept);
	kgb_verdict_summary__write_speedup(w, v);
	kgb_jsonw_kstr(w, "summary", round->summary);
	kgb_jsonw_kcount(w, "check", round->check > 0 ? round->check : -1);
	kgb_jsonw_kstr(w, "kernel_sha256", v ? v->kernel_sha256 : NULL);
	kgb_jsonw_kstr(w, "commit", round->commit);
	kgb_jsonw_kstr(w, "session_id", round->session_id);
	kgb_jsonw_kstr(w, "prompt_sha256", round->prompt_sha256);
	write_tokens(w, &round->gateway, &round->cli, NULL);
	kgb_jsonw_object_end(w);
}

/** Only a method that works in rounds has any. */
static void write_rounds(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	if (attempt->n_rounds == 0)
		return;
	const struct kgb_round *best = kgb_attempt_best_round(attempt);
	kgb_jsonw_kcount(w, "best_round", best ? best->number : -1);
	kgb_jsonw_kstr(w, "stopped_by", attempt->stopped_by);
	kgb_jsonw_key(w, "rounds");
	kgb_jsonw_array(w);
	for (size_t i = 0; i < attempt->n_rounds; i++)
		write_round(w, &attempt->rounds[i]);
	kgb_jsonw_array_end(w);
}

/** The models that the answers name, with their number of messages. */
static void write_models(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	kgb_jsonw_key(w, "models_answered");
	kgb_jsonw_object(w);
	for (size_t i = 0; i < attempt->gateway.n_models; i++)
		kgb_jsonw_ki64(w, attempt->gateway.models[i].name,
			       attempt->gateway.models[i].n_messages);
	kgb_jsonw_object_end(w);
}

/** Nanos a token are thousandths of a dollar a million tokens. */
static void write_price(struct kgb_jsonw *w, const struct kgb_price *price)
{
	const struct {
		const char *key;
		int64_t nanos;
	} parts[] = {{"input", price->input},
		     {"output", price->output},
		     {"cache_write", price->cache_write},
		     {"cache_read", price->cache_read}};
	kgb_jsonw_key(w, "usd_per_million_tokens");
	kgb_jsonw_object(w);
	for (size_t i = 0; i < KGB_ARRAY_LEN(parts); i++)
		kgb_jsonw_knum(w, parts[i].key,
			       parts[i].nanos < 0 ? (double)NAN : (double)parts[i].nanos / 1e3);
	kgb_jsonw_object_end(w);
}

static void write_attempt(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	bool ended = attempt->ended_ms >= 0;
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "number", attempt->number);
	kgb_jsonw_kcount(w, "device", attempt->device);
	kgb_jsonw_kstr(w, "dir", attempt->dir);
	kgb_rows_write(w, kgb_maker__rows, &attempt->maker);
	write_models(w, attempt);
	write_price(w, &attempt->price);
	kgb_report__time(w, "start_time", attempt->started_ms);
	kgb_report__time(w, "end_time", attempt->ended_ms);
	kgb_report__seconds(w, "duration_seconds",
			    ended ? attempt->ended_ms - attempt->started_ms : -1);
	kgb_jsonw_kstr(w, "end", ended ? kgb_agent_end_code(attempt->end) : NULL);
	kgb_jsonw_kcount(w, "exit_code", attempt->exit_code);
	kgb_jsonw_ki64(w, "term_signal", attempt->term_signal);
	kgb_jsonw_kbool(w, "code_generated", attempt->code_generated);
	kgb_jsonw_kstr(w, "kernel_source", attempt->kernel_source);
	kgb_jsonw_kstr(w, "kernel_sha256", attempt->kernel_sha256);
	kgb_jsonw_kstr(w, "prompt_sha256", attempt->prompt_sha256);
	kgb_jsonw_kstr(w, "error_code", attempt->error_code);
	kgb_jsonw_kstr(w, "error", attempt->error_message);
	kgb_jsonw_kcount(w, "model_requests",
			 attempt->has_gateway ? attempt->gateway.n_exchanges : -1);
	kgb_report__seconds(w, "model_seconds",
			    attempt->has_gateway ? attempt->gateway.busy_ms : -1);
	kgb_jsonw_kcount(w, "turns", attempt->has_cli ? attempt->cli.n_turns : -1);
	kgb_jsonw_kstr(w, "session_id",
		       attempt->has_cli && *attempt->cli.session_id ? attempt->cli.session_id
								    : NULL);
	kgb_jsonw_kcount(w, "bad_lines", attempt->has_cli ? attempt->cli.n_bad_lines : -1);
	kgb_jsonw_kcount(w, "unknown_events",
			 attempt->has_cli ? attempt->cli.n_unknown_events : -1);
	struct kgb_spent spent;
	kgb_attempt_spent(attempt, &spent);
	write_spent(w, &spent, kgb_report__disagreement(attempt));
	kgb_jsonw_kcount(w, "charged_tokens",
			 attempt->has_gateway ? attempt->gateway.charged_tokens : -1);
	kgb_jsonw_kcount(w, "model_retries",
			 attempt->has_gateway ? attempt->gateway.n_retries : -1);
	kgb_report__seconds(w, "model_wait_seconds",
			    attempt->has_gateway ? attempt->gateway.wait_ms : -1);
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
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "attempt", call->attempt);
	kgb_jsonw_ki64(w, "number", call->number);
	kgb_report__time(w, "time", call->time_ms);
	kgb_jsonw_kstr(w, "status", v->status);
	kgb_jsonw_kstr(w, "code", v->code);
	kgb_jsonw_kstr(w, "message", v->message);
	kgb_jsonw_kstr(w, "failing_case", v->failing_case);
	kgb_jsonw_kcount(w, "total_tests", v->total_tests);
	kgb_jsonw_kcount(w, "passed_tests", v->passed_tests);
	kgb_verdict_summary__write_speedup(w, v);
	kgb_report__seconds(w, "seconds", v->wall_ms);
	kgb_jsonw_kstr(w, "kernel_sha256", v->kernel_sha256);
	kgb_jsonw_kstr(w, "commit", call->commit);
	kgb_jsonw_object_end(w);
}

static void write_verdict(struct kgb_jsonw *w, const struct kgb_op_state *op)
{
	const struct kgb_verdict_summary *v = op->has_verdict ? &op->verdict : NULL;
	kgb_jsonw_kcount(w, "total_tests", v ? v->total_tests : -1);
	kgb_jsonw_kcount(w, "passed_tests", v ? v->passed_tests : -1);
	kgb_jsonw_kcount(w, "failed_tests", v ? v->failed_tests : -1);
	kgb_verdict_summary__write_speedup(w, v);
	kgb_jsonw_kstr(w, "error", op->error_message);
	kgb_jsonw_kstr(w, "error_code", op->error_code);
	kgb_jsonw_kstr(w, "failing_case", v ? v->failing_case : NULL);
	kgb_jsonw_kstr(w, "verdict", op->verdict_path);
	kgb_jsonw_kstr(w, "platform", v ? v->platform : NULL);
	kgb_jsonw_kstr(w, "device", op->device);
	kgb_jsonw_kstr(w, "gpu", v ? v->gpu : NULL);
	kgb_jsonw_kstr(w, "baseline", v ? v->baseline : NULL);
	kgb_jsonw_kstr(w, "seed", v ? v->seed : NULL);
}

/** Where the judged kernel comes from; NULL: there is none. */
static const char *kernel_source(const struct kgb_op_state *op)
{
	if (kgb_op_is_replaced(op))
		return "replaced";
	const struct kgb_attempt_state *attempt = kgb_op_counting_attempt(op);
	return attempt ? attempt->kernel_source : op->made_sha256 ? "adopted" : NULL;
}

static void write_op(struct kgb_jsonw *w, const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *counting = kgb_op_counting_attempt(op);
	struct kgb_spent spent, lost;
	kgb_attempt_spent(counting, &spent);
	kgb_op_lost(op, &lost);
	kgb_jsonw_key(w, op->name);
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "status", kgb_op_status_name(op->status));
	write_verdict(w, op);
	KGB_AUTO(free) char *kernel = kgb_xasprintf("kernels/%s.py", op->safe_name);
	kgb_jsonw_kstr(w, "kernel", op->kernel_sha256 ? kernel : NULL);
	kgb_jsonw_kstr(w, "kernel_sha256", op->kernel_sha256);
	kgb_jsonw_kstr(w, "kernel_source", kernel_source(op));
	kgb_jsonw_kstr(w, "spec_sha256", op->spec_sha256);
	write_spent(w, &spent, counting ? kgb_report__disagreement(counting) : NULL);
	write_lost(w, &lost, op->n_attempts > 0 ? op->n_attempts - 1 : 0);
	kgb_jsonw_key(w, "time");
	kgb_jsonw_object(w);
	kgb_report__time(w, "start_time", kgb_report__op_start(op));
	kgb_report__time(w, "end_time", kgb_report__op_end(op));
	kgb_report__seconds(w, "agent_seconds", kgb_op_agent_ms(op));
	kgb_report__seconds(w, "verify_seconds", kgb_report__verify_ms(op));
	kgb_jsonw_object_end(w);
	kgb_jsonw_key(w, "attempts");
	kgb_jsonw_array(w);
	for (size_t i = 0; i < op->n_attempts; i++)
		write_attempt(w, &op->attempts[i]);
	kgb_jsonw_array_end(w);
	kgb_jsonw_key(w, "verify_calls");
	kgb_jsonw_array(w);
	for (size_t i = 0; i < op->n_calls; i++)
		write_call(w, &op->calls[i]);
	kgb_jsonw_array_end(w);
	kgb_jsonw_object_end(w);
}

void kgb_results_render(const struct kgb_run_state *state, int indent, struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, indent);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "schema", "kgb.results/2");
	kgb_jsonw_kstr(&w, "run_name", state->run_name);
	kgb_jsonw_kstr(&w, "dataset", state->dataset);
	const struct kgb_maker maker = kgb_run_maker(state);
	kgb_rows_write(&w, kgb_maker__rows, &maker);
	kgb_jsonw_kstr(&w, "platform", state->platform);
	kgb_jsonw_kstr(&w, "isolation", state->isolation);
	if (state->from_run)
		kgb_jsonw_kstr(&w, "from_run", state->from_run);
	kgb_jsonw_kstr(&w, "host", state->host);
	kgb_jsonw_kstr(&w, "kgb_version", state->version);
	kgb_jsonw_kstr(&w, "cli", state->cli_name);
	kgb_jsonw_kstr(&w, "cli_version", state->cli_version);
	kgb_report__time(&w, "timestamp", state->updated_ms);
	kgb_report__time(&w, "start_time", state->first_started_ms);
	kgb_report__time(&w, "end_time", state->ended_ms);
	kgb_jsonw_kstr(&w, "status", state->finished ? kgb_run_end_name(state->end) : "running");
	kgb_jsonw_kstr(&w, "message", state->end_message);
	write_summary(&w, state);
	kgb_jsonw_key(&w, "operators");
	kgb_jsonw_object(&w);
	for (size_t i = 0; i < state->n_ops; i++)
		write_op(&w, &state->ops[i]);
	kgb_jsonw_object_end(&w);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}

int kgb_results_write(int dir_fd, const struct kgb_run_state *state, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_results_render(state, 2, &text);
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
