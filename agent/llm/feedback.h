/* SPDX-License-Identifier: MIT */
/** \file
 * The text that the next round of a bare model reads: its last answer, and the report on the check
 * of its kernel, as kgb-verify prints one. */
#ifndef KGB_AGENT_LLM_FEEDBACK_H
#define KGB_AGENT_LLM_FEEDBACK_H

#include "agent/store/sample.h"
#include "methods/chat_prompt.h"

struct kgb_llm_feedback {
	const struct kgb_chat_texts *texts;
	const char *operator;
	const struct kgb_sample *sample;
	int rounds; /* of the chain at most */
	const char *stem; /* path of the sample's files without suffix: STEM.md, STEM.check.json */
};
/** Read the answer and append it to `answer`, the text about it to `text`. */
KGB_MUST_CHECK int kgb_llm_feedback_write(const struct kgb_llm_feedback *feedback,
					  struct kgb_buf *answer, struct kgb_buf *text,
					  struct kgb_err *err);

#endif
