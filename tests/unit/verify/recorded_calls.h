/* SPDX-License-Identifier: MIT */
/** \file
 * Recorded calls for the tests of verify/record: written as the trace library writes them, and
 * parsed.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_RECORDED_CALLS_H
#define KGB_TESTS_UNIT_VERIFY_RECORDED_CALLS_H

#include "tests/unit/base/support.h"
#include "verify/protocol/op_limits.h"
#include "verify/record/record_canonical.h"

#define ARENA KGB_ARENA_ADDRESS
#define POOL KGB_POOL_ADDRESS
#define PAGE KGB_GPU_PAGE

enum {
	IMAGE_ADD = 1,
	IMAGE_MUL = 2,
	IMAGE_FILL = 3,
	IMAGE_GEMM = 4,
	IMAGE_ODD = 5,
	IMAGE_SLOW = 6
};

/** A capture that owns what it is made of. */
struct call {
	struct kgb_buf bytes;
	struct kgb_record record;
	struct kgb_arena_place places[3];
	struct kgb_recorded_call capture;
};

/** Owners by the first letter of an image's bytes, as the tests write them. */
static inline enum kgb_owner owner_of(const struct kgb_image *image, const char *kernel,
				      const void *payload)
{
	(void)kernel;
	(void)payload;
	switch (image->bytes[0]) {
	case 't':
		return KGB_OWNER_TRITON;
	case 'm':
		return KGB_OWNER_TORCH_MOVE;
	case 'l':
		return KGB_OWNER_LIBRARY;
	case '?':
		return KGB_OWNER_UNDECIDED;
	default:
		return KGB_OWNER_UNKNOWN;
	}
}
static const struct kgb_owners test_owners = {.find = owner_of};

/** Begin window `number`. Image ids start at `first_id`, so that they can differ between calls. */
static inline void call_begin(struct call *call, uint32_t number, uint32_t first_id)
{
	static const char *const images[] = {"",       "t add", "t mul", "m fill",
					     "l gemm", "odd",   "? slow"};

	*call = (struct call){.bytes = KGB_BUF_INIT(0)};
	kgb_record_put_header(&call->bytes);
	for (uint32_t i = 1; i < KGB_ARRAY_LEN(images); i++)
		kgb_record_put_image(&call->bytes, first_id + i, images[i], strlen(images[i]));
	kgb_record_put_window_begin(&call->bytes, number);
}

/** End it and parse it. Arguments x, y and out lie `shift` bytes up in an arena of 1 MiB. */
static inline const struct kgb_recorded_call *call_end(struct call *call, uint64_t shift)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_record_put_window_end(&call->bytes);
	assert_ok(kgb_record_parse(call->bytes.ptr, call->bytes.len, &call->record, &err), err);
	call->places[0] = (struct kgb_arena_place){"x", ARENA + shift, 4096};
	call->places[1] = (struct kgb_arena_place){"y", ARENA + shift + 8192, 4096};
	call->places[2] = (struct kgb_arena_place){"out", ARENA + shift + 16384, 4096};
	call->capture = (struct kgb_recorded_call){
		.record = &call->record,
		.window = &call->record.windows[0],
		.places = call->places,
		.n_places = 3,
		.arena_bytes = UINT64_C(1) << 20,
	};
	return &call->capture;
}

static inline void call_release(struct call *call)
{
	kgb_record_release(&call->record);
	kgb_buf_release(&call->bytes);
}

static inline void add_block(struct call *call, uint64_t address, uint64_t bytes)
{
	const struct kgb_block block = {.address = address, .bytes = bytes};

	kgb_record_put_block(&call->bytes, &block);
}

static inline struct kgb_op launch_of(uint32_t image, const char *kernel, const void *params,
				      size_t n)
{
	struct kgb_op op = {.kind = KGB_OP_LAUNCH};

	op.launch = (struct kgb_launch){
		.image = image,
		.kernel = kernel,
		.grid = {4, 1, 1},
		.block = {128, 1, 1},
		.carveout = -1,
		.params = params,
		.params_bytes = (uint32_t)n,
	};
	return op;
}

static inline void add_op(struct call *call, const struct kgb_op *op)
{
	kgb_record_put_op(&call->bytes, op);
}

static inline void add_launch(struct call *call, uint32_t image, const char *kernel,
			      const uint64_t *words, size_t n_words)
{
	const struct kgb_op op = launch_of(image, kernel, words, n_words * 8);

	add_op(call, &op);
}

static inline void add_memset(struct call *call, uint64_t dst, uint64_t bytes)
{
	struct kgb_op op = {.kind = KGB_OP_MEMSET};

	op.memset.dst = dst;
	op.memset.element_bytes = 1;
	op.memset.width = bytes;
	op.memset.height = 1;
	add_op(call, &op);
}

static inline void add_copy(struct call *call, uint64_t dst, uint64_t src, uint64_t bytes)
{
	struct kgb_op op = {.kind = KGB_OP_COPY};

	op.copy.dst = dst;
	op.copy.src = src;
	op.copy.bytes = bytes;
	add_op(call, &op);
}

static inline void add_upload(struct call *call, uint64_t dst, const void *data, uint64_t bytes)
{
	struct kgb_op op = {.kind = KGB_OP_UPLOAD};

	op.upload.dst = dst;
	op.upload.data = data;
	op.upload.bytes = bytes;
	add_op(call, &op);
}

static inline void add_download(struct call *call, uint64_t src, uint64_t bytes)
{
	struct kgb_op op = {.kind = KGB_OP_DOWNLOAD};

	op.download.src = src;
	op.download.bytes = bytes;
	add_op(call, &op);
}

/** An event op, a SYNC, or an UNSUPPORTED one. */
static inline void add_plain(struct call *call, enum kgb_op_kind kind, uint64_t stream,
			     uint64_t event)
{
	struct kgb_op op = {.kind = kind, .stream = stream};

	if (kind == KGB_OP_UNSUPPORTED)
		op.why = "cuGraphLaunch: a graph with a host node";
	else if (kind != KGB_OP_SYNC)
		op.event = event;
	add_op(call, &op);
}

#endif
