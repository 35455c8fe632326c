/* SPDX-License-Identifier: MIT */
/** \file
 * The constants of an attempt, and the names in its folder. */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_FACTS_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_FACTS_H

#include "agent/attempt/attempt_env.h"
#include "agent/devices/devices.h"
#include "sandbox/offline/offline.h"

struct kgb_attempt_paths {
	char *dir; /* owned; absolute */
	bool has_rounds; /* each round has a separate folder */
};
/** DIR/NAME; malloc'ed. */
char *kgb_attempt_path(const struct kgb_attempt_paths *paths, const char *name);
/** DIR/rounds/003/NAME, or DIR/NAME of a method without rounds; malloc'ed. */
char *kgb_attempt_round_path(const struct kgb_attempt_paths *paths, int round, const char *name);
/** DIR/verdicts/007.SUFFIX; malloc'ed. */
char *kgb_attempt_verdict_path(const struct kgb_attempt_paths *paths, int number,
			       const char *suffix);

#define KGB_TOKEN_LEN 33 /* 32 hex digits and the NUL */

struct kgb_attempt_facts {
	const struct kgb_attempt_env *env; /* borrowed */
	const struct kgb_spec *spec; /* borrowed */
	int number; /* from 1 */
	int slot;
	const struct kgb_device
		*device; /* its device; a less busy one may judge its kernels; borrowed */
	bool sees_gpu; /* the sandbox has that device */
	struct kgb_method_loop loop; /* of a method without rounds the iterations are 0 */
	struct kgb_attempt_paths paths;
	struct kgb_recording *recording; /* owned by the attempt; NULL: not a replay */
	char token[KGB_TOKEN_LEN]; /* for the gateway */
};

/** Nothing is created but the token. */
void kgb_attempt_facts_init(struct kgb_attempt_facts *facts, const struct kgb_attempt_env *env,
			    const struct kgb_attempt_task *task);
void kgb_attempt_facts_release(struct kgb_attempt_facts *facts);
/** The operator, for the offline model; borrows from the facts. */
struct kgb_offline_subject kgb_attempt_offline(const struct kgb_attempt_facts *facts);

#endif
