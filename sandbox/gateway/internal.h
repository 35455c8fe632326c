/* SPDX-License-Identifier: MIT */
/** \file
 * What the files of the gateway share. Loop thread only.
 *
 * An exchange is one HTTP request. Up to five things hold it: the client's connection, the source
 * of the answer (an upstream call), the worker that prepares the request, the worker that writes it
 * to disk, and its libuv handles. Its state (exchange_state.h) follows from the first four.
 */
#ifndef KGB_SANDBOX_GATEWAY_INTERNAL_H
#define KGB_SANDBOX_GATEWAY_INTERNAL_H

#include <microhttpd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sandbox/cassette/record.h"
#include "sandbox/cassette/replay.h"
#include "sandbox/gateway/exchange_state.h"
#include "sandbox/gateway/gateway.h"
#include "sandbox/gateway/repeat_guard.h"
#include "sandbox/meter/budget.h"
#include "sandbox/meter/ledger.h"
#include "sandbox/meter/meter.h"
#include "sandbox/offline/offline.h"
#include "sandbox/provider/relay.h"
#include "sandbox/request/headers.h"
#include "sandbox/request/http.h"
#include "sandbox/request/rewrite_request.h"

/** All bodies of a session at one time: a sandbox must not eat the orchestrator's memory over many
 * connections. */
#define KGB_SESSION_BODY_BYTES (4 * (size_t)KGB_LIMIT_HTTP_BODY)

struct kgb_gateway {
	uv_loop_t *loop; /* borrowed */
	enum kgb_gateway_mode mode;
	struct kgb_accounts accounts; /* all zero unless live */
	char *model; /* owned; NULL: as asked */
	bool allow_provider_tools;
	const struct kgb_prices *prices; /* borrowed */
	struct kgb_exchange *first_waiting; /* for a budget, in order of arrival */
	struct kgb_session *sessions; /* list */
	bool closing;
	bool finishing; /* no session is left: its own parts are closing */
	uv_timer_t closer; /* a gateway without sessions still closes from the loop, not from the
			      call */
	void (*done)(void *payload);
	void *done_payload;
};

struct kgb_session {
	struct kgb_gateway *gw;
	struct kgb_session *prev, *next;
	struct MHD_Daemon *daemon;
	uv_poll_t poll; /* on the daemon's epoll descriptor */
	uv_timer_t timer; /* the daemon's timeout; after kgb_session_close: the closing itself */
	size_t open; /* handles that are not closed */
	bool full; /* no more clients are let in */
	char *token; /* owned */
	unsigned protocols; /* those that it answers */
	int dir_fd; /* -1: no record */
	const struct kgb_offline_session *offline;
	const struct kgb_cassette *cassette;
	struct kgb_cassette_use cassette_use; /* which answers were given already */
	struct kgb_budget *budget;
	int64_t max_exchanges;
	struct kgb_session_callbacks callbacks;
	void *payload;
	size_t body_bytes; /* of all requests that are not over */
	int64_t next_number;
	int64_t n_messages; /* requests for a model's answer so far, for max_exchanges */
	struct kgb_ledger ledger;
	struct kgb_repeat_guard repeat_guard; /* live */
	struct kgb_exchange *exchanges; /* list */
	bool closing;
	void (*done)(void *payload, const struct kgb_totals *totals);
	void *done_payload;
};

/** Why the body of a request is read and thrown away. */
enum kgb_request_fault {
	KGB_REQUEST_OK,
	KGB_REQUEST_REJECTED, /* by its endpoint or token */
	KGB_REQUEST_TOO_LARGE,
	KGB_REQUEST_ENCODED,
};

enum kgb_reply_end {
	KGB_REPLY_OPEN, /* more may be appended */
	KGB_REPLY_WHOLE,
	KGB_REPLY_CUT, /* its end must not look like one */
};

struct kgb_exchange {
	struct kgb_session *session;
	struct kgb_exchange *prev, *next;
	enum kgb_exchange_state state;

	/* Request. */
	char *uri; /* owned; as sent, with query */
	char *method; /* owned; NULL until the head is read */
	char *path; /* owned; without query */
	enum kgb_endpoint endpoint;
	enum kgb_protocol protocol;
	struct kgb_headers headers;
	struct kgb_buf body;
	struct kgb_rewritten rewritten; /* what of it goes out instead */
	uv_work_t prepare; /* makes that, and offline the answer */
	struct kgb_err prepare_err; /* no message: none */
	struct kgb_offline_reply scripted; /* offline: the answer */
	char key[KGB_SHA256_HEX_LEN]; /* replay: of the request */
	bool wants_sha256; /* answers broke off before: is it one of those? */
	char sha256[KGB_SHA256_HEX_LEN]; /* of the body, when somebody wanted it; else "" */
	enum kgb_request_fault fault;
	int64_t number; /* 0: not a model request */

	/* Who still holds it. */
	struct MHD_Connection *conn; /* NULL before the first and after the last byte */
	bool recording; /* the worker reads the request, or writes the end of the record */
	size_t open; /* handles that are not closed */
	bool polling; /* hangup_poll is open */
	uv_poll_t hangup_poll; /* tells when a waiting client hangs up */
	uv_timer_t settle_timer; /* while draining: how long an answer is read on */
	uv_work_t work;
	struct kgb_err work_err; /* of the request's record; no message: none */

	/* Before and between upstream calls (admit.c, relay.c). */
	struct kgb_charge reservation; /* the most that it can take */
	int64_t reserved_input; /* the part of reservation.tokens that goes in */
	bool has_reserved; /* the budget holds `reservation` */
	struct kgb_exchange *next_waiting;
	int64_t wait_began_ms; /* monotonic: when its wait for the budget began */
	int64_t waited_ms; /* for the budget */
	struct kgb_relay relay; /* live */

	/* Answer. */
	int status; /* 0: not known yet */
	struct kgb_headers reply;
	struct kgb_buf out; /* not sent yet: from out_pos */
	size_t out_pos;
	size_t *cuts; /* owned; offsets in `out` where a piece ends (offline: one event each); NULL:
			 no pieces */
	size_t n_cuts;
	size_t next_cut;
	enum kgb_reply_end out_end;
	bool whole; /* a short answer in one piece */
	bool suspended;
	struct kgb_scrub scrub; /* the real key must not come back to the client either */

	/* Accounts. */
	struct kgb_meter meter;
	struct kgb_exchange_record record;
	struct kgb_exchange_summary summary; /* whole once it is settled */
	char error[400]; /* "": none */
	int64_t started_wall_ms;
	int64_t started_ms; /* monotonic */

	struct kgb_verify_request *verify; /* pending; NULL: none */
};

struct kgb_verify_request {
	struct kgb_exchange *exchange; /* NULL: nobody waits */
};

/* session.c */
void kgb_session__activity(struct kgb_session *session);
/** Let the server look at a resumed connection, soon: it has no descriptor of its own for that. */
void kgb_session__kick(struct kgb_session *session);
/** An exchange or handle has gone; ends a closing session when it was the last. */
void kgb_session__maybe_done(struct kgb_session *session);
/** A session has gone; ends a closing gateway when it was the last. */
void kgb_gateway__maybe_done(struct kgb_gateway *gw);

/* exchange.c */
/** close callback of an exchange's handles */
void kgb_exchange__on_closed(uv_handle_t *handle);
struct kgb_exchange *kgb_exchange__new(struct kgb_session *session, const char *uri);
/** An event came; the exchange may be gone when this returns. */
void kgb_exchange__step(struct kgb_exchange *ex, enum kgb_exchange_event event);
/** The request is complete: answer it or start what will. */
void kgb_exchange__dispatch(struct kgb_exchange *ex);
/** The server has let go of it: `finished` when the client got the whole answer. */
void kgb_exchange__detach(struct kgb_exchange *ex, bool finished);
/** The session closes: cut everything. */
void kgb_exchange__abort(struct kgb_exchange *ex);
/** Next bytes for the client: > 0, 0 (none yet), -1 (all sent), -2 (cut the connection). */
ssize_t kgb_exchange__read(struct kgb_exchange *ex, char *out, size_t max);

/* reply.c */
/** Nothing more is appended to the answer. A cut stays one. */
void kgb_exchange__end_reply(struct kgb_exchange *ex, enum kgb_reply_end end);
/** Answer in one piece. */
void kgb_exchange__reply(struct kgb_exchange *ex, int status, const char *content_type,
			 const char *body, size_t len);
/** Answer with an error of the protocol. */
void kgb_exchange__reply_error(struct kgb_exchange *ex, int status, const char *message);
/** Stop the server from asking for more until __wake; watches meanwhile whether the client hangs
 * up. */
void kgb_exchange__suspend(struct kgb_exchange *ex);
void kgb_exchange__wake(struct kgb_exchange *ex);
/** Hand status and headers to the server, and the body or a reader for it. */
enum MHD_Result kgb_exchange__queue(struct kgb_exchange *ex);

/* admit.c */
/** A model request is complete: answer it as soon as the budget allows it, or refuse it. */
void kgb_exchange__admit(struct kgb_exchange *ex);
/** It is over: the budget gets what it took in the place of what was reserved. */
void kgb_exchange__charge(struct kgb_exchange *ex);
/** Nobody waits for its answer any more: leave all queues and cut its call. */
void kgb_exchange__stop(struct kgb_exchange *ex);

/* relay.c */
/** Start the upstream call of a model request, when it is its turn. */
void kgb_exchange__relay(struct kgb_exchange *ex);
/** The request's key, into ex->key; on any thread. */
void kgb_exchange__find_key(struct kgb_exchange *ex);
/** Answer a model request from the record. */
void kgb_exchange__replay(struct kgb_exchange *ex);
/** What the script answers to a model request, into ex->scripted; on any thread. */
void kgb_exchange__script(struct kgb_exchange *ex);
/** Send that. */
void kgb_exchange__offline(struct kgb_exchange *ex);
/** The account that a request is charged to. */
struct kgb_account *kgb_exchange__account(const struct kgb_exchange *ex);

/* Used by relay.c on whatever source the answer has. */
void kgb_exchange__head(struct kgb_exchange *ex, int status, const char *content_type);
void kgb_exchange__bytes(struct kgb_exchange *ex, const char *bytes, size_t len);
/** No answer came of it that a client can use: it may ask for the same again only so often. */
void kgb_exchange__note_broken_answer(struct kgb_exchange *ex, int weight);
/** No answer: the source ends with `why` for the record and `message` for the client. */
void kgb_exchange__refuse(struct kgb_exchange *ex, int status, const char *why,
			  const char *message);
/** The source is exhausted; `error` NULL or what went wrong. */
void kgb_exchange__end(struct kgb_exchange *ex, const char *error);

#endif
