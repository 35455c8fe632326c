/* SPDX-License-Identifier: MIT */
/** \file
 * The processes below a process and their resources, from /proc. Plain C without any other part of
 * this project: kgb-launch watches limits with it, kgb-agent distinguishes a hung agent from a busy
 * one. */
#ifndef KGB_BASE_SYSTEM_PROC_TREE_H
#define KGB_BASE_SYSTEM_PROC_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kgb_proc_tree_process {
	pid_t pid;
	pid_t parent;
	pid_t seen_by; /* its number, or that of a live thread after the first one has ended: /proc
			  shows memory and files there */
	char state; /* of ps: R S D T ... */
	char name[16]; /* set by the process; any bytes */
	int32_t n_threads;
	int64_t cpu_ticks; /* of the process and the children that it has reaped */
	int64_t rss_pages;
	uint8_t mark; /* internal */
};

struct kgb_proc_tree {
	struct kgb_proc_tree_process *items; /* by pid */
	size_t n;
	size_t cap;
};
#define KGB_TREE_INIT \
	{             \
		0     \
	}

/** Fill with all processes of the machine, for kgb_proc_tree_below. Sizes are those of one moment
 * only as far as /proc has one. -1 with errno when /proc cannot be read or memory is short. */
int kgb_proc_tree_read(struct kgb_proc_tree *tree);
/** Select the live processes below `root`, without `root`. -1 with errno when memory is short. */
int kgb_proc_tree_below(const struct kgb_proc_tree *all, pid_t root, struct kgb_proc_tree *out);
/** Both at once, for one root. */
int kgb_proc_tree_scan(struct kgb_proc_tree *tree, pid_t root);
/** Fill with the processes of a cgroup, by its file cgroup.procs: the cost does not depend on the
 * machine's other processes. Fails as kgb_proc_tree_read. */
int kgb_proc_tree_of_cgroup(struct kgb_proc_tree *tree, const char *procs_path);
void kgb_proc_tree_release(struct kgb_proc_tree *tree);
/** A process by its number, borrowed; NULL: not in the list. */
const struct kgb_proc_tree_process *kgb_proc_tree_find(const struct kgb_proc_tree *tree, pid_t pid);
/** Parent of any process, now; 0 when it is gone. */
pid_t kgb_proc_tree_parent(pid_t pid);
/** The first bytes of a file of the kernel as text, at most size - 1 of them: their number, or -1
 * with errno. */
ssize_t kgb_proc_tree_read_text(int dir_fd, const char *path, char *text, size_t size);

/** Threads of all of them. */
int64_t kgb_proc_tree_tasks(const struct kgb_proc_tree *tree);
/** Resident pages of all of them; shared pages count for each. */
int64_t kgb_proc_tree_rss_pages(const struct kgb_proc_tree *tree);

/** Proportional memory of one process (by its seen_by) without pages of files, in bytes; -1 when
 * unknown (an old kernel, a process that is gone). Costs some 0.1 ms for each GB. */
int64_t kgb_proc_tree_private_bytes(pid_t seen_by);

/** Total bytes that one process and the children it has reaped read from and wrote to disks; -1
 * when unknown. */
int64_t kgb_proc_tree_io_bytes(pid_t pid);

/** Most nameless files to distinguish. */
enum { KGB_TREE_NAMELESS_MAX = 8192 };

/** Bytes of files without a name (memory files, and deleted ones that are still open, or mapped and
 * on a disk): of all processes of the tree, each file once. Files that are only mapped count only
 * with CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
struct kgb_proc_tree_nameless {
	int64_t memory_bytes;
	int64_t disk_bytes;
	bool is_partial; /* the tree exceeded the caps: the sizes are too small */
};
void kgb_proc_tree_nameless(const struct kgb_proc_tree *tree, struct kgb_proc_tree_nameless *out);

#endif
