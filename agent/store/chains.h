/* SPDX-License-Identifier: MIT */
/** \file
 * Samples of an operator, and the chains of rounds that they form.
 */
#ifndef KGB_AGENT_STORE_CHAINS_H
#define KGB_AGENT_STORE_CHAINS_H

#include "agent/store/state.h"

/** By number and round; NULL: not answered. */
struct kgb_sample *kgb_op_sample(const struct kgb_op_state *op, int number, int round);
/** Of n_samples chains of at most n_rounds (0 and 1: without reflection), how many are cut off
 * before their end: its last round, or a kernel that passed its check. */
int kgb_op_missing(const struct kgb_op_state *op, int n_samples, int n_rounds);

#endif
