/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/http.h"

#include <string.h>
#include <strings.h>

#include "base/jsonw.h"
#include "base/mem.h"
#include "base/str.h"

enum kgb_endpoint kgb_http_endpoint(const char *method, const char *path)
{
	static const struct {
		const char *method;
		const char *path;
		bool prefixed; /* any path may stand before it */
		enum kgb_endpoint endpoint;
	} table[] = {
		{"POST", "/v1/messages", true, KGB_ENDPOINT_MESSAGES},
		{"POST", "/v1/messages/count_tokens", true, KGB_ENDPOINT_COUNT_TOKENS},
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
	switch (endpoint) {
	case KGB_ENDPOINT_MESSAGES:
		return "/v1/messages";
	case KGB_ENDPOINT_COUNT_TOKENS:
		return "/v1/messages/count_tokens";
	case KGB_ENDPOINT_MODELS:
		return "/v1/models";
	case KGB_ENDPOINT_NONE:
	case KGB_ENDPOINT_HELLO:
	case KGB_ENDPOINT_VERIFY:
		return NULL;
	}
	KGB_UNREACHABLE();
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
	static const char *const list[] = {
		"anthropic-*", "content-type",    "accept",        "user-agent",
		"x-app",       "x-claude-code-*", "x-stainless-*", NULL};
	return listed(list, name);
}

bool kgb_http_forward_reply_header(const char *name)
{
	static const char *const list[] = {"content-type",          "request-id",
					   "retry-after",           "x-should-retry",
					   "anthropic-ratelimit-*", NULL};
	return listed(list, name);
}

bool kgb_http_secret_header(const char *name)
{
	static const char *const list[] = {"x-api-key", "authorization", "proxy-authorization",
					   "cookie", NULL};
	return listed(list, name);
}

void kgb_http_error_body(struct kgb_buf *out, const char *type, const char *message)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "type", "error");
	kgb_jsonw_key(&w, "error");
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "type", type);
	kgb_jsonw_kstr(&w, "message", message);
	kgb_jsonw_object_end(&w);
	kgb_jsonw_object_end(&w);
}

const char *kgb_http_error_type(int status)
{
	switch (status) {
	case 400:
		return "invalid_request_error";
	case 401:
		return "authentication_error";
	case 402:
		return "billing_error";
	case 404:
		return "not_found_error";
	case 413:
		return "request_too_large";
	default:
		return "api_error";
	}
}

/* Skip a JSON string that starts at `at` (its quote); position behind the closing quote, 0 if there
 * is none. */
static size_t skip_string(const char *body, size_t len, size_t at)
{
	for (at++; at < len; at++) {
		if (body[at] == '\\')
			at++;
		else if (body[at] == '"')
			return at + 1;
	}
	return 0;
}

static size_t skip_blanks(const char *body, size_t len, size_t at)
{
	while (at < len &&
	       (body[at] == ' ' || body[at] == '\n' || body[at] == '\r' || body[at] == '\t'))
		at++;
	return at;
}

/* Whether the string at [start, end) is the key "model" and a string value follows; then gives that
 * value's span. */
static bool model_value(const char *body, size_t len, size_t start, size_t end, size_t *value,
			size_t *value_end)
{
	static const char key[] = "\"model\"";
	if (end - start != sizeof(key) - 1 || memcmp(body + start, key, sizeof(key) - 1) != 0)
		return false;
	size_t at = skip_blanks(body, len, end);
	if (at >= len || body[at] != ':')
		return false;
	at = skip_blanks(body, len, at + 1);
	if (at >= len || body[at] != '"')
		return false;
	*value = at;
	*value_end = skip_string(body, len, at);
	return *value_end > 0;
}

bool kgb_http_find_model(const char *body, size_t len, size_t *start, size_t *end)
{
	size_t depth = 0;
	for (size_t at = 0; at < len;) {
		char c = body[at];
		if (c == '"') {
			size_t after = skip_string(body, len, at);
			if (after == 0)
				return false;
			if (depth == 1 && model_value(body, len, at, after, start, end))
				return true;
			at = after;
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && depth > 0)
			depth--;
		at++;
	}
	return false;
}

void kgb_http_replace_model(const char *body, size_t len, const char *model, struct kgb_buf *out)
{
	size_t start, end;
	if (!kgb_http_find_model(body, len, &start, &end)) {
		kgb_buf_add(out, body, len);
		return;
	}
	kgb_buf_add(out, body, start);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_str(&w, model);
	kgb_buf_add(out, body + end, len - end);
}
