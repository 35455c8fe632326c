/* SPDX-License-Identifier: MIT */
/** \file
 * Memory that the judge shares with one worker: an arena with inputs (and buffers for results), and
 * output memory that the worker copies results to. Both are memfds of sealed size.
 */
#ifndef KGB_VERIFY_PROCESS_SHARED_ARENA_H
#define KGB_VERIFY_PROCESS_SHARED_ARENA_H

#include <stddef.h>

#include "base/err.h"
#include "verify/process/worker.h"

struct kgb_shared_arena {
	char *arena; /* our mapping, writable */
	char *out;
	size_t arena_bytes;
	size_t out_bytes;
};

/** Make sure that both memories are at least this large: else map new ones and send them to the
 * worker in a separate request, with `timeout_ms` for the answer; their contents are lost then.
 * `arena_is_read_only`: the worker cannot write to the arena. A worker that dies or refuses is no
 * error here: worker->end shows it. UNAVAILABLE: it has no memory for the arguments, on a GPU no
 * memory of the GPU.
 */
KGB_MUST_CHECK int kgb_shared_arena_reserve(struct kgb_shared_arena *shared,
					    struct kgb_worker *worker, size_t arena_bytes,
					    size_t out_bytes, bool arena_is_read_only,
					    int64_t timeout_ms, struct kgb_err *err);
void kgb_shared_arena_release(struct kgb_shared_arena *shared);

#endif
