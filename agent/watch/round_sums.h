/* SPDX-License-Identifier: MIT */
/** \file
 * Adds up what the rounds of one attempt used: tokens at the gateway, the CLI's own report, and
 * what the launcher measured.
 */
#ifndef KGB_AGENT_WATCH_ROUND_SUMS_H
#define KGB_AGENT_WATCH_ROUND_SUMS_H

#include "methods/events.h"
#include "sandbox/meter/usage.h"
#include "sandbox/spawn/sandbox_child.h"

struct kgb_round_sums {
	int n_begun, n_ended; /* rounds */
	struct kgb_totals totals; /* of all rounds */
	struct kgb_totals earlier, round; /* of the rounds before the last, and of the last */
	struct kgb_report report; /* numbers of the rounds before the last */
	struct kgb_sandbox_child_result result; /* of the last round, with sums of all */
	struct kgb_sandbox_status status; /* sums, largest and worst values of all rounds */
};

void kgb_round_sums_init(struct kgb_round_sums *sums);
/** A round begins; `last` is the CLI's report of the round before. */
void kgb_round_sums_begin_round(struct kgb_round_sums *sums, const struct kgb_report *last);
/** The gateway has counted so much in this round. */
void kgb_round_sums_set_round(struct kgb_round_sums *sums, const struct kgb_totals *round);
/** The sandbox of a round is gone. */
void kgb_round_sums_end_round(struct kgb_round_sums *sums, const struct kgb_sandbox_status *status,
			      const struct kgb_sandbox_child_result *result);
/** Add the numbers of the earlier rounds to the report of the last one. */
void kgb_round_sums_complete(const struct kgb_round_sums *sums, struct kgb_report *report);

#endif
