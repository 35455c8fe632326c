/* SPDX-License-Identifier: MIT */
#include "verify/protocol/plan_check.h"

#include <elf.h>

#include "base/mem.h"
#include "verify/protocol/image_length.h"
#include "verify/protocol/op_limits.h"

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, __VA_ARGS__)

int kgb_exec_check_image(const struct kgb_image *image, struct kgb_err *err)
{
	Elf64_Ehdr head;
	size_t len;

	if (kgb_image_length(image->bytes, image->len, &len, err) < 0)
		return kgb_ctx(err, "image %u", image->id);
	if (memcmp(image->bytes, ELFMAG, SELFMAG) != 0)
		return 0;
	memcpy(&head, image->bytes, sizeof(head));
	return head.e_shnum > 0 ? 0 : refuse(err, "image %u: a cubin without sections", image->id);
}

static int check_block(const struct kgb_block *block, struct kgb_err *err)
{
	const char *fault = block->bytes == 0 ? "is empty" : kgb_block_fault(block);

	return fault ? refuse(err, "a block of %llu bytes at 0x%llx %s",
			      (unsigned long long)block->bytes, (unsigned long long)block->address,
			      fault)
		     : 0;
}

static int check_op(const struct kgb_op *op, struct kgb_err *err)
{
	if (op->kind == KGB_OP_DOWNLOAD && op->download.bytes > KGB_EXEC_DOWNLOAD_MAX)
		return refuse(err, "%llu bytes", (unsigned long long)op->download.bytes);
	return kgb_op_check(op, err);
}

int kgb_exec_check_plan(const struct kgb_record *record, kgb_exec_check_image_fn check_image,
			struct kgb_err *err)
{
	const struct kgb_window *window = &record->windows[0];

	if (record->n_windows != 1)
		return refuse(err, "a plan of %zu windows", record->n_windows);
	for (size_t i = 0; i < record->n_images; i++)
		if (check_image(&record->images[i], err) < 0)
			return -1;
	for (size_t i = 0; i < window->n_blocks; i++)
		if (check_block(&window->blocks[i], err) < 0)
			return -1;
	for (size_t i = 0; i < window->n_ops; i++)
		if (check_op(&window->ops[i], err) < 0)
			return kgb_ctx(err, "op %zu (%s)", i,
				       kgb_op_kind_name(window->ops[i].kind));
	return 0;
}

static int check_op_memory(const struct kgb_op *op, const struct kgb_spans *memory,
			   struct kgb_err *err)
{
	struct kgb_op_range ranges[KGB_OP_RANGES_MAX];
	const size_t n = kgb_op_ranges(op, ranges);

	for (size_t i = 0; i < n; i++)
		if (!kgb_spans_hold(memory, ranges[i].address, ranges[i].bytes))
			return refuse(err, "%llu bytes at 0x%llx are not memory of this plan",
				      (unsigned long long)ranges[i].bytes,
				      (unsigned long long)ranges[i].address);
	return 0;
}

int kgb_exec_check_memory(const struct kgb_window *window, const struct kgb_spans *memory,
			  struct kgb_err *err)
{
	for (size_t i = 0; i < window->n_ops; i++)
		if (check_op_memory(&window->ops[i], memory, err) < 0)
			return kgb_ctx(err, "op %zu (%s)", i,
				       kgb_op_kind_name(window->ops[i].kind));
	return 0;
}

void kgb_exec_blocks(const struct kgb_window *window, struct kgb_spans *out)
{
	kgb_spans_clear(out);
	for (size_t i = 0; i < window->n_blocks; i++)
		kgb_spans_put(out, window->blocks[i].address, window->blocks[i].bytes);
	kgb_spans_normalize(out);
}
