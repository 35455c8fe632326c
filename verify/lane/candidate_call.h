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
	/** One behind the other with guards between them, at multiples of 64 bytes; in benchmarks
	 * at the alignment of torch's allocator. */
	KGB_PLACED_LOOSE,
	/** For replays that detect reads past the end: a storage ends at the end of a page, or less
	 * than 16 bytes before it. One in three begins at a page instead, as in torch's allocator.
	 * One or more empty pages lie before the first storage and behind each one. Replays do not
	 * map these pages: an access there faults. */
	KGB_PLACED_TIGHT,
	/** Like the loose layout, but each storage has the same place modulo 64 as in the tight
	 * layout, modulo 512 if it begins at a page there: calls that are compared must not differ
	 * in alignment, which may select other code. */
	KGB_PLACED_ALIKE,
};

struct kgb_candidate_call_spec {
	int repetition; /* number of the call: selects its poison */
	int places; /* calls with the same number find their arguments at the same addresses */
	enum kgb_placement arrangement;
	/** Some arguments, which the seed draws, lie elsewhere than in the other calls of these
	 * places: they are new tensors beside others that are not. */
	bool moves_some;
	uint32_t window; /* number of the window that records the call's work; 0: none */
	bool only_records; /* launches are recorded and not carried out */
	int keeps; /* the runner holds the results of so many calls before, so that their memory is
		      not used again */
	bool baseline; /* call the baseline instead; its results are not taken */
	int repeat_us; /* repeat the call for this many microseconds and take no results; 0: call
			  once */
};

/** A range of bytes in the arena that holds storages and their guards. */
struct kgb_part {
	size_t at, bytes;
	uint64_t address; /* where the call finds it */
	bool is_input; /* it holds an argument that the call does not change */
};

/** The outcome of a call. Release with kgb_candidate_call_release. */
struct kgb_candidate_call {
	struct kgb_wire_reply reply;
	size_t at[KGB_MAX_ARGS]; /* place of each storage in the arena, in bytes */
	uint64_t addresses[KGB_MAX_ARGS]; /* where the call finds it (kgb_arena_offset) */
	struct kgb_tensor_view
		views[KGB_MAX_ARGS]; /* of TENSOR and OUT arguments as they were passed */
	size_t arena_bytes; /* bytes of the arena in use; lane->image holds their state before the
			       call, lane->after that after it */
	struct kgb_part parts[KGB_MAX_ARGS]; /* the ranges of the arena that are copied, in order of
						place */
	size_t n_parts; /* at least 1 */
	void *values[KGB_MAX_RESULTS]; /* owned; contiguous elements of each result; NULL: none, or
					  not delivered */
	bool without_values; /* the call's results stay in the runner, because none is compared */
	bool without_arena; /* what the call left in the arena stays in the runner, because none of
			       it is examined: lane->image and lane->after have nothing of it */
	bool fresh_is_ones; /* memory that torch gave the call had every bit set */
	uint64_t fresh_seed; /* else it had kgb_exec_poison_word of this seed; 0: unknown bytes */
	int64_t wall_ns; /* from the request, once it is sent, to the reply */
	struct kgb_rng rng; /* of this call; writing the image has drawn its first numbers */
};

/** Lay out the arguments and write lane->image: guards, inputs, poisoned buffers.
 * kgb_candidate_call_run begins with this. *call must be released in every case. */
KGB_MUST_CHECK int kgb_candidate_call_prepare(struct kgb_lane *lane,
					      const struct kgb_case_data *data,
					      const struct kgb_candidate_call_spec *spec,
					      struct kgb_candidate_call *call, struct kgb_err *err);
/** Copy the results that parameters hold from lane->after to call->values. */
void kgb_candidate_call_take_held(const struct kgb_lane *lane, const struct kgb_case_data *data,
				  struct kgb_candidate_call *call);
/** Copy all parts from one arena to another. */
void kgb_candidate_call_copy_parts(const struct kgb_candidate_call *call, char *to,
				   const char *from);
/** Make lane->image or lane->after this long, contents undefined. */
void kgb_candidate_call_resize(struct kgb_buf *buf, size_t len);

/** Prepare the call and make it. 0: *call holds a reply with status OK. 1: *failure has the reason
 * (exception, crash, time, forbidden operator ...). -1: *err, a fault of the judge. *call must be
 * released in every case. */
KGB_MUST_CHECK int kgb_candidate_call_run(struct kgb_lane *lane, const struct kgb_case_data *data,
					  const struct kgb_candidate_call_spec *spec,
					  struct kgb_candidate_call *call,
					  struct kgb_failure *failure, struct kgb_err *err);
/** kgb_candidate_call_run for the candidate, with its time counted as KGB_PHASE_FIRST_CALL for
 * repetition 0, else as KGB_PHASE_CALL. */
KGB_MUST_CHECK int kgb_candidate_call_measured(struct kgb_lane *lane,
					       const struct kgb_case_data *data,
					       const struct kgb_candidate_call_spec *spec,
					       struct kgb_candidate_call *call,
					       struct kgb_failure *failure, struct kgb_err *err);
/** Number of the argument that holds result i after the call; SIZE_MAX: it is returned fresh. */
size_t kgb_candidate_call_holder(const struct kgb_case *c, size_t i);
void kgb_candidate_call_release(struct kgb_candidate_call *call);

#endif
