/* SPDX-License-Identifier: MIT */
/** \file
 * The checks after a call of the candidate: its results, their memory, and their values. */
#ifndef KGB_VERIFY_LANE_CANDIDATE_CHECK_H
#define KGB_VERIFY_LANE_CANDIDATE_CHECK_H

#include "verify/comparator/compare.h"
#include "verify/lane/candidate_call.h"

/** Check everything but the values: number and kind of results, dtype, sizes, layout, aliasing,
 * guards, unchanged inputs. True: fine. */
bool kgb_candidate_call_check(struct kgb_lane *lane, const struct kgb_case_data *data,
			      const struct kgb_candidate_call *call, struct kgb_failure *failure);
/** Compare result i with the reference's. Values that were not delivered are wrong. */
bool kgb_candidate_call_compare(const struct kgb_case_data *data,
				const struct kgb_candidate_call *call, size_t i,
				struct kgb_compare *out);
/** What kgb_candidate_call_compare returns, perhaps without a look at all elements. */
bool kgb_candidate_call_is_right(const struct kgb_case_data *data,
				 const struct kgb_candidate_call *call, size_t i);
/** Compare all results. True: right. False: *failure describes the first that is wrong. */
bool kgb_candidate_call_check_values(struct kgb_lane *lane, const struct kgb_case_data *data,
				     const struct kgb_candidate_call *call,
				     struct kgb_failure *failure);
/** Whether all results that both calls delivered are the same, bit by bit. */
bool kgb_candidate_call_same_bits(const struct kgb_case_data *data,
				  const struct kgb_candidate_call *a,
				  const struct kgb_candidate_call *b);
/** Whether fresh results of two calls share memory. The runner kept those of the first call, so
 * they must not. */
bool kgb_candidate_call_shares_memory(const struct kgb_case_data *data,
				      const struct kgb_candidate_call *a,
				      const struct kgb_candidate_call *b);

#endif
