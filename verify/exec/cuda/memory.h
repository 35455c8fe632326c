/* SPDX-License-Identifier: MIT */
/** \file
 * The memory that plans run on: the arena at its fixed address, the blocks of all plans, the images
 * and results shared with the judge.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_MEMORY_H
#define KGB_VERIFY_EXEC_CUDA_MEMORY_H

#include "verify/exec/cuda/mappings.h"
#include "verify/exec/cuda/staging.h"
#include "verify/exec/exec_arena.h"
#include "verify/protocol/record.h"

/** A table of spans in device memory, for our kernels. */
struct kgb_span_table {
	struct kgb_mapping buffer;
	size_t n;
};

/** What a set (KGB_EXEC_SELECT) has in memory. Zeros: nothing. */
struct kgb_memory_set {
	struct kgb_exec_arena given; /* the rest of its parts' pages is slack */
	uint64_t packed_bytes; /* bytes of one image's parts in `images` */
	struct kgb_mapping images; /* device copies of all images, when they fit */
	uint32_t n_images; /* number of the first ones that are up to date */
	struct kgb_spans wanted; /* pages of the blocks of all plans */
};

struct kgb_device_memory {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_memory_set sets[KGB_EXEC_SETS_MAX];
	struct kgb_memory_set *set; /* in force */
	struct kgb_mappings blocks, arena; /* of that set; blocks that it does not want are idle */
	struct kgb_spares spares;
	struct kgb_staging staging;
	struct kgb_spans reserved; /* addresses that are ours */
	uint32_t placement; /* in force */

	struct kgb_span_table poisoned; /* all memory that poison fills */
	bool poisoned_valid;
	struct kgb_span_table slack;
	struct kgb_mapping found; /* struct kgb_found */
	struct kgb_mapping flushed;
	struct kgb_span_table flush; /* its used part: flush_bytes */
	uint64_t flush_bytes; /* 0: no table yet */
};

/** Reserve arena and pool. RESERVATION when a range is taken. */
KGB_MUST_CHECK int kgb_device_memory_open(struct kgb_device_memory *memory, struct kgb_gpu *gpu,
					  struct kgb_err *err);

/** Take new memfds (borrowed) and map the parts of the arena that the request names, and no others.
 */
KGB_MUST_CHECK int kgb_device_memory_set_arena(struct kgb_device_memory *memory,
					       const struct kgb_exec_request *request,
					       const int fds[2], struct kgb_err *err);

/** Map the unmapped pages of these blocks. BAD_PLAN names a place outside arena and pool that is
 * taken here. */
KGB_MUST_CHECK int kgb_device_memory_map_blocks(struct kgb_device_memory *memory,
						const struct kgb_spans *blocks,
						struct kgb_err *err);
/** Release all blocks of the set, and its copies of images, and wait until that is over. Some
 * blocks stay mapped for later plans, as slack. */
void kgb_device_memory_forget(struct kgb_device_memory *memory);

/** Put a set in force: map its arena and its blocks in place of the last set's. */
KGB_MUST_CHECK int kgb_device_memory_select(struct kgb_device_memory *memory, uint32_t set,
					    struct kgb_err *err);

/** Release everything that holds data, of all sets. Set 0 is in force then. Addresses stay
 * reserved. */
void kgb_device_memory_reset(struct kgb_device_memory *memory);

/** Replace the physical memory of arena and blocks, without the idle ones, which are released;
 * `placement` is then the number in force. */
KGB_MUST_CHECK int kgb_device_memory_place(struct kgb_device_memory *memory, uint32_t placement,
					   struct kgb_err *err);

/** All addresses that plans may use: their blocks and the parts of the arena, by whole pages. */
void kgb_device_memory_spans(const struct kgb_device_memory *memory, struct kgb_spans *out);

/* The following functions put work on the main stream, in order. */

/** Write random bytes to all mapped memory, used by a plan or not, except the image in the arena,
 * and to all shared memory. */
KGB_MUST_CHECK int kgb_device_memory_poison(struct kgb_device_memory *memory, uint64_t seed,
					    struct kgb_err *err);
/** Write zeros to the arena's places of images. */
KGB_MUST_CHECK int kgb_device_memory_clear(struct kgb_device_memory *memory, struct kgb_err *err);
/** Fill the arena for one run: from the judge's memory, or where several slots share an image, from
 * copies on the device. */
KGB_MUST_CHECK int kgb_device_memory_load_once(struct kgb_device_memory *memory, uint32_t slot,
					       struct kgb_err *err);
/** Fill the arena from copies of the images on the device, which are made at their first use, if
 * they fit there. */
KGB_MUST_CHECK int kgb_device_memory_load_fast(struct kgb_device_memory *memory, uint32_t slot,
					       uint32_t n_slots, struct kgb_err *err);
/** Write this many bytes of memory reserved for that, to push other lines out of the caches. Then
 * read them, so that no line waits to be written to memory while the next call runs
 * (docs/timing.md). Changed words count as changed slack. */
KGB_MUST_CHECK int kgb_device_memory_flush(struct kgb_device_memory *memory, uint64_t bytes,
					   uint64_t seed, struct kgb_err *err);
/** Set the slack of the checks to come: all bytes mapped, without the arena's image and `blocks`.
 * Drops earlier findings. */
KGB_MUST_CHECK int kgb_device_memory_set_slack(struct kgb_device_memory *memory,
					       const struct kgb_spans *blocks, struct kgb_err *err);
/** Compare slack with the poison of `seed`; findings add up. */
KGB_MUST_CHECK int kgb_device_memory_check_slack(struct kgb_device_memory *memory, uint64_t seed,
						 struct kgb_err *err);

/** Wait for the stream; SLACK when anything was found since kgb_device_memory_set_slack, with the
 * lowest address in *out_address. */
KGB_MUST_CHECK int kgb_device_memory_slack_found(struct kgb_device_memory *memory,
						 uint64_t *out_address, struct kgb_err *err);
/** Copy the arena, unless the request does without, and the ranges to the output, which must be
 * idle. */
KGB_MUST_CHECK int kgb_device_memory_bring_back(struct kgb_device_memory *memory,
						const struct kgb_exec_request *request,
						const uint64_t *offsets, struct kgb_err *err);

#endif
