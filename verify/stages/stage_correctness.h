/* SPDX-License-Identifier: MIT */
/** \file
 * The parts of stage correctness: what one lane does with and without replays, and one case.
 */
#ifndef KGB_VERIFY_STAGES_STAGE_CORRECTNESS_H
#define KGB_VERIFY_STAGES_STAGE_CORRECTNESS_H

#include "verify/lane/lane.h"
#include "verify/stages/case_queue.h"

/** What all lanes of the stage share. */
struct kgb_correctness {
	struct kgb_case_queue queue;
	const struct kgb_lane *first; /* lane 0 */
	const size_t *order; /* numbers of the cases in the order of their turns */
};

/** Judge cases from the queue until there are none. Lane `number`; lane 0 makes what the others
 * share. 0 done, 1 something was decided, -1 *err. */
KGB_MUST_CHECK int kgb_correctness_by_calls(struct kgb_lane *lane, size_t number,
					    struct kgb_correctness *work, struct kgb_err *err);
KGB_MUST_CHECK int kgb_correctness_by_replays(struct kgb_lane *lane, size_t number,
					      struct kgb_correctness *work, struct kgb_err *err);

/** Start the lane's runner. 0, 1 decided (the candidate does not load), -1 *err. */
KGB_MUST_CHECK int kgb_correctness_load(struct kgb_lane *lane, struct kgb_err *err);
/** The case whose turn it is. */
const struct kgb_case *kgb_correctness_case(const struct kgb_lane *lane,
					    const struct kgb_correctness *work, size_t turn);

/** Count the case of this turn as passed (failure NULL) or failed, in the queue too. */
void kgb_case_settle(struct kgb_lane *lane, struct kgb_correctness *work, size_t turn,
		     struct kgb_failure *failure);

#endif
