/* SPDX-License-Identifier: MIT */
/** \file
 * Pieces of HTTP that server and relay share: a request's endpoint, token check, error bodies. */
#ifndef KGB_SANDBOX_REQUEST_HTTP_H
#define KGB_SANDBOX_REQUEST_HTTP_H

#include <stddef.h>

#include "base/buf.h"
#include "sandbox/meter/protocol.h"

enum kgb_endpoint {
	KGB_ENDPOINT_NONE, /* not offered: 404 */
	KGB_ENDPOINT_MESSAGES,
	KGB_ENDPOINT_COUNT_TOKENS,
	KGB_ENDPOINT_CHAT,
	KGB_ENDPOINT_RESPONSES,
	KGB_ENDPOINT_MODELS,
	KGB_ENDPOINT_HELLO, /* liveness checks of CLIs, answered without a token */
	KGB_ENDPOINT_VERIFY,
	KGB_ENDPOINT_BATCH, /* files and batches of requests, of either provider */
};
/** `path` is without the query. */
enum kgb_endpoint kgb_http_endpoint(const char *method, const char *path);
/** Path at the upstream ("/v1/messages"), or NULL for endpoints that are answered here. */
const char *kgb_http_upstream_path(enum kgb_endpoint endpoint);
/** A call of KGB_ENDPOINT_BATCH that polls the state of a batch. */
bool kgb_http_is_poll(const char *method, const char *path);

/** Whether one of the two headers (NULL: absent) carries the token. Takes equally long for every
 * wrong token of that length. */
bool kgb_http_token_matches(const char *token, const char *x_api_key, const char *authorization);

/** The request header goes on to the upstream. */
bool kgb_http_forward_request_header(const char *name);
/** Whether a header's name and value cannot make two headers of it, or end its line early. */
bool kgb_http_is_plain(const char *name, const char *value);
/** The words of an `anthropic-beta` header to pass on, comma by comma: without those that change
 * prices without a trace in the request. */
void kgb_http_cheap_betas(const char *value, struct kgb_buf *out);
/** The answer's header (lower case) goes on to the client. */
bool kgb_http_forward_reply_header(const char *name);
/** The header's value is a secret and is not recorded. */
bool kgb_http_secret_header(const char *name);

/** The endpoint makes a model answer, which costs tokens. */
bool kgb_http_is_generation(enum kgb_endpoint endpoint);
/** Protocol of an endpoint; Anthropic's for endpoints without one. */
enum kgb_protocol kgb_http_protocol(enum kgb_endpoint endpoint);

/** An error in the form of the protocol. */
void kgb_http_error_body(struct kgb_buf *out, enum kgb_protocol protocol, int status,
			 const char *message);
/** The status after which the CLIs of a protocol stop at once. */
int kgb_http_stop_status(enum kgb_protocol protocol);

#endif
