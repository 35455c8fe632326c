/* SPDX-License-Identifier: MIT */
#include "agent/sched/breaker.h"

#include <stddef.h>

/* Consecutive attempts without an answer that open the breaker. Each has retried for
 * gateway.max_wait, so the fault is not a passing one. */
#define UNANSWERED_MAX 2

const char *kgb_breaker_note(struct kgb_breaker *breaker, enum kgb_agent_end end, bool answered)
{
	const bool unanswered =
		!answered && (end == KGB_AGENT_TRANSIENT || end == KGB_AGENT_NETWORK ||
			      end == KGB_AGENT_NO_REQUEST);

	breaker->answered = breaker->answered || answered;
	breaker->n_unanswered = unanswered ? breaker->n_unanswered + 1 : 0;
	if (end == KGB_AGENT_AUTH)
		return "give a key that the provider accepts";
	if (end == KGB_AGENT_CREDIT)
		return "add credit to the account";
	if (end == KGB_AGENT_MODEL && !breaker->answered)
		return "name a model that the provider has (--model)";
	if (breaker->n_unanswered >= UNANSWERED_MAX && !breaker->answered)
		return end == KGB_AGENT_NO_REQUEST ? "check the program with kgb-agent doctor"
						   : "check the endpoint with kgb-agent doctor";
	return NULL;
}
