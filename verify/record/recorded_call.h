/* SPDX-License-Identifier: MIT */
/** \file
 * One call of an entry as it was recorded: its window in a record, the storages of its arguments,
 * and the owner of each kernel that it launches. Nothing here trusts the record; a false record
 * only describes work that is replayed and judged as described.
 */
#ifndef KGB_VERIFY_RECORD_RECORDED_CALL_H
#define KGB_VERIFY_RECORD_RECORDED_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "verify/protocol/record.h"

/** The maker of a launch's code. verify/provenance decides it from the bytes of the image. */
enum kgb_owner {
	KGB_OWNER_TRITON, /* the candidate's own: Triton compiled it from the candidate's source */
	KGB_OWNER_TORCH_MOVE, /* torch's fill or copy, which a candidate may use */
	KGB_OWNER_LIBRARY, /* any other kernel of torch or a vendor library */
	KGB_OWNER_UNKNOWN, /* matches nothing */
	KGB_OWNER_UNDECIDED, /* the check itself failed */
	KGB_N_OWNERS,
};
const char *kgb_owner_name(enum kgb_owner owner); /* "the candidate's", "of a library", ... */

/** Machine code of a kernel whose launches a record names by Triton's IR, and what a launch of it
 * needs. Everything is borrowed. */
struct kgb_launch_code {
	const void *cubin;
	size_t len;
	uint32_t n_threads; /* of a block */
	uint32_t shared_bytes; /* dynamic shared memory */
	const uint8_t *param_bytes; /* of each parameter of the IR: 1, 2, 4 or 8 */
	size_t n_params;
};

/** Finds the owner of a launch of `kernel` from `image`. Every function that takes it calls it once
 * per launch: keep it cheap. */
struct kgb_owners {
	enum kgb_owner (*find)(const struct kgb_image *image, const char *kernel,
			       const void *payload);
	/** The code by which a plan replaces an image and its launches; NULL: neither has any, or
	 * the plan keeps what was recorded. */
	const struct kgb_launch_code *(*code)(const struct kgb_image *image);
	const void *payload;
};

/** The storage of an argument, which the judge placed in the arena. */
struct kgb_arena_place {
	const char *name; /* borrowed; for messages */
	uint64_t address, bytes;
};

/** Everything is borrowed. */
struct kgb_recorded_call {
	const struct kgb_record *record;
	const struct kgb_window *window; /* of that record */
	const struct kgb_arena_place *places;
	size_t n_places;
	uint64_t arena_bytes; /* that are mapped, guards included */
	bool foreign_ok; /* memory outside our pool may be used (baselines) */
};

#define KGB_NO_OP SIZE_MAX
/** Whether the call allocated this memory from the pool. False for memory that was freed before the
 * call or that the candidate kept from an earlier one. */
bool kgb_window_allocated(const struct kgb_window *window, uint64_t address, uint64_t bytes);

#endif
