/* SPDX-License-Identifier: MIT */
#include "sandbox/gateway/meter.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"

void kgb_meter_init(struct kgb_meter *meter, const char *content_type)
{
	static const char sse[] = "text/event-stream";
	memset(meter, 0, sizeof(*meter));
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

/* A count replaces the one before only if it is there and is a count. */
static void take_count(int64_t *count, const cJSON *usage, const char *key)
{
	int64_t value = kgb_json_i64(usage, key, -1);
	if (value >= 0)
		*count = value;
}

static void take_usage(struct kgb_meter *meter, const cJSON *usage, bool with_output)
{
	if (!cJSON_IsObject(usage))
		return;
	struct kgb_usage before = meter->usage;
	take_count(&meter->usage.input, usage, "input_tokens");
	take_count(&meter->usage.cache_creation, usage, "cache_creation_input_tokens");
	take_count(&meter->usage.cache_read, usage, "cache_read_input_tokens");
	if (with_output)
		take_count(&meter->usage.output, usage, "output_tokens");
	meter->started = true;
	if (!kgb_usage_equal(&before, &meter->usage))
		meter->changed = true;
}

static void take_identity(struct kgb_meter *meter, const cJSON *message)
{
	snprintf(meter->message_id, sizeof(meter->message_id), "%s",
		 kgb_json_str(message, "id", ""));
	snprintf(meter->model, sizeof(meter->model), "%s", kgb_json_str(message, "model", ""));
}

static void on_event(void *payload, const char *event, const char *data, size_t len)
{
	struct kgb_meter *meter = payload;
	/* Content deltas are most of a stream and carry no counts: not worth a parse. */
	if (strcmp(event, "content_block_delta") == 0 ||
	    strcmp(event, "content_block_start") == 0 || strcmp(event, "content_block_stop") == 0 ||
	    strcmp(event, "ping") == 0)
		return;
	KGB_AUTO(json) cJSON *doc = NULL;
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_json_parse(data, len, &doc, &err) < 0) {
		meter->n_bad++;
		return;
	}
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
	struct kgb_err err = KGB_ERR_INIT;
	if (meter->json.overflowed ||
	    kgb_json_parse(meter->json.ptr, meter->json.len, &doc, &err) < 0) {
		meter->n_bad++;
		return;
	}
	take_identity(meter, doc);
	take_usage(meter, kgb_json_get(doc, "usage"), true);
	meter->stopped = true;
}
