/* SPDX-License-Identifier: MIT */
/** \file
 * Sets of mappings of GPU memory at reserved addresses. Statuses as in verify/exec/cuda/gpu.h.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_MAPPINGS_H
#define KGB_VERIFY_EXEC_CUDA_MAPPINGS_H

#include "verify/exec/cuda/gpu.h"

/** One mapping of GPU memory; no two share a page. */
struct kgb_mapping {
	uint64_t address, bytes;
	CUmemGenericAllocationHandle handle;
};

enum { KGB_SPARES_MAX = 32 };

/** Small pieces of physical memory that are not mapped now, for mappings to come. */
struct kgb_spares {
	struct kgb_mapping items[KGB_SPARES_MAX]; /* address 0 */
	size_t n;
	uint64_t bytes; /* of all */
};
void kgb_spares_clear(struct kgb_spares *spares, struct kgb_gpu *gpu);

struct kgb_mappings {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_spares *spares; /* borrowed */
	struct kgb_mapping *items; /* owned */
	size_t n, cap;
	struct kgb_spans pages; /* of all items */
};

/** Map memory to all of these addresses that have none; they are reserved, by whole pages. */
enum kgb_exec_status kgb_mappings_add(struct kgb_mappings *mappings, const struct kgb_spans *pages,
				      struct kgb_err *err);
/** Unmap what does not lie in `pages` as a whole. */
void kgb_mappings_keep(struct kgb_mappings *mappings, const struct kgb_spans *pages);
/** Unmap all. */
void kgb_mappings_release(struct kgb_mappings *mappings);

/** Put other physical memory behind all addresses of these sets; contents are lost. What it
 * replaces is given back only when everything is there, and blocks of a size that `seed` tells are
 * held meanwhile, so that the driver has to give other pages. NO_MEMORY when both do not fit at the
 * same time: nothing has changed then. */
enum kgb_exec_status kgb_mappings_replace(struct kgb_mappings *const *sets, size_t n_sets,
					  uint64_t seed, struct kgb_err *err);

#endif
