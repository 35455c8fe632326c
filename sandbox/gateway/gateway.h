/* SPDX-License-Identifier: MIT */
/** \file
 * The only way out of a sandbox: an HTTP/1.1 server that speaks the protocols of protocol.h to the
 * coding CLI, relays to the real API (live), to a script (offline) or to a record (replay), reads
 * token counts off the wire, records every exchange without keys, and accepts verification
 * requests.
 *
 * One gateway per process holds the real keys and the upstream connections; one session per
 * attempt listens inside that attempt's network namespace. Everything runs on the loop's
 * thread; callbacks come from the loop, never from inside a call of these interfaces.
 *
 * Endpoints ("[prefix]" is any path before them):
 *   POST [prefix]/v1/messages                 relayed, metered, recorded
 *   POST [prefix]/v1/chat/completions         the same
 *   POST [prefix]/v1/responses                the same
 *   POST [prefix]/v1/messages/count_tokens    relayed, recorded, not billed
 *   GET  [prefix]/v1/models                   relayed
 *   HEAD / and HEAD /api/hello                answered here
 *   /v1/files, /v1/batches, /v1/messages/batches relayed where the session has batches, recorded
 * except for polls of a batch's state; never repeated here; batched.h counts their costs
 *   POST /kgb/v1/verify handed to on_verify Everything else is 404, and so are protocols that the
 * session does not speak; a wrong token is 401 with "x-should-retry: false". Both are counted as
 * probes. sandbox/request/rewrite_request.h describes how requests are changed on their way out. */
#ifndef KGB_SANDBOX_GATEWAY_GATEWAY_H
#define KGB_SANDBOX_GATEWAY_GATEWAY_H

#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/err.h"
#include "sandbox/meter/budget.h"
#include "sandbox/meter/exchange_summary.h"
#include "sandbox/meter/prices.h"
#include "sandbox/meter/protocol.h"
#include "sandbox/meter/usage.h"
#include "sandbox/provider/account.h"

struct kgb_cassette;
struct kgb_offline_session;
struct kgb_session;
struct kgb_verify_request;

enum kgb_gateway_mode {
	KGB_GATEWAY_LIVE, /* relay to the providers */
	KGB_GATEWAY_OFFLINE, /* answer from the session's script; never opens a connection */
	KGB_GATEWAY_REPLAY, /* answer from the session's cassette; never opens a connection */
};
/** "live", "offline", "replay". */
const char *kgb_gateway_mode_name(enum kgb_gateway_mode mode);

struct kgb_gateway_spec {
	enum kgb_gateway_mode mode;
	/** Live: at least one key; keys are never recorded, logged or sent to a client. */
	struct kgb_accounts_spec accounts;
	bool allow_provider_tools; /* leave tools in requests that the provider runs: web search */
	const struct kgb_prices *prices; /* borrowed; NULL: no cost is known */
};

/** Fields are private to the files of the gateway. */
struct kgb_gateway {
	uv_loop_t *loop; /* borrowed */
	enum kgb_gateway_mode mode;
	struct kgb_accounts accounts; /* all zero unless live */
	bool allow_provider_tools;
	const struct kgb_prices *prices; /* borrowed */
	TAILQ_HEAD(kgb_waiting_exchanges, kgb_exchange)
	waiting; /* for a budget, in order of arrival */
	LIST_HEAD(kgb_sessions, kgb_session) sessions;
	bool closing;
	bool finishing; /* no session is left: its own parts are closing */
	uv_timer_t closer; /* a gateway without sessions also closes from the loop */
	void (*done)(void *payload);
	void *done_payload;
};

/** A gateway without sessions. Strings are copied. INVALID on a bad URL or a missing key. */
KGB_MUST_CHECK int kgb_gateway_new(struct kgb_gateway **out, uv_loop_t *loop,
				   const struct kgb_gateway_spec *spec, struct kgb_err *err);
/** Closes its sessions, then itself; frees *gw and calls done (may be NULL) from the loop. Call it
 * once. */
void kgb_gateway_close(struct kgb_gateway *gw, void (*done)(void *payload), void *payload);
/** Milliseconds of the pause that the provider has asked of an account; 0: none. */
int64_t kgb_gateway_paused_ms(const struct kgb_gateway *gw);
/** A session has gone; ends a closing gateway when it was the last. */
void kgb_gateway__maybe_done(struct kgb_gateway *gw);
/** Begin to close every session (server.c). */
void kgb_gateway__close_sessions(struct kgb_gateway *gw);

/** All are optional; without on_verify its endpoint answers 404. */
struct kgb_session_callbacks {
	/** Counts changed (message_start, message_delta or an answer in one piece). */
	void (*on_usage)(void *payload, const struct kgb_totals *totals);
	/** Part of the budget was reserved, and the request leaves when this returns; or new facts
	 * arrived about one that has left. A caller that must count it after a crash records it
	 * now. */
	void (*on_leave)(void *payload, const struct kgb_totals *totals);
	/** A request was refused because a budget is used up: the attempt cannot go on. */
	void (*on_budget)(void *payload, const char *why);
	/** A request was refused because the provider's answers to it broke off each time. */
	void (*on_hopeless)(void *payload);
	/** Replay: the record has no answer for a request. `why` names the nearest one. */
	void (*on_miss)(void *payload, const char *why);
	void (*on_exchange)(void *payload, const struct kgb_exchange_summary *exchange);
	/** The sandbox asks for a verdict on `kernel` (any bytes; they live until the callback
	 * returns). Answer with kgb_verify_reply, now or later, exactly once: `req` lives until
	 * then, also when the client has left or the session is closed. */
	void (*on_verify)(void *payload, struct kgb_verify_request *req, const char *kernel,
			  size_t len);
	/** A client requested something that is not offered: `what` is "endpoint" or "token". */
	void (*on_probe)(void *payload, const char *what, const char *method, const char *path);
	/** A request arrived or a piece of an answer moved: feeds the no-progress watchdog. Called
	 * often, must be cheap. */
	void (*on_activity)(void *payload);
};

struct kgb_session_spec {
	int take_listen_fd; /* listening TCP socket; the session owns it from the call on, also when
			       the call fails */
	const char *token; /* the attempt's capability token; copied */
	const char *model; /* every request's "model" is replaced by this; borrowed until done;
			      NULL: as asked */
	const char *traffic_dir; /* existing directory for the record; NULL: record nothing */
	const struct kgb_offline_session *offline; /* borrowed until done; for the offline mode */
	const struct kgb_cassette *cassette; /* borrowed until done; for a replay */
	struct kgb_budget *budget; /* the attempt's; borrowed until done; NULL: none */
	unsigned protocols; /* KGB_PROTOCOL_BITs that it answers; 0: all */
	bool counts_each_answer; /* also those that repeat the id of an earlier message */
	bool batches; /* relay the providers' batch interfaces: the caller counts their costs
			 (batched.h) */
	int64_t max_exchanges; /* 0: none; more are refused without going upstream */
	struct kgb_session_callbacks callbacks;
	void *payload;
};

KGB_MUST_CHECK int kgb_session_open(struct kgb_session **out, struct kgb_gateway *gw,
				    const struct kgb_session_spec *spec, struct kgb_err *err);
/** Refuses new requests, aborts open ones (client connections are cut, upstream transfers
 * cancelled), flushes the record, frees *session and calls done (may be NULL) from the loop. After
 * this call only on_exchange is called. `done` receives the final totals. */
void kgb_session_close(struct kgb_session *session,
		       void (*done)(void *payload, const struct kgb_totals *totals), void *payload);
/** The totals so far. */
void kgb_session_totals(const struct kgb_session *session, struct kgb_totals *out);

/** Answer a verification request (text/plain) and free it. Dropped when the client has left. */
void kgb_verify_reply(struct kgb_verify_request *req, int http_status, const char *text);
/** The client has left or the session is closed: a verdict would have no reader. */
bool kgb_verify_is_orphan(const struct kgb_verify_request *req);

#endif
