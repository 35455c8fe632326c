/* SPDX-License-Identifier: MIT */
#include "agent/evidence/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/formats/jsonw.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/isolation/disk.h"

/** Names that pruning removes from the folders of an attempt and of its rounds. */
static const char *const dropped[] = {"home", "ws", "git", "traffic"};

struct walk {
	bool removes; /* else it measures */
	int64_t n_folders, bytes;
};

typedef int (*visit_fn)(struct walk *walk, int dir_fd, struct kgb_err *err);

static void auto_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/** Visit each folder in the folder `name`; a link is no folder. Nothing to visit is fine. */
static int visit_each(struct walk *walk, int parent_fd, const char *name, visit_fn visit,
		      struct kgb_err *err)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
	const int list_fd = openat(parent_fd, name, FLAGS);
	if (list_fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? 0
			       : kgb_fail_errno(err, errno, "open '%s'", name);
	__attribute__((cleanup(auto_close_dir))) DIR *list = fdopendir(list_fd);
	if (!list) {
		const int code = errno;
		kgb_close(list_fd);
		return kgb_fail_errno(err, code, "list '%s'", name);
	}
	for (const struct dirent *entry; (entry = readdir(list));) {
		if (entry->d_name[0] == '.')
			continue;
		KGB_AUTO(fd) int fd = openat(dirfd(list), entry->d_name, FLAGS);
		if (fd < 0 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT))
			continue;
		if (fd < 0)
			return kgb_fail_errno(err, errno, "open '%s'", entry->d_name);
		if (visit(walk, fd, err) < 0)
			return kgb_ctx(err, "%s", entry->d_name);
	}
	return 0;
}

static int drop_folders(struct walk *walk, int dir_fd, struct kgb_err *err)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(dropped); i++) {
		struct kgb_disk_usage usage = {0};
		struct stat st;
		if (fstatat(dir_fd, dropped[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		/* A file or a link in its place takes almost no room. */
		(void)!kgb_disk_usage_add(dir_fd, dropped[i], &usage, NULL);
		walk->n_folders++;
		walk->bytes += usage.bytes;
		if (walk->removes && kgb_fs_remove_tree(dir_fd, dropped[i], err) < 0)
			return -1;
	}
	return 0;
}

static int prune_attempt(struct walk *walk, int dir_fd, struct kgb_err *err)
{
	return drop_folders(walk, dir_fd, err) < 0
		       ? -1
		       : visit_each(walk, dir_fd, "rounds", drop_folders, err);
}

static int prune_operator(struct walk *walk, int dir_fd, struct kgb_err *err)
{
	return visit_each(walk, dir_fd, ".", prune_attempt, err);
}

static int prune_tree(struct walk *walk, int dir_fd, struct kgb_err *err)
{
	if (visit_each(walk, dir_fd, "attempts", prune_operator, err) < 0)
		return kgb_ctx(err, "attempts");
	return visit_each(walk, dir_fd, "replays", prune_tree, err);
}

static int write_marker(int dir_fd, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_jsonw w;
	char now[KGB_TIME_LEN];
	kgb_time_format(kgb_wall_ms(), now);
	kgb_jsonw_init(&w, &text, 2);
	kgb_jsonw_put(&w, "{schema: 'kgb.pruned/1', time: %s, dropped: [", now);
	for (size_t i = 0; i < KGB_ARRAY_LEN(dropped); i++)
		kgb_jsonw_str(&w, dropped[i]);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(&text, '\n');
	return kgb_fs_write_atomic(dir_fd, KGB_PRUNED_NAME, text.ptr, text.len, 0644, true, err);
}

int kgb_prune_run(const struct kgb_rundir *dir, bool is_dry_run, struct kgb_pruning *out,
		  struct kgb_err *err)
{
	struct kgb_disk_usage before = {0}, after = {0};
	struct walk found = {0}, removed = {.removes = true};
	KGB_ASSERT(dir->lock_fd >= 0);
	if (kgb_disk_usage_add(dir->fd, ".", &before, err) < 0 ||
	    prune_tree(&found, dir->fd, err) < 0)
		return kgb_ctx(err, "run '%s'", dir->name);
	if (!is_dry_run && found.n_folders > 0 &&
	    (write_marker(dir->fd, err) < 0 || prune_tree(&removed, dir->fd, err) < 0 ||
	     kgb_disk_usage_add(dir->fd, ".", &after, err) < 0))
		return kgb_ctx(err, "run '%s'", dir->name);
	*out = (struct kgb_pruning){
		.bytes_before = before.bytes,
		.bytes_after = removed.n_folders > 0 ? after.bytes : before.bytes - found.bytes,
		.n_folders = found.n_folders,
	};
	return 0;
}

bool kgb_run_is_pruned(int dir_fd)
{
	return kgb_fs_exists(dir_fd, KGB_PRUNED_NAME);
}
