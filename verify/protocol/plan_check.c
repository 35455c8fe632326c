/* SPDX-License-Identifier: MIT */
#include "verify/protocol/plan_check.h"

#include <elf.h>

#include "base/mem.h"
#include "verify/protocol/image_length.h"

#define refuse(err, ...) kgb_fail((err), KGB_ERR_INVALID, __VA_ARGS__)

enum { PTX_THREADS_MAX = 1024 };

/* Launch attributes whose value is plain data, by number of CUlaunchAttributeID. What holds a
 * handle or a pointer to host memory cannot come out of another process. */
static const bool plain_attrs[] = {
	[0] = true, /* ignore */
	[1] = true, /* access policy window */
	[2] = true, /* cooperative */
	[4] = true, /* cluster dimension */
	[5] = true, /* cluster scheduling policy preference */
	[6] = true, /* programmatic stream serialization */
	[8] = true, /* priority */
	[9] = true, /* memory synchronization domain map */
	[10] = true, /* memory synchronization domain */
	[11] = true, /* preferred cluster dimension */
	[14] = true, /* carveout */
};

static int check_launch(const struct kgb_launch *launch, struct kgb_err *err)
{
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++) {
		if (launch->grid[i] == 0 || launch->block[i] == 0 ||
		    launch->block[i] > PTX_THREADS_MAX)
			return refuse(err, "grid %u,%u,%u block %u,%u,%u", launch->grid[0],
				      launch->grid[1], launch->grid[2], launch->block[0],
				      launch->block[1], launch->block[2]);
		threads *= launch->block[i];
	}
	if (threads > PTX_THREADS_MAX)
		return refuse(err, "%llu threads in a block", (unsigned long long)threads);
	if (launch->carveout < -1 || launch->carveout > 100)
		return refuse(err, "carveout of %d %%", launch->carveout);
	for (uint32_t i = 0; i < launch->n_attrs; i++)
		if (launch->attrs[i].id >= KGB_ARRAY_LEN(plain_attrs) ||
		    !plain_attrs[launch->attrs[i].id])
			return refuse(err, "launch attribute %u cannot be repeated",
				      launch->attrs[i].id);
	return 0;
}

static int check_memset(const struct kgb_op *op, struct kgb_err *err)
{
	const uint32_t size = op->memset.element_bytes;
	uint64_t row;
	uint64_t all;

	if (size != 1 && size != 2 && size != 4)
		return refuse(err, "elements of %u bytes", size);
	if (op->memset.height == 0 || op->memset.width == 0)
		return refuse(err, "%llu x %llu elements", (unsigned long long)op->memset.height,
			      (unsigned long long)op->memset.width);
	if (op->memset.dst % size != 0)
		return refuse(err, "0x%llx is not a multiple of %u",
			      (unsigned long long)op->memset.dst, size);
	if (__builtin_mul_overflow(op->memset.width, size, &row))
		return refuse(err, "rows of %llu elements", (unsigned long long)op->memset.width);
	if (op->memset.height == 1)
		return 0;
	if (op->memset.pitch < row || op->memset.pitch % size != 0 ||
	    __builtin_mul_overflow(op->memset.pitch, op->memset.height, &all))
		return refuse(err, "pitch %llu for %llu rows of %llu bytes",
			      (unsigned long long)op->memset.pitch,
			      (unsigned long long)op->memset.height, (unsigned long long)row);
	return 0;
}

static int check_op(const struct kgb_op *op, struct kgb_err *err)
{
	switch (op->kind) {
	case KGB_OP_LAUNCH:
		return check_launch(&op->launch, err);
	case KGB_OP_MEMSET:
		return check_memset(op, err);
	case KGB_OP_DOWNLOAD:
		if (op->download.bytes > KGB_EXEC_DOWNLOAD_MAX)
			return refuse(err, "%llu bytes", (unsigned long long)op->download.bytes);
		return 0;
	case KGB_OP_UNSUPPORTED:
		return refuse(err, "%s", op->why);
	case KGB_OP_COPY:
	case KGB_OP_UPLOAD:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
		return 0;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

static int check_block(const struct kgb_block *block, struct kgb_err *err)
{
	const uint64_t arena_end = KGB_ARENA_ADDRESS + KGB_ARENA_BYTES_MAX;
	const uint64_t pool_end = KGB_POOL_ADDRESS + KGB_POOL_BYTES;
	uint64_t end;

	if (block->bytes == 0 || __builtin_add_overflow(block->address, block->bytes, &end) ||
	    block->address < KGB_GPU_PAGE || end > KGB_GPU_ADDRESS_END)
		return refuse(err, "%llu bytes", (unsigned long long)block->bytes);
	if (block->address < arena_end && end > KGB_ARENA_ADDRESS)
		return refuse(err, "lies in the arena");
	if (block->address < pool_end && end > KGB_POOL_ADDRESS &&
	    (block->address < KGB_POOL_ADDRESS || end > pool_end))
		return refuse(err, "lies across the edge of the pool");
	return 0;
}

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

int kgb_exec_check_plan(const struct kgb_record *record, struct kgb_err *err)
{
	const struct kgb_window *window = &record->windows[0];

	if (record->n_windows != 1)
		return refuse(err, "a plan of %zu windows", record->n_windows);
	for (size_t i = 0; i < record->n_images; i++)
		if (kgb_exec_check_image(&record->images[i], err) < 0)
			return -1;
	for (size_t i = 0; i < window->n_blocks; i++)
		if (check_block(&window->blocks[i], err) < 0)
			return kgb_ctx(err, "block at 0x%llx",
				       (unsigned long long)window->blocks[i].address);
	for (size_t i = 0; i < window->n_ops; i++)
		if (check_op(&window->ops[i], err) < 0)
			return kgb_ctx(err, "op %zu (%s)", i,
				       kgb_op_kind_name(window->ops[i].kind));
	return 0;
}

static int hold(const struct kgb_spans *memory, uint64_t address, uint64_t bytes,
		struct kgb_err *err)
{
	if (!kgb_spans_hold(memory, address, bytes))
		return refuse(err, "%llu bytes at 0x%llx are not memory of this plan",
			      (unsigned long long)bytes, (unsigned long long)address);
	return 0;
}

static int check_op_memory(const struct kgb_op *op, const struct kgb_spans *memory,
			   struct kgb_err *err)
{
	switch (op->kind) {
	case KGB_OP_MEMSET:
		return hold(memory, op->memset.dst,
			    (op->memset.height - 1) * op->memset.pitch * (op->memset.height > 1) +
				    op->memset.width * op->memset.element_bytes,
			    err);
	case KGB_OP_COPY:
		if (hold(memory, op->copy.src, op->copy.bytes, err) < 0)
			return -1;
		return hold(memory, op->copy.dst, op->copy.bytes, err);
	case KGB_OP_UPLOAD:
		return hold(memory, op->upload.dst, op->upload.bytes, err);
	case KGB_OP_DOWNLOAD:
		return hold(memory, op->download.src, op->download.bytes, err);
	case KGB_OP_LAUNCH:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
	case KGB_OP_UNSUPPORTED:
	case KGB_N_OP_KINDS:
		return 0;
	}
	KGB_UNREACHABLE();
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

bool kgb_exec_op_writes(const struct kgb_op *op)
{
	return op->kind == KGB_OP_LAUNCH || op->kind == KGB_OP_MEMSET || op->kind == KGB_OP_COPY ||
	       op->kind == KGB_OP_UPLOAD;
}
