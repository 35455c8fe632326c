/* SPDX-License-Identifier: MIT */
/** \file
 * One batch of questions at a provider, through a session of the gateway: it is made, or found
 * again, polled, and its results are delivered in any order. Loop thread only.
 *
 * Nothing is bought twice. A request that makes a batch is not repeated when its answer is lost:
 * the provider's list is searched first, after `poll_ms`. OpenAI's batches carry the key.
 * Anthropic's carry none: those of that time with the same number of requests are polled, because
 * their results name the requests. */
#ifndef KGB_SANDBOX_CLIENT_BATCH_H
#define KGB_SANDBOX_CLIENT_BATCH_H

#include <uv.h>

#include "sandbox/client/answer.h"
#include "sandbox/client/batch_wire.h"
#include "sandbox/provider/upstream.h"

enum kgb_batch_end {
	KGB_BATCH_UNSENT, /* there is none at the provider, and nothing was bought */
	KGB_BATCH_LEFT, /* it is at the provider, or may be: it can be found again later */
	KGB_BATCH_OVER, /* no more results follow, and requests without one were not billed */
	KGB_BATCH_LOST, /* the same, but requests without a result may have been billed */
};

struct kgb_batch_callbacks {
	/** The batch has this id. Called before any result. */
	void (*on_id)(void *payload, const char *id);
	/** A result, once for each number; without an answer the error has the reason. It lives
	 * until the callback returns. */
	void (*on_result)(void *payload, int number, const struct kgb_answer *answer);
	/** Called once; the batch is freed then. `status` is of HTTP; `why` may be empty. */
	void (*on_end)(void *payload, enum kgb_batch_end end, int status, const char *why);
	/** Whether an id is that of a batch that is not this one. */
	bool (*is_other)(const void *payload, const char *id);
};

struct kgb_batch_spec {
	uv_loop_t *loop;
	struct kgb_upstream *upstream; /* borrowed */
	const char *base_url, *token; /* of the session; copied */
	enum kgb_protocol protocol;
	const char *key; /* copied */
	struct kgb_batch_body *take_body; /* taken over; its requests make the batch */
	int max_number; /* of its requests */
	int64_t max_tokens; /* that each asks for */
	const char *id; /* NULL: not known */
	bool may_exist; /* an earlier process may have made it */
	int64_t left_ms; /* wall clock: when it left, if it did */
	int64_t poll_ms; /* between polls of its state */
	const struct kgb_batch_callbacks *callbacks;
	void *payload;
};

struct kgb_batch;
struct kgb_batch *kgb_batch_start(const struct kgb_batch_spec *spec);
/** Leave it at the provider: no callback follows. */
void kgb_batch_leave(struct kgb_batch *batch);

#endif
