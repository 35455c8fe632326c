/* SPDX-License-Identifier: MIT */
/* Two passes over untrusted bytes: the first counts chunks and checks the limits, the second
 * decodes into arrays of that size. */
#include "verify/protocol/record.h"

#include <stdlib.h>
#include <string.h>

#include "verify/protocol/record_format.h"

struct chunk {
	uint32_t tag;
	uint32_t bytes;
	const unsigned char *payload;
	size_t at; /* offset of its header */
};

struct reader {
	const unsigned char *bytes;
	size_t len, at;
};

/* INVALID, and -1 visible to the static analyzer. */
#define bad(err, at, ...) (set_bad((err), (at), __VA_ARGS__), -1)

KGB_PRINTF(3, 4)
static void set_bad(struct kgb_err *err, size_t at, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kgb_fail(err, KGB_ERR_INVALID, "record at byte %zu: %s", at, text);
}

static int read_header(struct reader *in, struct kgb_err *err)
{
	struct kgb_record_header header;

	if (in->len > KGB_RECORD_BYTES_MAX)
		return bad(err, 0, "%zu bytes are over the limit of %u", in->len,
			   KGB_RECORD_BYTES_MAX);
	if (in->len < sizeof(header))
		return bad(err, 0, "%zu bytes are shorter than the header", in->len);
	memcpy(&header, in->bytes, sizeof(header));
	if (header.magic != KGB_RECORD_MAGIC)
		return bad(err, 0, "no record");
	if (header.version != KGB_RECORD_VERSION)
		return bad(err, 4, "version %u, not %d", header.version, KGB_RECORD_VERSION);
	in->at = sizeof(header);
	return 0;
}

/* Reads the next chunk. 1: there is one; 0: the end of the record; -1: an error. */
static int next_chunk(struct reader *in, struct chunk *out, struct kgb_err *err)
{
	struct kgb_chunk_header header;
	size_t left = in->len - in->at;

	if (left == 0)
		return 0;
	if (left < sizeof(header))
		return bad(err, in->at, "%zu bytes are no chunk", left);
	memcpy(&header, in->bytes + in->at, sizeof(header));
	left -= sizeof(header);
	const size_t padding = -(size_t)header.bytes % KGB_RECORD_ALIGN;
	if (header.bytes > left || padding > left - header.bytes)
		return bad(err, in->at, "a chunk of %u bytes, but %zu are left", header.bytes,
			   left);
	*out = (struct chunk){
		.tag = header.tag,
		.bytes = header.bytes,
		.payload = in->bytes + in->at + sizeof(header),
		.at = in->at,
	};
	for (size_t i = 0; i < padding; i++) {
		if (out->payload[header.bytes + i] != 0)
			return bad(err, in->at, "padding is not zero");
	}
	in->at += sizeof(header) + header.bytes + padding;
	return 1;
}

/* --- first pass --- */

static int count_chunks(struct reader in, size_t n[KGB_N_CHUNKS], struct kgb_err *err)
{
	static const struct {
		size_t most;
		const char *what;
	} limits[KGB_N_CHUNKS] = {
		[KGB_CHUNK_IMAGE] = {KGB_RECORD_IMAGES_MAX, "images"},
		[KGB_CHUNK_WINDOW_BEGIN] = {KGB_RECORD_WINDOWS_MAX, "windows"},
		[KGB_CHUNK_WINDOW_END] = {KGB_RECORD_WINDOWS_MAX + 1, "ends of windows"},
		[KGB_CHUNK_BLOCK] = {KGB_RECORD_BLOCKS_MAX, "blocks"},
		[KGB_CHUNK_OP] = {KGB_RECORD_OPS_MAX, "ops"},
	};
	struct chunk chunk;
	int more;

	while ((more = next_chunk(&in, &chunk, err)) > 0) {
		if (chunk.tag >= KGB_N_CHUNKS || !limits[chunk.tag].what)
			return bad(err, chunk.at, "unknown chunk %u", chunk.tag);
		if (n[chunk.tag]++ == limits[chunk.tag].most)
			return bad(err, chunk.at, "over %zu %s", limits[chunk.tag].most,
				   limits[chunk.tag].what);
	}
	return more;
}

/* --- second pass --- */

/* A payload of which pieces are taken from the front. */
struct cursor {
	const struct chunk *chunk;
	size_t at;
};

static size_t left_of(const struct cursor *in)
{
	return in->chunk->bytes - in->at;
}

/* The next `len` bytes in place, NULL when there are fewer. */
static const unsigned char *take(struct cursor *in, size_t len)
{
	if (len > left_of(in))
		return NULL;
	const unsigned char *at = in->chunk->payload + in->at;
	in->at += len;
	return at;
}

static int take_struct(struct cursor *in, void *out, size_t len, const char *what,
		       struct kgb_err *err)
{
	const unsigned char *bytes = take(in, len);

	if (!bytes)
		return bad(err, in->chunk->at, "too short for %s", what);
	memcpy(out, bytes, len);
	return 0;
}

static int end_of(const struct cursor *in, const char *what, struct kgb_err *err)
{
	if (left_of(in) != 0)
		return bad(err, in->chunk->at, "%zu bytes follow %s", left_of(in), what);
	return 0;
}

/* `len` bytes that are printable ASCII and end with the only NUL. */
static int take_text(struct cursor *in, size_t len, const char *what, const char **out,
		     struct kgb_err *err)
{
	const char *text = (const char *)take(in, len);

	if (!text)
		return bad(err, in->chunk->at, "too short for %s", what);
	if (len < 2 || len > KGB_KERNEL_NAME_MAX)
		return bad(err, in->chunk->at, "%s has %zu bytes", what, len);
	if (text[len - 1] != '\0')
		return bad(err, in->chunk->at, "%s does not end with NUL", what);
	for (size_t i = 0; i < len - 1; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			return bad(err, in->chunk->at, "%s has byte 0x%02x", what,
				   (unsigned)(unsigned char)text[i]);
	}
	*out = text;
	return 0;
}

static int decode_launch(struct cursor *in, struct kgb_launch *out, struct kgb_err *err)
{
	if (out->n_attrs > KGB_LAUNCH_ATTRS_MAX)
		return bad(err, in->chunk->at, "%u launch attributes", out->n_attrs);
	if (out->params_bytes > KGB_LAUNCH_PARAMS_MAX)
		return bad(err, in->chunk->at, "%u bytes of parameters", out->params_bytes);
	out->params = take(in, out->params_bytes);
	if (!out->params)
		return bad(err, in->chunk->at, "too short for %u bytes of parameters",
			   out->params_bytes);
	if (take_struct(in, out->attrs, out->n_attrs * sizeof(out->attrs[0]), "its attributes",
			err) < 0)
		return -1;
	return take_text(in, out->name_bytes, "the name of a kernel", &out->kernel, err);
}

/* The part after the head of an op, with checks of its values. */
static int decode_rest(struct cursor *in, struct kgb_op *out, struct kgb_err *err)
{
	if (out->kind == KGB_OP_LAUNCH)
		return decode_launch(in, &out->launch, err);
	if (out->kind == KGB_OP_UNSUPPORTED)
		return take_text(in, left_of(in), "a reason", &out->why, err);
	if (out->kind == KGB_OP_MEMSET && out->memset.element_bytes != 1 &&
	    out->memset.element_bytes != 2 && out->memset.element_bytes != 4)
		return bad(err, in->chunk->at, "memset of elements of %u bytes",
			   out->memset.element_bytes);
	if (out->kind == KGB_OP_UPLOAD) {
		if (out->upload.bytes != left_of(in))
			return bad(err, in->chunk->at, "an upload of %llu bytes has %zu",
				   (unsigned long long)out->upload.bytes, left_of(in));
		out->upload.data = take(in, left_of(in));
	}
	return 0;
}

static int decode_op(const struct chunk *chunk, struct kgb_op *out, struct kgb_err *err)
{
	struct cursor in = {.chunk = chunk};
	struct kgb_chunk_op head;

	if (take_struct(&in, &head, sizeof(head), "an op", err) < 0)
		return -1;
	if (head.kind >= KGB_N_OP_KINDS || head.zero != 0)
		return bad(err, chunk->at, "unknown op %u", head.kind);
	out->kind = (enum kgb_op_kind)head.kind;
	out->stream = head.stream;
	if (take_struct(&in, out->head, kgb_op_head_bytes(out->kind), kgb_op_kind_name(out->kind),
			err) < 0 ||
	    decode_rest(&in, out, err) < 0)
		return -1;
	return end_of(&in, "an op", err);
}

static int decode_block(const struct chunk *chunk, struct kgb_block *out, struct kgb_err *err)
{
	struct cursor in = {.chunk = chunk};
	struct kgb_chunk_block body;

	if (take_struct(&in, &body, sizeof(body), "a block", err) < 0 ||
	    end_of(&in, "a block", err) < 0)
		return -1;
	if ((body.flags & ~(KGB_BLOCK_FOREIGN | KGB_BLOCK_BEFORE | KGB_BLOCK_AGAIN)) != 0 ||
	    body.zero != 0)
		return bad(err, chunk->at, "unknown flags 0x%x of a block", body.flags);
	*out = (struct kgb_block){
		.address = body.address,
		.bytes = body.bytes,
		.foreign = (body.flags & KGB_BLOCK_FOREIGN) != 0,
		.before = (body.flags & KGB_BLOCK_BEFORE) != 0,
		.again = (body.flags & KGB_BLOCK_AGAIN) != 0,
	};
	return 0;
}

static int decode_image(const struct chunk *chunk, struct kgb_arena *arena, struct kgb_image *out,
			struct kgb_err *err)
{
	struct cursor in = {.chunk = chunk};
	struct kgb_chunk_image body;

	if (take_struct(&in, &body, sizeof(body), "an image", err) < 0)
		return -1;
	const size_t len = left_of(&in);
	if (body.zero != 0 || len == 0 || len > KGB_RECORD_IMAGE_BYTES_MAX)
		return bad(err, chunk->at, "image %u of %zu bytes", body.id, len);
	*out = (struct kgb_image){.id = body.id,
				  .bytes = take(&in, len),
				  .len = len,
				  .sha256 = kgb_arena_alloc(arena, KGB_SHA256_HEX_LEN)};
	return 0;
}

static int decode_number(const struct chunk *chunk, uint32_t *out, struct kgb_err *err)
{
	struct cursor in = {.chunk = chunk};
	struct kgb_chunk_window body;

	if (take_struct(&in, &body, sizeof(body), "a window", err) < 0 ||
	    end_of(&in, "a window", err) < 0)
		return -1;
	if (body.zero != 0)
		return bad(err, chunk->at, "unknown flags of a window");
	*out = body.number;
	return 0;
}

static int compare_images(const void *pa, const void *pb)
{
	const struct kgb_image *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return 0;
}

static int sort_images(struct kgb_record *record, struct kgb_err *err)
{
	if (record->n_images > 1)
		qsort(record->images, record->n_images, sizeof(*record->images), compare_images);
	for (size_t i = 1; i < record->n_images; i++) {
		if (record->images[i].id == record->images[i - 1].id)
			return bad(err, sizeof(struct kgb_record_header), "two images %u",
				   record->images[i].id);
	}
	return 0;
}

static int check_images(const struct kgb_record *record, struct kgb_err *err)
{
	for (size_t i = 0; i < record->n_windows; i++) {
		const struct kgb_window *window = &record->windows[i];
		for (size_t j = 0; j < window->n_ops; j++) {
			const struct kgb_op *op = &window->ops[j];
			if (op->kind == KGB_OP_LAUNCH &&
			    !kgb_record_image(record, op->launch.image))
				return bad(err, sizeof(struct kgb_record_header),
					   "window %u, op %zu: there is no image %u",
					   window->number, j, op->launch.image);
		}
	}
	return 0;
}

/* The output of the second pass. The ops of all windows are in one array, and so are their
 * blocks. */
struct filling {
	struct kgb_record *record;
	struct kgb_op *ops; /* the next free one */
	struct kgb_block *blocks; /* the next free one */
	struct kgb_window *open; /* NULL: outside windows */
};

static int begin_window(struct filling *filling, const struct chunk *chunk, struct kgb_err *err)
{
	struct kgb_record *record = filling->record;
	struct kgb_window window = {.ops = filling->ops, .blocks = filling->blocks};

	if (filling->open)
		return bad(err, chunk->at, "a window inside a window");
	if (decode_number(chunk, &window.number, err) < 0)
		return -1;
	if (kgb_record_window(record, window.number))
		return bad(err, chunk->at, "two windows %u", window.number);
	filling->open = &record->windows[record->n_windows++];
	*filling->open = window;
	return 0;
}

static int fill_chunk(struct filling *filling, const struct chunk *chunk, struct kgb_err *err)
{
	struct kgb_record *record = filling->record;
	struct kgb_window *window = filling->open;

	if (chunk->tag == KGB_CHUNK_IMAGE)
		return decode_image(chunk, &record->arena, &record->images[record->n_images++],
				    err);
	if (chunk->tag == KGB_CHUNK_WINDOW_BEGIN)
		return begin_window(filling, chunk, err);
	if (!window)
		return bad(err, chunk->at, "not inside a window");
	if (chunk->tag == KGB_CHUNK_OP) {
		window->n_ops++;
		return decode_op(chunk, filling->ops++, err);
	}
	if (chunk->tag == KGB_CHUNK_BLOCK) {
		window->n_blocks++;
		return decode_block(chunk, filling->blocks++, err);
	}
	if (chunk->bytes != 0)
		return bad(err, chunk->at, "the end of a window has %u bytes", chunk->bytes);
	window->n_blocks = kgb_blocks_sort(filling->blocks - window->n_blocks, window->n_blocks);
	filling->open = NULL;
	return 0;
}

static int fill_all(struct reader in, const size_t n[KGB_N_CHUNKS], struct kgb_record *record,
		    struct kgb_err *err)
{
	struct kgb_arena *arena = &record->arena;
	struct filling filling = {
		.record = record,
		.ops = kgb_arena_array(arena, n[KGB_CHUNK_OP], sizeof(*filling.ops)),
		.blocks = kgb_arena_array(arena, n[KGB_CHUNK_BLOCK], sizeof(*filling.blocks)),
	};
	struct chunk chunk;
	int more;

	record->images = kgb_arena_array(arena, n[KGB_CHUNK_IMAGE], sizeof(*record->images));
	while ((more = next_chunk(&in, &chunk, err)) > 0)
		if (fill_chunk(&filling, &chunk, err) < 0)
			return -1;
	if (more == 0 && filling.open)
		return bad(err, in.at, "the last window has no end");
	return more < 0 || sort_images(record, err) < 0 ? -1 : check_images(record, err);
}

int kgb_record_parse(const void *bytes, size_t len, struct kgb_record *out, struct kgb_err *err)
{
	struct reader in = {.bytes = bytes, .len = len};
	struct kgb_record record = {.arena = KGB_ARENA_INIT};
	size_t n[KGB_N_CHUNKS] = {0};

	if (read_header(&in, err) < 0 || count_chunks(in, n, err) < 0)
		return -1;
	if (fill_all(in, n, &record, err) < 0) {
		kgb_arena_release(&record.arena);
		return -1;
	}
	*out = record;
	return 0;
}

void kgb_record_release(struct kgb_record *record)
{
	if (!record)
		return;
	kgb_arena_release(&record->arena);
	*record = (struct kgb_record){.arena = KGB_ARENA_INIT};
}

const struct kgb_window *kgb_record_window(const struct kgb_record *record, uint32_t number)
{
	for (size_t i = 0; i < record->n_windows; i++) {
		if (record->windows[i].number == number)
			return &record->windows[i];
	}
	return NULL;
}

const struct kgb_image *kgb_record_image(const struct kgb_record *record, uint32_t id)
{
	const struct kgb_image key = {.id = id};

	return record->n_images == 0 ? NULL
				     : bsearch(&key, record->images, record->n_images,
					       sizeof(*record->images), compare_images);
}

void kgb_image_sha256(const struct kgb_image *image, char out[KGB_SHA256_HEX_LEN])
{
	if (image->sha256 && image->sha256[0] != '\0') {
		memcpy(out, image->sha256, KGB_SHA256_HEX_LEN);
		return;
	}
	kgb_sha256_hex(image->bytes, image->len, out);
	if (image->sha256)
		memcpy(image->sha256, out, KGB_SHA256_HEX_LEN);
}
