/* SPDX-License-Identifier: MIT */
/** \file
 * One attempt: a coding CLI in its sandbox, once or in rounds, from the workspace to the harvested
 * kernel. The attempt answers the agent's checks, keeps every version of kernel.py, meters through
 * the gateway's session, and on every way out takes the best candidate known. Loop thread only.
 */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_H

#include <uv.h>

#include "agent/broker/broker.h"
#include "agent/report/display.h"
#include "agent/store/events.h"
#include "agent/store/rundir.h"
#include "agent/watch/attempt_limits.h"
#include "agent/watch/processes.h"
#include "base/err.h"
#include "methods/events.h"
#include "methods/method.h"
#include "sandbox/gateway/gateway.h"
#include "verify/spec/spec.h"

enum kgb_attempt_phase {
	KGB_ATTEMPT_STARTING, /* the sandbox is being made */
	KGB_ATTEMPT_RUNNING,
	KGB_ATTEMPT_STOPPING, /* asked to end */
	KGB_ATTEMPT_CLOSING, /* the sandbox is gone; its session and checks are being settled */
	KGB_ATTEMPT_DECIDING, /* no round runs: what is there is judged, then the next begins or
				 none */
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

/** A replay: what answers come from. */
struct kgb_replay_source {
	const char *dir; /* of the recorded run, absolute */
	const struct kgb_run_state *state; /* its journal, folded */
};

/** What all attempts of a run share; borrowed, outlives them. */
struct kgb_attempt_env {
	uv_loop_t *loop;
	struct kgb_run_log *log;
	const struct kgb_rundir *dir;
	struct kgb_gateway *gateway;
	enum kgb_gateway_mode gateway_mode;
	const struct kgb_replay_source *replay; /* NULL: none */
	struct kgb_broker *broker;
	struct kgb_display *status; /* may be NULL */
	const struct kgb_method *method;
	const char *data_dir;
	const char *bin_dir;
	const char *cli_path; /* the coding CLI's executable */
	const char *model; /* never empty */
	const struct kgb_devices *devices;
	int64_t max_verify_calls;
	int64_t iterations; /* rounds at most of a method that works in rounds; 0: as many as it
			       says */
	struct kgb_charge budget; /* limits of one attempt; 0: none */
	int warn_percent;
	struct kgb_attempt_limits limits;
	struct kgb_processes *processes; /* one look for all attempts */
	int max_attempts;
	/** The run cannot go on (journal or disk failed). Called at most once per attempt. */
	void (*on_fatal)(void *payload, const struct kgb_err *err);
	void *payload;
};

struct kgb_attempt;

/** Told once, from the loop, when everything of the attempt is over and journalled; the attempt is
 * freed after it. */
struct kgb_attempt_outcome {
	enum kgb_agent_end end;
	bool has_kernel; /* kernels/<safe_name>.py is there */
	bool retry; /* worth another attempt */
	const char *code; /* why there is no kernel; NULL else */
	const char *message;
};
typedef void (*kgb_attempt_done_fn)(void *payload, struct kgb_attempt *attempt,
				    const struct kgb_attempt_outcome *outcome);

/** What an attempt is for and what it may take. */
struct kgb_attempt_task {
	const struct kgb_spec *spec; /* borrowed until done */
	int number; /* from 1 */
	int slot; /* of those that run at the same time: that gives its device */
	struct kgb_budget *budget; /* the operator's; borrowed until done; NULL: none */
	int64_t timeout_ms;
	const char *timed_by; /* whose time that is when it is not the attempt's own: "operator",
				 "run"; NULL */
};

/** Failure is an infrastructure problem: nothing runs, no callback comes. */
KGB_MUST_CHECK int kgb_attempt_start(struct kgb_attempt **out, const struct kgb_attempt_env *env,
				     const struct kgb_attempt_task *task, kgb_attempt_done_fn done,
				     void *payload, struct kgb_err *err);
/** End it: politely (the CLI may report its usage), or at once with `now`. */
void kgb_attempt_cancel(struct kgb_attempt *attempt, bool now);
const char *kgb_attempt_operator(const struct kgb_attempt *attempt);

#endif
