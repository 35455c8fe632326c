/* SPDX-License-Identifier: MIT */
#include "verify/process/shared_arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"

/* Pages that nobody writes take no memory, and to map more of them drops those that were written. A
 * worker that uses no GPU has few addresses; on a GPU the arena is memory of the GPU, too. */
#define LEAST_BYTES ((size_t)16 << 20)
#define LEAST_BYTES_GPU ((size_t)512 << 20)
#define LEAST_OUT_BYTES_GPU ((size_t)2 << 30)

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t rounded_up(size_t bytes, size_t least)
{
	size_t size = least;

	while (size < bytes)
		size *= 2;
	return size;
}

int kgb_shared_arena_reserve(struct kgb_shared_arena *shared, struct kgb_worker *worker,
			     size_t arena_bytes, size_t out_bytes, bool arena_is_read_only,
			     int64_t timeout_ms, struct kgb_err *err)
{
	KGB_AUTO(fd) int arena_fd = -1;
	KGB_AUTO(fd) int out_fd = -1;
	KGB_AUTO(free) struct kgb_wire_reply *reply = NULL;

	if (arena_bytes <= shared->arena_bytes && out_bytes <= shared->out_bytes)
		return 0;
	arena_bytes = rounded_up(larger(arena_bytes, shared->arena_bytes),
				 worker->share ? LEAST_BYTES_GPU : LEAST_BYTES);
	out_bytes = rounded_up(larger(out_bytes, shared->out_bytes),
			       worker->share ? LEAST_OUT_BYTES_GPU : LEAST_BYTES);
	kgb_shared_arena_release(shared);
	if (kgb_memfd_mapped("kgb-arena", arena_bytes, arena_is_read_only, &shared->arena,
			     &arena_fd, err) < 0)
		return -1;
	shared->arena_bytes = arena_bytes;
	if (kgb_memfd_mapped("kgb-out", out_bytes, false, &shared->out, &out_fd, err) < 0)
		return -1;
	shared->out_bytes = out_bytes;

	const int fds[] = {arena_fd, out_fd};
	KGB_AUTO(free)
	char *text = kgb_xasprintf("{\"op\":\"map\",\"arena_bytes\":%zu,\"out_bytes\":%zu}",
				   arena_bytes, out_bytes);
	if (kgb_worker_send(worker, text, fds, KGB_ARRAY_LEN(fds), err) < 0)
		return -1;
	reply = kgb_xmalloc(sizeof(*reply));
	if (!kgb_worker_wait(worker, kgb_mono_ms() + timeout_ms, reply))
		return 0;
	if (reply->status == KGB_WIRE_MEMORY)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "no memory for arguments: %.200s",
				reply->text);
	if (reply->status != KGB_WIRE_OK) {
		KGB_AUTO(free)
		char *why = kgb_xasprintf("cannot map its memory: %.200s", reply->text);
		kgb_worker_refuse(worker, why);
	}
	return 0;
}

void kgb_shared_arena_release(struct kgb_shared_arena *shared)
{
	if (shared->arena)
		munmap(shared->arena, shared->arena_bytes);
	if (shared->out)
		munmap(shared->out, shared->out_bytes);
	*shared = (struct kgb_shared_arena){0};
}
