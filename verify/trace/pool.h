/* SPDX-License-Identifier: MIT */
/** \file
 * Device memory at known addresses: the arena for the arguments of calls, and the pool that torch
 * allocates from. The addresses are in verify/protocol/record.h. Not thread-safe.
 */
#ifndef KGB_VERIFY_TRACE_POOL_H
#define KGB_VERIFY_TRACE_POOL_H

#include "base/vec.h"
#include "verify/cuda/driver.h"
#include "verify/protocol/record.h"

#define KGB_POOL_SPARE_MAX 512 /* freed pieces that are kept */
#define KGB_POOL_SPARE_BYTES (UINT64_C(8) << 30) /* of these pieces */

/** A mapping of whole pages, followed by an unmapped page. */
struct kgb_piece {
	uint64_t address, mapped_bytes;
	CUstream stream; /* of its last user */
	int device;
	enum {
		KGB_PIECE_LIVE,
		KGB_PIECE_SPARE, /* freed; may be given out again */
		KGB_PIECE_GRAPH, /* freed; made in a stream capture: a graph may use it for ever */
		KGB_PIECE_VACANT, /* only the addresses: nothing is mapped */
	} state;
	bool for_graph; /* made in a stream capture */
	uint64_t freed_in; /* number of the call */
};

struct kgb_pool {
	const struct kgb_cuda *cu; /* borrowed */
	bool reserved;
	uint64_t next; /* first address that was never used */
	KGB_VEC(struct kgb_piece) pieces; /* by address; none is ever removed */
	size_t n_spare;
	uint64_t spare_bytes;
	int poison; /* byte, or -1 */
	uint64_t call; /* number of the present one */
	bool keeps_apart; /* memory that a call frees is not given out again in that call */

	bool arena_reserved;
	uint64_t arena_bytes; /* mapped */
};

void kgb_pool_init(struct kgb_pool *pool, const struct kgb_cuda *cu);

/** A block for work on `stream`; `in_capture`: a stream capture is under way somewhere. LIMIT when
 * there is no memory, or no address, left. */
KGB_MUST_CHECK int kgb_pool_alloc(struct kgb_pool *pool, uint64_t bytes, int device,
				  CUstream stream, bool in_capture, uint64_t *address,
				  struct kgb_err *err);
/** INVALID when no live block begins there. *gone: no work can use the block any more; a graph may
 * use a block that was made in a stream capture. */
KGB_MUST_CHECK int kgb_pool_free(struct kgb_pool *pool, uint64_t address, CUstream stream,
				 bool *gone, struct kgb_err *err);

/** Map the arena, instead of an earlier one, which is unmapped when all that runs has ended. */
KGB_MUST_CHECK int kgb_pool_arena_map(struct kgb_pool *pool, uint64_t bytes, int device,
				      struct kgb_err *err);

#endif
