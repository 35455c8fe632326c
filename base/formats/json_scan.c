/* SPDX-License-Identifier: MIT */
#include "base/formats/json_scan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/limits.h"
#include "base/str.h"

/* cJSON copies a number into 64 bytes and silently cuts the rest. */
enum { NUMBER_MAX = 63 };

static int value(struct kgb_json_scan *s);

static int bad(struct kgb_json_scan *s, const char *problem)
{
	s->problem = problem;
	return -1;
}

static int over(struct kgb_json_scan *s, const char *problem)
{
	s->over_limit = true;
	return bad(s, problem);
}

/* The byte at the cursor, or -1 at the end. */
static int peek(const struct kgb_json_scan *s)
{
	return s->pos < s->len ? (unsigned char)s->text[s->pos] : -1;
}

static void blanks(struct kgb_json_scan *s)
{
	for (;;) {
		int c = peek(s);
		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return;
		s->pos++;
	}
}

static int literal(struct kgb_json_scan *s, const char *word)
{
	size_t n = strlen(word);

	if (s->len - s->pos < n || memcmp(s->text + s->pos, word, n) != 0)
		return bad(s, "not a value: null, true, false, a number, a string, a list or an "
			      "object is expected");
	s->pos += n;
	return 0;
}

/* Four hexadecimal digits at the cursor, or -1. Consumes them. */
static int hex4(struct kgb_json_scan *s)
{
	int code = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(s);
		int lower = c | 0x20;
		if (c >= '0' && c <= '9')
			code = code * 16 + c - '0';
		else if (lower >= 'a' && lower <= 'f')
			code = code * 16 + lower - 'a' + 10;
		else
			return -1;
		s->pos++;
	}
	return code;
}

/* Behind "\u": one code unit, or a pair of surrogates. */
static int unicode_escape(struct kgb_json_scan *s)
{
	size_t start = s->pos - 2;
	int code = hex4(s);

	if (code < 0)
		return bad(s, "\\u needs four hexadecimal digits");
	if (code == 0) {
		s->pos = start;
		return bad(s, "\\u0000 is not accepted");
	}
	if (code < 0xd800 || code > 0xdfff)
		return 0;
	bool pair = code < 0xdc00 && s->len - s->pos >= 2 && s->text[s->pos] == '\\' &&
		    s->text[s->pos + 1] == 'u';
	if (pair) {
		s->pos += 2;
		code = hex4(s);
	}
	if (!pair || code < 0xdc00 || code > 0xdfff) {
		s->pos = start;
		return bad(s, "unpaired surrogate in \\u escape");
	}
	return 0;
}

static int escape(struct kgb_json_scan *s)
{
	s->pos++;
	int c = peek(s);
	if (c < 0)
		return bad(s, "string is not closed");
	if (c == 0 || !strchr("\"\\/bfnrtu", c))
		return bad(s, "unknown escape in string");
	s->pos++;
	return c == 'u' ? unicode_escape(s) : 0;
}

static int string(struct kgb_json_scan *s)
{
	size_t start = s->pos;

	s->pos++;
	for (;;) {
		int c = peek(s);
		if (c < 0) {
			s->pos = start;
			return bad(s, "string is not closed");
		}
		if (c < 0x20)
			return bad(s, "control character in string: write it as an escape");
		if (c == '\\') {
			if (escape(s) < 0)
				return -1;
			continue;
		}
		s->pos++;
		if (c == '"')
			return 0;
	}
}

static size_t digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= '0' && text[n] <= '9')
		n++;
	return n;
}

/* Length of the number at the start of text, 0 if there is none. */
static size_t number_length(const char *text, size_t len)
{
	size_t i = len > 0 && text[0] == '-';
	size_t n = digits(text + i, len - i);

	if (n == 0 || (n > 1 && text[i] == '0'))
		return 0;
	i += n;
	if (i < len && text[i] == '.') {
		n = digits(text + i + 1, len - i - 1);
		if (n == 0)
			return 0;
		i += 1 + n;
	}
	if (i < len && (text[i] == 'e' || text[i] == 'E')) {
		i++;
		i += i < len && (text[i] == '-' || text[i] == '+');
		n = digits(text + i, len - i);
		if (n == 0)
			return 0;
		i += n;
	}
	return i;
}

bool kgb_json_is_number(const char *text, size_t len)
{
	return len > 0 && number_length(text, len) == len;
}

static int number(struct kgb_json_scan *s)
{
	const char *start = s->text + s->pos;
	size_t n = number_length(start, s->len - s->pos);
	char copy[NUMBER_MAX + 1];

	if (n == 0)
		return bad(s, "malformed number");
	if (n > NUMBER_MAX)
		return over(s, "number has more than 63 characters");
	memcpy(copy, start, n);
	copy[n] = '\0';
	if (!isfinite(strtod(copy, NULL)))
		return bad(s, "number is out of range");
	s->pos += n;
	return 0;
}

static int open_container(struct kgb_json_scan *s)
{
	if (s->depth == KGB_LIMIT_JSON_DEPTH)
		return over(s, "nested too deeply");
	s->depth++;
	s->pos++;
	blanks(s);
	return 0;
}

/* Behind an item: 1 when another one follows, 0 when the container ended. */
static int next_item(struct kgb_json_scan *s, char close, const char *problem)
{
	blanks(s);
	int c = peek(s);
	if (c == ',') {
		s->pos++;
		blanks(s);
		return 1;
	}
	if (c != close)
		return bad(s, problem);
	s->pos++;
	s->depth--;
	return 0;
}

static int array(struct kgb_json_scan *s)
{
	if (open_container(s) < 0)
		return -1;
	if (peek(s) == ']') {
		s->pos++;
		s->depth--;
		return 0;
	}
	int more = 1;
	while (more > 0) {
		if (value(s) < 0)
			return -1;
		if (s->stop_at_key && s->n_keys == s->stop_at_key)
			return 0;
		more = next_item(s, ']', "',' or ']' is expected");
	}
	return more;
}

static int member(struct kgb_json_scan *s)
{
	if (peek(s) != '"')
		return bad(s, "a key in double quotes is expected");
	s->n_keys++;
	if (s->n_keys == s->stop_at_key)
		return 0;
	if (string(s) < 0)
		return -1;
	blanks(s);
	if (peek(s) != ':')
		return bad(s, "':' is expected");
	s->pos++;
	blanks(s);
	return value(s);
}

static int object(struct kgb_json_scan *s)
{
	if (open_container(s) < 0)
		return -1;
	if (peek(s) == '}') {
		s->pos++;
		s->depth--;
		return 0;
	}
	int more = 1;
	while (more > 0) {
		if (member(s) < 0)
			return -1;
		if (s->stop_at_key && s->n_keys == s->stop_at_key)
			return 0;
		more = next_item(s, '}', "',' or '}' is expected");
	}
	return more;
}

/* Recursion ends at KGB_LIMIT_JSON_DEPTH. */
static int value(struct kgb_json_scan *s)
{
	if (++s->n_nodes > KGB_LIMIT_JSON_NODES)
		return over(s, "document has too many values");
	switch (peek(s)) {
	case '{':
		return object(s);
	case '[':
		return array(s);
	case '"':
		return string(s);
	case 'n':
		return literal(s, "null");
	case 't':
		return literal(s, "true");
	case 'f':
		return literal(s, "false");
	case -1:
		return bad(s, "unexpected end of the text");
	default:
		if (peek(s) == '-' || (peek(s) >= '0' && peek(s) <= '9'))
			return number(s);
		return literal(s, "null");
	}
}

int kgb_json__scan(struct kgb_json_scan *scan, const char *text, size_t len)
{
	scan->text = text;
	scan->len = len;
	scan->pos = kgb_utf8_valid(text, len);
	if (scan->pos < len)
		return bad(scan, "invalid UTF-8");
	scan->pos = 0;
	blanks(scan);
	if (value(scan) < 0)
		return -1;
	if (scan->stop_at_key && scan->n_keys == scan->stop_at_key)
		return 0;
	blanks(scan);
	return scan->pos == len ? 0 : bad(scan, "text behind the end of the document");
}

void kgb_json__position(const char *text, size_t offset, int *line, int *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			(*line)++;
			*column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			(*column)++;
		}
	}
}
