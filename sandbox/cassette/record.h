/* SPDX-License-Identifier: MIT */
/** \file
 * The record of one exchange below traffic/: NNNN.request.json, NNNN.response.sse or .json (the
 * body as it came), NNNN.meta.json, which holds the request's key (replay.h) and the SHA-256 of the
 * answer: by these a replay finds and checks it. Neither the real key nor the capability token is
 * ever written: secret headers are replaced, and both texts are taken out of bodies.
 */
#ifndef KGB_SANDBOX_CASSETTE_RECORD_H
#define KGB_SANDBOX_CASSETTE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "sandbox/meter/exchange_summary.h"
#include "sandbox/request/headers.h"
#include "sandbox/request/scrub.h"

struct kgb_exchange_record_spec {
	int dir_fd; /* borrowed; -1: nothing is recorded */
	int64_t number;
	const char *secrets[KGB_SCRUB_MAX]; /* borrowed; may be NULL */
};

struct kgb_exchange_record {
	struct kgb_exchange_record_spec spec;
	int fd; /* response file; -1 before it is made */
	bool sse;
	struct kgb_sha256 *sha256; /* of what is in it; NULL before the first byte */
	char key[KGB_SHA256_HEX_LEN]; /* of the request; "" when it was not written */
	struct kgb_scrub scrub;
	struct kgb_buf chunk; /* not written yet */
	struct kgb_err err; /* first thing that went wrong, depth 0 and empty message: nothing */
	bool failed;
};

struct kgb_exchange_record_request {
	const char *method;
	const char *path; /* with query */
	const struct kgb_headers *headers;
	const char *body;
	size_t body_len;
};

void kgb_exchange_record_init(struct kgb_exchange_record *record,
			      const struct kgb_exchange_record_spec *spec);
/** Append to the response file. Little is kept in memory until the end. */
void kgb_exchange_record_response(struct kgb_exchange_record *record, bool sse, const char *bytes,
				  size_t len);
/** Meta file, written last: its presence marks a whole record. */
struct kgb_exchange_record_end {
	const struct kgb_exchange_summary *summary;
	const char *source;
	int64_t started_wall_ms;
	int64_t waited_ms; /* for the budget, its turn, between tries */
	const struct kgb_headers *reply;
	const struct kgb_strv *tries; /* calls that failed before the one that counts */
};
/** Touches nothing but its arguments, so it may run on a worker thread. */
void kgb_exchange_record_finish(struct kgb_exchange_record *record,
				const struct kgb_exchange_record_end *end);
void kgb_exchange_record_release(struct kgb_exchange_record *record);

/** Write the request file and give its key. Touches nothing but its arguments, so it may run on a
 * worker thread. */
KGB_MUST_CHECK int
kgb_exchange_record_write_request(const struct kgb_exchange_record_spec *spec,
				  const struct kgb_exchange_record_request *request,
				  char key[KGB_SHA256_HEX_LEN], struct kgb_err *err);

#endif
