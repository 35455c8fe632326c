/* SPDX-License-Identifier: MIT */
/** \file
 * From a policy to a command: `kgb-launch ... -- bwrap ... -- argv`, the environment, and the
 * descriptors it needs. kgb-launch is our small supervisor (dies with us, makes the network
 * namespace, applies limits, kills and reaps the tree); bubblewrap makes the namespaces and mounts.
 *
 * Synchronous callers (kgb-judge) use kgb_sandbox_spawn; the orchestrator uses
 * sandbox/spawn/sandbox_child.h.
 */
#ifndef KGB_SANDBOX_ISOLATION_BWRAP_H
#define KGB_SANDBOX_ISOLATION_BWRAP_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/proc.h"
#include "sandbox/isolation/policy.h"
#include "sandbox/isolation/status.h"

/** Confinement besides the namespaces, as found by probing (sandbox/isolation/ladder.h). */
struct kgb_confinement {
	int landlock_abi; /* 0: no Landlock rules */
	bool watch_calls; /* system calls that are refused are counted and named in the status */
	/* Directories in which the launcher makes cgroups; "": none. */
	char cgroup_v2[256];
	char cgroup_pids[256]; /* of version 1, as the next */
	char cgroup_memory[256];
};

#define KGB_PRIVATE_PATHS_MAX 4

struct kgb_sandbox_spec {
	const struct kgb_policy *policy;
	/* Path of kgb-launch, with kgb-confine beside it; NULL: that of the installation. */
	const char *launcher;
	const char *bwrap; /* path of bwrap; NULL: $KGB_BWRAP, else found in $PATH */
	/** NULL: namespaces and the system-call filter alone. Not for policies that allow nested
	 * user namespaces: Landlock forbids mounts. */
	const struct kgb_confinement *confinement;
	/** With a confinement that watches calls: also record opened files that hold keys or lie
	 * below these directories of the host (absolute, borrowed). Costs about 25 us for each
	 * opened file. */
	bool watch_files;
	const char *private_paths[KGB_PRIVATE_PATHS_MAX];
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
	struct kgb_fdmap fds[KGB_PROC_FDS_MAX];
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

struct kgb_bwrap_options {
	const char *bwrap;
	/* Numbers in the child; -1 leaves the option out. */
	int status_fd;
	int seccomp_fd;
	/* Contents of KGB_MOUNT_DATA and _COPY, one per such mount in order; -1 leaves it out. */
	const int *data_fds;
	const char *confiner; /* NULL: no kgb-confine */
	const struct kgb_strv *confine_args; /* its options */
};
/** Only the bwrap part (`bwrap` options, `--`, the policy's command), for display and tests.
 * Appends to *argv. */
void kgb_bwrap_argv(const struct kgb_policy *policy, const struct kgb_bwrap_options *options,
		    struct kgb_strv *argv);
/** Options of kgb-confine that allow what the policy's mounts show. Appends to *args. */
void kgb_confine_args(const struct kgb_policy *policy, int landlock_abi, struct kgb_strv *args);

/** Fork and execute a prepared sandbox; child descriptors are closed here. *out_pid is the
 * launcher: SIGTERM ends the whole sandbox by SIGKILL, it exits (with the program's status, 128+N
 * for signal N) only when every process of the sandbox is gone. It does the same if this process
 * dies. The caller reaps it. */
KGB_MUST_CHECK int kgb_sandbox_spawn(struct kgb_sandbox *sandbox, pid_t *out_pid,
				     struct kgb_err *err);

/** Run a sandbox to its end. Its stdout, and its stderr if asked for, go to *out as far as the cap
 * allows, the launcher's reports to *status, which the caller has initialised. *exit_code is the
 * launcher's. TIMEOUT when it had to be killed after timeout_ms. */
KGB_MUST_CHECK int kgb_sandbox_run(const struct kgb_sandbox_spec *spec, bool with_stderr,
				   int64_t timeout_ms, struct kgb_buf *out,
				   struct kgb_sandbox_status *status, int *exit_code,
				   struct kgb_err *err);

/** Receive the listening socket that the launcher sends (blocking; close-on-exec is set). TIMEOUT
 * after timeout_ms. */
KGB_MUST_CHECK int kgb_sandbox_recv_listener(int socket_fd, int timeout_ms, int *out_fd,
					     struct kgb_err *err);

#endif
