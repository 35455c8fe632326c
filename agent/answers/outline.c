/* SPDX-License-Identifier: MIT */
#include "agent/answers/outline.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

static const char *const heavy[] = {"attempts", "verify_calls", "timed_cases", "interfaces",
				    "dtypes",   "samples",      "sandbox",     "tiers"};

/** The character after the string that begins at `at`; `end` when it does not end. */
static const char *after_string(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		if (*at == '\\')
			at++;
		else if (*at == '"')
			return at + 1;
	}
	return end;
}

/** The character after the array or object that begins at `at`; `end` when it does not end. */
static const char *after_value(const char *at, const char *end)
{
	size_t depth = 0;
	while (at < end) {
		if (*at == '"') {
			at = after_string(at, end);
			continue;
		}
		depth += *at == '{' || *at == '[';
		if (*at == '}' || *at == ']')
			depth--;
		at++;
		if (depth == 0)
			return at;
	}
	return end;
}

static bool is_heavy(const char *name, size_t len, const char *const *kept)
{
	for (size_t i = 0; i < sizeof(heavy) / sizeof(*heavy); i++)
		if (strlen(heavy[i]) == len && memcmp(heavy[i], name, len) == 0)
			return !kgb_str_is_one_of(heavy[i], kept);
	return false;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
		at++;
	return at;
}

/** Where the heavy value of the member begins whose name ends at `at`; NULL: it has none. */
static const char *heavy_value(const char *name, const char *at, const char *end,
			       const char *const *kept)
{
	if (!is_heavy(name + 1, (size_t)(at - name) - 2, kept))
		return NULL;
	const char *colon = skip_blanks(at, end);
	if (colon >= end || *colon != ':')
		return NULL;
	const char *value = skip_blanks(colon + 1, end);
	return value < end && (*value == '{' || *value == '[') ? value : NULL;
}

void kgb_outline(const char *text, size_t len, const char *const *kept, struct kgb_buf *out)
{
	const char *at = text, *end = text + len, *copied = text;
	while ((at = memchr(at, '"', (size_t)(end - at)))) {
		const char *name = at;
		at = after_string(at, end);
		const char *value = at - name > 2 ? heavy_value(name, at, end, kept) : NULL;
		if (!value)
			continue;
		kgb_buf_add(out, copied, (size_t)(value - copied));
		kgb_buf_adds(out, "null");
		at = copied = after_value(value, end);
	}
	kgb_buf_add(out, copied, (size_t)(end - copied));
}
