/* SPDX-License-Identifier: MIT */
/** \file
 * Recorded calls checked and compared by way of their canonical forms, as the judge does it.
 */
#ifndef KGB_TESTS_HELPERS_CANONICAL_CALLS_H
#define KGB_TESTS_HELPERS_CANONICAL_CALLS_H

#include "verify/record/record_canonical.h"

/** May a replay repeat the call, and does its host read nothing? False: *err is the reason. */
static inline bool check_call(const struct kgb_recorded_call *call, const struct kgb_owners *owners,
			      struct kgb_err *err)
{
	struct kgb_canonical canonical;

	kgb_canonical_init(&canonical, call, owners);
	const bool good = kgb_canonical_check(&canonical, err) == 0 &&
			  kgb_canonical_check_downloads(&canonical, err) == 0;
	kgb_canonical_release(&canonical);
	return good;
}

/** As kgb_canonical_compare. */
static inline enum kgb_difference compare_calls(const struct kgb_recorded_call *a,
						const struct kgb_recorded_call *b,
						const struct kgb_owners *owners,
						struct kgb_err *err)
{
	struct kgb_canonical canonical_a, canonical_b;

	kgb_canonical_init(&canonical_a, a, owners);
	kgb_canonical_init(&canonical_b, b, owners);
	const enum kgb_difference difference =
		kgb_canonical_compare(&canonical_a, &canonical_b, err);
	kgb_canonical_release(&canonical_a);
	kgb_canonical_release(&canonical_b);
	return difference;
}

#endif
