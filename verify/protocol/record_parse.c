/* SPDX-License-Identifier: MIT */
/* Two passes over untrusted bytes: the first finds how much there is and that chunks nest, the
 * second decodes into arrays of just that size. */
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

/* INVALID, and -1 in sight of the static analyzer. */
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

/* The next chunk: 1, 0 at the end, -1. */
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

struct survey {
	size_t n_windows, n_images, n_ops, n_blocks;
	size_t ops_of[KGB_RECORD_WINDOWS_MAX];
	size_t blocks_of[KGB_RECORD_WINDOWS_MAX];
	bool open; /* between a window's begin and end */
};

static int count(size_t *n, size_t most, const struct chunk *chunk, const char *what,
		 struct kgb_err *err)
{
	if (*n == most)
		return bad(err, chunk->at, "over %zu %s", most, what);
	++*n;
	return 0;
}

static int survey_chunk(struct survey *survey, const struct chunk *chunk, struct kgb_err *err)
{
	const size_t current = survey->n_windows - 1;

	switch (chunk->tag) {
	case KGB_CHUNK_IMAGE:
		return count(&survey->n_images, KGB_RECORD_IMAGES_MAX, chunk, "images", err);
	case KGB_CHUNK_WINDOW_BEGIN:
		if (survey->open)
			return bad(err, chunk->at, "a window inside a window");
		survey->open = true;
		return count(&survey->n_windows, KGB_RECORD_WINDOWS_MAX, chunk, "windows", err);
	case KGB_CHUNK_WINDOW_END:
	case KGB_CHUNK_BLOCK:
	case KGB_CHUNK_OP:
		break;
	default:
		return bad(err, chunk->at, "unknown chunk %u", chunk->tag);
	}
	if (!survey->open)
		return bad(err, chunk->at, "not inside a window");
	if (chunk->tag == KGB_CHUNK_OP) {
		survey->ops_of[current]++;
		return count(&survey->n_ops, KGB_RECORD_OPS_MAX, chunk, "ops", err);
	}
	if (chunk->tag == KGB_CHUNK_BLOCK) {
		survey->blocks_of[current]++;
		return count(&survey->n_blocks, KGB_RECORD_BLOCKS_MAX, chunk, "blocks", err);
	}
	if (chunk->bytes != 0)
		return bad(err, chunk->at, "the end of a window has %u bytes", chunk->bytes);
	survey->open = false;
	return 0;
}

static int survey_all(struct reader in, struct survey *survey, struct kgb_err *err)
{
	struct chunk chunk;
	int more;

	while ((more = next_chunk(&in, &chunk, err)) > 0) {
		if (survey_chunk(survey, &chunk, err) < 0)
			return -1;
	}
	if (more == 0 && survey->open)
		return bad(err, in.at, "the last window has no end");
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
	struct kgb_op_launch body;

	if (take_struct(in, &body, sizeof(body), "a launch", err) < 0)
		return -1;
	if (body.n_attrs > KGB_LAUNCH_ATTRS_MAX)
		return bad(err, in->chunk->at, "%u launch attributes", body.n_attrs);
	if (body.params_bytes > KGB_LAUNCH_PARAMS_MAX)
		return bad(err, in->chunk->at, "%u bytes of parameters", body.params_bytes);
	*out = (struct kgb_launch){
		.image = body.image,
		.shared_bytes = body.shared_bytes,
		.carveout = body.carveout,
		.n_attrs = body.n_attrs,
		.params_bytes = body.params_bytes,
	};
	memcpy(out->grid, body.grid, sizeof(out->grid));
	memcpy(out->block, body.block, sizeof(out->block));
	out->params = take(in, body.params_bytes);
	if (!out->params)
		return bad(err, in->chunk->at, "too short for %u bytes of parameters",
			   body.params_bytes);
	if (take_struct(in, out->attrs, body.n_attrs * sizeof(out->attrs[0]), "its attributes",
			err) < 0)
		return -1;
	return take_text(in, body.name_bytes, "the name of a kernel", &out->kernel, err);
}

static int decode_memset(struct cursor *in, struct kgb_op *out, struct kgb_err *err)
{
	struct kgb_op_memset body;

	if (take_struct(in, &body, sizeof(body), "a memset", err) < 0)
		return -1;
	if (body.element_bytes != 1 && body.element_bytes != 2 && body.element_bytes != 4)
		return bad(err, in->chunk->at, "memset of elements of %u bytes",
			   body.element_bytes);
	out->memset.dst = body.dst;
	out->memset.pitch = body.pitch;
	out->memset.width = body.width;
	out->memset.height = body.height;
	out->memset.value = body.value;
	out->memset.element_bytes = body.element_bytes;
	return 0;
}

static int decode_copy(struct cursor *in, struct kgb_op *out, struct kgb_err *err)
{
	struct kgb_op_copy body;

	if (take_struct(in, &body, sizeof(body), "a copy", err) < 0)
		return -1;
	out->copy.dst = body.dst;
	out->copy.src = body.src;
	out->copy.bytes = body.bytes;
	return 0;
}

static int decode_upload(struct cursor *in, struct kgb_op *out, struct kgb_err *err)
{
	struct kgb_op_upload body;

	if (take_struct(in, &body, sizeof(body), "an upload", err) < 0)
		return -1;
	if (body.bytes != left_of(in))
		return bad(err, in->chunk->at, "an upload of %llu bytes has %zu",
			   (unsigned long long)body.bytes, left_of(in));
	out->upload.dst = body.dst;
	out->upload.bytes = body.bytes;
	out->upload.data = take(in, left_of(in));
	return 0;
}

static int decode_download(struct cursor *in, struct kgb_op *out, struct kgb_err *err)
{
	struct kgb_op_upload body;

	if (take_struct(in, &body, sizeof(body), "a download", err) < 0)
		return -1;
	out->download.src = body.dst;
	out->download.bytes = body.bytes;
	return 0;
}

static int decode_body(struct cursor *in, struct kgb_op *out, struct kgb_err *err)
{
	switch (out->kind) {
	case KGB_OP_LAUNCH:
		return decode_launch(in, &out->launch, err);
	case KGB_OP_MEMSET:
		return decode_memset(in, out, err);
	case KGB_OP_COPY:
		return decode_copy(in, out, err);
	case KGB_OP_UPLOAD:
		return decode_upload(in, out, err);
	case KGB_OP_DOWNLOAD:
		return decode_download(in, out, err);
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
		return take_struct(in, &out->event, sizeof(struct kgb_op_event), "an event", err);
	case KGB_OP_SYNC:
		return 0;
	case KGB_OP_UNSUPPORTED:
		return take_text(in, left_of(in), "a reason", &out->why, err);
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
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
	if (decode_body(&in, out, err) < 0)
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

/* What the second pass fills. */
struct filling {
	struct kgb_record *record;
	struct kgb_op *ops[KGB_RECORD_WINDOWS_MAX];
	struct kgb_block *blocks[KGB_RECORD_WINDOWS_MAX];
};

static int fill_window(struct kgb_record *record, const struct chunk *chunk, struct kgb_err *err)
{
	struct kgb_window *window = &record->windows[record->n_windows];

	if (decode_number(chunk, &window->number, err) < 0)
		return -1;
	if (kgb_record_window(record, window->number))
		return bad(err, chunk->at, "two windows %u", window->number);
	record->n_windows++;
	return 0;
}

static int fill_chunk(struct filling *filling, const struct chunk *chunk, struct kgb_err *err)
{
	struct kgb_record *record = filling->record;

	if (chunk->tag == KGB_CHUNK_IMAGE)
		return decode_image(chunk, &record->arena, &record->images[record->n_images++],
				    err);
	if (chunk->tag == KGB_CHUNK_WINDOW_BEGIN)
		return fill_window(record, chunk, err);
	if (chunk->tag == KGB_CHUNK_WINDOW_END)
		return 0;

	const size_t current = record->n_windows - 1;
	struct kgb_window *window = &record->windows[current];
	if (chunk->tag == KGB_CHUNK_OP)
		return decode_op(chunk, &filling->ops[current][window->n_ops++], err);
	return decode_block(chunk, &filling->blocks[current][window->n_blocks++], err);
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

/* Sorted, and one of those that were freed and made again alike. Returns how many are left. */
static size_t sort_blocks(struct kgb_block *blocks, size_t n)
{
	size_t kept = 0;

	if (n > 1)
		qsort(blocks, n, sizeof(*blocks), compare_blocks);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && compare_blocks(&blocks[kept - 1], &blocks[i]) == 0)
			kgb_block_merge(&blocks[kept - 1], &blocks[i]);
		else
			blocks[kept++] = blocks[i];
	}
	return kept;
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

static int fill_all(struct reader in, const struct survey *survey, struct kgb_record *record,
		    struct kgb_err *err)
{
	struct filling filling = {.record = record};
	struct chunk chunk;
	int more;

	record->images = kgb_arena_array(&record->arena, survey->n_images, sizeof(*record->images));
	for (size_t i = 0; i < survey->n_windows; i++) {
		filling.ops[i] =
			kgb_arena_array(&record->arena, survey->ops_of[i], sizeof(*filling.ops[i]));
		filling.blocks[i] = kgb_arena_array(&record->arena, survey->blocks_of[i],
						    sizeof(*filling.blocks[i]));
		record->windows[i].ops = filling.ops[i];
		record->windows[i].blocks = filling.blocks[i];
	}
	while ((more = next_chunk(&in, &chunk, err)) > 0) {
		if (fill_chunk(&filling, &chunk, err) < 0)
			return -1;
	}
	if (more < 0 || sort_images(record, err) < 0)
		return -1;
	for (size_t i = 0; i < survey->n_windows; i++)
		record->windows[i].n_blocks =
			sort_blocks(filling.blocks[i], record->windows[i].n_blocks);
	return check_images(record, err);
}

int kgb_record_parse(const void *bytes, size_t len, struct kgb_record *out, struct kgb_err *err)
{
	struct reader in = {.bytes = bytes, .len = len};
	struct survey survey = {0};
	struct kgb_record record = {.arena = KGB_ARENA_INIT};

	if (read_header(&in, err) < 0 || survey_all(in, &survey, err) < 0)
		return -1;
	if (fill_all(in, &survey, &record, err) < 0) {
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
