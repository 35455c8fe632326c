/* SPDX-License-Identifier: MIT */
/** \file
 * An exchange: one HTTP request and its answer. Up to five things hold it: the client's connection,
 * the source of the answer (an upstream call), the worker that prepares the request, the worker
 * that writes it to disk, and its libuv handles. Its state (exchange_state.h) follows from the
 * first four. Loop thread only.
 */
#ifndef KGB_SANDBOX_GATEWAY_EXCHANGE_H
#define KGB_SANDBOX_GATEWAY_EXCHANGE_H

#include <microhttpd.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/buf.h"
#include "base/str.h"
#include "sandbox/cassette/record.h"
#include "sandbox/gateway/exchange_state.h"
#include "sandbox/gateway/session.h"
#include "sandbox/meter/meter.h"
#include "sandbox/offline/offline.h"
#include "sandbox/provider/relay.h"
#include "sandbox/request/headers.h"
#include "sandbox/request/http.h"
#include "sandbox/request/rewrite_request.h"

/** The reason to read and discard the body of a request. */
enum kgb_request_fault {
	KGB_REQUEST_OK,
	KGB_REQUEST_REJECTED, /* by its endpoint or token */
	KGB_REQUEST_TOO_LARGE,
	KGB_REQUEST_ENCODED,
};

enum kgb_reply_end {
	KGB_REPLY_OPEN, /* more may be appended */
	KGB_REPLY_WHOLE,
	KGB_REPLY_CUT, /* the connection must be cut, to show that the answer is not whole */
};

struct kgb_exchange {
	struct kgb_session *session;
	LIST_ENTRY(kgb_exchange) link;
	enum kgb_exchange_state state;

	/* Request. */
	char *uri; /* owned; as sent, with query */
	char *method; /* owned; NULL until the head is read */
	char *path; /* owned; without query */
	enum kgb_endpoint endpoint;
	enum kgb_protocol protocol;
	struct kgb_headers headers;
	struct kgb_buf body;
	struct kgb_rewritten rewritten; /* the rewritten body to send */
	uv_work_t prepare; /* makes the rewritten body, and offline the answer */
	struct kgb_err prepare_err; /* no message: none */
	struct kgb_offline_reply scripted; /* offline: the answer */
	char key[KGB_SHA256_HEX_LEN]; /* replay: of the request */
	bool wants_sha256; /* answers broke off before: perhaps those to this request */
	char sha256[KGB_SHA256_HEX_LEN]; /* of the body; "" while it was not needed */
	enum kgb_request_fault fault;
	int64_t number; /* 0: not a model request */

	/* Holders. */
	struct MHD_Connection *conn; /* NULL before the first and after the last byte */
	bool recording; /* the worker reads the request, or writes the end of the record */
	size_t open; /* handles that are not closed */
	bool polling; /* hangup_poll is open */
	uv_poll_t hangup_poll; /* fires when a waiting client hangs up */
	uv_timer_t settle_timer; /* while draining: how long an answer is read on */
	uv_work_t work;
	struct kgb_err work_err; /* of the request's record; no message: none */

	/* Before and between upstream calls. */
	struct kgb_charge reservation; /* upper bound of its charge */
	int64_t reserved_input; /* input part of reservation.tokens */
	bool has_reserved; /* the budget holds `reservation` */
	TAILQ_ENTRY(kgb_exchange) waiting; /* in the gateway's list */
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
	struct kgb_scrub scrub; /* keeps the real key from the client too */

	/* Accounts. */
	struct kgb_meter meter;
	struct kgb_exchange_record record;
	struct kgb_exchange_summary summary; /* whole once it is settled */
	char error[400]; /* "": none */
	int64_t started_wall_ms;
	int64_t started_ms; /* monotonic */

	struct kgb_verify_request *verify; /* pending; NULL: none */
};

struct kgb_exchange *kgb_exchange__new(struct kgb_session *session, const char *uri);
/** Close callback of an exchange's handles. */
void kgb_exchange__on_closed(uv_handle_t *handle);
/** Handle an event; the exchange may be freed when this returns. */
void kgb_exchange__step(struct kgb_exchange *ex, enum kgb_exchange_event event);
/** The request is complete: answer it, or start the source of the answer. */
void kgb_exchange__dispatch(struct kgb_exchange *ex);
/** The server has released it: `finished` when the client got the whole answer. */
void kgb_exchange__detach(struct kgb_exchange *ex, bool finished);
/** The session closes: cut everything. */
void kgb_exchange__abort(struct kgb_exchange *ex);
/** Next bytes for the client: > 0, 0 (none yet), -1 (all sent), -2 (cut the connection). */
ssize_t kgb_exchange__read(struct kgb_exchange *ex, char *out, size_t max);

/** The source has the answer's head; bytes of the answer; the end, with `error` NULL or a reason.
 */
void kgb_exchange__head(struct kgb_exchange *ex, int status, const char *content_type);
void kgb_exchange__bytes(struct kgb_exchange *ex, const char *bytes, size_t len);
void kgb_exchange__end(struct kgb_exchange *ex, const char *error);
/** The answer broke off: count it, because the same request is answered only a few times. */
void kgb_exchange__note_broken_answer(struct kgb_exchange *ex, int weight);
/** No answer: the source ends with `why` for the record and `message` for the client. */
void kgb_exchange__refuse(struct kgb_exchange *ex, int status, const char *why,
			  const char *message);

#endif
