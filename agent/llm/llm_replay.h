/* SPDX-License-Identifier: MIT */
/** \file
 * The samples of a recorded run of a bare model, for its replay: the attempt and the request that
 * brought each, and their verdicts. */
#ifndef KGB_AGENT_LLM_LLM_REPLAY_H
#define KGB_AGENT_LLM_LLM_REPLAY_H

#include "agent/attempt/attempt_env.h"

/** The recorded sample, borrowed; NULL: the run is no replay, or that sample was missing. */
const struct kgb_sample *kgb_llm_recorded(const struct kgb_attempt_env *env, const char *operator,
					  int number);
/** Number of attempts of the recorded operator. */
int kgb_llm_recorded_attempts(const struct kgb_attempt_env *env, const char *operator);
/** Number of the first sample of the request that brought this one. */
int kgb_llm_recorded_first(const struct kgb_attempt_env *env, const char *operator,
			   const struct kgb_sample * recorded);
/** Choices that its request asked for. */
int kgb_llm_recorded_choices(const struct kgb_sample *recorded);

#endif
