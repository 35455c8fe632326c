/* SPDX-License-Identifier: MIT */
#include "methods/slim.h"

#include <string.h>

#include "base/str.h"

/* Most bytes of a string in a line that is long already. */
#define SHORT_BYTES 1024

void kgb_slim_init(struct kgb_slim *slim, size_t line_bytes, size_t string_bytes)
{
	*slim = (struct kgb_slim){.line = KGB_BUF_INIT(line_bytes), .string_bytes = string_bytes};
}

void kgb_slim_release(struct kgb_slim *slim)
{
	kgb_buf_release(&slim->line);
}

static void keep(struct kgb_slim *slim, const char *bytes, size_t len)
{
	if (kgb_buf_add(&slim->line, bytes, len) < 0)
		slim->skipping = true;
}

static void end_line(struct kgb_slim *slim, kgb_slim_fn fn, void *payload)
{
	struct kgb_buf *line = &slim->line;
	if (slim->skipping) {
		slim->n_dropped++;
	} else {
		if (line->len > 0 && line->ptr[line->len - 1] == '\r')
			kgb_buf_truncate(line, line->len - 1);
		fn(payload, line->ptr, line->len);
	}
	kgb_buf_clear(line);
	line->overflowed = false;
	slim->skipping = slim->in_string = slim->escaped = slim->cutting = false;
	slim->hex_left = 0;
}

static bool is_high_surrogate(const struct kgb_slim *slim)
{
	const char *unit = slim->line.ptr + slim->unit_at;
	return slim->line.len - slim->unit_at == 6 && unit[0] == '\\' && unit[1] == 'u' &&
	       (unit[2] == 'd' || unit[2] == 'D') && strchr("89abAB", unit[3]);
}

/* Whether the string is long enough at this byte, which begins a character or an escape. */
static bool is_full(const struct kgb_slim *slim)
{
	bool long_line = slim->line.len > slim->line.limit / 2;
	return slim->string_len >= (long_line ? SHORT_BYTES : slim->string_bytes);
}

/* One byte inside a string; the closing quote too. */
static void string_byte(struct kgb_slim *slim, char c)
{
	bool inside_unit = slim->escaped || slim->hex_left > 0 || ((unsigned char)c & 0xc0) == 0x80;
	if (!inside_unit && c == '"') {
		slim->in_string = slim->cutting = false;
		keep(slim, &c, 1);
		return;
	}
	if (!inside_unit && !slim->cutting && is_full(slim)) {
		slim->cutting = true;
		if (is_high_surrogate(slim))
			kgb_buf_truncate(&slim->line, slim->unit_at);
	}
	if (!slim->cutting) {
		if (!inside_unit)
			slim->unit_at = slim->line.len;
		keep(slim, &c, 1);
		slim->string_len++;
	}
	if (slim->escaped) {
		slim->escaped = false;
		slim->hex_left = c == 'u' ? 4 : 0;
	} else if (slim->hex_left > 0) {
		slim->hex_left--;
	} else if (c == '\\') {
		slim->escaped = true;
	}
}

/* Bytes that the current string may take without a check: bytes around a cut are examined one by
 * one. */
static size_t room_left(const struct kgb_slim *slim)
{
	size_t half = slim->line.limit / 2, around = 8;
	if (slim->line.len >= half || slim->string_len + around >= slim->string_bytes)
		return 0;
	size_t line = half - slim->line.len,
	       string = slim->string_bytes - slim->string_len - around;
	return line < string ? line : string;
}

/* Length of the run of plain bytes at `data`: nothing in it changes the state. */
static size_t plain_run(const struct kgb_slim *slim, const char *data, size_t len)
{
	size_t n = 0;
	if (slim->skipping) {
		const char *end = memchr(data, '\n', len);
		return end ? (size_t)(end - data) : len;
	}
	if (slim->escaped || slim->hex_left > 0)
		return 0;
	if (slim->in_string) {
		size_t room = slim->cutting ? len : room_left(slim);
		len = len < room ? len : room;
		while (n < len && data[n] != '"' && data[n] != '\\' && data[n] != '\n')
			n++;
		return n;
	}
	while (n < len && data[n] != '"' && data[n] != '\n')
		n++;
	return n;
}

static void take_run(struct kgb_slim *slim, const char *data, size_t len)
{
	if (len == 0 || slim->skipping || slim->cutting)
		return;
	keep(slim, data, len);
	if (slim->in_string) {
		slim->string_len += len;
		slim->unit_at = slim->line.len;
	}
}

void kgb_slim_feed(struct kgb_slim *slim, const char *data, size_t len, kgb_slim_fn fn,
		   void *payload)
{
	while (len > 0) {
		size_t run = plain_run(slim, data, len);
		take_run(slim, data, run);
		data += run;
		len -= run;
		if (len == 0)
			return;
		char c = *data++;
		len--;
		if (c == '\n') {
			end_line(slim, fn, payload);
		} else if (slim->skipping) {
			continue;
		} else if (slim->in_string) {
			string_byte(slim, c);
		} else {
			keep(slim, &c, 1);
			slim->in_string = c == '"';
			slim->string_len = 0;
			slim->unit_at = slim->line.len;
		}
	}
}

void kgb_slim_finish(struct kgb_slim *slim, kgb_slim_fn fn, void *payload)
{
	if (slim->line.len > 0 || slim->skipping)
		end_line(slim, fn, payload);
}
