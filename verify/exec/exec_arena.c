/* SPDX-License-Identifier: MIT */
#include "verify/exec/exec_arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/vec.h"
#include "verify/exec/serve.h"

static void unmap(struct kgb_exec_file *file)
{
	if (file->at) {
		munmap(file->at, file->bytes);
		kgb_close(file->fd);
	}
	*file = (struct kgb_exec_file){0};
}

/* Require a seal against shrinking: a shrunken file would end this process by SIGBUS, in the middle
 * of a copy. */
static int map_file(struct kgb_exec_file *file, int fd, uint64_t bytes, int protection,
		    const char *what, struct kgb_err *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (fstat(fd, &st) < 0 || seals < 0 || !(seals & F_SEAL_SHRINK))
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "%s: not a memfd of sealed size",
				     what);
	if ((uint64_t)st.st_size < bytes)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "%s: %lld bytes, not %llu", what,
				     (long long)st.st_size, (unsigned long long)bytes);
	if (file->at && file->device == st.st_dev && file->inode == st.st_ino &&
	    file->bytes == (size_t)st.st_size)
		return 0;
	unmap(file);
	void *mapped = mmap(NULL, (size_t)st.st_size, protection, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		(void)kgb_fail_errno(err, errno, "%s: map %lld bytes", what, (long long)st.st_size);
		return kgb_exec_refuse(err, KGB_EXEC_BAD_REQUEST);
	}
	*file = (struct kgb_exec_file){.at = mapped,
				       .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
				       .bytes = (size_t)st.st_size,
				       .device = st.st_dev,
				       .inode = st.st_ino};
	if (file->fd >= 0)
		return 0;
	(void)kgb_fail_errno(err, errno, "%s: keep it open", what);
	unmap(file);
	return kgb_exec_refuse(err, KGB_EXEC_UNAVAILABLE);
}

static void read_parts(struct kgb_exec_arena *arena, const struct kgb_exec_request *request)
{
	kgb_spans_clear(&arena->parts);
	kgb_spans_clear(&arena->inputs);
	kgb_spans_clear(&arena->turned);
	for (uint32_t i = 0; i < request->n_ranges; i++) {
		const struct kgb_exec_range *part = &request->ranges[i];
		kgb_spans_put(request->n_turned > 0 ? &arena->turned : &arena->parts, part->address,
			      part->bytes);
		if (request->flags >> i & 1)
			kgb_spans_put(&arena->inputs, part->address, part->bytes);
	}
	if (request->n_ranges == 0 || request->n_turned > 0)
		kgb_spans_put(&arena->parts, KGB_ARENA_ADDRESS, request->arena_bytes);
	kgb_spans_normalize(&arena->parts);
	kgb_spans_normalize(&arena->inputs);
}

int kgb_exec_arena_set(struct kgb_exec_arena *arena, const struct kgb_exec_request *request,
		       const int fds[2], struct kgb_err *err)
{
	/* At most KGB_ARENA_BYTES_MAX * KGB_EXEC_SLOTS_MAX: no overflow. */
	const uint64_t input_bytes = request->arena_bytes * (request->n_slots - request->n_turned);

	arena->bytes = 0;
	if (map_file(&arena->input_file, fds[0], input_bytes, PROT_READ, "input memory", err) ||
	    map_file(&arena->output_file, fds[1], request->output_bytes, PROT_READ | PROT_WRITE,
		     "output memory", err))
		return -1;
	arena->n_slots = request->n_slots;
	arena->n_turned = request->n_turned;
	arena->input = arena->input_file.at;
	arena->output = arena->output_file.at;
	arena->output_bytes = request->output_bytes;
	read_parts(arena, request);
	arena->bytes = request->arena_bytes;
	return 0;
}

void kgb_exec_arena_release(struct kgb_exec_arena *arena)
{
	unmap(&arena->input_file);
	unmap(&arena->output_file);
	arena->bytes = 0;
	kgb_spans_release(&arena->parts);
	kgb_spans_release(&arena->inputs);
	kgb_spans_release(&arena->turned);
}

const char *kgb_exec_arena_image(const struct kgb_exec_arena *arena, uint32_t slot)
{
	return arena->input + kgb_exec_arena_image_of(arena, slot) * arena->bytes;
}

static void add_piece(struct kgb_exec_pieces *pieces, uint64_t to, uint64_t from, uint64_t bytes)
{
	if (bytes > 0)
		KGB_VEC_ADD(pieces, ((struct kgb_exec_piece){to, from, bytes}));
}

void kgb_exec_arena_pieces(const struct kgb_exec_arena *arena, const struct kgb_span *part,
			   uint32_t slot, struct kgb_exec_pieces *out)
{
	const bool turns = slot >= arena->n_slots - arena->n_turned;
	const uint64_t end = kgb_arena_offset(part->start) + part->bytes;
	uint64_t at = kgb_arena_offset(part->start);

	*out = (struct kgb_exec_pieces){0};
	/* Only an arena of one part has turned slots. */
	for (size_t i = 0; turns && i < arena->turned.n; i++) {
		const struct kgb_span *span = &arena->turned.items[i];
		const uint64_t start = kgb_arena_offset(span->start);
		const uint64_t turn = kgb_exec_turn(span->bytes, slot, arena->n_slots);
		add_piece(out, at, at, start - at);
		add_piece(out, start, start + turn, span->bytes - turn);
		add_piece(out, start + span->bytes - turn, start, turn);
		at = start + span->bytes;
	}
	add_piece(out, at, at, end - at);
}
