/* SPDX-License-Identifier: MIT */
/** \file
 * A growing byte buffer with a cap. `ptr` is never NULL and always NUL-terminated; `len` excludes
 * the NUL.
 */
#ifndef KGB_BASE_BUF_H
#define KGB_BASE_BUF_H

#include <stddef.h>

#include "base/err.h"

struct kgb_buf {
	char *ptr;
	size_t len;
	size_t cap; /* 0: ptr is the shared empty string */
	size_t limit; /* most bytes it may hold; 0: none */
	bool overflowed; /* an append did not fit and was dropped whole */
};

extern char kgb_buf_empty[1];
#define KGB_BUF_INIT(limit_bytes)                            \
	{                                                    \
		.ptr = kgb_buf_empty, .limit = (limit_bytes) \
	}

/** Append. -1 and `overflowed` when the cap would be passed: nothing is appended then. Callers that
 *  write many pieces may ignore the result and check `overflowed` once. */
int kgb_buf_add(struct kgb_buf *buf, const void *data, size_t len);
int kgb_buf_adds(struct kgb_buf *buf, const char *s);
int kgb_buf_addc(struct kgb_buf *buf, char c);
int kgb_buf_addf(struct kgb_buf *buf, const char *fmt, ...) KGB_PRINTF(2, 3);
/** Drop `len` bytes from the front. */
void kgb_buf_consume(struct kgb_buf *buf, size_t len);
void kgb_buf_truncate(struct kgb_buf *buf, size_t len);
/** Forget the contents, keep the memory. */
void kgb_buf_clear(struct kgb_buf *buf);
/** The contents as a malloc'ed string; the buffer is empty afterwards. */
char *kgb_buf_take(struct kgb_buf *buf);
void kgb_buf_release(struct kgb_buf *buf);
void kgb_auto_buf(struct kgb_buf *buf);

#endif
