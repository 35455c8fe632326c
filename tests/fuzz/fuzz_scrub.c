/* SPDX-License-Identifier: MIT */
/* Taking secrets out of a stream: two secrets out of the input itself, the rest as the stream.
 * Nothing of a secret passes whole, and cutting the stream differently changes nothing. */
#include <stdint.h>

#include "base/mem.h"
#include "sandbox/request/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const char *a, const char *b, const char *text, size_t len, size_t piece,
		struct kgb_buf *out)
{
	struct kgb_scrub scrub;
	kgb_scrub_init(&scrub);
	kgb_scrub_add(&scrub, a);
	kgb_scrub_add(&scrub, b);
	for (size_t at = 0; at < len; at += piece)
		kgb_scrub_feed(&scrub, text + at, len - at < piece ? len - at : piece, out);
	kgb_scrub_finish(&scrub, out);
	kgb_scrub_release(&scrub);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 20)
		return 0;
	KGB_AUTO(free) char *a = kgb_xstrndup((const char *)data, 8 + data[0] % 2);
	KGB_AUTO(free) char *b = kgb_xstrndup((const char *)data + 10, 8 + data[1] % 2);
	const char *text = (const char *)data + 2;
	size_t len = size - 2;
	KGB_AUTO(buf) struct kgb_buf whole = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf cut = KGB_BUF_INIT(0);
	run(a, b, text, len, len, &whole);
	run(a, b, text, len, 1 + data[1] % 7, &cut);
	KGB_ASSERT(whole.len == cut.len && memcmp(whole.ptr, cut.ptr, cut.len) == 0);
	/* The mark may join with what stands around it to a text that looks like a secret only if
	 * it shares bytes with it. */
	if (!strpbrk(a, KGB_SCRUB_MARK) && strlen(a) >= 8)
		KGB_ASSERT(!memmem(whole.ptr, whole.len, a, strlen(a)));
	return 0;
}
