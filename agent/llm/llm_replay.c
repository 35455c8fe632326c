/* SPDX-License-Identifier: MIT */
#include "agent/llm/llm_replay.h"

#include <string.h>

#include "agent/store/chains.h"
#include "base/formats/json.h"

static const struct kgb_op_state *recorded_op(const struct kgb_attempt_env *env, const char *name)
{
	return env->replay ? kgb_run_state_op(env->replay->state, name) : NULL;
}

const struct kgb_sample *kgb_llm_recorded(const struct kgb_attempt_env *env, const char *operator,
					  int number)
{
	const struct kgb_op_state *op = recorded_op(env, operator);
	return op ? kgb_op_sample(op, number, 1) : NULL;
}

int kgb_llm_recorded_attempts(const struct kgb_attempt_env *env, const char *operator)
{
	const struct kgb_op_state *op = recorded_op(env, operator);
	return op ? (int)op->n_attempts : 0;
}

int kgb_llm_recorded_first(const struct kgb_attempt_env *env, const char *operator,
			   const struct kgb_sample * recorded)
{
	int first = recorded->number;
	/* A request asks for the next samples that all earlier attempts lack. */
	for (int choice = recorded->choice; choice > 1 && first > 1; choice--) {
		const struct kgb_sample *before = NULL;
		do
			before = kgb_llm_recorded(env, operator, -- first);
		while (first > 1 && before && before->attempt < recorded->attempt);
	}
	return first;
}

int kgb_llm_recorded_choices(const struct kgb_sample *recorded)
{
	KGB_AUTO(json) cJSON *sent = NULL;
	if (recorded->choice < 1 || !recorded->sent ||
	    kgb_json_parse(recorded->sent, strlen(recorded->sent), &sent, NULL) < 0)
		return 1;
	return (int)kgb_json_i64(sent, "n", 1);
}
