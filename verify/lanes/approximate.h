/* SPDX-License-Identifier: MIT */
/** \file
 * Approximate instructions of a GPU. Their errors are the PTX ISA's bound for half of the operands
 * and smaller for the others, with a pseudorandom sign, as a function of the operand's bits.
 * Results that float32 represents exactly are exact. Divisions are as inexact as an H200's, so that
 * an honest kernel is about as accurate there as here. */
#ifndef KGB_VERIFY_LANES_APPROXIMATE_H
#define KGB_VERIFY_LANES_APPROXIMATE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/** sin.approx, cos.approx: 2^-20.5 below 2 pi, 2^-14.7 below 100 pi, and more for larger angles. */
float kgb_approximate_sin(float x);
float kgb_approximate_cos(float x);
float kgb_approximate_tan(float x);
/** lg2.approx: an error of 2^-22, absolute from 0.5 to 2, relative to the result elsewhere. log and
 * log10 multiply it by a constant. */
float kgb_approximate_log2(float x);
float kgb_approximate_log(float x);
float kgb_approximate_log10(float x);
/** ex2.approx: 2^-22.5 of the result. exp and exp10 pass it the product of x and a constant. */
float kgb_approximate_exp2(float x);
float kgb_approximate_exp(float x);
float kgb_approximate_exp10(float x);
/** ex2.approx of y lg2.approx(x). */
float kgb_approximate_pow(float x, float y);
/** tanh.approx: 2^-11 of the result. */
float kgb_approximate_tanh(float x);
/** rcp.approx: 1 ulp. */
float kgb_approximate_reciprocal(float x);
/** rsqrt.approx: 2^-22.9 of the result. */
float kgb_approximate_rsqrt(float x);
/** sqrt.approx: 2^-23 of the result. */
float kgb_approximate_sqrt(float x);
/** rcp.approx.ftz.f64: takes the upper 32 bits of the operand, and keeps those of the result. */
double kgb_approximate_rcp64h(double x);

/** 1 / x for a normal x. An H200 rounds 13 % of all significands to the neighbour of the nearest
 * number, and none with up to 4 bits behind the point; this function rounds the same share, but
 * other significands. */
static inline float kgb_approximate_inverse(float x)
{
	uint32_t drawn;

	memcpy(&drawn, &x, sizeof(drawn));
	drawn = drawn & 0x7ffff ? drawn & 0x7fffff : 0;
	drawn *= 0x9e3779b1;
	drawn ^= drawn >> 15;
	drawn *= 0x165667b1;
	const double error = (double)(int32_t)drawn * (0x1p-31 * 0x1.8p-26);
	return (float)((1 + error) / (double)x);
}

/** div.full: x times the inverse of y; both are scaled so that the inverse is normal. */
static inline float kgb_approximate_quotient(float x, float y)
{
	const float size = fabsf(y);
	const float scale = size > 0x1p126F ? 0.25F : size < 0x1p-126F ? 0x1p24F : 1;

	return x * scale * kgb_approximate_inverse(y * scale);
}

/** div.approx.ftz: the same without scaling. Subnormal operands, inverses and results become 0. */
float kgb_approximate_fast_quotient(float x, float y);

#endif
