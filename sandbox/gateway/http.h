/* SPDX-License-Identifier: MIT */
/** \file
 * Small pieces of HTTP that server and relay share: which endpoint a request means, token check,
 * error bodies, the "model" of a request.
 */
#ifndef KGB_SANDBOX_GATEWAY_HTTP_H
#define KGB_SANDBOX_GATEWAY_HTTP_H

#include <stddef.h>

#include "base/buf.h"

enum kgb_endpoint {
	KGB_ENDPOINT_NONE, /* not offered: 404 */
	KGB_ENDPOINT_MESSAGES,
	KGB_ENDPOINT_COUNT_TOKENS,
	KGB_ENDPOINT_MODELS,
	KGB_ENDPOINT_HELLO, /* liveness checks of CLIs, answered without a token */
	KGB_ENDPOINT_VERIFY,
};
/** `path` is without the query. */
enum kgb_endpoint kgb_http_endpoint(const char *method, const char *path);
/** Path at the upstream ("/v1/messages"), or NULL for endpoints that are answered here. */
const char *kgb_http_upstream_path(enum kgb_endpoint endpoint);

/** Whether one of the two headers (NULL: absent) carries the token. Takes equally long for every
 * wrong token of that length. */
bool kgb_http_token_matches(const char *token, const char *x_api_key, const char *authorization);

/** The request header goes on to the upstream. */
bool kgb_http_forward_request_header(const char *name);
/** The answer's header (lower case) goes on to the client. */
bool kgb_http_forward_reply_header(const char *name);
/** The header's value is a secret and is not recorded. */
bool kgb_http_secret_header(const char *name);

/** {"type":"error","error":{"type":TYPE,"message":MESSAGE}} */
void kgb_http_error_body(struct kgb_buf *out, const char *type, const char *message);
/** Error type of the protocol for a status: 401 -> "authentication_error", ... */
const char *kgb_http_error_type(int status);

/** Find the value of the outermost object's "model" when it is a string: [start, end) with its
 * quotes. The body need not be valid JSON. */
bool kgb_http_find_model(const char *body, size_t len, size_t *start, size_t *end);
/** Copy of the body with that value replaced; a body without one is copied as it is. */
void kgb_http_replace_model(const char *body, size_t len, const char *model, struct kgb_buf *out);

#endif
