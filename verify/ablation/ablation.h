/* SPDX-License-Identifier: MIT */
/** \file
 * Which cases show whether a candidate's kernels compute its results: their results are neither
 * constants nor inputs, so that they break when kernels are left out. Some cases of each interface
 * are ablated, and in some memory is watched (result_origin.h).
 */
#ifndef KGB_VERIFY_ABLATION_ABLATION_H
#define KGB_VERIFY_ABLATION_ABLATION_H

#include "verify/ablation/result_origin.h"
#include "verify/lane/lane.h"

/** Choose the cases that may be ablated: the cheapest of each interface. To be called before lanes
 * run. */
void kgb_ablation_choose(struct kgb_judge *judge);
/** Does the case show whether kernels compute? One of its results must (`data` has its truth). */
bool kgb_ablation_tells(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Is result i neither constant nor an input? Where the operator is a fill or a copy itself, that
 * does not matter: only its kernels may make the result. */
bool kgb_ablation_result_tells(const struct kgb_judge *judge, const struct kgb_case_data *data,
			       size_t i);
/** kgb_ablation_tells, and the case is one of those that were chosen. */
bool kgb_ablation_may_tell(const struct kgb_judge *judge, const struct kgb_case_data *data);

/** Is the case to be ablated? False when enough cases of its interface were. */
bool kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Count the case as ablated. */
void kgb_ablation_count(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Is the case's memory to be watched? True: *origin has its neighbours and must be released. */
bool kgb_ablation_begin_watch(const struct kgb_judge *judge, const struct kgb_case_data *data,
			      struct kgb_result_origin *origin);
/** Count the case as watched. */
void kgb_ablation_count_watched(const struct kgb_judge *judge,
				const struct kgb_result_origin *origin);
/** Add to the verdict that the case was run without `kernel` (NULL: without all), and whether its
 * result broke. */
void kgb_ablation_record(struct kgb_lane *lane, const struct kgb_case_data *data,
			 const char *kernel, bool broken);

#endif
