/* SPDX-License-Identifier: MIT */
#include "agent/llm/op_samples.h"

#include "base/str.h"
#include "verify/lane/reached.h"

const struct kgb_sample *kgb_best_sample(const struct kgb_op_state *op)
{
	const struct kgb_sample *best = NULL;
	double best_score = -1;
	for (size_t i = 0; i < op->n_samples; i++) {
		const struct kgb_sample *sample = &op->samples[i];
		const double score = kgb_str_eq(sample->status, "passed")
					     ? (double)KGB_N_REACHED + sample->speedup
					     : (double)kgb_reached_find(sample->reached);
		if (!sample->kernel_sha256 || score <= best_score)
			continue;
		best = sample;
		best_score = score;
	}
	return best;
}

const struct kgb_sample *kgb_judged_twin(const struct kgb_op_state *op, const char *tree)
{
	for (size_t i = 0; i < op->n_samples; i++)
		if (op->samples[i].has_verdict && kgb_str_eq(op->samples[i].kernel_tree, tree))
			return &op->samples[i];
	return NULL;
}
