/* SPDX-License-Identifier: MIT */
/** \file
 * The batch interfaces of OpenAI (files and batches) and Anthropic (message batches) on the wire:
 * bodies, the state of a batch, and the lines of its results. Sources: the API references of both,
 * November 2026.
 *
 * Each request is named KEY-NUMBER. The key is random and in the run's journal before the batch
 * leaves, so a batch is recognised by its requests, and OpenAI's by its metadata.
 */
#ifndef KGB_SANDBOX_CLIENT_BATCH_WIRE_H
#define KGB_SANDBOX_CLIENT_BATCH_WIRE_H

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/client/question.h"

/** "kgb-" and 24 hexadecimal digits, with the end. */
#define KGB_BATCH_KEY_LEN 29
#define KGB_BATCH_ID_LEN 128

/** Most requests of one batch: 50,000 and 200 MB for OpenAI, 100,000 and 256 MB for Anthropic; and
 * the gateway's caps on one request and one answer, which are lower. `output`: tokens that an
 * answer may have. */
size_t kgb_batch_most(enum kgb_protocol protocol, size_t request_bytes, int64_t output);

/** A new key. */
void kgb_batch_key(char key[KGB_BATCH_KEY_LEN]);

/** The body that carries the requests, made one by one. */
struct kgb_batch_body {
	enum kgb_protocol protocol;
	const char *key; /* borrowed */
	struct kgb_buf bytes; /* owned */
	size_t n;
};
void kgb_batch_body_init(struct kgb_batch_body *body, enum kgb_protocol protocol, const char *key);
/** Append a request. `question` does not stream. */
void kgb_batch_body_add(struct kgb_batch_body *body, int number,
			const struct kgb_question *question);
void kgb_batch_body_end(struct kgb_batch_body *body);
void kgb_batch_body_release(struct kgb_batch_body *body);

/** Content type of the body; valid as long as `key`'s owner wishes. */
void kgb_batch_content_type(enum kgb_protocol protocol, const char *key, struct kgb_buf *out);
/** Body of POST /v1/batches for a file that is there. */
void kgb_batch_write_create(enum kgb_protocol protocol, const char *key, const char *file_id,
			    struct kgb_buf *out);

struct kgb_batch_state {
	char id[KGB_BATCH_ID_LEN];
	char key[KGB_BATCH_KEY_LEN]; /* of its metadata; "": none */
	bool is_over;
	bool is_unbilled; /* it failed, expired or was cancelled: requests without a result were not
			     answered */
	int64_t n_requests; /* -1: unknown */
	char output[KGB_BATCH_ID_LEN], errors[KGB_BATCH_ID_LEN]; /* OpenAI's files; "": none */
	char word[32]; /* the provider's for its state */
	char error[256]; /* one line; "": none */
};
/** INVALID: it is no batch. */
KGB_MUST_CHECK int kgb_batch_read_state(enum kgb_protocol protocol, const cJSON *node,
					struct kgb_batch_state *out, struct kgb_err *err);

/** One line of results. */
struct kgb_batch_line {
	int number; /* of the request; 0: of another batch, or none */
	int status; /* of HTTP; 0: it was not answered */
	struct kgb_buf body; /* owned; the answer in one piece */
	char error[256]; /* reason of a missing answer */
};
/** Read a line that may be anything. Release it in any case. */
void kgb_batch_read_line(enum kgb_protocol protocol, const char *key, const char *text, size_t len,
			 struct kgb_batch_line *out);
void kgb_batch_line_release(struct kgb_batch_line *line);

#endif
