/* SPDX-License-Identifier: MIT */
/** \file
 * OpenCode's `run --format json` (seen: 1.18.33).
 *
 * There is no closing event: the session is over with a step_finish whose reason is not
 * "tool-calls", unless another step begins. Tokens: the sum over step_finish events, each counted
 * once by the id of its part. Input excludes the cache, output excludes reasoning. A step without
 * `total` has zeros because the server reported nothing: its counts are unknown. Sub-agents and
 * calls for titles are not in the stream; the gateway counts them. */
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/events.h"
#include "sandbox/meter/prices.h"

static void on_tool(struct kgb_report *r, const cJSON *part)
{
	const char *input = kgb_json_str(part, "state.input.command",
					 kgb_json_str(part, "state.input.filePath", ""));
	r->n_tool_calls++;
	snprintf(r->last_event, sizeof(r->last_event), "%.24s: %.64s",
		 kgb_json_str(part, "tool", "tool"), input);
	if (strstr(kgb_json_str(part, "state.error", ""), "rejected permission"))
		r->n_permission_denials++;
}

/* -1 where a count is missing. */
static int64_t sum_of(const cJSON *tokens, const char *a, const char *b)
{
	int64_t x = kgb_json_i64(tokens, a, -1), y = kgb_json_i64(tokens, b, 0);
	return x < 0 ? -1 : x + y;
}

static void on_step_finish(struct kgb_events *events, const cJSON *part)
{
	struct kgb_report *r = &events->report;
	const cJSON *tokens = kgb_json_get(part, "tokens");
	const char *id = kgb_json_str(part, "id", "");
	const char *reason = kgb_json_str(part, "reason", "");
	KGB_EVENTS_COPY(r->stop_reason, reason);
	KGB_EVENTS_COPY(r->terminal_reason, reason);
	r->has_result = !kgb_str_eq(reason, "tool-calls") && !kgb_str_eq(reason, "unknown");
	if (*id && kgb_events__was_counted(events, id))
		return;
	r->n_turns = r->n_turns < 0 ? 1 : r->n_turns + 1;
	int64_t cost = kgb_usd_to_nanos(kgb_json_num(part, "cost", -1));
	if (cost > 0)
		r->cost_nanos = r->cost_nanos < 0 ? cost : r->cost_nanos + cost;
	if (!kgb_json_get(tokens, "total"))
		return;
	struct kgb_usage step = {
		.input = kgb_json_i64(tokens, "input", -1),
		.output = sum_of(tokens, "output", "reasoning"),
		.cache_creation = kgb_json_i64(tokens, "cache.write", -1),
		.cache_read = kgb_json_i64(tokens, "cache.read", -1),
	};
	kgb_usage_add(&r->usage, &step);
}

static void on_error(struct kgb_report *r, const cJSON *error)
{
	const char *name = kgb_json_str(error, "name", "error");
	const char *message = kgb_json_str(error, "data.message", name);
	r->is_error = true;
	KGB_EVENTS_COPY(r->subtype, name);
	KGB_EVENTS_COPY(r->error, message);
	r->api_error_status = kgb_json_i64(error, "data.statusCode", -1);
	r->connection_failed = kgb_str_starts(message, "Cannot connect to API");
	KGB_EVENTS_COPY(r->last_event, "error");
}

void kgb_events__opencode(struct kgb_events *events, const cJSON *event)
{
	struct kgb_report *r = &events->report;
	const char *type = kgb_json_str(event, "type", "");
	const cJSON *part = kgb_json_get(event, "part");
	if (!*r->session_id)
		KGB_EVENTS_COPY(r->session_id, kgb_json_str(event, "sessionID", ""));
	if (kgb_str_eq(type, "step_start")) {
		r->has_result = false;
	} else if (kgb_str_eq(type, "text")) {
		kgb_events__final_text(r, kgb_json_str(part, "text", ""));
		KGB_EVENTS_COPY(r->last_event, "text");
	} else if (kgb_str_eq(type, "tool_use")) {
		on_tool(r, part);
	} else if (kgb_str_eq(type, "step_finish")) {
		on_step_finish(events, part);
	} else if (kgb_str_eq(type, "error")) {
		on_error(r, kgb_json_get(event, "error"));
	} else if (!kgb_str_eq(type, "reasoning")) {
		r->n_unknown_events++;
	}
}

static enum kgb_agent_end error_end(const struct kgb_report *r)
{
	static const struct {
		const char *name;
		enum kgb_agent_end end;
	} names[] = {
		{"ContextOverflowError", KGB_AGENT_CONTEXT},
		{"ProviderAuthError", KGB_AGENT_AUTH},
		{"MessageOutputLengthError", KGB_AGENT_TRUNCATED},
		{"MessageAbortedError", KGB_AGENT_INTERRUPTED},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (kgb_str_eq(r->subtype, names[i].name))
			return names[i].end;
	if (r->api_error_status > 0)
		return kgb_events__status_end(r->api_error_status);
	return r->connection_failed ? KGB_AGENT_NETWORK : KGB_AGENT_CRASHED;
}

/* OpenCode exits with 0 also when its output was cut off, or a tool was refused. */
enum kgb_agent_end kgb_events__opencode_end(const struct kgb_report *r,
					    const struct kgb_agent_exit *exit)
{
	if (r->is_error)
		return error_end(r);
	if (r->n_permission_denials > 0 && !r->has_result)
		return KGB_AGENT_DENIED;
	if (!r->has_result)
		return kgb_events__silent_end(exit);
	if (kgb_str_eq(r->stop_reason, "length"))
		return KGB_AGENT_TRUNCATED;
	if (kgb_str_eq(r->stop_reason, "content-filter"))
		return KGB_AGENT_REFUSED;
	return kgb_str_eq(r->stop_reason, "stop") && exit->status == 0 ? KGB_AGENT_OK
								       : KGB_AGENT_CRASHED;
}
