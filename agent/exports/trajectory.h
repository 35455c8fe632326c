/* SPDX-License-Identifier: MIT */
/** \file
 * The steps of an attempt or a sample, gathered from its prompts, event streams, answers and
 * recorded requests.
 */
#ifndef KGB_AGENT_EXPORTS_TRAJECTORY_H
#define KGB_AGENT_EXPORTS_TRAJECTORY_H

#include "agent/evidence/record.h"
#include "agent/exports/steps.h"

KGB_MUST_CHECK int kgb_trajectory_of_attempt(struct kgb_steps *out,
					     const struct kgb_run_record *record,
					     const struct kgb_attempt_state *attempt,
					     struct kgb_err *err);
KGB_MUST_CHECK int kgb_trajectory_of_sample(struct kgb_steps *out,
					    const struct kgb_run_record *record,
					    const struct kgb_op_state *op, int number,
					    struct kgb_err *err);

#endif
