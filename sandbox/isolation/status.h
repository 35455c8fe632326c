/* SPDX-License-Identifier: MIT */
/** \file
 * Reads the status stream of a sandbox: one JSON object per line, written by bwrap
 * (--json-status-fd) and kgb-launch. Unknown members are ignored, bad lines counted.
 */
#ifndef KGB_SANDBOX_ISOLATION_STATUS_H
#define KGB_SANDBOX_ISOLATION_STATUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/formats/lines.h"

#define KGB_SANDBOX_PROBES_MAX 65

/** System calls of one kind that were refused or recorded. */
struct kgb_sandbox_probe {
	char name[32]; /* "ptrace", "socket.raw", "network", ... */
	char detail[112]; /* "192.0.2.1:80"; "" where there is none */
	int64_t count;
};

struct kgb_sandbox_status {
	struct kgb_lines lines;
	pid_t init_pid; /* the sandbox's first process, numbered as here; 0: unknown yet */
	uint64_t pidns_inode; /* 0: unknown yet */
	int exit_code; /* the program's exit status from bwrap: 128+N for signal N; -1: unknown */
	bool tree_empty; /* the launcher reaped everything below it */
	int64_t user_ms; /* processor time and memory of the whole tree; -1: unknown */
	int64_t sys_ms;
	int64_t max_rss_bytes;
	/* Use of all processes together, and actions on limits; -1: unknown. */
	int64_t peak_memory_bytes;
	int64_t peak_tasks;
	int64_t n_oom_kills; /* processes that ended for lack of memory */
	int cgroup_empty; /* 1: its cgroup was empty at the end and was removed, 0: not, -1: no
			     cgroup */
	char limit[16]; /* the limit that ended it: "processes", "disk"; "": none */
	int64_t limit_value, limit_seen;
	struct kgb_sandbox_probe probes[KGB_SANDBOX_PROBES_MAX];
	size_t n_probes;
	char error[256]; /* why the launcher could not start the sandbox; "" if it started */
	int64_t n_bad_lines;
};

void kgb_sandbox_status_init(struct kgb_sandbox_status *status);
void kgb_sandbox_status_feed(struct kgb_sandbox_status *status, const char *data, size_t len);
void kgb_sandbox_status_release(struct kgb_sandbox_status *status);

#endif
