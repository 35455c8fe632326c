/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The `ptr` of every buffer without memory; never written. */
char kgb_buf_empty[1];

/* Make room for `len` more bytes and the NUL. */
static int reserve(struct kgb_buf *buf, size_t len)
{
	size_t most = buf->limit ? buf->limit : SIZE_MAX / 2;

	if (buf->len > most || len > most - buf->len) {
		buf->overflowed = true;
		return -1;
	}
	size_t need = buf->len + len + 1;
	if (need <= buf->cap)
		return 0;

	size_t cap = buf->cap ? buf->cap + buf->cap / 2 : 64;
	if (cap < need)
		cap = need;
	if (cap > most + 1)
		cap = most + 1;
	buf->ptr = kgb_xreallocarray(buf->cap ? buf->ptr : NULL, cap, 1);
	if (!buf->cap)
		buf->ptr[0] = '\0';
	buf->cap = cap;
	return 0;
}

int kgb_buf_add(struct kgb_buf *buf, const void *data, size_t len)
{
	if (len == 0)
		return 0;
	if (reserve(buf, len) < 0)
		return -1;
	memcpy(buf->ptr + buf->len, data, len);
	buf->len += len;
	buf->ptr[buf->len] = '\0';
	return 0;
}

int kgb_buf_adds(struct kgb_buf *buf, const char *s)
{
	return kgb_buf_add(buf, s, strlen(s));
}

int kgb_buf_addc(struct kgb_buf *buf, char c)
{
	return kgb_buf_add(buf, &c, 1);
}

int kgb_buf_addf(struct kgb_buf *buf, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	KGB_ASSERT(n >= 0);

	int rc;
	if ((size_t)n < sizeof(small)) {
		rc = kgb_buf_add(buf, small, (size_t)n);
	} else {
		rc = reserve(buf, (size_t)n);
		if (rc == 0) {
			n = vsnprintf(buf->ptr + buf->len, (size_t)n + 1, fmt, again);
			KGB_ASSERT(n >= 0);
			buf->len += (size_t)n;
		}
	}
	va_end(again);
	return rc;
}

void kgb_buf_consume(struct kgb_buf *buf, size_t len)
{
	KGB_ASSERT(len <= buf->len);
	if (len == 0)
		return;
	memmove(buf->ptr, buf->ptr + len, buf->len - len);
	buf->len -= len;
	buf->ptr[buf->len] = '\0';
}

void kgb_buf_truncate(struct kgb_buf *buf, size_t len)
{
	KGB_ASSERT(len <= buf->len);
	if (len == buf->len)
		return;
	buf->len = len;
	buf->ptr[len] = '\0';
}

void kgb_buf_clear(struct kgb_buf *buf)
{
	kgb_buf_truncate(buf, 0);
	buf->overflowed = false;
}

char *kgb_buf_take(struct kgb_buf *buf)
{
	char *taken = buf->cap ? buf->ptr : kgb_xstrdup("");

	buf->ptr = kgb_buf_empty;
	buf->len = 0;
	buf->cap = 0;
	buf->overflowed = false;
	return taken;
}

void kgb_buf_release(struct kgb_buf *buf)
{
	if (buf->cap)
		kgb_free(buf->ptr);
	buf->ptr = kgb_buf_empty;
	buf->len = 0;
	buf->cap = 0;
	buf->overflowed = false;
}

void kgb_auto_buf(struct kgb_buf *buf)
{
	kgb_buf_release(buf);
}
