/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/time.h"
#include "sandbox/gateway/internal.h"
#include "sandbox/offline/offline.h"

/* A client that reads slowly holds the upstream back beyond this. */
#define MAX_UNSENT_BYTES (1u << 20)
/* Of an error's text that nobody gets; more is not waited for. */
#define MAX_THROWN_BYTES (64u << 10)

/* What goes out of the request. */
static const struct kgb_buf *sent_body(const struct kgb_exchange *ex)
{
	return ex->rewritten.body.len ? &ex->rewritten.body : &ex->body;
}

struct kgb_account *kgb_exchange__account(const struct kgb_exchange *ex)
{
	return &ex->session->gw->accounts.by_provider[kgb_protocol_provider(ex->protocol)];
}

/* ---- live: an answer passes, unless it is one to try again after ---- */

/* Decide on a call that brought no good answer. */
static void judge_fault(struct kgb_exchange *ex, const struct kgb_retry_fault *fault)
{
	uint32_t dice;
	kgb_random(&dice, sizeof(dice));
	kgb_retry_decide(&ex->session->gw->accounts.retry, fault, ex->n_tries,
			 kgb_mono_ms() - ex->started_ms, (double)dice / 4294967296.0,
			 &ex->decision);
	/* For a client that has left, or is about to, nothing is bought twice. */
	if (!ex->attached || ex->out_abort || ex->session->closing)
		ex->decision.again = false;
}

/* Else the client does. */
static bool retries_here(const struct kgb_exchange *ex)
{
	return ex->session->gw->accounts.retry.max_tries > 1;
}

/* We have done the retrying: clients need not. */
static void forbid_retries(struct kgb_exchange *ex)
{
	if (retries_here(ex))
		kgb_headers_set(&ex->reply, "x-should-retry", "false");
}

/* When to ask again is our business too: OpenCode would sleep that long, without a word. */
static bool passes(const struct kgb_exchange *ex, const char *name)
{
	return kgb_http_forward_reply_header(name) &&
	       !(retries_here(ex) && kgb_str_starts(name, "retry-after"));
}

/* As the answer's bytes: without our keys, should the provider send them back. */
static void add_clean_header(struct kgb_exchange *ex, const char *name, const char *value)
{
	const struct kgb_account *accounts = ex->session->gw->accounts.by_provider;
	const char *const keys[KGB_SCRUB_MAX] = {accounts[KGB_PROVIDER_ANTHROPIC].api_key,
						 accounts[KGB_PROVIDER_OPENAI].api_key};
	KGB_AUTO(buf) struct kgb_buf clean = KGB_BUF_INIT(0);
	kgb_scrub_whole(keys, value, strlen(value), &clean);
	kgb_headers_add(&ex->reply, name, clean.len > 0 ? clean.ptr : "");
}

static void on_head(void *payload, const struct kgb_upstream_head *head)
{
	struct kgb_exchange *ex = payload;
	if (head->status >= 300) {
		const struct kgb_retry_fault fault = {
			.status = head->status,
			.retry_after = kgb_headers_find(&head->headers, "retry-after"),
			.retry_after_ms = kgb_headers_find(&head->headers, "retry-after-ms"),
			.should_retry = kgb_headers_find(&head->headers, "x-should-retry"),
		};
		judge_fault(ex, &fault);
		if (ex->decision.again) {
			kgb_strv_addf(&ex->tries, "status %d", head->status);
			return;
		}
	}
	const char *type = kgb_headers_find(&head->headers, "content-type");
	for (size_t i = 0; i < head->headers.names.n; i++)
		if (passes(ex, head->headers.names.items[i]))
			add_clean_header(ex, head->headers.names.items[i],
					 head->headers.values.items[i]);
	if (!type)
		kgb_headers_add(&ex->reply, "content-type", "application/json");
	if (head->status >= 300)
		forbid_retries(ex);
	kgb_exchange__head(ex, head->status, type);
}

static enum kgb_upstream_take on_data(void *payload, const char *bytes, size_t len)
{
	struct kgb_exchange *ex = payload;
	if (ex->decision.again) {
		/* Nobody gets this one. It is read for the sake of the connection only. */
		ex->thrown_bytes += len;
		return ex->thrown_bytes > MAX_THROWN_BYTES ? KGB_UPSTREAM_ENOUGH
							   : KGB_UPSTREAM_TAKEN;
	}
	/* Before it fills the disk, and at the most that a replay reads. */
	if (ex->response_bytes + (int64_t)len > ex->session->gw->accounts.max_answer_bytes) {
		ex->too_long = true;
		return KGB_UPSTREAM_ENOUGH;
	}
	if (ex->attached && ex->out.len - ex->out_pos > MAX_UNSENT_BYTES)
		return KGB_UPSTREAM_HOLD;
	kgb_exchange__bytes(ex, bytes, len);
	return KGB_UPSTREAM_TAKEN;
}

static void start_call(void *payload);

static void ask_for_turn(struct kgb_exchange *ex, int64_t wait_ms)
{
	ex->wait_began_ms = kgb_mono_ms();
	kgb_key_limiter_ask(&kgb_exchange__account(ex)->limiter, &ex->turn, wait_ms, start_call,
			    ex);
}

/* The account has to stay away for longer than a client would wait. */
static void refuse_paused(struct kgb_exchange *ex, int64_t paused_ms)
{
	ex->source_open = false;
	snprintf(ex->error, sizeof(ex->error),
		 "the provider has asked this account to wait: %lld s are left",
		 (long long)(paused_ms + 999) / 1000);
	kgb_exchange__note_broken_answer(ex, 1);
	kgb_exchange__reply_error(ex, 429, ex->error);
}

/* All that wait already would wait in vain. */
static void refuse_waiting(struct kgb_gateway *gw, const struct kgb_account *account)
{
	int64_t paused_ms = kgb_key_limiter_paused_ms(&account->limiter);
	if (paused_ms <= gw->accounts.retry.total_ms)
		return;
	for (struct kgb_session *session = gw->sessions; session; session = session->next) {
		for (struct kgb_exchange *ex = session->exchanges, *next; ex; ex = next) {
			next = ex->next;
			if (ex->turn.state != KGB_TURN_WAITING ||
			    kgb_exchange__account(ex) != account)
				continue;
			kgb_exchange__stop(ex);
			refuse_paused(ex, paused_ms);
		}
	}
}

static void on_done(void *payload, bool sent, const struct kgb_err *err)
{
	struct kgb_exchange *ex = payload;
	struct kgb_gateway *gw = ex->session->gw;
	struct kgb_account *account = kgb_exchange__account(ex);
	ex->call = NULL;
	if (err && sent && ex->status == 0 && !ex->decision.again)
		ex->n_lost++;
	if (err && ex->status == 0 && !ex->decision.again && !*ex->error) {
		judge_fault(ex, &(struct kgb_retry_fault){.err = err});
		if (ex->decision.again)
			kgb_strv_add(&ex->tries, err->msg);
		else
			forbid_retries(ex);
	}
	const struct kgb_retry_decision decision = ex->decision;
	bool good = !err && ex->status >= 200 && ex->status < 300;
	/* Who leaves retries to the client leaves it the pauses too. */
	if (retries_here(ex))
		kgb_key_limiter_pause(&account->limiter, decision.pause_ms);
	kgb_key_limiter_leave(&account->limiter, &ex->turn,
			      good               ? KGB_TURN_WENT_WELL
			      : decision.crowded ? KGB_TURN_CROWDED
						 : KGB_TURN_SAID_NOTHING);
	if (decision.again && ex->attached && !ex->out_abort)
		ask_for_turn(ex, decision.wait_ms);
	else if (decision.again)
		kgb_exchange__end(ex, "the client hung up while the provider was asked again");
	else
		kgb_exchange__end(ex, !err ? NULL : *ex->error ? ex->error : err->msg);
	refuse_waiting(gw, account);
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
	KGB_AUTO(free) char *line = kgb_xasprintf("%s: %s", name, value);
	struct curl_slist *longer = curl_slist_append(list, line);
	KGB_ASSERT(longer);
	return longer;
}

/* The client's headers that concern the API, with the real key in the place of its token. */
static struct curl_slist *upstream_headers(const struct kgb_exchange *ex)
{
	const struct kgb_account *account = kgb_exchange__account(ex);
	struct curl_slist *list = NULL;
	for (size_t i = 0; i < ex->headers.names.n; i++) {
		const char *name = ex->headers.names.items[i], *value = ex->headers.values.items[i];
		KGB_AUTO(buf) struct kgb_buf betas = KGB_BUF_INIT(0);
		if (!kgb_http_forward_request_header(name) || !kgb_http_is_plain(name, value))
			continue;
		if (strcasecmp(name, "anthropic-beta") == 0 &&
		    !ex->session->gw->allow_provider_tools) {
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
	struct curl_slist *longer = curl_slist_append(list, "expect:");
	KGB_ASSERT(longer);
	return longer;
}

static void start_call(void *payload)
{
	struct kgb_exchange *ex = payload;
	const struct kgb_gateway *gw = ex->session->gw;
	const char *query = strchr(ex->uri, '?');
	KGB_AUTO(free)
	char *url = kgb_xasprintf("%s%s%s", kgb_exchange__account(ex)->base_url,
				  kgb_http_upstream_path(ex->endpoint), query ? query : "");
	const struct kgb_buf *body = sent_body(ex);
	struct kgb_upstream_spec spec = {
		.method = ex->method,
		.url = url,
		.take_headers = upstream_headers(ex),
		.body = body->ptr,
		.body_len = body->len,
		.connect_timeout_ms = gw->accounts.connect_timeout_ms,
		.idle_timeout_ms = gw->accounts.idle_timeout_ms,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
		.payload = ex,
	};
	struct kgb_err err = KGB_ERR_INIT;
	ex->waited_ms += kgb_mono_ms() - ex->wait_began_ms;
	ex->decision = (struct kgb_retry_decision){0};
	ex->thrown_bytes = 0;
	ex->n_tries++;
	if (kgb_upstream_start(&ex->call, gw->accounts.upstream, &spec, &err) < 0)
		on_done(ex, false, &err);
}

void kgb_exchange__relay(struct kgb_exchange *ex)
{
	const struct kgb_gateway *gw = ex->session->gw;
	int64_t paused_ms = kgb_key_limiter_paused_ms(&kgb_exchange__account(ex)->limiter);
	if (paused_ms > gw->accounts.retry.total_ms)
		refuse_paused(ex, paused_ms);
	else
		ask_for_turn(ex, 0);
}

/* ---- offline ---- */

void kgb_exchange__script(struct kgb_exchange *ex)
{
	const struct kgb_buf *body = sent_body(ex);
	if (ex->endpoint == KGB_ENDPOINT_MODELS)
		kgb_offline_models(ex->protocol, &ex->scripted);
	else if (ex->endpoint == KGB_ENDPOINT_COUNT_TOKENS)
		kgb_offline_count_tokens(body->ptr, body->len, &ex->scripted);
	else
		kgb_offline_answer(ex->session->offline, ex->protocol, body->ptr, body->len,
				   &ex->scripted);
}

void kgb_exchange__offline(struct kgb_exchange *ex)
{
	struct kgb_offline_reply *reply = &ex->scripted;
	kgb_headers_add(&ex->reply, "content-type", reply->content_type);
	kgb_exchange__head(ex, reply->status, reply->content_type);
	ex->cuts = KGB_TAKE(reply->event_ends);
	ex->n_cuts = reply->n_events;
	kgb_exchange__bytes(ex, reply->body.ptr, reply->body.len);
	kgb_exchange__end(ex, NULL);
}

/* ---- replay ---- */

static void tell_miss(struct kgb_exchange *ex, const char *why)
{
	struct kgb_session *session = ex->session;
	session->ledger.totals.n_misses++;
	ex->source_open = false;
	snprintf(ex->error, sizeof(ex->error), "%s", why);
	if (!session->closing && session->callbacks.on_miss)
		session->callbacks.on_miss(session->payload, why);
	/* As for a budget: the client is to end, so no number that it could take for a status. */
	kgb_exchange__reply_error(ex, kgb_http_stop_status(ex->protocol),
				  "replay: this request is not in the record");
}

static struct kgb_cassette_request replay_request(const struct kgb_exchange *ex)
{
	return (struct kgb_cassette_request){
		.method = ex->method,
		.path = ex->path,
		.body = ex->body.ptr,
		.body_len = ex->body.len,
		.secrets = {ex->session->token}, /* a replay has no other */
	};
}

void kgb_exchange__find_key(struct kgb_exchange *ex)
{
	const struct kgb_cassette_request request = replay_request(ex);
	(void)kgb_cassette_key(&request, ex->key);
}

void kgb_exchange__replay(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf why = KGB_BUF_INIT(0);
	struct kgb_cassette_answer answer = KGB_CASSETTE_ANSWER_INIT;
	int found = kgb_cassette_answer(session->cassette, &session->cassette_use, ex->key, &answer,
					&err);
	if (found == 0) {
		const struct kgb_cassette_request request = replay_request(ex);
		kgb_cassette_explain(session->cassette, &session->cassette_use, &request, &why);
		tell_miss(ex, why.ptr);
	} else if (found < 0) {
		tell_miss(ex, err.msg);
	} else {
		kgb_headers_add_all(&ex->reply, &answer.headers);
		kgb_exchange__head(ex, answer.status, kgb_headers_find(&ex->reply, "content-type"));
		kgb_exchange__bytes(ex, answer.body.ptr, answer.body.len);
		kgb_exchange__end(ex, answer.cut ? "as recorded: the answer was cut off" : NULL);
	}
	kgb_cassette_answer_release(&answer);
}
