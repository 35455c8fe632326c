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
	return kgb_offline__calls(said) ? "tool_calls" : "stop";
}

static void write_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said, const char *object)
{
	char id[sizeof(said->id) + 24];
	snprintf(id, sizeof(id), "chatcmpl-offline-%s", said->id);
	kgb_jsonw_put(w, "id: %s, object: %s, created: %ld, model: %s", id, object,
		      kgb_wall_ms() / 1000, req->model);
}

/* The list of one tool call; `index` is for streams. */
static void write_call(struct kgb_jsonw *w, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said, bool index, const char *arguments)
{
	char id[KGB_OFFLINE_CALL_ID_LEN];
	kgb_offline__call_id(said, id);
	kgb_jsonw_put(w, "tool_calls: [{");
	if (index)
		kgb_jsonw_ki64(w, "index", 0);
	kgb_jsonw_put(w, "id: %s, type: 'function', function: {name: %s, arguments: %s}}]", id,
		      kgb_offline__tool(req, said), arguments);
}

static void write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out->body, 0);
	kgb_jsonw_object(&w);
	write_head(&w, req, said, "chat.completion");
	kgb_jsonw_put(&w, "choices: [{index: 0, message: {role: 'assistant', content: %s",
		      said->say.ptr);
	if (kgb_offline__calls(said)) {
		KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
		kgb_offline__write_input(&input, req, said);
		write_call(&w, req, said, false, input.ptr);
	}
	kgb_jsonw_put(&w, "}, finish_reason: %s}]", finish_reason(said));
	write_usage(&w, &said->usage);
	kgb_jsonw_object_end(&w);
}

/* A chunk up to its delta's members, between chunk_start and chunk_end. */
static void chunk_start(struct kgb_offline_reply *out, struct kgb_jsonw *w,
			const struct kgb_offline_request *req, const struct kgb_offline_said *said)
{
	kgb_buf_adds(&out->body, "data: ");
	kgb_jsonw_init(w, &out->body, 0);
	kgb_jsonw_object(w);
	write_head(w, req, said, "chat.completion.chunk");
	kgb_jsonw_put(w, "choices: [{index: 0, delta: {");
}

static void chunk_end(struct kgb_offline_reply *out, struct kgb_jsonw *w, const char *finish)
{
	kgb_jsonw_put(w, "}, finish_reason: %s}]}", finish);
	kgb_offline__end_event(out);
}

static void write_text(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	const char *text = said->say.ptr;
	for (size_t len = said->say.len, n; len > 0; text += n, len -= n) {
		n = kgb_offline__delta_len(text, len);
		chunk_start(out, &w, req, said);
		if (text == said->say.ptr)
			kgb_jsonw_kstr(&w, "role", "assistant");
		kgb_jsonw_key(&w, "content");
		kgb_jsonw_strn(&w, text, n);
		chunk_end(out, &w, NULL);
	}
}

static void write_tool(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
	kgb_offline__write_input(&input, req, said);
	chunk_start(out, &w, req, said);
	write_call(&w, req, said, true, "");
	chunk_end(out, &w, NULL);
	const char *text = input.ptr;
	for (size_t len = input.len, n; len > 0; text += n, len -= n) {
		n = kgb_offline__delta_len(text, len);
		chunk_start(out, &w, req, said);
		kgb_jsonw_put(&w, "tool_calls: [{index: 0, function: {arguments:");
		kgb_jsonw_strn(&w, text, n);
		kgb_jsonw_put(&w, "}}]");
		chunk_end(out, &w, NULL);
	}
}

static void write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			 const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	write_text(out, req, said);
	if (kgb_offline__calls(said))
		write_tool(out, req, said);
	chunk_start(out, &w, req, said);
	chunk_end(out, &w, finish_reason(said));
	if (kgb_json_bool(req->root, "stream_options.include_usage", false)) {
		kgb_buf_adds(&out->body, "data: ");
		kgb_jsonw_init(&w, &out->body, 0);
		kgb_jsonw_object(&w);
		write_head(&w, req, said, "chat.completion.chunk");
		kgb_jsonw_put(&w, "choices: []");
		write_usage(&w, &said->usage);
		kgb_jsonw_object_end(&w);
		kgb_offline__end_event(out);
	}
	kgb_buf_adds(&out->body, "data: [DONE]");
	kgb_offline__end_event(out);
}

const struct kgb_offline_wire kgb_offline__chat = {read, write_json, write_stream};
