/* SPDX-License-Identifier: MIT */
/** \file
 * The requirements of a case on a candidate, and the judgement of its calls in the runner. */
#ifndef KGB_VERIFY_LANE_CASE_JUDGE_H
#define KGB_VERIFY_LANE_CASE_JUDGE_H

#include "verify/lane/lane.h"

/** Whether there is anything to compute. Not when no result has elements, nor for operators that
 * only rearrange metadata. */
bool kgb_case_computes(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Whether a kernel must compute result i. It need not if one copy by torch makes the result (an
 * unchanged or converted argument), or one fill (an input is empty, and all elements are equal).
 * `data` must hold the right results. */
bool kgb_case_result_needs_kernel(const struct kgb_case_data *data, size_t i);
/** Whether the case needs a kernel. It does not if torch's copies and fills make all results
 * (kgb_case_result_needs_kernel), unless the operator is a fill or a copy itself, or the case is a
 * benchmark. Where a kernel is needed, a call without a launch is still no cheat if the results do
 * not depend on the inputs (verify/ablation/dependence.h). `data` must hold the right results. */
bool kgb_case_needs_launch(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Whether this is the case of its interface that the seed selects for thousands of calls. */
bool kgb_case_is_veteran(const struct kgb_lane *lane, const struct kgb_case *c);
/** The time for repeated calls of the case, as the seed draws: 0, or enough for some dozens of
 * calls, or for thousands. */
int kgb_case_repeat_us(const struct kgb_lane *lane, const struct kgb_case *c);
/** Call the case in the runner, twice under different poison and at different addresses, and judge
 * the results. If the operator needs no kernel, call it again and again, and then with other
 * elements in the same tensors. 0 right, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_case_judge(struct kgb_lane *lane, const struct kgb_case_data *data,
				  struct kgb_failure *failure, struct kgb_err *err);

#endif
