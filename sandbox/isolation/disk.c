/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* One descriptor for each level, and one for each tree that hangs deeper than that. */
enum { DEPTH_MAX = 64, PENDING_MAX = 64, BLOCK_BYTES = 512 };

struct walk {
	struct kgb_disk_usage *usage;
	int pending[PENDING_MAX]; /* directories whose subtrees are walked separately */
	size_t n_pending;
};

static void count(struct walk *walk, const struct stat *st)
{
	int64_t bytes = BLOCK_BYTES * (int64_t)st->st_blocks;

	walk->usage->files++;
	/* A file with n names counts 1/n of its size for each of them. */
	walk->usage->bytes +=
		st->st_nlink > 1 && !S_ISDIR(st->st_mode) ? bytes / (int64_t)st->st_nlink : bytes;
}

/* Open a directory for reading, also one whose owner has locked it: restore the rights through a
 * descriptor, so that no other directory can take its place. -1 with errno. */
static int open_below(int dir_fd, const char *name)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir_fd, name, O_RDONLY | O_NONBLOCK | flags);

	if (fd >= 0 || errno != EACCES)
		return fd;
	KGB_AUTO(fd) int path_fd = openat(dir_fd, name, O_PATH | flags);
	KGB_AUTO(free) char *path = kgb_xasprintf("/proc/self/fd/%d", path_fd);
	if (path_fd < 0 || chmod(path, S_IRWXU) < 0)
		return -1;
	return open(path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC);
}

/* Walk a directory; its descriptor is consumed. */
static void walk_fd(struct walk *walk, int fd, int depth)
{
	if (depth == DEPTH_MAX) {
		if (walk->n_pending < PENDING_MAX) {
			walk->pending[walk->n_pending++] = fd;
			return;
		}
		walk->usage->is_partial = true;
		kgb_close(fd);
		return;
	}
	DIR *dir = fdopendir(fd);
	if (!dir) {
		kgb_close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat st;
		if (kgb_str_eq(entry->d_name, ".") || kgb_str_eq(entry->d_name, "..") ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		count(walk, &st);
		if (!S_ISDIR(st.st_mode))
			continue;
		int below = open_below(fd, entry->d_name);
		if (below >= 0)
			walk_fd(walk, below, depth + 1);
		else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			walk->usage->is_partial = true;
	}
	closedir(dir);
}

int kgb_disk_usage_add(int dir_fd, const char *name, struct kgb_disk_usage *usage,
		       struct kgb_err *err)
{
	struct walk walk = {.usage = usage};
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return kgb_fail_errno(err, errno, "open directory '%s'", name);
	walk_fd(&walk, fd, 0);
	while (walk.n_pending > 0)
		walk_fd(&walk, walk.pending[--walk.n_pending], 0);
	return 0;
}

void kgb_disk_room(int dir_fd, struct kgb_disk_room *out)
{
	struct statvfs fs;

	*out = (struct kgb_disk_room){-1, -1};
	if (fstatvfs(dir_fd, &fs) < 0)
		return;
	out->bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	if (fs.f_files > 0) /* some file systems make room for names as they go */
		out->files = (int64_t)fs.f_favail;
}
