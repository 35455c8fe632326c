/* SPDX-License-Identifier: MIT */
/** \file
 * Answers from the record of an earlier session (a traffic/ directory), found by the request. A
 * request's key is the SHA-256 of its method, path and body, without the parts that differ between
 * two runs of the same thing: secrets, UUIDs, long hexadecimal numbers, dates, times in
 * milliseconds, the kernel's version, lines of CLIs on the progress of a command, and the order of
 * an object's members. Requests with equal keys get the recorded answers in their order, each
 * once. */
#ifndef KGB_SANDBOX_CASSETTE_REPLAY_H
#define KGB_SANDBOX_CASSETTE_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "sandbox/meter/protocol.h"
#include "sandbox/request/headers.h"
#include "sandbox/request/scrub.h"

struct kgb_cassette_request {
	const char *method;
	const char *path; /* without the query */
	const char *body;
	size_t body_len;
	const char *sample; /* its header KGB_SAMPLE_HEADER; NULL: none */
	const char *secrets[KGB_SCRUB_MAX]; /* as in struct kgb_exchange_record_spec */
};
/** Whether the body is JSON. */
bool kgb_cassette_key(const struct kgb_cassette_request *request, char out[KGB_SHA256_HEX_LEN]);
/** Append text in which names replace the parts that differ between runs: "<uuid>", "<hex>",
 * "<date>". */
void kgb_cassette_normalise(const char *text, size_t len, struct kgb_buf *out);

struct kgb_cassette;
/** Read the record below `traffic_dir`; exchanges whose record is not whole are left out. The
 * answers are read on demand. */
KGB_MUST_CHECK int kgb_cassette_load(struct kgb_cassette **out, const char *traffic_dir,
				     struct kgb_err *err);
void kgb_cassette_free(struct kgb_cassette *cassette);
size_t kgb_cassette_n(const struct kgb_cassette *cassette);

/** The answers that one session has received; zero at first. */
struct kgb_cassette_use {
	bool *given; /* owned; by exchange */
	size_t n_given;
};
void kgb_cassette_use_release(struct kgb_cassette_use *use);

struct kgb_cassette_answer {
	int status;
	struct kgb_headers headers;
	struct kgb_buf body;
	bool cut; /* it did not end as it should */
};
#define KGB_CASSETTE_ANSWER_INIT        \
	{                               \
		.body = KGB_BUF_INIT(0) \
	}
void kgb_cassette_answer_release(struct kgb_cassette_answer *answer);

/** The next answer to a request of that key: 1, and it counts as given; 0: there is none (any
 * more); -1: the record is damaged. */
KGB_MUST_CHECK int kgb_cassette_answer(const struct kgb_cassette *cassette,
				       struct kgb_cassette_use *use, const char *key,
				       struct kgb_cassette_answer *out, struct kgb_err *err);
/** Append the reason of a missing answer: the nearest recorded request, and the first difference
 * from it. */
void kgb_cassette_explain(const struct kgb_cassette *cassette, const struct kgb_cassette_use *use,
			  const struct kgb_cassette_request *request, struct kgb_buf *out);

#endif
