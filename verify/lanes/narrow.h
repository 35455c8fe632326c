/* SPDX-License-Identifier: MIT */
/** \file
 * Floating point types below 32 bits to float32 and back, as a GPU converts them.
 */
#ifndef KGB_VERIFY_LANES_NARROW_H
#define KGB_VERIFY_LANES_NARROW_H

#include "verify/ttir/ttir_type.h"

/** Convert to float32, exactly. */
void kgb_narrow_widen(enum kgb_ttir_element element, const void *from, size_t n, float *to);
/** Round to nearest, ties to even. Overflow gives infinity, in types of 8 bits the largest value,
 * as cvt.rn.satfinite does. */
void kgb_narrow_round(enum kgb_ttir_element element, const float *from, size_t n, void *to);
/** The same from float64, rounded once. */
void kgb_narrow_round_double(enum kgb_ttir_element element, const double *from, size_t n, void *to);
/** Round towards zero: clear the bits beyond the element's precision, so that kgb_narrow_round is
 * exact. */
void kgb_narrow_truncate(enum kgb_ttir_element element, float *values, size_t n);

#endif
