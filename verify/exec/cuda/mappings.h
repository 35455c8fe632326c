/* SPDX-License-Identifier: MIT */
/** \file
 * Sets of mappings of GPU memory at reserved addresses.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_MAPPINGS_H
#define KGB_VERIFY_EXEC_CUDA_MAPPINGS_H

#include "verify/exec/cuda/gpu.h"

enum { KGB_SPARES_MAX = 32 };

/** Unmapped physical memory that is not given back yet. */
struct kgb_spares {
	/** Small pieces, for later mappings. */
	struct kgb_mapping items[KGB_SPARES_MAX]; /* address 0 */
	size_t n;
	uint64_t bytes; /* of all */
	/** What kgb_mappings_replace has replaced, and its spacers. */
	struct {
		CUmemGenericAllocationHandle *items; /* owned */
		size_t n, cap;
		uint64_t bytes;
	} retired;
};
/** Give all back. The driver clears it afterwards (kgb_await_clearing). */
void kgb_spares_clear(struct kgb_spares *spares, struct kgb_gpu *gpu);

struct kgb_mappings {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_spares *spares; /* borrowed */
	struct kgb_mapping *items; /* owned; no two share a page */
	size_t n, cap;
	struct kgb_spans pages; /* of all items */
};

/** Map memory to all of these addresses that have none; they are reserved, by whole pages. */
KGB_MUST_CHECK int kgb_mappings_add(struct kgb_mappings *mappings, const struct kgb_spans *pages,
				    struct kgb_err *err);
/** Unmap each mapping that is not wholly in `pages`. */
void kgb_mappings_keep(struct kgb_mappings *mappings, const struct kgb_spans *pages);

/** Wait while the driver clears so many bytes that were released: it delays kernels meanwhile. */
void kgb_await_clearing(uint64_t bytes);

/** Put other physical memory behind all addresses of these sets; contents are lost. The old memory
 * is held as retired, and so are blocks whose sizes come from `seed`, so that the driver has to
 * give other pages. What is retired is given back when it becomes too much. NO_MEMORY when both do
 * not fit at the same time: nothing has changed then. */
KGB_MUST_CHECK int kgb_mappings_replace(struct kgb_mappings *const *sets, size_t n_sets,
					uint64_t seed, struct kgb_err *err);

#endif
