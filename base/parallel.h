/* SPDX-License-Identifier: MIT */
/** \file
 * A loop shared among threads that live only as long as the loop.
 */
#ifndef KGB_BASE_PARALLEL_H
#define KGB_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KGB_PARALLEL_MAX 16 /* threads, the caller's among them */

/** Cores that this process may use, at least 1. */
int64_t kgb_parallel_cores(void);

/** The work on items [begin, end). */
typedef void (*kgb_parallel_fn)(void *payload, int64_t begin, int64_t end);

/** Call `fn` for all pieces [0, grain), [grain, 2 * grain), ... of [0, n), the last one cut at n,
 * and return when all are done. Threads are as many as there are pieces and cores that this process
 * may use, KGB_PARALLEL_MAX at most; the distribution of pieces over threads is random, so that
 * `fn` must give the same result for any. With one piece, with one core, or if no thread can be
 * started, the caller's thread does all pieces. No thread outlives the call; signals stay with the
 * caller. */
void kgb_parallel_for(int64_t n, int64_t grain, kgb_parallel_fn fn, void *payload);

/** memcpy, and memcmp() == 0, by several threads for large sizes. */
void kgb_parallel_copy(void *to, const void *from, size_t len);
bool kgb_parallel_equal(const void *a, const void *b, size_t len);

#endif
