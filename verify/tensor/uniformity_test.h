/* SPDX-License-Identifier: MIT */
/** \file
 * Tests whether numbers are independent draws from [0, 1). Their chance to refuse honest draws is
 * bounded for every number of draws, by theorems and not by limits:
 *
 *   law          sup |F_n - F| >= sqrt(ln(2/a) / 2n) has probability a at most (Dvoretzky, Kiefer,
 *                Wolfowitz 1956 with Massart's constant, 1990); looked at 4096 places, over all
 *                draws, the first 256 and the last 256
 *   repetition   whether two draws lie on different sides of 1/2 is a fair coin, and for draws at
 *                one distance from each other these coins are independent: of m pairs
 *                |different - m/2| >= sqrt(m ln(2/a) / 2) has probability a at most (Hoeffding
 *                1963). All distances below 8192 among the first draws, and all multiples of 64
 *   resolution   with no value more probable than q, the i-th draw repeats an earlier one with
 *                probability (i-1) q at most, whatever came before: with v = q n(n-1)/2, c or more
 *                repetitions have probability exp(-v) (e v / c)^c at most (Chernoff)
 *
 * All tests of one call together refuse honest draws with a probability of 2^-34 at most. A
 * verification judges at most 2^14 calls (KGB_MAX_CASES, four of each): 2^-20, one in a million.
 */
#ifndef KGB_VERIFY_TENSOR_UNIFORMITY_TEST_H
#define KGB_VERIFY_TENSOR_UNIFORMITY_TEST_H

#include <stddef.h>

/** At most this many draws are tested: the tests above accept more, but need no more. */
#define KGB_UNIFORMITY_MAX ((size_t)1 << 16)

/** NULL: no test refuses the draws. Else the reason, static text. */
const char *kgb_uniformity_doubt(const double *u, size_t n);
/** The same for the independence of two rows of draws, at every distance below 8192 between
 * them. */
const char *kgb_uniformity_relation(const double *a, const double *b, size_t n);
/** The same for the resolution: values must not repeat more often than draws of which each value
 * has a probability of 2^-22 at most. Sorts the values. */
const char *kgb_uniformity_coarse(double *values, size_t n);
/** The same for values that are rounded to a narrow type: `masses` has the probability of each
 * one's value. Let N draws repeat an earlier one, and A be the sum, over the draws, of the
 * probability of the values seen before. For each number t, exp(t N - (exp(t) - 1) A) is a
 * supermartingale, so that t N - (exp(t) - 1) A > x has probability exp(-x) at most (Freedman
 * 1975). */
const char *kgb_uniformity_sparse(const double *values, const double *masses, size_t n);

#endif
