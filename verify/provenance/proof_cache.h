/* SPDX-License-Identifier: MIT */
/** \file
 * What our own compilation gave for a claim, from one verification to the next. An entry lies under
 * everything that went into the compilation, text and options of the claim and the software's
 * identity, so an entry decides about no other claim (docs/provenance.md).
 */
#ifndef KGB_VERIFY_PROVENANCE_PROOF_CACHE_H
#define KGB_VERIFY_PROVENANCE_PROOF_CACHE_H

#include <stdatomic.h>

#include "base/system/disk_cache.h"
#include "verify/provenance/recompile.h"
#include "verify/provenance/triton_claims.h"

#define KGB_PROOF_CACHE_ENTRY_MAX ((size_t)8 << 20)
#define KGB_PROOF_CACHE_TOTAL_MAX (UINT64_C(256) << 20)
/** What one verification keeps of what a runner asks for, and of what is proved, each: a candidate
 * that has a great deal compiled must not sweep out what others need. */
#define KGB_PROOF_CACHE_SHARE (KGB_PROOF_CACHE_TOTAL_MAX / 16)

/** The compilation of a claim for compute capability `sm` by workers of this identity. False: not
 * known, or one with several results (warp specialization), which is never kept. */
bool kgb_proof_recall(const struct kgb_disk_cache *store, const struct kgb_triton_claim *claim,
		      unsigned sm, const char *identity, struct kgb_recompiled *out);
/** Keep it, while *kept, the bytes that were kept with this counter, stays within the share. */
void kgb_proof_keep(const struct kgb_disk_cache *store, atomic_uint_fast64_t *kept,
		    const struct kgb_triton_claim *claim, unsigned sm, const char *identity,
		    const struct kgb_recompiled *compiled);
/** Does the same text always compile to the same code? Warp specialization follows addresses. */
bool kgb_triton_claim_has_one_result(const struct kgb_triton_claim *claim);

#endif
