/* SPDX-License-Identifier: MIT */
/** \file
 * Products of matrices in the two compilations of lanes.h; KGB_LANES_NAMED(x) is the name of x in
 * the current one.
 */
#ifndef KGB_VERIFY_LANES_PRODUCTS_H
#define KGB_VERIFY_LANES_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef KGB_LANES_AVX2
#define KGB_LANES_NAMED(x) x##_avx2
#else
#define KGB_LANES_NAMED(x) x##_any
#endif

/* See struct kgb_lanes. */
void KGB_LANES_NAMED(kgb_product_f32)(float *c, const float *a, const float *b, size_t m, size_t n,
				      size_t k);
void KGB_LANES_NAMED(kgb_product_f64)(double *c, const double *a, const double *b, size_t m,
				      size_t n, size_t k);
void KGB_LANES_NAMED(kgb_product_i8)(int32_t *c, const int8_t *a, const int8_t *b, size_t m,
				     size_t n, size_t k);

#endif
