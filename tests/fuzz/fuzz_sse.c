/* SPDX-License-Identifier: MIT */
/** \file
 * Server-sent events: the result does not depend on how the bytes arrive. The first byte is the
 * size of a piece.
 */
#include <stdint.h>

#include "base/formats/sse.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_sse_event(void *payload, const char *event, const char *data, size_t len)
{
	struct kgb_buf *out = payload;

	KGB_ASSERT(data[len] == '\0' && *event);
	kgb_buf_addf(out, "%s%zu:", event, len);
	kgb_buf_add(out, data, len);
}

static void feed(const char *bytes, size_t len, size_t piece, struct kgb_sse *sse,
		 struct kgb_buf *out)
{
	kgb_sse_init(sse, 64);
	for (size_t at = 0; at < len; at += piece)
		kgb_sse_feed(sse, bytes + at, len - at < piece ? len - at : piece, on_sse_event,
			     out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(buf) struct kgb_buf whole = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf pieces = KGB_BUF_INIT(0);
	struct kgb_sse a, b;

	if (size < 2)
		return 0;
	const char *bytes = (const char *)data + 1;
	feed(bytes, size - 1, size - 1, &a, &whole);
	feed(bytes, size - 1, 1u + data[0] % 16u, &b, &pieces);
	KGB_ASSERT(whole.len == pieces.len && memcmp(whole.ptr, pieces.ptr, whole.len) == 0);
	KGB_ASSERT(a.n_events == b.n_events && a.n_dropped == b.n_dropped);
	kgb_sse_release(&a);
	kgb_sse_release(&b);
	return 0;
}
