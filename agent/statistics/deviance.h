/* SPDX-License-Identifier: MIT */
/** \file
 * How much the operator's category and the method explain whether kernels are right. Outcomes are a
 * table of n_ops operators times n_methods methods, outcomes[i * n_methods + k] nonzero when method
 * k passed operator i. */
#ifndef KGB_AGENT_STATISTICS_DEVIANCE_H
#define KGB_AGENT_STATISTICS_DEVIANCE_H

#include <stddef.h>
#include <stdint.h>

/** NaN where all outcomes are equal: there is nothing to explain. */
struct kgb_attribution {
	double explained; /* share of the deviance, 0 to 1 */
	double by_chance; /* mean of the same share when labels are permuted */
	double p; /* (1 + permutations that explain as much) / (1 + permutations) */
};

/** Share of deviance that one factor explains: D2 = 1 - D_model / D_null, D = -2 sum log-likelihood
 * of n outcomes with the mean of their level (model) or of all (null). For one factor it equals
 * I(outcome; level) / H(outcome). \param levels of each outcome, below n_levels. */
double kgb_explained_deviance(const unsigned char *outcomes, const uint32_t *levels, size_t n,
			      size_t n_levels);

/** The share that categories explain. Categories are permuted over operators, each with all its
 * outcomes: outcomes of one operator are alike, so permuting single outcomes would call chance an
 * effect. 999 permutations, the same for the same input. */
struct kgb_attribution kgb_attribute_to_categories(const unsigned char *outcomes, size_t n_ops,
						   size_t n_methods, const uint32_t *categories,
						   size_t n_categories);

/** The share that methods explain, of which each may have several runs: outcomes[i * n_runs + k].
 * The outcomes of each operator are permuted among runs.
 * \param methods of each run, below n_methods; NULL: each run is a method */
struct kgb_attribution kgb_attribute_to_methods(const unsigned char *outcomes, size_t n_ops,
						size_t n_runs, const uint32_t *methods,
						size_t n_methods);

#endif
