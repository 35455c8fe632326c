/* SPDX-License-Identifier: MIT */
/** \file
 * Fields of a question that a server refuses; later questions omit them. */
#ifndef KGB_AGENT_LLM_REFUSALS_H
#define KGB_AGENT_LLM_REFUSALS_H

#include "agent/attempt/attempt_env.h"

/** Ask for one sample in a request from now on. Warns once. */
void kgb_refuse_choices(struct kgb_sampling_plan *plan, const char *why);
/** Whether the status is that of a request with a wrong field. */
bool kgb_refusal_is_of_fields(const struct kgb_answer *answer);
/** Omit from now on the field that the server's error names, with a warning. False: it names
 * none. */
bool kgb_refuse_field(struct kgb_sampling_plan *plan, const struct kgb_question *question,
		      const struct kgb_answer *answer);
/** Whether a choice of the answer is whole. */
bool kgb_answer_any(const struct kgb_answer *answer);

#endif
