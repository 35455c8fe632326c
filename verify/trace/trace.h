/* SPDX-License-Identifier: MIT */
/** \file
 * libkgb_trace.so: writes the GPU work of its process to a record (verify/protocol/record.h), in
 * windows that the process itself opens and closes. The CUDA driver loads it when
 * CUDA_INJECTION64_PATH names it; the runner calls it through ctypes. It decides nothing and keeps
 * no secret. Code in its process can forge the record: a forged record is a plan that replays
 * wrongly. An error of the library never shortens a window silently: the window then holds one
 * UNSUPPORTED op "trace: <reason>" or is missing.
 *
 * Calls return 0, or -1 with the reason in kgb_trace_status(). Any thread may call; windows and
 * settings are of the process. Outside a window only what a later window needs is kept: images,
 * handles and live allocations.
 */
#ifndef KGB_VERIFY_TRACE_TRACE_H
#define KGB_VERIFY_TRACE_TRACE_H

#include <stdint.h>
#include <sys/types.h>

#define KGB_TRACE_API __attribute__((visibility("default")))

struct CUstream_st; /* what a cudaStream_t and a CUstream point to */

/** Only the driver calls this, from cuInit. Always 1: kgb_trace_status has the failure, the
 * candidate does not notice it. */
/* NOLINTNEXTLINE(readability-identifier-naming): the driver wants this name */
KGB_TRACE_API int InitializeInjection(void);

/** "ready: ..." once callbacks arrive, else the reason why they do not, or the error of the last
 * call that failed. Lives until the next call of this thread. */
KGB_TRACE_API const char *kgb_trace_status(void);

/** Start a record of at most `max_bytes` in `fd` (a regular file or memfd, emptied; borrowed until
 * the next open). An open window is lost. Handles and images that are known stay known. */
KGB_TRACE_API int kgb_trace_open(int fd, uint64_t max_bytes);

/** Open window `number`; only one at a time. */
KGB_TRACE_API int kgb_trace_begin(uint32_t number);

/** Close the window and append it, with the images of its kernels that the record lacks, to the
 * record. -1: the record is as it was before the window. Does not wait for work that still runs. */
KGB_TRACE_API int kgb_trace_end(void);

/** Take the image of a kernel, Triton's IR behind its claims (verify/protocol/cpu_image.h), for
 * launches that are only recorded. *kernel is its number. */
KGB_TRACE_API int kgb_trace_load(const void *image, uint64_t bytes, uint32_t *kernel);

/** Record a launch of such a kernel; nothing runs. The parameters are those of a launch on the CPU
 * (docs/record-format.md). No effect without a window. */
KGB_TRACE_API int kgb_trace_launch(uint32_t kernel, const char *name, const uint32_t grid[3],
				   uint32_t n_threads, uint64_t stream, const void *params,
				   uint64_t bytes);

/** Number of ops in the open window so far. */
KGB_TRACE_API uint64_t kgb_trace_ops(void);
/** Record that the ops of the window from number `first` on are torch's fill or copy with these
 * parameters (verify/protocol/torch_move.h). */
KGB_TRACE_API int kgb_trace_move(uint64_t first, const char *name, uint64_t stream,
				 const void *params, uint64_t bytes);

/** A call begins. `keeps_apart`: memory that it frees is not given out again before it ends: in a
 * replay without kernels, what torch left there must not lie in a result. */
KGB_TRACE_API void kgb_trace_call(int keeps_apart);

/** Map `bytes` (rounded up to whole GPU pages) in all windows of the arena on `device`; makes the
 * device's primary context current if the thread has none. Replaces an earlier mapping, which is
 * unmapped after everything that runs has ended. Contents are undefined. */
KGB_TRACE_API int kgb_trace_arena_map(uint64_t bytes, int device);

/** Copy between host memory and the arena, unrecorded; returns when done. */
KGB_TRACE_API int kgb_trace_arena_write(uint64_t offset, const void *from, uint64_t bytes);
KGB_TRACE_API int kgb_trace_arena_read(uint64_t offset, void *to, uint64_t bytes);

/** The two functions of torch.cuda.memory.CUDAPluggableAllocator. Every block has separate GPU
 * pages at an address from KGB_POOL_ADDRESS on, with an unmapped page behind it. NULL: no bytes
 * wanted, or no memory (then the window is marked too). Freed pages are kept and given out again in
 * the order of the stream. */
KGB_TRACE_API void *kgb_trace_malloc(ssize_t bytes, int device, struct CUstream_st *stream);
KGB_TRACE_API void kgb_trace_free(void *address, ssize_t bytes, int device,
				  struct CUstream_st *stream);

/** Fill every block that is given out with this byte, slack included, on the block's stream; -1
 * (at the start): leave it as it is. */
KGB_TRACE_API void kgb_trace_poison(int byte);

#endif
