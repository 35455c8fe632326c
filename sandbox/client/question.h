/* SPDX-License-Identifier: MIT */
/** \file
 * One question to a bare model: a request for an answer, or for several choices, in each of the
 * protocols of protocol.h. Providers accept different sampling fields, so each field can be left
 * out, and an error answer is searched for the refused field. */
#ifndef KGB_SANDBOX_CLIENT_QUESTION_H
#define KGB_SANDBOX_CLIENT_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/meter/protocol.h"

/** Fields that a server may refuse. */
enum kgb_sampling_field {
	KGB_SAMPLING_TEMPERATURE,
	KGB_SAMPLING_TOP_P,
	KGB_SAMPLING_SEED, /* Messages, Responses: a name of the sample in "metadata" */
	KGB_SAMPLING_EFFORT,
	KGB_SAMPLING_MAX_TOKENS, /* Chat Completions: max_completion_tokens takes its place */
	KGB_N_SAMPLING_FIELDS,
};
/** "temperature": the name of the setting. */
const char *kgb_sampling_field_name(enum kgb_sampling_field field);

struct kgb_sampling {
	double temperature, top_p; /* negative: the provider's default */
	int64_t max_tokens; /* of the answer; the Messages protocol requires it */
	int64_t seed; /* negative: none */
	const char *effort; /* of reasoning: "low", "high", ...; NULL or "": not sent */
	unsigned refused; /* bits of enum kgb_sampling_field that the server refuses */
};

/** Most texts of a conversation: a task, an answer to it, and the report on that answer. */
#define KGB_QUESTION_TURNS 3

struct kgb_question {
	enum kgb_protocol protocol;
	const char *model;
	const char *system_text; /* NULL: none */
	const char *turns[KGB_QUESTION_TURNS]; /* of user, model, user in this order; the last one
						  is the user's; NULL: no more of them */
	struct kgb_sampling sampling;
	bool stream;
	int n_choices; /* answers that one request asks for: `n` of Chat Completions; 0, 1: one */
};

/** Path of the request below the base URL: "/v1/messages". */
const char *kgb_question_path(enum kgb_protocol protocol);
/** Append the body of the request. */
void kgb_question_write(const struct kgb_question *question, struct kgb_buf *out);
/** The sampling fields that were sent, as JSON: {"temperature": 0.8, "max_tokens": 8192}. */
void kgb_question_write_sent(const struct kgb_question *question, struct kgb_buf *out);
/** Bits of the fields that the question has and a request left out whose `sent` is given. */
unsigned kgb_question_left_out(const struct kgb_question *question, const char *sent);
/** The field of the question that a server's error text names; KGB_N_SAMPLING_FIELDS: none. */
enum kgb_sampling_field kgb_question_refused(const struct kgb_question *question,
					     const char *error);

#endif
