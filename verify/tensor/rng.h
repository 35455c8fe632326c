/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's random numbers: Philox4x32-10 (Salmon et al., SC'11), keyed by seed, case and
 * argument, so that any case can be made again from the recorded seed alone, and the numbers of one
 * case predict none of another. A stream is a row of 32-bit words that can be entered anywhere; its
 * numbers are the same on every machine, however many of them are asked for at once. */
#ifndef KGB_VERIFY_TENSOR_RNG_H
#define KGB_VERIFY_TENSOR_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kgb_seed {
	uint8_t bytes[16];
};
struct kgb_rng {
	uint32_t key[2];
	uint32_t counter[4];
	uint32_t out[4];
	int used;
	double spare; /* second normal of a pair */
	bool has_spare;
};

/** One block of Philox4x32-10. */
void kgb_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/** A separate stream for (seed, label, index), e.g. (seed, case name, argument number). */
void kgb_rng_init(struct kgb_rng *rng, const struct kgb_seed *seed, const char *label,
		  uint32_t index);
/** One word. */
uint32_t kgb_rng_u32(struct kgb_rng *rng);
double kgb_rng_uniform(struct kgb_rng *rng); /* [0, 1), 53 bits: two words */
double kgb_rng_normal(struct kgb_rng *rng); /* four words make two of them */
/** Uniform integer in [lo, hi], without bias: two words, and two more as long as they would favour
 * small values. */
int64_t kgb_rng_int(struct kgb_rng *rng, int64_t lo, int64_t hi);
void kgb_rng_bytes(struct kgb_rng *rng, void *out, size_t len);

enum { KGB_DECK_MAX = 64 };
/** The card, below n, that turn `turn` gets of a deck of n <= KGB_DECK_MAX, which is shuffled anew
 * when all were dealt: n turns in a row get each card once. */
size_t kgb_rng_deal(const struct kgb_seed *seed, const char *label, uint32_t turn, size_t n);

/** Go on as if `n` words had been drawn. */
void kgb_rng_skip(struct kgb_rng *rng, uint64_t n);
/** `n` times kgb_rng_u32, kgb_rng_uniform and kgb_rng_normal: the same numbers, faster. */
void kgb_rng_words(struct kgb_rng *rng, uint32_t *out, size_t n);
void kgb_rng_uniforms(struct kgb_rng *rng, double *out, size_t n);
void kgb_rng_normals(struct kgb_rng *rng, double *out, size_t n);

#endif
