/* SPDX-License-Identifier: MIT */
/** \file
 * Server-sent events by the WHATWG rules (CR, LF and CRLF line ends, comments, multi-line data,
 * BOM), incremental and capped.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
#ifndef KGB_BASE_FORMATS_SSE_H
#define KGB_BASE_FORMATS_SSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct kgb_sse {
	struct kgb_buf line;
	struct kgb_buf data;
	struct kgb_buf event;
	bool last_was_cr;
	bool started; /* BOM handled */
	bool too_long;
	int64_t n_events;
	int64_t n_dropped; /* events over the cap */
};
/** `event` is "message" when the stream names none. Both are NUL-terminated; len is of data. */
typedef void (*kgb_sse_fn)(void *payload, const char *event, const char *data, size_t len);

void kgb_sse_init(struct kgb_sse *sse, size_t max_event);
void kgb_sse_feed(struct kgb_sse *sse, const char *bytes, size_t len, kgb_sse_fn fn, void *payload);
void kgb_sse_release(struct kgb_sse *sse);

#endif
