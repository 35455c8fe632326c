/* SPDX-License-Identifier: MIT */
/** \file
 * Shared by attempt.c (life), attempt_setup.c (what exists before the first round), round_launch.c
 * (a start of the CLI), versions.c (versions and their verdicts), review.c (what follows
 * a round) and harvest.c (what is left when all is over).
 */
#ifndef KGB_AGENT_ATTEMPT_ATTEMPT_INTERNAL_H
#define KGB_AGENT_ATTEMPT_ATTEMPT_INTERNAL_H

#include <sys/stat.h>

#include "agent/attempt/attempt.h"
#include "agent/attempt/rounds.h"
#include "agent/watch/cli_stream.h"
#include "agent/watch/round_sums.h"
#include "agent/watch/watcher.h"
#include "sandbox/cassette/replay.h"
#include "sandbox/offline/offline.h"
#include "sandbox/spawn/sandbox_child.h"
#include "sandbox/workspace/workspace.h"

/* Where things are inside the sandbox. */
#define KGB_INSIDE_WS "/ws"
#define KGB_INSIDE_BIN "/opt/kgb/bin"
#define KGB_INSIDE_CLI "/opt/kgb/cli/"
#define KGB_INSIDE_PORT 8123

#define KGB_TOKEN_LEN 33 /* 32 hex digits and the NUL */

/** A version of kernel.py that was judged. */
struct kgb_version {
	char sha256[KGB_SHA256_HEX_LEN];
	char commit[KGB_OID_LEN];
	int check; /* its number below verdicts/ */
};

struct kgb_attempt {
	const struct kgb_attempt_env *env; /* borrowed */
	const struct kgb_spec *spec; /* borrowed */
	int number, slot;
	kgb_attempt_done_fn done;
	void *payload;
	enum kgb_attempt_phase phase;
	char *dir; /* owned; absolute */
	char *rel; /* owned; relative to the run directory */

	/* Rounds. A method without a loop has one, which lies in `dir`; its `loop.iterations` are
	 * 0. */
	struct kgb_method_loop loop;
	int round; /* that runs or ran last, from 1; 0: none yet */
	int n_good_rounds; /* whose agent ended well */
	char *round_dir; /* owned; absolute: of that round; NULL: none yet */
	char round_prompt_sha256[KGB_SHA256_HEX_LEN];
	char start_sha256[KGB_SHA256_HEX_LEN]; /* of the kernel.py that it began with; "": none */
	bool start_is_stub;
	bool judge_start; /* that kernel is an earlier run's, and not judged yet */
	int round_check; /* number of the version that the round left, once it is judged; 0 */
	const char *round_code; /* why there is none; NULL */
	char round_commit[KGB_OID_LEN]; /* of that version in the history; "" */
	int n_judge_tries; /* of that version */
	char *summary; /* owned; what the round's agent said of it */
	char *report; /* owned; what the judge said of the version that the last round left; NULL */
	bool last_round; /* no other may follow */
	const char *stopped_by; /* the loop's own reason to end, or NULL */
	struct kgb_version *versions; /* owned */
	size_t n_versions;
	struct kgb_rounds_best best; /* the fastest version that passed, or else the last (the first
				      in a loop) */
	struct kgb_round_sums sums;

	struct kgb_sandbox_child launch;
	struct kgb_workspace ws;
	struct kgb_session *session; /* NULL: not open */
	struct kgb_offline_session *offline;
	struct kgb_cassette *cassette; /* replay; NULL else */
	char *recorded_dir; /* owned; replay: of the attempt that is replayed */
	bool totals_changed;
	char token[KGB_TOKEN_LEN];
	char session_id[37];
	char prompt_sha256[KGB_SHA256_HEX_LEN];

	struct kgb_watcher watcher;
	char gateway_url[48]; /* as the agent sees it */

	struct kgb_cli_stream stream;

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
	char check_commit[KGB_OID_LEN];
	bool reported_fatal;
};

/* attempt_setup.c */
KGB_MUST_CHECK int kgb_attempt__setup(struct kgb_attempt *attempt, struct kgb_err *err);
/** Path below the attempt's directory; malloc'ed. */
char *kgb_attempt__path(const struct kgb_attempt *attempt, const char *name);

/* round_launch.c */
/** Whether its sandbox has the GPU on which its kernels are judged. */
bool kgb_attempt__sees_gpu(const struct kgb_attempt *attempt);
/** Start the next round: its prompt, its record, the CLI in its sandbox. */
KGB_MUST_CHECK int kgb_attempt__start_round(struct kgb_attempt *attempt,
					    const struct kgb_sandbox_child_callbacks *callbacks,
					    struct kgb_err *err);
/* review.c */
static inline bool kgb_attempt__has_loop(const struct kgb_attempt *attempt)
{
	return attempt->loop.iterations > 0;
}
/** The next thing after a round (or before the first): judge what it left, keep it or put the best
 * version back, and go on with another round or with the end. */
void kgb_attempt__round_over(struct kgb_attempt *attempt);
/** The harness' own check has its answer. */
void kgb_attempt__round_judged(struct kgb_attempt *attempt, const struct kgb_job_result *result);
/** Append what the round is told. */
KGB_MUST_CHECK int kgb_attempt__tell_round(struct kgb_attempt *attempt, struct kgb_buf *prompt,
					   struct kgb_err *err);

/* versions.c */
/** kgb_session_callbacks.on_verify */
void kgb_attempt__on_verify(void *payload, struct kgb_verify_request *req, const char *kernel,
			    size_t len);
/** Have these bytes judged: they are kept as a file and a commit with that message first. The
 * verdict comes to kgb_attempt__take_verdict. */
KGB_MUST_CHECK int kgb_attempt__submit(struct kgb_attempt *attempt, const char *kernel, size_t len,
				       const char *message, struct kgb_err *err);
/** A check has its answer. */
void kgb_attempt__take_verdict(struct kgb_attempt *attempt, const struct kgb_job_result *result);
/** Keep the verdict of the version that was submitted last, as a file, a git note, and among the
 * versions. */
KGB_MUST_CHECK int kgb_attempt__keep_verdict(struct kgb_attempt *attempt,
					     const struct kgb_job_result *result,
					     const struct kgb_verdict_summary *summary,
					     struct kgb_err *err);
/** The version with these bytes, or NULL. */
const struct kgb_version *kgb_attempt__version(const struct kgb_attempt *attempt,
					       const char *sha256);
/** "verdicts/007.json" of the attempt, absolute; malloc'ed. */
char *kgb_attempt__verdict_file(const struct kgb_attempt *attempt, int check, const char *suffix);
/** Commit kernel.py when it has changed and been left alone for one tick. */
void kgb_attempt__watch_kernel(struct kgb_attempt *attempt);

/* recording.c */
KGB_MUST_CHECK int kgb_attempt__load_replay(struct kgb_attempt *attempt, struct kgb_err *err);
/** What the round that begins gets from the record. */
KGB_MUST_CHECK int kgb_attempt__load_replay_round(struct kgb_attempt *attempt, struct kgb_err *err);
/** kgb_session_callbacks.on_miss */
void kgb_attempt__on_miss(void *payload, const char *why);
/** Answer the check that waits with the recorded verdict, if it is of the same kernel. */
void kgb_attempt__replay_check(struct kgb_attempt *attempt, const char *kernel, size_t len);

/* ending.c */
/** All that was found out, as a JSON object for the result. */
void kgb_attempt__write_sandbox(struct kgb_jsonw *w, const struct kgb_attempt *attempt);

/* harvest.c */
struct kgb_harvest {
	struct kgb_buf kernel; /* empty: none */
	const char *source; /* "verified", "start", "file", "message", NULL */
	bool unchanged; /* kernel.py was left as it was at the beginning */
	const char *refusal; /* why kernel.py was not taken, NULL */
	char sha256[KGB_SHA256_HEX_LEN];
};
/** The best candidate known. */
KGB_MUST_CHECK int kgb_attempt__harvest(struct kgb_attempt *attempt, struct kgb_harvest *out,
					struct kgb_err *err);
/** Code and message of an attempt that left no kernel. */
void kgb_attempt__explain_missing(const struct kgb_attempt *attempt, enum kgb_agent_end end,
				  const struct kgb_harvest *harvest,
				  struct kgb_attempt_outcome *out);
/** exit.json: how it ended and what it used. */
KGB_MUST_CHECK int kgb_attempt__write_exit(const struct kgb_attempt *attempt,
					   enum kgb_agent_end end, struct kgb_err *err);

/* attempt.c */
/** All sources are settled? Then finish. */
void kgb_attempt__maybe_settled(struct kgb_attempt *attempt);
/** Start the next round from the loop; when that fails, end. */
void kgb_attempt__next_round(struct kgb_attempt *attempt);
/** No more rounds: harvest and tell. */
void kgb_attempt__conclude(struct kgb_attempt *attempt);
/** How its agent ended, by the last round. */
enum kgb_agent_end kgb_attempt__classify(const struct kgb_attempt *attempt);
/** A failure of journal or disk: the run cannot go on. */
void kgb_attempt__fatal(struct kgb_attempt *attempt, const struct kgb_err *err);

#endif
