/* SPDX-License-Identifier: MIT */
/** \file
 * What a case asks of a candidate, and its judgement by calls in the runner.
 */
#ifndef KGB_VERIFY_LANE_CASE_JUDGE_H
#define KGB_VERIFY_LANE_CASE_JUDGE_H

#include "verify/lane/lane.h"

/** Is there anything to compute? Not when no result has elements, nor for operators that only
 * rearrange metadata. */
bool kgb_case_computes(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Does result i need a kernel? One copy makes an argument as it was or converted, and one fill a
 * result that is one number everywhere where an input is empty. `data` has its truth. */
bool kgb_case_result_needs_kernel(const struct kgb_case_data *data, size_t i);
/** Does the case need a kernel for that? Where each result is an argument as it was, perhaps
 * converted (no pass, nothing scattered) or, with an empty input, one number everywhere (the sum of
 * nothing), torch's copies and fills will do, unless the operator is a fill or a copy itself or the
 * case is a benchmark. A case without a launch is no cheat for all that where its results do not
 * depend on the inputs (verify/ablation/dependence.h). `data` has its truth. */
bool kgb_case_needs_launch(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Call the case in the runner, twice under different poison and at different addresses, and judge
 * what comes back. 0 right, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_case_judge(struct kgb_lane *lane, const struct kgb_case_data *data,
				  struct kgb_failure *failure, struct kgb_err *err);

#endif
