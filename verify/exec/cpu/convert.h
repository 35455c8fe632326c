/* SPDX-License-Identifier: MIT */
/** \file
 * Conversion of elements between types as torch's copies do it on the CPU.
 */
#ifndef KGB_VERIFY_EXEC_CPU_CONVERT_H
#define KGB_VERIFY_EXEC_CPU_CONVERT_H

#include "verify/tensor/dtype.h"

#define KGB_CPU_CONVERT_MAX 512 /* elements at a time */

/** Convert n elements, at most KGB_CPU_CONVERT_MAX, that lie one behind the other; both places are
 * aligned to 16 bytes. Numbers outside of the other type convert as in C on x86: integers keep
 * their low bits, and a float that no int32 (for int64 and uint8: int64) holds counts as the
 * smallest; an 8-bit float is the largest. float64 and integers become 16-bit and 8-bit floats by
 * way of float32. The bits of NaN need not be torch's. */
void kgb_cpu_convert(enum kgb_dtype to_dtype, void *to, enum kgb_dtype from_dtype, const void *from,
		     size_t n);

#endif
