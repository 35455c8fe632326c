/* SPDX-License-Identifier: MIT */
/** \file
 * Compares the recorded calls of one case: whether they are the same work on other memory, and
 * whether that work can be replayed. Addresses become symbols for that: an offset in an argument,
 * an offset in a block, else a number. */
#ifndef KGB_VERIFY_RECORD_CALL_CLASSIFY_H
#define KGB_VERIFY_RECORD_CALL_CLASSIFY_H

#include "verify/record/recorded_call.h"

/** The way to judge a candidate with such calls. */
enum kgb_replay_class {
	KGB_REPLAY_REPLAYABLE, /* the replay on fresh data decides */
	KGB_REPLAY_LIBRARY, /* launches code that is neither the candidate's nor a fill or copy of
			       torch */
	KGB_REPLAY_HOST, /* the host read data, or the launched work changes from call to call */
	KGB_REPLAY_RANDOM, /* only numbers passed to the candidate's kernels change, and the host
			      read nothing that they could come from */
	KGB_REPLAY_UNSUPPORTED, /* an op that a replay cannot repeat */
	KGB_REPLAY_UNDECIDED, /* launches code whose owner could not be found out */
};

struct kgb_classification {
	enum kgb_replay_class replay;
	struct kgb_err reason; /* why not REPLAYABLE; empty when it is */
	struct kgb_err idle; /* which call launched no kernel of the candidate; empty: none */
	/* Of the last call: */
	uint64_t upload_bytes; /* data from the host: compare with the bytes of the results */
	bool older_memory; /* the call may read what an earlier call left: a prologue may help */
	/* Of the first of three calls: */
	bool prologue_ok; /* it may be replayed as a prologue */
};

/** Classify two or three calls of the same case in the order in which they were made. The last two
 * must be the same work; the first of three is a prologue only, and may differ (a cold call
 * compiles and tunes). */
void kgb_calls_classify(const struct kgb_recorded_call *calls, size_t n_calls,
			const struct kgb_owners *owners, struct kgb_classification *out);

#endif
