/* SPDX-License-Identifier: MIT */
/** \file
 * System calls that the sandbox's filter refuses or reports.
 */
#ifndef KGB_SANDBOX_LAUNCH_LAUNCH_CALLS_H
#define KGB_SANDBOX_LAUNCH_LAUNCH_CALLS_H

#include <stddef.h>
#include <stdint.h>

enum { CALLS_KINDS_MAX = 64, CALLS_TEXT_MAX = 112, PRIVATE_PATHS_MAX = 8 };

/** System calls on which the filter asked the launcher. */
struct launch_calls {
	int socket_fd; /* delivers the listener; -1: none expected, or it has arrived */
	int listener_fd; /* -1: not here */
	/* Directories of the host: every attempt to open a file below is recorded. */
	const char *private_paths[PRIVATE_PATHS_MAX + 1]; /* the list ends with NULL */
	size_t n_kinds;
	struct {
		char name[32]; /* "ptrace", "socket.raw", "connect" */
		char detail[CALLS_TEXT_MAX];
		int64_t count;
	} kinds[CALLS_KINDS_MAX];
	int64_t n_more; /* when the table was full */
};

/** The descriptor to poll for reading, -1: none. */
int launch_calls_fd(const struct launch_calls *calls);
/** It is readable, or hung up. */
void launch_calls_serve(struct launch_calls *calls);
/** One JSON line for each kind. */
void launch_calls_finish(struct launch_calls *calls, int status_fd);

#endif
