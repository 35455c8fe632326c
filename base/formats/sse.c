/* SPDX-License-Identifier: MIT */
#include "base/formats/sse.h"

#include <string.h>

void kgb_sse_init(struct kgb_sse *sse, size_t max_event)
{
	*sse = (struct kgb_sse){
		.line = KGB_BUF_INIT(max_event),
		.data = KGB_BUF_INIT(max_event),
		.event = KGB_BUF_INIT(max_event),
	};
}

/* A blank line ends the event. No data means no event, by the standard. */
static void dispatch(struct kgb_sse *sse, kgb_sse_fn fn, void *payload)
{
	struct kgb_buf *data = &sse->data;

	if (sse->too_long) {
		sse->n_dropped++;
	} else if (data->len > 0) {
		kgb_buf_truncate(data, data->len - 1); /* the last line feed */
		sse->n_events++;
		fn(payload, sse->event.len > 0 ? sse->event.ptr : "message", data->ptr, data->len);
	}
	sse->too_long = false;
	kgb_buf_clear(data);
	kgb_buf_clear(&sse->event);
}

static bool name_is(const char *name, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(name, want, len) == 0;
}

/* "name: value"; ignore `id` and `retry`, which concern clients that reconnect. A name with a NUL
 * is invalid: the standard states that for `id`, and our names are C strings. */
static void process_field(struct kgb_sse *sse, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name_len = colon ? (size_t)(colon - line) : len;
	const char *value = colon ? colon + 1 : line + len;

	if (colon && value < line + len && *value == ' ')
		value++;
	size_t value_len = (size_t)(line + len - value);
	int rc = 0;
	if (name_is(line, name_len, "data")) {
		rc = kgb_buf_add(&sse->data, value, value_len);
		if (rc == 0)
			rc = kgb_buf_addc(&sse->data, '\n');
	} else if (name_is(line, name_len, "event") && !memchr(value, '\0', value_len)) {
		kgb_buf_clear(&sse->event);
		rc = kgb_buf_add(&sse->event, value, value_len);
	}
	if (rc < 0)
		sse->too_long = true;
}

static void end_line(struct kgb_sse *sse, kgb_sse_fn fn, void *payload)
{
	const char *line = sse->line.ptr;
	size_t len = sse->line.len;

	if (!sse->started) {
		sse->started = true;
		if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
			line += 3;
			len -= 3;
		}
	}
	if (sse->line.overflowed)
		sse->too_long = true;
	else if (len == 0)
		dispatch(sse, fn, payload);
	else if (line[0] != ':')
		process_field(sse, line, len);
	kgb_buf_clear(&sse->line);
}

/* A line that does not fit stays marked `overflowed` until its end; its bytes are dropped. */
static void add_bytes(struct kgb_sse *sse, const char *bytes, size_t len)
{
	if (!sse->line.overflowed && kgb_buf_add(&sse->line, bytes, len) < 0)
		kgb_buf_truncate(&sse->line, 0);
}

void kgb_sse_feed(struct kgb_sse *sse, const char *bytes, size_t len, kgb_sse_fn fn, void *payload)
{
	size_t i = 0;

	while (i < len) {
		if (sse->last_was_cr) {
			sse->last_was_cr = false;
			if (bytes[i] == '\n') {
				i++;
				continue;
			}
		}
		size_t start = i;
		while (i < len && bytes[i] != '\n' && bytes[i] != '\r')
			i++;
		add_bytes(sse, bytes + start, i - start);
		if (i == len)
			return;
		sse->last_was_cr = bytes[i] == '\r';
		i++;
		end_line(sse, fn, payload);
	}
}

void kgb_sse_release(struct kgb_sse *sse)
{
	kgb_buf_release(&sse->line);
	kgb_buf_release(&sse->data);
	kgb_buf_release(&sse->event);
}
