/* SPDX-License-Identifier: MIT */
/** \file
 * Speedups of many operators as one number or one curve. An array has one value for each operator
 * of the plan: above 0, or NaN when no kernel passed or none was timed.
 */
#ifndef KGB_AGENT_STATISTICS_SPEEDUP_H
#define KGB_AGENT_STATISTICS_SPEEDUP_H

#include <stddef.h>

struct kgb_mean {
	double value; /* NaN: there is none */
	size_t n; /* operators in it */
};

/** Geometric mean of those that have a speedup: exp of the mean logarithm (Fleming and Wallace
 * 1986). A method that fails on the operators where a fast kernel is hard looks better in it, so it
 * is always printed with its n. */
struct kgb_mean kgb_geometric_mean_of_correct(const double *speedups, size_t n);

/** The same over all n. An operator without a kernel counts as 1.0, the baseline's speed. NaN when
 * none has a speedup: nothing was timed. */
struct kgb_mean kgb_geometric_mean_with_fallback(const double *speedups, size_t n);

/** The same over the operators where all of several runs have a speedup: `speedups` has n_runs
 * arrays of n. The result is that of the run `which`. */
struct kgb_mean kgb_geometric_mean_of_common(const double *const *speedups, size_t n_runs, size_t n,
					     size_t which);

/** fast_p of KernelBench (arXiv 2502.10517): operators that are right and more than p times as fast
 * as the baseline (strictly), as a count of all n. */
size_t kgb_fast_p(const double *speedups, size_t n, double p);

/** Any-time curve: operators of n that were solved at a cost of at most `cost`; costs[i] is the
 * cost of operator i up to its solution, NaN without one. As a share of n it is the empirical
 * distribution of COCO (Hansen et al., arXiv 1605.03560, section 4). */
size_t kgb_solved_within(const double *costs, size_t n, double cost);

/** Expected cost of one solved operator when failures are tried again: cost of all attempts,
 * successful or not, by the number of successes (COCO's aRT, same paper). Infinite without a
 * success, NaN without operators. \param spent of each operator; \param solved nonzero: it was. */
double kgb_cost_per_success(const double *spent, const unsigned char *solved, size_t n);

#endif
