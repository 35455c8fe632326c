/* SPDX-License-Identifier: MIT */
#include "sandbox/request/body.h"

#include <string.h>

/* Most bytes of a value that is read whole: tools and small options. */
#define MAX_VALUE_BYTES ((size_t)4 << 20)

size_t kgb_body_skip_blanks(const struct kgb_body *body, size_t at)
{
	while (at < body->len && strchr(" \n\r\t", body->bytes[at]) && body->bytes[at])
		at++;
	return at;
}

/* Behind the string whose quote is at `at`; 0: it does not end. */
size_t kgb_body_skip_string(const struct kgb_body *body, size_t at)
{
	const char *bytes = body->bytes;
	for (at++; at < body->len;) {
		const char *quote = memchr(bytes + at, '"', body->len - at);
		if (!quote)
			return 0;
		size_t end = (size_t)(quote - bytes), slashes = 0;
		while (end - slashes > at && bytes[end - slashes - 1] == '\\')
			slashes++;
		at = end + 1;
		if (slashes % 2 == 0)
			return at;
		/* The quote was escaped: skip the text before it. */
	}
	return 0;
}

/* Behind the object or list that begins at `at`; 0: it does not end. */
static size_t skip_nested(const struct kgb_body *body, size_t at)
{
	size_t depth = 0;
	while (at < body->len) {
		char c = body->bytes[at];
		if (c == '"') {
			at = kgb_body_skip_string(body, at);
			if (at == 0)
				return 0;
			continue;
		}
		at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return at;
	}
	return 0;
}

size_t kgb_body_skip_value(const struct kgb_body *body, size_t at)
{
	if (at >= body->len)
		return 0;
	char c = body->bytes[at];
	if (c == '"')
		return kgb_body_skip_string(body, at);
	if (c == '{' || c == '[')
		return skip_nested(body, at);
	size_t end = at;
	while (end < body->len && body->bytes[end] && !strchr(",}] \n\r\t\"", body->bytes[end]))
		end++;
	return end > at ? end : 0;
}

static bool same_key(const struct kgb_body *body, const struct kgb_member *a,
		     const struct kgb_member *b)
{
	size_t len = a->key_end - a->key;
	return len == b->key_end - b->key &&
	       memcmp(body->bytes + a->key, body->bytes + b->key, len) == 0;
}

static int add_member(struct kgb_body *body, const struct kgb_member *member, struct kgb_err *err)
{
	if (memchr(body->bytes + member->key, '\\', member->key_end - member->key))
		return kgb_fail(err, KGB_ERR_INVALID, "the request has a key with an escape");
	for (size_t i = 0; i < body->n; i++)
		if (same_key(body, &body->members[i], member))
			return kgb_fail(err, KGB_ERR_INVALID, "the request has a key twice");
	if (body->n == KGB_BODY_MEMBERS)
		return kgb_fail(err, KGB_ERR_INVALID, "the request has over %d keys",
				KGB_BODY_MEMBERS);
	body->members[body->n++] = *member;
	return 0;
}

/* Find the end of the key and the beginning of the value of `"key":` at `at`. */
bool kgb_body_scan_key(const struct kgb_body *body, size_t at, struct kgb_member *out)
{
	size_t end = at < body->len && body->bytes[at] == '"' ? kgb_body_skip_string(body, at) : 0;
	if (end == 0)
		return false;
	*out = (struct kgb_member){.key = at + 1, .key_end = end - 1};
	end = kgb_body_skip_blanks(body, end);
	if (end >= body->len || body->bytes[end] != ':')
		return false;
	out->value = kgb_body_skip_blanks(body, end + 1);
	return true;
}

/* One `"key": value` at `*at`; leaves `*at` behind it. */
static int scan_member(struct kgb_body *body, size_t *at, struct kgb_err *err)
{
	struct kgb_member member;
	if (kgb_body_scan_key(body, *at, &member))
		member.value_end = kgb_body_skip_value(body, member.value);
	else
		member.value_end = 0;
	if (member.value_end == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "the request is not a JSON object");
	*at = member.value_end;
	return add_member(body, &member, err);
}

int kgb_body_scan(struct kgb_body *body, struct kgb_err *err)
{
	size_t at = kgb_body_skip_blanks(body, 0);
	bool whole = false, open = at < body->len && body->bytes[at] == '{';
	if (open)
		at = kgb_body_skip_blanks(body, at + 1);
	if (open && at < body->len && body->bytes[at] == '}')
		whole = true;
	while (open && !whole) {
		if (scan_member(body, &at, err) < 0)
			return -1;
		at = kgb_body_skip_blanks(body, at);
		char c = '\0';
		if (at < body->len)
			c = body->bytes[at];
		whole = c == '}';
		open = c == ',';
		if (open)
			at = kgb_body_skip_blanks(body, at + 1);
	}
	if (!whole || kgb_body_skip_blanks(body, at + 1) != body->len)
		return kgb_fail(err, KGB_ERR_INVALID, "the request is not a JSON object");
	return 0;
}

bool kgb_body_key_is(const struct kgb_body *body, const struct kgb_member *member, const char *key)
{
	size_t len = strlen(key);
	return member->key_end - member->key == len &&
	       memcmp(body->bytes + member->key, key, len) == 0;
}

struct kgb_member *kgb_body_find(struct kgb_body *body, const char *key)
{
	for (size_t i = 0; i < body->n; i++)
		if (kgb_body_key_is(body, &body->members[i], key))
			return &body->members[i];
	return NULL;
}

bool kgb_body_value_is(const struct kgb_body *body, const struct kgb_member *member,
		       const char *text)
{
	size_t len = strlen(text);
	return member && member->value_end - member->value == len &&
	       memcmp(body->bytes + member->value, text, len) == 0;
}

int kgb_body_parse(const struct kgb_body *body, const struct kgb_member *member, cJSON **out,
		   struct kgb_err *err)
{
	size_t len = member->value_end - member->value;
	if (len > MAX_VALUE_BYTES)
		return kgb_fail(err, KGB_ERR_INVALID, "%.*s: over %zu bytes",
				(int)(member->key_end - member->key), body->bytes + member->key,
				MAX_VALUE_BYTES);
	return kgb_json_parse(body->bytes + member->value, len, out, err);
}

bool kgb_body_has_escape(const struct kgb_body *body, const struct kgb_member *member)
{
	return memchr(body->bytes + member->value, '\\', member->value_end - member->value);
}
