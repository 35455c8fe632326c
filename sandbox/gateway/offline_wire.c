/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/offline_wire.h"

#include <stdio.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/mem.h"

/* Bytes of text in one delta, so that clients see a stream. */
#define DELTA_BYTES 160

static bool shell_takes(const struct kgb_offline_request *req, const char *name)
{
	char path[64];
	snprintf(path, sizeof(path), "input_schema.properties.%s", name);
	return kgb_json_get(req->shell, path) != NULL;
}

/* The tool call's input. */
static void write_input(struct kgb_buf *out, const struct kgb_offline_request *req,
			const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w,
		       !shell_takes(req, "command") && shell_takes(req, "cmd") ? "cmd" : "command",
		       said->command.ptr);
	if (said->describe && shell_takes(req, "description"))
		kgb_jsonw_kstr(&w, "description", said->describe);
	kgb_jsonw_object_end(&w);
}

static void write_usage(struct kgb_jsonw *w, const struct kgb_usage *usage, int64_t output)
{
	kgb_jsonw_key(w, "usage");
	kgb_jsonw_object(w);
	kgb_jsonw_ki64(w, "input_tokens", usage->input);
	kgb_jsonw_ki64(w, "cache_creation_input_tokens", usage->cache_creation);
	kgb_jsonw_ki64(w, "cache_read_input_tokens", usage->cache_read);
	kgb_jsonw_ki64(w, "output_tokens", output);
	kgb_jsonw_object_end(w);
}

static const char *stop_reason(const struct kgb_offline_said *said)
{
	return said->command.len ? "tool_use" : "end_turn";
}

static void write_tool_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			    const struct kgb_offline_said *said)
{
	char id[sizeof(KGB_OFFLINE_TOOL_ID) + 8];
	snprintf(id, sizeof(id), KGB_OFFLINE_TOOL_ID "%02d", said->turn);
	kgb_jsonw_kstr(w, "type", "tool_use");
	kgb_jsonw_kstr(w, "id", id);
	kgb_jsonw_kstr(w, "name", kgb_json_str(req->shell, "name", ""));
	kgb_jsonw_key(w, "input");
}

/* Everything of a message but its content and what only the end of it knows. */
static void write_message_head(struct kgb_jsonw *w, const struct kgb_offline_request *req,
			       const struct kgb_offline_said *said)
{
	kgb_jsonw_kstr(w, "id", said->message_id);
	kgb_jsonw_kstr(w, "type", "message");
	kgb_jsonw_kstr(w, "role", "assistant");
	kgb_jsonw_kstr(w, "model", req->model);
}

void kgb_offline__write_json(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			     const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, &out->body, 0);
	kgb_jsonw_object(&w);
	write_message_head(&w, req, said);
	kgb_jsonw_key(&w, "content");
	kgb_jsonw_array(&w);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "type", "text");
	kgb_jsonw_kstr(&w, "text", said->say.ptr);
	kgb_jsonw_object_end(&w);
	if (said->command.len) {
		KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
		write_input(&input, req, said);
		kgb_jsonw_object(&w);
		write_tool_head(&w, req, said);
		kgb_jsonw_raw(&w, input.ptr);
		kgb_jsonw_object_end(&w);
	}
	kgb_jsonw_array_end(&w);
	kgb_jsonw_kstr(&w, "stop_reason", stop_reason(said));
	kgb_jsonw_knull(&w, "stop_sequence");
	write_usage(&w, &said->usage, said->usage.output);
	kgb_jsonw_object_end(&w);
}

/* One event of the stream, between event_start and event_end. */
static void event_start(struct kgb_offline_reply *out, struct kgb_jsonw *w, const char *type)
{
	kgb_buf_addf(&out->body, "event: %s\ndata: ", type);
	kgb_jsonw_init(w, &out->body, 0);
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "type", type);
}

static void event_end(struct kgb_offline_reply *out, struct kgb_jsonw *w)
{
	kgb_jsonw_object_end(w);
	kgb_buf_adds(&out->body, "\n\n");
	out->event_ends =
		kgb_xreallocarray(out->event_ends, out->n_events + 1, sizeof(*out->event_ends));
	out->event_ends[out->n_events++] = out->body.len;
}

/* Length of the next piece of text: no character is cut in two. */
static size_t delta_len(const char *text, size_t len)
{
	if (len <= DELTA_BYTES)
		return len;
	size_t n = DELTA_BYTES;
	while (n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void write_deltas(struct kgb_offline_reply *out, int index, const char *type,
			 const char *key, const char *text, size_t len)
{
	struct kgb_jsonw w;
	while (len > 0) {
		size_t n = delta_len(text, len);
		event_start(out, &w, "content_block_delta");
		kgb_jsonw_ki64(&w, "index", index);
		kgb_jsonw_key(&w, "delta");
		kgb_jsonw_object(&w);
		kgb_jsonw_kstr(&w, "type", type);
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
	kgb_jsonw_ki64(&w, "index", 0);
	kgb_jsonw_key(&w, "content_block");
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
	kgb_jsonw_ki64(&w, "index", 1);
	kgb_jsonw_key(&w, "content_block");
	kgb_jsonw_object(&w);
	write_tool_head(&w, req, said);
	kgb_jsonw_raw(&w, "{}");
	kgb_jsonw_object_end(&w);
	event_end(out, &w);
	KGB_AUTO(buf) struct kgb_buf input = KGB_BUF_INIT(0);
	write_input(&input, req, said);
	write_deltas(out, 1, "input_json_delta", "partial_json", input.ptr, input.len);
	write_block_stop(out, 1);
}

void kgb_offline__write_stream(struct kgb_offline_reply *out, const struct kgb_offline_request *req,
			       const struct kgb_offline_said *said)
{
	struct kgb_jsonw w;
	event_start(out, &w, "message_start");
	kgb_jsonw_key(&w, "message");
	kgb_jsonw_object(&w);
	write_message_head(&w, req, said);
	kgb_jsonw_key(&w, "content");
	kgb_jsonw_raw(&w, "[]");
	kgb_jsonw_knull(&w, "stop_reason");
	kgb_jsonw_knull(&w, "stop_sequence");
	write_usage(&w, &said->usage, 1);
	kgb_jsonw_object_end(&w);
	event_end(out, &w);
	event_start(out, &w, "ping");
	event_end(out, &w);
	write_text_block(out, said);
	if (said->command.len)
		write_tool_block(out, req, said);
	event_start(out, &w, "message_delta");
	kgb_jsonw_key(&w, "delta");
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "stop_reason", stop_reason(said));
	kgb_jsonw_knull(&w, "stop_sequence");
	kgb_jsonw_object_end(&w);
	kgb_jsonw_key(&w, "usage");
	kgb_jsonw_object(&w);
	kgb_jsonw_ki64(&w, "output_tokens", said->usage.output);
	kgb_jsonw_object_end(&w);
	event_end(out, &w);
	event_start(out, &w, "message_stop");
	event_end(out, &w);
}
