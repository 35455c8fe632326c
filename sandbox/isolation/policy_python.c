/* SPDX-License-Identifier: MIT */
/** \file
 * The directories that a Python interpreter needs: its virtual environment and the installations
 * that it leads to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/isolation/policy.h"

enum { LINKS_MAX = 16, PYVENV_CFG_MAX = 64 * 1024 };

/* The path without its last component; malloc'ed. "/a" and "/" yield "/". */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return kgb_xstrdup("/");
	return kgb_xstrndup(path, (size_t)(slash - path));
}

/* Without "." and empty components, and with ".." taken away together with the component before it;
 * malloc'ed. Enough for the texts of links between directories of one installation. */
static char *normalized(const char *path)
{
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;
	struct kgb_buf out = KGB_BUF_INIT(PATH_MAX);
	size_t n = 0;

	kgb_strv_split(&parts, path, '/');
	for (size_t i = 0; i < parts.n; i++) {
		if (kgb_str_eq(parts.items[i], "."))
			continue;
		if (kgb_str_eq(parts.items[i], "..")) {
			n -= n > 0;
			continue;
		}
		char *part = parts.items[i];
		parts.items[i] = parts.items[n];
		parts.items[n++] = part;
	}
	for (size_t i = 0; i < n; i++)
		(void)kgb_buf_addf(&out, "/%s", parts.items[i]);
	if (n == 0)
		(void)kgb_buf_addc(&out, '/');
	return kgb_buf_take(&out);
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return kgb_str_starts(path, dir) && (path[len] == '\0' || path[len] == '/');
}

static bool is_mounted_at(const struct kgb_policy *policy, const char *path)
{
	for (size_t i = 0; i < policy->mounts.n; i++)
		if (policy->mounts.items[i].kind == KGB_MOUNT_RO &&
		    kgb_str_eq(policy->mounts.items[i].target, path))
			return true;
	return false;
}

/* Returns true when dir has lib/python3.N/os.py, by which Python recognizes its installation. */
static bool has_landmark(const char *dir)
{
	KGB_AUTO(free) char *lib = kgb_path_join(dir, "lib");
	DIR *stream = opendir(lib);
	bool found = false;

	if (!stream)
		return false;
	for (struct dirent *entry; !found && (entry = readdir(stream));) {
		if (!kgb_str_starts(entry->d_name, "python3"))
			continue;
		KGB_AUTO(free) char *os_py = kgb_xasprintf("%s/%s/os.py", lib, entry->d_name);
		found = access(os_py, R_OK) == 0;
	}
	closedir(stream);
	return found;
}

/* Show an installation at its own path, and also at its real one when a link lies on the way. */
static int add_prefix(struct kgb_policy *policy, const char *prefix, bool is_venv,
		      const char *python, struct kgb_err *err)
{
	if (is_below(prefix, "/usr"))
		return 0;
	if (kgb_str_eq(prefix, "/") || (!is_venv && !has_landmark(prefix)))
		return kgb_fail(
			err, KGB_ERR_INVALID,
			"python '%s': '%s' is not a Python installation (no lib/python3.N/os.py): name the real "
			"interpreter, not a wrapper",
			python, prefix);
	KGB_AUTO(free) char *real = kgb_path_real(prefix, err);
	if (!real)
		return -1;
	if (!is_mounted_at(policy, real) && !is_below(real, "/usr"))
		kgb_policy_mount(policy, KGB_MOUNT_RO, real, real);
	if (!is_mounted_at(policy, prefix))
		kgb_policy_mount(policy, KGB_MOUNT_RO, real, prefix);
	return 0;
}

/* The value of `home` in pyvenv.cfg: the bin directory of the base installation; malloc'ed, NULL
 * when there is none. */
static char *pyvenv_home(const char *text)
{
	KGB_AUTO(strv) struct kgb_strv lines = KGB_STRV_INIT;

	kgb_strv_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.items[i];
		if (!kgb_str_starts(line, "home"))
			continue;
		line += strlen("home");
		line += strspn(line, " \t");
		if (*line != '=')
			continue;
		line++;
		line += strspn(line, " \t");
		size_t len = strcspn(line, "\r");
		return kgb_xstrndup(line, len);
	}
	return NULL;
}

/* Bind the installation around one `.../bin/python`; the base of a virtual environment too. */
static int add_interpreter(struct kgb_policy *policy, const char *path, struct kgb_err *err)
{
	KGB_AUTO(free) char *bin = parent_of(path);
	KGB_AUTO(free) char *prefix = parent_of(bin);
	KGB_AUTO(free) char *cfg = kgb_path_join(prefix, "pyvenv.cfg");

	if (!kgb_fs_exists(AT_FDCWD, cfg))
		return add_prefix(policy, prefix, false, path, err);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(PYVENV_CFG_MAX);
	if (kgb_fs_read(AT_FDCWD, cfg, PYVENV_CFG_MAX, &text, err) < 0)
		return -1;
	if (add_prefix(policy, prefix, true, path, err) < 0)
		return -1;
	KGB_AUTO(free) char *home = pyvenv_home(text.ptr);
	if (!home || home[0] != '/')
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' has no absolute 'home'", cfg);
	KGB_AUTO(free) char *home_clean = normalized(home);
	KGB_AUTO(free) char *base = parent_of(home_clean);
	return add_prefix(policy, base, false, path, err);
}

/* The target of the link `path`, absolute and normalized; malloc'ed, NULL when it is no link. */
static char *link_target(const char *path)
{
	char text[PATH_MAX];
	ssize_t len = readlink(path, text, sizeof(text) - 1);

	if (len < 0)
		return NULL;
	text[len] = '\0';
	if (text[0] == '/')
		return normalized(text);
	KGB_AUTO(free) char *dir = parent_of(path);
	KGB_AUTO(free) char *joined = kgb_path_join(dir, text);
	return normalized(joined);
}

int kgb_policy_python(struct kgb_policy *policy, const char *python, struct kgb_err *err)
{
	if (python[0] != '/')
		return kgb_fail(err, KGB_ERR_INVALID, "python '%s': not an absolute path", python);
	if (access(python, X_OK) < 0)
		return kgb_fail_errno(err, errno, "python '%s'", python);

	KGB_AUTO(free) char *path = normalized(python);
	for (int i = 0; i < LINKS_MAX; i++) {
		char *next = link_target(path);
		/* The place of a link matters in a virtual environment; elsewhere only its target
		 * does. */
		KGB_AUTO(free) char *bin = parent_of(path);
		KGB_AUTO(free) char *prefix = parent_of(bin);
		KGB_AUTO(free) char *cfg = kgb_path_join(prefix, "pyvenv.cfg");
		if ((!next || kgb_fs_exists(AT_FDCWD, cfg)) &&
		    add_interpreter(policy, path, err) < 0) {
			kgb_free(next);
			return -1;
		}
		if (!next)
			return 0;
		kgb_free(path);
		path = next;
	}
	return kgb_fail(err, KGB_ERR_INVALID, "python '%s': too many links", python);
}
