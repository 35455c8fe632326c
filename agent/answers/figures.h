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

/** Thresholds of fast_p that a table shows. */
#define KGB_N_FAST 8
extern const double kgb_fast_ps[KGB_N_FAST];

struct kgb_figures {
	size_t n; /* operators that count */
	size_t n_finished, n_compiled, n_run, n_slower;
	struct kgb_interval core, correct; /* shares of n, Wilson */
	size_t n_core, n_correct;
	struct kgb_mean standard, outlier; /* right on all cases of the mode, of n that have some */
	struct kgb_mean of_correct, with_fallback; /* speedup */
	struct kgb_mean device; /* speedup of correct kernels by the device's own clock */
	struct kgb_mean peak_share; /* arithmetic mean of theirs */
	double median_speedup; /* of those with one */
	size_t fast[KGB_N_FAST]; /* operators faster than p times the baseline */
	double tokens, dollars, seconds; /* of all n; NaN: none is known */
};

/** The figures of the operators of a run that are in a group (kgb_groups_assign). \param group
 * NULL: of all. */
void kgb_figures_of(const struct kgb_run_row *run, const char *group, struct kgb_figures *out);

#endif
