/* SPDX-License-Identifier: MIT */
/** \file
 * Loops over arrays that are compiled twice: for every processor, and for those with AVX2. Files
 * that use it are compiled without fused multiplications (see kgb_vector_sources in
 * cmake/Kgb.cmake), so that both give the same numbers.
 *
 *     KGB_SIMD_BODY void scale_body(double *x, size_t n) { ... }
 *     KGB_SIMD_CLONES(scale, (double *x, size_t n), (x, n))
 *
 * defines `static void scale(double *x, size_t n)`.
 */
#ifndef KGB_VERIFY_TENSOR_SIMD_CLONES_H
#define KGB_VERIFY_TENSOR_SIMD_CLONES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define KGB_SIMD_BODY static inline __attribute__((always_inline))

#ifdef __x86_64__
#define KGB_AVX2 __attribute__((target("avx2")))
static inline bool kgb_has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#define KGB_SIMD_CLONES(name, parameters, arguments) \
	KGB_AVX2 static void name##_avx2 parameters  \
	{                                            \
		name##_body arguments;               \
	}                                            \
	static void name parameters                  \
	{                                            \
		if (kgb_has_avx2())                  \
			name##_avx2 arguments;       \
		else                                 \
			name##_body arguments;       \
	}
#else
#define KGB_SIMD_CLONES(name, parameters, arguments) \
	static void name parameters                  \
	{                                            \
		name##_body arguments;               \
	}
#endif

/* The bits of a double, and back. */
KGB_SIMD_BODY uint64_t kgb_bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

KGB_SIMD_BODY double kgb_double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
