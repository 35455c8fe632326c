/* SPDX-License-Identifier: MIT */
/** \file
 * From a policy to a command: `kgb-launch ... -- bwrap ... -- argv`, the environment, and the
 * descriptors it needs. kgb-launch is our small supervisor (dies with us, makes the network
 * namespace, applies limits, kills and reaps the tree); bubblewrap makes the namespaces and mounts.
 *
 * Synchronous callers (kgb-judge) use kgb_sandbox_spawn; the orchestrator uses
 * sandbox/isolation/launch.h.
 */
#ifndef KGB_SANDBOX_ISOLATION_BWRAP_H
#define KGB_SANDBOX_ISOLATION_BWRAP_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "sandbox/isolation/policy.h"

#define KGB_SANDBOX_FDS_MAX 32

/** One descriptor of the child: our descriptor `from` becomes `to` there. */
struct kgb_fdmap {
	int from;
	int to;
	bool owned; /* closed by kgb_sandbox_release */
};

struct kgb_sandbox_spec {
	const struct kgb_policy *policy;
	const char *launcher; /* path of kgb-launch; NULL: beside the running program */
	const char *bwrap; /* path of bwrap; NULL: $KGB_BWRAP, else found in $PATH */
	int stdio[3]; /* our descriptors for 0, 1, 2 (borrowed); -1: /dev/null */
	/** More descriptors for the program inside: `from` is borrowed, `to` >= 3. */
	struct kgb_fdmap pass[8];
	size_t n_pass;
};

/** A prepared command. Reuse is not possible: descriptors are consumed by the child. */
struct kgb_sandbox {
	struct kgb_strv argv;
	/** "NAME=value". Given as environment, so that no value shows in a list of processes. */
	struct kgb_strv env;
	struct kgb_fdmap fds[KGB_SANDBOX_FDS_MAX];
	size_t n_fds;
	int status_fd; /* ours: read end of the status stream, see status.h; owned */
	int listen_fd; /* ours: where the listening socket arrives, -1 without a listener; owned */
};
#define KGB_SANDBOX_INIT                         \
	{                                        \
		.status_fd = -1, .listen_fd = -1 \
	}

/** Path of bwrap: `given`, else $KGB_BWRAP, else from $PATH; malloc'ed. NULL and UNAVAILABLE when
 * there is none. */
char *kgb_sandbox_find_bwrap(const char *given, struct kgb_err *err);

/** Check the policy and prepare everything. On failure *sandbox needs no release. UNAVAILABLE names
 * the fix when bwrap or kgb-launch is missing. */
KGB_MUST_CHECK int kgb_sandbox_prepare(struct kgb_sandbox *sandbox,
				       const struct kgb_sandbox_spec *spec, struct kgb_err *err);
/** The child has its descriptors: close our copies (not status_fd and listen_fd). */
void kgb_sandbox_close_child_fds(struct kgb_sandbox *sandbox);
void kgb_sandbox_release(struct kgb_sandbox *sandbox);
void kgb_auto_sandbox(struct kgb_sandbox *sandbox);

/** Only the bwrap part (`bwrap` options, `--`, the policy's command), for display and tests.
 * `status_fd` and `seccomp_fd` are numbers in the child, -1 leaves the option out. Text of
 * KGB_MOUNT_DATA comes from the descriptors `data_fds`, one per such mount in order. Appends to
 * *argv. */
void kgb_bwrap_argv(const struct kgb_policy *policy, const char *bwrap, int status_fd,
		    int seccomp_fd, const int *data_fds, struct kgb_strv *argv);

/** Fork and execute a prepared sandbox; child descriptors are closed here. *out_pid is the
 * launcher: SIGTERM ends the whole sandbox by SIGKILL, it exits (with the program's status, 128+N
 * for signal N) only when every process of the sandbox is gone. If we die, it does the same. The
 * caller reaps it with waitpid. */
KGB_MUST_CHECK int kgb_sandbox_spawn(struct kgb_sandbox *sandbox, pid_t *out_pid,
				     struct kgb_err *err);

/** Receive the listening socket that the launcher sends (blocking; close-on-exec is set). TIMEOUT
 * after timeout_ms. */
KGB_MUST_CHECK int kgb_sandbox_recv_listener(int socket_fd, int timeout_ms, int *out_fd,
					     struct kgb_err *err);

#endif
