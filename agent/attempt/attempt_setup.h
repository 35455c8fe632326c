/* SPDX-License-Identifier: MIT */
/** \file
 * Creates what the first round of an attempt needs: task, initial kernel, and the workspace with
 * both. */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_SETUP_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_SETUP_H

#include "agent/attempt/attempt_facts.h"
#include "base/hash.h"
#include "sandbox/workspace/workspace.h"

/** The initial kernel.py. */
struct kgb_start_kernel {
	char sha256[KGB_SHA256_HEX_LEN]; /* "": there is none */
	bool is_stub;
	bool is_earlier; /* an earlier run's, which is judged before the first round */
};

struct kgb_attempt_setup {
	char prompt_sha256[KGB_SHA256_HEX_LEN]; /* of prompt.md: the task */
	struct kgb_start_kernel start;
	struct kgb_workspace ws; /* owned */
};

/** The attempt's folder exists. */
KGB_MUST_CHECK int kgb_attempt_setup_make(struct kgb_attempt_setup *setup,
					  const struct kgb_attempt_facts *facts,
					  struct kgb_err *err);

#endif
