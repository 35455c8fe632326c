/* SPDX-License-Identifier: MIT */
/** \file
 * A session: the HTTP server for one attempt's sandbox, with that attempt's token, budget and
 * record. Loop thread only.
 */
#ifndef KGB_SANDBOX_GATEWAY_SESSION_H
#define KGB_SANDBOX_GATEWAY_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/limits.h"
#include "sandbox/cassette/replay.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/gateway/repeat_guard.h"
#include "sandbox/meter/ledger.h"

/** Bytes of all bodies of a session at one time: a sandbox must not use up the orchestrator's
 * memory over many connections. */
#define KGB_SESSION_BODY_BYTES (4 * (size_t)KGB_LIMIT_HTTP_BODY)

struct kgb_session {
	struct kgb_gateway *gw;
	LIST_ENTRY(kgb_session) link;
	struct kgb_session_spec spec; /* without the listening socket */
	char *token; /* owned */
	int dir_fd; /* of the record; -1: none */
	struct MHD_Daemon *daemon;
	uv_poll_t poll; /* on the daemon's epoll descriptor */
	uv_timer_t timer; /* the daemon's timeout; after kgb_session_close: the closing itself */
	uv_timer_cb on_timeout; /* runs the daemon */
	size_t open; /* handles that are not closed */
	bool full; /* no more clients are accepted */
	struct kgb_cassette_use cassette_use;
	size_t body_bytes; /* of all requests that are not over */
	int64_t next_number;
	int64_t n_messages; /* requests for a model's answer so far, for max_exchanges */
	struct kgb_ledger ledger;
	struct kgb_repeat_guard repeat_guard; /* live */
	LIST_HEAD(kgb_exchanges, kgb_exchange) exchanges;
	bool closing;
	void (*done)(void *payload, const struct kgb_totals *totals);
	void *done_payload;
};

/** Let the server check a resumed connection soon: it has no descriptor to signal that. */
void kgb_session__kick(struct kgb_session *session);
/** Call on_activity. */
void kgb_session__activity(struct kgb_session *session);
/** Call on_leave. */
void kgb_session__note_leaving(struct kgb_session *session);
/** Free everything but handles and server, which are closed. */
void kgb_session__free(struct kgb_session *session);
/** An exchange or handle has gone; ends a closing session when it was the last. */
void kgb_session__maybe_done(struct kgb_session *session);

#endif
