/* SPDX-License-Identifier: MIT */
/** \file
 * The circuit breaker of a run: decides from the ends of attempts that no other attempt can reach a
 * model either. More attempts would fail the same way, cost minutes each and prove nothing. */
#ifndef KGB_AGENT_SCHED_BREAKER_H
#define KGB_AGENT_SCHED_BREAKER_H

#include <stdbool.h>

#include "methods/events.h"

/** Zero at the start of a run. */
struct kgb_breaker {
	bool answered; /* some attempt of this start received an answer of a model */
	int n_unanswered; /* attempts in a row that received no answer, or sent no request */
};

/** Record how an attempt ended, and whether the model answered it at least once. Returns the remedy
 * that the user must apply before any attempt can succeed; NULL: go on. */
const char *kgb_breaker_note(struct kgb_breaker *breaker, enum kgb_agent_end end, bool answered);

#endif
