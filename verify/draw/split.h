/* SPDX-License-Identifier: MIT */
/** \file
 * Sizes by chance: numbers of elements that become the sizes of a shape. For draw.c.
 */
#ifndef KGB_VERIFY_DRAW_SPLIT_H
#define KGB_VERIFY_DRAW_SPLIT_H

#include "verify/tensor/rng.h"

/** A positive number of lo .. hi whose logarithm is uniformly distributed. */
int64_t kgb_throw_log(struct kgb_rng *rng, int64_t lo, int64_t hi);
/** Split a number of elements into `ndim` sizes: each takes a random share of what is left. In
 * three of four times no size is 1, so that a layout shows in each dimension, if the number allows
 * it. */
void kgb_split_elements(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes);
/** The same with a size of 1 beside others: in half of the shapes it is the one before the last,
 * where kernels look for the distance of rows. ndim is above 1. */
void kgb_split_with_one(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes);
/** Give all prime factors of a number to random sizes; ndim is above 0. */
void kgb_split_exactly(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes);
/** One long size, the others short; ndim is above 0. */
void kgb_split_long(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes);

#endif
