/* SPDX-License-Identifier: MIT */
/** \file
 * Starts, captures and ends one child process without an event loop.
 */
#ifndef KGB_BASE_SYSTEM_PROC_H
#define KGB_BASE_SYSTEM_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define KGB_PROC_FDS_MAX 32

/** Our descriptor `from` becomes the child's descriptor `to`. */
struct kgb_fdmap {
	int from;
	int to;
	bool owned; /* for the owner of the list; kgb_proc_start closes nothing */
};

struct kgb_proc_start_spec {
	const char *const *argv; /* argv[0] is the path; NULL-terminated */
	const char *const *env; /* NULL-terminated */
	const struct kgb_fdmap *fds; /* the child gets only these besides 0, 1 and 2 */
	size_t n_fds; /* at most KGB_PROC_FDS_MAX */
	bool own_group; /* a new process group, killed when the calling thread ends */
};
/** Start a program with default signal actions and no signal blocked. The caller reaps *out_pid
 * (kgb_proc_wait). Errors of fork and exec carry their errno in err->code. */
KGB_MUST_CHECK int kgb_proc_start(const struct kgb_proc_start_spec *spec, pid_t *out_pid,
				  struct kgb_err *err);

struct kgb_proc_end {
	int exit_code; /* -1: a signal ended it */
	int term_signal; /* 0: it exited */
	int interrupted; /* signal (SIGINT, SIGTERM, SIGHUP) on which kgb_proc_run ended it; or 0 */
};
/** Reap a child, without a time limit. */
struct kgb_proc_end kgb_proc_wait(pid_t pid);

/** Read `fd` to its end; bytes beyond the buffer's cap are dropped. Returns false when the
 * monotonic time `deadline_ms` comes first. */
bool kgb_proc_drain(int fd, int64_t deadline_ms, struct kgb_buf *out);

struct kgb_proc_spec {
	const char *const *argv; /* as in kgb_proc_start_spec */
	const char *const *env;
	int capture_fd; /* descriptor of the child to capture, 1 or more; an uncaptured stdout is
			   shared with this process */
	size_t limit; /* most bytes to capture: more ends the child */
	int64_t timeout_ms;
	const struct kgb_buf *input; /* its stdin; NULL: /dev/null */
	bool quiet; /* its stderr goes to /dev/null */
};
/** Start, capture, wait. The child has a new process group, dies with this process, and is ended as
 * a group (TERM, 2 s later KILL) on timeout, over the limit, or on an interruption: the signals are
 * blocked meanwhile. Errors: NOT_FOUND, DENIED (exec), TIMEOUT, LIMIT. An interruption is no
 * error. */
KGB_MUST_CHECK int kgb_proc_run(const struct kgb_proc_spec *spec, struct kgb_buf *out,
				struct kgb_proc_end *end, struct kgb_err *err);

#endif
