/* SPDX-License-Identifier: MIT */
/** \file
 * Starts a round of an attempt: the CLI in a new sandbox, with a fresh session and home, in the
 * workspace that all rounds share. A method without rounds has one round. */
#ifndef KGB_AGENT_ATTEMPT_ROUND_LAUNCH_H
#define KGB_AGENT_ATTEMPT_ROUND_LAUNCH_H

#include "agent/attempt/attempt_facts.h"
#include "base/hash.h"
#include "sandbox/cassette/replay.h"
#include "sandbox/offline/offline.h"
#include "sandbox/spawn/sandbox_child.h"

struct kgb_round_launch {
	const struct kgb_attempt_facts *facts; /* borrowed */
	int round; /* that runs or ran last, from 1; 0: none yet */
	char session_id[37];
	char prompt_sha256[KGB_SHA256_HEX_LEN];
	struct kgb_offline_session *offline; /* owned; NULL: not offline */
	struct kgb_cassette *cassette; /* owned; NULL: not a replay */
	struct kgb_sandbox_child child;
};

void kgb_round_launch_release(struct kgb_round_launch *launch);
/** Make the folders of the next round and load its model's answers; append the attempt's task to
 * `prompt`. */
KGB_MUST_CHECK int kgb_round_launch_prepare(struct kgb_round_launch *launch, struct kgb_buf *prompt,
					    struct kgb_err *err);
/** Start the CLI on the prompt. `stdout_fd` receives the read end of its stdout. */
KGB_MUST_CHECK int kgb_round_launch_start(struct kgb_round_launch *launch,
					  const struct kgb_buf *prompt,
					  const struct kgb_sandbox_child_callbacks *callbacks,
					  void *payload, int *stdout_fd, struct kgb_err *err);

#endif
