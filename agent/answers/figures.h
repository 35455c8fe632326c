/* SPDX-License-Identifier: MIT */
/** \file
 * The figures of a set of operators of one run. Operators that have not ended count as not passed;
 * kernels that were replaced by hand count in none.
 */
#ifndef KGB_AGENT_ANSWERS_FIGURES_H
#define KGB_AGENT_ANSWERS_FIGURES_H

#include "agent/answers/runs.h"
#include "agent/statistics/proportion.h"
#include "agent/statistics/speedup.h"

/** Thresholds of the curve of fast_p. */
#define KGB_N_FAST 8
extern const double kgb_fast_ps[KGB_N_FAST];

struct kgb_figures {
	size_t n; /* operators that count */
	size_t n_finished, n_compiled, n_slower;
	struct kgb_interval core, correct; /* shares of n, Wilson */
	size_t n_core, n_correct;
	struct kgb_mean of_correct, with_fallback; /* speedup */
	double median_speedup; /* of those with one */
	size_t fast[KGB_N_FAST]; /* operators faster than p times the baseline */
	double tokens, dollars, seconds; /* of all n; NaN: none is known */
};

/** What operators can be grouped by: the name of an operator's group; NULL: unknown. */
typedef const char *(*kgb_group_fn)(const struct kgb_op_row *op);

/** The figures of the operators of a run that are in a group. \param group_of NULL: of all. */
void kgb_figures_of(const struct kgb_run_row *run, kgb_group_fn group_of, const char *group,
		    struct kgb_figures *out);

#endif
