/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>

#include "agent/report/common.h"
#include "agent/report/refine.h"
#include "agent/report/results.h"
#include "agent/report/samples.h"
#include "agent/report/tabular.h"
#include "base/str.h"
#include "base/time.h"

#define DEFAULT_WIDTH 100

static const struct kgb_table_column columns[] = {
	{"operator", "operator", NULL}, {"status", "status", NULL},
	{"model", "model", NULL},       {"tests", "tests", NULL},
	{"speedup", "speedup", NULL},   {"attempts", "attempts", NULL},
	{"checks", "checks", NULL},     {"tokens", "tokens in/out", NULL},
	{"time", "time", NULL},
};
static const char *const dispensable[] = {"attempts", "checks",  "tokens", "time",
					  "tests",    "speedup", "model",  NULL};

/** Whether a row that is quoted alone must name its model. */
static bool marks_rows(const struct kgb_maker *maker)
{
	return kgb_maker_is_offline(maker) || kgb_str_eq(maker->gateway_mode, KGB_MIXED);
}

static void add_status(struct kgb_table *table, const struct kgb_op_state *op)
{
	KGB_AUTO(free)
	char *status = kgb_xasprintf("%s%s", kgb_op_status_name(op->status),
				     kgb_op_is_replaced(op) ? ", replaced" : "");
	kgb_table_word(table, status);
	kgb_table_style(table, kgb_style_of_status(op->status));
}

static void add_verdict(struct kgb_table *table, const struct kgb_op_state *op)
{
	char speedup[96];
	const struct kgb_verdict_summary *v = &op->verdict;
	const bool is_counted = op->has_verdict && v->total_tests >= 0;
	const bool is_timed = op->has_verdict && v->speedup > 0;
	kgb_table_number(table, is_counted ? (double)v->passed_tests : (double)NAN,
			 "%" PRId64 "/%" PRId64, v->passed_tests, v->total_tests);
	kgb_table_number(table, is_timed ? v->speedup : (double)NAN, "%s",
			 kgb_report__interval(v, speedup, sizeof(speedup)));
}

static void add_cost(struct kgb_table *table, const struct kgb_op_state *op)
{
	char in[32], out[32];
	struct kgb_spent spent;
	const int64_t verify_ms = kgb_report__verify_ms(op);
	kgb_op_spent(op, &spent);
	const struct kgb_usage *usage = &spent.gateway;
	kgb_table_count(table, op->n_attempts);
	kgb_table_count(table, op->n_calls);
	kgb_table_number(table, usage->output < 0 ? (double)NAN : (double)usage->output, "%s/%s",
			 kgb_report__count(kgb_report__prompt_tokens(usage), in, sizeof(in)),
			 kgb_report__count(usage->output, out, sizeof(out)));
	kgb_table_seconds(table,
			  (double)(kgb_op_agent_ms(op) + (verify_ms > 0 ? verify_ms : 0)) / 1000);
}

static void add_table(const struct kgb_run_state *state, size_t width, bool color,
		      struct kgb_buf *out)
{
	KGB_AUTO(table) struct kgb_table table = KGB_TABLE(columns);
	const struct kgb_maker run_maker = kgb_run_maker(state);
	table.dispensable = dispensable;
	table.color = color;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		const struct kgb_maker maker = kgb_op_maker(op);
		const char *model = kgb_maker_is_offline(&maker) ? KGB_MARK_OFFLINE : maker.model;
		kgb_table_word(&table, op->name);
		add_status(&table, op);
		kgb_table_word(&table, marks_rows(&run_maker) ? model : NULL);
		add_verdict(&table, op);
		add_cost(&table, op);
	}
	kgb_table_text(&table, width, out);
}

/** For each operator that did not pass: the reason, and where to look. */
static void add_failures(const struct kgb_run_state *state, const char *run_path,
			 struct kgb_buf *out)
{
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		if (!kgb_op_status_is_final(op->status) || op->status == KGB_OP_PASSED)
			continue;
		const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
		const char *evidence = op->verdict_path ? op->verdict_path
				       : last           ? last->dir
							: NULL;
		kgb_buf_addf(out, "\n%s: %s", op->name,
			     op->error_code ? op->error_code : kgb_op_status_name(op->status));
		if (op->error_message) {
			kgb_buf_adds(out, ": ");
			kgb_escape(out, op->error_message, strlen(op->error_message));
		}
		if (op->has_verdict && op->verdict.failing_case) {
			kgb_buf_adds(out, "\n  case      ");
			kgb_escape(out, op->verdict.failing_case, strlen(op->verdict.failing_case));
		}
		if (evidence && run_path)
			kgb_buf_addf(out, "\n  evidence  %s/%s", run_path, evidence);
		kgb_buf_addc(out, '\n');
	}
}

/** The verdicts on kernels that the run did not make. */
static void add_replaced(const struct kgb_run_state *state, struct kgb_buf *out)
{
	for (size_t i = 0; i < state->n_ops; i++)
		if (kgb_op_is_replaced(&state->ops[i]))
			kgb_buf_addf(
				out,
				"\n%s: kernels/%s.py was changed after the run had made it: its verdict counts in no rate\n",
				state->ops[i].name, state->ops[i].safe_name);
}

/** The operators that passed on a GPU but have no speedup. */
static void add_timing_notes(const struct kgb_run_state *state, struct kgb_buf *out)
{
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		if (op->status != KGB_OP_PASSED || !op->has_verdict || !*op->verdict.timing_note)
			continue;
		const char *note = op->verdict.timing_note;
		kgb_buf_addf(out, "\n%s: no speedup: ", op->name);
		kgb_escape(out, note, strlen(note));
		kgb_buf_addc(out, '\n');
	}
}

/** ", tokens 79.4k in 4366 out (gateway and CLI agree), lost attempts 622k in 1200 out" */
static void add_tokens(const struct kgb_run_state *state, struct kgb_buf *out)
{
	struct kgb_spent spent, lost;
	kgb_run_spent(state, &spent, &lost);
	if (spent.gateway.output >= 0) {
		kgb_buf_adds(out, ", tokens ");
		kgb_report__add_tokens(out, &spent.gateway);
		if (kgb_usage_complete(&spent.gateway) &&
		    kgb_usage_equal(&spent.gateway, &spent.cli))
			kgb_buf_adds(out, " (gateway and CLI agree)");
	}
	if (lost.gateway.output >= 0) {
		kgb_buf_adds(out, ", in lost attempts ");
		kgb_report__add_tokens(out, &lost.gateway);
	}
}

static void add_totals(const struct kgb_run_state *state, struct kgb_buf *out)
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	const struct kgb_maker maker = kgb_run_maker(state);
	kgb_buf_addf(out, "\n%s",
		     kgb_maker_is_offline(&maker) ? KGB_MARK_OFFLINE ": "
		     : marks_rows(&maker)         ? "MIXED MODELS: "
						  : "");
	if (state->skip_verify)
		kgb_buf_addf(out, "%zu of %zu generated, not verified", counts.generated,
			     counts.total);
	else
		kgb_buf_addf(out, "%zu of %zu passed", counts.by_status[KGB_OP_PASSED],
			     counts.total - counts.replaced);
	if (counts.replaced > 0)
		kgb_buf_addf(out, ", %zu replaced", counts.replaced);
	size_t n_timed = 0;
	double speedup = kgb_run_speedup(state, &n_timed);
	if (n_timed > 0)
		kgb_buf_addf(out, ", speedup %.4gx (geometric mean of %zu)", speedup, n_timed);
	add_tokens(state, out);
	char wall[32];
	kgb_buf_addf(out, ", %s\n",
		     kgb_duration_format(kgb_run_wall_ms(state), wall, sizeof(wall)));
	KGB_AUTO(buf) struct kgb_buf disagreement = KGB_BUF_INIT(0);
	kgb_report__run_disagreement(state, &disagreement);
	if (disagreement.len > 0)
		kgb_buf_addf(out, "gateway and CLI count differently: %s\n", disagreement.ptr);
}

/** "pass@1 53.3 % [50.0, 60.0], pass@5 99.7 % [99.6, 100.0] (mean of 3 operators ...)": of a bare
 * model; "refine@1 ..." of chains of rounds. */
static void add_samples(const struct kgb_run_state *state, struct kgb_buf *out)
{
	const bool in_rounds = state->n_rounds > 0;
	const int most = in_rounds ? state->n_rounds : state->n_samples;
	const int ks[] = {1, 2, 5, 10, in_rounds ? most : 0};
	size_t n_written = 0, n_operators = 0;
	for (size_t i = 0, last = 0; i < KGB_ARRAY_LEN(ks); i++) {
		const size_t k = (size_t)ks[i];
		if (k <= last || ks[i] > most)
			continue;
		const struct kgb_estimate e =
			in_rounds ? kgb_run_refine_at_r(state, KGB_SAMPLE_CORRECT, ks[i])
				  : kgb_run_pass_at_k(state, KGB_SAMPLE_CORRECT, k);
		n_operators = e.n > n_operators ? e.n : n_operators;
		if (e.n > 0)
			kgb_buf_addf(out, "%s%s@%zu %.1f %% [%.1f, %.1f]",
				     n_written++ > 0 ? ", " : "", in_rounds ? "refine" : "pass", k,
				     100 * e.value, 100 * e.low, 100 * e.high);
		last = k;
	}
	if (n_written > 0)
		kgb_buf_addf(out, " (mean of %zu operators, 95 %% interval over operators)\n",
			     n_operators);
}

/** "cuda:0: 44 % alone, 53 % shared, 3 % idle while kernels were judged" */
static void add_gpus(const struct kgb_run_state *state, struct kgb_buf *out)
{
	for (size_t i = 0; i < state->n_gpus; i++) {
		const struct kgb_gpu_times *gpu = &state->gpus[i];
		const double all_ms =
			(double)gpu->alone_ms + (double)gpu->shared_ms + (double)gpu->idle_ms;
		if (all_ms <= 0)
			continue;
		kgb_escape(out, gpu->name, strlen(gpu->name));
		kgb_buf_addf(
			out,
			": %.0f %% alone, %.0f %% shared, %.0f %% idle while kernels were judged\n",
			100 * (double)gpu->alone_ms / all_ms, 100 * (double)gpu->shared_ms / all_ms,
			100 * (double)gpu->idle_ms / all_ms);
	}
}

void kgb_results_table(const struct kgb_run_state *state, const char *run_path, size_t width,
		       bool color, struct kgb_buf *out)
{
	if (state->n_ops > 0)
		add_table(state, width > 0 ? width : DEFAULT_WIDTH, color, out);
	add_replaced(state, out);
	add_timing_notes(state, out);
	add_failures(state, run_path, out);
	add_totals(state, out);
	add_samples(state, out);
	add_gpus(state, out);
	if (run_path)
		kgb_buf_addf(out, "results  %s/%s\n", run_path, KGB_RESULTS_NAME);
}
