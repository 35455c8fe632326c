/* SPDX-License-Identifier: MIT */
/** \file
 * Splits a byte stream into lines, incrementally. A line longer than the cap is dropped and
 * counted, never fatal.
 */
#ifndef KGB_BASE_FORMATS_LINES_H
#define KGB_BASE_FORMATS_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct kgb_lines {
	struct kgb_buf partial; /* its limit is the cap of a line */
	bool skipping; /* inside an over-long line */
	int64_t n_lines;
	int64_t n_too_long;
};
typedef void (*kgb_line_fn)(void *payload, const char *line,
			    size_t len); /* without \n or \r\n; NUL-terminated */

void kgb_lines_init(struct kgb_lines *lines, size_t max_line);
void kgb_lines_feed(struct kgb_lines *lines, const char *data, size_t len, kgb_line_fn fn,
		    void *payload);
/** At end of input: hands out the unterminated rest, if any; returns whether there was one. */
bool kgb_lines_finish(struct kgb_lines *lines, kgb_line_fn fn, void *payload);
void kgb_lines_release(struct kgb_lines *lines);

#endif
