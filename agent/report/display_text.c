/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "agent/report/common.h"
#include "agent/report/display.h"
#include "agent/store/chains.h"
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

#define NAME_COLUMNS 24
#define STATUS_COLUMNS 9 /* "verifying": only live operators have a line */
#define NOTE_MIN_COLUMNS 12

/** "0:07", "12:05", "1:02:03": fixed enough not to jump about. */
static void add_clock(struct kgb_buf *out, int64_t ms)
{
	int64_t s = ms > 0 ? ms / 1000 : 0;
	if (s >= 3600)
		kgb_buf_addf(out, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60,
			     s % 60);
	else
		kgb_buf_addf(out, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
}

static bool is_live(const struct kgb_op_state *op)
{
	return op->status == KGB_OP_RUNNING || op->status == KGB_OP_VERIFYING;
}

/** Columns for the names: as many as the longest of the plan needs, within reason. */
static size_t name_columns(const struct kgb_run_state *state, size_t width)
{
	size_t longest = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		size_t len = strlen(state->ops[i].name);
		longest = len > longest ? len : longest;
	}
	size_t most = width / 3 < NAME_COLUMNS ? width / 3 : NAME_COLUMNS;
	return longest < most ? longest : most;
}

/** Time, tokens, checks. ASCII. */
static void add_figures(const struct kgb_op_state *op, int64_t now_ms, struct kgb_buf *out)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	bool verifying = op->status == KGB_OP_VERIFYING;
	int64_t since_ms = verifying ? op->verify_started_ms : last ? last->started_ms : now_ms;
	kgb_buf_adds(out, "  ");
	add_clock(out, now_ms - since_ms);
	if (!verifying && last && last->number > 1)
		kgb_buf_addf(out, "  attempt %d", last->number);
	if (!verifying && last && last->n_rounds > 0)
		kgb_buf_addf(out, "  round %d", last->rounds[last->n_rounds - 1].number + 1);
	struct kgb_spent spent;
	kgb_attempt_spent(last, &spent);
	if (spent.gateway.output >= 0) {
		kgb_buf_adds(out, "  ");
		kgb_report__add_tokens(out, &spent.gateway);
	}
	if (op->n_calls > 0)
		kgb_buf_addf(out, "  check %zu %s", op->n_calls,
			     op->calls[op->n_calls - 1].verdict.status);
}

/** " aten::add  running    0:12  12.3k in 456 out  check 1 failed  Bash: kgb-verify" */
static void add_op_line(const struct kgb_op_state *op, const char *note, int64_t now_ms,
			size_t names, size_t width, bool color, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf rest = KGB_BUF_INIT(0);
	add_figures(op, now_ms, &rest);
	size_t taken = 1 + names + 2 + STATUS_COLUMNS;
	if (note && op->status == KGB_OP_RUNNING && taken + rest.len + NOTE_MIN_COLUMNS <= width)
		kgb_buf_addf(&rest, "  %s", note);
	kgb_buf_addc(out, ' ');
	size_t used = kgb_report__cut(out, op->name, names);
	kgb_buf_addf(out, "%*s", (int)(names - used + 2), "");
	kgb_buf_addf(out, "%s%-*s%s", color ? kgb_report__color(op->status) : "", STATUS_COLUMNS,
		     kgb_op_status_name(op->status), color ? "\033[0m" : "");
	if (width > taken)
		kgb_report__cut(out, rest.ptr, width - taken);
	kgb_buf_addc(out, '\n');
}

static void add_summary_line(const struct kgb_run_state *state, int64_t now_ms, size_t width,
			     struct kgb_buf *out)
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	KGB_AUTO(buf) struct kgb_buf line = KGB_BUF_INIT(0);
	size_t passed = counts.by_status[KGB_OP_PASSED];
	kgb_buf_addf(&line, "[%zu/%zu]", counts.completed + counts.failed, counts.total);
	if (passed > 0)
		kgb_buf_addf(&line, " %zu passed", passed);
	if (counts.failed > 0)
		kgb_buf_addf(&line, " %zu not passed", counts.failed);
	if (counts.running > 0)
		kgb_buf_addf(&line, " %zu running", counts.running);
	if (counts.pending > 0)
		kgb_buf_addf(&line, " %zu waiting", counts.pending);
	kgb_buf_adds(&line, "  ");
	add_clock(&line, now_ms - state->started_ms);
	kgb_report__cut(out, line.ptr, width);
	kgb_buf_addc(out, '\n');
}

/** How many of `n_live` operators have a line; the others share one. */
static size_t count_shown(size_t n_live, size_t rows)
{
	/* The summary has a line, the cursor another. */
	size_t n_lines = rows - rows / 4;
	n_lines = n_lines > 2 ? n_lines - 2 : 0;
	return n_live <= n_lines ? n_live : n_lines > 1 ? n_lines - 1 : 0;
}

void kgb_display_render(const struct kgb_run_state *state, const char *const *notes, int64_t now_ms,
			const struct kgb_display_screen *screen, struct kgb_buf *out)
{
	const size_t width = screen->columns > 0 ? screen->columns - 1 : 0;
	size_t names = name_columns(state, width);
	size_t n_live = 0;
	for (size_t i = 0; i < state->n_ops; i++)
		n_live += is_live(&state->ops[i]);
	size_t n_shown = count_shown(n_live, screen->rows);
	size_t n_left = n_shown;
	for (size_t i = 0; i < state->n_ops && n_left > 0; i++) {
		if (!is_live(&state->ops[i]))
			continue;
		n_left--;
		add_op_line(&state->ops[i], notes ? notes[i] : NULL, now_ms, names, width,
			    screen->color, out);
	}
	if (n_live > n_shown && screen->rows > 2) {
		KGB_AUTO(free) char *more = kgb_xasprintf(" +%zu more", n_live - n_shown);
		kgb_report__cut(out, more, width);
		kgb_buf_addc(out, '\n');
	}
	add_summary_line(state, now_ms, width, out);
}

/** "verify.mismatch: why, case C, reached core (40/41 core, 12/66 edge)" */
static void add_failure(const struct kgb_verdict_summary *v, struct kgb_buf *out)
{
	const bool ran = !kgb_str_eq(v->status, "refused");

	kgb_buf_addf(out, "%s: %s", v->code ? v->code : "", v->message ? v->message : "");
	if (v->failing_case)
		kgb_buf_addf(out, ", case %s", v->failing_case);
	if (ran && v->tiers && v->reached)
		kgb_buf_addf(out,
			     ", reached %s (%" PRId64 "/%" PRId64 " core, %" PRId64 "/%" PRId64
			     " edge)",
			     v->reached, kgb_json_i64(v->tiers, "core.passed", 0),
			     kgb_json_i64(v->tiers, "core.total", 0),
			     kgb_json_i64(v->tiers, "edge.passed", 0),
			     kgb_json_i64(v->tiers, "edge.total", 0));
}

/** \param op has the kernel that was judged. */
static void line_verdict(const struct kgb_op_state *op, const struct kgb_verdict_summary *v,
			 struct kgb_buf *out)
{
	const struct kgb_maker maker = kgb_op_maker(op);

	if (kgb_maker_is_offline(&maker))
		kgb_buf_adds(out, KGB_MARK_OFFLINE " ");
	if (kgb_str_eq(v->status, "passed")) {
		kgb_buf_adds(out, "PASSED");
		if (v->total_tests >= 0)
			kgb_buf_addf(out, " %" PRId64 "/%" PRId64 " tests", v->passed_tests,
				     v->total_tests);
		char speedup[64];
		if (v->speedup > 0)
			kgb_buf_addf(out, ", speedup %s",
				     kgb_report__interval(v, speedup, sizeof(speedup)));
	} else {
		kgb_buf_adds(out, kgb_str_eq(v->status, "cheated")   ? "CHEATED "
				  : kgb_str_eq(v->status, "refused") ? "REFUSED "
				  : kgb_str_eq(v->status, "failed")  ? "FAILED "
								     : "NOT CHECKED ");
		add_failure(v, out);
	}
	if (v->wall_ms >= 0) {
		char text[32];
		kgb_buf_addf(out, " (%s)", kgb_duration_format(v->wall_ms, text, sizeof(text)));
	}
}

static void line_attempt_finished(const struct kgb_op_state *op, struct kgb_buf *out)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	char text[32];
	kgb_buf_addf(out, "%s: attempt %d ended after %s: %s", op->name, last->number,
		     kgb_duration_format(last->ended_ms - last->started_ms, text, sizeof(text)),
		     kgb_agent_end_code(last->end));
	if (last->error_message)
		kgb_buf_addf(out, ": %s", last->error_message);
	kgb_buf_adds(out, last->code_generated ? ", kernel kept" : ", no kernel");
	if (last->kernel_source)
		kgb_buf_addf(out, " (%s)", last->kernel_source);
	if (last->retry)
		kgb_buf_adds(out, ", will be tried again");
}

static void line_round(const struct kgb_op_state *op, struct kgb_buf *out)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	const struct kgb_round *round = &last->rounds[last->n_rounds - 1];
	if (round->number == 0)
		kgb_buf_addf(out, "%s: the kernel to begin with: ", op->name);
	else
		kgb_buf_addf(out, "%s: round %d %s: ", op->name, round->number,
			     round->kept ? "kept" : "not kept");
	if (round->has_verdict)
		line_verdict(op, &round->verdict, out);
	else
		kgb_buf_addf(out, "nothing was judged: %s", round->code ? round->code : "?");
}

static void line_run(const struct kgb_run_state *state, const char *type, struct kgb_buf *out)
{
	if (kgb_str_eq(type, "planned")) {
		kgb_buf_addf(out, "run %s: %zu operator%s", state->run_name ? state->run_name : "?",
			     state->n_ops, state->n_ops == 1 ? "" : "s");
	} else if (kgb_str_eq(type, "run_finished") && state->end != KGB_RUN_COMPLETED &&
		   state->end != KGB_RUN_FAILED /* the run reports its error itself */) {
		kgb_buf_addf(out, "run %s", kgb_run_end_name(state->end));
		if (state->end_message)
			kgb_buf_addf(out, ": %s", state->end_message);
	}
}

/** Chains of rounds of which a round is right. */
static size_t count_right_chains(const struct kgb_op_state *op, int n_samples)
{
	size_t n = 0;
	for (int number = 1; number <= n_samples; number++) {
		const struct kgb_sample *sample = NULL;
		bool is_right = false;
		for (int round = 1; (sample = kgb_op_sample(op, number, round)); round++)
			is_right = is_right || kgb_str_eq(sample->status, "passed");
		n += is_right;
	}
	return n;
}

/** Only when the last sample of an operator is judged: others would flood the terminal. */
static void line_samples(const struct kgb_run_state *state, const struct kgb_op_state *op,
			 struct kgb_buf *out)
{
	size_t n_judged = 0, n_right = 0;
	for (size_t i = 0; i < op->n_samples; i++) {
		n_judged += op->samples[i].has_verdict;
		n_right += kgb_str_eq(op->samples[i].status, "passed");
	}
	if (n_judged < op->n_samples || kgb_op_missing(op, state->n_samples, state->n_rounds) > 0)
		return;
	if (state->n_rounds > 0)
		kgb_buf_addf(out, "%s: %zu of %d chains are right, after %zu answers", op->name,
			     count_right_chains(op, state->n_samples), state->n_samples, n_judged);
	else
		kgb_buf_addf(out, "%s: %zu of %zu samples are right", op->name, n_right, n_judged);
}

void kgb_display_line(const struct kgb_run_state *state, const struct kgb_op_state *op,
		      const char *type, struct kgb_buf *out)
{
	if (!op) {
		line_run(state, type, out);
	} else if (kgb_str_eq(type, "attempt_started")) {
		kgb_buf_addf(out, "%s: attempt %zu started", op->name, op->n_attempts);
	} else if (kgb_str_eq(type, "verify_call")) {
		kgb_buf_addf(out, "%s: check %zu: ", op->name, op->n_calls);
		line_verdict(op, &op->calls[op->n_calls - 1].verdict, out);
	} else if (kgb_str_eq(type, "sample_judged") || kgb_str_eq(type, "sample_checked")) {
		line_samples(state, op, out);
	} else if (kgb_str_eq(type, "round_finished")) {
		line_round(op, out);
	} else if (kgb_str_eq(type, "attempt_finished")) {
		line_attempt_finished(op, out);
	} else if (kgb_str_eq(type, "verify_started")) {
		kgb_buf_addf(out, "%s: final verification", op->name);
	} else if (kgb_str_eq(type, "verified")) {
		kgb_buf_addf(out, "%s: ", op->name);
		line_verdict(op, &op->verdict, out);
	} else if (kgb_str_eq(type, "operator_ended")) {
		kgb_buf_addf(out, "%s: %s", op->name, kgb_op_status_name(op->status));
		if (op->error_code || op->error_message)
			kgb_buf_addf(out, ": %s%s%s", op->error_code ? op->error_code : "",
				     op->error_code && op->error_message ? ": " : "",
				     op->error_message ? op->error_message : "");
	}
}
