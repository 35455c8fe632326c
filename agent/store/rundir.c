/* SPDX-License-Identifier: MIT */
#include "agent/store/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/store/journal.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "base/vec.h"

#define LOCK_NAME "lock"
#define LOCK_LIMIT 512

/** The first line of the lock file, for the message to a process that finds it held. */
static void describe_owner(int lock_fd, char *out, size_t cap)
{
	char text[LOCK_LIMIT + 1];
	ssize_t n = pread(lock_fd, text, LOCK_LIMIT, 0);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	/* The owner has locked but not written yet. */
	snprintf(out, cap, "%s", *text ? text : "another process");
}

static int write_owner(int lock_fd, struct kgb_err *err)
{
	char host[256] = "unknown";
	if (gethostname(host, sizeof(host) - 1) < 0)
		snprintf(host, sizeof(host), "unknown");
	char now[KGB_TIME_LEN];
	kgb_time_format(kgb_wall_ms(), now);
	KGB_AUTO(free)
	char *text = kgb_xasprintf("process %ld on %s since %s\n", (long)getpid(), host, now);
	if (ftruncate(lock_fd, 0) < 0)
		return kgb_fail_errno(err, errno, "truncate '%s'", LOCK_NAME);
	if (kgb_fs_write_all(lock_fd, text, strlen(text), err) < 0)
		return kgb_ctx(err, "%s", LOCK_NAME);
	return 0;
}

/** Takes an open-file-description lock: it ends with the process however that ends, so a lock is
 * never stale. */
static int lock(struct kgb_rundir *dir, struct kgb_err *err)
{
	KGB_AUTO(fd)
	int fd = openat(dir->fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s/%s'", dir->path, LOCK_NAME);
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(fd, F_OFD_SETLK, &whole) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return kgb_fail_errno(err, errno, "lock '%s/%s'", dir->path, LOCK_NAME);
		char owner[LOCK_LIMIT + 1];
		describe_owner(fd, owner, sizeof(owner));
		return kgb_fail(err, KGB_ERR_BUSY, "run '%s' is held by %s: wait for it, or end it",
				dir->name, owner);
	}
	if (write_owner(fd, err) < 0)
		return kgb_ctx(err, "run '%s'", dir->name);
	dir->lock_fd = kgb_take_fd(&fd);
	return 0;
}

bool kgb_rundir_is_held(const struct kgb_rundir *dir)
{
	KGB_AUTO(fd) int fd = openat(dir->fd, LOCK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static int make_layout(const struct kgb_rundir *dir, struct kgb_err *err)
{
	if (kgb_fs_mkdirs(dir->fd, "kernels", 0755, err) < 0 ||
	    kgb_fs_mkdirs(dir->fd, "attempts", 0755, err) < 0)
		return kgb_ctx(err, "run '%s'", dir->name);
	return 0;
}

/** Fill path, name and fd of an existing directory. */
static int open_path(struct kgb_rundir *dir, const char *path, struct kgb_err *err)
{
	KGB_AUTO(free) char *real = kgb_path_real(path, err);
	if (!real)
		return -1;
	if (kgb_fs_opendir(AT_FDCWD, real, &dir->fd, err) < 0)
		return -1;
	const char *slash = strrchr(real, '/');
	dir->name = kgb_xstrdup(slash ? slash + 1 : real);
	dir->path = KGB_TAKE(real);
	return 0;
}

static void remove_run(const char *path)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_remove_tree(AT_FDCWD, path, &err) < 0)
		kgb_warn("the run could not begin, and its folder could not be removed: %s",
			 err.msg);
}

int kgb_rundir_make_unique(const char *runs_dir, const char *what, const char *dataset, char **path,
			   struct kgb_err *err)
{
	if (kgb_fs_mkdirs(AT_FDCWD, runs_dir, 0755, err) < 0)
		return -1;
	char now[KGB_TIME_COMPACT_LEN];
	kgb_time_format_compact(kgb_wall_ms(), now);
	/* Four hex digits are enough when a collision is tried again. */
	for (int tries = 0;; tries++) {
		uint8_t random[2];
		kgb_random(random, sizeof(random));
		char hex[2 * sizeof(random) + 1];
		kgb_hex(random, sizeof(random), hex);
		KGB_AUTO(free)
		char *made = kgb_xasprintf("%s/%s_%s_%s_%s", runs_dir, what, dataset, now, hex);
		if (mkdir(made, 0755) == 0) {
			*path = KGB_TAKE(made);
			return 0;
		}
		if (errno != EEXIST || tries == 100)
			return kgb_fail_errno(err, errno, "create '%s'", made);
	}
}

/** Make a run of a new folder, or remove it. */
static int settle(struct kgb_rundir *out, const char *path, struct kgb_err *err)
{
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	if (open_path(&dir, path, err) < 0 || lock(&dir, err) < 0 || make_layout(&dir, err) < 0) {
		remove_run(path);
		return -1;
	}
	*out = dir;
	dir = (struct kgb_rundir)KGB_RUNDIR_INIT;
	return 0;
}

int kgb_rundir_create(struct kgb_rundir *out, const char *runs_dir, const char *method,
		      const char *dataset, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = NULL;
	if (kgb_rundir_make_unique(runs_dir, method, dataset, &path, err) < 0)
		return -1;
	return settle(out, path, err);
}

int kgb_rundir_create_in(struct kgb_rundir *out, const char *series, const char *name,
			 struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(series, name);
	if (mkdir(path, 0755) < 0)
		return kgb_fail_errno(err, errno, "create '%s'", path);
	return settle(out, path, err);
}

struct run_entry {
	char *name;
	struct timespec written;
};

/** Latest first; equal times (coarse clocks) by name. */
static int later_first(const void *a, const void *b)
{
	const struct run_entry *x = a;
	const struct run_entry *y = b;
	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? 1 : -1;
	if (x->written.tv_nsec != y->written.tv_nsec)
		return x->written.tv_nsec < y->written.tv_nsec ? 1 : -1;
	return strcmp(y->name, x->name);
}

struct run_entries {
	KGB_VEC(struct run_entry) list;
};

/** Add the runs in an open folder, which is closed, and those of the series in it. \param before
 * the names: "", or "SERIES/", in which no other series is looked for. */
static void add_entries(struct run_entries *entries, DIR *dir, const char *before)
{
	for (const struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		KGB_AUTO(free) char *journal = kgb_path_join(entry->d_name, KGB_JOURNAL_NAME);
		KGB_AUTO(free) char *series = kgb_path_join(entry->d_name, KGB_SERIES_NAME);
		struct stat st;
		if (fstatat(dirfd(dir), journal, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode)) {
			KGB_VEC_ADD(&entries->list,
				    (struct run_entry){
					    .name = kgb_xasprintf("%s%s", before, entry->d_name),
					    .written = st.st_mtim});
			continue;
		}
		if (*before || faccessat(dirfd(dir), series, F_OK, 0) < 0)
			continue;
		KGB_AUTO(free) char *name = kgb_xasprintf("%s/", entry->d_name);
		const int fd = openat(dirfd(dir), entry->d_name,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		DIR *inner = fd < 0 ? NULL : fdopendir(fd);
		if (inner)
			add_entries(entries, inner, name); /* NOLINT(misc-no-recursion): once */
		else
			kgb_close(fd);
	}
	closedir(dir);
}

int kgb_rundir_list(const char *runs_dir, struct kgb_strv *out, struct kgb_err *err)
{
	struct run_entries entries = {0};
	DIR *dir = opendir(runs_dir);
	if (!dir) {
		if (errno == ENOENT)
			return 0;
		return kgb_fail_errno(err, errno, "open '%s'", runs_dir);
	}
	add_entries(&entries, dir, "");
	if (entries.list.n > 0)
		qsort(entries.list.items, entries.list.n, sizeof(*entries.list.items), later_first);
	KGB_VEC_FOREACH(entry, &entries.list) {
		kgb_strv_add(out, entry->name);
		kgb_free(entry->name);
	}
	KGB_VEC_RELEASE(&entries.list);
	return 0;
}

/** Where `name` (or the latest run) is. */
static int resolve(const char *runs_dir, const char *name, char **out, struct kgb_err *err)
{
	if (name && strchr(name, '/')) {
		/* The path of a run, or "SERIES/RUN". */
		KGB_AUTO(free) char *below = kgb_path_join(runs_dir, name);
		const bool is_below =
			!kgb_fs_exists(AT_FDCWD, name) && kgb_fs_exists(AT_FDCWD, below);
		*out = is_below ? KGB_TAKE(below) : kgb_xstrdup(name);
		return 0;
	}
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	if (kgb_rundir_list(runs_dir, &names, err) < 0)
		return -1;
	if (names.n == 0)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "there is no run in '%s' yet", runs_dir);
	if (name && !kgb_strv_has(&names, name)) {
		KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
		kgb_suggest(&hint, name, (const char *const *)names.items, names.n);
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "there is no run '%s' in '%s'%s", name,
				runs_dir, hint.ptr);
	}
	*out = kgb_path_join(runs_dir, name ? name : names.items[0]);
	return 0;
}

int kgb_rundir_open(struct kgb_rundir *out, const char *runs_dir, const char *name,
		    enum kgb_rundir_access access, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = NULL;
	if (resolve(runs_dir, name, &path, err) < 0)
		return -1;
	KGB_AUTO(rundir) struct kgb_rundir dir = KGB_RUNDIR_INIT;
	if (open_path(&dir, path, err) < 0)
		return -1;
	if (!kgb_fs_exists(dir.fd, KGB_JOURNAL_NAME))
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "'%s' is not a run directory: it has no %s",
				path, KGB_JOURNAL_NAME);
	if (access == KGB_RUNDIR_LOCK && (lock(&dir, err) < 0 || make_layout(&dir, err) < 0))
		return -1;
	*out = dir;
	dir = (struct kgb_rundir)KGB_RUNDIR_INIT;
	return 0;
}

void kgb_rundir_release(struct kgb_rundir *dir)
{
	kgb_free(dir->name);
	kgb_free(dir->path);
	kgb_close(dir->lock_fd);
	kgb_close(dir->fd);
	*dir = (struct kgb_rundir)KGB_RUNDIR_INIT;
}

void kgb_rundir_discard(struct kgb_rundir *dir)
{
	if (dir->path)
		remove_run(dir->path);
	kgb_rundir_release(dir);
}

void kgb_auto_rundir(struct kgb_rundir *dir)
{
	kgb_rundir_release(dir);
}

char *kgb_rundir_attempt_rel(const char *safe_name, int attempt)
{
	return kgb_xasprintf("attempts/%s/%03d", safe_name, attempt);
}

int kgb_rundir_make_attempt(const struct kgb_rundir *dir, const char *safe_name, int attempt,
			    struct kgb_err *err)
{
	KGB_AUTO(free) char *parent = kgb_path_join("attempts", safe_name);
	KGB_AUTO(free) char *rel = kgb_rundir_attempt_rel(safe_name, attempt);
	if (kgb_fs_mkdirs(dir->fd, parent, 0755, err) < 0 ||
	    kgb_fs_remove_tree(dir->fd, rel, err) < 0)
		return -1;
	if (mkdirat(dir->fd, rel, 0755) < 0)
		return kgb_fail_errno(err, errno, "create '%s/%s'", dir->path, rel);
	static const char *const children[] = {"traffic", "verdicts"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(children); i++) {
		KGB_AUTO(free) char *child = kgb_path_join(rel, children[i]);
		if (mkdirat(dir->fd, child, 0755) < 0)
			return kgb_fail_errno(err, errno, "create '%s/%s'", dir->path, child);
	}
	return 0;
}

int kgb_rundir_write_kernel(const struct kgb_rundir *dir, const char *safe_name, const void *data,
			    size_t len, struct kgb_err *err)
{
	KGB_AUTO(free) char *rel = kgb_xasprintf("kernels/%s.py", safe_name);
	return kgb_fs_write_atomic(dir->fd, rel, data, len, 0644, true, err);
}
