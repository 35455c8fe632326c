/* SPDX-License-Identifier: MIT */
/** \file
 * Results that are draws of random numbers: `laws` of a spec. Each element must be possible under
 * its distribution, and is mapped to a number that is uniform on [0, 1) if the element has that
 * distribution (docs/tolerance.md, "Draws"); uniformity_test.h tests these. */
#ifndef KGB_VERIFY_LANE_RANDOM_RESULTS_H
#define KGB_VERIFY_LANE_RANDOM_RESULTS_H

#include "verify/comparator/compare.h"
#include "verify/lane/lane.h"

/** Judge result i of a call, which has a distribution, by the values of all results of the call
 * (contiguous elements; NULL: not delivered): *out as of kgb_compare, with `unlikely` if the
 * elements are possible one by one but not together. */
void kgb_random_result_check(const struct kgb_case_data *data, void *const *values, size_t i,
			     struct kgb_compare *out);
/** Complete *failure, which has the numbers of *compare, with code, message and hint. */
void kgb_random_result_explain(struct kgb_lane *lane, const struct kgb_case_data *data, size_t i,
			       const struct kgb_compare *compare, struct kgb_failure *failure);
/** Variant of a case's inputs, with another seed, that no other check uses. */
#define KGB_VARIANT_OTHER_SEED 3
/** Relate two seeds as users do, or as a kernel may that shortens seeds: `other`, of that variant,
 * gets the seed of `to` plus 1, or the seed of `to` with one bit flipped, or plus or minus a
 * modulus, which may be one of the candidate's numbers (NULL: it has none), or keeps its own. The
 * verdict's seed selects one of these. */
void kgb_random_result_relate_seeds(const struct kgb_dictionary *numbers,
				    struct kgb_case_data *other, const struct kgb_case_data *to);
/** The draws of two right calls with different seeds must be independent. 0, or 1 with *failure. */
int kgb_random_result_check_seeds(struct kgb_lane *lane, const struct kgb_case_data *data_a,
				  void *const *values_a, const struct kgb_case_data *data_b,
				  void *const *values_b, struct kgb_failure *failure);
/** Fill *failure for two calls with the same seed and different elements. Returns 1. */
int kgb_random_result_refuse_repetition(struct kgb_failure *failure);
/** P(X <= k) for a Poisson variable, k a whole number >= -1 (exposed for tests). */
double kgb_poisson_cdf(double k, double rate);

#endif
