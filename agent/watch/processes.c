/* SPDX-License-Identifier: MIT */
#include "agent/watch/processes.h"

#include "base/time.h"

int kgb_processes_below(struct kgb_processes *processes, int64_t max_age_ms, pid_t root,
			struct kgb_proc_tree *out, int64_t *taken_ms)
{
	int64_t now_ms = kgb_mono_ms();
	if (processes->taken_ms == 0 || now_ms - processes->taken_ms >= max_age_ms) {
		processes->taken_ms = 0;
		if (kgb_proc_tree_read(&processes->all) < 0)
			return -1;
		processes->taken_ms = now_ms;
	}
	if (kgb_proc_tree_below(&processes->all, root, out) < 0)
		return -1;
	*taken_ms = processes->taken_ms;
	return 0;
}

void kgb_processes_release(struct kgb_processes *processes)
{
	kgb_proc_tree_release(&processes->all);
	processes->taken_ms = 0;
}
