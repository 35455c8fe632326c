/* SPDX-License-Identifier: MIT */
/** \file
 * Kills what is below the launcher.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/launch/launch_internal.h"

void launch_kill_children(void)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return;
	for (struct dirent *entry; (entry = readdir(proc));) {
		pid_t pid = 0;
		const char *digit = entry->d_name;
		for (; *digit >= '0' && *digit <= '9'; digit++)
			pid = 10 * pid + (*digit - '0');
		if (pid > 0 && !*digit && kgb_proc_tree_parent(pid) == getpid())
			(void)kill(pid, SIGKILL);
	}
	(void)closedir(proc);
}
