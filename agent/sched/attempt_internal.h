/* SPDX-License-Identifier: MIT */
/** \file
 * Shared by attempt.c (life), attempt_setup.c (what exists before the CLI starts), attempt_check.c
 * (the agent's checks) and attempt_harvest.c (what is left when it is over).
 */
#ifndef KGB_AGENT_SCHED_ATTEMPT_INTERNAL_H
#define KGB_AGENT_SCHED_ATTEMPT_INTERNAL_H

#include <sys/stat.h>

#include "agent/sched/attempt.h"
#include "agent/sched/attempt_watch.h"
#include "sandbox/gateway/offline.h"
#include "sandbox/gateway/replay.h"
#include "sandbox/isolation/launch.h"
#include "sandbox/workspace/workspace.h"

/* Where things are inside the sandbox. */
#define KGB_INSIDE_WS "/ws"
#define KGB_INSIDE_BIN "/opt/kgb/bin"
#define KGB_INSIDE_CLI "/opt/kgb/cli/"
#define KGB_INSIDE_PORT 8123

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
	struct kgb_cassette *cassette; /* replay; NULL else */
	char *recorded_dir; /* owned; replay: of the attempt that is replayed */
	struct kgb_totals totals;
	bool totals_changed;
	char token[KGB_TOKEN_LEN];
	char session_id[37];
	char prompt_sha256[KGB_SHA256_HEX_LEN];

	struct kgb_watch watch;
	char gateway_url[48]; /* as the agent sees it */
	uint16_t host_port; /* without namespaces: where it listens; 0 else */
	int host_listen_fd; /* and that socket, -1 once the session has it */

	struct kgb_events events;
	int prompt_fd, stdout_fd, stderr_fd; /* for the CLI; -1 once it has them */
	int stdout_read_fd;
	int64_t stdout_offset;

	uv_timer_t tick; /* reads the stream, watches kernel.py */
	uv_timer_t limit; /* the attempt's time, then the linger after the closing event */
	int open; /* timers not closed yet */
	int64_t deadline_ms; /* monotonic: end of its time */
	int64_t result_seen_ms; /* when the closing event came; 0: not yet */
	bool timed_out, cancelled, lingered;
	struct kgb_budget budget;
	int64_t timeout_ms;
	const char *timed_by;
	const char *budget_code; /* which budget is used up; NULL: none */
	char budget_why[256];

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
/** A check has its answer. */
void kgb_attempt__take_verdict(struct kgb_attempt *attempt, const struct kgb_job_result *result);
/** Commit kernel.py when it has changed and been left alone for one tick. */
void kgb_attempt__watch_kernel(struct kgb_attempt *attempt);

/* attempt_replay.c */
KGB_MUST_CHECK int kgb_attempt__load_replay(struct kgb_attempt *attempt, struct kgb_err *err);
/** kgb_session_callbacks.on_miss */
void kgb_attempt__on_miss(void *payload, const char *why);
/** Answer the check that waits with the recorded verdict, if it is of the same kernel. */
void kgb_attempt__replay_check(struct kgb_attempt *attempt, const char *kernel, size_t len);

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
/** Ask the CLI to end, by SIGKILL everything at once. */
void kgb_attempt__stop(struct kgb_attempt *attempt, int signo, int64_t grace_ms);
/** A failure of journal or disk: the run cannot go on. */
void kgb_attempt__fatal(struct kgb_attempt *attempt, const struct kgb_err *err);

#endif
