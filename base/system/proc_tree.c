/* SPDX-License-Identifier: MIT */
#include "base/system/proc_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	PATH_LEN = 64,
	NAME_LEN = 16, /* of a number */
	STAT_LEN = 1024,
	ROLLUP_LEN = 4096,
	CAP_FIRST = 1024,
	LOOKS_MAX = 1 << 18, /* descriptors and deleted mappings; bounds the work that a process can
				cause */
	TMPFS_MAGIC_NUMBER = 0x01021994,
};

enum mark { UNKNOWN, INSIDE, OUTSIDE };

/* A decimal number after blanks; moves *text behind it. */
static int64_t next_number(const char **text)
{
	int64_t value = 0;
	bool negative = false;

	while (**text == ' ')
		(*text)++;
	if (**text == '-') {
		negative = true;
		(*text)++;
	}
	for (; **text >= '0' && **text <= '9'; (*text)++)
		value = value < INT64_MAX / 16 ? 10 * value + (**text - '0') : value;
	return negative ? -value : value;
}

ssize_t kgb_proc_tree_read_text(int dir_fd, const char *path, char *text, size_t size)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t len = read(fd, text, size - 1);
	(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

static bool parse_stat(const char *text, struct kgb_proc_tree_process *out)
{
	/* "pid (name) S ppid ...": the name may contain any bytes, also ") ". */
	const char *open = strchr(text, '(');
	const char *end = strrchr(text, ')');

	if (!open || !end || end < open || strlen(end) < 5)
		return false;
	*out = (struct kgb_proc_tree_process){.state = end[2]};
	size_t len = (size_t)(end - open) - 1;
	memcpy(out->name, open + 1, len < sizeof(out->name) ? len : sizeof(out->name) - 1);
	out->pid = out->seen_by = (pid_t)next_number(&text);
	const char *rest = end + 3;
	/* Fields 4 (parent) to 24 (rss), see proc(5). */
	for (int field = 4; field <= 24; field++) {
		int64_t value = next_number(&rest);
		if (field == 4)
			out->parent = (pid_t)value;
		else if (field >= 14 && field <= 17)
			out->cpu_ticks += value;
		else if (field == 20)
			out->n_threads = (int32_t)value;
		else if (field == 24)
			out->rss_pages = value;
	}
	return true;
}

pid_t kgb_proc_tree_parent(pid_t pid)
{
	struct kgb_proc_tree_process process;
	char path[PATH_LEN];
	char text[STAT_LEN];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (kgb_proc_tree_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    !parse_stat(text, &process))
		return 0;
	return process.parent;
}

/* Room for n of them. */
static int reserve(struct kgb_proc_tree *tree, size_t n)
{
	size_t size = sizeof(*tree->items);
	size_t cap = tree->cap ? tree->cap : CAP_FIRST;

	while (cap < n)
		cap *= 2;
	if (cap == tree->cap)
		return 0;
	void *items = tree->cap ? mremap(tree->items, tree->cap * size, cap * size, MREMAP_MAYMOVE)
				: mmap(NULL, cap * size, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (items == MAP_FAILED)
		return -1;
	tree->items = items;
	tree->cap = cap;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct kgb_proc_tree_process *x = a;
	const struct kgb_proc_tree_process *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Read a process by its name in /proc, if it still exists; -1 when memory is short. */
static int add_process(struct kgb_proc_tree *tree, int proc_fd, const char *name)
{
	char path[NAME_LEN + sizeof("/stat")];
	char text[STAT_LEN];

	if (reserve(tree, tree->n + 1) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%.*s/stat", NAME_LEN, name);
	if (kgb_proc_tree_read_text(proc_fd, path, text, sizeof(text)) > 0 &&
	    parse_stat(text, &tree->items[tree->n]))
		tree->n++;
	return 0;
}

int kgb_proc_tree_read(struct kgb_proc_tree *tree)
{
	DIR *proc = opendir("/proc");

	if (!proc)
		return -1;
	tree->n = 0;
	for (struct dirent *entry; (entry = readdir(proc));) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (add_process(tree, dirfd(proc), entry->d_name) < 0) {
			(void)closedir(proc);
			return -1;
		}
	}
	(void)closedir(proc);
	if (tree->n > 0)
		qsort(tree->items, tree->n, sizeof(*tree->items), by_pid);
	return 0;
}
static struct kgb_proc_tree_process *find(const struct kgb_proc_tree *tree, pid_t pid)
{
	const struct kgb_proc_tree_process key = {.pid = pid};

	return tree->n ? bsearch(&key, tree->items, tree->n, sizeof(key), by_pid) : NULL;
}

/* Decide one process and all between it and the first ancestor that is decided. The walk upwards is
 * bounded: a number that was reused during the scan may close a circle. */
static void decide(const struct kgb_proc_tree *tree, struct kgb_proc_tree_process *start,
		   pid_t root)
{
	enum mark mark = OUTSIDE;
	struct kgb_proc_tree_process *process = start;

	for (size_t i = 0; process && i <= tree->n; i++) {
		if (process->mark != UNKNOWN) {
			mark = (enum mark)process->mark;
			break;
		}
		if (process->parent == root) {
			mark = INSIDE;
			break;
		}
		process = process->pid == root ? NULL : find(tree, process->parent);
	}
	process = start;
	for (size_t i = 0; process && process->mark == UNKNOWN && i <= tree->n; i++) {
		process->mark = (uint8_t)mark;
		process = process->parent == root ? NULL : find(tree, process->parent);
	}
}

/* The first thread of a process has ended and others go on: their shared data are in /proc behind
 * the number of a live thread. */
static void look_through_thread(struct kgb_proc_tree_process *process)
{
	char path[PATH_LEN];

	(void)snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char stat_path[sizeof(entry->d_name) + sizeof("/stat")];
		char text[STAT_LEN];
		struct kgb_proc_tree_process thread;
		(void)snprintf(stat_path, sizeof(stat_path), "%s/stat", entry->d_name);
		if (entry->d_name[0] == '.' ||
		    kgb_proc_tree_read_text(dirfd(dir), stat_path, text, sizeof(text)) <= 0 ||
		    !parse_stat(text, &thread) || thread.state == 'Z')
			continue;
		process->seen_by = thread.pid;
		process->state = thread.state;
		process->rss_pages = thread.rss_pages;
		break;
	}
	(void)closedir(dir);
}

static bool is_alive(const struct kgb_proc_tree_process *process)
{
	return process->state != 'Z' || process->n_threads > 1;
}

/* Keep those that are INSIDE and alive. */
static void keep_inside(struct kgb_proc_tree *tree)
{
	size_t n = 0;

	for (size_t i = 0; i < tree->n; i++)
		if (tree->items[i].mark == INSIDE && is_alive(&tree->items[i]))
			tree->items[n++] = tree->items[i];
	tree->n = n;
	for (size_t i = 0; i < n; i++)
		if (tree->items[i].state == 'Z')
			look_through_thread(&tree->items[i]);
}

static void select_below(struct kgb_proc_tree *tree, pid_t root)
{
	for (size_t i = 0; i < tree->n; i++)
		if (tree->items[i].mark == UNKNOWN)
			decide(tree, &tree->items[i], root);
	for (size_t i = 0; i < tree->n; i++)
		if (tree->items[i].pid == root)
			tree->items[i].mark = OUTSIDE;
	keep_inside(tree);
}

int kgb_proc_tree_below(const struct kgb_proc_tree *all, pid_t root, struct kgb_proc_tree *out)
{
	if (reserve(out, all->n) < 0)
		return -1;
	out->n = all->n;
	if (all->n > 0)
		memcpy(out->items, all->items, all->n * sizeof(*all->items));
	select_below(out, root);
	return 0;
}

int kgb_proc_tree_scan(struct kgb_proc_tree *tree, pid_t root)
{
	if (kgb_proc_tree_read(tree) < 0)
		return -1;
	select_below(tree, root);
	return 0;
}

/* A repeated number: its process left the cgroup and came back, or ended and the number was
 * reused. */
static void drop_doubles(struct kgb_proc_tree *tree)
{
	size_t n = 0;

	for (size_t i = 0; i < tree->n; i++)
		if (n == 0 || tree->items[i].pid != tree->items[n - 1].pid)
			tree->items[n++] = tree->items[i];
	tree->n = n;
}

int kgb_proc_tree_of_cgroup(struct kgb_proc_tree *tree, const char *procs_path)
{
	char line[NAME_LEN];
	int rc = 0;
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FILE *procs = fopen(procs_path, "re");

	tree->n = 0;
	while (rc == 0 && proc_fd >= 0 && procs && fgets(line, sizeof(line), procs)) {
		line[strcspn(line, "\n")] = '\0';
		rc = add_process(tree, proc_fd, line);
	}
	if (proc_fd < 0 || !procs || ferror(procs))
		rc = -1;
	if (procs)
		(void)fclose(procs);
	if (proc_fd >= 0)
		(void)close(proc_fd);
	if (rc < 0)
		return -1;
	if (tree->n > 0)
		qsort(tree->items, tree->n, sizeof(*tree->items), by_pid);
	drop_doubles(tree);
	for (size_t i = 0; i < tree->n; i++)
		tree->items[i].mark = INSIDE;
	keep_inside(tree);
	return 0;
}

const struct kgb_proc_tree_process *kgb_proc_tree_find(const struct kgb_proc_tree *tree, pid_t pid)
{
	return find(tree, pid);
}

void kgb_proc_tree_release(struct kgb_proc_tree *tree)
{
	if (tree->cap)
		(void)munmap(tree->items, tree->cap * sizeof(*tree->items));
	*tree = (struct kgb_proc_tree)KGB_TREE_INIT;
}

int64_t kgb_proc_tree_tasks(const struct kgb_proc_tree *tree)
{
	int64_t n = 0;

	for (size_t i = 0; i < tree->n; i++)
		n += tree->items[i].n_threads;
	return n;
}

int64_t kgb_proc_tree_rss_pages(const struct kgb_proc_tree *tree)
{
	int64_t n = 0;

	for (size_t i = 0; i < tree->n; i++)
		n += tree->items[i].rss_pages;
	return n;
}

/* The sum of the numbers behind some keys of a file of one process; -1 when one is not there. */
static int64_t sum_of(pid_t pid, const char *file, const char *const keys[2])
{
	char path[PATH_LEN];
	char text[ROLLUP_LEN];
	int64_t sum = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	if (kgb_proc_tree_read_text(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(text, keys[i]);
		if (!at)
			return -1;
		at += strlen(keys[i]);
		sum += next_number(&at);
	}
	return sum;
}

int64_t kgb_proc_tree_private_bytes(pid_t seen_by)
{
	static const char *const keys[] = {"\nPss_Anon:", "\nPss_Shmem:"};
	int64_t kilobytes = sum_of(seen_by, "smaps_rollup", keys);

	return kilobytes < 0 ? -1 : 1024 * kilobytes;
}

int64_t kgb_proc_tree_io_bytes(pid_t pid)
{
	static const char *const keys[] = {"\nread_bytes:", "\nwrite_bytes:"};

	return sum_of(pid, "io", keys);
}

/* Files that were counted already. */
struct seen {
	size_t n_looks;
	bool is_partial;
	size_t n;
	struct {
		dev_t dev;
		ino_t ino;
	} items[KGB_TREE_NAMELESS_MAX];
};

static bool is_new(struct seen *seen, const struct stat *st)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->items[i].ino == st->st_ino && seen->items[i].dev == st->st_dev)
			return false;
	if (seen->n == KGB_TREE_NAMELESS_MAX) {
		seen->is_partial = true;
		return false;
	}
	seen->items[seen->n].dev = st->st_dev;
	seen->items[seen->n++].ino = st->st_ino;
	return true;
}

/* Returns true while another one may be examined. */
static bool may_look(struct seen *seen)
{
	seen->is_partial = seen->is_partial || seen->n_looks == LOOKS_MAX;
	return !seen->is_partial && ++seen->n_looks;
}

static void add_descriptors(pid_t pid, struct seen *seen, struct kgb_proc_tree_nameless *out)
{
	char path[PATH_LEN];

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir)) && may_look(seen);) {
		struct stat st;
		struct statfs fs;
		char link[PATH_LEN + sizeof(entry->d_name)];
		if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode) || st.st_nlink > 0 || !is_new(seen, &st))
			continue;
		(void)snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		bool in_memory = statfs(link, &fs) == 0 && fs.f_type == TMPFS_MAGIC_NUMBER;
		int64_t *sum = in_memory ? &out->memory_bytes : &out->disk_bytes;
		*sum += 512 * (int64_t)st.st_blocks;
	}
	(void)closedir(dir);
}

/* A mapping, by the range that begins its line in maps ("00400000-0040b000 r-xp ..."). Mapped pages
 * of a memory file count as memory of the process. */
static void add_mapping(pid_t pid, const char *line, struct seen *seen,
			struct kgb_proc_tree_nameless *out)
{
	const char *start = line + strspn(line, "0");
	const char *dash = strchr(line, '-');
	struct stat st;
	struct statfs fs;
	char link[2 * PATH_LEN];

	if (!dash)
		return;
	const char *end = dash + 1 + strspn(dash + 1, "0");
	(void)snprintf(link, sizeof(link), "/proc/%d/map_files/%.*s-%.*s", pid,
		       start < dash ? (int)(dash - start) : 1, start < dash ? start : "0",
		       (int)strcspn(end, " "), end);
	if (stat(link, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
	    statfs(link, &fs) == 0 && fs.f_type != TMPFS_MAGIC_NUMBER && is_new(seen, &st))
		out->disk_bytes += 512 * (int64_t)st.st_blocks;
}

/* Lines may be of any length: kept are the first bytes and the last. */
static void add_mappings(pid_t pid, struct seen *seen, struct kgb_proc_tree_nameless *out)
{
	static const char mark[] = " (deleted)";
	enum { MARK_LEN = sizeof(mark) - 1 };
	char path[PATH_LEN];
	char head[PATH_LEN];
	char tail[MARK_LEN];
	size_t len = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	if (!maps)
		return;
	for (int c; (c = getc_unlocked(maps)) != EOF;) {
		if (c != '\n') {
			if (len < sizeof(head) - 1)
				head[len] = (char)c;
			tail[len++ % MARK_LEN] = (char)c;
			continue;
		}
		size_t n = 0;
		while (n < MARK_LEN && len >= MARK_LEN && tail[(len + n) % MARK_LEN] == mark[n])
			n++;
		head[len < sizeof(head) ? len : sizeof(head) - 1] = '\0';
		len = 0;
		if (n == MARK_LEN && may_look(seen))
			add_mapping(pid, head, seen, out);
	}
	(void)fclose(maps);
}

void kgb_proc_tree_nameless(const struct kgb_proc_tree *tree, struct kgb_proc_tree_nameless *out)
{
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*out = (struct kgb_proc_tree_nameless){0};
	if (seen == MAP_FAILED)
		return;
	for (size_t i = 0; i < tree->n; i++)
		add_descriptors(tree->items[i].seen_by, seen, out);
	for (size_t i = 0; i < tree->n; i++)
		add_mappings(tree->items[i].seen_by, seen, out);
	out->is_partial = seen->is_partial;
	(void)munmap(seen, sizeof(*seen));
}
