/* SPDX-License-Identifier: MIT */
/** \file
 * Asks a model through a session of the gateway, as a CLI in a sandbox does: the same budgets,
 * retries, record and replay hold. Questions wait in one queue for a run, and only so many are open
 * at a time. Loop thread only.
 */
#ifndef KGB_SANDBOX_CLIENT_ASK_H
#define KGB_SANDBOX_CLIENT_ASK_H

#include <uv.h>

#include "base/err.h"
#include "sandbox/client/answer.h"
#include "sandbox/client/question.h"

/** The queue of a run. */
struct kgb_asker;
/** One question in it. */
struct kgb_ask;

KGB_MUST_CHECK int kgb_asker_new(struct kgb_asker **out, uv_loop_t *loop, int most_open,
				 struct kgb_err *err);
/** There must be no question left. Frees it and calls done from the loop. */
void kgb_asker_close(struct kgb_asker *asker, void (*done)(void *payload), void *payload);

/** The connections of the queue, for calls of other kinds. */
struct kgb_upstream *kgb_asker_upstream(const struct kgb_asker *asker);

struct kgb_ask_spec {
	const char *base_url; /* "http://127.0.0.1:40123"; copied */
	const char *token; /* of the session; copied */
	int sample; /* a number of the question, by which a replay finds its answer */
	int64_t rank; /* lower ones go first; equal ones in order of arrival */
	int64_t timeout_ms; /* from its leaving to the end of its answer; 0: no limit */
	/** Make the question; borrowed until the callback returns. Called from the loop when the
	 * question leaves, so that waiting questions take no room. */
	void (*question)(void *payload, struct kgb_question *out);
	/** The answer lives until the callback returns; the ask is gone then. Comes from the loop,
	 * exactly once. */
	void (*done)(void *payload, const struct kgb_answer *answer);
	void *payload;
};

/** Answer all questions that have not left, now and later, with this error: the provider refuses
 * each of them. */
void kgb_asker_refuse(struct kgb_asker *asker, const struct kgb_answer *error);
/** Some question was answered. */
bool kgb_asker_is_answered(const struct kgb_asker *asker);

struct kgb_ask *kgb_ask_submit(struct kgb_asker *asker, const struct kgb_ask_spec *spec);
/** Whether the question has left. */
bool kgb_ask_is_open(const struct kgb_ask *ask);
/** Forget a question: no callback comes. */
void kgb_ask_cancel(struct kgb_ask *ask);

struct curl_slist;
/** Headers that every request of a client has: its token, and the version of the protocol. The
 * caller owns the list. */
struct curl_slist *kgb_client_headers(enum kgb_protocol protocol, const char *token);

#endif
