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

static void write_usage(struct kgb_jsonw *w, const struct kgb_usage *usage, int64_t output)
{
	kgb_jsonw_put(w, "usage: {input_tokens: %ld, cache_creation_input_tokens: %ld",
		      usage->input, usage->cache_creation);
	kgb_jsonw_put(w, "cache_read_input_tokens: %ld, output_tokens: %ld}", usage->cache_read,
		      output);
}

static const char *stop_reason(const struct kgb_offline_said *said)
{
	return kgb_offline__calls(said) ? "tool_use" : "end_turn";
}

static void write_tool_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			    const struct kgb_offline_said *said)
{
	char id[KGB_OFFLINE_CALL_ID_LEN];
	kgb_offline__call_id(said, id);
	kgb_jsonw_put(w, "type: 'tool_use', id: %s, name: %s, input:", id,
		      kgb_offline__tool(req, said));
}

/* Everything of a message but its content and what only the end of it knows. */
static void write_message_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			       const struct kgb_offline_said *said)
{
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "msg_offline_%s", said->id);
	kgb_jsonw_put(w, "id: %s, type: 'message', role: 'assistant', model: %s", id, req->model);
}

static void write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out->body, 0);
	kgb_jsonw_object(&w);
	write_message_head(&w, req, said);
	kgb_jsonw_put(&w, "content: [{type: 'text', text: %s}", said->say.ptr);
	if (kgb_offline__calls(said)) {
		KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
		kgb_offline__write_input(&input, req, said);
		kgb_jsonw_object(&w);
		write_tool_head(&w, req, said);
		kgb_jsonw_raw(&w, input.ptr);
		kgb_jsonw_object_end(&w);
	}
	kgb_jsonw_put(&w, "], stop_reason: %s, stop_sequence: null", stop_reason(said));
	write_usage(&w, &said->usage, said->usage.output);
	kgb_jsonw_object_end(&w);
}

/* One event of the stream, between event_start and event_end. */
static void event_start(struct kgb_offline_reply *out, struct kgb_jsonw *w, const char *type)
{
	kgb_buf_addf(&out->body, "event: %s\ndata: ", type);
	kgb_jsonw_init(w, &out->body, 0);
	kgb_jsonw_put(w, "{type: %s", type);
}

static void event_end(struct kgb_offline_reply *out, struct kgb_jsonw *w)
{
	kgb_jsonw_object_end(w);
	kgb_offline__end_event(out);
}

static void write_deltas(struct kgb_offline_reply *out, int index, const char *type,
			 const char *key, const char *text, size_t len)
{
	struct kgb_jsonw w;
	while (len > 0) {
		size_t n = kgb_offline__delta_len(text, len);
		event_start(out, &w, "content_block_delta");
		kgb_jsonw_put(&w, "index: %d, delta: {type: %s", index, type);
		kgb_jsonw_key(&w, key);
		kgb_jsonw_strn(&w, text, n);
		kgb_jsonw_object_end(&w);
		event_end(out, &w);
		text += n;
		len -= n;
	}
}

static void write_block_stop(struct kgb_offline_reply *out, int index)
{
	struct kgb_jsonw w;
	event_start(out, &w, "content_block_stop");
	kgb_jsonw_ki64(&w, "index", index);
	event_end(out, &w);
}

static void write_text_block(struct kgb_offline_reply *out, const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	event_start(out, &w, "content_block_start");
	kgb_jsonw_put(&w, "index: 0, content_block:");
	kgb_jsonw_raw(&w, "{\"type\":\"text\",\"text\":\"\"}");
	event_end(out, &w);
	write_deltas(out, 0, "text_delta", "text", said->say.ptr, said->say.len);
	write_block_stop(out, 0);
}

static void write_tool_block(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			     const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	event_start(out, &w, "content_block_start");
	kgb_jsonw_put(&w, "index: 1, content_block: {");
	write_tool_head(&w, req, said);
	kgb_jsonw_put(&w, "{}}");
	event_end(out, &w);
	KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
	kgb_offline__write_input(&input, req, said);
	write_deltas(out, 1, "input_json_delta", "partial_json", input.ptr, input.len);
	write_block_stop(out, 1);
}

static void write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			 const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	event_start(out, &w, "message_start");
	kgb_jsonw_put(&w, "message: {");
	write_message_head(&w, req, said);
	kgb_jsonw_put(&w, "content: [], stop_reason: null, stop_sequence: null");
	write_usage(&w, &said->usage, 1);
	kgb_jsonw_object_end(&w);
	event_end(out, &w);
	event_start(out, &w, "ping");
	event_end(out, &w);
	write_text_block(out, said);
	if (kgb_offline__calls(said))
		write_tool_block(out, req, said);
	event_start(out, &w, "message_delta");
	kgb_jsonw_put(&w, "delta: {stop_reason: %s, stop_sequence: null}, usage: {",
		      stop_reason(said));
	kgb_jsonw_put(&w, "output_tokens: %ld}", said->usage.output);
	event_end(out, &w);
	event_start(out, &w, "message_stop");
	event_end(out, &w);
}

const struct kgb_offline_wire kgb_offline__messages = {read, write_json, write_stream};
