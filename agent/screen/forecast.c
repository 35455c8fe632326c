/* SPDX-License-Identifier: MIT */
#include "agent/screen/forecast.h"

#include <math.h>

#include "agent/report/common.h"
#include "base/mem.h"
#include "base/str.h"

/** Operators of a method, in all its runs: they take alike. */
struct kind {
	const struct kgb_run_state *first; /* of its runs */
	struct kgb_work_piece *pieces; /* owned; room for all its operators */
	size_t n, n_live, n_waiting;
	size_t n_slots; /* of a bare model: its runs have separate places */
	int64_t timeout_ms, verify_ms; /* the longest of its attempts and verifications; 0: none */
};

struct kinds {
	struct kind *items; /* owned; one for each run at most */
	size_t n;
	size_t n_slots; /* that those of agents share */
};

static bool has_ended(const struct kgb_run_state *state, const struct kgb_op_state *op)
{
	return kgb_op_status_is_final(op->status) ||
	       (state->skip_verify && op->status == KGB_OP_GENERATED);
}

/** When work on it began, not before the command began; -1: it has not. */
static int64_t begun_ms(const struct kgb_op_state *op, int64_t started_ms)
{
	for (size_t i = 0; i < op->n_attempts; i++)
		if (op->attempts[i].started_ms >= started_ms)
			return op->attempts[i].started_ms;
	return op->verify_started_ms >= started_ms ? op->verify_started_ms : -1;
}

static struct kind *kind_of(struct kinds *kinds, const struct kgb_run_state *state)
{
	for (size_t i = 0; i < kinds->n; i++)
		if (kgb_str_eq(kinds->items[i].first->maker.method, state->maker.method))
			return &kinds->items[i];
	kinds->items[kinds->n] = (struct kind){.first = state};
	return &kinds->items[kinds->n++];
}

/** \param out has room for a kind of each run. */
static void open_kinds(const struct kgb_shown *shown, struct kinds *out)
{
	*out = (struct kinds){.items = kgb_xcalloc(shown->n, sizeof(*out->items))};
	for (size_t i = 0; i < shown->n; i++)
		kind_of(out, shown->runs[i].state)->n += shown->runs[i].state->n_ops;
	for (size_t i = 0; i < out->n; i++) {
		struct kind *kind = &out->items[i];
		kind->pieces = kgb_xcalloc(kind->n + 1, sizeof(*kind->pieces));
		kind->n = 0;
	}
}

static void close_kinds(struct kinds *kinds)
{
	for (size_t i = 0; i < kinds->n; i++)
		kgb_free(kinds->items[i].pieces);
	kgb_free(kinds->items);
}

static void add_piece(struct kind *kind, double amount, bool ended)
{
	kind->pieces[kind->n++] = (struct kgb_work_piece){fmax(0, amount), ended};
	kind->n_live += !ended;
}

/** The time limits of an attempt and of the verification after it. For a bare model only its
 * answers have a limit. */
static void note_limits(struct kind *kind, const struct kgb_run_state *state,
			const struct kgb_op_state *op)
{
	const struct kgb_attempt_state *last = kgb_op_last_attempt(op);
	const int64_t verify_ms = kgb_report__verify_ms(op);
	if (state->n_samples == 0 && last && last->timeout_ms > kind->timeout_ms)
		kind->timeout_ms = last->timeout_ms;
	if (verify_ms > kind->verify_ms)
		kind->verify_ms = verify_ms;
}

/** \param started_ms Of the last command; earlier ones are left out: the runs may have been resumed
 * on another machine. */
static void add_times(struct kinds *kinds, const struct kgb_run_state *state, int64_t started_ms,
		      int64_t now_ms)
{
	struct kind *kind = kind_of(kinds, state);
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		const int64_t since_ms = begun_ms(op, started_ms);
		const bool ended = has_ended(state, op);
		note_limits(kind, state, op);
		if (since_ms < 0)
			kind->n_waiting += !ended;
		else if (op->status != KGB_OP_CANCELLED)
			add_piece(kind, (double)((ended ? op->changed_ms : now_ms) - since_ms),
				  ended);
	}
	/* Each operator of a bare model has a place. */
	const size_t n_slots = state->device_count > 0 ? (size_t)state->device_count : 1;
	if (state->n_samples > 0)
		kind->n_slots += n_slots;
	else if (n_slots > kinds->n_slots)
		kinds->n_slots = n_slots;
}

/** As kgb_remaining_time and kgb_remaining_sum want it; owned by the caller. */
static struct kgb_work *work_of(const struct kinds *kinds)
{
	struct kgb_work *work = kgb_xcalloc(kinds->n + 1, sizeof(*work));
	for (size_t i = 0; i < kinds->n; i++) {
		const struct kind *kind = &kinds->items[i];
		work[i] = (struct kgb_work){
			.pieces = kind->pieces,
			.n = kind->n,
			.n_waiting = kind->n_waiting,
			.n_places = kind->n_slots,
			.limit = kind->timeout_ms > 0
					 ? (double)kind->timeout_ms + (double)kind->verify_ms
					 : 0,
		};
	}
	return work;
}

static void foretell_time(const struct kgb_shown *shown, int64_t now_ms, struct kgb_forecast *out)
{
	struct kinds kinds;
	open_kinds(shown, &kinds);
	for (size_t i = 0; i < shown->n; i++)
		add_times(&kinds, shown->runs[i].state, kgb_shown_started_ms(shown), now_ms);
	KGB_AUTO(free) struct kgb_work *work = work_of(&kinds);
	out->ms = kgb_remaining_time(work, kinds.n, kinds.n_slots > 0 ? kinds.n_slots : 1);
	out->will_know = isnan(out->ms.median);
	out->n_methods = 0;
	for (size_t i = 0; i < kinds.n; i++) {
		const struct kind *kind = &kinds.items[i];
		const bool is_left = kind->n_live + kind->n_waiting > 0;
		out->n_methods += is_left;
		/* With so few operators the last one ends before there is a basis for a
		 * forecast. */
		if (is_left && kind->n + kind->n_waiting <= KGB_REMAINING_LEAST)
			out->will_know = false;
	}
	close_kinds(&kinds);
}

/** Of all its attempts; NaN: not known. */
static double usd_of(const struct kgb_op_state *op)
{
	struct kgb_spent spent, lost;
	kgb_op_spent(op, &spent);
	kgb_op_lost(op, &lost);
	kgb_spent_add(&spent, &lost);
	return kgb_report__dollars(spent.cost_nanos);
}

/** Returns what the run has spent so far. */
static double add_costs(struct kinds *kinds, const struct kgb_run_state *state)
{
	struct kind *kind = kind_of(kinds, state);
	double spent = (double)NAN;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		const double usd = usd_of(op);
		const bool ended = has_ended(state, op);
		if (!isnan(usd))
			spent = (isnan(spent) ? 0 : spent) + usd;
		if (isnan(usd))
			kind->n_waiting += !ended;
		else
			add_piece(kind, usd, ended);
	}
	return spent;
}

static void foretell_cost(const struct kgb_shown *shown, struct kgb_forecast *out)
{
	struct kinds kinds;
	open_kinds(shown, &kinds);
	out->usd_spent = (double)NAN;
	for (size_t i = 0; i < shown->n; i++) {
		const double usd = add_costs(&kinds, shown->runs[i].state);
		if (!isnan(usd))
			out->usd_spent = (isnan(out->usd_spent) ? 0 : out->usd_spent) + usd;
	}
	KGB_AUTO(free) struct kgb_work *work = work_of(&kinds);
	out->usd = kgb_remaining_sum(work, kinds.n);
	out->usd.median += out->usd_spent;
	out->usd.low += out->usd_spent;
	out->usd.high += out->usd_spent;
	close_kinds(&kinds);
}

void kgb_forecast(const struct kgb_shown *shown, int64_t now_ms, struct kgb_forecast *out)
{
	foretell_time(shown, now_ms, out);
	foretell_cost(shown, out);
}
