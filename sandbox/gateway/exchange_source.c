/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/exchange_source.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/offline/offline.h"

/* Pending bytes above which a slow client pauses the upstream. */
#define MAX_UNSENT_BYTES (1u << 20)

/* The body to send. */
static const struct kgb_buf *sent_body(const struct kgb_exchange *ex)
{
	return ex->rewritten.body.len ? &ex->rewritten.body : &ex->body;
}

struct kgb_account *kgb_exchange__account(const struct kgb_exchange *ex)
{
	return &ex->session->gw->accounts.by_provider[kgb_protocol_provider(ex->protocol)];
}

/* ---- live ---- */

/* Do not retry for a client that has left, or is about to. */
static bool is_wanted(const void *payload)
{
	const struct kgb_exchange *ex = payload;
	return ex->state == KGB_EXCHANGE_ANSWERING && ex->out_end != KGB_REPLY_CUT &&
	       !ex->session->closing;
}

static void on_calls(void *payload, int sent, int unsure)
{
	struct kgb_exchange *ex = payload;
	if (!kgb_http_is_generation(ex->endpoint))
		return;
	ex->session->ledger.totals.n_calls += sent;
	ex->session->ledger.totals.n_calls_unsure += unsure;
	kgb_session__note_leaving(ex->session);
}

static void on_head(void *payload, int status, const char *content_type)
{
	kgb_exchange__head(payload, status, content_type);
}

static enum kgb_upstream_take on_bytes(void *payload, const char *bytes, size_t len)
{
	struct kgb_exchange *ex = payload;
	if (ex->state == KGB_EXCHANGE_ANSWERING && ex->out.len - ex->out_pos > MAX_UNSENT_BYTES)
		return KGB_UPSTREAM_HOLD;
	kgb_exchange__bytes(ex, bytes, len);
	return KGB_UPSTREAM_TAKEN;
}

static void on_end(void *payload, const char *error)
{
	kgb_exchange__end(payload, error);
}

static void on_refused(void *payload, const char *why)
{
	struct kgb_exchange *ex = payload;
	kgb_exchange__note_broken_answer(ex, 1);
	kgb_exchange__refuse(ex, 429, why, why);
}

static const struct kgb_relay_callbacks relay_callbacks = {
	.on_calls = on_calls,
	.on_head = on_head,
	.on_bytes = on_bytes,
	.on_end = on_end,
	.on_refused = on_refused,
	.is_wanted = is_wanted,
};

static void start_relay(struct kgb_exchange *ex)
{
	struct kgb_gateway *gw = ex->session->gw;
	const char *query = strchr(ex->uri, '?');
	const struct kgb_relay_spec spec = {
		.accounts = &gw->accounts,
		.provider = kgb_protocol_provider(ex->protocol),
		.method = ex->method,
		.path = ex->endpoint == KGB_ENDPOINT_BATCH ? ex->path
							   : kgb_http_upstream_path(ex->endpoint),
		/* Never repeat it, which could buy a batch twice: its sender searches for an
		 * existing one. */
		.once = ex->endpoint == KGB_ENDPOINT_BATCH && kgb_str_eq(ex->method, "POST"),
		.query = query ? query : "",
		.headers = &ex->headers,
		.keeps_betas = gw->allow_provider_tools,
		.body = sent_body(ex),
		.reply = &ex->reply,
		.started_ms = ex->started_ms,
		.callbacks = &relay_callbacks,
		.payload = ex,
	};
	kgb_relay_start(&ex->relay, &spec);
}

/* ---- offline ---- */

static void prepare_script(struct kgb_exchange *ex)
{
	const struct kgb_buf *body = sent_body(ex);
	if (ex->endpoint == KGB_ENDPOINT_MODELS)
		kgb_offline_models(ex->protocol, &ex->scripted);
	else if (ex->endpoint == KGB_ENDPOINT_COUNT_TOKENS)
		kgb_offline_count_tokens(body->ptr, body->len, &ex->scripted);
	else if (ex->session->spec.offline)
		kgb_offline_answer(ex->session->spec.offline, ex->protocol, body->ptr, body->len,
				   &ex->scripted);
}

static void send_script(struct kgb_exchange *ex)
{
	static const char no_script[] =
		"offline: the built-in model has no script for this operator";
	struct kgb_offline_reply *reply = &ex->scripted;
	if (kgb_http_is_generation(ex->endpoint) && !ex->session->spec.offline) {
		kgb_exchange__refuse(ex, kgb_http_stop_status(ex->protocol), no_script, no_script);
		return;
	}
	kgb_headers_add(&ex->reply, "content-type", reply->content_type);
	kgb_exchange__head(ex, reply->status, reply->content_type);
	ex->cuts = KGB_TAKE(reply->event_ends.items);
	ex->n_cuts = reply->event_ends.n;
	kgb_exchange__bytes(ex, reply->body.ptr, reply->body.len);
	kgb_exchange__end(ex, NULL);
}

/* ---- replay ---- */

static void tell_miss(struct kgb_exchange *ex, const char *why)
{
	struct kgb_session *session = ex->session;
	session->ledger.totals.n_misses++;
	if (!session->closing && session->spec.callbacks.on_miss)
		session->spec.callbacks.on_miss(session->spec.payload, why);
	/* As for a budget: the client must end, so write no number that it could take for a
	 * status. */
	kgb_exchange__refuse(ex, kgb_http_stop_status(ex->protocol), why,
			     "replay: this request is not in the record");
}

static struct kgb_cassette_request replay_request(const struct kgb_exchange *ex)
{
	return (struct kgb_cassette_request){
		.method = ex->method,
		.path = ex->path,
		.body = ex->body.ptr,
		.body_len = ex->body.len,
		.sample = kgb_headers_find(&ex->headers, KGB_SAMPLE_HEADER),
		.secrets = {ex->session->token}, /* a replay has no other */
	};
}

static void send_record(struct kgb_exchange *ex)
{
	struct kgb_session *session = ex->session;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf why = KGB_BUF_INIT(0);
	struct kgb_cassette_answer answer = KGB_CASSETTE_ANSWER_INIT;
	int found = kgb_cassette_answer(session->spec.cassette, &session->cassette_use, ex->key,
					&answer, &err);
	if (found == 0) {
		const struct kgb_cassette_request request = replay_request(ex);
		kgb_cassette_explain(session->spec.cassette, &session->cassette_use, &request,
				     &why);
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

/* ---- by mode ---- */

void kgb_exchange__prepare_source(struct kgb_exchange *ex)
{
	enum kgb_gateway_mode mode = ex->session->gw->mode;
	const struct kgb_cassette_request request = replay_request(ex);
	if (mode == KGB_GATEWAY_OFFLINE)
		prepare_script(ex);
	else if (mode == KGB_GATEWAY_REPLAY)
		(void)kgb_cassette_key(&request, ex->key);
}

void kgb_exchange__start_source(struct kgb_exchange *ex)
{
	static void (*const start[])(struct kgb_exchange *) = {
		[KGB_GATEWAY_LIVE] = start_relay,
		[KGB_GATEWAY_OFFLINE] = send_script,
		[KGB_GATEWAY_REPLAY] = send_record,
	};
	if (ex->session->gw->mode != KGB_GATEWAY_LIVE && kgb_http_is_generation(ex->endpoint))
		kgb_session__note_leaving(ex->session);
	start[ex->session->gw->mode](ex);
}
