/* SPDX-License-Identifier: MIT */
#include "agent/report/refine.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"

/** The facts of one chain; rounds count from 1. */
struct chain {
	int reached; /* first round that reached the rung; 0: none */
	int last; /* that was answered */
	int unjudged; /* first round without a verdict; 0: none */
	bool is_over; /* no round comes after `last`: its kernel passed the check */
};

static void add_round(struct chain *chain, const struct kgb_sample *sample,
		      enum kgb_sample_rung rung)
{
	const int round = sample->round;
	if (kgb_sample_has_reached(sample, rung) && (!chain->reached || round < chain->reached))
		chain->reached = round;
	if (!sample->has_verdict && (!chain->unjudged || round < chain->unjudged))
		chain->unjudged = round;
	chain->last = round > chain->last ? round : chain->last;
	chain->is_over = chain->is_over || kgb_str_eq(sample->check_status, "passed");
}

static bool is_reached(const struct chain *chain, int r)
{
	return chain->reached > 0 && chain->reached <= r;
}

static bool is_known(const struct chain *chain, int r)
{
	return is_reached(chain, r) || ((chain->is_over || chain->last >= r) &&
					(chain->unjudged == 0 || chain->unjudged > r));
}

double kgb_op_refine_at_r(const struct kgb_run_state *state, const struct kgb_op_state *op,
			  enum kgb_sample_rung rung, int r)
{
	const int n = state->n_samples;
	struct chain *chains = kgb_xcalloc((size_t)n + 1, sizeof(*chains));
	int n_known = 0, n_reached = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		if (op->samples[i].number <= n)
			add_round(&chains[op->samples[i].number], &op->samples[i], rung);
	for (int i = 1; i <= n; i++) {
		n_known += is_known(&chains[i], r);
		n_reached += is_reached(&chains[i], r);
	}
	kgb_free(chains);
	return n_known > 0 ? (double)n_reached / n_known : (double)NAN;
}

struct kgb_estimate kgb_run_refine_at_r(const struct kgb_run_state *state,
					enum kgb_sample_rung rung, int r)
{
	double *values = kgb_xcalloc(state->n_ops + 1, sizeof(*values));
	for (size_t i = 0; i < state->n_ops; i++)
		values[i] = kgb_op_refine_at_r(state, &state->ops[i], rung, r);
	const struct kgb_estimate estimate = kgb_bootstrap_mean(values, state->n_ops);
	kgb_free(values);
	return estimate;
}
