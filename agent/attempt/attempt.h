/* SPDX-License-Identifier: MIT */
/** \file
 * One attempt: a coding CLI in its sandbox, once or in rounds, from the workspace to the harvested
 * kernel. The attempt answers the agent's checks, keeps every version of kernel.py, meters through
 * the gateway's session, and on every way out takes the best candidate known. Loop thread only.
 */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_H

#include "agent/attempt/attempt_env.h"

enum kgb_attempt_phase {
	KGB_ATTEMPT_STARTING, /* the sandbox is being made */
	KGB_ATTEMPT_RUNNING,
	KGB_ATTEMPT_STOPPING, /* asked to end */
	KGB_ATTEMPT_CLOSING, /* the sandbox is gone; its session and checks are being settled */
	KGB_ATTEMPT_DECIDING, /* no round runs: the kernel is judged, then the next round begins or
				 the attempt concludes */
	KGB_ATTEMPT_DONE,
	KGB_N_ATTEMPT_PHASES,
};
enum kgb_attempt_event {
	KGB_ATTEMPT_ON_READY, /* the sandbox exists */
	KGB_ATTEMPT_ON_STOP, /* timeout, cancel, linger */
	KGB_ATTEMPT_ON_EXIT, /* everything inside is gone */
	KGB_ATTEMPT_ON_SETTLED, /* no session and no check is open any more */
	KGB_ATTEMPT_ON_ROUND, /* the next round begins */
	KGB_ATTEMPT_ON_OVER, /* there is none */
	KGB_N_ATTEMPT_EVENTS,
};
/** Transition, or KGB_N_ATTEMPT_PHASES where the event cannot happen. Total: every pair has an
 * answer. */
enum kgb_attempt_phase kgb_attempt_next(enum kgb_attempt_phase phase, enum kgb_attempt_event event);

struct kgb_attempt;

/** Called once, from the loop, after the whole attempt has ended and is journalled; then the
 * attempt is freed. */
typedef void (*kgb_attempt_done_fn)(void *payload, struct kgb_attempt *attempt,
				    const struct kgb_attempt_outcome *outcome);

/** A failure is a fault of the machine: nothing runs and no callback follows. */
KGB_MUST_CHECK int kgb_attempt_start(struct kgb_attempt **out, const struct kgb_attempt_env *env,
				     const struct kgb_attempt_task *task, kgb_attempt_done_fn done,
				     void *payload, struct kgb_err *err);
/** End it: politely (the CLI may report its usage), or at once with `now`. */
void kgb_attempt_cancel(struct kgb_attempt *attempt, bool now);

#endif
