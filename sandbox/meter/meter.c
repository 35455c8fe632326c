/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/meter.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/formats/json.h"
#include "base/limits.h"
#include "base/mem.h"

void kgb_meter_init(struct kgb_meter *meter, enum kgb_protocol protocol, const char *content_type)
{
	static const char sse[] = "text/event-stream";
	memset(meter, 0, sizeof(*meter));
	meter->protocol = protocol;
	meter->usage = (struct kgb_usage)KGB_USAGE_UNKNOWN;
	meter->streamed = content_type && strncasecmp(content_type, sse, sizeof(sse) - 1) == 0;
	meter->json = (struct kgb_buf)KGB_BUF_INIT(KGB_LIMIT_JSON);
	kgb_sse_init(&meter->sse, KGB_LIMIT_EVENT);
}

void kgb_meter_release(struct kgb_meter *meter)
{
	kgb_sse_release(&meter->sse);
	kgb_buf_release(&meter->json);
}

bool kgb_meter_take_change(struct kgb_meter *meter)
{
	bool changed = meter->changed;
	meter->changed = false;
	return changed;
}

/* A value replaces an earlier count only if it is a valid count. */
static void take_count(int64_t *count, const cJSON *usage, const char *key)
{
	int64_t value = kgb_json_i64(usage, key, -1);
	if (value >= 0)
		*count = value;
}

static void take_anthropic(struct kgb_usage *usage, const cJSON *from, bool with_output)
{
	const int64_t output = usage->output;
#define TAKE(count, long_name) take_count(&usage->count, from, long_name);
	KGB_USAGE_COUNTS(TAKE)
	if (!with_output)
		usage->output = output;
}

/* OpenAI's two forms differ in the names only: `prompt` and `completion`, or `input` and `output`.
 */
static void take_openai(struct kgb_usage *usage, const cJSON *from, const char *prompt,
			const char *completion)
{
	char key[64];
	int64_t all = -1, read = 0, written = 0;
	snprintf(key, sizeof(key), "%s_tokens", prompt);
	take_count(&all, from, key);
	snprintf(key, sizeof(key), "%s_tokens_details.cached_tokens", prompt);
	take_count(&read, from, key);
	snprintf(key, sizeof(key), "%s_tokens_details.cache_write_tokens", prompt);
	take_count(&written, from, key);
	snprintf(key, sizeof(key), "%s_tokens", completion);
	take_count(&usage->output, from, key);
	if (all < 0)
		return;
	/* Ignore a part that is larger than the whole. */
	read = read <= all ? read : all;
	written = written <= all - read ? written : all - read;
	usage->input = all - read - written;
	usage->cache_read = read;
	usage->cache_creation = written;
}

/* Prices hold for the usual service. Another service tier, a cache with a lifetime of an hour, or
 * tools that the provider ran have a price that the table lacks. */
static bool is_unusual(const cJSON *from, const char *key, const char *usual, const char * or)
{
	const char *value = kgb_json_str(from, key, usual);
	return strcmp(value, usual) != 0 && strcmp(value, or) != 0;
}

static void take_surcharges(struct kgb_meter *meter, const cJSON *usage)
{
	const cJSON *count;
	if (meter->protocol != KGB_PROTOCOL_ANTHROPIC)
		return;
	if (is_unusual(usage, "service_tier", "standard", meter->batched ? "batch" : "standard") ||
	    is_unusual(usage, "inference_geo", "global", "not_available") ||
	    is_unusual(usage, "speed", "standard", "standard") ||
	    kgb_json_i64(usage, "cache_creation.ephemeral_1h_input_tokens", 0) > 0)
		meter->surcharged = true;
	cJSON_ArrayForEach(count, kgb_json_get(usage, "server_tool_use"))
		if (cJSON_IsNumber(count) && count->valuedouble > 0)
			meter->surcharged = true;
}

static void take_usage(struct kgb_meter *meter, const cJSON *usage, bool with_output)
{
	if (!cJSON_IsObject(usage))
		return;
	struct kgb_usage before = meter->usage;
	take_surcharges(meter, usage);
	switch (meter->protocol) {
	case KGB_PROTOCOL_ANTHROPIC:
		take_anthropic(&meter->usage, usage, with_output);
		break;
	case KGB_PROTOCOL_CHAT:
		take_openai(&meter->usage, usage, "prompt", "completion");
		break;
	case KGB_PROTOCOL_RESPONSES:
		take_openai(&meter->usage, usage, "input", "output");
		break;
	case KGB_N_PROTOCOLS:
		KGB_UNREACHABLE();
	}
	meter->started = true;
	if (!kgb_usage_equal(&before, &meter->usage))
		meter->changed = true;
}

static void take_identity(struct kgb_meter *meter, const cJSON *message)
{
	snprintf(meter->message_id, sizeof(meter->message_id), "%s",
		 kgb_json_str(message, "id", ""));
	snprintf(meter->model, sizeof(meter->model), "%s", kgb_json_str(message, "model", ""));
	/* For OpenAI's protocols; Anthropic reports it with the usage. */
	if (is_unusual(message, "service_tier", "default", "auto"))
		meter->surcharged = true;
}

/* ---- events of a stream ---- */

static void on_anthropic(struct kgb_meter *meter, const cJSON *doc)
{
	const char *type = kgb_json_str(doc, "type", "");
	if (strcmp(type, "message_start") == 0) {
		const cJSON *message = kgb_json_get(doc, "message");
		take_identity(meter, message);
		take_usage(meter, kgb_json_get(message, "usage"), false);
	} else if (strcmp(type, "message_delta") == 0) {
		take_usage(meter, kgb_json_get(doc, "usage"), true);
	} else if (strcmp(type, "message_stop") == 0) {
		meter->stopped = true;
	} else if (strcmp(type, "error") == 0) {
		meter->errored = true;
	}
}

static void on_chat(struct kgb_meter *meter, const cJSON *doc)
{
	if (!*meter->message_id)
		take_identity(meter, doc);
	take_usage(meter, kgb_json_get(doc, "usage"), true);
	const cJSON *choice;
	cJSON_ArrayForEach(choice, kgb_json_get(doc, "choices"))
		if (*kgb_json_str(choice, "finish_reason", ""))
			meter->stopped = true;
	if (cJSON_IsObject(kgb_json_get(doc, "error")))
		meter->errored = true;
}

static void on_responses(struct kgb_meter *meter, const cJSON *doc)
{
	const char *type = kgb_json_str(doc, "type", "");
	const cJSON *response = kgb_json_get(doc, "response");
	bool failed = strcmp(type, "response.failed") == 0;
	if (strcmp(type, "response.created") == 0) {
		take_identity(meter, response);
	} else if (failed || strcmp(type, "response.completed") == 0 ||
		   strcmp(type, "response.incomplete") == 0) {
		take_identity(meter, response);
		take_usage(meter, kgb_json_get(response, "usage"), true);
		meter->stopped = true;
		meter->errored = failed;
	} else if (strcmp(type, "error") == 0) {
		meter->errored = true;
	}
}

/* Skip pieces of content, which are most of a stream and carry no counts. */
static bool is_content(const struct kgb_meter *meter, const char *event, const char *data,
		       size_t len)
{
	static const char *const anthropic[] = {"content_block_delta", "content_block_start",
						"content_block_stop", "ping"};
	switch (meter->protocol) {
	case KGB_PROTOCOL_ANTHROPIC:
		for (size_t i = 0; i < KGB_ARRAY_LEN(anthropic); i++)
			if (strcmp(event, anthropic[i]) == 0)
				return true;
		return false;
	case KGB_PROTOCOL_CHAT:
		return *meter->message_id && !memmem(data, len, "\"usage\"", 7) &&
		       !memmem(data, len, "\"finish_reason\"", 15) &&
		       !memmem(data, len, "\"error\"", 7);
	case KGB_PROTOCOL_RESPONSES:
		return strncmp(event, "response.", 9) == 0 &&
		       strcmp(event, "response.created") != 0 &&
		       strcmp(event, "response.completed") != 0 &&
		       strcmp(event, "response.incomplete") != 0 &&
		       strcmp(event, "response.failed") != 0;
	case KGB_N_PROTOCOLS:
		break;
	}
	KGB_UNREACHABLE();
}

static void on_event(void *payload, const char *event, const char *data, size_t len)
{
	static void (*const readers[KGB_N_PROTOCOLS])(struct kgb_meter *, const cJSON *) = {
		[KGB_PROTOCOL_ANTHROPIC] = on_anthropic,
		[KGB_PROTOCOL_CHAT] = on_chat,
		[KGB_PROTOCOL_RESPONSES] = on_responses,
	};
	struct kgb_meter *meter = payload;
	if (meter->protocol == KGB_PROTOCOL_CHAT && strcmp(data, "[DONE]") == 0) {
		meter->stopped = true;
		return;
	}
	/* Only its end shows whether a piece was cut off. */
	if (len > 0 && data[len - 1] == '}' && is_content(meter, event, data, len))
		return;
	KGB_AUTO(json) cJSON *doc = NULL;
	if (kgb_json_parse(data, len, &doc, NULL) < 0)
		meter->n_bad++;
	else
		readers[meter->protocol](meter, doc);
}

void kgb_meter_feed(struct kgb_meter *meter, const char *bytes, size_t len)
{
	if (meter->streamed)
		kgb_sse_feed(&meter->sse, bytes, len, on_event, meter);
	else
		(void)kgb_buf_add(&meter->json, bytes, len);
}

void kgb_meter_finish(struct kgb_meter *meter)
{
	if (meter->streamed) {
		meter->n_bad += meter->sse.n_dropped;
		return;
	}
	KGB_AUTO(json) cJSON *doc = NULL;
	if (meter->json.overflowed ||
	    kgb_json_parse(meter->json.ptr, meter->json.len, &doc, NULL) < 0) {
		meter->n_bad++;
		return;
	}
	take_identity(meter, doc);
	take_usage(meter, kgb_json_get(doc, "usage"), true);
	meter->stopped = true;
}
