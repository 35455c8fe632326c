/* SPDX-License-Identifier: MIT */
/** \file
 * The arena from the judge: images of its contents and room for results in shared memory, and the
 * parts of its addresses that are memory. */
#ifndef KGB_VERIFY_EXEC_EXEC_ARENA_H
#define KGB_VERIFY_EXEC_EXEC_ARENA_H

#include "base/err.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/record.h"
#include "verify/protocol/spans.h"

struct kgb_exec_arena {
	uint64_t bytes; /* of one image; 0: there is no arena yet */
	struct kgb_spans parts; /* that an image fills */
	struct kgb_spans inputs; /* those of them that are read-only */
	uint32_t n_slots;
	const char *input; /* mapped memfds */
	size_t input_bytes;
	char *output;
	size_t output_bytes;
};

/** Take the memfds (borrowed) of a checked ARENA request in place of the earlier ones. After
 * BAD_REQUEST there is no arena. */
KGB_MUST_CHECK int kgb_exec_arena_set(struct kgb_exec_arena *arena,
				      const struct kgb_exec_request *request, const int fds[2],
				      struct kgb_err *err);
void kgb_exec_arena_release(struct kgb_exec_arena *arena);

/** Offset of an address of the arena in an image and in the output. */
static inline uint64_t kgb_exec_arena_offset(uint64_t address)
{
	return address - KGB_ARENA_ADDRESS;
}
/** The image of a slot below n_slots. */
const char *kgb_exec_arena_image(const struct kgb_exec_arena *arena, uint32_t slot);

#endif
