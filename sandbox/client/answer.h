/* SPDX-License-Identifier: MIT */
/** \file
 * The answer of a model to one question, read from the bytes of the response in each of the
 * protocols of protocol.h, streamed or in one piece. A stream without the model's stop reason, a
 * page of HTML, an error under status 200 and half a JSON are no answers.
 *
 * A request for several choices is answered by choices in any order, interleaved in a stream. Where
 * their indices are missing or repeated in one document, their position stands for the index; a
 * choice of a stream that goes on after its end mixes two choices, and is broken. */
#ifndef KGB_SANDBOX_CLIENT_ANSWER_H
#define KGB_SANDBOX_CLIENT_ANSWER_H

#include "base/buf.h"
#include "base/formats/sse.h"
#include "sandbox/meter/meter.h"

/** Most bytes of text, and of thinking, that are kept. */
#define KGB_ANSWER_BYTES ((size_t)4 << 20)

enum kgb_answer_finish {
	KGB_ANSWER_BROKEN, /* it has not ended, or is invalid: `error` has the reason */
	KGB_ANSWER_STOPPED, /* the model stopped by itself */
	KGB_ANSWER_TRUNCATED, /* the limit of tokens, or KGB_ANSWER_BYTES */
	KGB_ANSWER_REFUSED, /* the model or the provider's filter refused */
};
/** "broken", "stopped", "truncated", "refused". */
const char *kgb_answer_finish_name(enum kgb_answer_finish finish);

/** Most answers that one request brings (OpenAI's limit of `n`). */
#define KGB_ANSWER_CHOICES 128

/** One of the answers that a request brings. */
struct kgb_choice {
	struct kgb_buf text; /* owned */
	struct kgb_buf
		thinking; /* owned; reasoning that the provider shows, or the text has in tags */
	enum kgb_answer_finish finish;
	bool is_mixed; /* private: text came after its end */
};

struct kgb_answer {
	enum kgb_protocol protocol;
	int64_t max_tokens; /* that were asked for; 0: no limit. The owner sets it */
	struct kgb_choice *choices; /* owned; by their index */
	int n_choices; /* as many as were asked for */
	int status; /* of HTTP; 0: no head yet */
	char error[256]; /* one line, of the first choice that is broken; "": all are whole */
	bool is_misnumbered; /* indices of choices were missing or came twice */
	struct kgb_meter meter; /* the same count as the gateway's, of the same bytes */
	/* private */
	struct kgb_buf body; /* of an answer in one piece */
	struct kgb_sse sse;
	bool is_stream;
};

/** `n_choices` is 1 .. KGB_ANSWER_CHOICES; above 1 in Chat Completions only. */
void kgb_answer_init(struct kgb_answer *answer, enum kgb_protocol protocol, int n_choices);
void kgb_answer_head(struct kgb_answer *answer, int status, const char *content_type);
void kgb_answer_feed(struct kgb_answer *answer, const char *bytes, size_t len);
/** The transfer is over. `failure` is the reason of a failed transfer; NULL: it is whole. Choices
 * that ended before a transfer failed are whole. */
void kgb_answer_end(struct kgb_answer *answer, const char *failure);
void kgb_answer_release(struct kgb_answer *answer);

#endif
