/* SPDX-License-Identifier: MIT */
/** \file
 * Runs one sandbox on a libuv loop: starts it, hands over the listening socket, stops it politely
 * or at once, and proves at the end that nothing of it is left. Loop thread only. A separate
 * library, because kgb-judge does not use libuv. */
#ifndef KGB_SANDBOX_SPAWN_SANDBOX_CHILD_H
#define KGB_SANDBOX_SPAWN_SANDBOX_CHILD_H

#include <uv.h>

#include "base/err.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/status.h"

struct kgb_sandbox_child;

struct kgb_sandbox_child_result {
	/** The sandbox's namespaces existed; false: `err` has the reason. A mount or program that
	 * bwrap could not use shows as exit_code 1 and a line "bwrap: ..." on the program's
	 * stderr. */
	bool started;
	struct kgb_err err;
	int exit_code; /* of the program; 128+N for signal N; -1: it never ran */
	int term_signal; /* N when exit_code is 128+N, else 0: bwrap does not distinguish them */
	bool stop_requested; /* by kgb_sandbox_child_stop or _kill */
	bool killed; /* SIGKILL was needed */
	bool walls_died; /* bwrap or the launcher ended under the running program, and not by us */
	int survivors; /* processes still alive: 0, or an alarm; -1: could not be determined */
	int64_t wall_ms;
	int64_t user_ms; /* -1: unknown */
	int64_t sys_ms;
	int64_t max_rss_bytes; /* of the largest process */
};

struct kgb_sandbox_child_callbacks {
	/** The sandbox exists. `listen_fd` is the listening socket inside its network namespace; it
	 * belongs to the callee now (-1 without KGB_NETWORK_LISTENER). Called at most once, not at
	 * all when the start fails. May be NULL. */
	void (*on_ready)(struct kgb_sandbox_child *launch, int listen_fd, void *payload);
	/** Everything is closed, reaped and counted. Called exactly once after a successful
	 * kgb_sandbox_child_start, never from inside it; the launch may be freed or started again
	 * in it. */
	void (*on_done)(struct kgb_sandbox_child *launch,
			const struct kgb_sandbox_child_result *result, void *payload);
};

/** Embedded in its owner; fields are private. */
struct kgb_sandbox_child {
	uv_loop_t *loop; /* borrowed */
	struct kgb_sandbox_child_callbacks callbacks;
	void *payload;
	uv_process_t process;
	uv_pipe_t status_pipe;
	uv_poll_t listen_poll;
	uv_timer_t timer;
	int n_open; /* handles not closed yet */
	int phase; /* enum phase of launch.c */
	struct kgb_sandbox sandbox;
	struct kgb_sandbox_status status;
	struct kgb_sandbox_child_result result;
	bool wants_listener, ready_sent;
	bool process_ended, status_ended, listen_ended;
	int listen_fd; /* received, not handed out yet */
	int pidns_fd; /* holds the namespace; -1: it has ended before */
	int launcher_exit; /* its exit status, 128+N for signal N */
	int64_t start_ms; /* kgb_mono_ms */
	int64_t deadline_ms; /* end of the current phase */
	int stop_signal; /* 0: delivered, or none asked for */
	char read_buf[1024];
};

/** Start. On failure (-1: a bad policy, a missing program) nothing is left behind and no callback
 * follows; on_done reports a later failure with started false. `spec` is not needed after the call;
 * its descriptors are the caller's to close. */
KGB_MUST_CHECK int kgb_sandbox_child_start(struct kgb_sandbox_child *launch, uv_loop_t *loop,
					   const struct kgb_sandbox_spec *spec,
					   const struct kgb_sandbox_child_callbacks *callbacks,
					   void *payload, struct kgb_err *err);
/** Ask the program inside to end with `signo` (SIGINT, SIGTERM); SIGKILL for everything after
 * grace_ms. A second call may only shorten the wait. No effect after the end. */
void kgb_sandbox_child_stop(struct kgb_sandbox_child *launch, int signo, int64_t grace_ms);
/** Send SIGKILL to everything inside, now. */
void kgb_sandbox_child_kill(struct kgb_sandbox_child *launch);
/** Process id of the launcher, 0 when it is not running. */
pid_t kgb_sandbox_child_pid(const struct kgb_sandbox_child *launch);

#endif
