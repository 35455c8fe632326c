/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tests/fuzz/fuzz_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
	const size_t len = strnlen(text, KGB_KERNEL_NAME_MAX);

	KGB_ASSERT(len > 0 && len < KGB_KERNEL_NAME_MAX);
	for (size_t i = 0; i < len; i++)
		KGB_ASSERT(text[i] >= 0x20 && text[i] <= 0x7e);
}

/* Every byte that a pointer promises is there: the sanitizer sees a read beyond the input. */
static unsigned touch(const unsigned char *bytes, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += bytes[i];
	return sum;
}

static unsigned check_op(const struct kgb_record *record, const struct kgb_op *op)
{
	KGB_ASSERT(op->kind < KGB_N_OP_KINDS);
	if (op->kind == KGB_OP_UNSUPPORTED)
		check_text(op->why);
	if (op->kind == KGB_OP_UPLOAD)
		return touch(op->upload.data, op->upload.bytes);
	if (op->kind != KGB_OP_LAUNCH)
		return 0;
	check_text(op->launch.kernel);
	KGB_ASSERT(op->launch.n_attrs <= KGB_LAUNCH_ATTRS_MAX);
	KGB_ASSERT(op->launch.params_bytes <= KGB_LAUNCH_PARAMS_MAX);
	KGB_ASSERT(kgb_record_image(record, op->launch.image));
	return touch(op->launch.params, op->launch.params_bytes);
}

static unsigned check_window(const struct kgb_record *record, const struct kgb_window *window)
{
	unsigned sum = 0;

	KGB_ASSERT(kgb_record_window(record, window->number) == window);
	for (size_t i = 0; i < window->n_ops; i++)
		sum += check_op(record, &window->ops[i]);
	for (size_t i = 1; i < window->n_blocks; i++) {
		const struct kgb_block *a = &window->blocks[i - 1], *b = &window->blocks[i];
		KGB_ASSERT(a->address <= b->address);
		KGB_ASSERT(a->address != b->address || a->bytes != b->bytes ||
			   a->foreign != b->foreign);
	}
	return sum;
}

static void check_record(const struct kgb_record *record)
{
	volatile unsigned sum = 0;

	KGB_ASSERT(record->n_windows <= KGB_RECORD_WINDOWS_MAX);
	KGB_ASSERT(record->n_images <= KGB_RECORD_IMAGES_MAX);
	for (size_t i = 0; i < record->n_windows; i++)
		sum += check_window(record, &record->windows[i]);
	for (size_t i = 0; i < record->n_images; i++) {
		KGB_ASSERT(record->images[i].len > 0);
		KGB_ASSERT(kgb_record_image(record, record->images[i].id) == &record->images[i]);
		sum += touch(record->images[i].bytes, record->images[i].len);
	}
	(void)sum;
}

/* Whatever bytes are found in a record: refused, or within every limit; and what is read can be
 * written, read and written again without change. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KGB_AUTO(buf) struct kgb_buf first = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf second = KGB_BUF_INIT(0);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_record_parse(data, size, &record, &err) < 0) {
		KGB_ASSERT(err.kind == KGB_ERR_INVALID && err.msg[0] != '\0');
		return 0;
	}
	check_record(&record);
	rewrite_record(&record, &first);
	kgb_record_release(&record);
	KGB_ASSERT(first.len <= size); /* blocks that were alike are one */
	KGB_ASSERT(kgb_record_parse(first.ptr, first.len, &record, &err) == 0);
	check_record(&record);
	rewrite_record(&record, &second);
	kgb_record_release(&record);
	KGB_ASSERT(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
	return 0;
}
