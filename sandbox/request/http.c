/* SPDX-License-Identifier: MIT */
#include "sandbox/request/http.h"

#include <string.h>
#include <strings.h>

#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/str.h"

/** Calls of the batch interfaces of OpenAI and Anthropic; '*' is one id. */
static const struct {
	const char *method, *path;
	bool is_poll;
} batch_calls[] = {
	{"POST", "/v1/files", false},
	{"GET", "/v1/files/*/content", false},
	{"POST", "/v1/batches", false},
	{"GET", "/v1/batches", false},
	{"GET", "/v1/batches/*", true},
	{"POST", "/v1/messages/batches", false},
	{"GET", "/v1/messages/batches", false},
	{"GET", "/v1/messages/batches/*", true},
	{"GET", "/v1/messages/batches/*/results", false},
};

/** An id contains no character that could change the path. */
static bool matches(const char *pattern, const char *path)
{
	for (; *pattern; pattern++) {
		if (*pattern == '*') {
			const size_t len =
				strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789-_");
			if (len == 0)
				return false;
			path += len;
		} else if (*path++ != *pattern) {
			return false;
		}
	}
	return *path == '\0';
}

static size_t find_batch_call(const char *method, const char *path)
{
	size_t i = 0;
	while (i < KGB_ARRAY_LEN(batch_calls) &&
	       (strcmp(method, batch_calls[i].method) != 0 || !matches(batch_calls[i].path, path)))
		i++;
	return i;
}

bool kgb_http_is_poll(const char *method, const char *path)
{
	const size_t i = find_batch_call(method, path);
	return i < KGB_ARRAY_LEN(batch_calls) && batch_calls[i].is_poll;
}

enum kgb_endpoint kgb_http_endpoint(const char *method, const char *path)
{
	if (find_batch_call(method, path) < KGB_ARRAY_LEN(batch_calls))
		return KGB_ENDPOINT_BATCH;
	static const struct {
		const char *method;
		const char *path;
		bool prefixed; /* any path may stand before it */
		enum kgb_endpoint endpoint;
	} table[] = {
		{"POST", "/v1/messages", true, KGB_ENDPOINT_MESSAGES},
		{"POST", "/v1/messages/count_tokens", true, KGB_ENDPOINT_COUNT_TOKENS},
		{"POST", "/v1/chat/completions", true, KGB_ENDPOINT_CHAT},
		{"POST", "/v1/responses", true, KGB_ENDPOINT_RESPONSES},
		{"GET", "/v1/models", true, KGB_ENDPOINT_MODELS},
		{"HEAD", "/", false, KGB_ENDPOINT_HELLO},
		{"HEAD", "/api/hello", false, KGB_ENDPOINT_HELLO},
		{"POST", "/kgb/v1/verify", false, KGB_ENDPOINT_VERIFY},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++) {
		if (strcmp(method, table[i].method) != 0)
			continue;
		if (table[i].prefixed ? kgb_str_ends(path, table[i].path)
				      : strcmp(path, table[i].path) == 0)
			return table[i].endpoint;
	}
	return KGB_ENDPOINT_NONE;
}

const char *kgb_http_upstream_path(enum kgb_endpoint endpoint)
{
	static const char *const paths[] = {
		[KGB_ENDPOINT_MESSAGES] = "/v1/messages",
		[KGB_ENDPOINT_COUNT_TOKENS] = "/v1/messages/count_tokens",
		[KGB_ENDPOINT_CHAT] = "/v1/chat/completions",
		[KGB_ENDPOINT_RESPONSES] = "/v1/responses",
		[KGB_ENDPOINT_MODELS] = "/v1/models",
		[KGB_ENDPOINT_NONE] = NULL,
		[KGB_ENDPOINT_HELLO] = NULL,
		[KGB_ENDPOINT_VERIFY] = NULL,
		[KGB_ENDPOINT_BATCH] = NULL, /* as asked */
	};
	return paths[endpoint];
}

bool kgb_http_is_generation(enum kgb_endpoint endpoint)
{
	return endpoint == KGB_ENDPOINT_MESSAGES || endpoint == KGB_ENDPOINT_CHAT ||
	       endpoint == KGB_ENDPOINT_RESPONSES;
}

enum kgb_protocol kgb_http_protocol(enum kgb_endpoint endpoint)
{
	if (endpoint == KGB_ENDPOINT_CHAT)
		return KGB_PROTOCOL_CHAT;
	return endpoint == KGB_ENDPOINT_RESPONSES ? KGB_PROTOCOL_RESPONSES : KGB_PROTOCOL_ANTHROPIC;
}

static bool equal_slowly(const char *token, const char *given)
{
	size_t len = strlen(token);
	if (strlen(given) != len)
		return false;
	unsigned char difference = 0;
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(token[i] ^ given[i]);
	return difference == 0;
}

bool kgb_http_token_matches(const char *token, const char *x_api_key, const char *authorization)
{
	static const char bearer[] = "Bearer ";
	if (x_api_key && equal_slowly(token, x_api_key))
		return true;
	return authorization && strncasecmp(authorization, bearer, sizeof(bearer) - 1) == 0 &&
	       equal_slowly(token, authorization + sizeof(bearer) - 1);
}

/* Names with a trailing '*' match by prefix. */
static bool listed(const char *const *list, const char *name)
{
	for (; *list; list++) {
		size_t len = strlen(*list);
		if ((*list)[len - 1] == '*' ? strncasecmp(*list, name, len - 1) == 0
					    : strcasecmp(*list, name) == 0)
			return true;
	}
	return false;
}

bool kgb_http_forward_request_header(const char *name)
{
	static const char *const list[] = {"anthropic-*",   "content-type", "accept",
					   "user-agent",    "x-app",        "x-claude-code-*",
					   "x-stainless-*", "openai-beta",  NULL};
	return listed(list, name);
}

bool kgb_http_is_plain(const char *name, const char *value)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
	if (len == 0 || name[len] != '\0')
		return false;
	for (; *value; value++)
		if ((unsigned char)*value < 0x20 || (unsigned char)*value == 0x7f)
			return false;
	return true;
}

void kgb_http_cheap_betas(const char *value, struct kgb_buf *out)
{
	/* A prompt of over 200,000 tokens at twice the price; without it such prompts are errors.
	 */
	static const char dear[] = "context-1m-";
	while (*value) {
		value += strspn(value, ", \t");
		size_t len = strcspn(value, ", \t");
		if (len > 0 && !kgb_str_starts(value, dear)) {
			if (out->len > 0)
				kgb_buf_addc(out, ',');
			kgb_buf_add(out, value, len);
		}
		value += len;
	}
}

bool kgb_http_forward_reply_header(const char *name)
{
	static const char *const list[] = {"content-type",          "request-id",
					   "retry-after",           "x-should-retry",
					   "anthropic-ratelimit-*", "x-request-id",
					   "retry-after-ms",        "x-ratelimit-*",
					   "openai-processing-ms",  NULL};
	return listed(list, name);
}

bool kgb_http_secret_header(const char *name)
{
	static const char *const list[] = {"x-api-key", "authorization", "proxy-authorization",
					   "cookie", NULL};
	return listed(list, name);
}

/* Error type of the protocol for a status. */
static const char *error_type(enum kgb_protocol protocol, int status)
{
	static const struct {
		int status;
		const char *anthropic, *openai;
	} table[] = {
		{400, "invalid_request_error", "invalid_request_error"},
		{401, "authentication_error", "invalid_request_error"},
		{402, "billing_error", "insufficient_quota"},
		{403, "permission_error", "invalid_request_error"},
		{404, "not_found_error", "invalid_request_error"},
		{413, "request_too_large", "invalid_request_error"},
		{415, "invalid_request_error", "invalid_request_error"},
		{429, "rate_limit_error", "rate_limit_exceeded"},
	};
	bool anthropic = protocol == KGB_PROTOCOL_ANTHROPIC;
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (table[i].status == status)
			return anthropic ? table[i].anthropic : table[i].openai;
	return anthropic ? "api_error" : "server_error";
}

void kgb_http_error_body(struct kgb_buf *out, enum kgb_protocol protocol, int status,
			 const char *message)
{
	struct kgb_jsonw w;
	const char *type = error_type(protocol, status);
	kgb_jsonw_init(&w, out, 0);
	if (protocol == KGB_PROTOCOL_ANTHROPIC)
		kgb_jsonw_put(&w, "{type: 'error', error: {type: %s, message: %s}}", type, message);
	else
		kgb_jsonw_put(&w, "{error: {type: %s, message: %s, param: null, code: null}}", type,
			      message);
}

int kgb_http_stop_status(enum kgb_protocol protocol)
{
	/* Codex sends a request six times after a 402, and once after a 400. */
	return protocol == KGB_PROTOCOL_RESPONSES ? 400 : 402;
}
