/* SPDX-License-Identifier: MIT */
#include "agent/screen/block_rows.h"

#include <math.h>
#include <stdlib.h>

#include "agent/report/common.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define NAME_COLUMNS 24
#define LABEL_COLUMNS 24
#define STATUS_COLUMNS 11 /* "infra_error", "interrupted" */

/** An operator of a run. */
struct row {
	const struct kgb_shown_run *run;
	const struct kgb_op_state *op;
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

struct kgb_block_columns kgb_block_columns(const struct kgb_shown *shown, size_t width)
{
	size_t label = 0, name = 0;
	for (size_t i = 0; i < shown->n; i++) {
		const struct kgb_run_state *state = shown->runs[i].state;
		const size_t len = shown->runs[i].label ? strlen(shown->runs[i].label) : 0;
		label = len > label ? len : label;
		for (size_t k = 0; k < state->n_ops; k++) {
			const size_t n = strlen(state->ops[k].name);
			name = n > name ? n : name;
		}
	}
	/* A label takes room that names have else. */
	const size_t share = label > 0 ? 4 : 3;
	return (struct kgb_block_columns){.label = least(label, least(width / 5, LABEL_COLUMNS)),
					  .name = least(name, least(width / share, NAME_COLUMNS))};
}

void kgb_block_add_label(const char *label, size_t columns, struct kgb_styled *out)
{
	if (!label || columns == 0)
		return;
	const char *number = strrchr(label, '-');
	const size_t tail = number ? strlen(number) : 0;
	if (strlen(label) <= columns || tail == 0 || tail > columns / 2) {
		kgb_styled_cell(out, KGB_STYLE_PLAIN, label, columns);
	} else {
		kgb_styled_cell(out, KGB_STYLE_PLAIN, label, columns - tail);
		kgb_styled_add(out, KGB_STYLE_PLAIN, number);
	}
	kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
}

const char *kgb_block__word_for_completed(const struct kgb_run_state *state)
{
	return state->skip_verify ? "generated" : "passed";
}

/** The number of n things that get one of n_rows rows; the others share one row. */
static size_t count_shown(size_t n, size_t n_rows)
{
	return n <= n_rows ? n : n_rows > 0 ? n_rows - 1 : 0;
}

static void add_more(size_t n_hidden, const char *what, struct kgb_styled *out)
{
	if (n_hidden == 0)
		return;
	kgb_styled_line(out);
	kgb_styled_addf(out, KGB_STYLE_FAINT, " +%zu more %s", n_hidden, what);
}

/* ---- runs ---- */

static enum kgb_style style_of(const struct kgb_shown_run *run)
{
	return kgb_shown_run_lives(run)                                       ? KGB_STYLE_LIVE
	       : run->state->finished && run->state->end == KGB_RUN_COMPLETED ? KGB_STYLE_PLAIN
									      : KGB_STYLE_BAD;
}

/** " naive_cc-1  running       20/210   18 passed   2 not passed  $1.20" */
static void add_run(const struct kgb_shown_run *run, size_t label_columns, int digits,
		    struct kgb_styled *out)
{
	struct kgb_run_counts counts;
	struct kgb_spent spent;
	kgb_run_state_count(run->state, &counts);
	kgb_shown_run_spent(run, &spent);
	const double usd = kgb_report__dollars(spent.cost_nanos);
	kgb_styled_line(out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, " ");
	kgb_block_add_label(run->label, label_columns, out);
	kgb_styled_cell(out, style_of(run), kgb_shown_run_status(run), STATUS_COLUMNS);
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %*zu/%zu  %*zu %s  %*zu not passed", digits,
			counts.completed + counts.failed, counts.total, digits, counts.completed,
			kgb_block__word_for_completed(run->state), digits, counts.failed);
	if (!isnan(usd))
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  $%.2f", usd);
}

/** A line for each run of a series. Returns the rows taken. */
static size_t add_runs(const struct kgb_shown *shown, size_t label_columns, size_t n_rows,
		       struct kgb_styled *out)
{
	const size_t rows = least(shown->n, n_rows), n_shown = count_shown(shown->n, rows);
	size_t n_most = 0;
	if (label_columns == 0 || rows == 0)
		return 0;
	for (size_t i = 0; i < shown->n; i++)
		n_most =
			shown->runs[i].state->n_ops > n_most ? shown->runs[i].state->n_ops : n_most;
	for (size_t i = 0; i < n_shown; i++)
		add_run(&shown->runs[i], label_columns, snprintf(NULL, 0, "%zu", n_most), out);
	add_more(shown->n - n_shown, "runs", out);
	return rows;
}

/* ---- operators ---- */

/** " naive_cc-1  aten::add   running      " */
static void begin_op_line(const struct row *row, struct kgb_block_columns columns,
			  struct kgb_styled *out)
{
	const struct kgb_op_state *op = row->op;
	kgb_styled_line(out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, " ");
	kgb_block_add_label(row->run->label, columns.label, out);
	kgb_styled_cell(out, KGB_STYLE_PLAIN, op->name, columns.name);
	kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
	kgb_styled_cell(out, kgb_style_of_status(op->status), kgb_op_status_name(op->status),
			STATUS_COLUMNS);
	kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
}

static void add_failed(const struct row *row, struct kgb_block_columns columns,
		       struct kgb_styled *out)
{
	const struct kgb_op_state *op = row->op;
	const struct kgb_verdict_summary *v = op->has_verdict ? &op->verdict : NULL;
	const char *code = v && v->code ? v->code : op->error_code;
	const char *why = v && v->message ? v->message : op->error_message;
	begin_op_line(row, columns, out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, code ? code : "");
	kgb_styled_add(out, KGB_STYLE_PLAIN, code && why ? ": " : "");
	kgb_styled_add(out, KGB_STYLE_PLAIN, why ? why : "");
}

/** The progress of a bare model's samples. */
static void add_samples(const struct kgb_run_state *state, const struct kgb_op_state *op,
			struct kgb_styled *out)
{
	size_t n_right = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		n_right += kgb_str_eq(op->samples[i].status, "passed");
	kgb_styled_addf(out, KGB_STYLE_PLAIN, "  %zu answers of %d %s, %zu right", op->n_samples,
			state->n_samples, state->n_rounds > 0 ? "chains" : "samples", n_right);
}

/** "judging", "queued", or for several "3 queued  2 judging". */
static void add_jobs(const struct kgb_op_state *op, struct kgb_styled *out)
{
	const bool is_one = op->n_queued + op->n_judging == 1;
	const struct {
		int n;
		const char *word;
	} jobs[] = {{op->n_queued, "queued"}, {op->n_judging, "judging"}};
	for (size_t i = 0; i < KGB_ARRAY_LEN(jobs); i++) {
		if (jobs[i].n == 0)
			continue;
		kgb_styled_add(out, KGB_STYLE_PLAIN, "  ");
		if (!is_one)
			kgb_styled_addf(out, KGB_STYLE_PLAIN, "%d ", jobs[i].n);
		kgb_styled_add(out, KGB_STYLE_LIVE, jobs[i].word);
	}
}

/** Time, attempt, round, samples, verifications, tokens, checks, and what the agent does. */
static void add_live(const struct row *row, struct kgb_block_columns columns, int64_t now_ms,
		     struct kgb_styled *out)
{
	const struct kgb_op_state *op = row->op;
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	const bool verifying = op->status == KGB_OP_VERIFYING;
	const int64_t since_ms = verifying ? op->verify_started_ms
				 : last    ? last->started_ms
					   : now_ms;
	struct kgb_spent spent;
	kgb_attempt_spent(last, &spent);
	begin_op_line(row, columns, out);
	kgb_styled_add(out, KGB_STYLE_PLAIN, KGB_CLOCK(now_ms - since_ms));
	if (!verifying && last && last->number > 1)
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  attempt %d", last->number);
	if (!verifying && last && last->n_rounds > 0)
		kgb_styled_addf(out, KGB_STYLE_PLAIN, "  round %d",
				last->rounds[last->n_rounds - 1].number + 1);
	if (row->run->state->n_samples > 0)
		add_samples(row->run->state, op, out);
	add_jobs(op, out);
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

static bool is_live(const struct kgb_op_state *op)
{
	return op->status == KGB_OP_RUNNING || op->status == KGB_OP_VERIFYING;
}

static bool has_failed(const struct kgb_op_state *op)
{
	return kgb_op_status_is_final(op->status) && op->status != KGB_OP_PASSED;
}

/** Latest first. */
static int by_end(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->op->changed_ms != y->op->changed_ms)
		return x->op->changed_ms > y->op->changed_ms ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

struct rows {
	struct row *items; /* owned, as a KGB_VEC */
	size_t n, cap;
};

static void collect(const struct kgb_shown *shown, struct rows *failed, struct rows *live)
{
	for (size_t i = 0; i < shown->n; i++) {
		const struct kgb_shown_run *run = &shown->runs[i];
		for (size_t k = 0; k < run->state->n_ops; k++) {
			const struct row row = {run, &run->state->ops[k]};
			if (has_failed(row.op))
				KGB_VEC_ADD(failed, row);
			else if (is_live(row.op))
				KGB_VEC_ADD(live, row);
		}
	}
	if (failed->n > 0)
		qsort(failed->items, failed->n, sizeof(*failed->items), by_end);
}

/** Those that did not pass, then those that are worked on. A third of the rows is for the former,
 * and more when the latter leave more. */
static void add_operators(const struct kgb_shown *shown, struct kgb_block_columns columns,
			  int64_t now_ms, size_t n_rows, struct kgb_styled *out)
{
	struct rows failed = {0}, live = {0};
	collect(shown, &failed, &live);
	const size_t left = n_rows > live.n ? n_rows - live.n : 0;
	const size_t most = left > n_rows / 3 ? left : n_rows / 3;
	const size_t failed_rows = least(failed.n, most);
	const size_t live_rows = n_rows - failed_rows;
	const size_t n_failed_shown = count_shown(failed.n, failed_rows);
	const size_t n_live_shown = count_shown(live.n, live_rows);
	for (size_t i = 0; i < n_failed_shown; i++)
		add_failed(&failed.items[i], columns, out);
	add_more(failed_rows > 0 ? failed.n - n_failed_shown : 0, "not passed", out);
	for (size_t i = 0; i < n_live_shown; i++)
		add_live(&live.items[i], columns, now_ms, out);
	add_more(live_rows > 0 ? live.n - n_live_shown : 0, "running", out);
	KGB_VEC_RELEASE(&failed);
	KGB_VEC_RELEASE(&live);
}

void kgb_block__add_rows(const struct kgb_shown *shown, int64_t now_ms, size_t n_rows,
			 struct kgb_styled *out)
{
	const struct kgb_block_columns columns = kgb_block_columns(shown, out->width);
	const size_t taken = add_runs(shown, columns.label, n_rows / 3, out);
	add_operators(shown, columns, now_ms, n_rows - taken, out);
}
