/* SPDX-License-Identifier: MIT */
/** \file
 * Chooses cases that show whether a candidate's kernels compute its results: their results are
 * neither constants nor inputs, so that they break when kernels are left out. In some cases of each
 * interface memory is watched, too (result_origin.h). */
#ifndef KGB_VERIFY_ABLATION_ABLATION_H
#define KGB_VERIFY_ABLATION_ABLATION_H

#include "verify/ablation/result_origin.h"
#include "verify/lane/lane.h"

/** Choose the cases in which kernels may be left out one at a time, and memory may be watched: the
 * cheapest of each interface. Call it before lanes run. */
void kgb_ablation_choose(struct kgb_judge *judge);
/** Whether the case shows that kernels compute: one of its results must (`data` has its truth). */
bool kgb_ablation_is_sensitive(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Whether result i is neither constant nor an input. Always true for an operator that is a fill or
 * a copy itself: only its kernels may make the result. */
bool kgb_ablation_result_is_sensitive(const struct kgb_judge *judge,
				      const struct kgb_case_data *data, size_t i);
/** The same for `values`, which are right for result i: they may be an input that is right within
 * the tolerance. */
bool kgb_ablation_values_are_sensitive(const struct kgb_judge *judge,
				       const struct kgb_case_data *data, size_t i, void *values);

/** Whether the kernels of this case, which shows that kernels compute, are to be left out one at a
 * time, for the record. False when that was done in enough cases of its interface. */
bool kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Count the case as one with kernels left out. */
void kgb_ablation_count(const struct kgb_judge *judge, const struct kgb_case_data *data);
/** Whether the case's memory is to be watched. True: *origin has its neighbours and must be
 * released. */
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
