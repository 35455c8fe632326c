/* SPDX-License-Identifier: MIT */
/* The offline model in Anthropic Messages. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/offline/offline_wire.h"

static void read_blocks(struct kgb_offline_request *req, const cJSON *message)
{
	const cJSON *block;
	cJSON_ArrayForEach(block, kgb_json_get(message, "content")) {
		const char *type = kgb_json_str(block, "type", "");
		if (strcmp(type, "tool_use") == 0) {
			kgb_offline__saw_call(req, message, kgb_json_str(block, "id", ""));
		} else if (strcmp(type, "tool_result") == 0 &&
			   kgb_offline__is_own(req, kgb_json_str(block, "tool_use_id", ""))) {
			kgb_buf_clear(&req->report);
			kgb_offline__add_text(&req->report, kgb_json_get(block, "content"));
		}
	}
}

static const char *read(struct kgb_offline_request *req)
{
	kgb_offline__read_common(req, "name", "input_schema.properties");
	req->conversation = kgb_json_get(req->root, "messages");
	if (!cJSON_IsArray(req->conversation) || cJSON_GetArraySize(req->conversation) == 0)
		return "messages: at least one message is required";
	kgb_offline__add_text(&req->own_words, kgb_json_get(req->root, "system"));
	const cJSON *message;
	cJSON_ArrayForEach(message, req->conversation)
		read_blocks(req, message);
	return NULL;
}

/* The members of a message without its content and its end. */
static void write_message_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			       const struct kgb_offline_said *said)
{
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "msg_offline_%s", said->id);
	kgb_jsonw_put(w, "{id: %s, type: 'message', role: 'assistant', model: %s", id, req->model);
}

/* The end of a message. */
static void write_message_end(struct kgb_jsonw *w, const char *stop_reason,
			      const struct kgb_usage *usage, int64_t output)
{
	kgb_jsonw_put(w, "stop_reason: %s, stop_sequence: null, usage: {input_tokens: %ld",
		      stop_reason, usage->input);
	kgb_jsonw_put(w, "cache_creation_input_tokens: %ld, cache_read_input_tokens: %ld",
		      usage->cache_creation, usage->cache_read);
	kgb_jsonw_put(w, "output_tokens: %ld}}", output);
}

static const char *stop_reason(const struct kgb_offline_said *said)
{
	return said->input.len > 0 ? "tool_use" : said->is_cut ? "max_tokens" : "end_turn";
}

static void write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out->body, 0);
	write_message_head(&w, req, said);
	kgb_jsonw_put(&w, "content: [{type: 'text', text: %s}", said->say.ptr);
	if (said->input.len > 0) {
		kgb_jsonw_put(&w, "{type: 'tool_use', id: %s, name: %s, input:", said->call_id,
			      kgb_offline__tool(req, said));
		kgb_jsonw_raw(&w, said->input.ptr);
		kgb_jsonw_object_end(&w);
	}
	kgb_jsonw_array_end(&w);
	write_message_end(&w, stop_reason(said), &said->usage, said->usage.output);
}

/* One event with these members besides its type. */
KGB_PRINTF(3, 4)
static void event(struct kgb_offline_reply *out, const char *type, const char *members, ...)
{
	KGB_AUTO(buf) struct kgb_buf data = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	va_list args;
	kgb_jsonw_init(&w, &data, 0);
	kgb_jsonw_put(&w, "{type: %s", type);
	va_start(args, members);
	kgb_jsonw_vput(&w, members, args);
	va_end(args);
	kgb_jsonw_object_end(&w);
	kgb_offline__event(out, type, data.ptr);
}

static void write_message_start(struct kgb_offline_reply *out,
				const struct kgb_offline_request *req,
				const struct kgb_offline_said *said)
{
	KGB_AUTO(buf) struct kgb_buf data = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &data, 0);
	kgb_jsonw_put(&w, "{type: 'message_start', message:");
	write_message_head(&w, req, said);
	kgb_jsonw_put(&w, "content: []");
	write_message_end(&w, NULL, &said->usage, 1);
	kgb_jsonw_object_end(&w);
	kgb_offline__event(out, "message_start", data.ptr);
}

static void write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			 const struct kgb_offline_said *said)
{
	const struct kgb_buf *say = &said->say, *input = &said->input;
	int n;
	write_message_start(out, req, said);
	event(out, "ping", " ");
	event(out, "content_block_start", "index: 0, content_block: {type: 'text', text: ''}");
	for (size_t at = 0; (n = kgb_offline__piece(say, at)) > 0; at += (size_t)n)
		event(out, "content_block_delta",
		      "index: 0, delta: {type: 'text_delta', text: %.*s}", n, say->ptr + at);
	event(out, "content_block_stop", "index: 0");
	if (input->len > 0)
		event(out, "content_block_start",
		      "index: 1, content_block: {type: 'tool_use', id: %s, name: %s, input: {}}",
		      said->call_id, kgb_offline__tool(req, said));
	for (size_t at = 0; (n = kgb_offline__piece(input, at)) > 0; at += (size_t)n)
		event(out, "content_block_delta",
		      "index: 1, delta: {type: 'input_json_delta', partial_json: %.*s}", n,
		      input->ptr + at);
	if (input->len > 0)
		event(out, "content_block_stop", "index: 1");
	event(out, "message_delta",
	      "delta: {stop_reason: %s, stop_sequence: null}, usage: {output_tokens: %ld}",
	      stop_reason(said), said->usage.output);
	event(out, "message_stop", " ");
}

const struct kgb_offline_wire kgb_offline__messages = {read, write_json, write_stream};
