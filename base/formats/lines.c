/* SPDX-License-Identifier: MIT */
#include "base/formats/lines.h"

#include <string.h>

void kgb_lines_init(struct kgb_lines *lines, size_t max_line)
{
	*lines = (struct kgb_lines){.partial = KGB_BUF_INIT(max_line)};
}

/* Bytes of the current line, without its line feed. */
static void add_bytes(struct kgb_lines *lines, const char *data, size_t len)
{
	if (lines->skipping || kgb_buf_add(&lines->partial, data, len) == 0)
		return;
	lines->skipping = true;
	lines->n_too_long++;
	kgb_buf_clear(&lines->partial);
}

static void end_line(struct kgb_lines *lines, kgb_line_fn fn, void *payload)
{
	struct kgb_buf *line = &lines->partial;

	if (!lines->skipping) {
		if (line->len > 0 && line->ptr[line->len - 1] == '\r')
			kgb_buf_truncate(line, line->len - 1);
		lines->n_lines++;
		fn(payload, line->ptr, line->len);
	}
	lines->skipping = false;
	kgb_buf_clear(line);
}

void kgb_lines_feed(struct kgb_lines *lines, const char *data, size_t len, kgb_line_fn fn,
		    void *payload)
{
	while (len > 0) {
		const char *feed = memchr(data, '\n', len);
		size_t n = feed ? (size_t)(feed - data) : len;
		add_bytes(lines, data, n);
		if (!feed)
			return;
		end_line(lines, fn, payload);
		data += n + 1;
		len -= n + 1;
	}
}

bool kgb_lines_finish(struct kgb_lines *lines, kgb_line_fn fn, void *payload)
{
	bool rest = lines->skipping || lines->partial.len > 0;

	if (rest)
		end_line(lines, fn, payload);
	return rest;
}

void kgb_lines_release(struct kgb_lines *lines)
{
	kgb_buf_release(&lines->partial);
}
