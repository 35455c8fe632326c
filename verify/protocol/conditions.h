/* SPDX-License-Identifier: MIT */
/** \file
 * A set of conditions of kernels, with the outcomes that occurred. */
#ifndef KGB_VERIFY_PROTOCOL_CONDITIONS_H
#define KGB_VERIFY_PROTOCOL_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "verify/protocol/exec_protocol.h"

#define KGB_CONDITION_LANES 16 /* a case's lanes count in each of its runs */

/** Whether it ran, and was never true, or never false. An outcome that only invalid inputs have
 * counts. What never ran, or hardly, is code for other sizes or types: of a kernel for single
 * elements a verification may have one case. */
static inline bool kgb_condition_is_uncovered(const struct kgb_exec_condition *condition)
{
	return condition->lanes >= KGB_CONDITION_LANES &&
	       (condition->outcomes | condition->outside) !=
		       (KGB_EXEC_WAS_TRUE | KGB_EXEC_WAS_FALSE);
}

/** The outcome that an uncovered condition lacks. */
static inline const char *kgb_condition_missing(const struct kgb_exec_condition *condition)
{
	return (condition->outcomes | condition->outside) & KGB_EXEC_WAS_TRUE ? "false" : "true";
}

/** All zero: empty. */
struct kgb_conditions {
	struct kgb_exec_condition *items; /* owned */
	size_t n, cap;
	size_t n_united; /* the first ones, as kgb_conditions_unite left them */
};

/** Add a condition, or outcomes of one that is there. */
void kgb_conditions_add(struct kgb_conditions *conditions,
			const struct kgb_exec_condition *condition);
/** Make each condition one element, in the order of place and ordinal. */
void kgb_conditions_unite(struct kgb_conditions *conditions);
/** How many are uncovered. Unites them. */
size_t kgb_conditions_count_uncovered(struct kgb_conditions *conditions);
void kgb_conditions_release(struct kgb_conditions *conditions);

#endif
