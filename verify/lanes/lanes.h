/* SPDX-License-Identifier: MIT */
/** \file
 * Loops over the lanes of blocks, one for each operation and element type. lanes.c and products.c
 * are compiled twice, for every processor and for those with AVX2 and FMA; both give the same bits.
 */
#ifndef KGB_VERIFY_LANES_LANES_H
#define KGB_VERIFY_LANES_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** d[i] from the lanes of up to three operands. Bit k of `moves`: operand k has an element for each
 * lane, else one for all. d overlaps no operand. */
typedef void (*kgb_lanes_fn)(void *d, const void *a, const void *b, const void *c, unsigned moves,
			     size_t n);

/* Element types that loops exist for. */
enum kgb_lanes_type {
	KGB_LANES_I8,
	KGB_LANES_I16,
	KGB_LANES_I32,
	KGB_LANES_I64,
	KGB_LANES_F32,
	KGB_LANES_F64,
	KGB_N_LANES_TYPES,
};

/* X(name, number of operands, s or u: signed or unsigned operands, result, expression in x, y, z).
 * T is the type itself. No operation traps: lanes that a mask excludes are computed, too. */
#define KGB_LANES_INTEGER(X)                                                              \
	X(ADDI, 2, u, T, x + y)                                                           \
	X(SUBI, 2, u, T, x - y)                                                           \
	X(MULI, 2, u, T, 1u * x * y)                                                      \
	X(ANDI, 2, u, T, x &y)                                                            \
	X(ORI, 2, u, T, x | y)                                                            \
	X(XORI, 2, u, T, x ^ y)                                                           \
	X(DIVSI, 2, s, T, DIVIDED(x, y))                                                  \
	X(DIVUI, 2, u, T, y == 0 ? (T)-1 : x / y)                                         \
	X(REMSI, 2, s, T, y == 0 ? x : y == -1 ? 0 : x % y)                               \
	X(REMUI, 2, u, T, y == 0 ? x : x % y)                                             \
	X(CEILDIVSI, 2, s, T, DIVIDED(x, y) + (INEXACT(x, y) && (x < 0) == (y < 0)))      \
	X(FLOORDIVSI, 2, s, T, DIVIDED(x, y) - (INEXACT(x, y) && (x < 0) != (y < 0)))     \
	X(CEILDIVUI, 2, u, T, y == 0 ? (T)-1 : x / y + (x % y != 0))                      \
	X(SHLI, 2, u, T, y >= BITS ? 0 : (uint64_t)x << y)                                \
	X(SHRUI, 2, u, T, y >= BITS ? 0 : x >> y)                                         \
	X(SHRSI, 2, s, T, x >> ((UNSIGNED(y)) >= BITS ? BITS - 1 : (int)y))               \
	X(MAXSI, 2, s, T, x > y ? x : y)                                                  \
	X(MINSI, 2, s, T, x < y ? x : y)                                                  \
	X(MAXUI, 2, u, T, x > y ? x : y)                                                  \
	X(MINUI, 2, u, T, x < y ? x : y)                                                  \
	X(ABSI, 1, s, T, x < 0 ? 0 - UNSIGNED(x) : UNSIGNED(x))                           \
	X(MULHIUI, 2, u, T, HIGH(x, y))                                                   \
	X(POPCOUNT, 1, u, T, __builtin_popcountll(x))                                     \
	X(COUNT_LEADING_ZEROS, 1, u, T, x == 0 ? BITS : __builtin_clzll(x) - (64 - BITS)) \
	X(CMPI_EQ, 2, s, uint8_t, x == y)                                                 \
	X(CMPI_NE, 2, s, uint8_t, x != y)                                                 \
	X(CMPI_SLT, 2, s, uint8_t, x < y)                                                 \
	X(CMPI_SLE, 2, s, uint8_t, x <= y)                                                \
	X(CMPI_SGT, 2, s, uint8_t, x > y)                                                 \
	X(CMPI_SGE, 2, s, uint8_t, x >= y)                                                \
	X(CMPI_ULT, 2, u, uint8_t, x < y)                                                 \
	X(CMPI_ULE, 2, u, uint8_t, x <= y)                                                \
	X(CMPI_UGT, 2, u, uint8_t, x > y)                                                 \
	X(CMPI_UGE, 2, u, uint8_t, x >= y)

/* X(name, number of operands, result, expression); F(f) is libm's f for the type, ABOUT(f, g) is
 * the approximation f for float32, the function g for float64. */
#define KGB_LANES_FLOAT(X)                                                               \
	X(ADDF, 2, T, x + y)                                                             \
	X(SUBF, 2, T, x - y)                                                             \
	X(MULF, 2, T, x *y)                                                              \
	X(DIVF, 2, T, x / y)                                                             \
	X(REMF, 2, T, F(fmod)(x, y))                                                     \
	X(NEGF, 1, T, -x)                                                                \
	X(ABSF, 1, T, F(fabs)(x))                                                        \
	X(MAXNUMF, 2, T, x != x ? y : y != y ? x : LARGER(x, y))                         \
	X(MINNUMF, 2, T, x != x ? y : y != y ? x : SMALLER(x, y))                        \
	X(MAXIMUMF, 2, T, x != x ? x : y != y ? y : LARGER(x, y))                        \
	X(MINIMUMF, 2, T, x != x ? x : y != y ? y : SMALLER(x, y))                       \
	X(SQRT, 1, T, F(sqrt)(x))                                                        \
	X(RSQRT, 1, T, 1 / F(sqrt)(x))                                                   \
	X(CBRT, 1, T, F(cbrt)(x))                                                        \
	X(EXP, 1, T, E(exp)(x))                                                          \
	X(EXP_BY_EXP2, 1, T, E(exp_by_exp2)(x))                                          \
	X(EXP2, 1, T, E(exp2)(x))                                                        \
	X(EXP10, 1, T, F(exp10)(x))                                                      \
	X(EXPM1, 1, T, F(expm1)(x))                                                      \
	X(LOG, 1, T, F(log)(x))                                                          \
	X(LOG2, 1, T, F(log2)(x))                                                        \
	X(LOG10, 1, T, F(log10)(x))                                                      \
	X(LOG1P, 1, T, F(log1p)(x))                                                      \
	X(SIN, 1, T, F(sin)(x))                                                          \
	X(COS, 1, T, F(cos)(x))                                                          \
	X(TAN, 1, T, F(tan)(x))                                                          \
	X(ASIN, 1, T, F(asin)(x))                                                        \
	X(ACOS, 1, T, F(acos)(x))                                                        \
	X(ATAN, 1, T, F(atan)(x))                                                        \
	X(ATAN2, 2, T, F(atan2)(x, y))                                                   \
	X(SINH, 1, T, F(sinh)(x))                                                        \
	X(COSH, 1, T, F(cosh)(x))                                                        \
	X(TANH, 1, T, F(tanh)(x))                                                        \
	X(ASINH, 1, T, F(asinh)(x))                                                      \
	X(ACOSH, 1, T, F(acosh)(x))                                                      \
	X(ATANH, 1, T, F(atanh)(x))                                                      \
	X(ERF, 1, T, F(erf)(x))                                                          \
	X(ERFC, 1, T, F(erfc)(x))                                                        \
	X(LGAMMA, 1, T, LGAMMA(x))                                                       \
	X(TGAMMA, 1, T, F(tgamma)(x))                                                    \
	X(J0, 1, T, F(j0)(x))                                                            \
	X(J1, 1, T, F(j1)(x))                                                            \
	X(Y0, 1, T, F(y0)(x))                                                            \
	X(Y1, 1, T, F(y1)(x))                                                            \
	X(POW, 2, T, F(pow)(x, y))                                                       \
	X(HYPOT, 2, T, F(hypot)(x, y))                                                   \
	X(FDIM, 2, T, F(fdim)(x, y))                                                     \
	X(NEXTAFTER, 2, T, F(nextafter)(x, y))                                           \
	X(REMAINDER, 2, T, F(remainder)(x, y))                                           \
	X(COPYSIGN, 2, T, F(copysign)(x, y))                                             \
	X(FLOOR, 1, T, F(floor)(x))                                                      \
	X(CEIL, 1, T, F(ceil)(x))                                                        \
	X(TRUNC, 1, T, F(trunc)(x))                                                      \
	X(ROUND, 1, T, F(round)(x))                                                      \
	X(RINT, 1, T, F(rint)(x))                                                        \
	X(RECIPROCAL, 1, T, 1 / x)                                                       \
	X(ABOUT_SIN, 1, T, ABOUT(sin, sin)(x))                                           \
	X(ABOUT_COS, 1, T, ABOUT(cos, cos)(x))                                           \
	X(ABOUT_TAN, 1, T, ABOUT(tan, tan)(x))                                           \
	X(ABOUT_LOG2, 1, T, ABOUT(log2, log2)(x))                                        \
	X(ABOUT_LOG, 1, T, ABOUT(log, log)(x))                                           \
	X(ABOUT_LOG10, 1, T, ABOUT(log10, log10)(x))                                     \
	X(ABOUT_EXP2, 1, T, ABOUT(exp2, exp2)(x))                                        \
	X(ABOUT_EXP, 1, T, ABOUT(exp, exp)(x))                                           \
	X(ABOUT_EXP10, 1, T, ABOUT(exp10, exp10)(x))                                     \
	X(ABOUT_TANH, 1, T, ABOUT(tanh, tanh)(x))                                        \
	X(ABOUT_RECIPROCAL, 1, T, ABOUT(reciprocal, kgb_approximate_rcp64h)(x))          \
	X(ABOUT_SQRT, 1, T, ABOUT(sqrt, sqrt)(x))                                        \
	X(ABOUT_RSQRT, 1, T, ABOUT(rsqrt, sqrt)(x))                                      \
	X(ABOUT_POW, 2, T, ABOUT(pow, pow)(x, y))                                        \
	X(ABOUT_DIVF, 2, T, ABOUT(quotient, quotient)(x, y))                             \
	X(ABOUT_FAST_DIVF, 2, T, ABOUT(fast_quotient, quotient)(x, y))                   \
	X(FMA, 3, T, F(fma)(x, y, z))                                                    \
	X(CLAMP, 3, T, x != x ? y : x < y ? y : x > z ? z : x)                           \
	X(CLAMP_NAN, 3, T, x != x ? x : x < y ? y : x > z ? z : x)                       \
	X(ISNAN, 1, int32_t, x != x)                                                     \
	X(ISINF, 1, int32_t, F(fabs)(x) == (T)INFINITY)                                  \
	X(ISFINITE, 1, int32_t, F(fabs)(x) < (T)INFINITY)                                \
	X(SIGNBIT, 1, int32_t, __builtin_signbit(x) != 0)                                \
	X(CMPF_FALSE, 2, uint8_t, 0 & (x == y))                                          \
	X(CMPF_OEQ, 2, uint8_t, x == y)                                                  \
	X(CMPF_OGT, 2, uint8_t, x > y)                                                   \
	X(CMPF_OGE, 2, uint8_t, x >= y)                                                  \
	X(CMPF_OLT, 2, uint8_t, x < y)                                                   \
	X(CMPF_OLE, 2, uint8_t, x <= y)                                                  \
	X(CMPF_ONE, 2, uint8_t, (x < y) | (x > y))                                       \
	X(CMPF_ORD, 2, uint8_t, (x == x) & (y == y))                                     \
	X(CMPF_UEQ, 2, uint8_t, !((x < y) | (x > y)))                                    \
	X(CMPF_UGT, 2, uint8_t, !(x <= y))                                               \
	X(CMPF_UGE, 2, uint8_t, !(x < y))                                                \
	X(CMPF_ULT, 2, uint8_t, !(x >= y))                                               \
	X(CMPF_ULE, 2, uint8_t, !(x > y))                                                \
	X(CMPF_UNE, 2, uint8_t, x != y)                                                  \
	X(CMPF_UNO, 2, uint8_t, (x != x) | (y != y))                                     \
	X(CMPF_TRUE, 2, uint8_t, 1 | (x == y))                                           \
	X(TO_I32, 1, int32_t, SATURATED(x, int32_t, INT32_MIN, INT32_MAX, 0x1p31))       \
	X(TO_I64, 1, int64_t,                                                            \
	  x != x ? INT64_MIN : SATURATED(x, int64_t, INT64_MIN, INT64_MAX, 0x1p63))      \
	X(TO_U32, 1, uint32_t, !(x > 0) ? 0 : x >= (T)0x1p32 ? UINT32_MAX : (uint32_t)x) \
	X(TO_U64, 1, uint64_t, !(x > 0) ? 0 : x >= (T)0x1p64 ? UINT64_MAX : (uint64_t)x)

enum kgb_lanes_id {
#define KGB_LANES_ID(name, ...) KGB_LANES_##name,
	KGB_LANES_INTEGER(KGB_LANES_ID) KGB_LANES_FLOAT(KGB_LANES_ID)
#undef KGB_LANES_ID
		KGB_LANES_SELECT, /* integers, and floats as integers */
	KGB_N_LANES,
};

/* One compilation of all loops. */
struct kgb_lanes {
	kgb_lanes_fn elementwise[KGB_N_LANES][KGB_N_LANES_TYPES];
	/* Convert an integer of one size to another; to float32 (index 0) or float64 (index 1). */
	kgb_lanes_fn sign_extend[4][4], zero_extend[4][4];
	kgb_lanes_fn signed_to_float[4][2], unsigned_to_float[4][2];
	kgb_lanes_fn negate, low_bit; /* of i8: 0 - x, and x & 1 */
	/* Addresses a plus b elements of *(uint64_t *)c bytes; indexed by the size of b. */
	kgb_lanes_fn advance[4];
	/* d[i] = the element at distance i * step, of 1, 2, 4 or 8 bytes. */
	void (*stride)(void *d, const void *s, size_t size, size_t step, size_t n);
	/* Whether p[i] == p[0] + i * size for all i. */
	bool (*is_contiguous)(const uint64_t *p, size_t size, size_t n);
	/* c += a b, all row-major: a is m x k, b is k x n; each element of c is a chain of fused
	 * multiplications in the order of k. */
	void (*product_f32)(float *c, const float *a, const float *b, size_t m, size_t n, size_t k);
	void (*product_f64)(double *c, const double *a, const double *b, size_t m, size_t n,
			    size_t k);
	void (*product_i8)(int32_t *c, const int8_t *a, const int8_t *b, size_t m, size_t n,
			   size_t k);
};

extern const struct kgb_lanes kgb_lanes_any, kgb_lanes_avx2;
/** The fastest compilation that this processor can run. */
const struct kgb_lanes *kgb_lanes_choose(void);

#endif
