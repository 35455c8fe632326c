/* SPDX-License-Identifier: MIT */
#include "agent/page/kernels.h"

#include <string.h>

#include "base/limits.h"
#include "base/str.h"
#include "base/system/fs.h"

/* ---- embedding ---- */

/** The code point of a character of two or three bytes. */
static unsigned code_point(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	return n == 2 ? (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu)
		      : (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
}

void kgb_embed_json(struct kgb_buf *out, const char *json, size_t len)
{
	const char *at = json, *end = json + len, *copied = json;
	while (at < end) {
		size_t columns = 0;
		const bool plain = (unsigned char)*at < 0x80;
		const size_t n = kgb_utf8_char(at, &columns);
		const bool drives = !plain && n < 4 && kgb_utf8_drives_terminal(at, n);
		if (*at == '<' || drives) {
			kgb_buf_add(out, copied, (size_t)(at - copied));
			kgb_buf_addf(out, "\\u%04x", plain ? '<' : code_point(at, n));
			copied = at + n;
		}
		at += n;
	}
	kgb_buf_add(out, copied, (size_t)(end - copied));
}

static size_t embedded_size(const char *text, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf json = KGB_BUF_INIT(0), page = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &json, 0);
	kgb_jsonw_strn(&w, text, len);
	kgb_embed_json(&page, json.ptr, json.len);
	return page.len;
}

/* ---- the list ---- */

int kgb_kernels_add(struct kgb_kernels *kernels, int run_fd, const char *path, size_t *place,
		    struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf raw = KGB_BUF_INIT(0), text = KGB_BUF_INIT(0);
	struct kgb_page_kernel kernel;
	if (kgb_fs_read_untrusted(run_fd, path, KGB_LIMIT_KERNEL, &raw, err) < 0)
		return -1;
	kgb_sha256_hex(raw.ptr, raw.len, kernel.sha256);
	for (size_t i = 0; i < kernels->list.n; i++)
		if (kgb_str_eq(kernels->list.items[i].sha256, kernel.sha256)) {
			*place = i;
			return 0;
		}
	kgb_utf8_repair(&text, raw.ptr, raw.len);
	kernel.len = text.len;
	kernel.n_embedded = embedded_size(text.ptr, text.len);
	kernel.text = kgb_buf_take(&text);
	*place = kernels->list.n;
	KGB_VEC_ADD(&kernels->list, kernel);
	return 0;
}

/** The largest size for each text with which all take at most `limit` bytes. */
static size_t fair_size(const struct kgb_kernels *kernels, size_t limit)
{
	size_t low = 0, high = limit;
	while (low < high) {
		const size_t middle = low + (high - low + 1) / 2;
		size_t sum = 0;
		KGB_VEC_FOREACH(kernel, &kernels->list)
			sum += kernel->n_embedded < middle ? kernel->n_embedded : middle;
		if (sum <= limit)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/** Bytes of a part of it that takes at most `size` bytes of a page: whole lines, if it has any. */
static size_t cut_length(const struct kgb_page_kernel *kernel, size_t size)
{
	if (kernel->n_embedded <= size)
		return kernel->len;
	size_t len = size < kernel->len ? size : kernel->len;
	size_t used = embedded_size(kernel->text, len);
	while (len > 0 && used > size) {
		/* Shrink by the excess share, assuming that the rest is equally dense. */
		const size_t next = (size_t)((double)len * (double)size / (double)used);
		len = next < len ? next : len - 1;
		used = embedded_size(kernel->text, len);
	}
	const char *line = len > 0 ? memrchr(kernel->text, '\n', len) : NULL;
	return line ? (size_t)(line - kernel->text) + 1 : kgb_utf8_valid(kernel->text, len);
}

void kgb_kernels_write(const struct kgb_kernels *kernels, size_t limit, struct kgb_jsonw *w)
{
	/* What surrounds each text. */
	const size_t frame = strlen("{\"sha256\":\"\",\"bytes\":1234567,\"text\":},") + 64;
	const size_t frames = frame * kernels->list.n;
	const size_t size = fair_size(kernels, limit > frames ? limit - frames : 0);
	kgb_jsonw_array(w);
	KGB_VEC_FOREACH(kernel, &kernels->list)
		kgb_jsonw_put(w, "{sha256: %s, bytes: %zu, text: %.*s}", kernel->sha256,
			      kernel->len, (int)cut_length(kernel, size), kernel->text);
	kgb_jsonw_array_end(w);
}

void kgb_kernels_release(struct kgb_kernels *kernels)
{
	KGB_VEC_FOREACH(kernel, &kernels->list)
		kgb_free(kernel->text);
	KGB_VEC_RELEASE(&kernels->list);
}
