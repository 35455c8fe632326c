/* SPDX-License-Identifier: MIT */
/** \file
 * Splits a stream of JSON lines, with long strings cut to size on the way: a line may be of any
 * length, its kept part has a cap. A tool's output of 100 MB inside an event is a string; the event
 * around it is small. Cut strings stay valid JSON: no escape and no character is cut in two. */
#ifndef KGB_METHODS_SLIM_H
#define KGB_METHODS_SLIM_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct kgb_slim {
	struct kgb_buf line;
	size_t string_bytes; /* most of one string */
	size_t string_len; /* of the present string, kept bytes */
	size_t unit_at; /* where its last whole character or escape begins in line */
	int hex_left; /* digits of a \u escape to come */
	bool in_string, escaped, cutting;
	bool skipping; /* the kept part of the line exceeds the cap: the line is dropped */
	int64_t n_dropped; /* lines */
};
typedef void (*kgb_slim_fn)(void *payload, const char *line, size_t len); /* without \n or \r\n */

/** Keep at most `string_bytes` of a string, and `line_bytes` of a line. Past half of the latter
 * only 1 KiB of each further string is kept. */
void kgb_slim_init(struct kgb_slim *slim, size_t line_bytes, size_t string_bytes);
void kgb_slim_feed(struct kgb_slim *slim, const char *data, size_t len, kgb_slim_fn fn,
		   void *payload);
/** At the end: hands out the unterminated rest, if any. */
void kgb_slim_finish(struct kgb_slim *slim, kgb_slim_fn fn, void *payload);
void kgb_slim_release(struct kgb_slim *slim);

#endif
