/* SPDX-License-Identifier: MIT */
/** \file
 * The memory that plans run on: the arena at its fixed address, the blocks of all plans, the images
 * and results shared with the judge. Statuses as in verify/exec/cuda/gpu.h.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_MEMORY_H
#define KGB_VERIFY_EXEC_CUDA_MEMORY_H

#include "verify/exec/cuda/mappings.h"
#include "verify/protocol/record.h"

/** A table of spans in device memory, for our kernels. */
struct kgb_span_table {
	struct kgb_gpu_buffer buffer;
	size_t n;
};

struct kgb_memory {
	struct kgb_gpu *gpu; /* borrowed */
	struct kgb_mappings blocks, arena;
	struct kgb_spares spares;
	struct kgb_spans wanted; /* pages of the blocks of all plans; others of blocks are idle */
	struct kgb_spans reserved; /* addresses that are ours */
	uint32_t placement; /* in force */

	uint64_t arena_bytes; /* of one image */
	struct kgb_spans
		parts; /* addresses that an image fills; the rest of their pages is slack */
	uint64_t packed_bytes; /* what the parts of one image take in `images` */
	uint32_t n_slots;
	const char *input; /* mapped memfds */
	size_t input_bytes;
	char *output;
	size_t output_bytes;
	struct kgb_gpu_buffer images; /* device copies of all slots, when they fit */
	uint32_t n_images; /* so many of them are up to date */

	struct kgb_span_table poisoned; /* everything that poison goes to */
	bool poisoned_valid;
	struct kgb_span_table slack;
	struct kgb_gpu_buffer found; /* struct kgb_found */
	struct kgb_gpu_buffer flushed;
	struct kgb_span_table flush; /* the part of it that is used: flush_bytes */
	uint64_t flush_bytes; /* 0: no table yet */
};

/** Reserve arena and pool. RESERVATION when a range is taken. */
enum kgb_exec_status kgb_memory_open(struct kgb_memory *memory, struct kgb_gpu *gpu,
				     struct kgb_err *err);

/** Take new memfds (borrowed) and map the parts of the arena that the request names, and no others.
 */
enum kgb_exec_status kgb_memory_set_arena(struct kgb_memory *memory,
					  const struct kgb_exec_request *request, const int fds[2],
					  struct kgb_err *err);

/** Map what these blocks need and is not mapped yet. BAD_PLAN names a place outside arena and pool
 * that is taken here. */
enum kgb_exec_status kgb_memory_map_blocks(struct kgb_memory *memory,
					   const struct kgb_spans *blocks, struct kgb_err *err);
/** No block is wanted any more. Some stay mapped for plans to come, as slack. */
void kgb_memory_forget(struct kgb_memory *memory);

/** Replace the physical memory of arena and blocks, by what is in force as this placement then. */
enum kgb_exec_status kgb_memory_place(struct kgb_memory *memory, uint32_t placement,
				      struct kgb_err *err);

/** All addresses that plans may use: their blocks and the parts of the arena, by whole pages. */
void kgb_memory_spans(const struct kgb_memory *memory, struct kgb_spans *out);

/* The following are put on the main stream, in order. */

/** Random bytes to all that is mapped, whether a plan wants it or not, but the image in the arena,
 * and to all shared memory. */
enum kgb_exec_status kgb_memory_poison(struct kgb_memory *memory, uint64_t seed,
				       struct kgb_err *err);
/** Zeros to where images lie in the arena. */
enum kgb_exec_status kgb_memory_clear(struct kgb_memory *memory, struct kgb_err *err);
/** Fill the arena from the judge's memory. */
enum kgb_exec_status kgb_memory_load(struct kgb_memory *memory, uint32_t slot, struct kgb_err *err);
/** The same from copies that are already on the device, if they fit there. */
enum kgb_exec_status kgb_memory_load_fast(struct kgb_memory *memory, uint32_t slot,
					  uint32_t n_slots, struct kgb_err *err);
/** Write so many bytes of memory that nobody else uses, to push others out of the caches, then read
 * them, so that no line waits to be written to memory while the next call runs (docs/timing.md).
 * Reading checks: what is not as it was written counts as slack that was found. */
enum kgb_exec_status kgb_memory_flush(struct kgb_memory *memory, uint64_t bytes, uint64_t seed,
				      struct kgb_err *err);
/** Say what is slack for the checks to come: all bytes mapped, without the arena's image and
 * `blocks`. Forgets what was found. */
enum kgb_exec_status kgb_memory_set_slack(struct kgb_memory *memory, const struct kgb_spans *blocks,
					  struct kgb_err *err);
/** Compare slack with the poison of `seed`; findings add up. */
enum kgb_exec_status kgb_memory_check_slack(struct kgb_memory *memory, uint64_t seed,
					    struct kgb_err *err);

/** Wait for the stream; SLACK when anything was found since kgb_memory_set_slack, with the lowest
 * address in *out_address. */
enum kgb_exec_status kgb_memory_slack_found(struct kgb_memory *memory, uint64_t *out_address,
					    struct kgb_err *err);
/** Copy the arena, unless the request does without, and the ranges to the output, which must be
 * idle. */
enum kgb_exec_status kgb_memory_bring_back(struct kgb_memory *memory,
					   const struct kgb_exec_request *request,
					   const uint64_t *offsets, struct kgb_err *err);

#endif
