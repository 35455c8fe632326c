/* SPDX-License-Identifier: MIT */
#include "sandbox/client/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"

/* An answer in one piece with its text escaped, or one event. */
#define BODY_BYTES (3 * KGB_ANSWER_BYTES)

const char *kgb_answer_finish_name(enum kgb_answer_finish finish)
{
	static const char *const names[] = {"broken", "stopped", "truncated", "refused"};
	return names[finish];
}

void kgb_answer_init(struct kgb_answer *answer, enum kgb_protocol protocol)
{
	*answer = (struct kgb_answer){.protocol = protocol,
				      .text = KGB_BUF_INIT(KGB_ANSWER_BYTES),
				      .thinking = KGB_BUF_INIT(KGB_ANSWER_BYTES),
				      .body = KGB_BUF_INIT(BODY_BYTES)};
	kgb_sse_init(&answer->sse, BODY_BYTES);
}

void kgb_answer_release(struct kgb_answer *answer)
{
	kgb_buf_release(&answer->text);
	kgb_buf_release(&answer->thinking);
	kgb_buf_release(&answer->body);
	kgb_sse_release(&answer->sse);
}

/** The first complaint stands. */
static void complain(struct kgb_answer *answer, const char *error)
{
	if (!answer->error[0])
		snprintf(answer->error, sizeof(answer->error), "%.*s", (int)strcspn(error, "\r\n"),
			 error);
}

/** Read the model's own word for how it ended. Other words mean that it came to its end: servers of
 * open models have their own. */
static void set_finish(struct kgb_answer *answer, const char *word)
{
	static const struct {
		const char *word;
		enum kgb_answer_finish finish;
	} words[] = {
		{"length", KGB_ANSWER_TRUNCATED},
		{"max_tokens", KGB_ANSWER_TRUNCATED},
		{"max_output_tokens", KGB_ANSWER_TRUNCATED},
		{"model_context_window_exceeded", KGB_ANSWER_TRUNCATED},
		{"content_filter", KGB_ANSWER_REFUSED},
		{"refusal", KGB_ANSWER_REFUSED},
	};
	if (!word)
		return;
	answer->finish = KGB_ANSWER_STOPPED;
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		if (kgb_str_eq(word, words[i].word))
			answer->finish = words[i].finish;
}

static void add(struct kgb_buf *buf, const char *text)
{
	if (text)
		(void)kgb_buf_adds(buf, text);
}

/* ---- Anthropic Messages ---- */

static void read_messages(struct kgb_answer *answer, const cJSON *node)
{
	const cJSON *block = NULL;
	cJSON_ArrayForEach(block, kgb_json_get(node, "content")) {
		add(&answer->text, kgb_json_str(block, "text", NULL));
		add(&answer->thinking, kgb_json_str(block, "thinking", NULL));
	}
	add(&answer->text, kgb_json_str(node, "delta.text", NULL));
	add(&answer->thinking, kgb_json_str(node, "delta.thinking", NULL));
	set_finish(answer, kgb_json_str(node, "delta.stop_reason", NULL));
	set_finish(answer, kgb_json_str(node, "stop_reason", NULL));
}

/* ---- OpenAI Chat Completions ---- */

static void read_chat(struct kgb_answer *answer, const cJSON *node)
{
	/* Names of reasoning: "reasoning_content" of DeepSeek and vLLM, "reasoning" of OpenRouter.
	 */
	static const char *const members[] = {"delta", "message"};
	static const char *const thoughts[] = {"reasoning_content", "reasoning"};
	const cJSON *choice = NULL, *first = NULL;
	/* One answer is asked for: others would be of an index above 0, in any order. */
	cJSON_ArrayForEach(choice, kgb_json_get(node, "choices"))
		if (kgb_json_i64(choice, "index", 0) == 0)
			first = choice;
	for (size_t i = 0; i < KGB_ARRAY_LEN(members); i++) {
		const cJSON *part = kgb_json_get(first, members[i]);
		add(&answer->text, kgb_json_str(part, "content", NULL));
		for (size_t k = 0; k < KGB_ARRAY_LEN(thoughts); k++)
			add(&answer->thinking, kgb_json_str(part, thoughts[k], NULL));
		if (kgb_json_str(part, "refusal", NULL))
			answer->finish = KGB_ANSWER_REFUSED;
	}
	const bool refused = answer->finish == KGB_ANSWER_REFUSED;
	set_finish(answer, kgb_json_str(first, "finish_reason", NULL));
	if (refused)
		answer->finish = KGB_ANSWER_REFUSED;
}

/* ---- OpenAI Responses ---- */

/** A response as it is at its end. */
static void read_response(struct kgb_answer *answer, const cJSON *response)
{
	const cJSON *item = NULL, *part = NULL;
	bool refused = false;
	cJSON_ArrayForEach(item, kgb_json_get(response, "output")) {
		cJSON_ArrayForEach(part, kgb_json_get(item, "content")) {
			add(&answer->text, kgb_json_str(part, "text", NULL));
			refused = refused || kgb_json_str(part, "refusal", NULL);
		}
		cJSON_ArrayForEach(part, kgb_json_get(item, "summary"))
			add(&answer->thinking, kgb_json_str(part, "text", NULL));
	}
	const char *status = kgb_json_str(response, "status", NULL);
	if (kgb_str_eq(status, "completed"))
		set_finish(answer, refused ? "refusal" : "stop");
	else if (kgb_str_eq(status, "incomplete"))
		set_finish(answer, kgb_json_str(response, "incomplete_details.reason",
						"max_output_tokens"));
}

/** Events repeat what the last one brings whole: only that one is read. */
static void read_responses(struct kgb_answer *answer, const cJSON *node)
{
	const char *type = kgb_json_str(node, "type", "");
	if (kgb_str_starts(type, "response.")) {
		const cJSON *response = kgb_json_get(node, "response");
		if (kgb_str_eq(type, "response.completed") ||
		    kgb_str_eq(type, "response.incomplete") || kgb_str_eq(type, "response.failed"))
			read_response(answer, response);
		if (kgb_json_str(response, "error.message", NULL))
			complain(answer, kgb_json_str(response, "error.message", ""));
	} else {
		read_response(answer, node);
	}
}

/* ---- any ---- */

static void read_document(struct kgb_answer *answer, const char *text, size_t len)
{
	static void (*const readers[KGB_N_PROTOCOLS])(struct kgb_answer *, const cJSON *) = {
		read_messages, read_chat, read_responses};
	KGB_AUTO(json) cJSON *node = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(text, len, &node, &err) < 0) {
		KGB_AUTO(free)
		char *message = kgb_xasprintf("the answer is not JSON: %s", err.msg);
		complain(answer, message);
		return;
	}
	const cJSON *error = kgb_json_get(node, "error");
	if (cJSON_IsString(error))
		complain(answer, error->valuestring);
	else if (cJSON_IsObject(error))
		complain(answer, kgb_json_str(error, "message", "an error without a message"));
	else
		readers[answer->protocol](answer, node);
}

static void on_event(void *payload, const char *event, const char *data, size_t len)
{
	(void)event;
	struct kgb_answer *answer = payload;
	if (!kgb_str_eq(data, "[DONE]"))
		read_document(answer, data, len);
}

void kgb_answer_head(struct kgb_answer *answer, int status, const char *content_type)
{
	answer->status = status;
	answer->is_stream = content_type && kgb_str_starts(content_type, "text/event-stream");
}

void kgb_answer_feed(struct kgb_answer *answer, const char *bytes, size_t len)
{
	if (answer->is_stream)
		kgb_sse_feed(&answer->sse, bytes, len, on_event, answer);
	else
		(void)kgb_buf_add(&answer->body, bytes, len);
}

void kgb_answer_end(struct kgb_answer *answer, const char *failure)
{
	if (failure)
		complain(answer, failure);
	else if (answer->body.overflowed || answer->text.overflowed || answer->sse.n_dropped > 0)
		complain(answer, "the answer is too long");
	else if (!answer->is_stream)
		read_document(answer, answer->body.ptr, answer->body.len);
	if (answer->status != 200 && !answer->error[0])
		snprintf(answer->error, sizeof(answer->error), "HTTP status %d", answer->status);
	if (answer->finish == KGB_ANSWER_BROKEN)
		complain(answer, "the answer ends before the model's end");
	if (answer->error[0])
		answer->finish = KGB_ANSWER_BROKEN;
}
