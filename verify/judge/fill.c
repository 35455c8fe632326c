/* SPDX-License-Identifier: MIT */
#include "verify/judge/fill.h"

#include <math.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

#define OUTLIER_PROBABILITY 0.001
#define OUTLIER_FACTOR 50

/* ---- generator ---- */

static void philox_round(uint32_t counter[4], const uint32_t key[2])
{
	uint64_t p0 = UINT64_C(0xD2511F53) * counter[0];
	uint64_t p1 = UINT64_C(0xCD9E8D57) * counter[2];
	uint32_t c1 = counter[1], c3 = counter[3];

	counter[0] = (uint32_t)(p1 >> 32) ^ c1 ^ key[0];
	counter[1] = (uint32_t)p1;
	counter[2] = (uint32_t)(p0 >> 32) ^ c3 ^ key[1];
	counter[3] = (uint32_t)p0;
}

void kgb_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t k[2] = {key[0], key[1]};

	memcpy(out, counter, 4 * sizeof(*out));
	for (int i = 0; i < 10; i++) {
		philox_round(out, k);
		k[0] += 0x9E3779B9;
		k[1] += 0xBB67AE85;
	}
}

static uint32_t load_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void kgb_rng_init(struct kgb_rng *rng, const struct kgb_seed *seed, const char *label,
		  uint32_t index)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	const uint8_t le[4] = {(uint8_t)index, (uint8_t)(index >> 8), (uint8_t)(index >> 16),
			       (uint8_t)(index >> 24)};
	char hex[KGB_SHA256_HEX_LEN];
	uint8_t digest[32];
	struct kgb_err err = KGB_ERR_INIT;

	/* The label's NUL keeps its end apart from the index. */
	kgb_buf_add(&text, seed->bytes, sizeof(seed->bytes));
	kgb_buf_add(&text, label, strlen(label) + 1);
	kgb_buf_add(&text, le, sizeof(le));
	kgb_sha256_hex(text.ptr, text.len, hex);
	KGB_ASSERT(kgb_parse_hex(hex, digest, sizeof(digest), &err) == 0);

	/* 128 bits tell streams apart: the key, and the half of the counter that does not count. */
	*rng = (struct kgb_rng){
		.key = {load_le32(digest), load_le32(digest + 4)},
		.counter = {0, 0, load_le32(digest + 8), load_le32(digest + 12)},
		.used = 4,
	};
}

uint32_t kgb_rng_u32(struct kgb_rng *rng)
{
	if (rng->used == 4) {
		kgb_philox(rng->counter, rng->key, rng->out);
		if (++rng->counter[0] == 0)
			rng->counter[1]++;
		rng->used = 0;
	}
	return rng->out[rng->used++];
}

static uint64_t next_u64(struct kgb_rng *rng)
{
	uint64_t high = kgb_rng_u32(rng);
	return high << 32 | kgb_rng_u32(rng);
}

double kgb_rng_uniform(struct kgb_rng *rng)
{
	return (double)(next_u64(rng) >> 11) * 0x1p-53;
}

/* Box and Muller, in pairs. 1 - uniform lies in (0, 1], where the logarithm is finite. */
double kgb_rng_normal(struct kgb_rng *rng)
{
	if (rng->has_spare) {
		rng->has_spare = false;
		return rng->spare;
	}
	double radius = sqrt(-2 * log(1 - kgb_rng_uniform(rng)));
	double angle = 2 * M_PI * kgb_rng_uniform(rng);
	rng->spare = radius * sin(angle);
	rng->has_spare = true;
	return radius * cos(angle);
}

int64_t kgb_rng_int(struct kgb_rng *rng, int64_t lo, int64_t hi)
{
	KGB_ASSERT(lo <= hi);
	uint64_t span = (uint64_t)hi - (uint64_t)lo + 1; /* 0: all 2^64 values */
	uint64_t draw = next_u64(rng);

	if (span == 0)
		return (int64_t)draw;
	/* Draws beyond the last whole multiple of span would favour small values. */
	uint64_t excess = (UINT64_MAX % span + 1) % span;
	while (draw > UINT64_MAX - excess)
		draw = next_u64(rng);
	return (int64_t)((uint64_t)lo + draw % span);
}

void kgb_rng_bytes(struct kgb_rng *rng, void *out, size_t len)
{
	uint8_t *p = out;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t word = kgb_rng_u32(rng);
		for (size_t k = i; k < i + 4 && k < len; k++, word >>= 8)
			p[k] = (uint8_t)word;
	}
}

/* ---- tensors ---- */

static void *element_at(const struct kgb_view *view, void *storage, int64_t at)
{
	return (char *)storage + (size_t)at * kgb_dtype_size(view->dtype);
}

static void *random_element(const struct kgb_view *view, void *storage, struct kgb_rng *rng)
{
	int64_t i = kgb_rng_int(rng, 0, kgb_view_numel(view) - 1);
	return element_at(view, storage, kgb_view_element(view, i));
}

/* Integers are drawn as such, so that every value of int64 can come exactly. */
static void draw(const struct kgb_arg *arg, struct kgb_rng *rng, void *p)
{
	double value = 1;

	switch (arg->fill) {
	case KGB_FILL_NORMAL:
		value = kgb_rng_normal(rng);
		break;
	case KGB_FILL_POSITIVE:
		value = fabs(kgb_rng_normal(rng));
		break;
	case KGB_FILL_UNIFORM:
		value = arg->lo + (arg->hi - arg->lo) * kgb_rng_uniform(rng);
		break;
	case KGB_FILL_INT:
		value = (double)kgb_rng_int(rng, (int64_t)ceil(arg->lo), (int64_t)floor(arg->hi));
		break;
	case KGB_FILL_BOOL:
		value = kgb_rng_u32(rng) & 1;
		break;
	case KGB_FILL_ONES:
		break;
	}
	kgb_dtype_store(arg->view.dtype, p, value);
}

static void enlarge(enum kgb_dtype dtype, void *p)
{
	kgb_dtype_store(dtype, p, kgb_dtype_load(dtype, p) * OUTLIER_FACTOR);
}

static void add_outliers(const struct kgb_view *view, struct kgb_rng *rng, void *storage)
{
	int64_t n = kgb_view_numel(view), n_outliers = 0;
	struct kgb_view_walk walk;

	kgb_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_view_walk_next(&walk)) {
		if (kgb_rng_uniform(rng) >= OUTLIER_PROBABILITY)
			continue;
		enlarge(view->dtype, element_at(view, storage, walk.at));
		n_outliers++;
	}
	if (n_outliers == 0)
		enlarge(view->dtype, random_element(view, storage, rng));
}

/* Subnormal inputs of float16 only: hardware and compilers flush those of the other types as they
 * like (Triton's rsqrt and floor do), so they would tell of the compiler and not of the kernel. */
static void store_special_float(enum kgb_dtype dtype, int64_t which, void *p)
{
	double max = kgb_dtype_max(dtype), tiny = kgb_dtype_tiny(dtype), eps = kgb_dtype_eps(dtype);
	bool is_half = dtype == KGB_DTYPE_FLOAT16;
	const double values[] = {(double)INFINITY,
				 -(double)INFINITY,
				 (double)NAN,
				 0.0,
				 -0.0,
				 max,
				 -max,
				 tiny,
				 -tiny,
				 is_half ? tiny * eps : tiny * (1 + eps),
				 is_half ? tiny * (eps - 1) : -tiny * (1 + eps)};
	kgb_dtype_store(dtype, p, values[which % (int64_t)KGB_ARRAY_LEN(values)]);
}

static void store_special_int(enum kgb_dtype dtype, int64_t which, void *p)
{
	const int64_t values[] = {kgb_dtype_min_i64(dtype), kgb_dtype_max_i64(dtype), 0, 1, -1};
	kgb_dtype_store_i64(dtype, p, values[which % (int64_t)KGB_ARRAY_LEN(values)]);
}

/* One of each kind where there is room; small tensors get a few, beginning at any of them. */
static void add_specials(const struct kgb_view *view, struct kgb_rng *rng, void *storage)
{
	int64_t quarter = kgb_view_numel(view) / 4;
	int64_t n = quarter < 1 ? 1 : quarter > 11 ? 11 : quarter;
	int64_t first = kgb_rng_int(rng, 0, 10);

	for (int64_t i = 0; i < n; i++) {
		void *p = random_element(view, storage, rng);
		if (kgb_dtype_is_float(view->dtype))
			store_special_float(view->dtype, first + i, p);
		else
			store_special_int(view->dtype, first + i, p);
	}
}

/* Large tensors for timing: every element is one of TABLE fresh draws, chosen by 16 random bits.
 * Eight times as fast; nobody asks these values for their distribution. */
static void fill_from_table(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	enum { TABLE = 1 << 16 };
	const struct kgb_view *view = &arg->view;
	size_t item = kgb_dtype_size(view->dtype);
	char *table = kgb_xreallocarray(NULL, TABLE, item);
	struct kgb_view_walk walk;
	uint32_t bits = 0;
	int64_t n = kgb_view_numel(view);

	for (size_t i = 0; i < TABLE; i++)
		draw(arg, rng, table + i * item);
	kgb_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_view_walk_next(&walk)) {
		bits = i % 2 == 0 ? kgb_rng_u32(rng) : bits >> 16;
		memcpy(element_at(view, storage, walk.at), table + (bits & (TABLE - 1)) * item,
		       item);
	}
	kgb_free(table);
}

void kgb_fill(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng, void *storage)
{
	const struct kgb_view *view = &arg->view;
	int64_t n = kgb_view_numel(view);
	struct kgb_view_walk walk;

	if (n != view->storage_elements)
		kgb_rng_bytes(rng, storage,
			      (size_t)view->storage_elements * kgb_dtype_size(view->dtype));
	if (mode == KGB_MODE_BENCHMARK) {
		fill_from_table(arg, rng, storage);
		return;
	}
	kgb_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_view_walk_next(&walk))
		draw(arg, rng, element_at(view, storage, walk.at));
	if (n == 0 || arg->bounded || view->dtype == KGB_DTYPE_BOOL)
		return;
	if (mode == KGB_MODE_OUTLIER)
		add_outliers(view, rng, storage);
	else if (mode == KGB_MODE_SPECIAL)
		add_specials(view, rng, storage);
}
