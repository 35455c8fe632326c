/* SPDX-License-Identifier: MIT */
/** \file
 * libkgb_trace.so: writes down what the process that it lives in does with the GPU, in windows that
 * the process itself opens and closes, as a record (verify/protocol/record.h). The CUDA driver
 * loads it when CUDA_INJECTION64_PATH names it; the runner calls it through ctypes. It decides
 * nothing, keeps no secret, and whoever shares its process can forge what it writes: a forged
 * record is a plan that replays wrongly. Errors of its own never shorten a window silently: the
 * window then holds one UNSUPPORTED op "trace: <reason>" or is missing.
 *
 * Calls return 0, or -1 with the reason in kgb_trace_status(). Any thread may call; windows and
 * settings are of the process. Outside a window only what a later window needs is kept: images,
 * handles and live allocations.
 */
#ifndef KGB_VERIFY_TRACE_TRACE_H
#define KGB_VERIFY_TRACE_TRACE_H

#include <stdint.h>
#include <sys/types.h>

#define KGB_TRACE_VERSION 1 /* of this interface */
#define KGB_TRACE_API __attribute__((visibility("default")))

struct CUstream_st; /* what a cudaStream_t and a CUstream point to */

/** Called by the driver from cuInit; nobody else should. Always 1: a failure is for
 * kgb_trace_status to tell, not for the candidate to see. */
/* NOLINTNEXTLINE(readability-identifier-naming): the driver wants this name */
KGB_TRACE_API int InitializeInjection(void);

KGB_TRACE_API uint32_t kgb_trace_version(void);

/** "ready: ..." once callbacks come in, else the reason why they do not or of the last failed call.
 * Lives until the thread asks again. */
KGB_TRACE_API const char *kgb_trace_status(void);

/** Start a record of at most `max_bytes` in `fd` (a regular file or memfd, emptied; borrowed until
 * the next open or close). Handles and images that are known stay known. */
KGB_TRACE_API int kgb_trace_open(int fd, uint64_t max_bytes);

/** Stop writing; an open window is lost. */
KGB_TRACE_API int kgb_trace_close(void);

/** Open window `number`; only one at a time. */
KGB_TRACE_API int kgb_trace_begin(uint32_t number);

/** Close the window and append it, with the images of its kernels that the record lacks, to the
 * record. -1: the record is as it was before the window. Work that still runs is not waited for. */
KGB_TRACE_API int kgb_trace_end(void);

/** Bytes of the record so far. */
KGB_TRACE_API uint64_t kgb_trace_bytes(void);

/** Map `bytes` (rounded up to whole GPU pages) at KGB_ARENA_ADDRESS on `device`; makes the device's
 * primary context current if the thread has none. Replaces an earlier mapping, which is unmapped
 * after everything that runs has ended. Contents are whatever the memory held. */
KGB_TRACE_API int kgb_trace_arena_map(uint64_t bytes, int device);
KGB_TRACE_API int kgb_trace_arena_unmap(void);

/** Copy between host memory and the arena, unrecorded; returns when done. */
KGB_TRACE_API int kgb_trace_arena_write(uint64_t offset, const void *from, uint64_t bytes);
KGB_TRACE_API int kgb_trace_arena_read(uint64_t offset, void *to, uint64_t bytes);

/** The two functions of torch.cuda.memory.CUDAPluggableAllocator. Every block has whole GPU pages
 * of its own at an address from KGB_POOL_ADDRESS on, with an unmapped page behind it. NULL: no
 * bytes wanted, or no memory (then the window is marked too). Freed pages are kept and given out
 * again in the order of the stream. */
KGB_TRACE_API void *kgb_trace_malloc(ssize_t bytes, int device, struct CUstream_st *stream);
KGB_TRACE_API void kgb_trace_free(void *address, ssize_t bytes, int device,
				  struct CUstream_st *stream);

/** Fill every block that is given out with this byte, slack included, on the block's stream; -1
 * (at the start): leave it as it is. */
KGB_TRACE_API void kgb_trace_poison(int byte);

/** hold != 0: no address is given out twice, freed blocks stay mapped; 0: back to reuse. */
KGB_TRACE_API int kgb_trace_hold(int hold);

/** Wait for the device and unmap all pages that are kept without being in use. */
KGB_TRACE_API int kgb_trace_trim(void);

/** Bytes of device memory that blocks of the pool take, those kept for reuse included. */
KGB_TRACE_API uint64_t kgb_trace_pool_bytes(void);

#endif
