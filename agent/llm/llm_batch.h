/* SPDX-License-Identifier: MIT */
/** \file
 * The batches of an attempt of a bare model: those that an earlier attempt left at the provider,
 * and new ones. Each is in the journal before it leaves, its requests are reserved in the budgets,
 * and a result and its costs are one record: whenever kgb-agent is killed, its successor finds the
 * batches at the provider and neither buys nor counts anything twice. Loop thread only. */
#ifndef KGB_AGENT_LLM_LLM_BATCH_H
#define KGB_AGENT_LLM_LLM_BATCH_H

#include "agent/attempt/attempt_facts.h"
#include "agent/attempt/model_session.h"

struct kgb_llm_batches;

/** In place of an HTTP status: no budget has room for the question. */
#define KGB_LLM_NO_BUDGET (-1)

struct kgb_llm_batches_spec {
	const struct kgb_attempt_facts *facts; /* borrowed, as are the next two */
	struct kgb_model_session *model; /* open */
	const char *base_url;
	/** The question of a sample; its texts live until the next call. */
	struct kgb_question (*question)(void *payload, int number);
	/** An answer: journal it with the session's totals. */
	void (*on_answer)(void *payload, int number, const struct kgb_answer *answer);
	/** No answer will come in this attempt. `status` is of HTTP, KGB_LLM_NO_BUDGET, or 0. */
	void (*on_missing)(void *payload, int number, int status, const char *why);
	void (*on_fatal)(void *payload, const struct kgb_err *err);
	void *payload;
};

struct kgb_llm_batches *kgb_llm_batches_new(const struct kgb_llm_batches_spec *spec);
/** Go on with the batches that are not over. Results come from the loop. */
void kgb_llm_batches_adopt(struct kgb_llm_batches *batches);
/** Whether one of them may bring a sample. */
bool kgb_llm_batches_has(const struct kgb_llm_batches *batches, int number);
/** Ask for samples. on_missing may come from inside, for those that no budget has room for. */
void kgb_llm_batches_ask(struct kgb_llm_batches *batches, const int *numbers, size_t n);
/** Leave the batches under way at the provider; no callback follows. Another attempt goes on with
 * them. */
void kgb_llm_batches_leave(struct kgb_llm_batches *batches);
/** Nothing may be under way. NULL is fine. */
void kgb_llm_batches_free(struct kgb_llm_batches *batches);

#endif
