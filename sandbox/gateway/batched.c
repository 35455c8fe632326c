/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/batched.h"

#include "base/time.h"
#include "sandbox/gateway/exchange_admit.h"
#include "sandbox/meter/meter.h"

struct kgb_charge kgb_batched_most(const struct kgb_session *session, const char *model,
				   size_t body_len, int64_t output)
{
	const int64_t input = kgb_exchange__most_input(body_len);
	const struct kgb_price *price = kgb_prices_find(session->gw->prices, model, kgb_wall_ms());
	return (struct kgb_charge){
		.tokens = input + output,
		.nanos = kgb_tariff_nanos(KGB_TARIFF_BATCH, kgb_price_most(price, input, output))};
}

static void tell(struct kgb_session *session)
{
	if (session->spec.budget)
		kgb_session__tell_charged(session);
	if (!session->closing && session->spec.callbacks.on_usage)
		session->spec.callbacks.on_usage(session->spec.payload, &session->ledger.totals);
}

int kgb_batched_reserve(struct kgb_session *session, const struct kgb_charge *most,
			struct kgb_err *why)
{
	struct kgb_budget *budget = session->spec.budget;
	const enum kgb_budget_answer answer =
		budget ? kgb_budget_reserve(budget, most, why) : KGB_BUDGET_GRANTED;
	if (answer == KGB_BUDGET_REFUSED)
		return -1;
	if (answer == KGB_BUDGET_LATER)
		return kgb_fail(
			why, KGB_ERR_LIMIT,
			"the budget has no room beside the reservations of batches under way: resume "
			"the run when they are over");
	session->ledger.totals.n_open++;
	tell(session);
	return 0;
}

void kgb_batched_reopen(struct kgb_session *session, const struct kgb_charge *most)
{
	session->ledger.totals.n_open++;
	if (session->spec.budget)
		kgb_budget_reopen(session->spec.budget, most);
	tell(session);
}

/** Count an answer and its costs. */
static struct kgb_charge count_answer(struct kgb_session *session, const struct kgb_charge *most,
				      const struct kgb_meter *meter)
{
	struct kgb_totals *totals = &session->ledger.totals;
	const enum kgb_tariff tariff = meter->surcharged ? KGB_TARIFF_UNKNOWN : KGB_TARIFF_BATCH;
	/* Separate numbers, below those of exchanges. */
	const char *id = session->spec.counts_each_answer ? "" : meter->message_id;
	const bool repeated = kgb_ledger_report(&session->ledger, -totals->n_batched, id,
						meter->model, &meter->usage, tariff);
	totals->n_repeated += repeated;
	totals->n_incomplete += !kgb_usage_complete(&meter->usage);
	struct kgb_charge charge = *most;
	if (repeated) {
		charge = (struct kgb_charge){0};
	} else if (kgb_usage_complete(&meter->usage)) {
		const struct kgb_price *price =
			kgb_prices_find(session->gw->prices, meter->model, kgb_wall_ms());
		const int64_t nanos =
			kgb_tariff_nanos(tariff, kgb_price_nanos(price, &meter->usage));
		charge.tokens = kgb_usage_total(&meter->usage);
		charge.nanos = nanos >= 0 ? nanos : most->nanos;
	}
	return charge;
}

void kgb_batched_settle(struct kgb_session *session, const struct kgb_charge *most,
			enum kgb_batched_end end, const struct kgb_meter *meter)
{
	struct kgb_totals *totals = &session->ledger.totals;
	struct kgb_charge charge = {0};
	totals->n_open--;
	if (end != KGB_BATCHED_UNSENT) {
		totals->n_exchanges++;
		totals->n_calls++;
		totals->n_batched++;
		totals->n_errors += end != KGB_BATCHED_ANSWERED;
	}
	if (end == KGB_BATCHED_LOST)
		charge = *most;
	else if (end == KGB_BATCHED_ANSWERED)
		charge = count_answer(session, most, meter);
	if (session->spec.budget)
		kgb_budget_settle(session->spec.budget, most, &charge);
	tell(session);
	kgb_gateway__admit_waiting(session->gw);
}
