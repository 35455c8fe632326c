/* SPDX-License-Identifier: MIT */
/* kgb_fs_remove_tree. The tree may be hostile: deeper than we have descriptors or stack for, with
 * unreadable directories and links that point outside. So there is no recursion: the subdirectories
 * of a directory that is being emptied are moved up next to it under random names, and removed in a
 * later pass. Two descriptors suffice. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

static void auto_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Give the owner all rights on the directory `name`. By descriptor: chmod would follow a link that
 * took its place. */
static int make_writable(int parent, const char *name)
{
	char proc[48];
	struct stat st;

	KGB_AUTO(fd) int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	if ((st.st_mode & 0700) == 0700)
		return 0;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return chmod(proc, (st.st_mode & 07777) | 0700);
}

static DIR *open_dir(int parent, const char *name)
{
	if (make_writable(parent, name) < 0)
		return NULL;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	DIR *dir = fdopendir(fd);
	if (!dir)
		kgb_close(fd);
	return dir;
}

static bool is_directory(int parent, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(parent, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* The next entry, NULL at the end (errno 0) or on an error. */
static const struct dirent *next_entry(DIR *dir)
{
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(dir);
		if (!entry || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0))
			return entry;
	}
}

static int move_up(int from, const char *name, int top)
{
	char fresh[48];
	uint64_t random;

	/* Moving a directory writes its "..": a read-only one cannot be moved. */
	if (make_writable(from, name) < 0)
		return -1;
	kgb_random(&random, sizeof(random));
	snprintf(fresh, sizeof(fresh), ".kgb-%016" PRIx64 ".rm", random);
	return renameat2(from, name, top, fresh, RENAME_NOREPLACE);
}

/* Remove a directory of `top`: its files are unlinked, its subdirectories become children of `top`.
 */
static int flatten(int top, const char *name)
{
	const struct dirent *entry;
	__attribute__((cleanup(auto_close_dir))) DIR *dir = open_dir(top, name);

	if (!dir)
		return -1;
	while ((entry = next_entry(dir)) != NULL) {
		int rc = is_directory(dirfd(dir), entry) ? move_up(dirfd(dir), entry->d_name, top)
							 : unlinkat(dirfd(dir), entry->d_name, 0);
		if (rc < 0 && errno != ENOENT)
			return -1;
	}
	if (errno != 0)
		return -1;
	return unlinkat(top, name, AT_REMOVEDIR);
}

/* One pass over `top`; *left: it found entries. */
static int empty_once(DIR *top, bool *left, struct kgb_err *err)
{
	const struct dirent *entry;
	char shown[KGB_BRIEF_LEN];

	*left = false;
	rewinddir(top);
	while ((entry = next_entry(top)) != NULL) {
		*left = true;
		int rc = is_directory(dirfd(top), entry) ? flatten(dirfd(top), entry->d_name)
							 : unlinkat(dirfd(top), entry->d_name, 0);
		/* ENOTEMPTY: another process writes there, or the directory changed while it was
		 * read; next pass. */
		if (rc < 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
			return kgb_fail_errno(err, errno, "entry '%s'",
					      kgb_brief(entry->d_name, shown));
	}
	return errno == 0 ? 0 : kgb_fail_errno(err, errno, "read directory");
}

int kgb_fs_remove_tree(int dir_fd, const char *path, struct kgb_err *err)
{
	struct stat st;
	bool left;

	if (fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return kgb_fail_errno(err, errno, "remove '%s'", path);
	}
	if (!S_ISDIR(st.st_mode)) {
		if (unlinkat(dir_fd, path, 0) < 0 && errno != ENOENT)
			return kgb_fail_errno(err, errno, "remove '%s'", path);
		return 0;
	}
	__attribute__((cleanup(auto_close_dir))) DIR *top = open_dir(dir_fd, path);
	if (!top)
		return kgb_fail_errno(err, errno, "remove '%s'", path);
	do {
		if (empty_once(top, &left, err) < 0)
			return kgb_ctx(err, "remove '%s'", path);
	} while (left);
	if (unlinkat(dir_fd, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return kgb_fail_errno(err, errno, "remove '%s'", path);
	return 0;
}
