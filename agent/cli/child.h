/* SPDX-License-Identifier: MIT */
/** \file
 * Runs one program to its end, for subcommands that have nothing else to do meanwhile.
 */
#ifndef KGB_AGENT_CLI_CHILD_H
#define KGB_AGENT_CLI_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct kgb_child_spec {
	const char *const *argv; /* argv[0] is the path; NULL-terminated */
	const char *const *env; /* NULL-terminated */
	int capture_fd; /* descriptor of the child that is captured: 1 or 3; its stdout is ours
			   unless captured */
	size_t limit; /* most bytes to capture: more ends the child */
	int64_t timeout_ms;
	bool quiet; /* its stderr goes to /dev/null */
};

struct kgb_child_end {
	int exit_code; /* -1: it was ended by a signal */
	int term_signal; /* 0: it exited */
	int interrupted; /* the signal (SIGINT, SIGTERM, SIGHUP) that made us end it; 0: none */
};

/** Start, capture, wait. The child has its own process group, dies with us (parent-death signal),
 * and is ended as a group (TERM, 2 s later KILL) on timeout, over the limit, or when we are
 * interrupted; signals are held back from their default action meanwhile. Errors: NOT_FOUND, DENIED
 * (exec), TIMEOUT, LIMIT. Being interrupted is no error. */
KGB_MUST_CHECK int kgb_child_run(const struct kgb_child_spec *spec, struct kgb_buf *out,
				 struct kgb_child_end *end, struct kgb_err *err);

#endif
