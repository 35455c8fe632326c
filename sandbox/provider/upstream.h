/* SPDX-License-Identifier: MIT */
/** \file
 * HTTP calls to the real API: libcurl's multi interface on the libuv loop. One pool per gateway;
 * connections are reused.
 */
#ifndef KGB_SANDBOX_PROVIDER_UPSTREAM_H
#define KGB_SANDBOX_PROVIDER_UPSTREAM_H

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "sandbox/request/headers.h"

struct kgb_upstream;
struct kgb_upstream_call;

KGB_MUST_CHECK int kgb_upstream_new(struct kgb_upstream **out, uv_loop_t *loop,
				    struct kgb_err *err);
/** There must be no call left. Frees the pool and calls done from the loop. */
void kgb_upstream_close(struct kgb_upstream *up, void (*done)(void *payload), void *payload);

/** Answer's head: status and the headers of interest. */
struct kgb_upstream_head {
	int status;
	struct kgb_headers headers; /* names in lower case */
};

enum kgb_upstream_take {
	KGB_UPSTREAM_TAKEN,
	KGB_UPSTREAM_HOLD, /* not taken; kgb_upstream_resume asks for them again */
	KGB_UPSTREAM_ENOUGH, /* end the call with an error */
};

struct kgb_upstream_spec {
	const char *method; /* "POST" or "GET" */
	const char *url; /* copied */
	struct curl_slist *take_headers; /* owned by the call from now on */
	const char *body; /* borrowed until on_done or cancel */
	size_t body_len;
	bool once; /* on a new connection: libcurl silently repeats a request when a connection that
		      it used before is closed instead of answered */
	int64_t connect_timeout_ms;
	int64_t idle_timeout_ms; /* silence of this length: TIMEOUT */
	/** The request is about to be written to a connection; libcurl writes it again to another
	 * one when a connection that was kept open turns out to be dead. May be NULL. */
	void (*on_leave)(void *payload);
	/** All of it has been written. May be NULL. */
	void (*on_left)(void *payload);
	/** Headers are complete. */
	void (*on_head)(void *payload, const struct kgb_upstream_head *head);
	/** Bytes of the answer. */
	enum kgb_upstream_take (*on_data)(void *payload, const char *bytes, size_t len);
	/** The answer is complete (err NULL) or not; the call is gone when this returns. `sent`:
	 * all of the request has left. */
	void (*on_done)(void *payload, bool sent, const struct kgb_err *err);
	void *payload;
};

/** Start a call; callbacks come later, from the loop. */
KGB_MUST_CHECK int kgb_upstream_start(struct kgb_upstream_call **out, struct kgb_upstream *up,
				      const struct kgb_upstream_spec *spec, struct kgb_err *err);
/** Ask a held call for its bytes again. Not from its own callbacks. */
void kgb_upstream_resume(struct kgb_upstream_call *call);
/** All of the request has left, so the provider may bill it. */
bool kgb_upstream_sent(const struct kgb_upstream_call *call);
/** Forget a call: its connection is cut, no callback follows. Not from its own callbacks. */
void kgb_upstream_cancel(struct kgb_upstream_call *call);

#endif
