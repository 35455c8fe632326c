/* SPDX-License-Identifier: MIT */
/** \file
 * The checks that the agent of an attempt requests (kgb-verify): one at a time, a limited number.
 * The verdict is kept and journalled before the agent gets it. */
#ifndef KGB_AGENT_ATTEMPT_AGENT_CHECKS_H
#define KGB_AGENT_ATTEMPT_AGENT_CHECKS_H

#include "agent/attempt/versions.h"

struct kgb_agent_checks {
	const struct kgb_attempt_facts *facts; /* borrowed, as are the next two */
	struct kgb_versions *versions;
	const struct kgb_budget *budget;
	/** A check is answered; `fatal` is NULL unless the journal or the disk failed. */
	void (*on_answered)(void *payload, const struct kgb_err *fatal);
	void *payload;
	struct kgb_verify_request *request; /* that waits for an answer; NULL: none */
	int n_judged;
};

/** Answer a request for a check, at once or when the verdict is there. While the agent does not
 * run, requests are refused. -1 when the journal or the disk failed. */
KGB_MUST_CHECK int kgb_agent_checks_take(struct kgb_agent_checks *checks,
					 struct kgb_verify_request *request, const char *kernel,
					 size_t len, bool is_running, struct kgb_err *err);

#endif
