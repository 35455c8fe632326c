/* SPDX-License-Identifier: MIT */
#include "agent/screen/forecast.h"

#include <math.h>

#include "agent/report/common.h"
#include "base/mem.h"

static bool has_ended(const struct kgb_run_state *state, const struct kgb_op_state *op)
{
	return kgb_op_status_is_final(op->status) ||
	       (state->skip_verify && op->status == KGB_OP_GENERATED);
}

/** When this start of the run began to work on it; -1: it has not. */
static int64_t begun_ms(const struct kgb_run_state *state, const struct kgb_op_state *op)
{
	for (size_t i = 0; i < op->n_attempts; i++)
		if (op->attempts[i].started_ms >= state->started_ms)
			return op->attempts[i].started_ms;
	return op->verify_started_ms >= state->started_ms ? op->verify_started_ms : -1;
}

/** Earlier starts of a run are left out: it may have been resumed on another machine. */
static struct kgb_remaining time_left(const struct kgb_run_state *state, int64_t now_ms,
				      struct kgb_piece *pieces)
{
	size_t n = 0, n_live = 0, n_waiting = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		const int64_t since_ms = begun_ms(state, op);
		const bool ended = has_ended(state, op);
		n_live += !ended && since_ms >= 0;
		n_waiting += !ended && since_ms < 0;
		if (since_ms < 0 || op->status == KGB_OP_CANCELLED)
			continue;
		const int64_t until_ms = ended ? op->changed_ms : now_ms;
		pieces[n++] = (struct kgb_piece){fmax(0, (double)(until_ms - since_ms)), ended};
	}
	/* As many as work goes on at now, whatever limits them: slots, judges, the provider. */
	const size_t slots = state->device_count > 0 ? (size_t)state->device_count : 1;
	return kgb_remaining(pieces, n, n_waiting, n_live > slots ? n_live : slots);
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

static void cost(const struct kgb_run_state *state, struct kgb_piece *pieces,
		 struct kgb_forecast *out)
{
	size_t n = 0, n_waiting = 0;
	out->usd_spent = (double)NAN;
	for (size_t i = 0; i < state->n_ops; i++) {
		const struct kgb_op_state *op = &state->ops[i];
		const double usd = usd_of(op);
		if (!isnan(usd)) {
			pieces[n++] = (struct kgb_piece){usd, has_ended(state, op)};
			out->usd_spent = (isnan(out->usd_spent) ? 0 : out->usd_spent) + usd;
		} else {
			n_waiting += !has_ended(state, op);
		}
	}
	out->usd = kgb_remaining(pieces, n, n_waiting, 0);
	out->usd.median += out->usd_spent;
	out->usd.low += out->usd_spent;
	out->usd.high += out->usd_spent;
}

void kgb_forecast(const struct kgb_run_state *state, int64_t now_ms, struct kgb_forecast *out)
{
	KGB_AUTO(free) struct kgb_piece *pieces = kgb_xcalloc(state->n_ops + 1, sizeof(*pieces));
	out->ms = time_left(state, now_ms, pieces);
	cost(state, pieces, out);
}
