/* SPDX-License-Identifier: MIT */
#include "verify/lanes/lanes.h"

#include <math.h>
#include <string.h>

#include "verify/lanes/approximate.h"
#include "verify/lanes/products.h"

/* Expressions of lanes.h mix signs and sizes on purpose. */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"

/* NOLINTBEGIN(bugprone-macro-parentheses): types and names cannot have any. */
#define FUNCTION(fn)                                                                             \
	static void fn(void *d_, const void *a_, const void *b_, const void *c_, unsigned moves, \
		       size_t n)
#define LOOP(...)                      \
	for (size_t i = 0; i < n; i++) \
	__VA_ARGS__

/* Operands that are one element for all lanes (step 0) have separate loops, of which the compiler
 * makes vector instructions: the steps are constants. */
#define STEPS(a, b, c, ...)                                            \
	{                                                              \
		const size_t a_step = (a), b_step = (b), c_step = (c); \
		(void)c_step;                                          \
		LOOP(__VA_ARGS__)                                      \
		break;                                                 \
	}
#define LOOPS_2(...)                        \
	switch (moves & 3) {                \
	case 3:                             \
		STEPS(1, 1, 0, __VA_ARGS__) \
	case 1:                             \
		STEPS(1, 0, 0, __VA_ARGS__) \
	case 2:                             \
		STEPS(0, 1, 0, __VA_ARGS__) \
	default:                            \
		STEPS(0, 0, 0, __VA_ARGS__) \
	}
#define LOOPS_3(...)                                                          \
	switch (moves & 7) {                                                  \
	case 7:                                                               \
		STEPS(1, 1, 1, __VA_ARGS__)                                   \
	case 3:                                                               \
		STEPS(1, 1, 0, __VA_ARGS__)                                   \
	case 5:                                                               \
		STEPS(1, 0, 1, __VA_ARGS__)                                   \
	default:                                                              \
		STEPS(moves & 1, moves >> 1 & 1, moves >> 2 & 1, __VA_ARGS__) \
	}
#define DEFINE_1(fn, in, out, expression)         \
	FUNCTION(fn)                              \
	{                                         \
		typedef in T;                     \
		out *restrict d = d_;             \
		const T *a = a_;                  \
                                                  \
		(void)b_, (void)c_, (void)moves;  \
		LOOP({                            \
			const T x = a[i];         \
			d[i] = (out)(expression); \
		})                                \
	}
#define DEFINE_2(fn, in, out, expression)          \
	FUNCTION(fn)                               \
	{                                          \
		typedef in T;                      \
		out *restrict d = d_;              \
		const T *a = a_, *b = b_;          \
                                                   \
		(void)c_;                          \
		LOOPS_2({                          \
			const T x = a[i * a_step]; \
			const T y = b[i * b_step]; \
			d[i] = (out)(expression);  \
		})                                 \
	}
#define DEFINE_3_OF(fn, first, in, out, expression)    \
	FUNCTION(fn)                                   \
	{                                              \
		typedef in T;                          \
		out *restrict d = d_;                  \
		const first *a = a_;                   \
		const T *b = b_, *c = c_;              \
                                                       \
		LOOPS_3({                              \
			const first x = a[i * a_step]; \
			const T y = b[i * b_step];     \
			const T z = c[i * c_step];     \
			d[i] = (out)(expression);      \
		})                                     \
	}
#define DEFINE_3(fn, in, out, expression) DEFINE_3_OF(fn, in, in, out, expression)
/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- integers ---- */

typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
__extension__ typedef unsigned __int128 u128;

#define BITS (8 * sizeof(T))
/* clang-format off */
#define UNSIGNED(x) \
	_Generic((x), s8: (u8)(x), s16: (u16)(x), s32: (u32)(x), s64: (u64)(x))
/* clang-format on */
#define DIVIDED(x, y) ((y) == 0 ? -1 : (y) == -1 ? (T)(0 - UNSIGNED(x)) : (x) / (y))
#define INEXACT(x, y) ((y) != 0 && (y) != -1 && (x) % (y) != 0)
#define HIGH(x, y) ((u128)(x) * (y) >> BITS)

#define ROW_8(name, n, sign, out, expression) DEFINE_##n(name##_i8, sign##8, out, expression)
#define ROW_16(name, n, sign, out, expression) DEFINE_##n(name##_i16, sign##16, out, expression)
#define ROW_32(name, n, sign, out, expression) DEFINE_##n(name##_i32, sign##32, out, expression)
#define ROW_64(name, n, sign, out, expression) DEFINE_##n(name##_i64, sign##64, out, expression)
KGB_LANES_INTEGER(ROW_8)
KGB_LANES_INTEGER(ROW_16)
KGB_LANES_INTEGER(ROW_32)
KGB_LANES_INTEGER(ROW_64)

DEFINE_3_OF(SELECT_i8, u8, u8, u8, x ? y : z)
DEFINE_3_OF(SELECT_i16, u8, u16, u16, x ? y : z)
DEFINE_3_OF(SELECT_i32, u8, u32, u32, x ? y : z)
DEFINE_3_OF(SELECT_i64, u8, u64, u64, x ? y : z)
DEFINE_1(negate, u8, u8, 0 - x)
DEFINE_1(low_bit, u8, u8, x & 1)

/* X(name, from, to) for all sizes of both. */
#define FROM_EACH(X, sign, to) \
	X(sign##8, sign##to)   \
	X(sign##16, sign##to)  \
	X(sign##32, sign##to)  \
	X(sign##64, sign##to)
#define EXTEND(from, to) DEFINE_1(from##_to_##to, from, to, x)
FROM_EACH(EXTEND, s, 8)
FROM_EACH(EXTEND, s, 16)
FROM_EACH(EXTEND, s, 32)
FROM_EACH(EXTEND, s, 64)
FROM_EACH(EXTEND, u, 8)
FROM_EACH(EXTEND, u, 16)
FROM_EACH(EXTEND, u, 32)
FROM_EACH(EXTEND, u, 64)
#define TO_FLOATS(from)                         \
	DEFINE_1(from##_to_f32, from, float, x) \
	DEFINE_1(from##_to_f64, from, double, x)
TO_FLOATS(s8)
TO_FLOATS(s16)
TO_FLOATS(s32)
TO_FLOATS(s64)
TO_FLOATS(u8)
TO_FLOATS(u16)
TO_FLOATS(u32)
TO_FLOATS(u64)

#define ADVANCE(type)                                                           \
	FUNCTION(advance_##type)                                                \
	{                                                                       \
		u64 *restrict d = d_;                                           \
		const u64 *a = a_, size = *(const u64 *)c_;                     \
		const type *b = b_;                                             \
                                                                                \
		LOOPS_2(d[i] = a[i * a_step] + (u64)(s64)b[i * b_step] * size;) \
	}
ADVANCE(s8)
ADVANCE(s16)
ADVANCE(s32)
ADVANCE(s64)

/* ---- floats ---- */

static inline u32 bits_of(float x)
{
	u32 bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float float_of(u32 bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

#define MAGIC 12582912.f /* 1.5 * 2^23: adding it rounds to an integer, in the lowest bits */

/* 2^k * e^f for |f| <= log(2) / 2; k is in the lowest bits of `shifted`. 2^k is applied in two
 * factors, so that subnormal results are right, too. The polynomial is that of Cephes' expf; about
 * 1 ulp. */
static inline float scaled_exp(float f, float shifted)
{
	u32 k = bits_of(shifted) - bits_of(MAGIC);
	u32 half = (u32)((s32)k >> 1), rest = k - half;
	float p = 1.9875691500e-4f;

	p = fmaf(p, f, 1.3981999507e-3f);
	p = fmaf(p, f, 8.3334519073e-3f);
	p = fmaf(p, f, 4.1665795894e-2f);
	p = fmaf(p, f, 1.6666665459e-1f);
	p = fmaf(p, f, 5.0000001201e-1f);
	p = fmaf(p, f * f, f) + 1.f;
	return p * float_of((half + 127) << 23) * float_of((rest + 127) << 23);
}

static inline float exp_float(float x)
{
	x = x > 89.f ? 89.f : x;
	x = x < -105.f ? -105.f : x;
	float shifted = fmaf(x, 1.44269504f, MAGIC), k = shifted - MAGIC;
	float f = fmaf(k, 2.12194440e-4f, fmaf(k, -0.693359375f, x));
	return scaled_exp(f, shifted);
}

static inline float exp2_float(float x)
{
	x = x > 129.f ? 129.f : x;
	x = x < -152.f ? -152.f : x;
	float shifted = x + MAGIC;
	return scaled_exp((x - (shifted - MAGIC)) * 0.693147181f, shifted);
}

/* tl.exp as Triton compiles it for NVIDIA GPUs: the product is rounded, so the error grows with x.
 */
static inline float exp_by_exp2_float(float x)
{
	return exp2_float(x * 1.44269504f);
}

static inline double exp_by_exp2(double x)
{
	return exp(x);
}

static inline float lgamma_of_float(float x)
{
	int sign;

	return lgammaf_r(x, &sign);
}

static inline double lgamma_of_double(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

static inline double quotient(double x, double y)
{
	return x / y;
}

#define LARGER(x, y) ((x) > (y) ? (x) : (y) > (x) ? (y) : __builtin_signbit(x) ? (y) : (x))
#define SMALLER(x, y) ((x) < (y) ? (x) : (y) < (x) ? (y) : __builtin_signbit(x) ? (x) : (y))
#define SATURATED(x, type, low, high, bound) \
	((x) != (x) ? 0 : (x) >= (T)(bound) ? (high) : (x) < -(T)(bound) ? (low) : (type)(x))

#define ROW_FLOAT(name, n, out, expression) DEFINE_##n(name##_f32, float, out, expression)
#define ABOUT(f, g) _Generic((T)0, float : kgb_approximate_##f, double : (g))
#define F(name) name##f
#define E(name) name##_float
#define LGAMMA(x) lgamma_of_float(x)
KGB_LANES_FLOAT(ROW_FLOAT)
#undef F
#undef E
#undef LGAMMA
#define ROW_DOUBLE(name, n, out, expression) DEFINE_##n(name##_f64, double, out, expression)
#define F(name) name
#define E(name) name
#define LGAMMA(x) lgamma_of_double(x)
KGB_LANES_FLOAT(ROW_DOUBLE)

/* ---- memory ---- */

#define STRIDE(type)                                                \
	case sizeof(type):                                          \
		LOOP(((type *)d)[i] = ((const type *)s)[i * step];) \
		break

static void stride_lanes(void *d, const void *s, size_t size, size_t step, size_t n)
{
	switch (size) {
		STRIDE(u8);
		STRIDE(u16);
		STRIDE(u32);
		STRIDE(u64);
	default:
		break;
	}
}

static bool contiguous_lanes(const uint64_t *p, size_t size, size_t n)
{
	const u64 first = p[0];
	u64 wrong = 0;

	LOOP(wrong |= p[i] ^ (first + i * size);)
	return wrong == 0;
}

/* ---- the table ---- */

#define INTEGER_ENTRY(name, ...) \
	[KGB_LANES_##name] = {name##_i8, name##_i16, name##_i32, name##_i64, NULL, NULL},
#define FLOAT_ENTRY(name, ...) \
	[KGB_LANES_##name] = {NULL, NULL, NULL, NULL, name##_f32, name##_f64},
#define TO_EACH(from, sign)                                                      \
	{                                                                        \
		from##_to_##sign##8, from##_to_##sign##16, from##_to_##sign##32, \
			from##_to_##sign##64                                     \
	}

const struct kgb_lanes KGB_LANES_NAMED(kgb_lanes) = {
	.elementwise = {KGB_LANES_INTEGER(INTEGER_ENTRY) KGB_LANES_FLOAT(
				FLOAT_ENTRY)[KGB_LANES_SELECT] = {SELECT_i8, SELECT_i16, SELECT_i32,
								  SELECT_i64, NULL, NULL}},
	.sign_extend = {TO_EACH(s8, s), TO_EACH(s16, s), TO_EACH(s32, s), TO_EACH(s64, s)},
	.zero_extend = {TO_EACH(u8, u), TO_EACH(u16, u), TO_EACH(u32, u), TO_EACH(u64, u)},
	.signed_to_float = {{s8_to_f32, s8_to_f64},
			    {s16_to_f32, s16_to_f64},
			    {s32_to_f32, s32_to_f64},
			    {s64_to_f32, s64_to_f64}},
	.unsigned_to_float = {{u8_to_f32, u8_to_f64},
			      {u16_to_f32, u16_to_f64},
			      {u32_to_f32, u32_to_f64},
			      {u64_to_f32, u64_to_f64}},
	.negate = negate,
	.low_bit = low_bit,
	.advance = {advance_s8, advance_s16, advance_s32, advance_s64},
	.stride = stride_lanes,
	.is_contiguous = contiguous_lanes,
	.product_f32 = KGB_LANES_NAMED(kgb_product_f32),
	.product_f64 = KGB_LANES_NAMED(kgb_product_f64),
	.product_i8 = KGB_LANES_NAMED(kgb_product_i8),
};

#ifndef KGB_LANES_AVX2
const struct kgb_lanes *kgb_lanes_choose(void)
{
#ifdef KGB_HAVE_LANES_WIDE
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &kgb_lanes_avx2;
#endif
	return &kgb_lanes_any;
}
#endif
