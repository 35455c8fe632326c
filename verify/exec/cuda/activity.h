/* SPDX-License-Identifier: MIT */
/** \file
 * The time in which the GPU worked, by CUPTI's activity records of a run: from the start of
 * the first kernel, memset or copy to the end of the last. One measurement at a time in a process.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_ACTIVITY_H
#define KGB_VERIFY_EXEC_CUDA_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** Load CUPTI (from `path`, or where the loader finds it) and start to record. UNAVAILABLE names
 * the missing part. */
KGB_MUST_CHECK int kgb_activity_start(const char *path, struct kgb_err *err);
/** Drop the records so far; the GPU must be idle. Slow: the driver stops all else for it. */
void kgb_activity_clear(void);
/** The present time on the clock of the records; 0: unknown. */
uint64_t kgb_activity_now(void);
/** Get the records since kgb_activity_clear, as slowly; the GPU must be idle. */
void kgb_activity_collect(void);
/** Nanoseconds from the first start to the last end of the collected records that start from
 * `from` on and before `to`. 0 when these are not exactly `n_expected`. */
uint64_t kgb_activity_span(uint64_t from, uint64_t to, size_t n_expected);
/** Stop to record. CUPTI stays loaded. */
void kgb_activity_stop(void);

#endif
