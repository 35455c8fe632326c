/* SPDX-License-Identifier: MIT */
/** \file
 * Limits on all of a sandbox together: by cgroups where the caller may make some, else by scans of
 * /proc. A scan takes some milliseconds on a full machine, so one runs each second, and at once
 * when the machine as a whole has many more tasks or much less free memory than at the last one.
 *
 * Too many tasks end the whole sandbox: a fork bomb gets no second chance. Too much memory ends the
 * largest process, as the kernel does in a cgroup: a failing tool need not end its agent. */
#include "sandbox/launch/launch_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	TEXT_MAX = 4096,
	FILE_MAX = LAUNCH_PATH_MAX + 64,
	LOOK_MS = 50,
	SCAN_MS = 1000,
	SCAN_SHARE = 20, /* scans take at most 1/20 of all time */
	FIRST_NICE = -10,
	REMOVE_TRIES = 64,
	REMOVE_FIRST_NS = 100 * 1000,
	REMOVE_WAIT_NS = 10 * 1000 * 1000,
};

int64_t launch_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return 1000 * (int64_t)now.tv_sec + now.tv_nsec / 1000000;
}

/* The decimal number that follows `key`; -1 without it. */
static int64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	int64_t value = 0;

	if (!at)
		return -1;
	at += strlen(key);
	at += strspn(at, " \t");
	if (*at < '0' || *at > '9')
		return -1;
	for (; *at >= '0' && *at <= '9' && value < INT64_MAX / 16; at++)
		value = 10 * value + (*at - '0');
	return value;
}

/* ---- cgroups ---- */

static bool in_cgroup(const struct launch_watch *watch, int which)
{
	return watch->cgroups[which].parent != NULL;
}

/* A file of the cgroup that has this controller; NULL without one. */
static const char *cgroup_file(const struct launch_watch *watch, int version_1, const char *v2_name,
			       const char *v1_name, char *out)
{
	int which = in_cgroup(watch, CGROUP_V2) ? CGROUP_V2 : version_1;

	if (!in_cgroup(watch, which))
		return NULL;
	(void)snprintf(out, FILE_MAX, "%s/%s", watch->cgroups[which].path,
		       which == CGROUP_V2 ? v2_name : v1_name);
	return out;
}

static int64_t cgroup_number(const struct launch_watch *watch, int version_1, const char *v2_name,
			     const char *v1_name, const char *key)
{
	char path[FILE_MAX];
	char text[TEXT_MAX];

	if (!cgroup_file(watch, version_1, v2_name, v1_name, path) ||
	    kgb_proc_tree_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	return number_after(text, key);
}

static int write_number(const char *dir, const char *name, int64_t value)
{
	char path[FILE_MAX];
	char text[32];
	int len = snprintf(text, sizeof(text), "%lld", (long long)value);

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t written = write(fd, text, (size_t)len);
	int code = errno;
	(void)close(fd);
	errno = code;
	return written == len ? 0 : -1;
}

static int make_cgroup(struct launch_cgroup *cgroup, const char *parent, const char *entry)
{
	cgroup->dir_fd = cgroup->entry_fd = -1;
	if (!parent)
		return 0;
	if (snprintf(cgroup->path, sizeof(cgroup->path), "%s/kgb-%d", parent, getpid()) >=
	    (int)sizeof(cgroup->path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (mkdir(cgroup->path, 0755) < 0 && errno != EEXIST)
		return -1;
	cgroup->parent = parent;
	cgroup->dir_fd = open(cgroup->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->dir_fd < 0)
		return -1;
	cgroup->entry_fd = openat(cgroup->dir_fd, entry, O_WRONLY | O_CLOEXEC);
	return cgroup->entry_fd < 0 ? -1 : 0;
}

static int limit_v2(const struct launch_watch *watch)
{
	const char *dir = watch->cgroups[CGROUP_V2].path;

	if (watch->limits.n_tasks > 0 && write_number(dir, "pids.max", watch->limits.n_tasks) < 0)
		return -1;
	if (watch->limits.memory_bytes == 0)
		return 0;
	/* Close swap as a way around the limit, where it is accounted. */
	if (write_number(dir, "memory.swap.max", 0) < 0 && errno != ENOENT)
		return -1;
	return write_number(dir, "memory.max", watch->limits.memory_bytes);
}

static int limit_v1(const struct launch_watch *watch)
{
	const char *memory = watch->cgroups[CGROUP_MEMORY].path;
	int64_t bytes = watch->limits.memory_bytes;

	if (in_cgroup(watch, CGROUP_PIDS) && watch->limits.n_tasks > 0 &&
	    write_number(watch->cgroups[CGROUP_PIDS].path, "pids.max", watch->limits.n_tasks) < 0)
		return -1;
	if (!in_cgroup(watch, CGROUP_MEMORY) || bytes == 0)
		return 0;
	if (write_number(memory, "memory.limit_in_bytes", bytes) < 0)
		return -1;
	return write_number(memory, "memory.memsw.limit_in_bytes", bytes) < 0 && errno != ENOENT
		       ? -1
		       : 0;
}

int launch_watch_start(struct launch_watch *watch, const struct launch_limits *limits,
		       const char **what)
{
	memset(watch, 0, sizeof(*watch));
	watch->limits = *limits;
	watch->peak_tasks = watch->peak_memory_bytes = -1;
	*what = "make a cgroup";
	if (make_cgroup(&watch->cgroups[CGROUP_V2], limits->cgroup_v2, "cgroup.procs") < 0 ||
	    make_cgroup(&watch->cgroups[CGROUP_PIDS], limits->cgroup_pids, "tasks") < 0 ||
	    make_cgroup(&watch->cgroups[CGROUP_MEMORY], limits->cgroup_memory, "tasks") < 0)
		return -1;
	*what = "limit a cgroup";
	return in_cgroup(watch, CGROUP_V2) ? limit_v2(watch) : limit_v1(watch);
}

/* Moving a process makes the kernel wait for all processors, some ten milliseconds. A process that
 * is born in the cgroup (Linux 5.7) or, in version 1, a single thread that moves itself (5.4)
 * avoids that. */
pid_t launch_watch_fork(struct launch_watch *watch)
{
	const struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned)watch->cgroups[CGROUP_V2].dir_fd,
	};
	pid_t pid =
		in_cgroup(watch, CGROUP_V2) ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : -1;

	watch->born_inside = pid == 0;
	return pid < 0 ? fork() : pid;
}

int launch_watch_enter(const struct launch_watch *watch)
{
	for (int i = watch->born_inside ? CGROUP_V2 + 1 : 0; i < N_CGROUPS; i++)
		if (in_cgroup(watch, i) && write(watch->cgroups[i].entry_fd, "0", 1) != 1)
			return -1;
	return 0;
}

/* The watcher must not queue behind thousands of sandboxed processes. No real-time priority: a
 * program that makes refused calls keeps the watcher busy. This works for root only, whom
 * RLIMIT_NPROC does not limit; children do not inherit it. */
static void go_first(const struct launch_watch *watch)
{
	const struct sched_param param = {0};

	if (launch_watch_interval_ms(watch) >= 0 &&
	    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param) == 0)
		(void)setpriority(PRIO_PROCESS, 0, FIRST_NICE);
}

void launch_watch_started(struct launch_watch *watch)
{
	go_first(watch);
	/* A command that ends before the first scan needs none. */
	watch->last_look_ms = launch_now_ms();
	for (int i = 0; i < N_CGROUPS; i++) {
		if (!in_cgroup(watch, i))
			continue;
		(void)close(watch->cgroups[i].dir_fd);
		(void)close(watch->cgroups[i].entry_fd);
	}
}

void launch_watch_kill(const struct launch_watch *watch)
{
	if (in_cgroup(watch, CGROUP_V2)) /* ENOENT before Linux 5.14 */
		(void)write_number(watch->cgroups[CGROUP_V2].path, "cgroup.kill", 1);
}

/* ---- scans ---- */

static bool counts_tasks(const struct launch_watch *watch)
{
	return watch->limits.n_tasks > 0 && !in_cgroup(watch, CGROUP_V2) &&
	       !in_cgroup(watch, CGROUP_PIDS);
}

static bool counts_memory(const struct launch_watch *watch)
{
	return watch->limits.memory_bytes > 0 && !in_cgroup(watch, CGROUP_V2) &&
	       !in_cgroup(watch, CGROUP_MEMORY);
}

int launch_watch_interval_ms(const struct launch_watch *watch)
{
	const struct launch_limits *limits = &watch->limits;

	return limits->n_tasks > 0 || limits->memory_bytes > 0 || limits->nameless_bytes > 0
		       ? LOOK_MS
		       : -1;
}

/* "0.00 0.01 0.05 2/345 6789": all tasks of the machine; -1: unknown. */
static int64_t machine_tasks(void)
{
	char text[TEXT_MAX];

	return kgb_proc_tree_read_text(AT_FDCWD, "/proc/loadavg", text, sizeof(text)) > 0
		       ? number_after(text, "/")
		       : -1;
}

static int64_t available_bytes(void)
{
	char text[TEXT_MAX];

	if (kgb_proc_tree_read_text(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) <= 0)
		return -1;
	int64_t kilobytes = number_after(text, "MemAvailable:");
	return kilobytes < 0 ? -1 : 1024 * kilobytes;
}

/* Returns true when the machine's change since the last scan may be the sandbox's. */
static bool is_urgent(const struct launch_watch *watch)
{
	if (counts_tasks(watch) &&
	    machine_tasks() - watch->machine_tasks > watch->limits.n_tasks / 4)
		return true;
	return counts_memory(watch) &&
	       watch->available_bytes - available_bytes() > watch->limits.memory_bytes / 4;
}

static bool broken(struct launch_watch *watch, const char *limit, int64_t value, int64_t seen)
{
	watch->limit = limit;
	watch->limit_value = value;
	watch->limit_seen = seen;
	return true;
}

/* The processes of the sandbox: a cgroup holds these and no others. */
static int read_tree(struct launch_watch *watch)
{
	char path[FILE_MAX];

	for (int i = 0; i < N_CGROUPS; i++) {
		if (!in_cgroup(watch, i))
			continue;
		(void)snprintf(path, sizeof(path), "%s/cgroup.procs", watch->cgroups[i].path);
		if (kgb_proc_tree_of_cgroup(&watch->tree, path) == 0)
			return 0;
	}
	return kgb_proc_tree_scan(&watch->tree, getpid());
}

static int64_t private_bytes(const struct kgb_proc_tree_process *process)
{
	int64_t bytes = kgb_proc_tree_private_bytes(process->seen_by);

	return bytes >= 0 ? bytes : process->rss_pages * sysconf(_SC_PAGESIZE);
}

/* Never choose bwrap or the sandbox's first process. */
static bool is_kept(const struct kgb_proc_tree *tree, const struct kgb_proc_tree_process *process)
{
	const struct kgb_proc_tree_process *parent = kgb_proc_tree_find(tree, process->parent);

	return !parent || parent->parent == getpid();
}

/* Another process may have taken this number since the scan: pin it by a descriptor and check that
 * it still belongs to the sandbox. True when it was killed. */
static bool end_process(struct launch_watch *watch, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return false;
	bool ended = read_tree(watch) == 0 && kgb_proc_tree_find(&watch->tree, pid) &&
		     syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
	(void)close(fd);
	return ended;
}

/* Kill the largest process when all together use more memory than allowed. Shared memory counts for
 * each of its users at first, and is divided among them only when the sum is too large. */
static void check_memory(struct launch_watch *watch, int64_t nameless_bytes)
{
	const struct kgb_proc_tree *tree = &watch->tree;
	int64_t sum = nameless_bytes + kgb_proc_tree_rss_pages(tree) * sysconf(_SC_PAGESIZE);
	const struct kgb_proc_tree_process *largest = NULL;
	int64_t most = -1;

	/* The kernel needs a moment to free much memory: kill one at a time. */
	if (kgb_proc_tree_find(tree, watch->victim))
		return;

	if (sum > watch->limits.memory_bytes) {
		sum = nameless_bytes;
		for (size_t i = 0; i < tree->n; i++) {
			int64_t bytes = private_bytes(&tree->items[i]);
			sum += bytes;
			if (bytes > most && !is_kept(tree, &tree->items[i])) {
				most = bytes;
				largest = &tree->items[i];
			}
		}
	}
	if (sum > watch->peak_memory_bytes)
		watch->peak_memory_bytes = sum;
	if (sum <= watch->limits.memory_bytes || !largest)
		return;
	pid_t pid = largest->pid;
	if (end_process(watch, pid)) {
		watch->n_oom_kills++;
		watch->victim = pid;
	}
	watch->last_scan_ms = 0; /* scan again at once: one kill may not be enough */
}

static bool scan(struct launch_watch *watch)
{
	struct kgb_proc_tree_nameless nameless = {0};
	int64_t start_ms = launch_now_ms();

	watch->machine_tasks = machine_tasks();
	watch->available_bytes = available_bytes();
	if (read_tree(watch) < 0)
		return false;
	int64_t n = kgb_proc_tree_tasks(&watch->tree);
	if (n > watch->peak_tasks)
		watch->peak_tasks = n;
	if (counts_tasks(watch) && n > watch->limits.n_tasks)
		return broken(watch, "processes", watch->limits.n_tasks, n);
	if (watch->limits.nameless_bytes > 0 || counts_memory(watch))
		kgb_proc_tree_nameless(&watch->tree, &nameless);
	if (nameless.is_partial)
		return broken(watch, "files", KGB_TREE_NAMELESS_MAX, KGB_TREE_NAMELESS_MAX);
	if (watch->limits.nameless_bytes > 0 && nameless.disk_bytes > watch->limits.nameless_bytes)
		return broken(watch, "disk", watch->limits.nameless_bytes, nameless.disk_bytes);
	int64_t end_ms = launch_now_ms();
	watch->last_scan_ms = end_ms + SCAN_SHARE * (end_ms - start_ms);
	if (counts_memory(watch))
		check_memory(watch, nameless.memory_bytes);
	return false;
}

/* Returns true when the kernel has refused a new process. */
static bool tasks_were_refused(struct launch_watch *watch)
{
	return watch->limits.n_tasks > 0 &&
	       cgroup_number(watch, CGROUP_PIDS, "pids.events", "pids.events", "max") > 0 &&
	       broken(watch, "processes", watch->limits.n_tasks, watch->limits.n_tasks);
}

bool launch_watch_look(struct launch_watch *watch)
{
	bool scans =
		counts_tasks(watch) || counts_memory(watch) || watch->limits.nameless_bytes > 0;

	if (watch->limit)
		return true;
	/* The launcher wakes up for each system call that it answers. */
	if (launch_now_ms() - watch->last_look_ms < LOOK_MS)
		return false;
	watch->last_look_ms = launch_now_ms();
	if (tasks_were_refused(watch))
		return true;
	if (!scans || (launch_now_ms() - watch->last_scan_ms < SCAN_MS && !is_urgent(watch)))
		return false;
	return scan(watch);
}

/* ---- the end ---- */

/* Returns true when no process is left in it; the kernel needs a moment to forget the last. */
static bool remove_cgroup(const struct launch_cgroup *cgroup)
{
	struct timespec pause = {.tv_nsec = REMOVE_FIRST_NS};

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (rmdir(cgroup->path) == 0 || errno == ENOENT)
			return true;
		if (errno != EBUSY)
			break;
		(void)nanosleep(&pause, NULL);
		if (pause.tv_nsec < REMOVE_WAIT_NS)
			pause.tv_nsec *= 2;
	}
	return false;
}

void launch_watch_finish(struct launch_watch *watch, int status_fd)
{
	bool any = false;
	bool empty = true;

	/* Scan once more: a shell that cannot fork may have given up before a scan. */
	if (!watch->limit)
		(void)tasks_were_refused(watch);
	int64_t n_oom = cgroup_number(watch, CGROUP_MEMORY, "memory.events", "memory.oom_control",
				      "oom_kill ");
	int64_t memory =
		cgroup_number(watch, CGROUP_MEMORY, "memory.peak", "memory.max_usage_in_bytes", "");
	int64_t tasks = cgroup_number(watch, CGROUP_PIDS, "pids.peak", "pids.peak", "");
	n_oom = n_oom > 0 ? n_oom : watch->n_oom_kills;
	memory = memory >= 0 ? memory : watch->peak_memory_bytes;
	tasks = tasks >= 0 ? tasks : watch->peak_tasks;
	for (int i = 0; i < N_CGROUPS; i++) {
		if (!in_cgroup(watch, i))
			continue;
		any = true;
		empty = remove_cgroup(&watch->cgroups[i]) && empty;
	}
	kgb_proc_tree_release(&watch->tree);
	if (status_fd < 0)
		return;
	if (watch->limit)
		(void)dprintf(
			status_fd, "{\"limit\":\"%s\",\"limit-value\":%lld,\"limit-seen\":%lld}\n",
			watch->limit, (long long)watch->limit_value, (long long)watch->limit_seen);
	(void)dprintf(status_fd,
		      "{\"oom-kills\":%lld,\"peak-memory-bytes\":%lld,\"peak-tasks\":%lld%s}\n",
		      (long long)n_oom, (long long)memory, (long long)tasks,
		      !any    ? ""
		      : empty ? ",\"cgroup-empty\":true"
			      : ",\"cgroup-empty\":false");
}
