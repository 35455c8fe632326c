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

/* Without a PID namespace: each process below, however deep; killing only children would leave the
 * next generation the time to have another. */
void launch_kill_descendants(void)
{
	struct kgb_proc_tree tree = KGB_TREE_INIT;

	if (kgb_proc_tree_scan(&tree, getpid()) < 0)
		return;
	for (size_t i = 0; i < tree.n; i++) {
		const struct kgb_proc_tree_process *process = &tree.items[i];
		/* The descriptor pins the process; its parent is looked at again under that pin. */
		int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
		if (fd >= 0 && kgb_proc_tree_parent(process->pid) == process->parent)
			(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		if (fd >= 0)
			(void)close(fd);
	}
	kgb_proc_tree_release(&tree);
}
