/* SPDX-License-Identifier: MIT */
/** \file
 * Lines: the result does not depend on how the bytes arrive. The first byte is the size of a piece.
 */
#include <stdint.h>

#include "base/formats/lines.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_line(void *payload, const char *line, size_t len)
{
	struct kgb_buf *out = payload;

	KGB_ASSERT(line[len] == '\0' && !memchr(line, '\n', len));
	kgb_buf_addf(out, "%zu:", len);
	kgb_buf_add(out, line, len);
}

static void feed(const char *bytes, size_t len, size_t piece, struct kgb_lines *lines,
		 struct kgb_buf *out)
{
	kgb_lines_init(lines, 16);
	for (size_t at = 0; at < len; at += piece)
		kgb_lines_feed(lines, bytes + at, len - at < piece ? len - at : piece, on_line,
			       out);
	bool rest = kgb_lines_finish(lines, on_line, out);
	KGB_ASSERT(rest == (bytes[len - 1] != '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(buf) struct kgb_buf whole = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf pieces = KGB_BUF_INIT(0);
	struct kgb_lines a, b;

	if (size < 2)
		return 0;
	const char *bytes = (const char *)data + 1;
	feed(bytes, size - 1, size - 1, &a, &whole);
	feed(bytes, size - 1, 1u + data[0] % 16u, &b, &pieces);
	KGB_ASSERT(whole.len == pieces.len && memcmp(whole.ptr, pieces.ptr, whole.len) == 0);
	KGB_ASSERT(a.n_lines == b.n_lines && a.n_too_long == b.n_too_long);
	kgb_lines_release(&a);
	kgb_lines_release(&b);
	return 0;
}
