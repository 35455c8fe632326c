/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/pidns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/proc_tree.h"

enum { PATH_LEN = 64, NESTING_MAX = 32, PID_MAX_POSSIBLE = 1 << 22 };

/* Descriptor of a process's PID namespace, -1 with errno. */
static int open_pidns(pid_t pid)
{
	char path[PATH_LEN];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int kgb_pidns_hold(pid_t pid, uint64_t *inode)
{
	KGB_AUTO(fd) int fd = open_pidns(pid);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (*inode != 0 && st.st_ino != *inode))
		return -1;
	*inode = st.st_ino;
	return kgb_take_fd(&fd);
}

/* Whether the process is in the namespace `inode`, or in one that was made inside it. */
static bool lives_in(pid_t pid, uint64_t inode)
{
	int fd = open_pidns(pid);

	for (int level = 0; fd >= 0 && level < NESTING_MAX; level++) {
		struct stat st;
		if (fstat(fd, &st) == 0 && st.st_ino == inode) {
			kgb_close(fd);
			return true;
		}
		/* EPERM at our own namespace, which ends the walk. */
		int parent = ioctl(fd, NS_GET_PARENT);
		kgb_close(fd);
		fd = parent;
	}
	kgb_close(fd);
	return false;
}

/* The next numeric entry of /proc, 0 at the end. */
static pid_t next_process(DIR *proc)
{
	for (struct dirent *entry; (entry = readdir(proc));) {
		int64_t pid = 0;
		if (kgb_parse_i64(entry->d_name, 1, PID_MAX_POSSIBLE, &pid, NULL) == 0)
			return (pid_t)pid;
	}
	return 0;
}

int kgb_pidns_count(uint64_t inode)
{
	DIR *proc = opendir("/proc");
	int n = 0;

	if (!proc)
		return -1;
	for (pid_t pid; (pid = next_process(proc));)
		n += lives_in(pid, inode);
	closedir(proc);
	return n;
}

void kgb_pidns_kill(uint64_t inode)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return;
	bool ours = lives_in(getpid(), inode);
	for (pid_t pid; !ours && (pid = next_process(proc));) {
		if (!lives_in(pid, inode))
			continue;
		/* The descriptor pins the process; read its namespace again under that pin. */
		KGB_AUTO(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pidfd >= 0 && lives_in(pid, inode))
			(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	}
	closedir(proc);
}

int kgb_pidns_signal_children(pid_t parent, int signo)
{
	DIR *proc = opendir("/proc");
	int n = 0;

	if (!proc)
		return 0;
	for (pid_t pid; (pid = next_process(proc));) {
		if (kgb_proc_tree_parent(pid) != parent)
			continue;
		/* The descriptor pins the process; read its parent again under that pin. */
		KGB_AUTO(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pidfd >= 0 && kgb_proc_tree_parent(pid) == parent)
			n += syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0) == 0;
	}
	closedir(proc);
	return n;
}
