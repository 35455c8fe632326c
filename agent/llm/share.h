/* SPDX-License-Identifier: MIT */
/** \file
 * The tokens and costs of one of the samples of a request. */
#ifndef KGB_AGENT_LLM_SHARE_H
#define KGB_AGENT_LLM_SHARE_H

#include "agent/attempt/attempt_env.h"
#include "sandbox/meter/meter.h"

/** One of the choices that came with an answer. They share its tokens evenly. */
struct kgb_share {
	const struct kgb_meter *meter;
	int place, n; /* from 0; of them */
};

/** Fill in tokens and cost of a sample, as the gateway counts them. */
void kgb_share_count(const struct kgb_attempt_env *env, const struct kgb_share *share,
		     struct kgb_sample *sample);

#endif
