/* SPDX-License-Identifier: MIT */
/** \file
 * Samples of an operator that stand for others.
 */
#ifndef KGB_AGENT_LLM_OP_SAMPLES_H
#define KGB_AGENT_LLM_OP_SAMPLES_H

#include "agent/store/state.h"

/** The sample whose kernel stands for the operator: the fastest that is right, else the one that
 * got farthest, else the first with a kernel. NULL: none has one. */
const struct kgb_sample *kgb_best_sample(const struct kgb_op_state *op);
/** A sample of the same kernel that has a verdict, or NULL. */
const struct kgb_sample *kgb_judged_twin(const struct kgb_op_state *op, const char *tree);

#endif
