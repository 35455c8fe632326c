/* SPDX-License-Identifier: MIT */
/** \file
 * Claude Code's `--output-format stream-json`. Each content block of a message is a separate event,
 * under the message's id: together they are one step. The events repeat the usage of the input and
 * never have that of the output. The text of a sub-agent is not part of the session: its result is
 * in the result of the call that began it. */
#include "agent/exports/steps.h"
#include "base/str.h"

static struct kgb_step *step_of(struct kgb_steps *steps, const cJSON *event, const char *id)
{
	struct kgb_step *last = steps->list.n > 0 ? &steps->list.items[steps->list.n - 1] : NULL;
	const char *time = kgb_json_str(event, "timestamp", NULL);
	const char *model = kgb_json_str(event, "message.model", NULL);
	if (last && last->source == KGB_STEP_AGENT && id && kgb_str_eq(last->message_id, id))
		return last;
	struct kgb_step *step = kgb_steps_add(steps, KGB_STEP_AGENT, "");
	step->message_id = id ? kgb_arena_strdup(&steps->arena, id) : NULL;
	step->time = time ? kgb_arena_strdup(&steps->arena, time) : NULL;
	step->model = model ? kgb_arena_strdup(&steps->arena, model) : NULL;
	step->usage.input = kgb_json_i64(event, "message.usage.input_tokens", -1);
	step->usage.cache_creation =
		kgb_json_i64(event, "message.usage.cache_creation_input_tokens", -1);
	step->usage.cache_read = kgb_json_i64(event, "message.usage.cache_read_input_tokens", -1);
	return step;
}

static void on_assistant(struct kgb_steps *steps, const cJSON *event)
{
	const cJSON *block = NULL;
	if (kgb_str_eq(kgb_json_str(event, "message.model", ""), "<synthetic>")) {
		const cJSON *content = kgb_json_get(event, "message.content");
		kgb_steps_add(steps, KGB_STEP_SYSTEM, kgb_steps__content(steps, content));
		return;
	}
	struct kgb_step *step = step_of(steps, event, kgb_json_str(event, "message.id", NULL));
	cJSON_ArrayForEach(block, kgb_json_get(event, "message.content")) {
		const char *type = kgb_json_str(block, "type", "");
		if (kgb_str_eq(type, "text"))
			kgb_steps_text(steps, &step->message, kgb_json_str(block, "text", ""));
		else if (kgb_str_eq(type, "thinking"))
			kgb_steps_text(steps, &step->reasoning,
				       kgb_json_str(block, "thinking", ""));
		else if (kgb_str_eq(type, "tool_use"))
			kgb_steps__call(steps, step, kgb_json_str(block, "id", ""),
					kgb_json_str(block, "name", ""),
					kgb_json_get(block, "input"));
	}
}

static void on_user(struct kgb_steps *steps, const cJSON *event)
{
	const cJSON *content = kgb_json_get(event, "message.content"), *block = NULL;
	bool has_text = cJSON_IsString(content);
	cJSON_ArrayForEach(block, content) {
		struct kgb_tool_call *call =
			kgb_steps__find_call(steps, kgb_json_str(block, "tool_use_id", NULL));
		if (call)
			call->result = kgb_steps__content(steps, kgb_json_get(block, "content"));
		has_text = has_text || kgb_str_eq(kgb_json_str(block, "type", ""), "text");
	}
	if (has_text)
		kgb_steps_add(steps, KGB_STEP_USER, kgb_steps__content(steps, content));
}

bool kgb_steps__claude(struct kgb_steps *steps, const cJSON *event)
{
	static const char *const silent[] = {"system", "stream_event", NULL};
	const char *type = kgb_json_str(event, "type", "");
	const bool is_nested = cJSON_IsString(kgb_json_get(event, "parent_tool_use_id"));
	if (kgb_str_eq(type, "assistant")) {
		if (!is_nested)
			on_assistant(steps, event);
	} else if (kgb_str_eq(type, "user")) {
		if (!is_nested)
			on_user(steps, event);
	} else if (kgb_str_eq(type, "result")) {
		if (kgb_json_bool(event, "is_error", false))
			kgb_steps_add(
				steps, KGB_STEP_SYSTEM,
				kgb_json_str(event, "result", kgb_json_str(event, "subtype", "")));
	} else {
		return kgb_str_is_one_of(type, silent);
	}
	return true;
}
