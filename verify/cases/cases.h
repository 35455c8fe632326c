/* SPDX-License-Identifier: MIT */
/** \file
 * From a spec to its cases: every interface x case line x dtype, and cases that are drawn.
 */
#ifndef KGB_VERIFY_CASES_CASES_H
#define KGB_VERIFY_CASES_CASES_H

#include "base/hash.h"
#include "base/mem.h"
#include "verify/cases/case.h"
#include "verify/draw/dictionary.h"
#include "verify/tensor/rng.h"

#define KGB_MAX_CASES 4096 /* of one spec */
#define KGB_CASES_PER_TYPE 48 /* of an interface at most, so that a verdict ends in time */

struct kgb_cases {
	struct kgb_arena arena;
	struct kgb_case *items; /* owned; first the n cases, then the benchmarks */
	size_t n; /* cases that decide on correctness */
	size_t cap;
	size_t n_benchmarks; /* large ones, for timing on a device */
};

/** All cases of a spec in a fixed order: by interface, then case set, line and dtype, each as
 * written; behind the listed cases of an interface those that `seed` draws from its templates, at
 * least 40 % of the interface's cases (NULL: only listed cases). Fails unless names are unique. The
 * cases borrow from the spec. */
KGB_MUST_CHECK int kgb_cases_expand(const struct kgb_spec *spec, const struct kgb_seed *seed,
				    struct kgb_cases *out, struct kgb_err *err);
/** The same for a kernel whose text names `numbers`: some drawn cases have them. The cases borrow
 * from the dictionary. */
KGB_MUST_CHECK int kgb_cases_expand_for(const struct kgb_spec *spec, const struct kgb_seed *seed,
					const struct kgb_dictionary *numbers, struct kgb_cases *out,
					struct kgb_err *err);
/** Only drawn cases, of which the call before of the same seed, with another `round` from 1 on, or
 * kgb_cases_expand_for, which is round 0, had none: the next lines of each template. */
KGB_MUST_CHECK int kgb_cases_expand_further(const struct kgb_spec *spec,
					    const struct kgb_seed *seed,
					    const struct kgb_dictionary *numbers, uint32_t round,
					    struct kgb_cases *out, struct kgb_err *err);
void kgb_cases_release(struct kgb_cases *cases);
/** SHA-256 of everything that the benchmarks' times depend on: the functions that are timed and
 * their arguments. Descriptions, tolerances, costs and all other cases may change without
 * invalidating a measured time. */
void kgb_cases_hash_benchmarks(const struct kgb_cases *cases, char out[KGB_SHA256_HEX_LEN]);

#endif
