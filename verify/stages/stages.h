/* SPDX-License-Identifier: MIT */
/** \file
 * The stages of a verification, and the function that runs them.
 */
#ifndef KGB_VERIFY_STAGES_STAGES_H
#define KGB_VERIFY_STAGES_STAGES_H

#include "verify/lane/lane.h"

/** Verify one kernel. 0: *verdict is decided, whatever it is. -1: nothing could be decided because
 * the environment or the arguments are wrong (unknown operator, no sandbox, no torch); no verdict
 * should be written. */
KGB_MUST_CHECK int kgb_judge_run(const struct kgb_judge_options *options,
				 struct kgb_verdict *verdict, struct kgb_err *err);

/* Stages: 0 passed, 1 a decision stands in lane->verdict, -1 *err (a fault of the judge). */
/** Contract and l1. If they pass, the judge has the numbers of the text. */
KGB_MUST_CHECK int kgb_stage_static(struct kgb_lane *lane, struct kgb_err *err);
KGB_MUST_CHECK int kgb_stage_correctness(struct kgb_lane *lane, struct kgb_err *err);
/** Refuse a kernel whose conditions, united and some of them uncovered, still lack an outcome after
 * all cases. Returns 1. */
KGB_MUST_CHECK int kgb_stage_correctness_refuse_uncovered(struct kgb_lane *lane);
KGB_MUST_CHECK int kgb_stage_ablation(struct kgb_lane *lane, struct kgb_err *err);
KGB_MUST_CHECK int kgb_stage_timing(struct kgb_lane *lane, struct kgb_err *err);
/** Whether the verification times its kernel. */
bool kgb_stage_timing_is_wanted(const struct kgb_judge *judge);

#endif
