/* SPDX-License-Identifier: MIT */
/** \file
 * kgb-exec's own kernels, as PTX that the driver compiles (kernels.ptx, measure.ptx). Tables are
 * arrays of struct kgb_span in device memory; row y of the grid takes span y.
 *
 *     kgb_fill(u64 table, u64 seed)              poison; starts and sizes are multiples of 16
 *     kgb_check(u64 table, u64 seed, u64 found)  look for bytes that are not poison; any span
 *     kgb_scrub(u64 seed, u32 bytes)             write random bytes to a block's shared memory
 *
 * and of measure.ptx:
 *
 *     kgb_read(u64 table, u64 sink)              a size that is no multiple of
 *                                                KGB_READ_UNROLLED * 16 * threads is rounded down
 *     kgb_nothing()
 *
 * `found` points to struct kgb_found. Poison is that of kgb_exec_poison_word.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_KERNELS_H
#define KGB_VERIFY_EXEC_CUDA_KERNELS_H

#include <stdint.h>

#define KGB_KERNEL_THREADS 256
#define KGB_READ_UNROLLED 4

struct kgb_found {
	uint64_t n_words; /* aligned words of 8 bytes with at least one wrong byte in the span */
	uint64_t lowest; /* address of the first wrong byte; start with UINT64_MAX */
};

extern const char kgb_kernels_ptx[];
extern const char kgb_measure_ptx[];

#endif
