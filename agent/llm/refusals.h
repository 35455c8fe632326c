/* SPDX-License-Identifier: MIT */
/** \file
 * What a server does not take of a question, and what the later ones leave out.
 */
#ifndef KGB_AGENT_LLM_REFUSALS_H
#define KGB_AGENT_LLM_REFUSALS_H

#include "agent/attempt/attempt_env.h"

/** Ask for one sample in a request from now on. Warns once. */
void kgb_refuse_choices(struct kgb_sampling_plan *plan, const char *why);
/** Whether the status is that of a request with a wrong field. */
bool kgb_refusal_is_of_fields(const struct kgb_answer *answer);
/** Leave out from now on the field that the server complains of, with a warning. False: it
 * complains of none. */
bool kgb_refuse_field(struct kgb_sampling_plan *plan, const struct kgb_question *question,
		      const struct kgb_answer *answer);
/** Whether a choice of the answer is whole. */
bool kgb_answer_any(const struct kgb_answer *answer);

#endif
