/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "sandbox/gateway/internal.h"
#include "sandbox/gateway/offline.h"

/* A client that reads slowly holds the upstream back beyond this. */
#define MAX_UNSENT_BYTES (1u << 20)

static void add_reply_header(struct kgb_exchange *ex, const char *name, const char *value)
{
	kgb_strv_add(&ex->reply_names, name);
	kgb_strv_add(&ex->reply_values, value);
}

/* ---- live ---- */

static int on_head(void *payload, const struct kgb_upstream_head *head)
{
	struct kgb_exchange *ex = payload;
	const char *encoding = kgb_upstream_header(head, "content-encoding");
	if (encoding && strcasecmp(encoding, "identity") != 0) {
		snprintf(
			ex->error, sizeof(ex->error),
			"upstream: the answer is encoded as '%.40s' although identity was asked for",
			encoding);
		return -1;
	}
	const char *type = kgb_upstream_header(head, "content-type");
	for (size_t i = 0; i < head->names.n; i++)
		if (kgb_http_forward_reply_header(head->names.items[i]))
			add_reply_header(ex, head->names.items[i], head->values.items[i]);
	if (!type)
		add_reply_header(ex, "content-type", "application/json");
	kgb_exchange__head(ex, head->status, type);
	return 0;
}

static bool on_data(void *payload, const char *bytes, size_t len)
{
	struct kgb_exchange *ex = payload;
	if (ex->attached && ex->out.len - ex->out_pos > MAX_UNSENT_BYTES)
		return false;
	kgb_exchange__bytes(ex, bytes, len);
	return true;
}

static void on_done(void *payload, const struct kgb_err *err)
{
	struct kgb_exchange *ex = payload;
	ex->call = NULL;
	kgb_exchange__end(ex, !err ? NULL : *ex->error ? ex->error : err->msg);
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
	const struct kgb_gateway *gw = ex->session->gw;
	struct curl_slist *list = NULL;
	for (size_t i = 0; i < ex->header_names.n; i++)
		if (kgb_http_forward_request_header(ex->header_names.items[i]))
			list = add_header(list, ex->header_names.items[i],
					  ex->header_values.items[i]);
	if (gw->key_is_bearer) {
		KGB_AUTO(free) char *bearer = kgb_xasprintf("Bearer %s", gw->api_key);
		list = add_header(list, "authorization", bearer);
	} else {
		list = add_header(list, "x-api-key", gw->api_key);
	}
	list = add_header(list, "accept-encoding", "identity");
	/* No "100 Continue" round trip. */
	struct curl_slist *longer = curl_slist_append(list, "expect:");
	KGB_ASSERT(longer);
	return longer;
}

void kgb_exchange__relay(struct kgb_exchange *ex)
{
	const struct kgb_gateway *gw = ex->session->gw;
	const char *query = strchr(ex->uri, '?');
	KGB_AUTO(free)
	char *url = kgb_xasprintf("%s%s%s", gw->base_url, kgb_http_upstream_path(ex->endpoint),
				  query ? query : "");
	const struct kgb_buf *body = ex->sent_body.len ? &ex->sent_body : &ex->body;
	struct kgb_upstream_spec spec = {
		.method = ex->method,
		.url = url,
		.take_headers = upstream_headers(ex),
		.body = body->ptr,
		.body_len = body->len,
		.connect_timeout_ms = gw->connect_timeout_ms,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
		.payload = ex,
	};
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_upstream_start(&ex->call, gw->upstream, &spec, &err) < 0)
		kgb_exchange__end(ex, err.msg);
}

/* ---- offline ---- */

void kgb_exchange__offline(struct kgb_exchange *ex)
{
	const struct kgb_buf *body = ex->sent_body.len ? &ex->sent_body : &ex->body;
	struct kgb_offline_reply reply = KGB_OFFLINE_REPLY_INIT;
	if (ex->endpoint == KGB_ENDPOINT_MODELS)
		kgb_offline_models(&reply);
	else if (ex->endpoint == KGB_ENDPOINT_COUNT_TOKENS)
		kgb_offline_count_tokens(body->ptr, body->len, &reply);
	else
		kgb_offline_answer(ex->session->offline, body->ptr, body->len, &reply);
	add_reply_header(ex, "content-type", reply.content_type);
	kgb_exchange__head(ex, reply.status, reply.content_type);
	ex->cuts = KGB_TAKE(reply.event_ends);
	ex->n_cuts = reply.n_events;
	kgb_exchange__bytes(ex, reply.body.ptr, reply.body.len);
	kgb_exchange__end(ex, NULL);
	kgb_offline_reply_release(&reply);
}
