/* SPDX-License-Identifier: MIT */
#include "agent/llm/refusals.h"

#include "base/log.h"

void kgb_refuse_choices(struct kgb_sampling_plan *plan, const char *why)
{
	/* Requests that left before receive the same answer. */
	if (plan->choices > 1)
		kgb_warn("the server does not give several choices (n) for a request; samples are "
			 "asked for one by one from now on: %s",
			 why);
	plan->choices = 1;
}

/** FastAPI's servers answer a wrong field with 422. */
bool kgb_refusal_is_of_fields(const struct kgb_answer *answer)
{
	return answer->status == 400 || answer->status == 422;
}

bool kgb_refuse_field(struct kgb_sampling_plan *plan, const struct kgb_question *question,
		      const struct kgb_answer *answer)
{
	const enum kgb_sampling_field field = kgb_question_refused(question, answer->error);
	if (!kgb_refusal_is_of_fields(answer) || field == KGB_N_SAMPLING_FIELDS)
		return false;
	/* Questions that left before the first refusal are refused as well. */
	if (!(plan->sampling.refused & (1u << field)))
		kgb_warn("the server refuses %s; it is left out from now on: %s",
			 kgb_sampling_field_name(field), answer->error);
	plan->sampling.refused |= 1u << field;
	return true;
}

bool kgb_answer_any(const struct kgb_answer *answer)
{
	for (int i = 0; i < answer->n_choices; i++)
		if (answer->choices[i].finish != KGB_ANSWER_BROKEN)
			return true;
	return false;
}
