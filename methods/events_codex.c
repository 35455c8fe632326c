/* SPDX-License-Identifier: MIT */
/** \file
 * Codex's `exec --json` (seen: 0.169.0).
 *
 * Tokens are reported once, with turn.completed, as the sum over all calls of the session; input
 * includes tokens from and into the cache, output includes reasoning. A turn that fails, or a CLI
 * that is killed, reports none. `error` events are not fatal while other events follow. */
#include "base/formats/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "methods/events.h"

static bool is_call(const char *type)
{
	return kgb_str_eq(type, "command_execution") || kgb_str_eq(type, "file_change") ||
	       kgb_str_eq(type, "mcp_tool_call") || kgb_str_eq(type, "web_search");
}

/* Whether the type of the item is known. */
static bool on_item(struct kgb_report *r, const cJSON *item, bool completed)
{
	const char *type = kgb_json_str(item, "type", "");
	const char *command = kgb_json_str(item, "command", "");
	if (is_call(type)) {
		if (completed)
			r->n_tool_calls++;
		snprintf(r->last_event, sizeof(r->last_event), "%.24s: %.64s",
			 kgb_str_eq(type, "command_execution") ? "exec" : type, command);
		return true;
	}
	if (kgb_str_eq(type, "agent_message")) {
		kgb_events__final_text(r, kgb_json_str(item, "text", ""));
		KGB_EVENTS_COPY(r->last_event, "text");
		return true;
	}
	return kgb_str_eq(type, "reasoning") || kgb_str_eq(type, "error") ||
	       kgb_str_eq(type, "todo_list");
}

static void on_usage(struct kgb_report *r, const cJSON *usage)
{
	int64_t input = kgb_json_i64(usage, "input_tokens", -1);
	int64_t read = kgb_json_i64(usage, "cached_input_tokens", 0);
	int64_t written = kgb_json_i64(usage, "cache_write_input_tokens", 0);
	if (input < 0 || read < 0 || written < 0 || read > input || written > input - read)
		return;
	r->usage = (struct kgb_usage){
		.input = input - read - written,
		.output = kgb_json_i64(usage, "output_tokens", -1),
		.cache_creation = written,
		.cache_read = read,
	};
}

/* "unexpected status 401 Unauthorized: ...", "exceeded retry limit, last status: 429 ..." */
static int64_t status_in(const char *message)
{
	static const char *const marks[] = {"unexpected status ", "last status: "};
	for (size_t i = 0; i < KGB_ARRAY_LEN(marks); i++) {
		const char *at = strstr(message, marks[i]);
		int64_t status;
		if (!at)
			continue;
		KGB_AUTO(free) char *number = kgb_xstrndup(at + strlen(marks[i]), 3);
		if (kgb_parse_i64(number, 100, 599, &status, NULL) == 0)
			return status;
	}
	return -1;
}

static void on_failure(struct kgb_report *r, const char *message)
{
	KGB_EVENTS_COPY(r->error, message);
	r->api_error_status = status_in(message);
}

static void on_error(struct kgb_report *r, const char *message)
{
	if (kgb_str_starts(message, "Reconnecting...")) {
		r->n_api_retries++;
		snprintf(r->last_event, sizeof(r->last_event), "%.80s", message);
	}
	on_failure(r, message);
}

static void on_end(struct kgb_report *r, bool failed)
{
	r->has_result = true;
	r->is_error = failed;
	KGB_EVENTS_COPY(r->terminal_reason, failed ? "failed" : "completed");
	KGB_EVENTS_COPY(r->last_event, "finished");
	if (!failed)
		*r->error = '\0';
}

void kgb_events__codex(struct kgb_events *events, const cJSON *event)
{
	struct kgb_report *r = &events->report;
	const char *type = kgb_json_str(event, "type", "");
	bool known = true;
	if (kgb_str_eq(type, "thread.started")) {
		KGB_EVENTS_COPY(r->session_id, kgb_json_str(event, "thread_id", ""));
		KGB_EVENTS_COPY(r->last_event, "started");
	} else if (kgb_str_eq(type, "turn.started")) {
		r->has_result = false;
	} else if (kgb_str_eq(type, "item.started")) {
		known = on_item(r, kgb_json_get(event, "item"), false);
	} else if (kgb_str_eq(type, "item.completed")) {
		known = on_item(r, kgb_json_get(event, "item"), true);
	} else if (kgb_str_eq(type, "turn.completed")) {
		on_usage(r, kgb_json_get(event, "usage"));
		on_end(r, false);
	} else if (kgb_str_eq(type, "turn.failed")) {
		on_failure(r, kgb_json_str(event, "error.message", "the turn failed"));
		on_end(r, true);
	} else if (kgb_str_eq(type, "error")) {
		on_error(r, kgb_json_str(event, "message", ""));
	} else {
		known = kgb_str_eq(type, "item.updated");
	}
	if (!known)
		r->n_unknown_events++;
}

static enum kgb_agent_end failure_end(const struct kgb_report *r)
{
	/* Codex rewords the API's errors, and mostly omits the status. */
	static const struct {
		const char *words;
		enum kgb_agent_end end;
	} table[] = {
		{"max_output_tokens", KGB_AGENT_TRUNCATED},
		{"content_filter", KGB_AGENT_REFUSED},
		{"prompt is too long", KGB_AGENT_CONTEXT},
		{"context window", KGB_AGENT_CONTEXT},
		{"context_length_exceeded", KGB_AGENT_CONTEXT},
		{"Quota exceeded", KGB_AGENT_CREDIT},
		{"insufficient_quota", KGB_AGENT_CREDIT},
		{"high demand", KGB_AGENT_TRANSIENT},
		{"at capacity", KGB_AGENT_TRANSIENT},
		{"stream disconnected before completion", KGB_AGENT_NETWORK},
		{"Connection failed", KGB_AGENT_NETWORK},
		{"invalid_request_error", KGB_AGENT_REQUEST},
	};
	if (r->api_error_status > 0)
		return kgb_events__status_end(r->api_error_status);
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++)
		if (strstr(r->error, table[i].words))
			return table[i].end;
	return KGB_AGENT_CRASHED;
}

enum kgb_agent_end kgb_events__codex_end(const struct kgb_report *r,
					 const struct kgb_agent_exit *exit)
{
	if (!r->has_result)
		return kgb_events__silent_end(exit);
	if (r->is_error)
		return failure_end(r);
	return exit->status == 0 ? KGB_AGENT_OK : KGB_AGENT_CRASHED;
}
