/* SPDX-License-Identifier: MIT */
/** \file
 * An attempt of a bare model: independent samples for one operator. There is no CLI and no sandbox:
 * kgb-agent asks through a session of the gateway, takes the kernel out of each reply, and has the
 * judge decide while other samples are still on their way. An attempt asks only for samples that
 * earlier attempts lack, and judges only samples without a verdict. Loop thread only.
 *
 * With reflection each sample is a chain of rounds. The kernel of every round is judged like any
 * sample. For the next round it is also checked, as for kgb-verify: the model reads the report on
 * the check and nothing of the verdict that counts. A kernel that passes its check ends the chain,
 * whatever its verdict.
 *
 * Files of sample 7 below the attempt's folder: samples/0007.md (the reply), samples/0007.py (the
 * kernel), samples/0007.json (its verdict), samples/0007.check.json (its check); in round 2
 * samples/0007-2.md.
 */
#ifndef KGB_AGENT_LLM_LLM_ATTEMPT_H
#define KGB_AGENT_LLM_LLM_ATTEMPT_H

#include "agent/attempt/attempt_env.h"

struct kgb_llm_attempt;

/** Comes once, from the loop, when everything of the attempt is over and journalled; the attempt is
 * freed after it. */
typedef void (*kgb_llm_attempt_done_fn)(void *payload, const struct kgb_attempt_outcome *outcome);

/** Failure is a fault of the machine: nothing runs, no callback comes. */
KGB_MUST_CHECK int kgb_llm_attempt_start(struct kgb_llm_attempt **out,
					 const struct kgb_attempt_env *env,
					 const struct kgb_attempt_task *task,
					 kgb_llm_attempt_done_fn done, void *payload,
					 struct kgb_err *err);
/** End it: open questions and judgements are dropped, and their samples stay missing. */
void kgb_llm_attempt_cancel(struct kgb_llm_attempt *attempt);

#endif
