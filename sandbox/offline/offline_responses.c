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
static void write_message(struct kgb_jsonw *w, const struct kgb_offline_said *said, bool whole)
{
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "msg_offline_%s", said->id);
	kgb_jsonw_put(w, "{id: %s, type: 'message', role: 'assistant', status: %s", id,
		      whole ? "completed" : "in_progress");
	kgb_jsonw_put(w, "content: [");
	if (whole) {
		kgb_jsonw_put(w, "{type: 'output_text', text: %s, annotations: []}", said->say.ptr);
	}
	kgb_jsonw_put(w, "]}");
}

static void write_call(struct kgb_jsonw *w, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said, const char *arguments, bool whole)
{
	char id[sizeof(said->id) + 16], call_id[KGB_OFFLINE_CALL_ID_LEN];
	snprintf(id, sizeof(id), "fc_offline_%s", said->id);
	kgb_offline__call_id(said, call_id);
	kgb_jsonw_put(w, "{id: %s, type: 'function_call', status: %s, call_id: %s", id,
		      whole ? "completed" : "in_progress", call_id);
	kgb_jsonw_put(w, "name: %s, arguments: %s}", kgb_offline__tool(req, said),
		      whole ? arguments : "");
}

/* The answer as an object; before the end without output and usage. */
static void write_response(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			   const struct kgb_offline_said *said, bool whole)
{
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "resp_offline_%s", said->id);
	kgb_jsonw_put(w, "{id: %s, object: 'response', created_at: %ld, status: %s", id,
		      kgb_wall_ms() / 1000, whole ? "completed" : "in_progress");
	kgb_jsonw_put(w, "model: %s, output: [", req->model);
	if (whole) {
		write_message(w, said, true);
		if (kgb_offline__calls(said)) {
			KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
			kgb_offline__write_input(&input, req, said);
			write_call(w, req, said, input.ptr, true);
		}
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

/* One event of the stream, between event_start and event_end. */
static void event_start(struct kgb_offline_reply *out, struct kgb_jsonw *w, const char *type)
{
	kgb_buf_addf(&out->body, "event: %s\ndata: ", type);
	kgb_jsonw_init(w, &out->body, 0);
	kgb_jsonw_put(w, "{type: %s, sequence_number: %ld", type, (int64_t)out->n_events);
}

static void event_end(struct kgb_offline_reply *out, struct kgb_jsonw *w)
{
	kgb_jsonw_object_end(w);
	kgb_offline__end_event(out);
}

/* Pieces of a text: `item` says what they are of. */
static void write_deltas(struct kgb_offline_reply *out, const char *type, int index,
			 const char *item, const char *text, size_t len)
{
	struct kgb_jsonw w;
	for (size_t n; len > 0; text += n, len -= n) {
		n = kgb_offline__delta_len(text, len);
		event_start(out, &w, type);
		kgb_jsonw_put(&w, "output_index: %d, item_id: %s", index, item);
		if (index == 0)
			kgb_jsonw_ki64(&w, "content_index", 0);
		kgb_jsonw_key(&w, "delta");
		kgb_jsonw_strn(&w, text, n);
		event_end(out, &w);
	}
}

static void write_text(struct kgb_offline_reply *out, const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "msg_offline_%s", said->id);
	event_start(out, &w, "response.output_item.added");
	kgb_jsonw_put(&w, "output_index: 0, item:");
	write_message(&w, said, false);
	event_end(out, &w);
	event_start(out, &w, "response.content_part.added");
	kgb_jsonw_put(&w, "item_id: %s, output_index: 0, content_index: 0, part:", id);
	kgb_jsonw_raw(&w, "{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}");
	event_end(out, &w);
	write_deltas(out, "response.output_text.delta", 0, id, said->say.ptr, said->say.len);
	event_start(out, &w, "response.output_text.done");
	kgb_jsonw_put(&w, "item_id: %s, output_index: 0, content_index: 0, text: %s", id,
		      said->say.ptr);
	event_end(out, &w);
	event_start(out, &w, "response.output_item.done");
	kgb_jsonw_put(&w, "output_index: 0, item:");
	write_message(&w, said, true);
	event_end(out, &w);
}

static void write_tool(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
		       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	char id[sizeof(said->id) + 16];
	snprintf(id, sizeof(id), "fc_offline_%s", said->id);
	KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
	kgb_offline__write_input(&input, req, said);
	event_start(out, &w, "response.output_item.added");
	kgb_jsonw_put(&w, "output_index: 1, item:");
	write_call(&w, req, said, input.ptr, false);
	event_end(out, &w);
	write_deltas(out, "response.function_call_arguments.delta", 1, id, input.ptr, input.len);
	event_start(out, &w, "response.function_call_arguments.done");
	kgb_jsonw_put(&w, "item_id: %s, output_index: 1, arguments: %s", id, input.ptr);
	event_end(out, &w);
	event_start(out, &w, "response.output_item.done");
	kgb_jsonw_put(&w, "output_index: 1, item:");
	write_call(&w, req, said, input.ptr, true);
	event_end(out, &w);
}

static void write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			 const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	event_start(out, &w, "response.created");
	kgb_jsonw_key(&w, "response");
	write_response(&w, req, said, false);
	event_end(out, &w);
	write_text(out, said);
	if (kgb_offline__calls(said))
		write_tool(out, req, said);
	event_start(out, &w, "response.completed");
	kgb_jsonw_key(&w, "response");
	write_response(&w, req, said, true);
	event_end(out, &w);
}

const struct kgb_offline_wire kgb_offline__responses = {read, write_json, write_stream};
