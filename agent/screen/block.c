/* SPDX-License-Identifier: MIT */
#include "agent/screen/block.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "agent/report/common.h"
#include "base/mem.h"
#include "base/str.h"

#define NAME_COLUMNS 24
#define STATUS_COLUMNS 11 /* "infra_error" */
#define BAR_COLUMNS_MIN 10

const char *kgb_clock_format(int64_t ms, char out[KGB_CLOCK_LEN])
{
	const int64_t s = ms > 0 ? ms / 1000 : 0;
	if (s >= 3600)
		snprintf(out, KGB_CLOCK_LEN, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600,
			 s / 60 % 60, s % 60);
	else
		snprintf(out, KGB_CLOCK_LEN, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
	return out;
}

/** The same in memory of the enclosing block. */
#define CLOCK(ms) kgb_clock_format((ms), (char[KGB_CLOCK_LEN]){0})

size_t kgb_block_names(const struct kgb_run_state *state, size_t width)
{
	size_t longest = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		const size_t len = strlen(state->ops[i].name);
		longest = len > longest ? len : longest;
	}
	const size_t most = width / 3 < NAME_COLUMNS ? width / 3 : NAME_COLUMNS;
	return longest < most ? longest : most;
}

static bool is_live(const struct kgb_op_state *op)
{
	return op->status == KGB_OP_RUNNING || op->status == KGB_OP_VERIFYING;
}

static bool has_failed(const struct kgb_op_state *op)
{
	return kgb_op_status_is_final(op->status) && op->status != KGB_OP_PASSED;
}

/* ---- the head ---- */

static void add_title(const struct kgb_run_state *state, const struct kgb_block_view *view,
		      struct kgb_styled *out)
{
	const struct kgb_maker maker = kgb_run_maker(state);
	const bool lives = !state->finished && !view->is_cut_off;
	const int64_t until_ms = state->finished    ? state->ended_ms
				 : view->is_cut_off ? state->updated_ms
						    : view->now_ms;
	const char *status = state->finished    ? kgb_run_end_name(state->end)
			     : view->is_cut_off ? "cut off"
						: "running";
	kgb_styled_line(out);
	kgb_styled_add(out, lives ? KGB_STYLE_LIVE : KGB_STYLE_STRONG, status);
	kgb_styled_addf(out, KGB_STYLE_PLAIN, " %s", CLOCK(until_ms - state->started_ms));
	if (kgb_maker_is_offline(&maker))
		kgb_styled_add(out, KGB_STYLE_STRONG, "  " KGB_MARK_OFFLINE);
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %s", state->run_name ? state->run_name : "?");
	if (maker.model && !kgb_maker_is_offline(&maker))
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %s", maker.model);
}

/** The parts of the bar, each with its letter, as the line below names them. */
struct part {
	char letter;
	const char *word;
	size_t n;
	enum kgb_style style;
};
enum { N_PARTS = 4 };

static void find_parts(const struct kgb_run_state *state, struct part parts[N_PARTS])
{
	struct kgb_run_counts counts;
	kgb_run_state_count(state, &counts);
	const struct part found[N_PARTS] = {
		{'#', state->skip_verify ? "generated" : "passed", counts.completed,
		 KGB_STYLE_GOOD},
		{'x', "not passed", counts.failed, KGB_STYLE_BAD},
		{'>', "running", counts.running, KGB_STYLE_LIVE},
		{'.', "waiting", counts.pending, KGB_STYLE_FAINT},
	};
	memcpy(parts, found, sizeof(found));
}

static void add_bar(const struct part parts[N_PARTS], struct kgb_styled *out)
{
	size_t n_before = 0, n_all = 0, at = 0;
	for (size_t i = 0; i < N_PARTS; i++)
		n_all += parts[i].n;
	const size_t n_ended = parts[0].n + parts[1].n;
	KGB_AUTO(free)
	char *figures = kgb_xasprintf("%zu/%zu  %zu %%", n_ended, n_all,
				      n_all > 0 ? 100 * n_ended / n_all : 0);
	const size_t taken = strlen(figures) + 3;
	const size_t columns = out->width > taken + BAR_COLUMNS_MIN ? out->width - taken : 0;
	kgb_styled_line(out);
	if (columns > 0)
		kgb_styled_add(out, KGB_STYLE_PLAIN, "[");
	for (size_t i = 0; i < N_PARTS && n_all > 0 && columns > 0; i++) {
		char cells[512];
		n_before += parts[i].n;
		size_t n = (columns * n_before + n_all / 2) / n_all - at;
		n = n < sizeof(cells) - 1 ? n : sizeof(cells) - 1;
		memset(cells, parts[i].letter, n);
		cells[n] = '\0';
		kgb_styled_add(out, parts[i].style, cells);
		at += n;
	}
	if (columns > 0)
		kgb_styled_add(out, KGB_STYLE_PLAIN, "] ");
	kgb_styled_add(out, KGB_STYLE_STRONG, figures);
}

/** "# 41 passed  x 16 not passed  > 4 running  . 149 waiting  (12 failed, 4 timeout)" */
static void add_counts(const struct kgb_run_state *state, const struct part parts[N_PARTS],
		       struct kgb_styled *out)
{
	struct kgb_run_counts counts;
	const char *gap = "";
	kgb_run_state_count(state, &counts);
	kgb_styled_line(out);
	for (size_t i = 0; i < N_PARTS; i++) {
		if (parts[i].n == 0)
			continue;
		kgb_styled_addf(out, parts[i].style, "%s%c", gap, parts[i].letter);
		kgb_styled_addf(out, KGB_STYLE_PLAIN, " %zu %s", parts[i].n, parts[i].word);
		gap = "  ";
	}
	gap = "  (";
	for (int status = KGB_OP_PASSED + 1; status < KGB_OP_N_STATUSES; status++) {
		if (counts.by_status[status] == 0)
			continue;
		kgb_styled_addf(out, KGB_STYLE_FAINT, "%s%zu %s", gap, counts.by_status[status],
				kgb_op_status_name((enum kgb_op_status)status));
		gap = ", ";
	}
	kgb_styled_add(out, KGB_STYLE_FAINT, *gap == ',' ? ")" : "");
}

static void write_time(const struct kgb_run_state *state, const struct kgb_block_view *view,
		       struct kgb_buf *out)
{
	const struct kgb_remaining *ms = &view->forecast->ms;
	if (state->finished || view->is_cut_off)
		return;
	if (isnan(ms->median) && state->n_ops <= KGB_REMAINING_LEAST)
		return;
	if (isnan(ms->median))
		kgb_buf_addf(out, "left: known once %d operators have ended", KGB_REMAINING_LEAST);
	else
		kgb_buf_addf(out, "left %s (%s to %s)", CLOCK((int64_t)ms->median),
			     CLOCK((int64_t)ms->low), CLOCK((int64_t)ms->high));
}

static void write_cost(const struct kgb_run_state *state, const struct kgb_block_view *view,
		       struct kgb_buf *out)
{
	const struct kgb_forecast *forecast = view->forecast;
	struct kgb_spent spent, lost;
	kgb_run_spent(state, &spent, &lost);
	kgb_spent_add(&spent, &lost);
	if (!isnan(forecast->usd_spent)) {
		kgb_buf_addf(out, "cost $%.2f", forecast->usd_spent);
		if (forecast->usd.median > forecast->usd_spent && !state->finished)
			kgb_buf_addf(out, " of about $%.2f (%.2f to %.2f)", forecast->usd.median,
				     forecast->usd.low, forecast->usd.high);
	}
	if (spent.gateway.output >= 0) {
		kgb_buf_addf(out, "%stokens ", out->len > 0 ? ", " : "");
		kgb_report__add_tokens(out, &spent.gateway);
	}
}

/** Time and cost, in one line where both fit. \param n_lines 1: time alone where they do not. */
static void add_forecast(const struct kgb_run_state *state, const struct kgb_block_view *view,
			 size_t n_lines, struct kgb_styled *out)
{
	KGB_AUTO(buf) struct kgb_buf time = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf money = KGB_BUF_INIT(0);
	write_time(state, view, &time);
	write_cost(state, view, &money);
	const bool both_fit = time.len + 2 + money.len <= out->width;
	if (time.len > 0) {
		kgb_styled_line(out);
		kgb_styled_add(out, KGB_STYLE_PLAIN, time.ptr);
	}
	if (money.len == 0 || (n_lines == 1 && time.len > 0 && !both_fit))
		return;
	if (time.len == 0 || !both_fit)
		kgb_styled_line(out);
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "%s%s", time.len > 0 && both_fit ? "  " : "",
			money.ptr);
}

/** The more rows there are, the more of the head is shown; the bar always. */
static void add_head(const struct kgb_run_state *state, const struct kgb_block_view *view,
		     struct kgb_styled *out)
{
	struct part parts[N_PARTS];
	find_parts(state, parts);
	if (view->rows >= 8)
		add_title(state, view, out);
	add_bar(parts, out);
	if (view->rows >= 6)
		add_counts(state, parts, out);
	if (view->rows >= 4)
		add_forecast(state, view, view->rows >= 10 ? 2 : 1, out);
}

/* ---- operators ---- */

/** " aten::add   running      " */
static void begin_op_line(const struct kgb_op_state *op, size_t names, struct kgb_styled *out)
{
	kgb_styled_line(out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, " ");
	kgb_styled_cell(out, KGB_STYLE_PLAIN, op->name, names);
	kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
	kgb_styled_cell(out, kgb_style_of_status(op->status), kgb_op_status_name(op->status),
			STATUS_COLUMNS);
	kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
}

static void add_failed(const struct kgb_op_state *op, size_t names, struct kgb_styled *out)
{
	const struct kgb_verdict_summary *v = op->has_verdict ? &op->verdict : NULL;
	const char *code = v && v->code ? v->code : op->error_code;
	const char *why = v && v->message ? v->message : op->error_message;
	begin_op_line(op, names, out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, code ? code : "");
	kgb_styled_add(out, KGB_STYLE_PLAIN, code && why ? ": " : "");
	kgb_styled_add(out, KGB_STYLE_PLAIN, why ? why : "");
}

/** How far a bare model's samples are. */
static void add_samples(const struct kgb_run_state *state, const struct kgb_op_state *op,
			struct kgb_styled *out)
{
	size_t n_right = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		n_right += kgb_str_eq(op->samples[i].status, "passed");
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %zu answers of %d %s, %zu right", op->n_samples,
			state->n_samples, state->n_rounds > 0 ? "chains" : "samples", n_right);
}

/** Time, attempt, tokens, checks, and what the agent does. */
static void add_live(const struct kgb_run_state *state, const struct kgb_op_state *op,
		     int64_t now_ms, size_t names, struct kgb_styled *out)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	const bool verifying = op->status == KGB_OP_VERIFYING;
	const int64_t since_ms = verifying ? op->verify_started_ms
				 : last    ? last->started_ms
					   : now_ms;
	struct kgb_spent spent;
	kgb_attempt_spent(last, &spent);
	begin_op_line(op, names, out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, CLOCK(now_ms - since_ms));
	if (!verifying && last && last->number > 1)
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  attempt %d", last->number);
	if (!verifying && last && last->n_rounds > 0)
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  round %d",
				last->rounds[last->n_rounds - 1].number + 1);
	if (state->n_samples > 0)
		add_samples(state, op, out);
	if (spent.gateway.output >= 0) {
		KGB_AUTO(buf) struct kgb_buf tokens = KGB_BUF_INIT(0);
		kgb_report__add_tokens(&tokens, &spent.gateway);
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %s", tokens.ptr);
	}
	if (op->n_calls > 0)
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  check %zu %s", op->n_calls,
				op->calls[op->n_calls - 1].verdict.status);
	if (!verifying && *op->doing)
		kgb_styled_addf(out, KGB_STYLE_FAINT, "  %s", op->doing);
}

/** Of n operators in n_rows rows: how many have a row; the others share one. */
static size_t count_shown(size_t n, size_t n_rows)
{
	return n <= n_rows ? n : n_rows > 0 ? n_rows - 1 : 0;
}

static int by_end(const void *a, const void *b)
{
	const struct kgb_op_state *x = *(const struct kgb_op_state *const *)a;
	const struct kgb_op_state *y = *(const struct kgb_op_state *const *)b;
	if (x->changed_ms != y->changed_ms)
		return x->changed_ms > y->changed_ms ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void add_more(size_t n_hidden, const char *what, struct kgb_styled *out)
{
	if (n_hidden == 0)
		return;
	kgb_styled_line(out);
	kgb_styled_addf(out, KGB_STYLE_FAINT, " +%zu more %s", n_hidden, what);
}

/** Those that did not pass, the last first, then those that are worked on. A third of the rows is
 * for the former, and more when the latter leave more. */
static void add_operators(const struct kgb_run_state *state, int64_t now_ms, size_t n_rows,
			  struct kgb_styled *out)
{
	const size_t names = kgb_block_names(state, out->width);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): elements are pointers */
	const size_t size = sizeof(const struct kgb_op_state *);
	KGB_AUTO(free)
	const struct kgb_op_state **failed = kgb_xcalloc(2 * state->n_ops + 1, size);
	const struct kgb_op_state **live = failed + state->n_ops;
	size_t n_failed = 0, n_live = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		if (has_failed(op))
			failed[n_failed++] = op;
		else if (is_live(op))
			live[n_live++] = op;
	}
	qsort(failed, n_failed, size, by_end);
	const size_t left = n_rows > n_live ? n_rows - n_live : 0;
	const size_t most = left > n_rows / 3 ? left : n_rows / 3;
	const size_t failed_rows = n_failed < most ? n_failed : most;
	const size_t live_rows = n_rows - failed_rows;
	const size_t n_failed_shown = count_shown(n_failed, failed_rows);
	const size_t n_live_shown = count_shown(n_live, live_rows);
	for (size_t i = 0; i < n_failed_shown; i++)
		add_failed(failed[i], names, out);
	add_more(failed_rows > 0 ? n_failed - n_failed_shown : 0, "not passed", out);
	for (size_t i = 0; i < n_live_shown; i++)
		add_live(state, live[i], now_ms, names, out);
	add_more(live_rows > 0 ? n_live - n_live_shown : 0, "running", out);
}

void kgb_block_lay(const struct kgb_run_state *state, const struct kgb_block_view *view,
		   struct kgb_styled *out)
{
	const size_t before = out->columns.n;
	add_head(state, view, out);
	const size_t taken = out->columns.n - before;
	/* Of a run that was cut off nothing is known after its last record. */
	add_operators(state, view->is_cut_off ? state->updated_ms : view->now_ms,
		      view->rows > taken ? view->rows - taken : 0, out);
}
