/* SPDX-License-Identifier: MIT */
/** \file
 * The only way out of a sandbox: an HTTP/1.1 server that speaks the protocols of protocol.h to the
 * coding CLI, relays to the real API (live) or to a scripted model (offline), reads token counts
 * off the wire, records every exchange without keys, and takes verification requests.
 *
 * One gateway per process holds the real key and the upstream connections; one session per attempt
 * listens on a socket that was created inside that attempt's network namespace and knows one
 * capability token. Everything runs on the loop's thread; callbacks come from the loop, never from
 * inside a call of this interface.
 *
 * Endpoints ("[prefix]" is any path before them):
 *   POST [prefix]/v1/messages                 relayed, metered, recorded
 *   POST [prefix]/v1/chat/completions         the same
 *   POST [prefix]/v1/responses                the same
 *   POST [prefix]/v1/messages/count_tokens    relayed, recorded, not billed
 *   GET  [prefix]/v1/models                   relayed
 *   HEAD / and HEAD /api/hello                answered here
 *   POST /kgb/v1/verify                       handed to on_verify
 * Everything else is 404, and so are protocols that the session does not speak; a wrong token is
 * 401 with "x-should-retry: false". Both are counted as probes. Requests are changed on their way
 * out as sandbox/request/rewrite_request.h says.
 */
#ifndef KGB_SANDBOX_GATEWAY_GATEWAY_H
#define KGB_SANDBOX_GATEWAY_GATEWAY_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "sandbox/meter/budget.h"
#include "sandbox/meter/exchange_summary.h"
#include "sandbox/meter/prices.h"
#include "sandbox/meter/protocol.h"
#include "sandbox/meter/usage.h"
#include "sandbox/provider/account.h"

struct kgb_gateway;
struct kgb_session;
struct kgb_verify_request;
struct kgb_offline_session;
struct kgb_cassette;

enum kgb_gateway_mode {
	KGB_GATEWAY_LIVE, /* relay to upstream_url */
	KGB_GATEWAY_OFFLINE, /* answer from the session's script; never opens a connection */
	KGB_GATEWAY_REPLAY, /* answer from the session's cassette; never opens a connection */
};
/** "live", "offline", "replay". */
const char *kgb_gateway_mode_name(enum kgb_gateway_mode mode);

struct kgb_gateway_spec {
	enum kgb_gateway_mode mode;
	/** Live: one key at least is required; keys are never recorded, logged or handed to a
	 * client. */
	struct kgb_account_spec accounts[KGB_N_PROVIDERS];
	const char *model; /* NULL: as asked; else every request's "model" is replaced by this */
	bool allow_provider_tools; /* leave tools in requests that the provider runs: web search,
				      ... */
	int64_t connect_timeout_ms; /* 0: 20 s */
	int64_t idle_timeout_ms; /* an upstream that sends nothing for so long is given up; 0: 300 s
				  */
	int64_t max_answer_bytes; /* an answer is cut there; 0: KGB_LIMIT_HTTP_ANSWER */
	struct kgb_retry_policy retry; /* all 0: 8 tries within 4 minutes */
	size_t max_concurrent; /* calls at the same time, at most; 0: 256 */
	const struct kgb_prices *prices; /* borrowed; NULL: no cost is known */
};

/** A gateway without sessions. Strings are copied. Fails (INVALID) on a bad URL or a missing key.
 */
KGB_MUST_CHECK int kgb_gateway_new(struct kgb_gateway **out, uv_loop_t *loop,
				   const struct kgb_gateway_spec *spec, struct kgb_err *err);
/** Closes its sessions, then itself; frees *gw and calls done (may be NULL) from the loop. Call it
 * once. */
void kgb_gateway_close(struct kgb_gateway *gw, void (*done)(void *payload), void *payload);
/** Milliseconds for which the provider has asked an account to stay away; 0: it has not. */
int64_t kgb_gateway_paused_ms(const struct kgb_gateway *gw);

/** All are optional but on_verify; without on_verify the endpoint answers 404. */
struct kgb_session_callbacks {
	/** Counts changed (message_start, message_delta or an answer in one piece). */
	void (*on_usage)(void *payload, const struct kgb_totals *totals);
	/** Part of the budget was reserved; when this returns the request leaves. Who wants to
	 * count it after a crash writes it down now. */
	void (*on_reserve)(void *payload, const struct kgb_totals *totals);
	/** A request was refused because a budget is used up: the attempt cannot go on. */
	void (*on_budget)(void *payload, const char *why);
	/** Replay: the record has no answer for a request. `why` names the nearest one. */
	void (*on_miss)(void *payload, const char *why);
	void (*on_exchange)(void *payload, const struct kgb_exchange_summary *exchange);
	/** The sandbox asks for a verdict on `kernel` (bytes as sent; may be anything; lives until
	 * the callback returns). Answer with kgb_verify_reply, now or later, exactly once: `req`
	 * lives until then, also when the client has left or the session is closed. */
	void (*on_verify)(void *payload, struct kgb_verify_request *req, const char *kernel,
			  size_t len);
	/** Somebody inside tried something that is not offered: `what` is "endpoint" or "token". */
	void (*on_probe)(void *payload, const char *what, const char *method, const char *path);
	/** A request came or a piece of an answer moved: feeds the no-progress watchdog. Called
	 * often, must be cheap. */
	void (*on_activity)(void *payload);
};

struct kgb_session_spec {
	int take_listen_fd; /* listening TCP socket; owned by the session from the call on, also
			       when it fails */
	const char *token; /* the attempt's capability token; copied */
	const char *traffic_dir; /* existing directory for the record; NULL: record nothing */
	const struct kgb_offline_session
		*offline; /* borrowed until done; required in offline mode */
	const struct kgb_cassette *cassette; /* borrowed until done; required for a replay */
	struct kgb_budget *budget; /* the attempt's; borrowed until done; NULL: none */
	unsigned protocols; /* KGB_PROTOCOL_BITs that it answers; 0: all */
	int64_t max_exchanges; /* 0: none; more are refused without going upstream */
	struct kgb_session_callbacks callbacks;
	void *payload;
};

KGB_MUST_CHECK int kgb_session_open(struct kgb_session **out, struct kgb_gateway *gw,
				    const struct kgb_session_spec *spec, struct kgb_err *err);
/** Refuses new requests, aborts open ones (client connections are cut, upstream transfers
 * cancelled), flushes the record, frees *session and calls done (may be NULL) from the loop. No
 * other callback comes after this call but on_exchange. Totals are final when done is called: they
 * are handed to it. */
void kgb_session_close(struct kgb_session *session,
		       void (*done)(void *payload, const struct kgb_totals *totals), void *payload);
/** What has been used so far. */
void kgb_session_totals(const struct kgb_session *session, struct kgb_totals *out);

/** Answer a verification request (text/plain) and free it. Dropped when nobody waits any more. */
void kgb_verify_reply(struct kgb_verify_request *req, int http_status, const char *text);
/** The client has left or the session is closed: a verdict would reach nobody. */
bool kgb_verify_is_orphan(const struct kgb_verify_request *req);

#endif
