/* SPDX-License-Identifier: MIT */
/** \file
 * What recorded calls of one case say about a candidate: are two of them the same work on other
 * memory, and can that work be replayed? Addresses are made symbolic for that: offset in an
 * argument, offset in a block, else a number. Nothing here trusts the record; a record that lies
 * only describes work that will be replayed and judged as described.
 */
#ifndef KGB_VERIFY_RECORD_CALL_CLASSIFY_H
#define KGB_VERIFY_RECORD_CALL_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "verify/protocol/record.h"

/** Whose code a launch runs. Decided from the bytes of its image, elsewhere. */
enum kgb_owner {
	KGB_OWNER_TRITON, /* the candidate's own: Triton compiled it from the candidate's source */
	KGB_OWNER_TORCH_MOVE, /* torch's fill or copy, which a candidate may use */
	KGB_OWNER_LIBRARY, /* any other kernel of torch or a vendor library */
	KGB_OWNER_UNKNOWN, /* matches nothing */
	KGB_OWNER_UNDECIDED, /* could not be found out */
	KGB_N_OWNERS,
};
const char *kgb_owner_name(enum kgb_owner owner); /* "the candidate's", "of a library", ... */

/** Tells the owner of a launch of `kernel` from `image`. Called once per launch, by every function
 * that takes it: keep it cheap. */
struct kgb_owners {
	enum kgb_owner (*of)(const struct kgb_image *image, const char *kernel,
			     const void *payload);
	const void *payload;
};

/** Storage of an argument, placed in the arena by the judge. */
struct kgb_arena_place {
	const char *name; /* borrowed; for people */
	uint64_t offset, bytes; /* in the arena */
};

/** One call as it was recorded. Everything is borrowed. */
struct kgb_recorded_call {
	const struct kgb_record *record;
	const struct kgb_window *window; /* of that record */
	const struct kgb_arena_place *places;
	size_t n_places;
	uint64_t arena_bytes; /* that are mapped, guards included */
	bool foreign_ok; /* memory that is not of our pool may be used (baselines) */
};

/** What a candidate whose calls look like this is to be judged by. */
enum kgb_replay_class {
	KGB_REPLAY_REPLAYABLE, /* the replay on fresh data decides */
	KGB_REPLAY_PROLOGUE, /* needs the first call replayed before it; found by replaying */
	KGB_REPLAY_LIBRARY, /* launches code that is not the candidate's and no fill or copy */
	KGB_REPLAY_NO_WORK, /* a call without any kernel of the candidate */
	KGB_REPLAY_HOST, /* the host read data, or what it started changes from call to call */
	KGB_REPLAY_RANDOM, /* only numbers given to the candidate's kernels change, and the host
			      read nothing they could come from */
	KGB_REPLAY_UNSUPPORTED, /* an op that a replay cannot repeat */
	KGB_REPLAY_TIMEOUT, /* found by replaying */
	KGB_REPLAY_UNDECIDED, /* launches code of which nobody could find out whose it is */
	KGB_N_REPLAY_CLASSES,
};
const char *kgb_replay_class_name(enum kgb_replay_class replay); /* "replayable", "no_work", ... */

#define KGB_NO_OP SIZE_MAX
#define KGB_REASON_MAX 512

/** A difference or a fault: one sentence, and where. */
struct kgb_window_finding {
	size_t op; /* number of the op in its (last) window, KGB_NO_OP: of the whole window */
	char text[KGB_REASON_MAX];
};

struct kgb_windows {
	enum kgb_replay_class replay;
	struct kgb_window_finding reason; /* why not REPLAYABLE; empty text when it is */
	/* Of the last window: */
	size_t n_launches[KGB_N_OWNERS];
	uint64_t upload_bytes; /* data from the host: compare with the bytes of the results */
	uint64_t download_bytes;
	bool older_memory; /* something may read what an earlier call left: a prologue may help */
	/* First parameter that looks like an address outside all memory of the GPU: explains a
	 * fault. Empty: none. */
	struct kgb_window_finding host_pointer;
	/* Of the first of three: */
	bool prologue_ok; /* it may be replayed as a prologue */
	struct kgb_window_finding prologue_reason; /* why not */
};

/** Classify two or three captures of the same case in the order in which they were made. The last
 * two must be the same work; the first of three is a prologue only, and may differ (a cold call
 * compiles and tunes). `needs_kernel` false: the case may do without a kernel
 * (kgb_case_needs_launch). */
void kgb_windows_classify(const struct kgb_recorded_call *captures, size_t n_captures,
			  const struct kgb_owners *owners, bool needs_kernel,
			  struct kgb_windows *out);

/** May a plan be made of this call? Owners are not asked. False: *finding is why not. */
bool kgb_window_check(const struct kgb_recorded_call *capture, struct kgb_window_finding *finding);

/** Was this memory allocated from the pool during the call? Memory that was freed before the call,
 * or that the candidate has kept since, was not. */
bool kgb_window_made(const struct kgb_window *window, uint64_t address, uint64_t bytes);

enum kgb_difference {
	KGB_SAME,
	KGB_SCALARS_DIFFER, /* numbers among the parameters of the candidate's kernels only */
	KGB_WORK_DIFFERS,
};
/** Compare two calls. *finding tells of the first difference of the kind that is returned. */
enum kgb_difference kgb_window_compare(const struct kgb_recorded_call *a,
				       const struct kgb_recorded_call *b,
				       const struct kgb_owners *owners,
				       struct kgb_window_finding *finding);

/** One line per op, addresses symbolic, for verdict details. */
void kgb_window_describe(const struct kgb_recorded_call *capture, const struct kgb_owners *owners,
			 struct kgb_buf *out);

#endif
