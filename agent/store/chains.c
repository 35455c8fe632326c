/* SPDX-License-Identifier: MIT */
#include "agent/store/chains.h"

#include "base/mem.h"
#include "base/str.h"

struct kgb_sample *kgb_op_sample(const struct kgb_op_state *op, int number, int round)
{
	for (size_t i = 0; i < op->n_samples; i++)
		if (op->samples[i].number == number && op->samples[i].round == round)
			return &op->samples[i];
	return NULL;
}

int kgb_op_missing(const struct kgb_op_state *op, int n_samples, int n_rounds)
{
	const int last = n_rounds > 1 ? n_rounds : 1;
	bool *is_over = kgb_xcalloc((size_t)n_samples + 1, sizeof(*is_over));
	int n_missing = n_samples;
	for (size_t i = 0; i < op->n_samples; i++) {
		const struct kgb_sample *sample = &op->samples[i];
		if (sample->number > n_samples || is_over[sample->number] ||
		    (sample->round < last && !kgb_str_eq(sample->check_status, "passed")))
			continue;
		is_over[sample->number] = true;
		n_missing--;
	}
	kgb_free(is_over);
	return n_missing;
}
