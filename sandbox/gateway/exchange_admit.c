/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/exchange_admit.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/gateway/exchange_source.h"

/* Input is estimated from bytes. Text and code have three to five to a token; a provider's
 * additions to a request, such as its text on tools, are some hundred tokens. So the estimate
 * nearly always exceeds the later count. */
#define BYTES_PER_TOKEN 2
#define ADDED_TOKENS 1024
/* Most tokens that a provider counts for an image, which may be large in few bytes. */
#define IMAGE_TOKENS 5000
/* Assumed output tokens of a request without a limit. */
#define DEFAULT_OUTPUT_TOKENS 32768

/* ---- upper bound of a request's charge ---- */

static const struct kgb_price *asked_price(const struct kgb_exchange *ex)
{
	if (!*ex->rewritten.model)
		return NULL;
	return kgb_prices_find(ex->session->gw->prices, ex->rewritten.model, kgb_wall_ms());
}

int64_t kgb_exchange__most_input(size_t body_len)
{
	return (int64_t)body_len / BYTES_PER_TOKEN + ADDED_TOKENS;
}

static void estimate(struct kgb_exchange *ex)
{
	int64_t output = ex->rewritten.max_output_tokens;
	if (output < 0)
		output = DEFAULT_OUTPUT_TOKENS;
	output *= ex->rewritten.n_choices;
	ex->reserved_input = kgb_exchange__most_input(ex->body.len) +
			     (int64_t)ex->rewritten.n_images * IMAGE_TOKENS;
	ex->reservation.tokens = ex->reserved_input + output;
	/* A request that is not sent costs nothing. */
	ex->reservation.nanos =
		ex->session->gw->mode == KGB_GATEWAY_LIVE
			? kgb_price_most(asked_price(ex), ex->reserved_input, output)
			: 0;
}

/* ---- the way to an answer ---- */

static void start(struct kgb_exchange *ex)
{
	char warning[160];
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_START);
	if (ex->session->spec.budget &&
	    kgb_budget_warning(ex->session->spec.budget, warning, sizeof(warning)))
		kgb_headers_add(&ex->reply, "x-kgb-budget", warning);
	kgb_exchange__start_source(ex);
}

void kgb_session__tell_charged(struct kgb_session *session)
{
	struct kgb_totals *totals = &session->ledger.totals;
	const struct kgb_budget *b = session->spec.budget;
	struct kgb_charge charged = b->spent;
	kgb_charge_add(&charged, &b->reserved);
	totals->charged_tokens = charged.tokens;
	totals->charged_nanos = charged.nanos;
}

/* Write no number into the client's message: OpenCode retries an error with "500" or "429" anywhere
 * in its text. */
static void refuse(struct kgb_exchange *ex, const char *why)
{
	struct kgb_session *session = ex->session;
	if (!session->closing && session->spec.callbacks.on_budget)
		session->spec.callbacks.on_budget(session->spec.payload, why);
	char plain[120];
	kgb_budget_plain(kgb_budget_reached(session->spec.budget), plain, sizeof(plain));
	kgb_exchange__refuse(ex, kgb_http_stop_status(ex->protocol), why, plain);
}

static void wait_for_budget(struct kgb_exchange *ex)
{
	TAILQ_INSERT_TAIL(&ex->session->gw->waiting, ex, waiting);
	ex->wait_began_ms = kgb_mono_ms();
	kgb_exchange__step(ex, KGB_EXCHANGE_ON_WAIT);
}

static void stop_waiting(struct kgb_exchange *ex)
{
	if (ex->state != KGB_EXCHANGE_WAITING)
		return;
	TAILQ_REMOVE(&ex->session->gw->waiting, ex, waiting);
	ex->waited_ms += kgb_mono_ms() - ex->wait_began_ms;
}

/* false: it has to wait. */
static bool try(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	struct kgb_err why = KGB_ERR_INIT;
	switch (kgb_budget_reserve(session->spec.budget, &ex->reservation, &why)) {
	case KGB_BUDGET_LATER:
		return false;
	case KGB_BUDGET_REFUSED:
		stop_waiting(ex);
		refuse(ex, why.msg);
		return true;
	case KGB_BUDGET_GRANTED:
		stop_waiting(ex);
		ex->has_reserved = true;
		kgb_session__tell_charged(session);
		start(ex);
		return true;
	}
	KGB_UNREACHABLE();
}

void kgb_exchange__admit(struct kgb_exchange *ex)
{
	/* Counting tokens and listing models are free. */
	bool free_of_charge = !kgb_http_is_generation(ex->endpoint);
	if (!ex->session->spec.budget || free_of_charge) {
		start(ex);
		return;
	}
	estimate(ex);
	if (!try(ex))
		wait_for_budget(ex);
}

/* A reservation was settled: waiting requests may go now, or never. Each of them may settle in
 * turn, so scan the list again after each. */
void kgb_gateway__admit_waiting(struct kgb_gateway *gw)
{
	struct kgb_exchange *ex = TAILQ_FIRST(&gw->waiting);
	while (ex)
		ex = try(ex) ? TAILQ_FIRST(&gw->waiting) : TAILQ_NEXT(ex, waiting);
}

/* ---- the end ---- */

/* The charge of the answer. Counts that it does not report take their upper bound: models also
 * write text that is not sent, or that follows after a client has hung up. */
static struct kgb_charge answered(const struct kgb_exchange *ex)
{
	struct kgb_usage usage = ex->meter.usage;
	if (ex->summary.repeated || ex->status < 200 || ex->status >= 300)
		return (struct kgb_charge){0};
	if (usage.input < 0 && usage.cache_creation < 0 && usage.cache_read < 0)
		usage.input = ex->reserved_input;
	if (usage.output < 0)
		usage.output = ex->reservation.tokens - ex->reserved_input;
	struct kgb_usage known = {0};
	kgb_usage_add(&known, &usage);
	struct kgb_charge charge = {.tokens = kgb_usage_total(&known)};
	if (ex->session->gw->mode == KGB_GATEWAY_LIVE) {
		const struct kgb_price *price = NULL;
		if (*ex->meter.model)
			price = kgb_prices_find(ex->session->gw->prices, ex->meter.model,
						ex->started_wall_ms);
		if (!price)
			price = asked_price(ex);
		charge.nanos = kgb_price_nanos(price, &known);
		/* The price is above the table's, or unknown. */
		bool unsure = charge.nanos < 0 || ex->meter.surcharged;
		if (unsure && charge.nanos < ex->reservation.nanos)
			charge.nanos = ex->reservation.nanos;
	}
	return charge;
}

/* The charge of an exchange, including tries whose answers may have been lost. */
static struct kgb_charge taken(const struct kgb_exchange *ex)
{
	struct kgb_charge answer = answered(ex), charge = {0};
	kgb_charge_add(&charge, &answer);
	for (int i = 0; i < ex->relay.n_lost; i++)
		kgb_charge_add(&charge, &ex->reservation);
	return charge;
}

void kgb_exchange__charge(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	struct kgb_totals *totals = &session->ledger.totals;
	totals->wait_ms += ex->waited_ms + ex->relay.waited_ms;
	totals->n_retries += ex->relay.n_tries > 1 ? ex->relay.n_tries - 1 : 0;
	if (!ex->has_reserved)
		return;
	ex->has_reserved = false;
	struct kgb_charge charge = taken(ex);
	kgb_budget_settle(session->spec.budget, &ex->reservation, &charge);
	kgb_session__tell_charged(session);
	if (!session->closing && session->spec.callbacks.on_usage)
		session->spec.callbacks.on_usage(session->spec.payload, totals);
	kgb_gateway__admit_waiting(session->gw);
}

void kgb_exchange__stop(struct kgb_exchange *ex)
{
	stop_waiting(ex);
	kgb_relay_stop(&ex->relay);
}
