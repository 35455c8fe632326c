/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's own random numbers: Philox4x32-10 (Salmon et al., SC'11), keyed by seed, case and
 * argument, so that any case can be made again from the recorded seed alone and nothing of one case
 * tells of another.
 */
#ifndef KGB_VERIFY_JUDGE_FILL_H
#define KGB_VERIFY_JUDGE_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verify/judge/cases.h"

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

/** A stream of its own for (seed, label, index), e.g. (seed, case name, argument number). */
void kgb_rng_init(struct kgb_rng *rng, const struct kgb_seed *seed, const char *label,
		  uint32_t index);
uint32_t kgb_rng_u32(struct kgb_rng *rng);
double kgb_rng_uniform(struct kgb_rng *rng); /* [0, 1), 53 bits */
double kgb_rng_normal(struct kgb_rng *rng);
/** Uniform integer in [lo, hi], without bias. */
int64_t kgb_rng_int(struct kgb_rng *rng, int64_t lo, int64_t hi);
void kgb_rng_bytes(struct kgb_rng *rng, void *out, size_t len);

/** Fill the elements of arg->view inside `storage` (storage_elements * size bytes) by its fill rule
 * and the case's mode. outlier: each element with p = 0.001, and at least one, times 50. special: a
 * few elements (a quarter at most, one at least) become +-inf, NaN, +-0, +-largest, +-smallest
 * normal, subnormal (float16 only); integers: smallest, largest, 0, 1, -1. A bounded fill keeps its
 * range in every mode. benchmark: drawn from a table of 65,536 fresh draws, which is faster. Bytes
 * of the storage outside the view are filled with random bytes. */
void kgb_fill(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng, void *storage);

#endif
