/* SPDX-License-Identifier: MIT */
/** \file
 * The canonical form of one recorded call, behind windows.c and plan.c: memory as disjoint regions,
 * ops without what means nothing to a replay, streams and events numbered as they appear.
 */
#ifndef KGB_VERIFY_RECORD_RECORD_CANONICAL_H
#define KGB_VERIFY_RECORD_RECORD_CANONICAL_H

#include "base/hash.h"
#include "verify/record/call_classify.h"

#define KGB_CANONICAL_STREAMS_MAX 32
#define KGB_ADDRESS_END (UINT64_C(1) << 47) /* of what a driver maps */

/** Blocks that overlap (one was freed before the other was made) are one region. */
struct kgb_region {
	uint64_t start, end;
	bool foreign, before;
	bool used; /* some word of an op points into it, or just behind it */
	size_t number; /* of those used, in the order in which ops name them */
};

struct kgb_canonical_op {
	const struct kgb_op *op;
	size_t source; /* its number in the window */
	uint32_t stream;
	uint32_t event; /* EVENT_RECORD and EVENT_WAIT: a number per record */
	enum kgb_owner owner; /* of a LAUNCH; UNKNOWN when nobody was asked */
};

struct kgb_canonical {
	const struct kgb_recorded_call *capture;
	struct kgb_arena arena;
	struct kgb_region *regions; /* sorted, disjoint */
	size_t n_regions, n_used;
	struct kgb_canonical_op *ops; /* no SYNC, no event that nobody waits for, nothing empty */
	size_t n_ops;
	uint64_t streams[KGB_CANONICAL_STREAMS_MAX]; /* as the record calls them */
	size_t n_streams;
	struct kgb_window_finding
		fault; /* first thing that no replay could be faithful to; empty: none */
};

/** Nothing fails: what is wrong with the window is `fault`. `owners` may be NULL. Pair with
 * kgb_canonical_release. */
void kgb_canonical_init(struct kgb_canonical *outline, const struct kgb_recorded_call *capture,
			const struct kgb_owners *owners);
void kgb_canonical_release(struct kgb_canonical *outline);

enum kgb_spot_kind { KGB_SPOT_NONE, KGB_SPOT_PLACE, KGB_SPOT_REGION };
/** Where an address points: into the last argument that begins at or before it (also behind its
 * end, while in the arena), into a region or just behind it, or into no memory. */
struct kgb_spot {
	enum kgb_spot_kind kind;
	size_t index; /* of the place or the region */
	uint64_t offset;
};
struct kgb_spot kgb_canonical_locate(const struct kgb_canonical *outline, uint64_t address);
/** Is [address, address + bytes) wholly in the arena or in one region? */
bool kgb_canonical_holds(const struct kgb_canonical *outline, uint64_t address, uint64_t bytes);

#define KGB_WORD_TEXT 96
/** "self+16", "block 0+4096", "memory 0x... behind ..." or the number itself; returns out. */
const char *kgb_canonical_word(const struct kgb_canonical *outline, uint64_t word,
			       char out[KGB_WORD_TEXT]);

#define KGB_OP_TITLE 160
/** "launch add_kernel", "memset"; returns out. */
const char *kgb_op_title(const struct kgb_op *op, char out[KGB_OP_TITLE]);

/** Call `visit` for every word of an op that may be an address. */
void kgb_op_visit_words(const struct kgb_op *op, void (*visit)(uint64_t word, void *payload),
			void *payload);
/** The word at a multiple of 8 in packed bytes. */
uint64_t kgb_word_at(const unsigned char *bytes, size_t offset);

void kgb_canonical_image_hash(const struct kgb_canonical *outline, uint32_t id,
			      char out[KGB_SHA256_HEX_LEN]);

/** Attributes of a launch sorted by id, bytes that mean nothing cleared. -1 and *finding (op left
 * alone) when one of them cannot be replayed. */
int kgb_launch_attrs(const struct kgb_launch *launch, struct kgb_launch_attr out[], size_t *n_out,
		     struct kgb_window_finding *finding);

/** Fill the finding unless it is filled. */
void kgb_window_finding_set(struct kgb_window_finding *finding, size_t op, const char *fmt, ...)
	KGB_PRINTF(3, 4);

/** What kgb_window_check asks, but for downloads. */
bool kgb_canonical_check(const struct kgb_canonical *outline, struct kgb_window_finding *finding);
/** Why a download is no matter for a replay: false and *finding when there is one. */
bool kgb_canonical_check_downloads(const struct kgb_canonical *outline,
				   struct kgb_window_finding *finding);
/** Is all work over for who goes on with the default stream? False and *finding when some of
 * another stream may not be. */
bool kgb_canonical_check_joined(const struct kgb_canonical *outline,
				struct kgb_window_finding *finding);
enum kgb_difference kgb_canonical_compare(struct kgb_canonical *a, struct kgb_canonical *b,
					  struct kgb_window_finding *finding);

#endif
