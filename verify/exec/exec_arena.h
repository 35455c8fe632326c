/* SPDX-License-Identifier: MIT */
/** \file
 * The arena from the judge: images of its contents and room for results in shared memory, and the
 * parts of its addresses that are memory. */
#ifndef KGB_VERIFY_EXEC_EXEC_ARENA_H
#define KGB_VERIFY_EXEC_EXEC_ARENA_H

#include <sys/types.h>

#include "base/err.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/record.h"
#include "verify/protocol/spans.h"

/** A mapping of a whole memfd. */
struct kgb_exec_file {
	char *at; /* NULL: none */
	int fd; /* owned */
	size_t bytes;
	dev_t device; /* with `inode`: which file it is */
	ino_t inode;
};

struct kgb_exec_arena {
	uint64_t bytes; /* of one image; 0: there is no arena yet */
	struct kgb_spans parts; /* that an image fills */
	struct kgb_spans inputs; /* those of them that are read-only */
	struct kgb_spans turned; /* what turns in the last n_turned slots */
	uint32_t n_slots, n_turned;
	struct kgb_exec_file input_file, output_file;
	const char *input;
	char *output;
	size_t output_bytes; /* that may be used */
};

/** Take the memfds (borrowed) of a checked ARENA request in place of the earlier ones. A file that
 * is mapped stays so: its pages need not be touched anew. After BAD_REQUEST there is no arena. */
KGB_MUST_CHECK int kgb_exec_arena_set(struct kgb_exec_arena *arena,
				      const struct kgb_exec_request *request, const int fds[2],
				      struct kgb_err *err);
void kgb_exec_arena_release(struct kgb_exec_arena *arena);

/** The number of the image that a slot below n_slots has, or has turned. */
static inline uint32_t kgb_exec_arena_image_of(const struct kgb_exec_arena *arena, uint32_t slot)
{
	return slot % (arena->n_slots - arena->n_turned);
}
/** That image. */
const char *kgb_exec_arena_image(const struct kgb_exec_arena *arena, uint32_t slot);

/** Bytes that lie together in an image and in the arena. */
struct kgb_exec_piece {
	uint64_t to, from; /* places in the arena and in the image */
	uint64_t bytes;
};
struct kgb_exec_pieces {
	struct kgb_exec_piece *items; /* owned */
	size_t n, cap;
};
/** The pieces of a part (by address) of the arena in a slot. Release *out with
 * kgb_free(out->items).
 */
void kgb_exec_arena_pieces(const struct kgb_exec_arena *arena, const struct kgb_span *part,
			   uint32_t slot, struct kgb_exec_pieces *out);

#endif
