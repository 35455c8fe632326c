/* SPDX-License-Identifier: MIT */
/** \file
 * Inputs that are no independent draws: permutations, slot mappings, offsets of sequences, blocks
 * of packed weights. These tensors are small, or copied by the page, so one thread makes them.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "verify/fills/fill.h"

enum {
	SKIPPED_OF = 8, /* one slot in this many is -1 */
	BLOCK_EXPONENT_MIN = -14, /* scales of blocks have sizes from 2^-14, the smallest normal */
	BLOCK_EXPONENT_MAX = -4, /* number of float16, to 2^-4 */
	ZERO_BLOCKS = 16, /* one in so many is 0 */
	REGULAR_OF = 6, /* one order in so many is regular */
};

bool kgb_fill_is_structured(enum kgb_fill_kind fill)
{
	return fill >= KGB_FILL_DISTINCT;
}

bool kgb_fill_is_distinct(enum kgb_fill_kind fill)
{
	return fill == KGB_FILL_DISTINCT || fill == KGB_FILL_SLOTS || fill == KGB_FILL_CHOICE;
}

/* The first `n` of `pool`, which holds `span` numbers, become a random choice in random order. */
static void choose(int64_t *pool, int64_t span, int64_t n, struct kgb_rng *rng)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t k = kgb_rng_int(rng, i, span - 1), kept = pool[i];
		pool[i] = pool[k];
		pool[k] = kept;
	}
}

/* Numbers of lo .. hi in an order that kernels might take for another one: up or down from the
 * first one or from any, by turns around the end, or with neighbours exchanged. */
static void choose_regular(const struct kgb_arg *arg, struct kgb_rng *rng, int64_t *out, int64_t n)
{
	const int64_t lo = (int64_t)arg->lo, span = (int64_t)arg->hi - lo + 1;
	const int64_t first = kgb_rng_int(rng, 0, 1) * kgb_rng_int(rng, 0, span - 1);
	const bool is_down = kgb_rng_int(rng, 0, 1) == 0;
	const bool is_exchanged = kgb_rng_int(rng, 0, 2) == 0;

	for (int64_t i = 0; i < n; i++) {
		const int64_t k = is_exchanged && (i ^ 1) < n ? i ^ 1 : i;
		out[i] = lo + (first + (is_down ? span - 1 - k : k)) % span;
	}
}

static int compare_up(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int compare_down(const void *a, const void *b)
{
	return compare_up(b, a);
}

/* Make rows of `n` different numbers of lo .. hi each. */
static void fill_rows(const struct kgb_arg *arg, struct kgb_rng *rng, int64_t *out, int64_t n_rows,
		      int64_t n)
{
	int64_t lo = (int64_t)arg->lo, span = (int64_t)arg->hi - lo + 1;
	KGB_AUTO(free) int64_t *pool = kgb_xreallocarray(NULL, (size_t)span, sizeof(*pool));

	for (int64_t i = 0; i < span; i++)
		pool[i] = lo + i;
	for (int64_t row = 0; row < n_rows; row++, out += n) {
		choose(pool, span, n, rng);
		memcpy(out, pool, (size_t)n * sizeof(*out));
		if (arg->fill == KGB_FILL_SORTED || arg->fill == KGB_FILL_SORTED_DOWN)
			qsort(out, (size_t)n, sizeof(*out),
			      arg->fill == KGB_FILL_SORTED ? compare_up : compare_down);
	}
	if (arg->fill != KGB_FILL_SLOTS)
		return;
	for (int64_t i = 1; i <= n_rows * n; i++)
		if (kgb_rng_int(rng, 0, SKIPPED_OF - 1) == 0)
			out[-i] = -1;
}

/* Make the n bounds of n - 1 stretches that fill 0 .. hi; some stretches may be empty. */
static void fill_offsets(const struct kgb_arg *arg, struct kgb_rng *rng, int64_t *out, int64_t n)
{
	int64_t total = (int64_t)arg->hi;

	for (int64_t i = 0; i < n; i++)
		out[i] = i == 0 ? 0 : i == n - 1 ? total : kgb_rng_int(rng, 0, total);
	qsort(out, (size_t)n, sizeof(*out), compare_up);
}

static int64_t random_pairs(size_t bytes, struct kgb_rng *rng)
{
	static const uint64_t pairs[] = {4, 8, 9, 12, 13, 14}; /* first + 4 * second */
	uint64_t bits = 0;

	for (size_t i = 0; i < 2 * bytes; i++)
		bits |= pairs[kgb_rng_int(rng, 0, KGB_ARRAY_LEN(pairs) - 1)] << 4 * i;
	return bytes == 2 ? (int16_t)(uint16_t)bits : (int32_t)(uint32_t)bits;
}

static void fill_numbers(const struct kgb_arg *arg, bool may_be_regular, struct kgb_rng *rng,
			 int64_t *out, int64_t n)
{
	const struct kgb_tensor_view *view = &arg->view;
	int64_t last = view->ndim > 0 ? view->sizes[view->ndim - 1] : 1;

	if (arg->fill == KGB_FILL_DISTINCT && may_be_regular &&
	    kgb_rng_int(rng, 0, REGULAR_OF - 1) == 0)
		choose_regular(arg, rng, out, n);
	else if (arg->fill == KGB_FILL_DISTINCT || arg->fill == KGB_FILL_SLOTS)
		fill_rows(arg, rng, out, 1, n);
	else if (arg->fill == KGB_FILL_OFFSETS)
		fill_offsets(arg, rng, out, n);
	else if (arg->fill == KGB_FILL_STEPS)
		for (int64_t i = 0; i < n; i++)
			out[i] = i / (int64_t)arg->lo;
	else if (arg->fill == KGB_FILL_PAIRS)
		for (int64_t i = 0; i < n; i++)
			out[i] = random_pairs(kgb_dtype_size(view->dtype), rng);
	else
		fill_rows(arg, rng, out, n / last, last);
}

/* Contiguous bytes, as case_args.c requires. */
static void fill_blocks(const struct kgb_arg *arg, struct kgb_rng *rng, char *bytes, int64_t n)
{
	int64_t block = (int64_t)arg->lo;

	kgb_rng_bytes(rng, bytes, (size_t)n);
	for (int64_t at = 0; at + block <= n; at += block) {
		double scale = exp2(BLOCK_EXPONENT_MIN + (BLOCK_EXPONENT_MAX - BLOCK_EXPONENT_MIN) *
								 kgb_rng_uniform(rng));
		if (kgb_rng_int(rng, 0, ZERO_BLOCKS - 1) == 0)
			scale = 0;
		kgb_dtype_store(KGB_DTYPE_FLOAT16, bytes + at,
				kgb_rng_int(rng, 0, 1) ? scale : -scale);
	}
}

static void store_numbers(const struct kgb_tensor_view *view, const int64_t *numbers, char *storage)
{
	struct kgb_tensor_view_walk walk;
	int64_t n = kgb_tensor_view_numel(view);

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk))
		kgb_dtype_store_i64(view->dtype,
				    storage + (size_t)walk.at * kgb_dtype_size(view->dtype),
				    numbers[i]);
}

void kgb_fill_structured(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng,
			 void *storage)
{
	int64_t n = kgb_tensor_view_numel(&arg->view);

	if (n == 0)
		return;
	if (arg->fill == KGB_FILL_BLOCKS) {
		fill_blocks(arg, rng, (char *)storage + arg->view.offset, n);
		return;
	}
	KGB_AUTO(free)
	int64_t *numbers = kgb_xreallocarray(NULL, (size_t)n, sizeof(*numbers));
	fill_numbers(arg, mode != KGB_MODE_BENCHMARK, rng, numbers, n);
	store_numbers(&arg->view, numbers, storage);
}

void kgb_fill_owners(const struct kgb_arg *arg, void *storage, const struct kgb_arg *offsets,
		     const void *offsets_storage)
{
	const struct kgb_tensor_view *bounds = &offsets->view;
	const int64_t n = kgb_tensor_view_numel(&arg->view),
		      n_bounds = kgb_tensor_view_numel(bounds);
	KGB_AUTO(free)
	int64_t *owners = kgb_xreallocarray(NULL, (size_t)n + 1, sizeof(*owners));
	int64_t owner = 0;

	for (int64_t i = 0; i < n; i++) {
		for (; owner + 2 < n_bounds; owner++) {
			int64_t at = kgb_tensor_view_element(bounds, owner + 1);
			const char *p = (const char *)offsets_storage +
					(size_t)at * kgb_dtype_size(bounds->dtype);
			if (kgb_dtype_load_i64(bounds->dtype, p) > i)
				break;
		}
		owners[i] = owner;
	}
	if (n > 0)
		store_numbers(&arg->view, owners, storage);
}
