/* SPDX-License-Identifier: MIT */
/** \file
 * Codex's `exec --json`. Items do not name a message: a text or a thought of the model begins a
 * step, and so does a call after all calls of the step have ended. Tokens are reported for a whole
 * turn only. */
#include "agent/exports/steps.h"
#include "base/str.h"

static bool has_open_calls(const struct kgb_step *step)
{
	KGB_VEC_FOREACH(call, &step->calls)
		if (!call->result)
			return true;
	return false;
}

/** The step that a text or a new call belongs to. */
static struct kgb_step *step_for(struct kgb_steps *steps)
{
	struct kgb_step *step = kgb_steps__agent(steps);
	return step->calls.n == 0 || has_open_calls(step)
		       ? step
		       : kgb_steps_add(steps, KGB_STEP_AGENT, "");
}

/** The item without what is not an argument. */
static cJSON *arguments_of(const cJSON *item)
{
	static const char *const others[] = {"id",     "type",  "status",   "aggregated_output",
					     "result", "error", "exit_code"};
	cJSON *arguments = cJSON_Duplicate(item, true);
	for (size_t i = 0; arguments && i < KGB_ARRAY_LEN(others); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(arguments, others[i]);
	return arguments;
}

static void on_call(struct kgb_steps *steps, const cJSON *item, bool is_over)
{
	static const char *const results[] = {"aggregated_output", "result", "error", "status"};
	struct kgb_tool_call *call = kgb_steps__find_call(steps, kgb_json_str(item, "id", NULL));
	if (!call) {
		KGB_AUTO(json) cJSON *arguments = arguments_of(item);
		call = kgb_steps__call(steps, step_for(steps), kgb_json_str(item, "id", ""),
				       kgb_json_str(item, "type", ""), arguments);
	}
	if (!is_over)
		return;
	call->exit_code = kgb_json_i64(item, "exit_code", -1);
	for (size_t i = 0; i < KGB_ARRAY_LEN(results) && (!call->result || !*call->result); i++)
		call->result = kgb_steps__content(steps, kgb_json_get(item, results[i]));
}

static void on_item(struct kgb_steps *steps, const cJSON *item, bool is_over)
{
	const char *type = kgb_json_str(item, "type", "");
	const char *text = kgb_json_str(item, "text", "");
	if (kgb_str_eq(type, "agent_message") || kgb_str_eq(type, "reasoning")) {
		if (!is_over)
			return;
		struct kgb_step *step = step_for(steps);
		/* After a text, thinking begins the next step. */
		if (kgb_str_eq(type, "reasoning") && step->message.len > 0)
			step = kgb_steps_add(steps, KGB_STEP_AGENT, "");
		kgb_steps_text(steps,
			       kgb_str_eq(type, "reasoning") ? &step->reasoning : &step->message,
			       text);
	} else if (kgb_str_eq(type, "error")) {
		kgb_steps_add(steps, KGB_STEP_SYSTEM, kgb_json_str(item, "message", ""));
	} else if (*type) {
		on_call(steps, item, is_over);
	}
}

bool kgb_steps__codex(struct kgb_steps *steps, const cJSON *event)
{
	static const char *const silent[] = {"thread.started", "turn.started", "turn.completed",
					     "item.updated", NULL};
	const char *type = kgb_json_str(event, "type", "");
	if (kgb_str_eq(type, "item.started") || kgb_str_eq(type, "item.completed"))
		on_item(steps, kgb_json_get(event, "item"), kgb_str_eq(type, "item.completed"));
	else if (kgb_str_eq(type, "turn.failed"))
		kgb_steps_add(steps, KGB_STEP_SYSTEM, kgb_json_str(event, "error.message", ""));
	else if (kgb_str_eq(type, "error") && kgb_json_get(event, "message"))
		kgb_steps_add(steps, KGB_STEP_SYSTEM, kgb_json_str(event, "message", ""));
	else
		return kgb_str_is_one_of(type, silent);
	return true;
}
