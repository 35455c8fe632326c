/* SPDX-License-Identifier: MIT */
/** \file
 * refine@r: the share of operators that a bare model solves within r rounds, in each of which it is
 * shown the verdict on its last kernel. Rounds are not independent, so it is no pass@k.
 */
#ifndef KGB_AGENT_REPORT_REFINE_H
#define KGB_AGENT_REPORT_REFINE_H

#include "agent/report/sample_rung.h"
#include "agent/statistics/bootstrap.h"
#include "agent/store/state.h"

/** Share of the operator's chains that reach the rung within r rounds. A chain that ended with a
 * kernel that passed its check stays as it is; one that is cut off, or whose rounds are not all
 * judged, is left out unless it has reached the rung. NaN: no chain is known. */
double kgb_op_refine_at_r(const struct kgb_run_state *state, const struct kgb_op_state *op,
			  enum kgb_sample_rung rung, int r);
/** Its mean over the operators, with an interval by resampling operators. */
struct kgb_estimate kgb_run_refine_at_r(const struct kgb_run_state *state,
					enum kgb_sample_rung rung, int r);

#endif
