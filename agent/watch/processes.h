/* SPDX-License-Identifier: MIT */
/** \file
 * The processes of the machine, read once for all attempts of a run: reading /proc costs a
 * millisecond for some hundred processes. Loop thread only.
 */
#ifndef KGB_AGENT_WATCH_PROCESSES_H
#define KGB_AGENT_WATCH_PROCESSES_H

#include "base/system/proc_tree.h"

struct kgb_processes {
	struct kgb_proc_tree all;
	int64_t taken_ms; /* when; monotonic, 0: never */
};

/** Fill with the processes below `root` as they were at most max_age_ms ago (0: as they are);
 * *taken_ms is when that was. -1, with both left alone, when /proc cannot be read. */
int kgb_processes_below(struct kgb_processes *processes, int64_t max_age_ms, pid_t root,
			struct kgb_proc_tree *out, int64_t *taken_ms);
void kgb_processes_release(struct kgb_processes *processes);

#endif
