/* SPDX-License-Identifier: MIT */
/** \file
 * Conversion of elements between types as torch's copies do it on the CPU.
 */
#ifndef KGB_VERIFY_EXEC_CPU_CONVERT_H
#define KGB_VERIFY_EXEC_CPU_CONVERT_H

#include "verify/tensor/dtype.h"

#define KGB_CPU_CONVERT_MAX 512 /* elements at a time */

/** Convert n contiguous elements, at most KGB_CPU_CONVERT_MAX; both places are aligned to 16 bytes.
 * A number outside of the range of the other type converts as in C on x86. An integer keeps its low
 * bits. A float becomes an integer by way of int32 (int64 if the other type is int64 or uint8); if
 * it does not fit, the smallest int32 (int64) takes its place. An 8-bit float saturates. float64
 * and integers become 16-bit and 8-bit floats by way of float32. The bits of NaN need not be
 * torch's. */
void kgb_cpu_convert(enum kgb_dtype to_dtype, void *to, enum kgb_dtype from_dtype, const void *from,
		     size_t n);

#endif
