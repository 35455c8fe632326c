/* SPDX-License-Identifier: MIT */
/** \file
 * The data of one case: fresh inputs made here, and their right results, which the reference
 * computes.
 */
#ifndef KGB_VERIFY_LANE_CASE_DATA_H
#define KGB_VERIFY_LANE_CASE_DATA_H

#include <pthread.h>
#include <stddef.h>

#include "base/err.h"
#include "base/formats/jsonw.h"
#include "base/hash.h"
#include "verify/cases/cases.h"
#include "verify/process/shared_arena.h"
#include "verify/process/worker.h"

/** A trusted process: the one that computes right results, or the one that calls the baseline.
 * Lanes on a GPU share one, because a context is expensive there; a lane holds `lock` from its
 * request to the reply. */
struct kgb_trusted {
	pthread_mutex_t lock;
	struct kgb_worker worker;
	struct kgb_shared_arena memory;
};
#define KGB_TRUSTED_INIT                                                     \
	{                                                                    \
		.lock = PTHREAD_MUTEX_INITIALIZER, .worker = KGB_WORKER_INIT \
	}

/** One result, contiguous. */
struct kgb_truth {
	struct kgb_tensor_view view; /* dtype and sizes of the native result, contiguous */
	void *native; /* owned; NULL if it has no elements, or only unwritten ones */
	double *exact; /* owned; float64 result, NULL for integers and bool */
	double *magnitude; /* owned; NULL when the spec declares none */
	bool is_alias; /* the native result is a view of an argument's memory: */
	size_t alias_arg; /* that argument */
	size_t alias_at; /* byte offset of the first element in its storage */
	int64_t strides[KGB_MAX_DIMS]; /* of the native result, in elements */
};

/** Whether every element has the same bytes. The result must have elements, and values. */
bool kgb_truth_is_filled(const struct kgb_truth *truth);
/** Whether the elements of the result are the first ones of a view, after torch's conversion
 * (kgb_dtype_is_copy). The view has at least as many. */
bool kgb_truth_is_copy(const struct kgb_truth *truth, const struct kgb_tensor_view *view,
		       const char *storage);

struct kgb_case_data {
	const struct kgb_case *kase; /* borrowed */
	void *storages[KGB_MAX_ARGS]; /* owned; of TENSOR arguments with elements */
	size_t storage_bytes[KGB_MAX_ARGS];
	struct kgb_seed seed; /* the inputs are drawn from the seed and the variant */
	uint32_t variant;
	struct kgb_truth results[KGB_MAX_RESULTS];
	size_t n_results;
	uint32_t
		slack; /* lints: number of random bytes around the reference's arguments; 0: none */
	bool is_timed; /* lints: time the baseline of candidates */
	char truth_key[KGB_SHA256_HEX_LEN]; /* key of the results in the cache (truth_cache.h); "":
					       none */
	bool is_recalled; /* the results come from the cache */
};

/** Make the inputs. The same seed, case and variant give the same bytes; a repeated tensor has a
 * separate storage here, with equal bytes. */
void kgb_case_data_fill(struct kgb_case_data *data, const struct kgb_case *c,
			const struct kgb_seed *seed, uint32_t variant);
/** Whether the floating tensors that the call reads are flat: most elements of each are about equal
 * to the first one along some dimension. False without such tensors. */
bool kgb_case_data_is_flat(const struct kgb_case_data *data);
/** Copy the results of `like`, another variant of the same case, without their values. This
 * suffices for a call whose values are not compared. */
void kgb_case_data_shape(struct kgb_case_data *data, const struct kgb_case_data *like);
/** Free the inputs; the results stay. */
void kgb_case_data_drop_inputs(struct kgb_case_data *data);
void kgb_case_data_release(struct kgb_case_data *data);
/** The views of its results; `out` has room for KGB_MAX_RESULTS. */
void kgb_case_data_views(const struct kgb_case_data *data, struct kgb_tensor_view *out);

/** Request the results from the reference; the inputs are copied to its arena before this returns.
 * `exact` false requests the native results only, as for the timing of a baseline. */
KGB_MUST_CHECK int kgb_case_data_ask(const struct kgb_case_data *data,
				     struct kgb_trusted *reference, bool exact, int64_t deadline_ms,
				     struct kgb_err *err);
/** Append the request that kgb_case_data_ask sends. */
void kgb_case_data_write_request(const struct kgb_case_data *data, bool exact, struct kgb_buf *out);
/** Wait for the answer; its results are then in reference->memory.out. Every error is an
 * infrastructure error, because the reference is trusted. */
KGB_MUST_CHECK int kgb_case_data_wait(const struct kgb_case_data *data,
				      struct kgb_trusted *reference, bool exact,
				      int64_t deadline_ms, struct kgb_wire_reply *reply,
				      struct kgb_err *err);
/** Copy the results out of an answer. */
KGB_MUST_CHECK int kgb_case_data_take(struct kgb_case_data *data,
				      const struct kgb_wire_reply *reply, const char *out,
				      size_t out_bytes, bool exact, struct kgb_err *err);
/** kgb_case_data_ask, kgb_case_data_wait and kgb_case_data_take in turn. */
KGB_MUST_CHECK int kgb_case_data_fetch(struct kgb_case_data *data, struct kgb_trusted *reference,
				       bool exact, int64_t deadline_ms, struct kgb_err *err);

/** Arguments as the workers read them: appends `"args":[...]` members. `at` gives the byte offset
 * of each storage (for candidates from KGB_ARENA_ADDRESS on) and `views` the layout of each tensor,
 * both indexed by argument; OUT arguments are left out when `with_out` is false. Then no argument
 * is the same object as another, and none is left out because it is the default. */
void kgb_request_args(struct kgb_jsonw *w, const struct kgb_case *c, const size_t *at,
		      const struct kgb_tensor_view *views, bool with_out);

#endif
