/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"

enum { TEXT_MAX = 1 << 20 };

static const char fix[] =
	"start it as `systemd-run --user --scope -p Delegate=yes kgb-agent ...`; in a container: mount cgroups writable";

/* One mounted hierarchy of cgroups, and our group in it. */
struct hierarchy {
	char mount[PATH_MAX];
	char root[PATH_MAX]; /* group that the mount shows as its root */
	char ours[PATH_MAX]; /* our group, by its name in the hierarchy; "": unknown */
};

/* Read a file of the kernel, which has no size. */
static int read_file(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	return kgb_fs_read_fd(fd, TEXT_MAX, out, err);
}

/* The mount of version 2 (controller NULL), or of a controller of version 1. */
static bool find_mount(const char *mountinfo, const char *controller, struct hierarchy *out)
{
	enum { ROOT = 3, MOUNT = 4 };
	KGB_AUTO(strv) struct kgb_strv lines = KGB_STRV_INIT;

	kgb_strv_split(&lines, mountinfo, '\n');
	KGB_VEC_FOREACH(line, &lines) {
		/* "36 35 98:0 /root /mount options - type source super-options" */
		KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
		KGB_AUTO(strv) struct kgb_strv options = KGB_STRV_INIT;
		const char *tail = strstr(*line, controller ? " - cgroup " : " - cgroup2 ");
		kgb_strv_split(&words, *line, ' ');
		if (!tail || words.n <= MOUNT)
			continue;
		kgb_strv_split(&options, words.items[words.n - 1], ',');
		if (controller && !kgb_strv_has(&options, controller))
			continue;
		(void)snprintf(out->root, sizeof(out->root), "%s", words.items[ROOT]);
		(void)snprintf(out->mount, sizeof(out->mount), "%s", words.items[MOUNT]);
		return true;
	}
	return false;
}

/* Find our group in "4:memory:/path" or "0::/path". */
static bool find_ours(const char *cgroup, const char *controller, struct hierarchy *out)
{
	KGB_AUTO(strv) struct kgb_strv lines = KGB_STRV_INIT;

	kgb_strv_split(&lines, cgroup, '\n');
	KGB_VEC_FOREACH(line, &lines) {
		KGB_AUTO(strv) struct kgb_strv controllers = KGB_STRV_INIT;
		char *names = strchr(*line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		kgb_strv_split(&controllers, names + 1, ',');
		if (controller ? !kgb_strv_has(&controllers, controller) : controllers.n > 0)
			continue;
		(void)snprintf(out->ours, sizeof(out->ours), "%s", path);
		return true;
	}
	return false;
}

/* The directory of our group. A mount that shows only a part of the hierarchy has our name without
 * that part. */
static char *our_dir(const struct hierarchy *h)
{
	const char *path = h->ours;
	size_t len = strlen(h->root);

	if (!kgb_str_eq(h->root, "/") && strncmp(path, h->root, len) == 0)
		path += len;
	while (*path == '/')
		path++;
	return *path ? kgb_path_join(h->mount, path) : kgb_xstrdup(h->mount);
}

static char *locate(const char *mountinfo, const char *cgroup, const char *controller,
		    struct kgb_err *err)
{
	struct hierarchy h;

	if (!find_mount(mountinfo, controller, &h) || !find_ours(cgroup, controller, &h)) {
		(void)kgb_fail(err, KGB_ERR_UNAVAILABLE, "no cgroups for '%s' are mounted: %s",
			       controller ? controller : "version 2", fix);
		return NULL;
	}
	KGB_AUTO(free) char *dir = our_dir(&h);
	if (access(dir, F_OK) < 0) {
		(void)kgb_fail_errno(err, errno, "our cgroup '%s'", dir);
		return NULL;
	}
	return KGB_TAKE(dir);
}

static int set_dir(char out[256], const char *dir, struct kgb_err *err)
{
	if (access(dir, W_OK) < 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "cgroup '%s' may not be changed: %s", dir,
				fix);
	if (strlen(dir) >= 256)
		return kgb_fail(err, KGB_ERR_LIMIT, "cgroup '%s' has too long a name", dir);
	(void)snprintf(out, 256, "%s", dir);
	return 0;
}

static int find_v1(const char *mountinfo, const char *cgroup, struct kgb_confinement *out,
		   struct kgb_err *err)
{
	KGB_AUTO(free) char *pids = locate(mountinfo, cgroup, "pids", err);
	KGB_AUTO(free) char *memory = pids ? locate(mountinfo, cgroup, "memory", err) : NULL;

	if (!pids || !memory || set_dir(out->cgroup_pids, pids, err) < 0 ||
	    set_dir(out->cgroup_memory, memory, err) < 0) {
		out->cgroup_pids[0] = out->cgroup_memory[0] = '\0';
		return -1;
	}
	return 0;
}

/* Returns true when the file of words names both controllers. */
static bool has_controllers(const char *dir, const char *name)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(TEXT_MAX);
	KGB_AUTO(strv) struct kgb_strv words = KGB_STRV_INIT;
	KGB_AUTO(free) char *path = kgb_path_join(dir, name);

	if (read_file(path, &text, NULL) < 0)
		return false;
	for (char *c = text.ptr; *c; c++)
		if (*c == '\n')
			*c = ' ';
	kgb_strv_split(&words, text.ptr, ' ');
	return kgb_strv_has(&words, "memory") && kgb_strv_has(&words, "pids");
}

static int write_text(const char *dir, const char *name, const char *text)
{
	KGB_AUTO(free) char *path = kgb_path_join(dir, name);
	KGB_AUTO(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

/* Returns true when this process is the only one of the group. */
static bool are_alone(const char *dir)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(TEXT_MAX);
	KGB_AUTO(free) char *path = kgb_path_join(dir, "cgroup.procs");
	KGB_AUTO(free) char *own = kgb_xasprintf("%d\n", getpid());

	return read_file(path, &text, NULL) == 0 && kgb_str_eq(text.ptr, own);
}

/* Move into a child of our group, so that the group may give controllers to its other children. */
static int step_aside(const char *dir, struct kgb_err *err)
{
	KGB_AUTO(free) char *aside = kgb_path_join(dir, "kgb-agent");

	if (!are_alone(dir))
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"cgroup '%s' holds other processes too: %s", dir, fix);
	if ((mkdir(aside, 0755) < 0 && errno != EEXIST) ||
	    write_text(aside, "cgroup.procs", "0") < 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "cgroup '%s' may not be changed: %s", dir,
				fix);
	if (write_text(dir, "cgroup.subtree_control", "+memory +pids") == 0)
		return 0;
	(void)write_text(dir, "cgroup.procs", "0");
	(void)rmdir(aside);
	return kgb_fail(err, KGB_ERR_UNAVAILABLE,
			"cgroup '%s' does not delegate the controllers memory and pids: %s", dir,
			fix);
}

static int find_v2(const char *mountinfo, const char *cgroup, bool may_move,
		   struct kgb_confinement *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *dir = locate(mountinfo, cgroup, NULL, err);

	if (!dir)
		return -1;
	/* An earlier run in this process tree has moved aside already. */
	if (kgb_str_ends(dir, "/kgb-agent"))
		dir[strlen(dir) - strlen("/kgb-agent")] = '\0';
	if (!has_controllers(dir, "cgroup.controllers"))
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"cgroup '%s' does not have the controllers memory and pids: %s",
				dir, fix);
	if (set_dir(out->cgroup_v2, dir, err) == 0 &&
	    (has_controllers(dir, "cgroup.subtree_control") ||
	     (may_move && step_aside(dir, err) == 0)))
		return 0;
	out->cgroup_v2[0] = '\0';
	return err->msg[0] ? -1
			   : kgb_fail(err, KGB_ERR_UNAVAILABLE,
				      "cgroup '%s' delegates no controllers to its children", dir);
}

int kgb_cgroup_find_in(const char *mountinfo, const char *cgroup, bool may_move,
		       struct kgb_confinement *out, struct kgb_err *err)
{
	struct kgb_err why = KGB_ERR_INIT;
	struct kgb_err ignored = KGB_ERR_INIT;
	struct hierarchy h;

	if (find_v2(mountinfo, cgroup, may_move, out, &why) == 0)
		return 0;
	if (find_v1(mountinfo, cgroup, out, &ignored) == 0)
		return 0;
	/* Report the failure of the version that has the controllers. */
	*err = find_mount(mountinfo, "memory", &h) ? ignored : why;
	return -1;
}

/* Remove groups of launchers that were killed before they could: kgb-PID without that process. */
static void remove_stale(const char *dir)
{
	DIR *groups = *dir ? opendir(dir) : NULL;

	for (struct dirent *entry; groups && (entry = readdir(groups));) {
		int64_t pid;
		if (!kgb_str_starts(entry->d_name, "kgb-") ||
		    kgb_parse_i64(entry->d_name + 4, 1, INT32_MAX, &pid, NULL) < 0)
			continue;
		if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(dirfd(groups), entry->d_name, AT_REMOVEDIR);
	}
	if (groups)
		closedir(groups);
}

int kgb_cgroup_find(struct kgb_confinement *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf mountinfo = KGB_BUF_INIT(TEXT_MAX);
	KGB_AUTO(buf) struct kgb_buf cgroup = KGB_BUF_INIT(TEXT_MAX);

	if (read_file("/proc/self/mountinfo", &mountinfo, err) < 0 ||
	    read_file("/proc/self/cgroup", &cgroup, err) < 0)
		return -1;
	if (kgb_cgroup_find_in(mountinfo.ptr, cgroup.ptr, true, out, err) < 0)
		return -1;
	remove_stale(out->cgroup_v2);
	remove_stale(out->cgroup_pids);
	remove_stale(out->cgroup_memory);
	return 0;
}
