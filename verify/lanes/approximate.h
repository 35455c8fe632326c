/* SPDX-License-Identifier: MIT */
/** \file
 * Instructions of a GPU that approximate. Their errors are as large as the PTX ISA allows for half
 * of the operands and anything below for the others, with a sign that looks drawn; a function of
 * the operand's bits. Results that float32 has exactly are exact.
 */
#ifndef KGB_VERIFY_LANES_APPROXIMATE_H
#define KGB_VERIFY_LANES_APPROXIMATE_H

/** sin.approx, cos.approx: 2^-20.5 below 2 pi, 2^-14.7 below 100 pi, and more for larger angles. */
float kgb_approximate_sin(float x);
float kgb_approximate_cos(float x);
float kgb_approximate_tan(float x);
/** lg2.approx: 2^-22, absolute from 0.5 to 2 and of the result elsewhere; times a constant. */
float kgb_approximate_log2(float x);
float kgb_approximate_log(float x);
float kgb_approximate_log10(float x);
/** ex2.approx: 2^-22.5 of the result; of a product with a constant. */
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
/** rcp.approx.ftz.f64: the upper 32 bits of the operand, and of the result. */
double kgb_approximate_rcp64h(double x);

#endif
