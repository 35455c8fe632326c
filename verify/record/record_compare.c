/* SPDX-License-Identifier: MIT */
/* Compares two recorded calls: whether they are the same work on other memory. */
#include <inttypes.h>
#include <string.h>

#include "verify/protocol/op_limits.h"
#include "verify/record/record_canonical.h"

/* A pair of calls; a is the earlier one. */
struct pair {
	struct kgb_canonical *a, *b;
	size_t *b_of_a; /* for each region of a its counterpart in b; KGB_NO_OP: none yet */
	size_t *a_of_b;
	bool binding; /* regions without a counterpart may become each other's */
	struct kgb_err *scalar, *work; /* the first difference of each kind */
	size_t op; /* number in b's window of the op that is compared */
	char title[KGB_OP_TITLE];
};

KGB_PRINTF(3, 4)
static void differ(const struct pair *pair, struct kgb_err *why, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	if (why->msg[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kgb_fail(why, KGB_ERR_INVALID, "op %zu (%s): %s", pair->op, pair->title, text);
}

/* "%s in window 2, %s in window 3" */
static void differ_text(const struct pair *pair, const char *what, const char *a, const char *b)
{
	differ(pair, pair->work, "%s: %.60s in window %u, %.60s in window %u", what, a,
	       pair->a->capture->window->number, b, pair->b->capture->window->number);
}

static void differ_number(const struct pair *pair, const char *what, uint64_t a, uint64_t b)
{
	char text_a[24], text_b[24];

	if (a == b)
		return;
	snprintf(text_a, sizeof(text_a), "%" PRIu64, a);
	snprintf(text_b, sizeof(text_b), "%" PRIu64, b);
	differ_text(pair, what, text_a, text_b);
}

/* --- words --- */

enum word_match { WORD_SAME, WORD_NUMBERS, WORD_ADDRESSES, WORD_MIXED };

/* Equal numbers are equal whatever they point at: two sizes side by side can look like an address,
 * and a pointer that did not move proves nothing about memory that moved. For the same reason they
 * pair no regions. */
static enum word_match match_words(const struct pair *pair, uint64_t a, uint64_t b)
{
	if (a == b)
		return WORD_SAME;
	const struct kgb_location at_a = kgb_canonical_locate(pair->a, a);
	const struct kgb_location at_b = kgb_canonical_locate(pair->b, b);
	if (at_a.kind == KGB_LOCATION_NONE && at_b.kind == KGB_LOCATION_NONE)
		return WORD_NUMBERS;
	if (at_a.kind == KGB_LOCATION_NONE || at_b.kind == KGB_LOCATION_NONE)
		return WORD_MIXED;
	if (at_a.kind != at_b.kind || at_a.offset != at_b.offset)
		return WORD_ADDRESSES;
	if (at_a.kind == KGB_LOCATION_ARGUMENT)
		return at_a.index == at_b.index ? WORD_SAME : WORD_ADDRESSES;
	size_t *b_of_a = &pair->b_of_a[at_a.index], *a_of_b = &pair->a_of_b[at_b.index];
	if (*b_of_a == KGB_NO_OP && *a_of_b == KGB_NO_OP) {
		if (!pair->binding)
			return WORD_SAME;
		*b_of_a = at_b.index;
		*a_of_b = at_a.index;
	}
	return *b_of_a == at_b.index ? WORD_SAME : WORD_ADDRESSES;
}

static void compare_address(const struct pair *pair, const char *what, uint64_t a, uint64_t b)
{
	char text_a[KGB_WORD_TEXT], text_b[KGB_WORD_TEXT];

	if (match_words(pair, a, b) != WORD_SAME)
		differ_text(pair, what, kgb_canonical_word(pair->a, a, text_a),
			    kgb_canonical_word(pair->b, b, text_b));
}

/* Record numbers at byte `at` that differ: only one half of the word if the other is equal. */
static void differ_scalar(const struct pair *pair, const char *what, size_t at, uint64_t a,
			  uint64_t b)
{
	const uint32_t low_a = (uint32_t)a, low_b = (uint32_t)b;
	const uint32_t high_a = (uint32_t)(a >> 32), high_b = (uint32_t)(b >> 32);
	size_t bytes = 4;

	if (high_a == high_b) {
		a = low_a;
		b = low_b;
	} else if (low_a == low_b) {
		a = high_a;
		b = high_b;
		at += 4;
	} else {
		bytes = 8;
	}
	differ(pair, pair->scalar,
	       "%s bytes %zu to %zu: %" PRIu64 " (0x%" PRIx64 ") in window %u, %" PRIu64
	       " (0x%" PRIx64 ") in window %u",
	       what, at, at + bytes - 1, a, a, pair->a->capture->window->number, b, b,
	       pair->b->capture->window->number);
}

static void differ_word(const struct pair *pair, const char *what, size_t at, uint64_t a,
			uint64_t b)
{
	char text_a[KGB_WORD_TEXT], text_b[KGB_WORD_TEXT], title[64];

	snprintf(title, sizeof(title), "%s byte %zu", what, at);
	differ_text(pair, title, kgb_canonical_word(pair->a, a, text_a),
		    kgb_canonical_word(pair->b, b, text_b));
}

/* Packed bytes of equal length, of which every one counts. */
static void compare_packed(const struct pair *pair, const char *what, const unsigned char *a,
			   const unsigned char *b, size_t len)
{
	uint64_t tail_a = 0, tail_b = 0;
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		const uint64_t word_a = kgb_word_at(a, at), word_b = kgb_word_at(b, at);
		const enum word_match match = match_words(pair, word_a, word_b);
		if (match == WORD_NUMBERS)
			differ_scalar(pair, what, at, word_a, word_b);
		else if (match != WORD_SAME)
			differ_word(pair, what, at, word_a, word_b);
	}
	memcpy(&tail_a, a + at, len - at);
	memcpy(&tail_b, b + at, len - at);
	if (tail_a != tail_b)
		differ_scalar(pair, what, at, tail_a, tail_b);
}

static bool is_address(const struct kgb_canonical *canonical, uint64_t word)
{
	return kgb_canonical_locate(canonical, word).kind != KGB_LOCATION_NONE;
}

/* Compare parameters with gaps, which hold old bytes of the stack, old addresses among them. Which
 * words count is unknown, so only a launch whose addresses all differ is a difference. */
static void compare_gappy(const struct pair *pair, const struct kgb_launch *a,
			  const struct kgb_launch *b)
{
	size_t n_same = 0, first = SIZE_MAX;

	for (size_t at = 0; at + 8 <= b->params_bytes; at += 8) {
		const uint64_t word_a = kgb_word_at(a->params, at);
		const uint64_t word_b = kgb_word_at(b->params, at);
		const enum word_match match = match_words(pair, word_a, word_b);
		if (match != WORD_SAME && match != WORD_NUMBERS && first == SIZE_MAX)
			first = at;
		if (match == WORD_SAME && is_address(pair->a, word_a) &&
		    is_address(pair->b, word_b))
			n_same++;
	}
	if (n_same == 0 && first != SIZE_MAX)
		differ_word(pair, "parameter", first, kgb_word_at(a->params, first),
			    kgb_word_at(b->params, first));
}

/* --- ops --- */

static void compare_dims(const struct pair *pair, const char *what, const uint32_t a[3],
			 const uint32_t b[3])
{
	char text_a[40], text_b[40];

	if (memcmp(a, b, 3 * sizeof(a[0])) == 0)
		return;
	snprintf(text_a, sizeof(text_a), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, a[0], a[1], a[2]);
	snprintf(text_b, sizeof(text_b), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, b[0], b[1], b[2]);
	differ_text(pair, what, text_a, text_b);
}

static void compare_attrs(const struct pair *pair, const struct kgb_launch *a,
			  const struct kgb_launch *b)
{
	struct kgb_launch_attr sorted_a[KGB_LAUNCH_ATTRS_MAX], sorted_b[KGB_LAUNCH_ATTRS_MAX];
	struct kgb_err ignored = KGB_ERR_INIT;
	size_t n_a = 0, n_b = 0;

	/* kgb_canonical_check refuses such a launch; here its attributes stay as they are. */
	if (kgb_launch_attrs(a, sorted_a, &n_a, &ignored) < 0 ||
	    kgb_launch_attrs(b, sorted_b, &n_b, &ignored) < 0) {
		n_a = a->n_attrs;
		n_b = b->n_attrs;
		memcpy(sorted_a, a->attrs, sizeof(sorted_a));
		memcpy(sorted_b, b->attrs, sizeof(sorted_b));
	}
	differ_number(pair, "launch attributes", n_a, n_b);
	if (n_a == n_b && memcmp(sorted_a, sorted_b, n_a * sizeof(sorted_a[0])) != 0)
		differ(pair, pair->work, "launch attributes have other values in window %u",
		       pair->b->capture->window->number);
}

static void compare_images(const struct pair *pair, const struct kgb_launch *a,
			   const struct kgb_launch *b)
{
	char hash_a[KGB_SHA256_HEX_LEN], hash_b[KGB_SHA256_HEX_LEN];

	if (pair->a->capture->record == pair->b->capture->record && a->image == b->image)
		return;
	kgb_image_sha256(kgb_record_image(pair->a->capture->record, a->image), hash_a);
	kgb_image_sha256(kgb_record_image(pair->b->capture->record, b->image), hash_b);
	if (strcmp(hash_a, hash_b) != 0)
		differ_text(pair, "compiled code with SHA-256", hash_a, hash_b);
}

/* Compare two launches except for their parameters. */
static void compare_launches(const struct pair *pair, const struct kgb_launch *a,
			     const struct kgb_launch *b)
{
	if (strcmp(a->kernel, b->kernel) != 0)
		differ_text(pair, "kernel", a->kernel, b->kernel);
	compare_images(pair, a, b);
	compare_dims(pair, "grid", a->grid, b->grid);
	compare_dims(pair, "block", a->block, b->block);
	differ_number(pair, "bytes of shared memory", a->shared_bytes, b->shared_bytes);
	if (a->carveout != b->carveout)
		differ(pair, pair->work, "share of L1: %" PRId32 " %%, then %" PRId32 " %%",
		       a->carveout, b->carveout);
	compare_attrs(pair, a, b);
	differ_number(pair, "bytes of parameters", a->params_bytes, b->params_bytes);
}

/* What the host sends must not change, not even a number of it. */
static void compare_data(struct pair *pair, const struct kgb_op *a, const struct kgb_op *b)
{
	struct kgb_err *scalar = pair->scalar;

	if (a->upload.bytes != b->upload.bytes)
		return;
	pair->scalar = pair->work;
	compare_packed(pair, "data", a->upload.data, b->upload.data, a->upload.bytes);
	pair->scalar = scalar;
}

static void compare_ranges(const struct pair *pair, const struct kgb_op *a, const struct kgb_op *b)
{
	struct kgb_op_range ranges_a[KGB_OP_RANGES_MAX], ranges_b[KGB_OP_RANGES_MAX];
	const size_t n = kgb_op_ranges(a, ranges_a);

	(void)kgb_op_ranges(b, ranges_b);
	for (size_t i = 0; i < n; i++)
		compare_address(pair, ranges_a[i].name, ranges_a[i].address, ranges_b[i].address);
	for (size_t i = 0; i < n && a->kind != KGB_OP_MEMSET; i++)
		differ_number(pair, "bytes", ranges_a[i].bytes, ranges_b[i].bytes);
}

static void compare_bodies(struct pair *pair, const struct kgb_canonical_op *kept_a,
			   const struct kgb_canonical_op *kept_b)
{
	const struct kgb_op *a = kept_a->op, *b = kept_b->op;

	compare_ranges(pair, a, b);
	switch (b->kind) {
	case KGB_OP_LAUNCH:
		compare_launches(pair, &a->launch, &b->launch);
		if (pair->work->msg[0] == '\0' && kept_b->owner == KGB_OWNER_TRITON)
			compare_packed(pair, "parameter", a->launch.params, b->launch.params,
				       a->launch.params_bytes);
		return;
	case KGB_OP_MEMSET:
		differ_number(pair, "value", a->memset.value, b->memset.value);
		differ_number(pair, "bytes of an element", a->memset.element_bytes,
			      b->memset.element_bytes);
		differ_number(pair, "width", a->memset.width, b->memset.width);
		differ_number(pair, "height", a->memset.height, b->memset.height);
		if (a->memset.height > 1)
			differ_number(pair, "pitch", a->memset.pitch, b->memset.pitch);
		return;
	case KGB_OP_UPLOAD:
		compare_data(pair, a, b);
		return;
	case KGB_OP_COPY:
	case KGB_OP_DOWNLOAD:
		return;
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
		differ_number(pair, "event", kept_a->event, kept_b->event);
		return;
	case KGB_OP_REPLACES:
		differ_number(pair, "number of ops", a->n_replaced, b->n_replaced);
		return;
	case KGB_OP_UNSUPPORTED:
		if (strcmp(a->why, b->why) != 0)
			differ_text(pair, "reason", a->why, b->why);
		return;
	case KGB_OP_SYNC: /* a canonical form has none */
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

static void compare_ops(struct pair *pair, const struct kgb_canonical_op *a,
			const struct kgb_canonical_op *b)
{
	char title[KGB_OP_TITLE];

	pair->op = b->source;
	kgb_op_title(b->op, pair->title);
	if (a->op->kind != b->op->kind) {
		differ_text(pair, "kind of op", kgb_op_title(a->op, title), pair->title);
		return;
	}
	differ_number(pair, "stream", a->stream, b->stream);
	compare_bodies(pair, a, b);
}

/* Parameters of other kernels than Triton's come last: by then all other ops have paired the
 * regions of the two calls. */
static void compare_other_params(struct pair *pair)
{
	pair->binding = false;
	for (size_t i = 0; i < pair->a->n_ops && pair->work->msg[0] == '\0'; i++) {
		const struct kgb_canonical_op *kept = &pair->b->ops[i];
		if (kept->op->kind != KGB_OP_LAUNCH || kept->owner == KGB_OWNER_TRITON)
			continue;
		pair->op = kept->source;
		kgb_op_title(kept->op, pair->title);
		compare_gappy(pair, &pair->a->ops[i].op->launch, &kept->op->launch);
	}
}

/* Record that one call equals the other but has more ops. */
static void compare_lengths(const struct pair *pair)
{
	const struct kgb_canonical *a = pair->a, *b = pair->b;
	char title[KGB_OP_TITLE];

	if (a->n_ops == b->n_ops || pair->work->msg[0] != '\0')
		return;
	const struct kgb_canonical *longer = a->n_ops > b->n_ops ? a : b;
	const struct kgb_canonical *shorter = longer == a ? b : a;
	kgb_fail(pair->work, KGB_ERR_INVALID,
		 "%zu ops in window %u, %zu in window %u, which goes on with a %s", shorter->n_ops,
		 shorter->capture->window->number, longer->n_ops, longer->capture->window->number,
		 kgb_op_title(longer->ops[shorter->n_ops].op, title));
}

static size_t *unbound(struct kgb_arena *arena, size_t n)
{
	size_t *out = kgb_arena_array(arena, n, sizeof(*out));

	for (size_t i = 0; i < n; i++)
		out[i] = KGB_NO_OP;
	return out;
}

enum kgb_difference kgb_canonical_compare(struct kgb_canonical *a, struct kgb_canonical *b,
					  struct kgb_err *why)
{
	struct kgb_err scalar = KGB_ERR_INIT, work = KGB_ERR_INIT;
	struct kgb_arena arena = KGB_ARENA_INIT;
	struct pair pair = {
		.a = a,
		.b = b,
		.b_of_a = unbound(&arena, a->n_regions),
		.a_of_b = unbound(&arena, b->n_regions),
		.binding = true,
		.scalar = &scalar,
		.work = &work,
	};

	for (size_t i = 0; i < a->n_ops && i < b->n_ops && work.msg[0] == '\0'; i++)
		compare_ops(&pair, &a->ops[i], &b->ops[i]);
	compare_lengths(&pair);
	if (work.msg[0] == '\0')
		compare_other_params(&pair);
	kgb_arena_release(&arena);
	if (work.msg[0] != '\0') {
		*why = work;
		return KGB_WORK_DIFFERS;
	}
	if (scalar.msg[0] != '\0') {
		*why = scalar;
		return KGB_SCALARS_DIFFER;
	}
	return KGB_SAME;
}
