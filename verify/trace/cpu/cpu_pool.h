/* SPDX-License-Identifier: MIT */
/** \file
 * The memory that torch hands out in a runner on the CPU. As on a GPU every block has separate GPU
 * pages, from KGB_POOL_ADDRESS on, with an unmapped page behind it; of these only what is needed is
 * mapped. Not thread-safe. */
#ifndef KGB_VERIFY_TRACE_CPU_CPU_POOL_H
#define KGB_VERIFY_TRACE_CPU_CPU_POOL_H

#include "base/err.h"
#include "base/vec.h"
#include "verify/recorder/address_table.h"

#define KGB_CPU_POOL_SPARE_BYTES (UINT64_C(256) << 20) /* of spare pieces that are kept */

struct kgb_cpu_piece {
	uint64_t address, mapped_bytes;
	enum {
		KGB_CPU_PIECE_LIVE,
		KGB_CPU_PIECE_SPARE, /* mapped still, for the next block of that size */
		KGB_CPU_PIECE_VACANT, /* only the addresses: nothing is mapped */
	} state;
	uint64_t freed_in; /* number of the call */
};

struct kgb_cpu_pool {
	uint64_t next; /* first address that was never used */
	KGB_VEC(struct kgb_cpu_piece) pieces; /* by address; none is ever removed */
	struct kgb_address_table live; /* address -> bytes as asked for */
	uint64_t spare_bytes;
	uint64_t call; /* number of the present one */
	bool keeps_apart; /* memory that a call frees is not given out again in that call: in a
			     replay without kernels, what torch left there must not lie in a
			     result */
	int poison; /* byte that blocks are filled with, slack included; -1: they are left as they
		       are */
};

void kgb_cpu_pool_init(struct kgb_cpu_pool *pool);
/** Unmaps everything. */
void kgb_cpu_pool_release(struct kgb_cpu_pool *pool);

/** LIMIT when there is no memory, or no address, left. */
KGB_MUST_CHECK int kgb_cpu_pool_take(struct kgb_cpu_pool *pool, uint64_t bytes, uint64_t *address,
				     struct kgb_err *err);
/** INVALID when no live block begins there. */
KGB_MUST_CHECK int kgb_cpu_pool_give(struct kgb_cpu_pool *pool, uint64_t address,
				     struct kgb_err *err);

#endif
