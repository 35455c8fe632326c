/* SPDX-License-Identifier: MIT */
/** \file
 * Most loops are over arrays of a fixed size, which compilers turn into vector instructions.
 */
#include "verify/tensor/rng.h"

#include <math.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "verify/tensor/simd_clones.h"

enum {
	LANES = 16, /* blocks of Philox at a time */
	BATCH = 128, /* pairs of normals at a time */
};

/* ---- words ---- */

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

static uint64_t counted(const struct kgb_rng *rng)
{
	return (uint64_t)rng->counter[1] << 32 | rng->counter[0];
}

static void count_on(struct kgb_rng *rng, uint64_t n_blocks)
{
	uint64_t sum = counted(rng) + n_blocks;

	rng->counter[0] = (uint32_t)sum;
	rng->counter[1] = (uint32_t)(sum >> 32);
}

/* LANES blocks, one behind the other, each from the counter's next value. */
static void many_blocks_plain(const struct kgb_rng *rng, uint32_t *out)
{
	for (size_t i = 0; i < LANES; i++) {
		uint64_t count = counted(rng) + i;
		const uint32_t counter[4] = {(uint32_t)count, (uint32_t)(count >> 32),
					     rng->counter[2], rng->counter[3]};
		kgb_philox(counter, rng->key, out + 4 * i);
	}
}

#ifdef __x86_64__
/* The same with a block in each of four lanes. A word has 64 bits, of which the multiplication
 * takes the lower half: the upper one may hold anything. */
KGB_AVX2 static void many_blocks_avx2(const struct kgb_rng *rng, uint32_t *out)
{
	enum { VECTORS = LANES / 4 };
	const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
	__m256i c0[VECTORS], c1[VECTORS], c2[VECTORS], c3[VECTORS];
	uint32_t k0 = rng->key[0], k1 = rng->key[1];

	for (size_t i = 0; i < VECTORS; i++) {
		c0[i] = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(counted(rng) + 4 * i)),
					 _mm256_set_epi64x(3, 2, 1, 0));
		c1[i] = _mm256_srli_epi64(c0[i], 32);
		c2[i] = _mm256_set1_epi64x(rng->counter[2]);
		c3[i] = _mm256_set1_epi64x(rng->counter[3]);
	}
	for (int round = 0; round < 10; round++) {
		for (size_t i = 0; i < VECTORS; i++) {
			__m256i p0 = _mm256_mul_epu32(m0, c0[i]), p1 = _mm256_mul_epu32(m1, c2[i]);
			c0[i] = _mm256_srli_epi64(p1, 32) ^ c1[i] ^ _mm256_set1_epi64x(k0);
			c1[i] = p1;
			c2[i] = _mm256_srli_epi64(p0, 32) ^ c3[i] ^ _mm256_set1_epi64x(k1);
			c3[i] = p0;
		}
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
	/* Lane by lane, words 0 and 1, then words 2 and 3. */
	for (size_t i = 0; i < VECTORS; i++) {
		__m256i low = _mm256_blend_epi32(c0[i], _mm256_slli_epi64(c1[i], 32), 0xaa);
		__m256i high = _mm256_blend_epi32(c2[i], _mm256_slli_epi64(c3[i], 32), 0xaa);
		__m256i even = _mm256_unpacklo_epi64(low, high);
		__m256i odd = _mm256_unpackhi_epi64(low, high);
		__m256i blocks[2] = {_mm256_permute2x128_si256(even, odd, 0x20),
				     _mm256_permute2x128_si256(even, odd, 0x31)};
		memcpy(out + 16 * i, blocks, sizeof(blocks));
	}
}
#endif

static void many_blocks(struct kgb_rng *rng, uint32_t *out)
{
#ifdef __x86_64__
	if (kgb_has_avx2())
		many_blocks_avx2(rng, out);
	else
#endif
		many_blocks_plain(rng, out);
	count_on(rng, LANES);
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
	uint8_t digest[KGB_SHA256_BYTES];

	/* The label's NUL keeps its end apart from the index. */
	kgb_buf_add(&text, seed->bytes, sizeof(seed->bytes));
	kgb_buf_add(&text, label, strlen(label) + 1);
	kgb_buf_add(&text, le, sizeof(le));
	kgb_sha256(text.ptr, text.len, digest);

	/* 128 bits identify a stream: the key, and the half of the counter that does not count. */
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
		count_on(rng, 1);
		rng->used = 0;
	}
	return rng->out[rng->used++];
}

void kgb_rng_words(struct kgb_rng *rng, uint32_t *out, size_t n)
{
	size_t i = 0;

	for (; i < n && rng->used < 4; i++)
		out[i] = rng->out[rng->used++];
	for (; n - i >= 4 * LANES; i += 4 * LANES)
		many_blocks(rng, out + i);
	for (; i < n; i++)
		out[i] = kgb_rng_u32(rng);
}

void kgb_rng_skip(struct kgb_rng *rng, uint64_t n)
{
	while (n > 0 && rng->used < 4) {
		rng->used++;
		n--;
	}
	count_on(rng, n / 4);
	for (n %= 4; n > 0; n--)
		kgb_rng_u32(rng);
}

void kgb_rng_bytes(struct kgb_rng *rng, void *out, size_t len)
{
	uint32_t words[4 * LANES];
	uint8_t bytes[sizeof(words)];

	for (size_t at = 0; at < len; at += sizeof(bytes)) {
		size_t n = len - at < sizeof(bytes) ? len - at : sizeof(bytes);
		kgb_rng_words(rng, words, (n + 3) / 4);
		for (size_t i = 0; i < 4 * LANES; i++)
			for (size_t k = 0; k < 4; k++)
				bytes[4 * i + k] = (uint8_t)(words[i] >> (8 * k));
		memcpy((uint8_t *)out + at, bytes, n);
	}
}

/* ---- numbers ---- */

/* The highest 53 bits, most significant word first: in halves, because vectors of doubles are made
 * of 32-bit integers. */
KGB_SIMD_BODY double uniform_of(uint32_t high, uint32_t low)
{
	int32_t centred = (int32_t)(high ^ 0x80000000);
	return ((double)centred + 0x1p31) * 0x1p-32 + (double)(int32_t)(low >> 11) * 0x1p-53;
}

KGB_SIMD_BODY void many_uniforms_body(const uint32_t *words, double *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = uniform_of(words[2 * i], words[2 * i + 1]);
}
KGB_SIMD_CLONES(many_uniforms, (const uint32_t *words, double *out, size_t n), (words, out, n))

void kgb_rng_uniforms(struct kgb_rng *rng, double *out, size_t n)
{
	uint32_t words[4 * BATCH];

	for (size_t at = 0; at < n; at += 2 * BATCH) {
		size_t batch = n - at < 2 * BATCH ? n - at : 2 * BATCH;
		kgb_rng_words(rng, words, 2 * batch);
		many_uniforms(words, out + at, batch);
	}
}

double kgb_rng_uniform(struct kgb_rng *rng)
{
	uint32_t high = kgb_rng_u32(rng);

	return uniform_of(high, kgb_rng_u32(rng));
}

/* Natural logarithm of a normal number, to 1 ulp: x = 2^k (1 + f) with 1 + f in [sqrt(1/2),
 * sqrt(2)), and log(1 + f) by the series in s = f / (2 + f) whose coefficients fdlibm found (Sun
 * Microsystems, 1993). */
KGB_SIMD_BODY double log_of(double x)
{
	uint64_t bits = kgb_bits_of(x) + ((UINT64_C(0x3ff00000) - 0x3fe6a09e) << 32);
	double k = kgb_double_of(bits >> 52 | UINT64_C(0x433) << 52) - (0x1p52 + 1023);
	double f = kgb_double_of((bits & (UINT64_MAX >> 12)) + (UINT64_C(0x3fe6a09e) << 32)) - 1;
	double s = f / (2 + f), z = s * s, w = z * z, half = 0.5 * f * f;
	double odd =
		w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
	double even = z * (0x1.5555555555593p-1 +
			   w * (0x1.2492494229359p-2 +
				w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));

	return s * (half + odd + even) + k * 0x1.a39ef35793c76p-33 - half + f + k * 0x1.62e42feep-1;
}

/* Sine and cosine of 2 pi u for u in [0, 1), to 1 ulp: the nearest quarter turn, and the series of
 * fdlibm for what is left of at most an eighth. */
KGB_SIMD_BODY void sin_cos_of_turn(double u, double *sin_out, double *cos_out)
{
	double shifted = 4 * u + 0x1.8p52; /* its last bits count the quarters */
	uint64_t quarter = kgb_bits_of(shifted);
	double x = (4 * u - (shifted - 0x1.8p52)) * M_PI_2, z = x * x;
	double sine =
		x +
		x * z *
			(-0x1.5555555555549p-3 +
			 z * (0x1.111111110f8a6p-7 +
			      z * (-0x1.a01a019c161d5p-13 +
				   z * (0x1.71de357b1fe7dp-19 + z * (-0x1.ae5e68a2b9cebp-26 +
								     z * 0x1.5d93a5acfd57cp-33)))));
	double cosine =
		1 - (0.5 * z - z * z *
				       (0x1.555555555554cp-5 +
					z * (-0x1.6c16c16c15177p-10 +
					     z * (0x1.a01a019cb159p-16 +
						  z * (-0x1.27e4f809c52adp-22 +
						       z * (0x1.1ee9ebdb4b1c4p-29 +
							    z * -0x1.8fae9be8838d4p-37))))));
	uint64_t swap = -(quarter & 1), differ = (kgb_bits_of(sine) ^ kgb_bits_of(cosine)) & swap;

	*sin_out = kgb_double_of((kgb_bits_of(sine) ^ differ) ^ (quarter & 2) << 62);
	*cos_out = kgb_double_of((kgb_bits_of(cosine) ^ differ) ^ ((quarter + 1) & 2) << 62);
}

/* Box and Muller, in pairs. 1 - uniform lies in (0, 1], where the logarithm is finite. */
KGB_SIMD_BODY void many_pairs_body(const uint32_t *words, double *out)
{
	double radius[BATCH], u[BATCH], sines[BATCH], cosines[BATCH];

	for (size_t i = 0; i < BATCH; i++) {
		radius[i] = 1 - uniform_of(words[4 * i], words[4 * i + 1]);
		u[i] = uniform_of(words[4 * i + 2], words[4 * i + 3]);
	}
	for (size_t i = 0; i < BATCH; i++)
		radius[i] = sqrt(-2 * log_of(radius[i]));
	for (size_t i = 0; i < BATCH; i++)
		sin_cos_of_turn(u[i], &sines[i], &cosines[i]);
	for (size_t i = 0; i < BATCH; i++) {
		out[2 * i] = radius[i] * cosines[i];
		out[2 * i + 1] = radius[i] * sines[i];
	}
}
KGB_SIMD_CLONES(many_pairs, (const uint32_t *words, double *out), (words, out))

double kgb_rng_normal(struct kgb_rng *rng)
{
	double sine, cosine;

	if (rng->has_spare) {
		rng->has_spare = false;
		return rng->spare;
	}
	double radius = sqrt(-2 * log_of(1 - kgb_rng_uniform(rng)));
	sin_cos_of_turn(kgb_rng_uniform(rng), &sine, &cosine);
	rng->spare = radius * sine;
	rng->has_spare = true;
	return radius * cosine;
}

void kgb_rng_normals(struct kgb_rng *rng, double *out, size_t n)
{
	uint32_t words[4 * BATCH];
	size_t i = 0;

	if (n > 0 && rng->has_spare)
		out[i++] = kgb_rng_normal(rng);
	for (; n - i >= 2 * BATCH; i += 2 * BATCH) {
		kgb_rng_words(rng, words, 4 * BATCH);
		many_pairs(words, out + i);
	}
	for (; i < n; i++)
		out[i] = kgb_rng_normal(rng);
}

static uint64_t next_u64(struct kgb_rng *rng)
{
	uint64_t high = kgb_rng_u32(rng);
	return high << 32 | kgb_rng_u32(rng);
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

size_t kgb_rng_deal(const struct kgb_seed *seed, const char *label, uint32_t turn, size_t n)
{
	unsigned char deck[KGB_DECK_MAX] = {0};
	struct kgb_rng rng;

	KGB_ASSERT(n >= 1 && n <= KGB_DECK_MAX);
	kgb_rng_init(&rng, seed, label, turn / (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)kgb_rng_int(&rng, 0, (int64_t)i);
		deck[i] = deck[k];
		deck[k] = (unsigned char)i;
	}
	return deck[turn % n];
}
