/* SPDX-License-Identifier: MIT */
/** \file
 * OpenCode's `run --format json`. Parts name the message that they belong to; a message is a step
 * and ends with its own tokens. A call comes once, with its result.
 */
#include "agent/exports/steps.h"
#include "base/str.h"
#include "base/time.h"

static struct kgb_step *step_of(struct kgb_steps *steps, const cJSON *event)
{
	struct kgb_step *last = steps->list.n > 0 ? &steps->list.items[steps->list.n - 1] : NULL;
	const char *id = kgb_json_str(event, "part.messageID", NULL);
	const int64_t time_ms = kgb_json_i64(event, "timestamp", -1);
	if (last && last->source == KGB_STEP_AGENT && id && kgb_str_eq(last->message_id, id))
		return last;
	struct kgb_step *step = kgb_steps_add(steps, KGB_STEP_AGENT, "");
	step->message_id = id ? kgb_arena_strdup(&steps->arena, id) : NULL;
	/* A time that no calendar has is no time. */
	if (time_ms > 0 && time_ms < INT64_C(253402300800000)) {
		char time[KGB_TIME_LEN];
		kgb_time_format(time_ms, time);
		step->time = kgb_arena_strdup(&steps->arena, time);
	}
	return step;
}

static void on_finish(struct kgb_step *step, const cJSON *event)
{
	const int64_t output = kgb_json_i64(event, "part.tokens.output", -1);
	const int64_t reasoning = kgb_json_i64(event, "part.tokens.reasoning", 0);
	int64_t both = -1;
	if (output < 0 || reasoning < 0 || __builtin_add_overflow(output, reasoning, &both))
		both = -1;
	step->usage = (struct kgb_usage){
		.input = kgb_json_i64(event, "part.tokens.input", -1),
		.output = both,
		.cache_creation = kgb_json_i64(event, "part.tokens.cache.write", -1),
		.cache_read = kgb_json_i64(event, "part.tokens.cache.read", -1),
	};
}

static void on_tool(struct kgb_steps *steps, struct kgb_step *step, const cJSON *event)
{
	const cJSON *state = kgb_json_get(event, "part.state");
	struct kgb_tool_call *call =
		kgb_steps__call(steps, step, kgb_json_str(event, "part.callID", ""),
				kgb_json_str(event, "part.tool", ""), kgb_json_get(state, "input"));
	const cJSON *output = kgb_json_get(state, "output");
	const cJSON *result = output ? output : kgb_json_get(state, "error");
	call->exit_code = kgb_json_i64(state, "metadata.exit", -1);
	call->result = result ? kgb_steps__content(steps, result) : NULL;
}

bool kgb_steps__opencode(struct kgb_steps *steps, const cJSON *event)
{
	static const char *const types[] = {"step_start", "text",        "reasoning",
					    "tool_use",   "step_finish", NULL};
	const char *type = kgb_json_str(event, "type", "");
	const char *text = kgb_json_str(event, "part.text", "");
	if (kgb_str_eq(type, "error")) {
		const cJSON *message = kgb_json_get(event, "error.data.message");
		kgb_steps_add(steps, KGB_STEP_SYSTEM,
			      kgb_steps__content(steps,
						 message ? message : kgb_json_get(event, "error")));
		return true;
	}
	if (!kgb_str_is_one_of(type, types))
		return false;
	struct kgb_step *step = step_of(steps, event);
	if (kgb_str_eq(type, "text"))
		kgb_steps_text(steps, &step->message, text);
	else if (kgb_str_eq(type, "reasoning"))
		kgb_steps_text(steps, &step->reasoning, text);
	else if (kgb_str_eq(type, "tool_use"))
		on_tool(steps, step, event);
	else if (kgb_str_eq(type, "step_finish"))
		on_finish(step, event);
	return true;
}
