/* SPDX-License-Identifier: MIT */
/** \file
 * The demands of a case on a candidate, and its judgement by calls in the runner. */
#ifndef KGB_VERIFY_LANE_CASE_JUDGE_H
#define KGB_VERIFY_LANE_CASE_JUDGE_H

#include "verify/lane/lane.h"

/** Whether there is anything to compute. Not when no result has elements, nor for operators that
 * only rearrange metadata. */
bool kgb_case_computes(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Whether result i needs a kernel. One copy makes an unchanged or converted argument, and one fill
 * a result that is one number everywhere if an input is empty. `data` has its truth. */
bool kgb_case_result_needs_kernel(const struct kgb_case_data *data, size_t i);
/** Whether the case needs a kernel. If each result is an unchanged argument, perhaps converted (no
 * pass, nothing scattered) or, with an empty input, one number everywhere (the sum of nothing),
 * torch's copies and fills suffice, unless the operator is a fill or a copy itself or the case is a
 * benchmark. Even a case that needs a kernel is no cheat without a launch if its results do not
 * depend on the inputs (verify/ablation/dependence.h). `data` has its truth. */
bool kgb_case_needs_launch(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Call the case in the runner, twice under different poison and at different addresses, and judge
 * what comes back. 0 right, 1 *failure, -1 *err. */
KGB_MUST_CHECK int kgb_case_judge(struct kgb_lane *lane, const struct kgb_case_data *data,
				  struct kgb_failure *failure, struct kgb_err *err);

#endif
