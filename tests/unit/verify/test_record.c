/* SPDX-License-Identifier: MIT */
#include "verify/protocol/record.h"

#include "tests/fuzz/fuzz_record.h"
#include "tests/unit/base/support.h"
#include "verify/protocol/record_format.h"

static const unsigned char some_params[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static struct kgb_op launch_op(const char *kernel)
{
	struct kgb_op op = {.kind = KGB_OP_LAUNCH, .stream = 7};

	op.launch = (struct kgb_launch){
		.image = 5,
		.kernel = kernel,
		.grid = {1, 2, 3},
		.block = {128, 1, 1},
		.shared_bytes = 4096,
		.carveout = -1,
		.n_attrs = 1,
		.attrs = {{.id = 4, .value = {2, 0, 0, 0, 1, 0, 0, 0, 1}}},
		.params = some_params,
		.params_bytes = sizeof(some_params),
	};
	return op;
}

static struct kgb_op memset_op(void)
{
	struct kgb_op op = {.kind = KGB_OP_MEMSET};

	op.memset.dst = KGB_POOL_ADDRESS;
	op.memset.pitch = 512;
	op.memset.value = 0xabcd;
	op.memset.element_bytes = 2;
	op.memset.width = 100;
	op.memset.height = 3;
	return op;
}

static struct kgb_op plain_op(enum kgb_op_kind kind)
{
	static const unsigned char data[] = "payload";
	struct kgb_op op = {.kind = kind, .stream = 9};

	switch (kind) {
	case KGB_OP_LAUNCH:
		return launch_op("k");
	case KGB_OP_MEMSET:
		return memset_op();
	case KGB_OP_COPY:
		op.copy.dst = 1;
		op.copy.src = 2;
		op.copy.bytes = 3;
		break;
	case KGB_OP_UPLOAD:
		op.upload.dst = 4;
		op.upload.bytes = sizeof(data);
		op.upload.data = data;
		break;
	case KGB_OP_DOWNLOAD:
		op.download.src = 5;
		op.download.bytes = 6;
		break;
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
		op.event = UINT64_MAX;
		break;
	case KGB_OP_REPLACES:
		op.n_replaced = 7;
		break;
	case KGB_OP_UNSUPPORTED:
		op.why = "cuGraphLaunch";
		break;
	case KGB_OP_SYNC:
	case KGB_N_OP_KINDS:
		break;
	}
	return op;
}

/* Every kind of op, blocks out of order and twice, images out of order, two windows. */
static void put_good(struct kgb_buf *out)
{
	const struct kgb_block blocks[] = {
		{.address = 0x9000, .bytes = 10},
		{.address = 0x1000, .bytes = 20, .foreign = true},
		{.address = 0x9000, .bytes = 10, .before = true},
	};

	kgb_record_put_header(out);
	kgb_record_put_image(out, 9, "nine", 4);
	kgb_record_put_window_begin(out, 3);
	for (int kind = 0; kind < KGB_N_OP_KINDS; kind++) {
		const struct kgb_op op = plain_op((enum kgb_op_kind)kind);
		kgb_record_put_op(out, &op);
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++)
		kgb_record_put_block(out, &blocks[i]);
	kgb_record_put_window_end(out);
	kgb_record_put_window_begin(out, 0);
	kgb_record_put_window_end(out);
	kgb_record_put_image(out, 5, "image five", 10);
}

/* Images have megabytes, and several parts of the judge ask for their digests. */
static void test_the_digest_of_an_image_is_made_once(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;
	char right[KGB_SHA256_HEX_LEN], got[KGB_SHA256_HEX_LEN];

	(void)state;
	put_good(&bytes);
	assert_ok(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), err);
	const struct kgb_image *image = kgb_record_image(&record, 9);
	const struct kgb_image copy = {.bytes = image->bytes, .len = image->len};
	kgb_sha256_hex("nine", 4, right);
	for (int round = 0; round < 2; round++) {
		kgb_image_sha256(image, got);
		assert_string_equal(got, right);
		kgb_image_sha256(&copy, got); /* keeps none */
		assert_int_equal(strcmp(got, right) == 0, round == 0);
		if (round == 0)
			memcpy(memmem(bytes.ptr, bytes.len, "nine", 4), "five", 4);
	}
	kgb_image_sha256(kgb_record_image(&record, 5), got);
	kgb_sha256_hex("image five", 10, right);
	assert_string_equal(got, right);
	kgb_record_release(&record);
}

static void test_what_is_written_is_read(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	put_good(&bytes);
	assert_int_equal(bytes.len % KGB_RECORD_ALIGN, 0);
	assert_ok(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), err);
	assert_int_equal(record.n_windows, 2);
	assert_int_equal(record.n_images, 2);
	assert_int_equal(record.images[0].id, 5);
	assert_memory_equal(kgb_record_image(&record, 9)->bytes, "nine", 4);
	assert_int_equal(kgb_record_image(&record, 9)->len, 4);
	assert_null(kgb_record_image(&record, 6));
	assert_null(kgb_record_window(&record, 1));
	assert_int_equal(kgb_record_window(&record, 0)->n_ops, 0);

	const struct kgb_window *window = kgb_record_window(&record, 3);
	assert_int_equal(window->n_blocks, 2);
	assert_true(window->blocks[0].address == 0x1000 && window->blocks[0].foreign &&
		    !window->blocks[0].before);
	assert_true(window->blocks[1].address == 0x9000 && window->blocks[1].bytes == 10 &&
		    !window->blocks[1].foreign && window->blocks[1].before &&
		    window->blocks[1].again);

	assert_int_equal(window->n_ops, KGB_N_OP_KINDS);
	const struct kgb_op *ops = window->ops;
	const struct kgb_launch *launch = &ops[KGB_OP_LAUNCH].launch;
	assert_true(ops[KGB_OP_LAUNCH].stream == 7 && ops[KGB_OP_COPY].stream == 9);
	assert_string_equal(launch->kernel, "k");
	assert_true(launch->image == 5 && launch->grid[0] == 1 && launch->grid[1] == 2 &&
		    launch->grid[2] == 3 && launch->block[0] == 128 && launch->block[2] == 1);
	assert_true(launch->shared_bytes == 4096 && launch->carveout == -1 && launch->n_attrs == 1);
	assert_true(launch->attrs[0].id == 4 && launch->attrs[0].value[8] == 1);
	assert_int_equal(launch->params_bytes, sizeof(some_params));
	assert_memory_equal(launch->params, some_params, sizeof(some_params));
	assert_int_equal((launch->params - (const unsigned char *)bytes.ptr) % 8, 0);
	const struct kgb_op *set = &ops[KGB_OP_MEMSET];
	assert_true(set->memset.dst == KGB_POOL_ADDRESS && set->memset.pitch == 512 &&
		    set->memset.value == 0xabcd && set->memset.element_bytes == 2 &&
		    set->memset.width == 100 && set->memset.height == 3);
	assert_true(ops[KGB_OP_COPY].copy.dst == 1 && ops[KGB_OP_COPY].copy.src == 2 &&
		    ops[KGB_OP_COPY].copy.bytes == 3);
	assert_true(ops[KGB_OP_UPLOAD].upload.dst == 4 && ops[KGB_OP_UPLOAD].upload.bytes == 8);
	assert_memory_equal(ops[KGB_OP_UPLOAD].upload.data, "payload", 8);
	assert_true(ops[KGB_OP_DOWNLOAD].download.src == 5 &&
		    ops[KGB_OP_DOWNLOAD].download.bytes == 6);
	assert_true(ops[KGB_OP_EVENT_RECORD].event == UINT64_MAX &&
		    ops[KGB_OP_EVENT_WAIT].event == UINT64_MAX);
	assert_string_equal(ops[KGB_OP_UNSUPPORTED].why, "cuGraphLaunch");
	kgb_record_release(&record);
	kgb_record_release(&record);
	kgb_record_release(NULL);
}

static void test_a_record_written_again_is_read_alike(void **state)
{
	KGB_AUTO(buf) struct kgb_buf first = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf second = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf third = KGB_BUF_INIT(0);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	put_good(&first);
	assert_ok(kgb_record_parse(first.ptr, first.len, &record, &err), err);
	rewrite_record(&record, &second);
	kgb_record_release(&record);
	assert_ok(kgb_record_parse(second.ptr, second.len, &record, &err), err);
	rewrite_record(&record, &third);
	kgb_record_release(&record);
	assert_int_equal(second.len, third.len);
	assert_memory_equal(second.ptr, third.ptr, second.len);
}

static void test_a_record_cut_anywhere_is_refused_or_lacks_what_was_cut(void **state)
{
	KGB_AUTO(buf) struct kgb_buf whole = KGB_BUF_INIT(0);
	size_t n_accepted = 0;

	(void)state;
	put_good(&whole);
	for (size_t len = 0; len < whole.len; len++) {
		struct kgb_record record = {.n_windows = 77};
		struct kgb_err err = KGB_ERR_INIT;
		/* Its own allocation, so that reading beyond it is seen. */
		char *cut = kgb_xmalloc(len);
		memcpy(cut, whole.ptr, len);
		if (kgb_record_parse(cut, len, &record, &err) == 0) {
			/* After the header and after the first image: no window yet. Later ones
			 * launch from an image that comes last. */
			assert_int_equal(record.n_windows, 0);
			n_accepted++;
			kgb_record_release(&record);
		} else {
			assert_int_equal(err.kind, KGB_ERR_INVALID);
			assert_contains(err.msg, "record at byte ");
			assert_int_equal(record.n_windows, 77);
		}
		kgb_free(cut);
	}
	assert_int_equal(n_accepted, 2);
}

/* --- hostile records --- */

static void put_chunk(struct kgb_buf *out, uint32_t tag, const void *payload, size_t len)
{
	static const char zeros[KGB_RECORD_ALIGN];
	const struct kgb_chunk_header header = {tag, (uint32_t)len};

	kgb_buf_add(out, &header, sizeof(header));
	kgb_buf_add(out, payload, len);
	kgb_buf_add(out, zeros, -len % KGB_RECORD_ALIGN);
}

/* An op with any bytes as its body. */
static void put_raw_op(struct kgb_buf *out, uint32_t kind, const void *body, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf payload = KGB_BUF_INIT(0);
	const struct kgb_chunk_op head = {.kind = kind};

	kgb_buf_add(&payload, &head, sizeof(head));
	kgb_buf_add(&payload, body, len);
	put_chunk(out, KGB_CHUNK_OP, payload.ptr, payload.len);
}

static void put_raw_launch(struct kgb_buf *out, const struct kgb_launch *launch, const void *rest,
			   size_t len)
{
	KGB_AUTO(buf) struct kgb_buf body = KGB_BUF_INIT(0);

	kgb_buf_add(&body, launch, kgb_op_head_bytes(KGB_OP_LAUNCH));
	kgb_buf_add(&body, rest, len);
	put_raw_op(out, KGB_OP_LAUNCH, body.ptr, body.len);
}

static void put_name(struct kgb_buf *out, const char *name, size_t len)
{
	const struct kgb_launch launch = {.image = 1, .name_bytes = (uint32_t)len};

	put_raw_launch(out, &launch, name, len);
}

static void image_twice(struct kgb_buf *out)
{
	kgb_record_put_window_end(out);
	kgb_record_put_image(out, 1, "again", 5);
	kgb_record_put_window_begin(out, 2);
}
static void image_empty(struct kgb_buf *out)
{
	kgb_record_put_image(out, 2, "", 0);
}
static void image_missing(struct kgb_buf *out)
{
	const struct kgb_op op = launch_op("k");
	kgb_record_put_op(out, &op);
}
static void image_flags(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_IMAGE, "\2\0\0\0\1\0\0\0x", 9);
}
static void image_short(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_IMAGE, "\2", 1);
}
static void same_number(struct kgb_buf *out)
{
	kgb_record_put_window_end(out);
	kgb_record_put_window_begin(out, 1);
}
static void nested(struct kgb_buf *out)
{
	kgb_record_put_window_begin(out, 2);
}
static void end_twice(struct kgb_buf *out)
{
	kgb_record_put_window_end(out);
}
static void op_outside(struct kgb_buf *out)
{
	const struct kgb_op op = plain_op(KGB_OP_SYNC);
	kgb_record_put_window_end(out);
	kgb_record_put_op(out, &op);
	kgb_record_put_window_begin(out, 2);
}
static void block_outside(struct kgb_buf *out)
{
	const struct kgb_block block = {.address = 1};
	kgb_record_put_window_end(out);
	kgb_record_put_block(out, &block);
	kgb_record_put_window_begin(out, 2);
}
static void end_with_bytes(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_WINDOW_END, "x", 1);
	kgb_record_put_window_begin(out, 2);
}
static void window_long(struct kgb_buf *out)
{
	kgb_record_put_window_end(out);
	put_chunk(out, KGB_CHUNK_WINDOW_BEGIN, "\2\0\0\0\0\0\0\0\0", 9);
}
static void window_flags(struct kgb_buf *out)
{
	kgb_record_put_window_end(out);
	put_chunk(out, KGB_CHUNK_WINDOW_BEGIN, "\2\0\0\0\1\0\0\0", 8);
}
static void tag_unknown(struct kgb_buf *out)
{
	put_chunk(out, 99, "", 0);
}
static void tag_zero(struct kgb_buf *out)
{
	put_chunk(out, 0, "", 0);
}
static void chunk_beyond(struct kgb_buf *out)
{
	const struct kgb_chunk_header header = {KGB_CHUNK_OP, UINT32_MAX};
	kgb_buf_add(out, &header, sizeof(header));
}
static void padding_dirty(struct kgb_buf *out)
{
	put_raw_op(out, KGB_OP_UNSUPPORTED, "x", 2);
	out->ptr[out->len - 1] = 1;
}
static void op_unknown(struct kgb_buf *out)
{
	put_raw_op(out, KGB_N_OP_KINDS, "", 0);
}
static void op_flags(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_OP, "\7\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0", 16);
}
static void op_short(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_OP, "\7\0\0\0", 4);
}
static void sync_long(struct kgb_buf *out)
{
	put_raw_op(out, KGB_OP_SYNC, "x", 1);
}
static void event_short(struct kgb_buf *out)
{
	put_raw_op(out, KGB_OP_EVENT_WAIT, "1234567", 7);
}
static void copy_short(struct kgb_buf *out)
{
	put_raw_op(out, KGB_OP_COPY, "12345678", 8);
}
static void download_long(struct kgb_buf *out)
{
	put_raw_op(out, KGB_OP_DOWNLOAD, "12345678123456789", 17);
}
static void memset_elements(struct kgb_buf *out)
{
	struct kgb_op op = memset_op();
	op.memset.element_bytes = 8;
	kgb_record_put_op(out, &op);
}
static void memset_of_three(struct kgb_buf *out)
{
	struct kgb_op op = memset_op();
	op.memset.element_bytes = 3;
	kgb_record_put_op(out, &op);
}
static void upload_less(struct kgb_buf *out)
{
	const uint64_t body[] = {1, 1};
	put_raw_op(out, KGB_OP_UPLOAD, body, sizeof(body));
}
static void upload_more(struct kgb_buf *out)
{
	const uint64_t body[] = {1, 1, 0, 0};
	put_raw_op(out, KGB_OP_UPLOAD, body, sizeof(body));
}
static void upload_overflow(struct kgb_buf *out)
{
	const uint64_t body[] = {1, UINT64_MAX - 7};
	put_raw_op(out, KGB_OP_UPLOAD, body, sizeof(body));
}
static void launch_attrs(struct kgb_buf *out)
{
	const struct kgb_launch launch = {.image = 1, .n_attrs = KGB_LAUNCH_ATTRS_MAX + 1};
	put_raw_launch(out, &launch, "", 0);
}
static void launch_attrs_overflow(struct kgb_buf *out)
{
	/* 68 times this is 4 modulo 2^32. */
	const struct kgb_launch launch = {.image = 1, .n_attrs = 0xc3c3c3c5, .name_bytes = 2};
	put_raw_launch(out, &launch, "k", 2);
}
static void launch_attrs_missing(struct kgb_buf *out)
{
	const struct kgb_launch launch = {.image = 1, .n_attrs = 1, .name_bytes = 2};
	put_raw_launch(out, &launch, "k", 2);
}
static void launch_params(struct kgb_buf *out)
{
	const struct kgb_launch launch = {.image = 1, .params_bytes = KGB_LAUNCH_PARAMS_MAX + 1};
	static const char zeros[KGB_LAUNCH_PARAMS_MAX + 1];
	put_raw_launch(out, &launch, zeros, sizeof(zeros));
}
static void launch_params_missing(struct kgb_buf *out)
{
	const struct kgb_launch launch = {.image = 1, .params_bytes = 8, .name_bytes = 2};
	put_raw_launch(out, &launch, "k", 2);
}
static void launch_tail(struct kgb_buf *out)
{
	const struct kgb_launch launch = {.image = 1, .name_bytes = 2};
	put_raw_launch(out, &launch, "k\0x", 3);
}
static void name_empty(struct kgb_buf *out)
{
	put_name(out, "", 1);
}
static void name_none(struct kgb_buf *out)
{
	put_name(out, "", 0);
}
static void name_inner_nul(struct kgb_buf *out)
{
	put_name(out, "a\0b", 4);
}
static void name_no_nul(struct kgb_buf *out)
{
	put_name(out, "abc", 3);
}
static void name_control(struct kgb_buf *out)
{
	put_name(out, "a\033[2J", 6);
}
static void name_delete(struct kgb_buf *out)
{
	put_name(out, "a\177", 3);
}
static void name_high(struct kgb_buf *out)
{
	put_name(out, "a\303\244", 4);
}
static void name_long(struct kgb_buf *out)
{
	char name[KGB_KERNEL_NAME_MAX + 1];
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	put_name(out, name, sizeof(name));
}
static void name_overflow(struct kgb_buf *out)
{
	const struct kgb_launch launch = {.image = 1, .name_bytes = UINT32_MAX};
	put_raw_launch(out, &launch, "k", 2);
}
static void why_control(struct kgb_buf *out)
{
	put_raw_op(out, KGB_OP_UNSUPPORTED, "line\n", 6);
}
static void block_flags(struct kgb_buf *out)
{
	const struct kgb_chunk_block block = {.bytes = 1, .flags = 8};
	put_chunk(out, KGB_CHUNK_BLOCK, &block, sizeof(block));
}
static void block_short(struct kgb_buf *out)
{
	put_chunk(out, KGB_CHUNK_BLOCK, "12345678", 8);
}

static void test_hostile_records_are_refused(void **state)
{
	static const struct {
		void (*put)(struct kgb_buf *out); /* between the begin and the end of window 1 */
		const char *message;
	} cases[] = {
		{image_twice, "two images 1"},
		{image_empty, "image 2 of 0 bytes"},
		{image_missing, "window 1, op 0: there is no image 5"},
		{image_flags, "image 2 of 1 bytes"},
		{image_short, "too short for an image"},
		{same_number, "two windows 1"},
		{nested, "a window inside a window"},
		{end_twice, "not inside a window"},
		{op_outside, "not inside a window"},
		{block_outside, "not inside a window"},
		{end_with_bytes, "the end of a window has 1 bytes"},
		{window_long, "1 bytes follow a window"},
		{window_flags, "unknown flags of a window"},
		{tag_unknown, "unknown chunk 99"},
		{tag_zero, "unknown chunk 0"},
		{chunk_beyond, "a chunk of 4294967295 bytes, but 8 are left"},
		{padding_dirty, "padding is not zero"},
		{op_unknown, "unknown op 10"},
		{op_flags, "unknown op 7"},
		{op_short, "too short for an op"},
		{sync_long, "1 bytes follow an op"},
		{event_short, "too short for event wait"},
		{copy_short, "too short for copy"},
		{download_long, "1 bytes follow an op"},
		{memset_elements, "memset of elements of 8 bytes"},
		{memset_of_three, "memset of elements of 3 bytes"},
		{upload_less, "an upload of 1 bytes has 0"},
		{upload_more, "an upload of 1 bytes has 16"},
		{upload_overflow, "an upload of 18446744073709551608 bytes has 0"},
		{launch_attrs, "9 launch attributes"},
		{launch_attrs_overflow, "3284386757 launch attributes"},
		{launch_attrs_missing, "too short for its attributes"},
		{launch_params, ": 32769 bytes of parameters"},
		{launch_params_missing, "too short for 8 bytes of parameters"},
		{launch_tail, "1 bytes follow an op"},
		{name_empty, "the name of a kernel has 1 bytes"},
		{name_none, "the name of a kernel has 0 bytes"},
		{name_inner_nul, "the name of a kernel has byte 0x00"},
		{name_no_nul, "the name of a kernel does not end with NUL"},
		{name_control, "the name of a kernel has byte 0x1b"},
		{name_delete, "the name of a kernel has byte 0x7f"},
		{name_high, "the name of a kernel has byte 0xc3"},
		{name_long, "the name of a kernel has 4097 bytes"},
		{name_overflow, "too short for the name of a kernel"},
		{why_control, "a reason has byte 0x0a"},
		{block_flags, "unknown flags 0x8 of a block"},
		{block_short, "too short for a block"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
		struct kgb_record record;
		struct kgb_err err = KGB_ERR_INIT;
		kgb_record_put_header(&bytes);
		kgb_record_put_image(&bytes, 1, "image", 5);
		kgb_record_put_window_begin(&bytes, 1);
		cases[i].put(&bytes);
		kgb_record_put_window_end(&bytes);
		if (kgb_record_parse(bytes.ptr, bytes.len, &record, &err) == 0)
			fail_msg("accepted, but: %s", cases[i].message);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_contains(err.msg, cases[i].message);
	}
}

static void test_headers_and_open_ends_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *message;
	} cases[] = {
		{"", 0, "record at byte 0: 0 bytes are shorter than the header"},
		{"KGRC\1\0\0", 7, "record at byte 0: 7 bytes are shorter than the header"},
		{"KGRD\1\0\0\0", 8, "record at byte 0: no record"},
		{"KGRC\2\0\0\0", 8, "record at byte 4: version 2, not 1"},
		{"KGRC\1\0\0\0abc", 11, "record at byte 8: 3 bytes are no chunk"},
		{"KGRC\1\0\0\0\2\0\0\0\x8\0\0\0\1\0\0\0\0\0\0\0", 24,
		 "record at byte 24: the last window has no end"},
		/* The padding, not only the payload, must be there. */
		{"KGRC\1\0\0\0\1\0\0\0\x9\0\0\0\1\0\0\0\0\0\0\0x", 25,
		 "record at byte 8: a chunk of 9 bytes, but 9 are left"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_record record;
		struct kgb_err err = KGB_ERR_INIT;
		assert_fails(kgb_record_parse(cases[i].bytes, cases[i].len, &record, &err), err,
			     cases[i].message);
	}
}

/* `n` times one thing, the last time one too many. */
static void assert_limit(size_t n, void (*put)(struct kgb_buf *out, uint32_t i), bool inside,
			 const char *message)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;

	kgb_record_put_header(&bytes);
	if (inside)
		kgb_record_put_window_begin(&bytes, 0);
	for (uint32_t i = 0; i < n; i++)
		put(&bytes, i);
	const size_t all = bytes.len;
	if (inside)
		kgb_record_put_window_end(&bytes);
	assert_ok(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), err);
	kgb_record_release(&record);

	kgb_buf_truncate(&bytes, all);
	put(&bytes, (uint32_t)n);
	if (inside)
		kgb_record_put_window_end(&bytes);
	assert_int_equal(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), -1);
	assert_contains(err.msg, message);
}

static void put_nth_window(struct kgb_buf *out, uint32_t i)
{
	kgb_record_put_window_begin(out, i);
	kgb_record_put_window_end(out);
}

static void put_nth_image(struct kgb_buf *out, uint32_t i)
{
	kgb_record_put_image(out, i, "x", 1);
}

static void put_nth_op(struct kgb_buf *out, uint32_t i)
{
	const struct kgb_op op = {.kind = KGB_OP_SYNC, .stream = i};

	kgb_record_put_op(out, &op);
}

static void put_nth_block(struct kgb_buf *out, uint32_t i)
{
	const struct kgb_block block = {.address = i, .bytes = 1};

	kgb_record_put_block(out, &block);
}

static void test_counts_are_limited(void **state)
{
	(void)state;
	assert_limit(KGB_RECORD_WINDOWS_MAX, put_nth_window, false, "over 64 windows");
	assert_limit(KGB_RECORD_IMAGES_MAX, put_nth_image, false, "over 1024 images");
	assert_limit(KGB_RECORD_OPS_MAX, put_nth_op, true, "over 65536 ops");
	assert_limit(KGB_RECORD_BLOCKS_MAX, put_nth_block, true, "over 65536 blocks");
}

static void test_sizes_are_limited(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(0);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;
	char *image = kgb_xcalloc(1, KGB_RECORD_IMAGE_BYTES_MAX + 1);

	(void)state;
	kgb_record_put_header(&bytes);
	kgb_record_put_image(&bytes, 1, image, KGB_RECORD_IMAGE_BYTES_MAX);
	assert_ok(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), err);
	kgb_record_release(&record);
	kgb_buf_clear(&bytes);
	kgb_record_put_header(&bytes);
	kgb_record_put_image(&bytes, 1, image, KGB_RECORD_IMAGE_BYTES_MAX + 1);
	assert_fails(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), err,
		     "record at byte 8: image 1 of 67108865 bytes");
	/* The length alone decides: nothing behind it is read. */
	assert_fails(kgb_record_parse(bytes.ptr, (size_t)KGB_RECORD_BYTES_MAX + 1, &record, &err),
		     err, "record at byte 0: 268435457 bytes are over the limit of 268435456");
	kgb_free(image);
}

static void test_what_does_not_fit_is_not_written_in_part(void **state)
{
	KGB_AUTO(buf) struct kgb_buf bytes = KGB_BUF_INIT(64);
	struct kgb_record record;
	struct kgb_err err = KGB_ERR_INIT;
	const char image[40] = "x";

	(void)state;
	kgb_record_put_header(&bytes);
	kgb_record_put_image(&bytes, 1, image, 10);
	const size_t before = bytes.len;
	kgb_record_put_image(&bytes, 2, image, sizeof(image));
	assert_true(bytes.overflowed);
	assert_int_equal(bytes.len, before);
	kgb_record_put_image(&bytes, 3, image, 1);
	assert_ok(kgb_record_parse(bytes.ptr, bytes.len, &record, &err), err);
	assert_int_equal(record.n_images, 2);
	kgb_record_release(&record);
}

static void test_every_kind_of_op_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(kgb_op_kind_name(KGB_OP_LAUNCH), "launch");
	for (int kind = 0; kind < KGB_N_OP_KINDS; kind++)
		assert_true(strlen(kgb_op_kind_name((enum kgb_op_kind)kind)) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_the_digest_of_an_image_is_made_once),
		cmocka_unit_test(test_a_record_written_again_is_read_alike),
		cmocka_unit_test(test_a_record_cut_anywhere_is_refused_or_lacks_what_was_cut),
		cmocka_unit_test(test_hostile_records_are_refused),
		cmocka_unit_test(test_headers_and_open_ends_are_refused),
		cmocka_unit_test(test_counts_are_limited),
		cmocka_unit_test(test_sizes_are_limited),
		cmocka_unit_test(test_what_does_not_fit_is_not_written_in_part),
		cmocka_unit_test(test_every_kind_of_op_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
