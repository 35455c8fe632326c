/* SPDX-License-Identifier: MIT */
/** \file
 * Keeps the reference's answers from one verification to the next. The key of an entry covers
 * everything that the answer depends on: the request, the inputs, the device, and the identity of
 * the reference's software. */
#ifndef KGB_VERIFY_LANE_TRUTH_CACHE_H
#define KGB_VERIFY_LANE_TRUTH_CACHE_H

#include "base/system/disk_cache.h"
#include "verify/lane/case_data.h"

#define KGB_TRUTH_CACHE_ENTRY_MAX ((size_t)8 << 20) /* bytes */
#define KGB_TRUTH_CACHE_TOTAL_MAX (UINT64_C(512) << 20) /* bytes */
/* Bytes of all inputs. For larger ones computing the answer again is faster than their digest. */
#define KGB_TRUTH_CACHE_INPUT_MAX ((size_t)32 << 20)

struct kgb_truth_place {
	const char *identity; /* of the reference worker */
	const char *device; /* "cpu", or the GPU's name */
	const char *spec_sha256; /* covers the spec's Python functions */
};

/** The key of the float64 and native answer for `data`. False: none is kept for such inputs. */
bool kgb_truth_key(const struct kgb_truth_place *place, const struct kgb_case_data *data,
		   char key[KGB_SHA256_HEX_LEN]);
/** Fill in the results of `data`. False: there is no entry. */
bool kgb_truth_recall(const struct kgb_disk_cache *store, const char *key,
		      struct kgb_case_data *data);
/** Keep an answer. `out` holds its results. */
void kgb_truth_keep(const struct kgb_disk_cache *store, const char *key,
		    const struct kgb_wire_reply *reply, const char *out);

#endif
