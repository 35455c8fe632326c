/* SPDX-License-Identifier: MIT */
/** \file
 * Claude Code's `--output-format stream-json` (seen: 2.1.197, 2.1.329).
 *
 * Tokens: the closing event's modelUsage, summed over models, is the only complete account;
 * assistant events repeat the usage of their message once per content block and always have
 * output_tokens 1 while streaming, so without a closing event only the input side is known. */
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/events.h"
#include "sandbox/meter/prices.h"

static void on_init(struct kgb_report *r, const cJSON *event)
{
	KGB_EVENTS_COPY(r->session_id, kgb_json_str(event, "session_id", ""));
	KGB_EVENTS_COPY(r->cli_version, kgb_json_str(event, "claude_code_version", ""));
	KGB_EVENTS_COPY(r->model, kgb_json_str(event, "model", ""));
	KGB_EVENTS_COPY(r->last_event, "started");
}

static bool on_system(struct kgb_report *r, const cJSON *event)
{
	static const char *const known[] = {"thinking_tokens",
					    "status",
					    "permission_denied",
					    "informational",
					    "model_refusal_no_fallback",
					    "task_started",
					    "task_updated",
					    "task_notification",
					    "ui_invalidate"};
	const char *subtype = kgb_json_str(event, "subtype", "");
	if (kgb_str_eq(subtype, "init")) {
		on_init(r, event);
		return true;
	}
	if (kgb_str_eq(subtype, "api_retry")) {
		r->n_api_retries++;
		snprintf(r->last_event, sizeof(r->last_event), "retry %lld/%lld: %.48s",
			 (long long)kgb_json_i64(event, "attempt", 0),
			 (long long)kgb_json_i64(event, "max_retries", 0),
			 kgb_json_str(event, "error", "unknown"));
		return true;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(known); i++)
		if (kgb_str_eq(subtype, known[i]))
			return true;
	return false;
}

/** Input-side usage, for sessions that never reach their closing event. */
static void on_message_usage(struct kgb_events *events, const cJSON *message)
{
	struct kgb_report *r = &events->report;
	const char *id = kgb_json_str(message, "id", "");
	const cJSON *usage = kgb_json_get(message, "usage");
	if (!usage || !*id || kgb_events__was_counted(events, id))
		return;
	struct kgb_usage part = {
		.input = kgb_json_i64(usage, "input_tokens", -1),
		.output = -1,
		.cache_creation = kgb_json_i64(usage, "cache_creation_input_tokens", -1),
		.cache_read = kgb_json_i64(usage, "cache_read_input_tokens", -1),
	};
	kgb_usage_add(&r->usage, &part);
}

static void on_content(struct kgb_report *r, const cJSON *block)
{
	const char *type = kgb_json_str(block, "type", "");
	if (kgb_str_eq(type, "tool_use")) {
		r->n_tool_calls++;
		const char *detail = kgb_json_str(block, "input.command",
						  kgb_json_str(block, "input.file_path", ""));
		snprintf(r->last_event, sizeof(r->last_event), "%.24s: %.64s",
			 kgb_json_str(block, "name", "tool"), detail);
	} else if (kgb_str_eq(type, "text")) {
		const char *text = kgb_json_str(block, "text", NULL);
		if (!text)
			return;
		KGB_EVENTS_COPY(r->last_event, "text");
		kgb_events__final_text(r, text);
	}
}

static void on_assistant(struct kgb_events *events, const cJSON *event)
{
	struct kgb_report *r = &events->report;
	const char *error = kgb_json_str(event, "error", NULL);
	if (error)
		KGB_EVENTS_COPY(r->assistant_error, error);
	if (cJSON_IsString(kgb_json_get(event, "parent_tool_use_id")))
		return; /* a sub-agent's message, not one of the session */
	const cJSON *message = kgb_json_get(event, "message");
	if (kgb_str_eq(kgb_json_str(message, "model", ""), "<synthetic>"))
		return;
	on_message_usage(events, message);
	const cJSON *block;
	cJSON_ArrayForEach(block, kgb_json_get(message, "content"))
		on_content(r, block);
}

/** Sum over models; false when the event has no such table or no model in it. */
static bool sum_model_usage(const cJSON *event, struct kgb_usage *out)
{
	struct kgb_usage sum = KGB_USAGE_UNKNOWN;
	const cJSON *model;
	cJSON_ArrayForEach(model, kgb_json_get(event, "modelUsage")) {
		struct kgb_usage part = {
			.input = kgb_json_i64(model, "inputTokens", -1),
			.output = kgb_json_i64(model, "outputTokens", -1),
			.cache_creation = kgb_json_i64(model, "cacheCreationInputTokens", -1),
			.cache_read = kgb_json_i64(model, "cacheReadInputTokens", -1),
		};
		kgb_usage_add(&sum, &part);
		*out = sum;
	}
	return kgb_usage_complete(&sum);
}

static void on_result(struct kgb_report *r, const cJSON *event)
{
	r->has_result = true;
	r->is_error = kgb_json_bool(event, "is_error", true);
	KGB_EVENTS_COPY(r->subtype, kgb_json_str(event, "subtype", ""));
	KGB_EVENTS_COPY(r->terminal_reason, kgb_json_str(event, "terminal_reason", ""));
	KGB_EVENTS_COPY(r->stop_reason, kgb_json_str(event, "stop_reason", ""));
	KGB_EVENTS_COPY(r->last_event, "finished");
	r->n_turns = kgb_json_i64(event, "num_turns", -1);
	r->api_error_status = kgb_json_i64(event, "api_error_status", -1);
	r->connection_failed =
		kgb_str_eq(kgb_json_str(event, "api_error", ""), "connection_failed");
	r->cost_nanos = kgb_usd_to_nanos(kgb_json_num(event, "total_cost_usd", -1));
	r->n_permission_denials = cJSON_GetArraySize(kgb_json_get(event, "permission_denials"));
	struct kgb_usage usage;
	if (sum_model_usage(event, &usage))
		r->usage = usage;
	const char *text = kgb_json_str(event, "result", NULL);
	if (text && !r->is_error)
		kgb_events__final_text(r, text);
	if (r->is_error) {
		const cJSON *first = cJSON_GetArrayItem(kgb_json_get(event, "errors"), 0);
		KGB_EVENTS_COPY(r->error,
				text ? text
				     : (cJSON_IsString(first) ? first->valuestring : r->subtype));
	}
}

void kgb_events__claude(struct kgb_events *events, const cJSON *event)
{
	const char *type = kgb_json_str(event, "type", "");
	bool known = true;
	if (kgb_str_eq(type, "assistant"))
		on_assistant(events, event);
	else if (kgb_str_eq(type, "system"))
		known = on_system(&events->report, event);
	else if (kgb_str_eq(type, "result"))
		on_result(&events->report, event);
	else
		known = kgb_str_eq(type, "user") || kgb_str_eq(type, "stream_event");
	if (!known)
		events->report.n_unknown_events++;
}

/* Never by exit status or subtype alone: an API error comes with the subtype "success". */
enum kgb_agent_end kgb_events__claude_end(const struct kgb_report *r,
					  const struct kgb_agent_exit *exit)
{
	if (!r->has_result)
		return kgb_events__silent_end(exit);
	if (kgb_str_eq(r->subtype, "error_max_turns") ||
	    kgb_str_eq(r->subtype, "error_max_budget_usd"))
		return KGB_AGENT_LIMIT;
	if (kgb_str_eq(r->terminal_reason, "prompt_too_long"))
		return KGB_AGENT_CONTEXT;
	if (kgb_str_eq(r->stop_reason, "refusal"))
		return KGB_AGENT_REFUSED;
	if (r->is_error && kgb_str_eq(r->assistant_error, "max_output_tokens"))
		return KGB_AGENT_TRUNCATED;
	if (r->api_error_status > 0)
		return kgb_events__status_end(r->api_error_status);
	if (r->connection_failed)
		return KGB_AGENT_NETWORK;
	if (kgb_str_eq(r->subtype, "error_during_execution"))
		return KGB_AGENT_INTERRUPTED;
	if (kgb_str_eq(r->terminal_reason, "api_error"))
		return kgb_str_eq(r->assistant_error, "authentication_failed")
			       ? KGB_AGENT_AUTH
			       : KGB_AGENT_TRANSIENT;
	if (r->n_permission_denials > 0)
		return KGB_AGENT_DENIED;
	if (!r->is_error && kgb_str_eq(r->terminal_reason, "completed") && exit->status == 0)
		return KGB_AGENT_OK;
	return KGB_AGENT_CRASHED;
}
