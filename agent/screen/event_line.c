/* SPDX-License-Identifier: MIT */
#include "agent/screen/event_line.h"

#include <inttypes.h>

#include "agent/report/common.h"
#include "agent/store/chains.h"
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

#define EVENT_COLUMNS 9 /* "attempt 1", "generated" */
#define FIGURES_LINES 3
/* With fewer columns figures go on a separate line. */
#define FIGURES_COLUMNS_MIN 30

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

static const char *verdict_word(const struct kgb_verdict_summary *v)
{
	return kgb_str_eq(v->status, "passed")    ? "PASSED"
	       : kgb_str_eq(v->status, "cheated") ? "CHEATED"
	       : kgb_str_eq(v->status, "refused") ? "REFUSED"
	       : kgb_str_eq(v->status, "failed")  ? "FAILED"
						  : "NOT CHECKED";
}

static void add_verdict_figures(const struct kgb_verdict_summary *v, struct kgb_buf *out)
{
	char text[64];
	if (!kgb_str_eq(v->status, "passed"))
		add_failure(v, out);
	else if (v->total_tests >= 0)
		kgb_buf_addf(out, "%" PRId64 "/%" PRId64 " tests", v->passed_tests, v->total_tests);
	if (kgb_str_eq(v->status, "passed") && v->speedup > 0)
		kgb_buf_addf(out, "%sspeedup %s", out->len > 0 ? ", " : "",
			     kgb_report__interval(v, text, sizeof(text)));
	if (v->wall_ms >= 0)
		kgb_buf_addf(out, "%s(%s)", out->len > 0 ? " " : "",
			     kgb_duration_format(v->wall_ms, text, sizeof(text)));
}

/** Word and figures in one column. */
static void add_verdict(const struct kgb_op_state *op, const struct kgb_verdict_summary *v,
			struct kgb_buf *out)
{
	const struct kgb_maker maker = kgb_op_maker(op);
	KGB_AUTO(buf) struct kgb_buf figures = KGB_BUF_INIT(0);
	add_verdict_figures(v, &figures);
	kgb_buf_addf(out, "%s%s%s%s", kgb_maker_is_offline(&maker) ? KGB_MARK_OFFLINE " " : "",
		     verdict_word(v), figures.len > 0 ? " " : "", figures.ptr);
}

static enum kgb_style style_of(const struct kgb_verdict_summary *v)
{
	return kgb_str_eq(v->status, "passed")    ? KGB_STYLE_GOOD
	       : kgb_str_eq(v->status, "cheated") ? KGB_STYLE_CHEAT
						  : KGB_STYLE_BAD;
}

/* ---- events ---- */

static void line_attempt_started(const struct kgb_run_state *state, const struct kgb_op_state *op,
				 struct kgb_event_line *line)
{
	(void)state;
	kgb_buf_addf(&line->event, "attempt %zu", op->n_attempts);
	line->after_event = " ";
	kgb_buf_adds(&line->figures, "started");
}

static void line_attempt_finished(const struct kgb_run_state *state, const struct kgb_op_state *op,
				  struct kgb_event_line *line)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	char text[32];
	kgb_buf_addf(&line->event, "attempt %d", last->number);
	line->after_event = " ";
	kgb_buf_addf(&line->figures, "ended after %s: %s",
		     kgb_duration_format(last->ended_ms - last->started_ms, text, sizeof(text)),
		     kgb_agent_end_code(last->end));
	if (last->error_message)
		kgb_buf_addf(&line->figures, ": %s", last->error_message);
	kgb_buf_adds(&line->figures, last->code_generated ? ", kernel kept" : ", no kernel");
	if (last->kernel_source)
		kgb_buf_addf(&line->figures, " (%s)", last->kernel_source);
	if (last->retry)
		kgb_buf_adds(&line->figures, ", will be tried again");
	const bool is_bad = last->end != KGB_AGENT_OK || !last->code_generated;
	line->style = is_bad ? KGB_STYLE_BAD : KGB_STYLE_PLAIN;
	/* Without verification the kernel is the operator's outcome. */
	line->is_end = is_bad || state->skip_verify;
}

static void line_check(const struct kgb_run_state *state, const struct kgb_op_state *op,
		       struct kgb_event_line *line)
{
	(void)state;
	const struct kgb_verdict_summary *v = &op->calls[op->n_calls - 1].verdict;
	kgb_buf_addf(&line->event, "check %zu", op->n_calls);
	add_verdict(op, v, &line->figures);
	line->style = style_of(v);
}

static void line_round(const struct kgb_run_state *state, const struct kgb_op_state *op,
		       struct kgb_event_line *line)
{
	(void)state;
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	const struct kgb_round *round = &last->rounds[last->n_rounds - 1];
	if (round->number == 0)
		kgb_buf_adds(&line->event, "the kernel to begin with");
	else
		kgb_buf_addf(&line->event, "round %d %s", round->number,
			     round->kept ? "kept" : "not kept");
	if (round->has_verdict) {
		add_verdict(op, &round->verdict, &line->figures);
		line->style = style_of(&round->verdict);
	} else {
		kgb_buf_addf(&line->figures, "nothing was judged: %s",
			     round->code ? round->code : "?");
	}
}

static void line_verify_started(const struct kgb_run_state *state, const struct kgb_op_state *op,
				struct kgb_event_line *line)
{
	(void)state;
	(void)op;
	kgb_buf_adds(&line->event, "final verification");
}

static void line_verified(const struct kgb_run_state *state, const struct kgb_op_state *op,
			  struct kgb_event_line *line)
{
	const struct kgb_maker maker = kgb_op_maker(op); /* of the kernel that was judged */
	(void)state;
	line->is_offline = kgb_maker_is_offline(&maker);
	kgb_buf_adds(&line->event, verdict_word(&op->verdict));
	line->after_event = " ";
	add_verdict_figures(&op->verdict, &line->figures);
	line->style = style_of(&op->verdict);
	line->is_end = true;
}

static void line_operator_ended(const struct kgb_run_state *state, const struct kgb_op_state *op,
				struct kgb_event_line *line)
{
	(void)state;
	kgb_buf_adds(&line->event, kgb_op_status_name(op->status));
	if (op->error_code || op->error_message)
		kgb_buf_addf(&line->figures, "%s%s%s", op->error_code ? op->error_code : "",
			     op->error_code && op->error_message ? ": " : "",
			     op->error_message ? op->error_message : "");
	line->style = kgb_style_of_status(op->status);
	line->is_end = true;
}

/** Chains with a right round. */
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

/** Print a line only after the last sample of an operator: one for each sample would flood the
 * terminal. */
static void line_samples(const struct kgb_run_state *state, const struct kgb_op_state *op,
			 struct kgb_event_line *line)
{
	size_t n_judged = 0, n_right = 0;
	for (size_t i = 0; i < op->n_samples; i++) {
		n_judged += op->samples[i].has_verdict;
		n_right += kgb_str_eq(op->samples[i].status, "passed");
	}
	if (n_judged < op->n_samples || kgb_op_missing(op, state->n_samples, state->n_rounds) > 0)
		return;
	if (state->n_rounds > 0) {
		n_right = count_right_chains(op, state->n_samples);
		kgb_buf_addf(&line->event, "%zu of %d", n_right, state->n_samples);
		kgb_buf_addf(&line->figures, "chains are right, after %zu answers", n_judged);
	} else {
		kgb_buf_addf(&line->event, "%zu of %zu", n_right, n_judged);
		kgb_buf_adds(&line->figures, "samples are right");
	}
	line->after_event = " ";
	line->style = n_right > 0 ? KGB_STYLE_GOOD : KGB_STYLE_BAD;
	line->is_end = true;
}

static void line_run(const struct kgb_run_state *state, const char *type,
		     struct kgb_event_line *line)
{
	line->subject = "run";
	line->after_subject = " ";
	if (kgb_str_eq(type, "planned")) {
		kgb_buf_adds(&line->event, state->run_name ? state->run_name : "?");
		kgb_buf_addf(&line->figures, "%zu operator%s", state->n_ops,
			     state->n_ops == 1 ? "" : "s");
	} else if (kgb_str_eq(type, "run_finished") && state->end != KGB_RUN_COMPLETED &&
		   state->end != KGB_RUN_FAILED /* the run reports its error itself */) {
		kgb_buf_adds(&line->event, kgb_run_end_name(state->end));
		kgb_buf_adds(&line->figures, state->end_message ? state->end_message : "");
		line->style = KGB_STYLE_BAD;
		line->is_end = true;
	}
}

static const struct {
	const char *type;
	void (*make)(const struct kgb_run_state *state, const struct kgb_op_state *op,
		     struct kgb_event_line *line);
} makers[] = {
	{"attempt_started", line_attempt_started},
	{"attempt_finished", line_attempt_finished},
	{"verify_call", line_check},
	{"round_finished", line_round},
	{"verify_started", line_verify_started},
	{"verified", line_verified},
	{"operator_ended", line_operator_ended},
};

bool kgb_event_line_make(const struct kgb_run_state *state, const struct kgb_op_state *op,
			 const char *type, struct kgb_event_line *out)
{
	*out = (struct kgb_event_line){.subject = op ? op->name : "run",
				       .after_subject = ": ",
				       .event = KGB_BUF_INIT(0),
				       .after_event = ": ",
				       .figures = KGB_BUF_INIT(0)};
	if (!op)
		line_run(state, type, out);
	else if (kgb_str_eq(type, "sample_judged") || kgb_str_eq(type, "sample_checked"))
		line_samples(state, op, out);
	for (size_t i = 0; op && i < KGB_ARRAY_LEN(makers); i++)
		if (kgb_str_eq(type, makers[i].type))
			makers[i].make(state, op, out);
	if (out->event.len > 0)
		return true;
	kgb_event_line_release(out);
	return false;
}

void kgb_event_line_print(const struct kgb_event_line *line, struct kgb_buf *out)
{
	kgb_buf_addf(out, "%s%s%s%s", line->subject, line->after_subject,
		     line->is_offline ? KGB_MARK_OFFLINE " " : "", line->event.ptr);
	if (line->figures.len > 0)
		kgb_buf_addf(out, "%s%s", line->after_event, line->figures.ptr);
}

void kgb_event_line_lay(const struct kgb_event_line *line, int64_t elapsed_ms, const char *label,
			struct kgb_block_columns columns, struct kgb_styled *out)
{
	char clock[KGB_CLOCK_LEN];
	kgb_styled_line(out);
	kgb_styled_addf(out, KGB_STYLE_FAINT, "%*s  ", KGB_CLOCK_COLUMNS,
			kgb_clock_format(elapsed_ms, clock));
	kgb_block_add_label(label, columns.label, out);
	kgb_styled_cell(out, KGB_STYLE_PLAIN, line->subject, columns.name);
	kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
	kgb_styled_add(out, line->style, line->event.ptr);
	if (line->figures.len == 0)
		return;
	KGB_AUTO(free)
	char *figures = kgb_xasprintf("%s%s", line->is_offline ? KGB_MARK_OFFLINE " " : "",
				      line->figures.ptr);
	const size_t taken = line->event.len < EVENT_COLUMNS ? line->event.len : EVENT_COLUMNS;
	const size_t gap = EVENT_COLUMNS - taken + 2;
	if (kgb_styled_room(out) < gap + FIGURES_COLUMNS_MIN) {
		kgb_styled_line(out);
		kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
	} else {
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "%*s", (int)gap, "");
	}
	kgb_styled_wrap(out, figures, FIGURES_LINES);
}

void kgb_event_line_release(struct kgb_event_line *line)
{
	kgb_buf_release(&line->event);
	kgb_buf_release(&line->figures);
}

void kgb_auto_event_line(struct kgb_event_line *line)
{
	kgb_event_line_release(line);
}
