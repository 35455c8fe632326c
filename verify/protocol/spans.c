/* SPDX-License-Identifier: MIT */
#include "verify/protocol/spans.h"

#include "base/vec.h"

void kgb_spans_put(struct kgb_spans *spans, uint64_t start, uint64_t bytes)
{
	if (bytes == 0)
		return;
	KGB_VEC_ADD(spans, (struct kgb_span){start, bytes});
}

void kgb_spans_put_all(struct kgb_spans *spans, const struct kgb_spans *more)
{
	for (size_t i = 0; i < more->n; i++)
		kgb_spans_put(spans, more->items[i].start, more->items[i].bytes);
}

static int by_start(const void *a, const void *b)
{
	const struct kgb_span *x = a;
	const struct kgb_span *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t end_of(const struct kgb_span *span)
{
	return span->start + span->bytes;
}

void kgb_spans_normalize(struct kgb_spans *spans)
{
	size_t n = 0;

	if (spans->n > 1)
		qsort(spans->items, spans->n, sizeof(spans->items[0]), by_start);
	for (size_t i = 0; i < spans->n; i++) {
		struct kgb_span *last = n > 0 ? &spans->items[n - 1] : NULL;
		if (!last || spans->items[i].start > end_of(last)) {
			spans->items[n++] = spans->items[i];
			continue;
		}
		if (end_of(&spans->items[i]) > end_of(last))
			last->bytes = end_of(&spans->items[i]) - last->start;
	}
	spans->n = n;
}

void kgb_spans_round(struct kgb_spans *spans, uint64_t granule)
{
	for (size_t i = 0; i < spans->n; i++) {
		struct kgb_span *span = &spans->items[i];
		uint64_t end = (end_of(span) + granule - 1) & ~(granule - 1);
		span->start &= ~(granule - 1);
		span->bytes = end - span->start;
	}
	kgb_spans_normalize(spans);
}

void kgb_spans_subtract(const struct kgb_spans *a, const struct kgb_spans *b, struct kgb_spans *out)
{
	size_t j = 0;

	kgb_spans_clear(out);
	for (size_t i = 0; i < a->n; i++) {
		uint64_t at = a->items[i].start;
		uint64_t end = end_of(&a->items[i]);
		while (j < b->n && end_of(&b->items[j]) <= at)
			j++;
		for (size_t k = j; k < b->n && b->items[k].start < end; k++) {
			if (b->items[k].start > at)
				kgb_spans_put(out, at, b->items[k].start - at);
			at = end_of(&b->items[k]);
		}
		if (at < end)
			kgb_spans_put(out, at, end - at);
	}
}

/* Number of spans that begin before `address`. */
static size_t count_before(const struct kgb_spans *spans, uint64_t address)
{
	size_t low = 0;
	size_t high = spans->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (spans->items[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool kgb_spans_hold(const struct kgb_spans *spans, uint64_t start, uint64_t bytes)
{
	if (bytes == 0)
		return true;
	size_t n = count_before(spans, start + 1);
	if (n == 0)
		return false;
	const struct kgb_span *span = &spans->items[n - 1];
	return start - span->start < span->bytes && bytes <= span->bytes - (start - span->start);
}

bool kgb_spans_touch(const struct kgb_spans *spans, uint64_t start, uint64_t bytes)
{
	size_t n = bytes > 0 ? count_before(spans, start + bytes) : 0;

	return n > 0 && end_of(&spans->items[n - 1]) > start;
}

uint64_t kgb_spans_total(const struct kgb_spans *spans)
{
	uint64_t total = 0;

	for (size_t i = 0; i < spans->n; i++)
		total += spans->items[i].bytes;
	return total;
}

void kgb_spans_clear(struct kgb_spans *spans)
{
	spans->n = 0;
}

void kgb_spans_release(struct kgb_spans *spans)
{
	kgb_free(spans->items);
	*spans = (struct kgb_spans)KGB_SPANS_INIT;
}

void kgb_auto_spans(struct kgb_spans *spans)
{
	kgb_spans_release(spans);
}
