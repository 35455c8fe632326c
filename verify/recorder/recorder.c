/* SPDX-License-Identifier: MIT */
#include "verify/recorder/recorder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

/* Bytes kept free for the reason why a window is broken. */
#define WINDOW_RESERVE 512
#define OPS_RESERVE KGB_RECORD_WINDOWS_MAX

void kgb_recorder_init(struct kgb_recorder *rec, struct kgb_images *images)
{
	*rec = (struct kgb_recorder){
		.images = images,
		.fd = -1,
		.ops = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX),
	};
}

void kgb_recorder_release(struct kgb_recorder *rec)
{
	kgb_buf_release(&rec->ops);
	KGB_VEC_RELEASE(&rec->blocks);
	kgb_recorder_init(rec, rec->images);
}

/* Append all bytes, or leave the file as it was. */
static int append(struct kgb_recorder *rec, const struct kgb_buf *bytes, struct kgb_err *err)
{
	size_t done = 0;

	while (done < bytes->len) {
		const ssize_t n = pwrite(rec->fd, bytes->ptr + done, bytes->len - done,
					 (off_t)(rec->written + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			const int why = n < 0 ? errno : ENOSPC;

			if (ftruncate(rec->fd, (off_t)rec->written))
				return kgb_fail_errno(err, errno, "record: cut back after '%s'",
						      strerror(why));
			return kgb_fail_errno(err, why, "record: write %zu bytes", bytes->len);
		}
		done += (size_t)n;
	}
	rec->written += bytes->len;
	return 0;
}

int kgb_recorder_open(struct kgb_recorder *rec, int fd, uint64_t max_bytes, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf head = KGB_BUF_INIT(4096);

	if (max_bytes > KGB_RECORD_BYTES_MAX)
		max_bytes = KGB_RECORD_BYTES_MAX;
	if (max_bytes < (KGB_RECORD_WINDOWS_MAX + 1) * WINDOW_RESERVE)
		return kgb_fail(err, KGB_ERR_LIMIT, "record: %llu bytes are too few",
				(unsigned long long)max_bytes);
	kgb_recorder_close(rec);
	if (ftruncate(fd, 0))
		return kgb_fail_errno(err, errno, "record: empty descriptor %d", fd);
	rec->fd = fd;
	rec->max_bytes = max_bytes;
	rec->written = 0;
	rec->n_ops = rec->n_blocks = rec->n_images = rec->n_windows = 0;
	kgb_images_start_record(rec->images);
	kgb_record_put_header(&head);
	if (append(rec, &head, err)) {
		rec->fd = -1;
		return -1;
	}
	return 0;
}

static void drop_window(struct kgb_recorder *rec)
{
	rec->in_window = false;
	kgb_buf_release(&rec->ops);
	rec->n_window_ops = rec->blocks.n = 0;
	rec->broken[0] = '\0';
	kgb_images_end_window(rec->images);
}

void kgb_recorder_close(struct kgb_recorder *rec)
{
	drop_window(rec);
	rec->fd = -1;
}

int kgb_recorder_begin(struct kgb_recorder *rec, uint32_t number, struct kgb_err *err)
{
	if (rec->fd < 0)
		return kgb_fail(err, KGB_ERR_INVALID, "window %u: no record is open", number);
	if (rec->in_window)
		return kgb_fail(err, KGB_ERR_INVALID, "window %u: window %u is still open", number,
				rec->number);
	if (rec->n_windows == KGB_RECORD_WINDOWS_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "window %u: the record has %d windows already",
				number, KGB_RECORD_WINDOWS_MAX);
	for (size_t i = 0; i < rec->n_windows; i++) {
		if (rec->numbers[i] == number)
			return kgb_fail(err, KGB_ERR_INVALID, "window %u is there already", number);
	}
	drop_window(rec);
	kgb_buf_release(&rec->ops);
	rec->ops = (struct kgb_buf)KGB_BUF_INIT(rec->max_bytes);
	rec->number = number;
	rec->in_window = true;
	return 0;
}

void kgb_recorder_break(struct kgb_recorder *rec, const char *fmt, ...)
{
	va_list ap;

	if (!rec->in_window || rec->broken[0])
		return;
	va_start(ap, fmt);
	vsnprintf(rec->broken, sizeof(rec->broken), fmt, ap);
	va_end(ap);
	if (!rec->broken[0])
		snprintf(rec->broken, sizeof(rec->broken), "unknown reason");
	kgb_buf_clear(&rec->ops);
	rec->n_window_ops = rec->blocks.n = 0;
}

static void add_block(struct kgb_recorder *rec, const struct kgb_block *block)
{
	if (!rec->in_window || rec->broken[0] || block->bytes == 0)
		return;
	if (rec->n_blocks + rec->blocks.n >= KGB_RECORD_BLOCKS_MAX) {
		kgb_recorder_break(rec, "more than %u blocks of memory", KGB_RECORD_BLOCKS_MAX);
		return;
	}
	KGB_VEC_ADD(&rec->blocks, *block);
}

void kgb_recorder_live(struct kgb_recorder *rec, const struct kgb_address_table *live, bool foreign)
{
	for (size_t i = 0; i < live->n; i++) {
		const struct kgb_block block = {
			.address = live->items[i].key,
			.bytes = live->items[i].value,
			.foreign = foreign,
			.before = true,
		};

		add_block(rec, &block);
	}
}

void kgb_recorder_block(struct kgb_recorder *rec, uint64_t address, uint64_t bytes, bool foreign)
{
	const struct kgb_block block = {.address = address, .bytes = bytes, .foreign = foreign};

	add_block(rec, &block);
}

void kgb_recorder_op(struct kgb_recorder *rec, const struct kgb_op *op)
{
	if (!rec->in_window || rec->broken[0])
		return;
	if (rec->n_ops + rec->n_window_ops >= KGB_RECORD_OPS_MAX - OPS_RESERVE) {
		kgb_recorder_break(rec, "more than %u operations",
				   KGB_RECORD_OPS_MAX - OPS_RESERVE);
		return;
	}
	kgb_record_put_op(&rec->ops, op);
	if (rec->ops.overflowed) {
		kgb_recorder_break(rec, "record over %llu bytes",
				   (unsigned long long)rec->max_bytes);
		return;
	}
	rec->n_window_ops++;
	if (op->kind == KGB_OP_LAUNCH) {
		struct kgb_image_entry *image = kgb_images_find(rec->images, op->launch.image);

		if (image)
			image->used = true;
	}
}

void kgb_recorder_unsupported(struct kgb_recorder *rec, uint64_t stream, const char *why)
{
	char text[128];
	const struct kgb_op op = {.kind = KGB_OP_UNSUPPORTED, .stream = stream, .why = text};

	snprintf(text, sizeof(text), "%s", why[0] ? why : "unknown");
	for (char *c = text; *c; c++) {
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	}
	kgb_recorder_op(rec, &op);
}

/* ---- The end of a window ---- */

/* Append the images that this window uses and the record lacks; returns their number. */
static size_t put_images(const struct kgb_recorder *rec, struct kgb_buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < rec->images->n && !out->overflowed; i++) {
		const struct kgb_image_entry *image = &rec->images->items[i];

		if (!image->used || image->written)
			continue;
		kgb_record_put_image(out, image->id, image->bytes, image->len);
		n++;
	}
	return n;
}

static int end_broken(struct kgb_recorder *rec, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(WINDOW_RESERVE);
	KGB_AUTO(free) char *why = kgb_xasprintf("trace: %s", rec->broken);
	const struct kgb_op op = {.kind = KGB_OP_UNSUPPORTED, .why = why};

	kgb_record_put_window_begin(&out, rec->number);
	kgb_record_put_op(&out, &op);
	kgb_record_put_window_end(&out);
	KGB_ASSERT(!out.overflowed);
	rec->n_window_ops = 1;
	return append(rec, &out, err);
}

static int end_whole(struct kgb_recorder *rec, struct kgb_err *err)
{
	const uint64_t left = KGB_RECORD_WINDOWS_MAX - rec->n_windows;
	/* Never 0, which would mean no limit; the head of a window does not fit into 1 byte. */
	const uint64_t room = rec->max_bytes - rec->written - left * WINDOW_RESERVE;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(room ? room : 1);
	const size_t n_images = put_images(rec, &out);

	if (rec->n_images + n_images > KGB_RECORD_IMAGES_MAX) {
		kgb_recorder_break(rec, "more than %d images", KGB_RECORD_IMAGES_MAX);
		return end_broken(rec, err);
	}
	kgb_record_put_window_begin(&out, rec->number);
	kgb_buf_add(&out, rec->ops.ptr, rec->ops.len);
	rec->blocks.n = kgb_blocks_sort(rec->blocks.items, rec->blocks.n);
	for (size_t i = 0; i < rec->blocks.n; i++)
		kgb_record_put_block(&out, &rec->blocks.items[i]);
	kgb_record_put_window_end(&out);
	if (out.overflowed) {
		kgb_recorder_break(rec, "record over %llu bytes",
				   (unsigned long long)rec->max_bytes);
		return end_broken(rec, err);
	}
	if (append(rec, &out, err))
		return -1;
	rec->n_images += n_images;
	for (size_t i = 0; i < rec->images->n; i++) {
		if (rec->images->items[i].used)
			rec->images->items[i].written = true;
	}
	return 0;
}

int kgb_recorder_end(struct kgb_recorder *rec, struct kgb_err *err)
{
	int status;

	if (!rec->in_window)
		return kgb_fail(err, KGB_ERR_INVALID, "no window is open");
	status = rec->broken[0] ? end_broken(rec, err) : end_whole(rec, err);
	if (status == 0) {
		rec->numbers[rec->n_windows++] = rec->number;
		rec->n_ops += rec->n_window_ops;
		rec->n_blocks += rec->blocks.n;
	}
	drop_window(rec);
	return status;
}
