/* SPDX-License-Identifier: MIT */
#include "agent/statistics/ranks.h"

void kgb_rank_with_ties(const double *scores, const bool *separated, size_t n, struct kgb_rank *out)
{
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct kgb_rank){1, n};
		for (size_t k = 0; k < n; k++) {
			out[i].best += separated[i * n + k] && scores[k] > scores[i];
			out[i].worst -= separated[i * n + k] && scores[k] < scores[i];
		}
	}
}
