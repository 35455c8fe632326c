/* SPDX-License-Identifier: MIT */
/** \file
 * One request on its way to a provider. It waits for its turn at the account's key, is sent, and is
 * sent again where the policy allows that; its owner gets one answer or one error. Loop thread
 * only.
 */
#ifndef KGB_SANDBOX_PROVIDER_RELAY_H
#define KGB_SANDBOX_PROVIDER_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "sandbox/provider/account.h"
#include "sandbox/provider/upstream.h"
#include "sandbox/request/headers.h"

/** The progress of the running call. */
enum kgb_call_stage {
	KGB_CALL_NOT_LEFT,
	KGB_CALL_LEAVING, /* the request is being written */
	KGB_CALL_LEFT, /* it is written whole */
	KGB_CALL_ANSWERED, /* an answer has begun */
};

struct kgb_relay_callbacks {
	/** A call leaves for the provider when this returns, or the facts about an earlier one have
	 * changed. Add `sent` to the number of calls that the provider received, `unsure` to the
	 * number of those that it may have received. */
	void (*on_calls)(void *payload, int sent, int unsure);
	/** An answer begins. Its headers were added to spec.reply; no retry follows from here
	 * on. */
	void (*on_head)(void *payload, int status, const char *content_type);
	enum kgb_upstream_take (*on_bytes)(void *payload, const char *bytes, size_t len);
	/** The answer is complete (`error` NULL), or there is none or no more of it. The relay is
	 * idle; the owner may be freed. */
	void (*on_end)(void *payload, const char *error);
	/** The provider has paused the account for longer than a client would wait. The relay is
	 * idle. */
	void (*on_refused)(void *payload, const char *why);
	/** Whether a client still waits; without one there are no retries. */
	bool (*is_wanted)(const void *payload);
};

/** All pointers are borrowed until the relay is idle. */
struct kgb_relay_spec {
	struct kgb_accounts *accounts;
	enum kgb_provider provider;
	const char *method, *path; /* `path` at the provider */
	const char *query; /* with its '?'; "": none */
	const struct kgb_headers *headers; /* the client's */
	bool once; /* never send it again */
	bool keeps_betas; /* pass on beta features that change the price */
	const struct kgb_buf *body;
	struct kgb_headers *reply; /* the headers of the client's answer */
	int64_t started_ms; /* monotonic: the client's request */
	const struct kgb_relay_callbacks *callbacks;
	void *payload;
};

/** Zero at first. */
struct kgb_relay {
	struct kgb_relay_spec spec;
	struct kgb_turn turn;
	struct kgb_upstream_call *call; /* NULL: none runs */
	enum kgb_call_stage stage;
	int status; /* of the answer that is passed on; 0: none has begun */
	int n_tries; /* calls that were begun */
	int n_lost; /* of those: sent whole and failed without an answer, so perhaps billed */
	struct kgb_retry_decision decision; /* on the call that failed last */
	size_t thrown_bytes; /* of its answer */
	int64_t answer_bytes;
	bool too_long; /* the answer was cut at accounts->max_answer_bytes */
	int64_t wait_began_ms; /* monotonic */
	int64_t waited_ms; /* for turns, in all */
	struct kgb_strv tries; /* a sentence on each failed call that was repeated */
};

/** May call any callback but on_bytes from inside. */
void kgb_relay_start(struct kgb_relay *relay, const struct kgb_relay_spec *spec);
/** Request the bytes that on_bytes has held back. */
void kgb_relay_resume(struct kgb_relay *relay);
/** Leave the queue or cut the call; no callback follows. */
void kgb_relay_stop(struct kgb_relay *relay);
/** The relay is idle. */
void kgb_relay_release(struct kgb_relay *relay);

#endif
