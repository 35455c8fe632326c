/* SPDX-License-Identifier: MIT */
/** \file
 * Limits on all processes of a sandbox together.
 */
#ifndef KGB_SANDBOX_LAUNCH_LAUNCH_LIMITS_H
#define KGB_SANDBOX_LAUNCH_LAUNCH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/system/proc_tree.h"

#define LAUNCH_PATH_MAX 4096

/** Limits of all processes below the launcher together; 0: none. */
struct launch_limits {
	int64_t n_tasks; /* processes and threads */
	int64_t memory_bytes;
	int64_t nameless_bytes; /* of deleted files on a disk */
	/* Existing cgroup directories in which one is made for the sandbox; NULL: none. */
	const char *cgroup_v2;
	const char *cgroup_pids; /* of version 1, as the next */
	const char *cgroup_memory;
};

struct launch_cgroup {
	const char *parent; /* NULL: not used */
	char path[LAUNCH_PATH_MAX];
	int dir_fd;
	int entry_fd; /* a write there enters it */
};
enum { CGROUP_V2, CGROUP_PIDS, CGROUP_MEMORY, N_CGROUPS };

struct launch_watch {
	struct launch_limits limits;
	struct launch_cgroup cgroups[N_CGROUPS];
	bool born_inside; /* in the command's process: of the version 2 cgroup */
	struct kgb_proc_tree tree;
	int64_t last_look_ms, last_scan_ms;
	int64_t machine_tasks, available_bytes; /* at the last scan */
	int64_t peak_tasks, peak_memory_bytes; /* highest of all scans; -1: unknown */
	int64_t n_oom_kills; /* killed by the launcher */
	pid_t victim; /* process killed last; 0: none */
	const char *limit; /* the one that ended the sandbox: "processes", ...; NULL: none */
	int64_t limit_value, limit_seen;
};

/** Milliseconds of the monotonic clock. */
int64_t launch_now_ms(void);
/** Make the cgroups with their limits. 0, or -1 with errno and *what. */
int launch_watch_start(struct launch_watch *watch, const struct launch_limits *limits,
		       const char **what);
/** As fork(), into the version 2 cgroup where the kernel can. */
pid_t launch_watch_fork(struct launch_watch *watch);
/** In the command's process: enter the others. 0, or -1 with errno. */
int launch_watch_enter(const struct launch_watch *watch);
/** In the launcher, once the command has been started. */
void launch_watch_started(struct launch_watch *watch);
/** Milliseconds until launch_watch_look is due, -1: never. */
int launch_watch_interval_ms(const struct launch_watch *watch);
/** Scan; true when a broken limit ends everything (`limit` names it). */
bool launch_watch_look(struct launch_watch *watch);
/** Send SIGKILL to all of a version 2 cgroup; without one do nothing. */
void launch_watch_kill(const struct launch_watch *watch);
/** After the last process: write the figures as JSON lines and remove the cgroups. */
void launch_watch_finish(struct launch_watch *watch, int status_fd);

#endif
