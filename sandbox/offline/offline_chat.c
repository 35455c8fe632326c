/* SPDX-License-Identifier: MIT */
/* The offline model in OpenAI Chat Completions. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/offline/offline_wire.h"

/* ---- reading ---- */

static void read_message(struct kgb_offline_request *req, const cJSON *message)
{
	const char *role = kgb_json_str(message, "role", "");
	const cJSON *call;
	if (kgb_str_eq(role, "system") || kgb_str_eq(role, "developer"))
		kgb_offline__add_text(&req->own_words, kgb_json_get(message, "content"));
	cJSON_ArrayForEach(call, kgb_json_get(message, "tool_calls"))
		kgb_offline__saw_call(req, message, kgb_json_str(call, "id", ""));
	if (kgb_str_eq(role, "tool") &&
	    kgb_offline__is_own(req, kgb_json_str(message, "tool_call_id", ""))) {
		kgb_buf_clear(&req->report);
		kgb_offline__add_text(&req->report, kgb_json_get(message, "content"));
	}
}

static const char *read(struct kgb_offline_request *req)
{
	kgb_offline__read_common(req, "function.name", "function.parameters.properties");
	req->conversation = kgb_json_get(req->root, "messages");
	if (!cJSON_IsArray(req->conversation) || cJSON_GetArraySize(req->conversation) == 0)
		return "messages: at least one message is required";
	const cJSON *message;
	cJSON_ArrayForEach(message, req->conversation)
		read_message(req, message);
	return NULL;
}

/* ---- writing ---- */

static void write_usage(struct kgb_jsonw *w, const struct kgb_usage *usage)
{
	int64_t prompt = usage->input + usage->cache_read;
	kgb_jsonw_put(w, "usage: {prompt_tokens: %ld, completion_tokens: %ld", prompt,
		      usage->output);
	kgb_jsonw_put(w, "total_tokens: %ld, prompt_tokens_details: {cached_tokens: %ld}}",
		      prompt + usage->output, usage->cache_read);
}

static const char *finish_reason(const struct kgb_offline_said *said)
{
	return said->input.len > 0 ? "tool_calls" : said->is_cut ? "length" : "stop";
}

static void write_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said, const char *object)
{
	char id[sizeof(said->id) + 24];
	snprintf(id, sizeof(id), "chatcmpl-offline-%s", said->id);
	kgb_jsonw_put(w, "{id: %s, object: %s, created: %ld, model: %s", id, object,
		      kgb_wall_ms() / 1000, req->model);
}

static void write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out->body, 0);
	write_head(&w, req, said, "chat.completion");
	kgb_jsonw_put(&w, "choices: [{index: 0, message: {role: 'assistant', content: %s",
		      said->say.ptr);
	if (said->input.len > 0)
		kgb_jsonw_put(&w,
			      "tool_calls: [{id: %s, type: 'function', function:"
			      "{name: %s, arguments: %s}}]",
			      said->call_id, kgb_offline__tool(req, said), said->input.ptr);
	kgb_jsonw_put(&w, "}, finish_reason: %s}]", finish_reason(said));
	write_usage(&w, &said->usage);
	kgb_jsonw_object_end(&w);
}

struct stream {
	struct kgb_offline_reply *out;
	const struct kgb_offline_request *req;
	const struct kgb_offline_said *said;
};

/* One chunk with these members of its delta. */
KGB_PRINTF(3, 4)
static void chunk(const struct stream *stream, const char *finish, const char *delta, ...)
{
	KGB_AUTO(buf) struct kgb_buf data = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	va_list args;
	kgb_jsonw_init(&w, &data, 0);
	write_head(&w, stream->req, stream->said, "chat.completion.chunk");
	kgb_jsonw_put(&w, "choices: [{index: 0, delta: {");
	va_start(args, delta);
	kgb_jsonw_vput(&w, delta, args);
	va_end(args);
	kgb_jsonw_put(&w, "}, finish_reason: %s}]}", finish);
	kgb_offline__event(stream->out, NULL, data.ptr);
}

static void write_usage_chunk(const struct stream *stream)
{
	KGB_AUTO(buf) struct kgb_buf data = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &data, 0);
	write_head(&w, stream->req, stream->said, "chat.completion.chunk");
	kgb_jsonw_put(&w, "choices: []");
	write_usage(&w, &stream->said->usage);
	kgb_jsonw_object_end(&w);
	kgb_offline__event(stream->out, NULL, data.ptr);
}

static void write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			 const struct kgb_offline_said *said)
{
	const struct stream stream = {out, req, said};
	const struct kgb_buf *say = &said->say, *input = &said->input;
	int n;
	for (size_t at = 0; (n = kgb_offline__piece(say, at)) > 0; at += (size_t)n) {
		if (at == 0)
			chunk(&stream, NULL, "role: 'assistant', content: %.*s", n, say->ptr);
		else
			chunk(&stream, NULL, "content: %.*s", n, say->ptr + at);
	}
	if (input->len > 0)
		chunk(&stream, NULL,
		      "tool_calls: [{index: 0, id: %s, type: 'function', function:"
		      "{name: %s, arguments: ''}}]",
		      said->call_id, kgb_offline__tool(req, said));
	for (size_t at = 0; (n = kgb_offline__piece(input, at)) > 0; at += (size_t)n)
		chunk(&stream, NULL, "tool_calls: [{index: 0, function: {arguments: %.*s}}]", n,
		      input->ptr + at);
	chunk(&stream, finish_reason(said), " ");
	if (kgb_json_bool(req->root, "stream_options.include_usage", false))
		write_usage_chunk(&stream);
	kgb_offline__event(out, NULL, "[DONE]");
}

const struct kgb_offline_wire kgb_offline__chat = {read, write_json, write_stream};
