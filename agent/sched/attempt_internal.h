/* SPDX-License-Identifier: MIT */
/** \file
 * Shared by attempt.c (life), attempt_setup.c (what exists before the CLI starts), attempt_check.c
 * (the agent's checks) and attempt_harvest.c (what is left when it is over).
 */
#ifndef KGB_AGENT_SCHED_ATTEMPT_INTERNAL_H
#define KGB_AGENT_SCHED_ATTEMPT_INTERNAL_H

#include <sys/stat.h>

#include "agent/sched/attempt.h"
#include "sandbox/gateway/offline.h"
#include "sandbox/isolation/launch.h"
#include "sandbox/workspace/workspace.h"

/* Where things are inside the sandbox. */
#define KGB_INSIDE_WS "/ws"
#define KGB_INSIDE_BIN "/opt/kgb/bin"
#define KGB_INSIDE_CLI "/opt/kgb/cli/"
#define KGB_INSIDE_PORT 8123
#define KGB_INSIDE_GATEWAY "http://127.0.0.1:8123"

#define KGB_TOKEN_LEN 33 /* 32 hex digits and the NUL */

struct kgb_attempt {
	const struct kgb_attempt_env *env; /* borrowed */
	const struct kgb_spec *spec; /* borrowed */
	int number, slot;
	kgb_attempt_done_fn done;
	void *payload;
	enum kgb_attempt_phase phase;
	char *dir; /* owned; absolute */
	char *rel; /* owned; relative to the run directory */

	struct kgb_launch launch;
	struct kgb_launch_result result;
	struct kgb_workspace ws;
	struct kgb_session *session; /* NULL: not open */
	struct kgb_offline_session *offline;
	struct kgb_totals totals;
	bool totals_changed;
	char token[KGB_TOKEN_LEN];
	char session_id[37];
	char prompt_sha256[KGB_SHA256_HEX_LEN];

	struct kgb_events events;
	int prompt_fd, stdout_fd, stderr_fd; /* for the CLI; -1 once it has them */
	int stdout_read_fd;
	int64_t stdout_offset;

	uv_timer_t tick; /* reads the stream, watches kernel.py */
	uv_timer_t limit; /* the attempt's time, then the linger after the closing event */
	int open; /* timers not closed yet */
	int64_t result_seen_ms; /* when the closing event came; 0: not yet */
	bool timed_out, cancelled, lingered;

	struct stat kernel_stat; /* of kernel.py when it was last committed */
	int n_watched; /* how often that was */

	struct kgb_verify_request *check; /* waiting for an answer; NULL: none */
	struct kgb_job *job;
	int n_checks; /* with a verdict */
	int n_asked; /* files verdicts/NNN.py written */
	int best_check; /* number of the fastest check that passed, or else of the last; 0: none */
	double best_speedup; /* its; 0: not timed */
	char check_commit[KGB_OID_LEN];
	bool reported_fatal;
};

/* attempt_setup.c */
KGB_MUST_CHECK int kgb_attempt__setup(struct kgb_attempt *attempt, struct kgb_err *err);
KGB_MUST_CHECK int kgb_attempt__launch(struct kgb_attempt *attempt,
				       const struct kgb_launch_callbacks *callbacks,
				       struct kgb_err *err);

/* attempt_check.c */
/** kgb_session_callbacks.on_verify */
void kgb_attempt__on_verify(void *payload, struct kgb_verify_request *req, const char *kernel,
			    size_t len);
/** Commit kernel.py when it has changed and been left alone for one tick. */
void kgb_attempt__watch_kernel(struct kgb_attempt *attempt);

/* attempt_harvest.c */
struct kgb_harvest {
	struct kgb_buf kernel; /* empty: none */
	const char *source; /* "verified", "file", "message", NULL */
	const char *refusal; /* why kernel.py was not taken, NULL */
	char sha256[KGB_SHA256_HEX_LEN];
};
/** The best candidate known. */
KGB_MUST_CHECK int kgb_attempt__harvest(struct kgb_attempt *attempt, struct kgb_harvest *out,
					struct kgb_err *err);
/** exit.json: how it ended and what it used. */
KGB_MUST_CHECK int kgb_attempt__write_exit(const struct kgb_attempt *attempt,
					   enum kgb_agent_end end, struct kgb_err *err);

/* attempt.c */
/** All sources are settled? Then finish. */
void kgb_attempt__maybe_settled(struct kgb_attempt *attempt);
/** A failure of journal or disk: the run cannot go on. */
void kgb_attempt__fatal(struct kgb_attempt *attempt, const struct kgb_err *err);

#endif
