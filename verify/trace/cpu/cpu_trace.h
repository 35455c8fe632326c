/* SPDX-License-Identifier: MIT */
/** \file
 * libkgb_cpu_trace.so: in a runner on the CPU it takes the place of the driver and its trace on a
 * GPU. It hands out torch's memory and writes the work of a call to a record
 * (verify/protocol/record.h), in windows that the runner opens and closes. Where the candidate's
 * host code needs the results of launches, it runs them in the machine (verify/machine/machine.h).
 * It decides nothing and keeps no secret: code in its process can forge the record, and a forged
 * record is a plan that replays wrongly.
 *
 * The runner calls it through ctypes, in one thread. Calls return 0, or an enum
 * kgb_cpu_trace_result with the reason in kgb_cpu_trace_status().
 */
#ifndef KGB_VERIFY_TRACE_CPU_CPU_TRACE_H
#define KGB_VERIFY_TRACE_CPU_CPU_TRACE_H

#include <stdint.h>

#define KGB_CPU_TRACE_API __attribute__((visibility("default")))

/** verify/python/runner/cpu_trace.py has the same values. */
enum kgb_cpu_trace_result {
	KGB_CPU_TRACE_OK = 0,
	KGB_CPU_TRACE_FAILED = -1,
	KGB_CPU_TRACE_FAULT = -2, /* the kernel broke a rule, at kgb_cpu_trace_fault_line */
	KGB_CPU_TRACE_UNKNOWN = -3, /* the machine does not execute an operation of the kernel */
};

/** The reason of the last call that failed, "" when none did. Lives until the next call. */
KGB_CPU_TRACE_API const char *kgb_cpu_trace_status(void);

/* ---- memory ---- */

/** A block of the pool (cpu_pool.h); NULL when there is no memory. */
KGB_CPU_TRACE_API void *kgb_cpu_trace_take(uint64_t bytes);
/** Give back a block that nothing uses any more. */
KGB_CPU_TRACE_API int kgb_cpu_trace_give(void *block);
/** Fill every block that is given out with this byte; -1 (at the start): leave it as it is. */
KGB_CPU_TRACE_API void kgb_cpu_trace_poison(int byte);
/** Let kernels use the `bytes` bytes that are mapped in each window of the arena. */
KGB_CPU_TRACE_API void kgb_cpu_trace_arena(uint64_t bytes);

/* ---- windows ---- */

/** Start a record of at most `max_bytes` in `fd` (emptied; borrowed until the next open). An open
 * window is lost. */
KGB_CPU_TRACE_API int kgb_cpu_trace_open(int fd, uint64_t max_bytes);
/** Open window `number`; only one at a time. */
KGB_CPU_TRACE_API int kgb_cpu_trace_begin(uint32_t number);
/** Close the window and append it, with the images that the record lacks, to the record. */
KGB_CPU_TRACE_API int kgb_cpu_trace_end(void);

/* ---- work ---- */

/** Load the image of a kernel (docs/record-format.md), which need not outlive the call. *kernel is
 * its number from then on. UNKNOWN: the machine cannot run it. */
KGB_CPU_TRACE_API int kgb_cpu_trace_load(const void *bytes, uint64_t len, uint32_t *kernel);
/** Record a launch. `params`: one slot of 8 bytes for each argument (verify/machine/slots.h). */
KGB_CPU_TRACE_API int kgb_cpu_trace_launch(uint32_t kernel, const uint32_t grid[3],
					   uint32_t n_threads, const void *params, uint64_t bytes);
/** Run a launch, so that the host finds its results. `seed`: of the order of programs and of what
 * undefined lanes read. */
KGB_CPU_TRACE_API int kgb_cpu_trace_run(uint32_t kernel, const uint32_t grid[3], const void *params,
					uint64_t bytes, uint64_t seed);
/** Line of kernel.py of the last fault, 0 unknown. */
KGB_CPU_TRACE_API int kgb_cpu_trace_fault_line(void);
/** Record what torch has done: `fill` or `copy` with these parameters. */
KGB_CPU_TRACE_API void kgb_cpu_trace_move(const char *kernel, const void *params, uint64_t bytes);
/** Record that the host has written these bytes, with their present contents. */
KGB_CPU_TRACE_API void kgb_cpu_trace_upload(const void *dst, uint64_t bytes);
/** Record that the host has read these bytes. */
KGB_CPU_TRACE_API void kgb_cpu_trace_download(const void *src, uint64_t bytes);
/** Record that the host has done something that no replay can repeat. */
KGB_CPU_TRACE_API void kgb_cpu_trace_unsupported(const char *why);

#endif
