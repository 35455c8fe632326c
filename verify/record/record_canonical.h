/* SPDX-License-Identifier: MIT */
/** \file
 * The canonical form of one recorded call: memory as disjoint regions, only the ops that matter to
 * a replay, streams and events numbered in the order of their first use.
 */
#ifndef KGB_VERIFY_RECORD_RECORD_CANONICAL_H
#define KGB_VERIFY_RECORD_RECORD_CANONICAL_H

#include "base/hash.h"
#include "base/mem.h"
#include "verify/record/recorded_call.h"

#define KGB_CANONICAL_STREAMS_MAX 32

/** Blocks that overlap (one was freed before the other was allocated) form one region. */
struct kgb_canonical_region {
	uint64_t start, end;
	bool foreign, before;
	bool used; /* a word of an op points into it, or just behind it */
	size_t number; /* among the used regions, in the order in which ops name them */
};

struct kgb_canonical_op {
	const struct kgb_op *op;
	size_t source; /* its number in the window */
	uint32_t stream;
	uint32_t event; /* EVENT_RECORD and EVENT_WAIT: a number per record */
	enum kgb_owner owner; /* of a LAUNCH */
};

struct kgb_canonical {
	const struct kgb_recorded_call *capture;
	struct kgb_arena arena;
	struct kgb_canonical_region *regions; /* sorted, disjoint */
	size_t n_regions, n_used;
	struct kgb_canonical_op *ops; /* without SYNC, empty ops and events without a wait */
	size_t n_ops;
	uint64_t streams[KGB_CANONICAL_STREAMS_MAX]; /* their numbers in the record */
	size_t n_streams;
	struct kgb_err fault; /* the first cause why no replay is possible; empty: none */
};

/** Never fails: `fault` records the fault of the window. Pair with kgb_canonical_release. */
void kgb_canonical_init(struct kgb_canonical *canonical, const struct kgb_recorded_call *capture,
			const struct kgb_owners *owners);
void kgb_canonical_release(struct kgb_canonical *canonical);

enum kgb_location_kind { KGB_LOCATION_NONE, KGB_LOCATION_ARGUMENT, KGB_LOCATION_REGION };
/** Where an address points: into the last argument that begins at or before it (also behind its
 * end, while in the arena), into a region or just behind it, or into no memory. */
struct kgb_location {
	enum kgb_location_kind kind;
	size_t index; /* of the argument or the region */
	uint64_t offset;
};
struct kgb_location kgb_canonical_locate(const struct kgb_canonical *canonical, uint64_t address);
/** Whether [address, address + bytes) is wholly in the arena or in one region. */
bool kgb_canonical_holds(const struct kgb_canonical *canonical, uint64_t address, uint64_t bytes);

#define KGB_WORD_TEXT 96
/** "self+16", "block 0+4096", or the number as "0x..."; returns out. */
const char *kgb_canonical_word(const struct kgb_canonical *canonical, uint64_t word,
			       char out[KGB_WORD_TEXT]);

#define KGB_OP_TITLE 160
/** "launch add_kernel", "memset"; returns out. */
const char *kgb_op_title(const struct kgb_op *op, char out[KGB_OP_TITLE]);

/** The word at a multiple of 8 in packed bytes. */
uint64_t kgb_word_at(const unsigned char *bytes, size_t offset);

/** INVALID: a replay cannot repeat the call. Downloads are not checked. */
KGB_MUST_CHECK int kgb_canonical_check(const struct kgb_canonical *canonical, struct kgb_err *err);
/** INVALID: the host reads from the device during the call. */
KGB_MUST_CHECK int kgb_canonical_check_downloads(const struct kgb_canonical *canonical,
						 struct kgb_err *err);
/** INVALID: work on another stream may still run after the call, because the default stream does
 * not wait for it. */
KGB_MUST_CHECK int kgb_canonical_check_joined(const struct kgb_canonical *canonical,
					      struct kgb_err *err);

enum kgb_difference {
	KGB_SAME,
	KGB_SCALARS_DIFFER, /* numbers among the parameters of the candidate's kernels only */
	KGB_WORK_DIFFERS,
};
/** Compare two calls. *why names the first difference of the kind that is returned. */
enum kgb_difference kgb_canonical_compare(struct kgb_canonical *a, struct kgb_canonical *b,
					  struct kgb_err *why);

#endif
