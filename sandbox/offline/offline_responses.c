/* SPDX-License-Identifier: MIT */
/* The offline model in OpenAI Responses. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/offline/offline_wire.h"

/* ---- reading ---- */

static void read_item(struct kgb_offline_request *req, const cJSON *item)
{
	const char *type = kgb_json_str(item, "type", "message");
	const char *role = kgb_json_str(item, "role", "");
	if (kgb_str_eq(type, "function_call")) {
		kgb_offline__saw_call(req, item, kgb_json_str(item, "call_id", ""));
	} else if (kgb_str_eq(type, "function_call_output")) {
		if (!kgb_offline__is_own(req, kgb_json_str(item, "call_id", "")))
			return;
		kgb_buf_clear(&req->report);
		kgb_offline__add_text(&req->report, kgb_json_get(item, "output"));
	} else if (kgb_str_eq(role, "system") || kgb_str_eq(role, "developer")) {
		kgb_offline__add_text(&req->own_words, kgb_json_get(item, "content"));
	}
}

static const char *read(struct kgb_offline_request *req)
{
	kgb_offline__read_common(req, "name", "parameters.properties");
	const cJSON *input = kgb_json_get(req->root, "input");
	kgb_offline__add_text(&req->own_words, kgb_json_get(req->root, "instructions"));
	if (cJSON_IsString(input))
		return NULL;
	if (!cJSON_IsArray(input) || cJSON_GetArraySize(input) == 0)
		return "input: a text or at least one item is required";
	req->conversation = input;
	const cJSON *item;
	cJSON_ArrayForEach(item, input)
		read_item(req, item);
	return NULL;
}

/* ---- writing ---- */

static void write_usage(struct kgb_jsonw *w, const struct kgb_usage *usage)
{
	int64_t input = usage->input + usage->cache_read;
	kgb_jsonw_put(w, "usage: {input_tokens: %ld, input_tokens_details: {", input);
	kgb_jsonw_put(w, "cached_tokens: %ld}, output_tokens: %ld, output_tokens_details:",
		      usage->cache_read, usage->output);
	kgb_jsonw_put(w, "{reasoning_tokens: 0}, total_tokens: %ld}", input + usage->output);
}

/* The message item; a stream shows it first without content. */
static void write_message(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			  const struct kgb_offline_said *said, bool whole)
{
	(void)req;
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "msg_offline_%s", said->id);
	kgb_jsonw_put(w, "{id: %s, type: 'message', role: 'assistant', status: %s", id,
		      whole ? "completed" : "in_progress");
	kgb_jsonw_put(w, "content: [");
	if (whole)
		kgb_jsonw_put(w, "{type: 'output_text', text: %s, annotations: []}", said->say.ptr);
	kgb_jsonw_put(w, "]}");
}

static void write_call(struct kgb_jsonw *w, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said, bool whole)
{
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "fc_offline_%s", said->id);
	kgb_jsonw_put(w, "{id: %s, type: 'function_call', status: %s, call_id: %s", id,
		      whole ? "completed" : "in_progress", said->call_id);
	kgb_jsonw_put(w, "name: %s, arguments: %s}", kgb_offline__tool(req, said),
		      whole ? said->input.ptr : "");
}

static const char *end_of(const struct kgb_offline_said *said)
{
	return said->is_cut ? "incomplete" : "completed";
}

/* The answer as an object; before the end without output and usage. */
static void write_response(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			   const struct kgb_offline_said *said, bool whole)
{
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "resp_offline_%s", said->id);
	kgb_jsonw_put(w, "{id: %s, object: 'response', created_at: %ld, status: %s", id,
		      kgb_wall_ms() / 1000, whole ? end_of(said) : "in_progress");
	if (whole && said->is_cut)
		kgb_jsonw_put(w, "incomplete_details: {reason: 'max_output_tokens'}");
	kgb_jsonw_put(w, "model: %s, output: [", req->model);
	if (whole) {
		write_message(w, req, said, true);
		if (said->input.len > 0)
			write_call(w, req, said, true);
	}
	kgb_jsonw_array_end(w);
	if (whole)
		write_usage(w, &said->usage);
	kgb_jsonw_object_end(w);
}

static void write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out->body, 0);
	write_response(&w, req, said, true);
}

struct stream {
	struct kgb_offline_reply *out;
	const struct kgb_offline_request *req;
	const struct kgb_offline_said *said;
};

typedef void write_fn(struct kgb_jsonw *w, const struct kgb_offline_request *req,
		      const struct kgb_offline_said *said, bool whole);

/* One event: its type, its number and these members; `write` writes the value of the last. */
KGB_PRINTF(5, 6)
static void event(const struct stream *stream, const char *type, write_fn *write, bool whole,
		  const char *members, ...)
{
	KGB_AUTO(buf) struct kgb_buf data = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	va_list args;
	kgb_jsonw_init(&w, &data, 0);
	kgb_jsonw_put(&w, "{type: %s, sequence_number: %zu", type, stream->out->event_ends.n);
	va_start(args, members);
	kgb_jsonw_vput(&w, members, args);
	va_end(args);
	if (write)
		write(&w, stream->req, stream->said, whole);
	kgb_jsonw_object_end(&w);
	kgb_offline__event(stream->out, type, data.ptr);
}

static void write_text(const struct stream *stream)
{
	const struct kgb_buf *say = &stream->said->say;
	char id[sizeof(stream->said->id) + 16];
	int n;
	snprintf(id, sizeof(id), "msg_offline_%s", stream->said->id);
	event(stream, "response.output_item.added", write_message, false, "output_index: 0, item:");
	event(stream, "response.content_part.added", NULL, false,
	      "item_id: %s, output_index: 0, content_index: 0, part:"
	      "{type: 'output_text', text: '', annotations: []}",
	      id);
	for (size_t at = 0; (n = kgb_offline__piece(say, at)) > 0; at += (size_t)n)
		event(stream, "response.output_text.delta", NULL, false,
		      "output_index: 0, item_id: %s, content_index: 0, delta: %.*s", id, n,
		      say->ptr + at);
	event(stream, "response.output_text.done", NULL, false,
	      "item_id: %s, output_index: 0, content_index: 0, text: %s", id, say->ptr);
	event(stream, "response.output_item.done", write_message, true, "output_index: 0, item:");
}

static void write_tool(const struct stream *stream)
{
	const struct kgb_buf *input = &stream->said->input;
	char id[sizeof(stream->said->id) + 16];
	int n;
	snprintf(id, sizeof(id), "fc_offline_%s", stream->said->id);
	event(stream, "response.output_item.added", write_call, false, "output_index: 1, item:");
	for (size_t at = 0; (n = kgb_offline__piece(input, at)) > 0; at += (size_t)n)
		event(stream, "response.function_call_arguments.delta", NULL, false,
		      "output_index: 1, item_id: %s, delta: %.*s", id, n, input->ptr + at);
	event(stream, "response.function_call_arguments.done", NULL, false,
	      "item_id: %s, output_index: 1, arguments: %s", id, input->ptr);
	event(stream, "response.output_item.done", write_call, true, "output_index: 1, item:");
}

static void write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			 const struct kgb_offline_said *said)
{
	const struct stream stream = {out, req, said};
	event(&stream, "response.created", write_response, false, "response:");
	write_text(&stream);
	if (said->input.len > 0)
		write_tool(&stream);
	event(&stream, said->is_cut ? "response.incomplete" : "response.completed", write_response,
	      true, "response:");
}

const struct kgb_offline_wire kgb_offline__responses = {read, write_json, write_stream};
