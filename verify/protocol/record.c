/* SPDX-License-Identifier: MIT */
/* Only the writing half: it is also linked into the trace library, which runs in the candidate's
 * process. */
#include "verify/protocol/record.h"

#include <stdlib.h>
#include <string.h>

#include "verify/protocol/record_format.h"

_Static_assert(sizeof(struct kgb_launch_attr) == 68, "attributes are written as they lie");

const char *kgb_op_kind_name(enum kgb_op_kind kind)
{
	static const char *const names[] = {
		[KGB_OP_LAUNCH] = "launch",
		[KGB_OP_MEMSET] = "memset",
		[KGB_OP_COPY] = "copy",
		[KGB_OP_UPLOAD] = "upload",
		[KGB_OP_DOWNLOAD] = "download",
		[KGB_OP_EVENT_RECORD] = "event record",
		[KGB_OP_EVENT_WAIT] = "event wait",
		[KGB_OP_SYNC] = "sync",
		[KGB_OP_UNSUPPORTED] = "unsupported",
		[KGB_OP_REPLACES] = "replaces",
	};
	_Static_assert(KGB_ARRAY_LEN(names) == KGB_N_OP_KINDS, "one name per kind");

	KGB_ASSERT(kind < KGB_N_OP_KINDS);
	return names[kind];
}

void kgb_record_put_header(struct kgb_buf *out)
{
	const struct kgb_record_header header = {KGB_RECORD_MAGIC, KGB_RECORD_VERSION};

	kgb_buf_add(out, &header, sizeof(header));
}

struct part {
	const void *bytes;
	size_t len;
};

/* Append a whole chunk or nothing: a chunk that does not fit leaves `out` unchanged, except
 * `overflowed`. */
static void put_chunk(struct kgb_buf *out, enum kgb_chunk_tag tag, const struct part *parts,
		      size_t n_parts)
{
	static const unsigned char zeros[KGB_RECORD_ALIGN];
	const size_t start = out->len;
	size_t bytes = 0;

	for (size_t i = 0; i < n_parts; i++) {
		if (parts[i].len > UINT32_MAX - bytes) {
			out->overflowed = true;
			return;
		}
		bytes += parts[i].len;
	}
	const struct kgb_chunk_header header = {(uint32_t)tag, (uint32_t)bytes};
	bool whole = kgb_buf_add(out, &header, sizeof(header)) == 0;
	for (size_t i = 0; whole && i < n_parts; i++)
		whole = kgb_buf_add(out, parts[i].bytes, parts[i].len) == 0;
	if (whole)
		whole = kgb_buf_add(out, zeros, -bytes % KGB_RECORD_ALIGN) == 0;
	if (!whole)
		kgb_buf_truncate(out, start);
}

void kgb_record_put_image(struct kgb_buf *out, uint32_t id, const void *bytes, size_t len)
{
	const struct kgb_chunk_image image = {.id = id};
	const struct part parts[] = {{&image, sizeof(image)}, {bytes, len}};

	put_chunk(out, KGB_CHUNK_IMAGE, parts, KGB_ARRAY_LEN(parts));
}

void kgb_record_put_window_begin(struct kgb_buf *out, uint32_t number)
{
	const struct kgb_chunk_window window = {.number = number};
	const struct part part = {&window, sizeof(window)};

	put_chunk(out, KGB_CHUNK_WINDOW_BEGIN, &part, 1);
}

void kgb_record_put_window_end(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_WINDOW_END, NULL, 0);
}

static int compare_blocks(const void *pa, const void *pb)
{
	const struct kgb_block *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (int)a->foreign - (int)b->foreign;
}

/* Two entries for the same block: the first one gets the facts of both. */
static void merge_block(struct kgb_block *block, const struct kgb_block *alike)
{
	block->again |= alike->again || block->before != alike->before;
	block->before |= alike->before;
}

size_t kgb_blocks_sort(struct kgb_block *blocks, size_t n)
{
	size_t kept = 0;

	if (n > 1)
		qsort(blocks, n, sizeof(*blocks), compare_blocks);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && compare_blocks(&blocks[kept - 1], &blocks[i]) == 0)
			merge_block(&blocks[kept - 1], &blocks[i]);
		else
			blocks[kept++] = blocks[i];
	}
	return kept;
}

void kgb_record_put_block(struct kgb_buf *out, const struct kgb_block *block)
{
	const struct kgb_chunk_block chunk = {
		.address = block->address,
		.bytes = block->bytes,
		.flags = (block->foreign ? KGB_BLOCK_FOREIGN : 0) |
			 (block->before ? KGB_BLOCK_BEFORE : 0) |
			 (block->again ? KGB_BLOCK_AGAIN : 0),
	};
	const struct part part = {&chunk, sizeof(chunk)};

	put_chunk(out, KGB_CHUNK_BLOCK, &part, 1);
}

size_t kgb_op_head_bytes(enum kgb_op_kind kind)
{
#define UP_TO(member) (offsetof(struct kgb_op, member) - offsetof(struct kgb_op, head))
	static const uint8_t bytes[KGB_N_OP_KINDS] = {
		[KGB_OP_LAUNCH] = UP_TO(launch.kernel),
		[KGB_OP_MEMSET] = sizeof(((struct kgb_op *)0)->memset),
		[KGB_OP_COPY] = sizeof(((struct kgb_op *)0)->copy),
		[KGB_OP_UPLOAD] = UP_TO(upload.data),
		[KGB_OP_DOWNLOAD] = sizeof(((struct kgb_op *)0)->download),
		[KGB_OP_EVENT_RECORD] = sizeof(uint64_t),
		[KGB_OP_EVENT_WAIT] = sizeof(uint64_t),
		[KGB_OP_REPLACES] = sizeof(uint64_t),
	};
	_Static_assert(UP_TO(launch.kernel) == KGB_OP_HEAD_MAX && UP_TO(upload.data) == 16 &&
			       sizeof(((struct kgb_op *)0)->memset) == 40,
		       "no padding in the format");
#undef UP_TO

	return bytes[kind];
}

void kgb_record_put_op(struct kgb_buf *out, const struct kgb_op *op)
{
	const struct kgb_chunk_op chunk = {.kind = (uint32_t)op->kind, .stream = op->stream};
	struct kgb_op written = *op;
	struct part parts[5] = {{&chunk, sizeof(chunk)},
				{written.head, kgb_op_head_bytes(op->kind)}};
	size_t n = 2;

	if (op->kind == KGB_OP_LAUNCH) {
		const struct kgb_launch *launch = &op->launch;
		KGB_ASSERT(launch->n_attrs <= KGB_LAUNCH_ATTRS_MAX);
		written.launch.name_bytes = (uint32_t)strlen(launch->kernel) + 1;
		parts[n++] = (struct part){launch->params, launch->params_bytes};
		parts[n++] =
			(struct part){launch->attrs, launch->n_attrs * sizeof(launch->attrs[0])};
		parts[n++] = (struct part){launch->kernel, written.launch.name_bytes};
	} else if (op->kind == KGB_OP_UPLOAD) {
		parts[n++] = (struct part){op->upload.data, op->upload.bytes};
	} else if (op->kind == KGB_OP_UNSUPPORTED) {
		parts[n++] = (struct part){op->why, strlen(op->why) + 1};
	}
	put_chunk(out, KGB_CHUNK_OP, parts, n);
}
