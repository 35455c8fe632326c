/* SPDX-License-Identifier: MIT */
/** \file
 * Sets of addresses as sorted lists of spans: the pages that a plan needs, their bytes outside of
 * all blocks. A set is normal (sorted, nothing touches or overlaps) after every function but
 * kgb_spans_put. */
#ifndef KGB_VERIFY_PROTOCOL_SPANS_H
#define KGB_VERIFY_PROTOCOL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kgb_span {
	uint64_t start, bytes; /* start + bytes does not overflow; bytes > 0 */
};

struct kgb_spans {
	struct kgb_span *items; /* owned */
	size_t n, cap;
};
#define KGB_SPANS_INIT        \
	{                     \
		.items = NULL \
	}

/** Append one; an empty one is dropped. Follow with kgb_spans_normalize. */
void kgb_spans_put(struct kgb_spans *spans, uint64_t start, uint64_t bytes);
void kgb_spans_put_all(struct kgb_spans *spans, const struct kgb_spans *more);
/** Sort and join what touches or overlaps. */
void kgb_spans_normalize(struct kgb_spans *spans);
/** Grow each to multiples of `granule` (a power of two). Ends must be at most 2^63. */
void kgb_spans_round(struct kgb_spans *spans, uint64_t granule);
/** *out = a without b; *out must be another set, its old contents go. */
void kgb_spans_subtract(const struct kgb_spans *a, const struct kgb_spans *b,
			struct kgb_spans *out);
/** Whether one span contains all these bytes. True for no bytes. */
bool kgb_spans_hold(const struct kgb_spans *spans, uint64_t start, uint64_t bytes);
/** Whether any span contains any of these bytes. */
bool kgb_spans_touch(const struct kgb_spans *spans, uint64_t start, uint64_t bytes);
uint64_t kgb_spans_total(const struct kgb_spans *spans);
void kgb_spans_clear(struct kgb_spans *spans);
void kgb_spans_release(struct kgb_spans *spans);
void kgb_auto_spans(struct kgb_spans *spans);

#endif
