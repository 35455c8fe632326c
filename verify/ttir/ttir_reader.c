/* SPDX-License-Identifier: MIT */
#include "verify/ttir/ttir_reader.h"

#include <ctype.h>
#include <stdarg.h>

#include "base/str.h"

bool kgb_slice_is(struct kgb_slice slice, const char *text)
{
	return strlen(text) == slice.n && (slice.n == 0 || memcmp(slice.s, text, slice.n) == 0);
}

bool kgb_slice_same(struct kgb_slice a, struct kgb_slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

void kgb_ttir_fail(struct kgb_ttir_reader *r, enum kgb_err_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (r->failed)
		return;
	va_start(ap, fmt);
	KGB_AUTO(free) char *what = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	KGB_AUTO(buf) struct kgb_buf safe = KGB_BUF_INIT(300);
	kgb_escape(&safe, what, strlen(what));
	(void)kgb_fail(r->err, kind, "line %d: %s", kgb_ttir_line(r), safe.ptr);
	r->failed = true;
	r->at = r->end;
}

int kgb_ttir_line(struct kgb_ttir_reader *r)
{
	for (; r->counted < r->at; r->counted++)
		r->line += *r->counted == '\n';
	return r->line;
}

char kgb_ttir_peek(const struct kgb_ttir_reader *r)
{
	if (r->at < r->end)
		return *r->at;
	return '\0';
}

bool kgb_ttir_at(const struct kgb_ttir_reader *r, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

void kgb_ttir_skip_blanks(struct kgb_ttir_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
	if (kgb_ttir_at(r, "//"))
		while (r->at < r->end && *r->at != '\n')
			r->at++;
}

void kgb_ttir_skip_lines(struct kgb_ttir_reader *r)
{
	kgb_ttir_skip_blanks(r);
	while (kgb_ttir_peek(r) == '\n') {
		r->at++;
		kgb_ttir_skip_blanks(r);
	}
}

bool kgb_ttir_take(struct kgb_ttir_reader *r, const char *text)
{
	kgb_ttir_skip_blanks(r);
	if (!kgb_ttir_at(r, text))
		return false;
	r->at += strlen(text);
	return true;
}

void kgb_ttir_need(struct kgb_ttir_reader *r, const char *text)
{
	if (!kgb_ttir_take(r, text)) {
		size_t n = (size_t)(r->end - r->at);
		kgb_ttir_fail(r, KGB_ERR_INVALID, "'%s' expected at '%.*s'", text,
			      (int)(n < 24 ? n : 24), r->at);
	}
}

struct kgb_slice kgb_ttir_word(struct kgb_ttir_reader *r)
{
	struct kgb_slice word = {r->at, 0};

	while (r->at < r->end && (isalnum((unsigned char)*r->at) || strchr("_.-$", *r->at)) &&
	       *r->at != '\0' && !kgb_ttir_at(r, "->"))
		r->at++;
	word.n = (size_t)(r->at - word.s);
	return word;
}

uint32_t kgb_ttir_count(struct kgb_ttir_reader *r)
{
	uint64_t value = 0;
	const char *first = r->at;

	for (; isdigit((unsigned char)kgb_ttir_peek(r)) && value < INT32_MAX; r->at++)
		value = value * 10 + (uint64_t)(*r->at - '0');
	if (r->at == first || value >= INT32_MAX) {
		kgb_ttir_fail(r, KGB_ERR_INVALID, "a number below 2^31 expected");
		return 0;
	}
	return (uint32_t)value;
}

struct kgb_slice kgb_ttir_quoted(struct kgb_ttir_reader *r)
{
	struct kgb_slice text = {r->at + 1, 0};

	for (r->at++; r->at < r->end && *r->at != '"' && *r->at != '\n'; r->at++)
		if (*r->at == '\\' && r->at + 1 < r->end)
			r->at++;
	if (kgb_ttir_peek(r) != '"') {
		kgb_ttir_fail(r, KGB_ERR_INVALID, "a quote is not closed");
		return (struct kgb_slice){"", 0};
	}
	text.n = (size_t)(r->at - text.s);
	r->at++;
	return text;
}

struct kgb_slice kgb_ttir_group(struct kgb_ttir_reader *r)
{
	struct kgb_slice inner = {r->at + 1, 0};
	int depth = 0;

	do {
		char c = kgb_ttir_peek(r);
		if (c == '\0') {
			kgb_ttir_fail(r, KGB_ERR_INVALID, "a bracket is not closed");
			return (struct kgb_slice){"", 0};
		}
		if (c == '"') {
			(void)kgb_ttir_quoted(r);
			continue;
		}
		depth += c == '(' || c == '[' || c == '{' || c == '<';
		depth -= c == ')' || c == ']' || c == '}' || (c == '>' && r->at[-1] != '-');
		r->at++;
	} while (depth > 0);
	inner.n = (size_t)(r->at - inner.s) - 1;
	return inner;
}

void *kgb_ttir_grow(struct kgb_ttir_reader *r, void *array, uint32_t *n, uint32_t *cap, size_t size,
		    uint32_t most)
{
	char *items;

	memcpy(&items, array, sizeof(char *));
	if (*n >= most) {
		kgb_ttir_fail(r, KGB_ERR_LIMIT, "more than %u of a kind", most);
		return NULL;
	}
	if (*n == *cap) {
		uint32_t more = *cap ? 2 * *cap : 4;
		char *moved = kgb_arena_array(r->arena, more, size);
		if (*n)
			memcpy(moved, items, *n * size);
		items = moved;
		memcpy(array, &items, sizeof(char *));
		*cap = more;
	}
	return items + size * (*n)++;
}

/* ---- types ---- */

/* 4x8x, in front of an element. */
static void read_shape(struct kgb_ttir_reader *r, struct kgb_ttir_type *out)
{
	uint64_t lanes = 1;

	while (isdigit((unsigned char)kgb_ttir_peek(r))) {
		uint32_t size = kgb_ttir_count(r);
		if (out->rank == KGB_TTIR_RANK_MAX || size == 0 || (size & (size - 1)) != 0 ||
		    (lanes *= size) > KGB_TTIR_LANES_MAX) {
			kgb_ttir_fail(
				r, KGB_ERR_INVALID,
				"a block has at most %d dimensions, powers of two, and %d lanes",
				KGB_TTIR_RANK_MAX, KGB_TTIR_LANES_MAX);
			return;
		}
		out->shape[out->rank++] = (int32_t)size;
		kgb_ttir_need(r, "x");
	}
}

static void read_scalar(struct kgb_ttir_reader *r, struct kgb_ttir_type *out)
{
	struct kgb_slice word = kgb_ttir_word(r);

	out->element = (uint8_t)kgb_ttir_element_find(word.s, word.n);
	if (out->element == KGB_TTIR_NONE)
		kgb_ttir_fail(r, KGB_ERR_NOT_FOUND, "unknown type '%.*s'",
			      (int)(word.n < 40 ? word.n : 40), word.s);
}

static void read_pointer(struct kgb_ttir_reader *r, struct kgb_ttir_type *out)
{
	int depth = 1;

	for (; kgb_ttir_take(r, "!tt.ptr<"); depth++) {
	}
	if (depth > 2)
		kgb_ttir_fail(r, KGB_ERR_INVALID, "a pointer to pointers to pointers");
	if (kgb_ttir_at(r, "tensor<") || kgb_ttir_at(r, "!"))
		kgb_ttir_fail(r, KGB_ERR_NOT_FOUND, "a pointer to a block is not supported");
	read_scalar(r, out);
	out->pointee = out->element;
	out->element = KGB_TTIR_POINTER;
	out->depth = (uint8_t)depth;
	for (; depth > 0; depth--) {
		if (kgb_ttir_take(r, ",")) { /* the address space: 1 is global memory */
			kgb_ttir_skip_blanks(r);
			if (kgb_ttir_count(r) != 1)
				kgb_ttir_fail(r, KGB_ERR_INVALID, "a pointer to other memory");
		}
		kgb_ttir_need(r, ">");
	}
}

/* What stands between < and > of a tensor: 4x8xf32. */
static void read_shaped(struct kgb_ttir_reader *r, struct kgb_ttir_type *out)
{
	read_shape(r, out);
	if (out->rank == 0 && kgb_ttir_take(r, "tensor<"))
		read_shaped(r, out);
	else if (kgb_ttir_take(r, "!tt.ptr<"))
		read_pointer(r, out);
	else
		read_scalar(r, out);
	if (kgb_ttir_peek(r) == ',')
		kgb_ttir_fail(r, KGB_ERR_INVALID, "a block with a layout: TTIR has none");
	kgb_ttir_need(r, ">");
}

void kgb_ttir_read_type(struct kgb_ttir_reader *r, struct kgb_ttir_type *out)
{
	memset(out, 0, sizeof(*out));
	kgb_ttir_skip_blanks(r);
	if (++r->depth > 2 * KGB_TTIR_DEPTH_MAX) {
		kgb_ttir_fail(r, KGB_ERR_LIMIT, "too deep");
	} else if (kgb_ttir_take(r, "!tt.ptr<")) {
		read_pointer(r, out);
	} else if (kgb_ttir_take(r, "!tt.tensordesc<")) {
		read_shaped(r, out);
		out->pointee = out->element;
		out->element = KGB_TTIR_DESCRIPTOR;
	} else if (kgb_ttir_take(r, "tensor<") || kgb_ttir_take(r, "<")) {
		read_shaped(r, out); /* "<": the type depends on the operation */
	} else {
		read_scalar(r, out);
	}
	r->depth--;
}
