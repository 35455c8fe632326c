/* SPDX-License-Identifier: MIT */
#include "base/system/install.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

/* A file that every data folder contains; below a parent of the program it marks the folder. */
static const char data_mark[] = "verify/policy";
static const char share_dir[] = "share/kgb-agent";
static const char system_deps[] = "/var/lib/kgb-agent";

static bool exists_below(const char *dir, const char *name)
{
	KGB_AUTO(free) char *path = kgb_path_join(dir, name);

	return kgb_fs_exists(AT_FDCWD, path);
}

static const char *env_or_null(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

char *kgb_path_absolute(const char *path)
{
	if (*path == '/')
		return kgb_xstrdup(path);
	KGB_AUTO(free) char *cwd = getcwd(NULL, 0);
	return kgb_path_join(cwd ? cwd : ".", path);
}

char *kgb_install_programs(void)
{
	KGB_AUTO(free) char *self = kgb_path_self_dir();
	KGB_AUTO(free) char *beside = kgb_xasprintf("%s/../libexec/kgb-agent", self);
	char *installed = kgb_path_real(beside, NULL);

	if (installed && !exists_below(self, "kgb-judge"))
		return installed;
	kgb_free(installed);
	return KGB_TAKE(self);
}

/* The data folder above this program; *is_source: it is a source tree. NULL: none. */
static char *data_above_program(bool *is_source)
{
	KGB_AUTO(free) char *dir = kgb_path_self_dir();

	for (char *slash; (slash = strrchr(dir, '/')) && slash != dir;) {
		*slash = '\0';
		KGB_AUTO(free) char *share = kgb_path_join(dir, share_dir);
		*is_source = exists_below(dir, data_mark);
		if (*is_source)
			return KGB_TAKE(dir);
		if (exists_below(share, data_mark))
			return KGB_TAKE(share);
	}
	return NULL;
}

char *kgb_install_data(void)
{
	const char *named = env_or_null("KGB_DATA_DIR");
	bool is_source;

	if (named)
		return kgb_path_absolute(named);
	char *found = data_above_program(&is_source);
	return found ? found : kgb_path_absolute(".");
}

static char *user_deps(void)
{
	const char *data = env_or_null("XDG_DATA_HOME");
	const char *home = env_or_null("HOME");

	if (data)
		return kgb_path_join(data, "kgb-agent");
	return home ? kgb_path_join(home, ".local/share/kgb-agent") : NULL;
}

char *kgb_install_deps(void)
{
	const char *named = env_or_null("KGB_DEPS_DIR");
	bool is_source = false;

	if (named)
		return kgb_path_absolute(named);
	KGB_AUTO(free) char *data = data_above_program(&is_source);
	if (data && is_source)
		return kgb_path_join(data, ".deps");
	KGB_AUTO(free) char *user = user_deps();
	if (geteuid() != 0 && user && kgb_fs_exists(AT_FDCWD, user))
		return KGB_TAKE(user);
	if (geteuid() == 0 || !user || kgb_fs_exists(AT_FDCWD, system_deps))
		return kgb_xstrdup(system_deps);
	return KGB_TAKE(user);
}

char *kgb_install_dep(const char *below)
{
	KGB_AUTO(free) char *deps = kgb_install_deps();

	return kgb_path_join(deps, below);
}
