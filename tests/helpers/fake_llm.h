/* SPDX-License-Identifier: MIT */
/** \file
 * A stand-in for the API: an HTTP/1.1 server on a libuv loop whose answers the test writes byte by
 * byte, so that it can behave as badly as the test wants.
 */
#ifndef KGB_TESTS_HELPERS_FAKE_LLM_H
#define KGB_TESTS_HELPERS_FAKE_LLM_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"

struct fake_llm;

/** One request. Lives until its connection is closed; the server closes all of them at
 * fake_llm_stop. */
struct fake_llm_call {
	struct fake_llm *llm;
	struct fake_llm_call *next;
	uv_tcp_t tcp;
	struct kgb_buf in; /* bytes as received */
	const char *method; /* NULL until the request is complete */
	const char *path; /* with query */
	const char *head; /* header lines */
	const char *body;
	size_t body_len;
	bool told;
	bool gone; /* the peer closed, or we did */
	void *payload; /* the test's own */
};

typedef void (*fake_llm_fn)(void *payload, struct fake_llm_call *call);

/** Listen on 127.0.0.1; `fn` gets every complete request (its text is split in place). Aborts on
 * any error. */
struct fake_llm *fake_llm_start(uv_loop_t *loop, fake_llm_fn fn, void *payload);
uint16_t fake_llm_port(const struct fake_llm *llm);
/** Requests so far. */
int fake_llm_calls(const struct fake_llm *llm);
/** Close everything; the struct is freed from the loop. */
void fake_llm_stop(struct fake_llm *llm);

void fake_llm_send(struct fake_llm_call *call, const char *bytes, size_t len);
void fake_llm_sends(struct fake_llm_call *call, const char *text);
/** Head of a chunked event stream. */
void fake_llm_stream_head(struct fake_llm_call *call);
/** One chunk. */
void fake_llm_chunk(struct fake_llm_call *call, const char *bytes, size_t len);
/** Last chunk: the stream ends as it should. */
void fake_llm_stream_end(struct fake_llm_call *call);
/** A whole answer with Content-Length; `headers` are whole lines or "". */
void fake_llm_reply(struct fake_llm_call *call, int status, const char *headers, const char *body);
/** Close the connection; `reset` with RST. */
void fake_llm_cut(struct fake_llm_call *call, bool reset);
/** Value of a request header, malloc'ed, or NULL. */
char *fake_llm_header(const struct fake_llm_call *call, const char *name);

/** The named behaviours: what an API can do to a client. NULL-terminated. */
extern const char *const fake_llm_behaviours[];
/** Answer `call` in the named way; false for a name that does not exist. */
bool fake_llm_behave(struct fake_llm_call *call, const char *behaviour);

/** Events of one well-formed streamed message: usage 100 in, 50 out, 1000 written to and 2000 read
 * from the cache. */
#define FAKE_LLM_START(id)                                                                                              \
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"" id                             \
	"\",\"type\":\"message\","                                                                                      \
	"\"role\":\"assistant\",\"model\":\"m-1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":100," \
	"\"cache_creation_input_tokens\":1000,\"cache_read_input_tokens\":2000,\"output_tokens\":1}}}\n\n"
#define FAKE_LLM_TEXT                                                                                        \
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" \
	"{\"type\":\"text\",\"text\":\"\"}}\n\n"                                                             \
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"         \
	"{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n"                                                  \
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
#define FAKE_LLM_DELTA                                                                                      \
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," \
	"\"usage\":{\"output_tokens\":50}}\n\n"
#define FAKE_LLM_STOP "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
#define FAKE_LLM_MESSAGE(id) FAKE_LLM_START(id) FAKE_LLM_TEXT FAKE_LLM_DELTA FAKE_LLM_STOP

#endif
