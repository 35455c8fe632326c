/* SPDX-License-Identifier: MIT */
/** \file
 * Kills what is below the launcher.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/isolation/launch_internal.h"

enum { TEXT_MAX = 256 };

/* Parent of a process from /proc/PID/stat, 0 when it is gone. */
static pid_t parent_of(const char *pid)
{
	char path[TEXT_MAX];
	char text[TEXT_MAX];
	pid_t parent = 0;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* "pid (name) S ppid": the name may hold brackets and blanks. */
	const char *end = strrchr(text, ')');
	if (!end || strlen(end) < sizeof(") S "))
		return 0;
	for (const char *digit = end + sizeof(") S ") - 1; *digit >= '0' && *digit <= '9'; digit++)
		parent = 10 * parent + (*digit - '0');
	return parent;
}

/* Kill each child, also those inherited as a subreaper. They cannot be reused numbers: only we reap
 * them. */
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
		if (pid > 0 && !*digit && parent_of(entry->d_name) == getpid())
			(void)kill(pid, SIGKILL);
	}
	(void)closedir(proc);
}

/* Without a PID namespace: each process below, however deep; killing only children would leave the
 * next generation the time to have another. */
void launch_kill_descendants(void)
{
	struct kgb_tree tree = KGB_TREE_INIT;

	if (kgb_tree_scan(&tree, getpid()) < 0)
		return;
	for (size_t i = 0; i < tree.n; i++) {
		char pid[TEXT_MAX];
		(void)snprintf(pid, sizeof(pid), "%d", tree.items[i].pid);
		/* The descriptor pins the process; its parent is looked at again under that pin. */
		int fd = (int)syscall(SYS_pidfd_open, tree.items[i].pid, 0);
		if (fd >= 0 && parent_of(pid) == tree.items[i].parent)
			(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		if (fd >= 0)
			(void)close(fd);
	}
	kgb_tree_release(&tree);
}
