/* SPDX-License-Identifier: MIT */
/* Only the writing half: it is also linked into the trace library, which lives in the candidate's
 * process. */
#include "verify/protocol/record.h"

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

/* A whole chunk or none of it: what does not fit leaves `out` as it was, but for `overflowed`. */
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

void kgb_block_merge(struct kgb_block *block, const struct kgb_block *alike)
{
	block->again |= alike->again || block->before != alike->before;
	block->before |= alike->before;
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

static void put_op(struct kgb_buf *out, const struct kgb_op *op, const struct part *body,
		   size_t n_body)
{
	const struct kgb_chunk_op head = {.kind = (uint32_t)op->kind, .stream = op->stream};
	struct part parts[5] = {{&head, sizeof(head)}};

	KGB_ASSERT(n_body < KGB_ARRAY_LEN(parts));
	for (size_t i = 0; i < n_body; i++)
		parts[i + 1] = body[i];
	put_chunk(out, KGB_CHUNK_OP, parts, n_body + 1);
}

static void put_launch(struct kgb_buf *out, const struct kgb_op *op)
{
	const struct kgb_launch *launch = &op->launch;
	struct kgb_op_launch body = {
		.image = launch->image,
		.shared_bytes = launch->shared_bytes,
		.carveout = launch->carveout,
		.n_attrs = launch->n_attrs,
		.params_bytes = launch->params_bytes,
		.name_bytes = (uint32_t)strlen(launch->kernel) + 1,
	};

	KGB_ASSERT(launch->n_attrs <= KGB_LAUNCH_ATTRS_MAX);
	memcpy(body.grid, launch->grid, sizeof(body.grid));
	memcpy(body.block, launch->block, sizeof(body.block));
	const struct part parts[] = {
		{&body, sizeof(body)},
		{launch->params, launch->params_bytes},
		{launch->attrs, launch->n_attrs * sizeof(launch->attrs[0])},
		{launch->kernel, body.name_bytes},
	};
	put_op(out, op, parts, KGB_ARRAY_LEN(parts));
}

static void put_memset(struct kgb_buf *out, const struct kgb_op *op)
{
	const struct kgb_op_memset body = {
		.dst = op->memset.dst,
		.pitch = op->memset.pitch,
		.width = op->memset.width,
		.height = op->memset.height,
		.value = op->memset.value,
		.element_bytes = op->memset.element_bytes,
	};
	const struct part part = {&body, sizeof(body)};

	put_op(out, op, &part, 1);
}

static void put_copy(struct kgb_buf *out, const struct kgb_op *op)
{
	const struct kgb_op_copy body = {op->copy.dst, op->copy.src, op->copy.bytes};
	const struct part part = {&body, sizeof(body)};

	put_op(out, op, &part, 1);
}

static void put_upload(struct kgb_buf *out, const struct kgb_op *op)
{
	const struct kgb_op_upload body = {op->upload.dst, op->upload.bytes};
	const struct part parts[] = {{&body, sizeof(body)}, {op->upload.data, op->upload.bytes}};

	put_op(out, op, parts, KGB_ARRAY_LEN(parts));
}

static void put_download(struct kgb_buf *out, const struct kgb_op *op)
{
	const struct kgb_op_upload body = {op->download.src, op->download.bytes};
	const struct part part = {&body, sizeof(body)};

	put_op(out, op, &part, 1);
}

void kgb_record_put_op(struct kgb_buf *out, const struct kgb_op *op)
{
	struct part part;

	switch (op->kind) {
	case KGB_OP_LAUNCH:
		put_launch(out, op);
		return;
	case KGB_OP_MEMSET:
		put_memset(out, op);
		return;
	case KGB_OP_COPY:
		put_copy(out, op);
		return;
	case KGB_OP_UPLOAD:
		put_upload(out, op);
		return;
	case KGB_OP_DOWNLOAD:
		put_download(out, op);
		return;
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
		part = (struct part){&op->event, sizeof(struct kgb_op_event)};
		put_op(out, op, &part, 1);
		return;
	case KGB_OP_SYNC:
		put_op(out, op, NULL, 0);
		return;
	case KGB_OP_UNSUPPORTED:
		part = (struct part){op->why, strlen(op->why) + 1};
		put_op(out, op, &part, 1);
		return;
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}
