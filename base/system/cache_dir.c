/* SPDX-License-Identifier: MIT */
#include "base/system/cache_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"

char *kgb_cache_dir(const char *kind)
{
	static const char *const places[][2] = {
		{"KGB_CACHE_DIR", "/"},
		{"XDG_CACHE_HOME", "/kgb-agent/"},
		{"HOME", "/.cache/kgb-agent/"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(places); i++) {
		const char *value = getenv(places[i][0]);
		if (value && value[0] == '/')
			return kgb_xasprintf("%s%s%s", value, places[i][1], kind);
	}
	return NULL;
}

char *kgb_cache_dir_make(const char *kind)
{
	char *dir = kgb_cache_dir(kind);
	struct kgb_err ignored = KGB_ERR_INIT;
	KGB_AUTO(fd) int fd = -1;

	if (dir && kgb_cache_dir_open(dir, &fd, &ignored) == 0)
		return dir;
	kgb_free(dir);
	return NULL;
}

int kgb_cache_dir_open(const char *dir, int *out_fd, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = -1;

	if (kgb_fs_mkdirs(AT_FDCWD, dir, 0700, err) < 0 ||
	    kgb_fs_opendir(AT_FDCWD, dir, &fd, err) < 0)
		return -1;
	if (!kgb_cache_is_ours(fd))
		return kgb_fail(err, KGB_ERR_DENIED,
				"'%s' belongs to others or is writable by them", dir);
	*out_fd = kgb_take_fd(&fd);
	return 0;
}

bool kgb_cache_is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}
