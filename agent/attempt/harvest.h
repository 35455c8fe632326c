/* SPDX-License-Identifier: MIT */
/** \file
 * Takes the best candidate of an attempt, however the attempt ends. */
#ifndef KGB_AGENT_ATTEMPT_HARVEST_H
#define KGB_AGENT_ATTEMPT_HARVEST_H

#include "agent/attempt/attempt_setup.h"
#include "agent/attempt/versions.h"

/** Where candidates come from; all borrowed. */
struct kgb_harvest_sources {
	const struct kgb_attempt_facts *facts;
	const struct kgb_versions *versions;
	const struct kgb_attempt_setup *setup; /* start kernel and workspace */
	const char *final_text; /* the agent's last message, or NULL */
	bool has_worked; /* a round of the agent ended well */
};

struct kgb_harvest {
	struct kgb_buf kernel; /* empty: none */
	const char *source; /* "verified", "start", "file", "message", NULL */
	bool unchanged; /* kernel.py was left as it was at the beginning */
	const char *refusal; /* why kernel.py was not taken, NULL */
	char sha256[KGB_SHA256_HEX_LEN];
};

/** Take the best candidate and write it to kernels/. */
KGB_MUST_CHECK int kgb_harvest_take(struct kgb_harvest *out,
				    const struct kgb_harvest_sources *sources, struct kgb_err *err);

#endif
