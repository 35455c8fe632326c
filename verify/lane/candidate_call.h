/* SPDX-License-Identifier: MIT */
/** \file
 * One call of the candidate: the arena laid out anew with random guards around every storage, the
 * call, and a snapshot of everything afterwards (candidate_check.h judges it).
 */
#ifndef KGB_VERIFY_LANE_CANDIDATE_CALL_H
#define KGB_VERIFY_LANE_CANDIDATE_CALL_H

#include "verify/lane/lane.h"

/** The layouts of a call's storages in the arena. */
enum kgb_placement {
	/** One behind the other with guards between them, at multiples of 64; of benchmarks where
	 * torch's allocator would have them. */
	KGB_PLACED_LOOSE,
	/** For replays that detect reads past the end: each ends at the end of a page (but for the
	 * gap to the next multiple of 16). Before the first and behind each lie one or more empty
	 * pages. Replays do not map these: an access there faults. */
	KGB_PLACED_TIGHT,
	/** Like the loose layout, but each storage has the same place modulo 64 as in the tight
	 * layout: calls that are compared must not differ in alignment, which may select other
	 * code. */
	KGB_PLACED_ALIKE,
};

struct kgb_candidate_call_spec {
	int repetition; /* another poison */
	int places; /* calls with the same number find their arguments at the same addresses */
	enum kgb_placement arrangement;
	uint32_t window; /* number of the window that records the call's work; 0: none */
	bool keep; /* the runner keeps the results of the call before, so that their memory is not
		      used again */
	bool baseline; /* call the baseline instead; its results are not taken */
	int repeat_us; /* call again and again for so long, and take no results; 0: call once */
};

/** Bytes of the arena. */
struct kgb_part {
	size_t at, bytes;
	bool is_input; /* it holds only an argument, without a result */
};

/** The outcome of a call. Release with kgb_candidate_call_release. */
struct kgb_candidate_call {
	struct kgb_wire_reply reply;
	size_t at[KGB_MAX_ARGS]; /* byte offset of each storage in the arena */
	struct kgb_tensor_view
		views[KGB_MAX_ARGS]; /* of TENSOR and OUT arguments as they were passed */
	size_t arena_bytes; /* used of the arena; lane->image and lane->after hold both states: */
	struct kgb_part parts[KGB_MAX_ARGS]; /* of it these bytes, guards and storages, in order */
	size_t n_parts; /* at least 1 */
	void *values[KGB_MAX_RESULTS]; /* owned; contiguous elements of each result; NULL: none, or
					  not delivered */
	bool fresh_is_ones; /* memory that torch gave the call had every bit set */
	uint64_t fresh_seed; /* else it had random bytes: kgb_exec_poison_word of this seed; 0:
			      * others
			      */
	int64_t wall_ns; /* from sending the request to having the reply */
	struct kgb_rng rng; /* of this call; the image has taken its first numbers */
};

/** Lay out the arguments and write lane->image: guards, inputs, poisoned buffers.
 * kgb_candidate_call_run begins with this. *call must be released in every case. */
KGB_MUST_CHECK int kgb_candidate_call_prepare(struct kgb_lane *lane,
					      const struct kgb_case_data *data,
					      const struct kgb_candidate_call_spec *spec,
					      struct kgb_candidate_call *call, struct kgb_err *err);
/** Take the values of results that parameters hold from lane->after. */
void kgb_candidate_call_take_held(const struct kgb_lane *lane, const struct kgb_case_data *data,
				  struct kgb_candidate_call *call);
/** Copy all parts from one arena to another. */
void kgb_candidate_call_copy_parts(const struct kgb_candidate_call *call, char *to,
				   const char *from);
/** Make lane->image or lane->after this long, contents undefined. */
void kgb_candidate_call_resize(struct kgb_buf *buf, size_t len);

/** Run it. 0: *call holds a reply with status OK. 1: *failure has the reason (exception, crash,
 * time, forbidden operator ...). -1: *err, a fault of the judge. *call must be released in every
 * case. */
KGB_MUST_CHECK int kgb_candidate_call_run(struct kgb_lane *lane, const struct kgb_case_data *data,
					  const struct kgb_candidate_call_spec *spec,
					  struct kgb_candidate_call *call,
					  struct kgb_failure *failure, struct kgb_err *err);
/** The same for the candidate, and record its time: the phase of first calls for repetition 0, else
 * that of the others. */
KGB_MUST_CHECK int kgb_candidate_call_measured(struct kgb_lane *lane,
					       const struct kgb_case_data *data,
					       const struct kgb_candidate_call_spec *spec,
					       struct kgb_candidate_call *call,
					       struct kgb_failure *failure, struct kgb_err *err);
/** Number of the argument that holds result i after the call; SIZE_MAX: it is returned fresh. */
size_t kgb_candidate_call_holder(const struct kgb_case *c, size_t i);
void kgb_candidate_call_release(struct kgb_candidate_call *call);

#endif
