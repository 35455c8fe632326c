/* SPDX-License-Identifier: MIT */
#include "sandbox/provider/relay.h"

#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "sandbox/request/http.h"
#include "sandbox/request/scrub.h"

/* Most bytes that are read of an error's text that is not passed on, so that the connection can be
 * reused. */
#define MAX_THROWN_BYTES (64u << 10)
#define REPORT_EVERY_MS 5000

static struct kgb_account *account_of(const struct kgb_relay *relay)
{
	return &relay->spec.accounts->by_provider[relay->spec.provider];
}

static bool is_wanted(const struct kgb_relay *relay)
{
	return relay->spec.callbacks->is_wanted(relay->spec.payload);
}

/* Decide what follows a call without a good answer. */
static void judge_fault(struct kgb_relay *relay, const struct kgb_retry_fault *fault)
{
	uint32_t dice;
	kgb_random(&dice, sizeof(dice));
	kgb_retry_decide(&relay->spec.accounts->retry, fault, relay->n_tries,
			 kgb_mono_ms() - relay->spec.started_ms, (double)dice / 4294967296.0,
			 &relay->decision);
	if (relay->spec.once || !is_wanted(relay))
		relay->decision.again = false;
}

/* Otherwise the client retries. */
static bool retries_here(const struct kgb_relay *relay)
{
	return relay->spec.accounts->retry.max_tries > 1;
}

/* Ask clients not to retry: the gateway has retried already. */
static void forbid_retries(struct kgb_relay *relay)
{
	if (retries_here(relay))
		kgb_headers_set(relay->spec.reply, "x-should-retry", "false");
}

/* Remove retry-after, because the gateway times the retries: OpenCode would sleep silently for that
 * time. */
static bool passes(const struct kgb_relay *relay, const char *name)
{
	return kgb_http_forward_reply_header(name) &&
	       !(retries_here(relay) && kgb_str_starts(name, "retry-after"));
}

/* Remove our keys, as from the answer's bytes, in case the provider sends them back. */
static void add_clean_header(struct kgb_relay *relay, const char *name, const char *value)
{
	const struct kgb_account *accounts = relay->spec.accounts->by_provider;
	const char *const keys[KGB_SCRUB_MAX] = {accounts[KGB_PROVIDER_ANTHROPIC].api_key,
						 accounts[KGB_PROVIDER_OPENAI].api_key};
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	kgb_scrub_whole(keys, value, strlen(value), &clean);
	kgb_headers_add(relay->spec.reply, name, clean.len > 0 ? clean.ptr : "");
}

static void count(struct kgb_relay *relay, int sent, int unsure)
{
	relay->spec.callbacks->on_calls(relay->spec.payload, sent, unsure);
}

static void on_leave(void *payload)
{
	struct kgb_relay *relay = payload;
	/* A repeated send: its first connection was dead, but the provider may have read the
	 * request before. */
	const int again = relay->stage == KGB_CALL_LEFT;
	relay->stage = KGB_CALL_LEAVING;
	count(relay, -again, 1 + again);
}

static void on_left(void *payload)
{
	struct kgb_relay *relay = payload;
	relay->stage = KGB_CALL_LEFT;
	count(relay, 1, -1);
}

static void on_head(void *payload, const struct kgb_upstream_head *head)
{
	struct kgb_relay *relay = payload;
	if (relay->stage == KGB_CALL_LEAVING) /* answered before it was read whole */
		on_left(relay);
	relay->stage = KGB_CALL_ANSWERED;
	if (head->status >= 300) {
		const struct kgb_retry_fault fault = {
			.status = head->status,
			.retry_after = kgb_headers_find(&head->headers, "retry-after"),
			.retry_after_ms = kgb_headers_find(&head->headers, "retry-after-ms"),
			.should_retry = kgb_headers_find(&head->headers, "x-should-retry"),
		};
		judge_fault(relay, &fault);
		if (relay->decision.again) {
			kgb_strv_addf(&relay->tries, "status %d", head->status);
			return;
		}
	}
	const char *type = kgb_headers_find(&head->headers, "content-type");
	for (size_t i = 0; i < head->headers.names.n; i++)
		if (passes(relay, head->headers.names.items[i]))
			add_clean_header(relay, head->headers.names.items[i],
					 head->headers.values.items[i]);
	if (!type)
		kgb_headers_add(relay->spec.reply, "content-type", "application/json");
	if (head->status >= 300)
		forbid_retries(relay);
	relay->status = head->status;
	relay->spec.callbacks->on_head(relay->spec.payload, head->status, type);
}

static enum kgb_upstream_take on_data(void *payload, const char *bytes, size_t len)
{
	struct kgb_relay *relay = payload;
	if (relay->decision.again) {
		relay->thrown_bytes += len;
		return relay->thrown_bytes > MAX_THROWN_BYTES ? KGB_UPSTREAM_ENOUGH
							      : KGB_UPSTREAM_TAKEN;
	}
	/* Cut the answer before it fills the disk, and at the limit of a replay. */
	if (relay->answer_bytes + (int64_t)len > relay->spec.accounts->max_answer_bytes) {
		relay->too_long = true;
		return KGB_UPSTREAM_ENOUGH;
	}
	enum kgb_upstream_take take =
		relay->spec.callbacks->on_bytes(relay->spec.payload, bytes, len);
	if (take == KGB_UPSTREAM_TAKEN)
		relay->answer_bytes += (int64_t)len;
	return take;
}

static void start_call(void *payload);

static void ask_for_turn(struct kgb_relay *relay, int64_t wait_ms)
{
	relay->wait_began_ms = kgb_mono_ms();
	kgb_key_limiter_ask(&account_of(relay)->limiter, &relay->turn, wait_ms, start_call, relay);
}

static void refuse_paused(struct kgb_relay *relay, int64_t paused_ms)
{
	char why[120];
	snprintf(why, sizeof(why), "the provider has asked this account to wait: %lld s are left",
		 (long long)(paused_ms + 999) / 1000);
	relay->spec.callbacks->on_refused(relay->spec.payload, why);
}

/* End all relays that wait for a turn: they would wait in vain. */
static void refuse_waiting(const struct kgb_accounts *accounts, struct kgb_key_limiter *limiter)
{
	int64_t paused_ms = kgb_key_limiter_paused_ms(limiter);
	if (paused_ms <= accounts->retry.total_ms)
		return;
	while (limiter->first) {
		struct kgb_relay *relay = limiter->first->payload;
		kgb_relay_stop(relay);
		refuse_paused(relay, paused_ms);
	}
}

/** Log one line for all relays in REPORT_EVERY_MS, so that a run that waits for its provider shows
 * the reason. */
static void report_retry(const struct kgb_relay *relay)
{
	struct kgb_accounts *accounts = relay->spec.accounts;
	const int64_t now_ms = kgb_mono_ms();
	const struct kgb_strv *tries = &relay->tries;
	char wait[32];

	if (accounts->reported_ms > 0 && now_ms - accounts->reported_ms < REPORT_EVERY_MS)
		return;
	accounts->reported_ms = now_ms;
	kgb_info("%s: %s; call %d of %d follows in %s", account_of(relay)->base_url,
		 tries->n > 0 ? tries->items[tries->n - 1] : "no answer", relay->n_tries + 1,
		 accounts->retry.max_tries,
		 kgb_duration_format(relay->decision.wait_ms, wait, sizeof(wait)));
}

static void on_done(void *payload, bool sent, const struct kgb_err *err)
{
	struct kgb_relay *relay = payload;
	const struct kgb_accounts *accounts = relay->spec.accounts;
	struct kgb_key_limiter *limiter = &account_of(relay)->limiter;
	relay->call = NULL;
	/* The connection broke; the provider may have read the request. */
	if (err && err->kind != KGB_ERR_TIMEOUT && relay->stage == KGB_CALL_LEFT)
		count(relay, -1, 1);
	if (err && relay->status == 0 && !relay->decision.again) {
		relay->n_lost += sent;
		judge_fault(relay, &(struct kgb_retry_fault){.err = err});
		if (relay->decision.again)
			kgb_strv_add(&relay->tries, err->msg);
		else
			forbid_retries(relay);
	}
	const struct kgb_retry_decision decision = relay->decision;
	/* Without retries in the gateway the client handles pauses too. */
	if (retries_here(relay))
		kgb_key_limiter_pause(limiter, decision.pause_ms);
	bool good = !err && relay->status >= 200 && relay->status < 300;
	kgb_key_limiter_leave(limiter, &relay->turn,
			      good               ? KGB_TURN_WENT_WELL
			      : decision.crowded ? KGB_TURN_CROWDED
						 : KGB_TURN_SAID_NOTHING);
	if (decision.again && is_wanted(relay)) {
		report_retry(relay);
		ask_for_turn(relay, decision.wait_ms);
	} else {
		relay->spec.callbacks->on_end(
			relay->spec.payload,
			decision.again ? "the client hung up while the provider was asked again"
			: err          ? err->msg
				       : NULL);
	}
	refuse_waiting(accounts, limiter);
}

static struct curl_slist *add_line(struct curl_slist *list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(list, line);
	KGB_ASSERT(longer);
	return longer;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
	KGB_AUTO(free) char *line = kgb_xasprintf("%s: %s", name, value);
	return add_line(list, line);
}

/* The client's headers that concern the API, with the real key in the place of its token. */
static struct curl_slist *upstream_headers(const struct kgb_relay *relay)
{
	const struct kgb_account *account = account_of(relay);
	const struct kgb_headers *headers = relay->spec.headers;
	struct curl_slist *list = NULL;
	for (size_t i = 0; i < headers->names.n; i++) {
		const char *name = headers->names.items[i], *value = headers->values.items[i];
		KGB_AUTO(buf) struct kgb_buf betas = KGB_BUF_INIT(0);
		if (!kgb_http_forward_request_header(name) || !kgb_http_is_plain(name, value))
			continue;
		if (strcasecmp(name, "anthropic-beta") == 0 && !relay->spec.keeps_betas) {
			kgb_http_cheap_betas(value, &betas);
			value = betas.len > 0 ? betas.ptr : "";
		}
		if (*value)
			list = add_header(list, name, value);
	}
	if (account->key_is_bearer) {
		KGB_AUTO(free) char *bearer = kgb_xasprintf("Bearer %s", account->api_key);
		list = add_header(list, "authorization", bearer);
	} else {
		list = add_header(list, "x-api-key", account->api_key);
	}
	list = add_header(list, "accept-encoding", "identity");
	/* No "100 Continue" round trip. */
	return add_line(list, "expect:");
}

static void start_call(void *payload)
{
	struct kgb_relay *relay = payload;
	const struct kgb_relay_spec *spec = &relay->spec;
	KGB_AUTO(free)
	char *url = kgb_xasprintf("%s%s%s", account_of(relay)->base_url, spec->path, spec->query);
	const struct kgb_upstream_spec call = {
		.method = spec->method,
		.url = url,
		.take_headers = upstream_headers(relay),
		.body = spec->body->ptr,
		.body_len = spec->body->len,
		.connect_timeout_ms = spec->accounts->connect_timeout_ms,
		.idle_timeout_ms = spec->accounts->idle_timeout_ms,
		.on_leave = on_leave,
		.on_left = on_left,
		.once = spec->once,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
		.payload = relay,
	};
	struct kgb_err err = KGB_ERR_INIT;
	relay->waited_ms += kgb_mono_ms() - relay->wait_began_ms;
	relay->decision = (struct kgb_retry_decision){0};
	relay->thrown_bytes = 0;
	relay->stage = KGB_CALL_NOT_LEFT;
	relay->n_tries++;
	if (kgb_upstream_start(&relay->call, spec->accounts->upstream, &call, &err) < 0)
		on_done(relay, false, &err);
}

void kgb_relay_start(struct kgb_relay *relay, const struct kgb_relay_spec *spec)
{
	relay->spec = *spec;
	int64_t paused_ms = kgb_key_limiter_paused_ms(&account_of(relay)->limiter);
	if (paused_ms > spec->accounts->retry.total_ms)
		refuse_paused(relay, paused_ms);
	else
		ask_for_turn(relay, 0);
}

void kgb_relay_resume(struct kgb_relay *relay)
{
	if (relay->call)
		kgb_upstream_resume(relay->call);
}

void kgb_relay_stop(struct kgb_relay *relay)
{
	if (relay->call) {
		if (relay->status == 0 && !relay->decision.again && kgb_upstream_sent(relay->call))
			relay->n_lost++;
		kgb_upstream_cancel(KGB_TAKE(relay->call));
	}
	if (relay->turn.state != KGB_TURN_IDLE)
		kgb_key_limiter_leave(&account_of(relay)->limiter, &relay->turn,
				      KGB_TURN_SAID_NOTHING);
}

void kgb_relay_release(struct kgb_relay *relay)
{
	kgb_strv_release(&relay->tries);
}
