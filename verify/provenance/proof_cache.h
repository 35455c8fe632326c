/* SPDX-License-Identifier: MIT */
/** \file
 * Keeps compilations from one verification to the next. The key of an entry covers all inputs of
 * the compilation, text, options and the software's identity, so an entry decides about no other
 * source (docs/provenance.md). */
#ifndef KGB_VERIFY_PROVENANCE_PROOF_CACHE_H
#define KGB_VERIFY_PROVENANCE_PROOF_CACHE_H

#include <stdatomic.h>

#include "base/system/disk_cache.h"
#include "verify/provenance/recompile.h"

#define KGB_PROOF_CACHE_ENTRY_MAX ((size_t)8 << 20)
#define KGB_PROOF_CACHE_TOTAL_MAX (UINT64_C(256) << 20)
/** Most bytes that one verification stores: a candidate with many compilations must not displace
 * the entries of others. */
#define KGB_PROOF_CACHE_SHARE (KGB_PROOF_CACHE_TOTAL_MAX / 16)

/** The compilation of a source by workers of this identity. False: there is none. */
bool kgb_proof_recall(const struct kgb_disk_cache *store, const struct kgb_triton_source *source,
		      const char *identity, struct kgb_recompiled *out);
/** Store it, while *kept, the bytes that were stored with this counter, stays within the share. */
void kgb_proof_keep(const struct kgb_disk_cache *store, atomic_uint_fast64_t *kept,
		    const struct kgb_triton_source *source, const char *identity,
		    const struct kgb_recompiled *compiled);

#endif
