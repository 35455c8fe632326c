/* SPDX-License-Identifier: MIT */
#include "base/system/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/spare_fds.h"

/* ---- reading ---- */

static const char *file_type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a regular file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case S_IFIFO:
		return "a fifo";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "of an unknown type";
	}
}

int kgb_fs_read_fd(int fd, size_t limit, struct kgb_buf *out, struct kgb_err *err)
{
	char chunk[32 * 1024];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kgb_fail_errno(err, errno, "read");
		if (n == 0)
			return 0;
		total += (size_t)n;
		if (total > limit || kgb_buf_add(out, chunk, (size_t)n) < 0)
			return kgb_fail(err, KGB_ERR_LIMIT, "larger than %zu bytes",
					total > limit ? limit : out->limit);
	}
}

int kgb_fs_read(int dir_fd, const char *path, size_t limit, struct kgb_buf *out,
		struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	struct stat st;

	kgb_buf_clear(out);
	/* O_NONBLOCK: opening a fifo must not block before the check refuses it. */
	KGB_AUTO(fd) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is %s: a regular file is required",
				path, file_type_name(st.st_mode));
	if (kgb_fs_read_fd(fd, limit, out, err) < 0)
		return kgb_ctx(err, "'%s'", path);
	return 0;
}

int kgb_fs_list(const char *path, struct kgb_strv *names, struct kgb_err *err)
{
	DIR *dir = opendir(path);
	if (!dir)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	errno = 0;
	for (const struct dirent *entry; (entry = readdir(dir)); errno = 0)
		if (entry->d_name[0] != '.')
			kgb_strv_add(names, entry->d_name);
	int code = errno;
	closedir(dir);
	kgb_strv_sort(names);
	return code ? kgb_fail_errno(err, code, "read '%s'", path) : 0;
}

int kgb_fs_opendir(int dir_fd, const char *path, int *out_fd, struct kgb_err *err)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return kgb_fail_errno(err, errno, "open directory '%s'", path);
	*out_fd = fd;
	return 0;
}

static int fail_open_untrusted(int code, const char *path, struct kgb_err *err)
{
	switch (code) {
	case ELOOP:
		return kgb_fail(err, KGB_ERR_DENIED,
				"'%s' is or passes a symbolic link: a regular file is required",
				path);
	case EXDEV:
		return kgb_fail(err, KGB_ERR_DENIED, "'%s' leaves its directory", path);
	case ENXIO:
		return kgb_fail(err, KGB_ERR_DENIED,
				"'%s' is a socket or a device: a regular file is required", path);
	case EAGAIN:
		/* A lease, which any owner of a file may take, or a path through ".." that renames
		 * disturb. */
		return kgb_fail(err, KGB_ERR_DENIED, "'%s' is held or moved by another process",
				path);
	case ENOSYS:
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"open '%s': the kernel has no openat2: Linux 5.6 or newer is needed", path);
	default:
		return kgb_fail_errno(err, code, "open '%s'", path);
	}
}

/* openat2() below dir_fd, and fstat of the result; -1 with errno. For a path with ".." the kernel
 * returns EAGAIN when anything on the machine was renamed or mounted during the walk, because it
 * cannot decide whether the walk escaped (openat2(2)): that is no fault of the path, so retry.
 * Retry also when the file has lost its name meanwhile: an editor has replaced it, and the next
 * walk finds the new file. */
static int open_named(int dir_fd, const char *path, struct stat *st)
{
	enum { MAX_WALKS = 100 }; /* a longer race is an attack */
	const struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int walk = 0; walk < MAX_WALKS; walk++) {
		kgb_close(fd);
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		bool again = fd < 0 ? errno == EAGAIN : fstat(fd, st) == 0 && st->st_nlink == 0;
		if (!again)
			break;
	}
	return fd;
}

int kgb_fs_open_untrusted(int dir_fd, const char *path, size_t limit, int *out_fd,
			  struct kgb_err *err)
{
	struct stat st = {0}; /* unknown: not a regular file */

	KGB_AUTO(fd) int fd = open_named(dir_fd, path, &st);
	if (fd < 0)
		return fail_open_untrusted(errno, path, err);
	if (!S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_DENIED, "'%s' is %s: a regular file is required", path,
				file_type_name(st.st_mode));
	if (st.st_nlink != 1)
		return kgb_fail(err, KGB_ERR_DENIED,
				"'%s' has %ju hard links: a file with one name is required", path,
				(uintmax_t)st.st_nlink);
	if ((uintmax_t)st.st_size > limit)
		return kgb_fail(err, KGB_ERR_LIMIT, "'%s' is larger than %zu bytes", path, limit);
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

int kgb_fs_read_untrusted(int dir_fd, const char *path, size_t limit, struct kgb_buf *out,
			  struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	KGB_AUTO(fd) int fd = -1;

	kgb_buf_clear(out);
	if (kgb_fs_open_untrusted(dir_fd, path, limit, &fd, err) < 0)
		return -1;
	if (kgb_fs_read_fd(fd, limit, out, err) < 0)
		return kgb_ctx(err, "'%s'", path);
	return 0;
}

/* ---- writing ---- */

int kgb_fs_write_all(int fd, const void *data, size_t len, struct kgb_err *err)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return kgb_fail_errno(err, errno, "write");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The directory part of a path ("." when there is none); malloc'ed. *base points into path. */
static char *split_path(const char *path, const char **base)
{
	const char *slash = strrchr(path, '/');

	*base = slash ? slash + 1 : path;
	if (!slash)
		return kgb_xstrdup(".");
	return slash == path ? kgb_xstrdup("/") : kgb_xstrndup(path, (size_t)(slash - path));
}

/* Write the temporary file whole, and close it to catch a late error (quota, network file
 * system). */
static int fill_temporary(int fd, const void *data, size_t len, mode_t mode, bool sync,
			  struct kgb_err *err)
{
	int rc = kgb_fs_write_all(fd, data, len, err);

	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = kgb_fail_errno(err, errno, "chmod");
	if (rc == 0 && sync && fsync(fd) < 0)
		rc = kgb_fail_errno(err, errno, "sync");
	if (close(fd) < 0 && rc == 0 && errno != EINTR)
		rc = kgb_fail_errno(err, errno, "close");
	return rc;
}

/* Some file systems cannot sync directories and fail with EINVAL; they have nothing to lose. */
static int sync_directory(int fd, struct kgb_err *err)
{
	if (fsync(fd) < 0 && errno != EINVAL)
		return kgb_fail_errno(err, errno, "sync directory");
	return 0;
}

int kgb_fs_write_atomic(int dir_fd, const char *path, const void *data, size_t len, mode_t mode,
			bool sync, struct kgb_err *err)
{
	KGB_BORROW_SPARE_FDS;
	const char *base;
	char name[48];
	uint64_t random;

	KGB_AUTO(free) char *dir = split_path(path, &base);
	KGB_AUTO(fd) int parent = openat(dir_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return kgb_fail_errno(err, errno, "write '%s'", path);
	kgb_random(&random, sizeof(random));
	snprintf(name, sizeof(name), ".kgb-%016" PRIx64 ".tmp", random);
	int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "write '%s'", path);
	if (fill_temporary(fd, data, len, mode, sync, err) < 0) {
		unlinkat(parent, name, 0);
		return kgb_ctx(err, "write '%s'", path);
	}
	if (renameat(parent, name, parent, base) < 0) {
		int code = errno;
		unlinkat(parent, name, 0);
		return kgb_fail_errno(err, code, "write '%s'", path);
	}
	if (sync && sync_directory(parent, err) < 0)
		return kgb_ctx(err, "write '%s'", path);
	return 0;
}

/* ---- directories ---- */

int kgb_fs_mkdirs(int dir_fd, const char *path, mode_t mode, struct kgb_err *err)
{
	KGB_AUTO(free) char *prefix = kgb_xstrdup(path);
	struct stat st;

	for (char *p = prefix; *p; p++) {
		bool ends_component = p[0] != '/' && (p[1] == '/' || p[1] == '\0');
		if (!ends_component)
			continue;
		char next = p[1];
		p[1] = '\0';
		if (mkdirat(dir_fd, prefix, mode) < 0 && errno != EEXIST)
			return kgb_fail_errno(err, errno, "create directory '%s'", prefix);
		p[1] = next;
	}
	if (fstatat(dir_fd, path, &st, 0) < 0)
		return kgb_fail_errno(err, errno, "create directory '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return kgb_fail_errno(err, ENOTDIR, "create directory '%s'", path);
	return 0;
}

bool kgb_fs_exists(int dir_fd, const char *path)
{
	return faccessat(dir_fd, path, F_OK, AT_EACCESS) == 0;
}

/* ---- paths ---- */

char *kgb_path_join(const char *a, const char *b)
{
	size_t n = strlen(a);

	while (n > 1 && a[n - 1] == '/')
		n--;
	while (*b == '/')
		b++;
	if (n == 0)
		return kgb_xstrdup(b);
	return kgb_xasprintf("%.*s%s%s", (int)n, a, a[n - 1] == '/' ? "" : "/", b);
}

char *kgb_path_real(const char *path, struct kgb_err *err)
{
	char *real = realpath(path, NULL);

	if (!real)
		kgb_fail_errno(err, errno, "'%s'", path);
	return real;
}

char *kgb_path_self_dir(void)
{
	KGB_AUTO(free) char *path = NULL;

	for (size_t cap = 256;; cap *= 2) {
		path = kgb_xreallocarray(path, cap, 1);
		ssize_t n = readlink("/proc/self/exe", path, cap);
		if (n < 0)
			return kgb_xstrdup(".");
		if ((size_t)n < cap) {
			path[n] = '\0';
			break;
		}
	}
	const char *base;
	return split_path(path, &base);
}

static bool is_executable_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *kgb_path_which(const char *name, const char *path)
{
	if (!*name)
		return NULL;
	if (strchr(name, '/'))
		return is_executable_file(name) ? kgb_xstrdup(name) : NULL;
	while (path && *path) {
		const char *end = strchrnul(path, ':');
		if (end > path) {
			KGB_AUTO(free) char *dir = kgb_xstrndup(path, (size_t)(end - path));
			KGB_AUTO(free) char *full = kgb_path_join(dir, name);
			if (is_executable_file(full))
				return KGB_TAKE(full);
		}
		path = *end ? end + 1 : end;
	}
	return NULL;
}
