/* SPDX-License-Identifier: MIT */
#include "agent/statistics/deviance.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "verify/tensor/rng.h"

#define N_PERMUTATIONS 999
/* Equal shares differ by rounding when they are summed in other orders. */
#define ROUNDING 1e-12

/** -2 log-likelihood of n outcomes of which k are 1, with their own mean. */
static double deviance(double k, double n)
{
	double sum = 0;
	if (k > 0)
		sum += k * log(k / n);
	if (k < n)
		sum += (n - k) * log1p(-k / n);
	return -2 * sum;
}

double kgb_explained_deviance(const unsigned char *outcomes, const uint32_t *levels, size_t n,
			      size_t n_levels)
{
	KGB_AUTO(free) double *right = kgb_xcalloc(2 * n_levels + 1, sizeof(*right));
	double *counts = right + n_levels;
	double all = 0, model = 0;
	for (size_t i = 0; i < n; i++) {
		right[levels[i]] += outcomes[i] != 0;
		counts[levels[i]]++;
		all += outcomes[i] != 0;
	}
	for (size_t i = 0; i < n_levels; i++)
		model += deviance(right[i], counts[i]);
	const double null = deviance(all, (double)n);
	return null > 0 ? 1 - model / null : (double)NAN;
}

/** What is permuted: `step` labels at a time, all of them together or within each operator. */
struct shuffle {
	const unsigned char *outcomes;
	size_t n_ops, n_methods, n_levels;
	uint32_t *levels; /* of each outcome */
	void (*permute)(const struct shuffle *shuffle, struct kgb_rng *rng);
};

static void swap(uint32_t *a, uint32_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint32_t kept = a[i];
		a[i] = b[i];
		b[i] = kept;
	}
}

/** Fisher and Yates: blocks of `size` labels change places. */
static void permute_blocks(uint32_t *labels, size_t n, size_t size, struct kgb_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		const size_t k = (size_t)kgb_rng_int(rng, 0, (int64_t)i - 1);
		if (k != i - 1)
			swap(&labels[(i - 1) * size], &labels[k * size], size);
	}
}

static void permute_operators(const struct shuffle *shuffle, struct kgb_rng *rng)
{
	permute_blocks(shuffle->levels, shuffle->n_ops, shuffle->n_methods, rng);
}

static void permute_within_operators(const struct shuffle *shuffle, struct kgb_rng *rng)
{
	for (size_t i = 0; i < shuffle->n_ops; i++)
		permute_blocks(&shuffle->levels[i * shuffle->n_methods], shuffle->n_methods, 1,
			       rng);
}

static struct kgb_attribution attribute(const struct shuffle *shuffle)
{
	const size_t n = shuffle->n_ops * shuffle->n_methods;
	const struct kgb_seed seed = {{0}};
	struct kgb_rng rng;
	struct kgb_attribution out = {.explained = kgb_explained_deviance(shuffle->outcomes,
									  shuffle->levels, n,
									  shuffle->n_levels)};
	size_t hits = 0;
	kgb_rng_init(&rng, &seed, "permutations", 0);
	for (size_t i = 0; i < N_PERMUTATIONS; i++) {
		shuffle->permute(shuffle, &rng);
		const double share = kgb_explained_deviance(shuffle->outcomes, shuffle->levels, n,
							    shuffle->n_levels);
		out.by_chance += share / N_PERMUTATIONS;
		hits += share >= out.explained - ROUNDING;
	}
	out.p = isnan(out.explained) ? (double)NAN : (double)(hits + 1) / (N_PERMUTATIONS + 1);
	return out;
}

struct kgb_attribution kgb_attribute_to_categories(const unsigned char *outcomes, size_t n_ops,
						   size_t n_methods, const uint32_t *categories,
						   size_t n_categories)
{
	KGB_AUTO(free) uint32_t *levels = kgb_xcalloc(n_ops * n_methods + 1, sizeof(*levels));
	for (size_t i = 0; i < n_ops * n_methods; i++)
		levels[i] = categories[i / n_methods];
	return attribute(&(struct shuffle){.outcomes = outcomes,
					   .n_ops = n_ops,
					   .n_methods = n_methods,
					   .n_levels = n_categories,
					   .levels = levels,
					   .permute = permute_operators});
}

struct kgb_attribution kgb_attribute_to_methods(const unsigned char *outcomes, size_t n_ops,
						size_t n_runs, const uint32_t *methods,
						size_t n_methods)
{
	KGB_AUTO(free) uint32_t *levels = kgb_xcalloc(n_ops * n_runs + 1, sizeof(*levels));
	for (size_t i = 0; i < n_ops * n_runs; i++)
		levels[i] = methods ? methods[i % n_runs] : (uint32_t)(i % n_runs);
	return attribute(&(struct shuffle){.outcomes = outcomes,
					   .n_ops = n_ops,
					   .n_methods = n_runs,
					   .n_levels = methods ? n_methods : n_runs,
					   .levels = levels,
					   .permute = permute_within_operators});
}
