/* SPDX-License-Identifier: MIT */
#include "sandbox/client/answer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/client/thinking.h"

/* An answer in one piece with its text escaped, or one event. */
#define BODY_BYTES (3 * KGB_ANSWER_BYTES)

const char *kgb_answer_finish_name(enum kgb_answer_finish finish)
{
	static const char *const names[] = {"broken", "stopped", "truncated", "refused"};
	return names[finish];
}

void kgb_answer_init(struct kgb_answer *answer, enum kgb_protocol protocol, int n_choices)
{
	KGB_ASSERT(n_choices >= 1 && n_choices <= KGB_ANSWER_CHOICES);
	const size_t most = (size_t)n_choices * BODY_BYTES;
	*answer = (struct kgb_answer){
		.protocol = protocol,
		.choices = kgb_xcalloc((size_t)n_choices, sizeof(*answer->choices)),
		.n_choices = n_choices,
		.body = KGB_BUF_INIT(most < KGB_LIMIT_JSON ? most : KGB_LIMIT_JSON)};
	for (int i = 0; i < n_choices; i++)
		answer->choices[i] =
			(struct kgb_choice){.text = KGB_BUF_INIT(KGB_ANSWER_BYTES),
					    .thinking = KGB_BUF_INIT(KGB_ANSWER_BYTES)};
	kgb_sse_init(&answer->sse, BODY_BYTES);
	kgb_meter_init(&answer->meter, protocol, NULL);
}

void kgb_answer_release(struct kgb_answer *answer)
{
	for (int i = 0; i < answer->n_choices; i++) {
		kgb_buf_release(&answer->choices[i].text);
		kgb_buf_release(&answer->choices[i].thinking);
	}
	kgb_free(answer->choices);
	kgb_buf_release(&answer->body);
	kgb_sse_release(&answer->sse);
	kgb_meter_release(&answer->meter);
}

/** Keep the first line of the first error. */
static void complain(struct kgb_answer *answer, const char *error)
{
	if (answer->error[0])
		return;
	error += strspn(error, " \t\r\n");
	const size_t len = strcspn(error, "\r\n");
	const size_t room = sizeof(answer->error) - 1;
	if (len == 0)
		snprintf(answer->error, sizeof(answer->error), "an error without a message");
	else
		snprintf(answer->error, sizeof(answer->error), "%.*s",
			 (int)(len > room ? kgb_utf8_valid(error, room) : len), error);
}

/** Read the answer's stop reason. An unknown word means that the model stopped by itself: servers
 * of open models use other words. */
static void set_finish(struct kgb_choice *choice, const char *word)
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
	choice->finish = KGB_ANSWER_STOPPED;
	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		if (kgb_str_eq(word, words[i].word))
			choice->finish = words[i].finish;
}

/** Append as much as there is room for, and nothing after text that was cut. */
static void add(struct kgb_buf *buf, const char *text)
{
	if (text && !buf->overflowed && kgb_buf_adds(buf, text) < 0) {
		const size_t room = KGB_ANSWER_BYTES - buf->len;
		(void)kgb_buf_add(buf, text, kgb_utf8_valid(text, room));
	}
}

/** Append the texts of parts that are of a type; NULL: of any. */
static void add_parts(struct kgb_buf *buf, const cJSON *parts, const char *type)
{
	const cJSON *part = NULL;
	cJSON_ArrayForEach(part, parts)
		if (!type || kgb_str_eq(kgb_json_str(part, "type", ""), type))
			add(buf, kgb_json_str(part, "text", NULL));
}

/* ---- Anthropic Messages ---- */

static void read_messages(struct kgb_answer *answer, const cJSON *node)
{
	struct kgb_choice *choice = answer->choices;
	const cJSON *block = NULL;
	cJSON_ArrayForEach(block, kgb_json_get(node, "content")) {
		add(&choice->text, kgb_json_str(block, "text", NULL));
		add(&choice->thinking, kgb_json_str(block, "thinking", NULL));
	}
	static const char *const pieces[] = {"content_block", "delta"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(pieces); i++) {
		const cJSON *piece = kgb_json_get(node, pieces[i]);
		add(&choice->text, kgb_json_str(piece, "text", NULL));
		add(&choice->thinking, kgb_json_str(piece, "thinking", NULL));
	}
	set_finish(choice, kgb_json_str(node, "delta.stop_reason", NULL));
	set_finish(choice, kgb_json_str(node, "stop_reason", NULL));
}

/* ---- OpenAI Chat Completions ---- */

/** Reasoning has several names: "reasoning_content" of DeepSeek, SGLang and llama.cpp, "reasoning"
 * of vLLM, Ollama and OpenRouter, whose "reasoning_details" are parts. A server that supports
 * several sends the same text under each. */
static void add_reasoning(struct kgb_choice *choice, const cJSON *part)
{
	static const char *const names[] = {"reasoning_content", "reasoning"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++) {
		const char *thought = kgb_json_str(part, names[i], "");
		if (*thought) {
			add(&choice->thinking, thought);
			return;
		}
	}
	const cJSON *detail = NULL;
	cJSON_ArrayForEach(detail, kgb_json_get(part, "reasoning_details")) {
		add(&choice->thinking, kgb_json_str(detail, "text", NULL));
		add(&choice->thinking, kgb_json_str(detail, "summary", NULL));
	}
}

/** A message, or a stream's delta to it. */
static void read_chat_part(struct kgb_choice *choice, const cJSON *part)
{
	add_reasoning(choice, part);
	add(&choice->text, kgb_json_str(part, "content", NULL));
	/* Mistral's models that reason answer in parts. */
	const cJSON *piece = NULL, *parts = kgb_json_get(part, "content");
	add_parts(&choice->text, parts, "text");
	cJSON_ArrayForEach(piece, parts)
		add_parts(&choice->thinking, kgb_json_get(piece, "thinking"), NULL);
}

static void read_choice(struct kgb_answer *answer, struct kgb_choice *choice, const cJSON *node)
{
	static const char *const members[] = {"delta", "message"};
	const enum kgb_answer_finish before = choice->finish;
	const size_t len = choice->text.len;
	bool refused = before == KGB_ANSWER_REFUSED;
	for (size_t i = 0; i < KGB_ARRAY_LEN(members); i++) {
		const cJSON *part = kgb_json_get(node, members[i]);
		read_chat_part(choice, part);
		refused = refused || *kgb_json_str(part, "refusal", "");
	}
	set_finish(choice, kgb_json_str(node, "finish_reason", NULL));
	if (refused)
		choice->finish = KGB_ANSWER_REFUSED;
	if (answer->n_choices > 1 && before != KGB_ANSWER_BROKEN && choice->text.len > len) {
		answer->is_misnumbered = true;
		choice->is_mixed = true;
	}
}

/** Whether each of the choices has an index that no other has. */
static bool are_numbered(const cJSON *choices)
{
	bool seen[KGB_ANSWER_CHOICES] = {false};
	const cJSON *node = NULL;
	cJSON_ArrayForEach(node, choices) {
		const int64_t index = kgb_json_i64(node, "index", -1);
		if (index < 0 || (index < KGB_ANSWER_CHOICES && seen[index]))
			return false;
		if (index < KGB_ANSWER_CHOICES)
			seen[index] = true;
	}
	return true;
}

static void read_chat(struct kgb_answer *answer, const cJSON *node)
{
	const cJSON *choice = NULL, *choices = kgb_json_get(node, "choices");
	const bool numbered = are_numbered(choices);
	int64_t position = 0;
	answer->is_misnumbered = answer->is_misnumbered || !numbered;
	cJSON_ArrayForEach(choice, choices) {
		const int64_t index = numbered ? kgb_json_i64(choice, "index", -1) : position++;
		if (index < answer->n_choices)
			read_choice(answer, &answer->choices[index], choice);
	}
}

/* ---- OpenAI Responses ---- */

/** A response as it is at its end. */
static void read_response(struct kgb_answer *answer, const cJSON *response)
{
	struct kgb_choice *choice = answer->choices;
	const cJSON *item = NULL, *part = NULL;
	bool refused = false;
	cJSON_ArrayForEach(item, kgb_json_get(response, "output")) {
		const cJSON *content = kgb_json_get(item, "content");
		add_parts(&choice->text, content, "output_text");
		add_parts(&choice->thinking, content, "reasoning_text"); /* of open models */
		add_parts(&choice->thinking, kgb_json_get(item, "summary"), NULL);
		cJSON_ArrayForEach(part, content)
			refused = refused || *kgb_json_str(part, "refusal", "");
	}
	const char *status = kgb_json_str(response, "status", NULL);
	/* llama.cpp's server and that of transformers complete every response. */
	const bool is_cut = answer->max_tokens > 0 &&
			    kgb_json_i64(response, "usage.output_tokens", 0) >= answer->max_tokens;
	if (kgb_str_eq(status, "completed"))
		set_finish(choice, refused ? "refusal" : is_cut ? "max_output_tokens" : "stop");
	else if (kgb_str_eq(status, "incomplete"))
		set_finish(choice, kgb_json_str(response, "incomplete_details.reason",
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

/** Record the error of a document that is one. Servers put its message in different places. */
static bool is_error(struct kgb_answer *answer, const cJSON *node)
{
	static const char *const paths[] = {"error.message", "error", "message"};
	const cJSON *error = kgb_json_get(node, "error"), *detail = kgb_json_get(node, "detail");
	const bool has_error = cJSON_IsObject(error) || *kgb_json_str(node, "error", "");
	if (!has_error && answer->status < 400 &&
	    !kgb_str_eq(kgb_json_str(node, "object", ""), "error") &&
	    !kgb_str_eq(kgb_json_str(node, "type", ""), "error"))
		return false;
	for (size_t i = 0; i < KGB_ARRAY_LEN(paths); i++)
		if (*kgb_json_str(node, paths[i], ""))
			complain(answer, kgb_json_str(node, paths[i], ""));
	if (detail && !answer->error[0]) { /* of FastAPI: a text, or a list of fields */
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		struct kgb_jsonw w;
		kgb_jsonw_init(&w, &text, 0);
		kgb_jsonw_tree(&w, detail);
		complain(answer, text.ptr);
	}
	if (has_error)
		complain(answer, "");
	return true;
}

static void read_document(struct kgb_answer *answer, const char *text, size_t len)
{
	static void (*const readers[KGB_N_PROTOCOLS])(struct kgb_answer *, const cJSON *) = {
		read_messages, read_chat, read_responses};
	KGB_AUTO(json) cJSON *node = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(text, len, &node, &err) < 0) {
		KGB_AUTO(free)
		char *message = kgb_xasprintf("the answer of HTTP status %d is not JSON: %s",
					      answer->status, err.msg);
		complain(answer, message);
		return;
	}
	if (!is_error(answer, node))
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
	static const char sse[] = "text/event-stream";
	answer->is_stream = content_type && strncasecmp(content_type, sse, strlen(sse)) == 0;
	kgb_meter_release(&answer->meter);
	kgb_meter_init(&answer->meter, answer->protocol, content_type);
}

void kgb_answer_feed(struct kgb_answer *answer, const char *bytes, size_t len)
{
	kgb_meter_feed(&answer->meter, bytes, len);
	if (answer->is_stream)
		kgb_sse_feed(&answer->sse, bytes, len, on_event, answer);
	else
		(void)kgb_buf_add(&answer->body, bytes, len);
}

/** The end of a choice, if no error concerns the whole answer. */
static void end_choice(struct kgb_answer *answer, struct kgb_choice *choice, bool has_failed)
{
	const bool is_cut =
		choice->text.overflowed || answer->body.overflowed || answer->sse.n_dropped > 0;
	if (choice->is_mixed) {
		choice->finish = KGB_ANSWER_BROKEN;
		complain(answer, "a choice goes on after its end");
	} else if (choice->finish == KGB_ANSWER_BROKEN && (has_failed || !is_cut)) {
		complain(answer, "the answer ends before the model's end");
	} else if (is_cut) {
		/* Do not retry: the answer is paid for, and the next one would be as long. */
		choice->finish = KGB_ANSWER_TRUNCATED;
	}
	if (choice->finish != KGB_ANSWER_BROKEN)
		kgb_thinking_split(&choice->text, &choice->thinking);
}

void kgb_answer_end(struct kgb_answer *answer, const char *failure)
{
	bool is_whole = true;
	kgb_meter_finish(&answer->meter);
	if (!failure && !answer->is_stream && !answer->body.overflowed)
		read_document(answer, answer->body.ptr, answer->body.len);
	for (int i = 0; i < answer->n_choices; i++)
		is_whole = is_whole && answer->choices[i].finish != KGB_ANSWER_BROKEN;
	if (answer->status != 200 && !failure && !answer->error[0])
		snprintf(answer->error, sizeof(answer->error), "HTTP status %d", answer->status);
	const bool is_void = answer->error[0] || answer->status != 200;
	if (failure && !is_whole)
		complain(answer, failure);
	for (int i = 0; i < answer->n_choices; i++) {
		if (is_void)
			answer->choices[i].finish = KGB_ANSWER_BROKEN;
		else
			end_choice(answer, &answer->choices[i], failure != NULL);
	}
}
