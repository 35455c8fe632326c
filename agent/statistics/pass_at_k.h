/* SPDX-License-Identifier: MIT */
/** \file
 * Unbiased estimates of the value of k samples of a model, from n of them. */
#ifndef KGB_AGENT_STATISTICS_PASS_AT_K_H
#define KGB_AGENT_STATISTICS_PASS_AT_K_H

#include <stddef.h>

/** Probability that of k samples at least one is right, when of n samples c are: 1 - C(n-c, k) /
 * C(n, k), as a product that does not overflow (Chen et al., arXiv 2107.03374, section 2.1). NaN
 * when n < k. */
double kgb_pass_at_k(size_t n, size_t c, size_t k);

/** Expected largest value of k samples drawn from these n without replacement: sum over ranks r of
 * C(r-1, k-1) / C(n, k) * value(r). Sorts `values` in ascending order; a failed sample counts as 0.
 * NaN when n < k. */
double kgb_best_at_k(double *values, size_t n, size_t k);

/** The same where only `n_right` of n samples have a value, given that one of the k has one: sum
 * over their ranks r above the n - n_right others of C(r-1, k-1) value(r), by the sum of C(r-1,
 * k-1). Sorts `values`. NaN when n < k or none has a value. */
double kgb_best_right_at_k(double *values, size_t n_right, size_t n, size_t k);

#endif
