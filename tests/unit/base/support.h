/* SPDX-License-Identifier: MIT */
/** \file
 * What the unit tests of base share: cmocka with its includes, assertions that show error texts,
 * temporary directories, code that must abort.
 */
#ifndef KGB_TESTS_UNIT_BASE_SUPPORT_H
#define KGB_TESTS_UNIT_BASE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

/** A call that must succeed; prints the error's text if it does not. */
#define assert_ok(call, err)                                  \
	do {                                                  \
		if ((call) != 0)                              \
			fail_msg("%s: %s", #call, (err).msg); \
	} while (0)

/** A call that must fail with exactly this message. */
#define assert_fails(call, err, message)                   \
	do {                                               \
		memset(&(err), 0, sizeof(err));            \
		assert_int_equal((call), -1);              \
		assert_string_equal((err).msg, (message)); \
	} while (0)

#define assert_contains(text, part)                                             \
	do {                                                                    \
		if (!strstr((text), (part)))                                    \
			fail_msg("'%s' does not contain '%s'", (text), (part)); \
	} while (0)

/** Run fn in a child and return how it ended: exit status, or -signal. Its stderr goes nowhere. */
static inline int run_in_child(void (*fn)(void *), void *payload)
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit no_core = {0, 0};
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDERR_FILENO);
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		fn(payload);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#define assert_aborts(fn, payload) assert_int_equal(run_in_child((fn), (payload)), -SIGABRT)

/** A fresh directory; *fd opens it. Setup and teardown of a cmocka test with state = struct tmpdir
 * *. */
struct tmpdir {
	char path[64];
	int fd;
};

static inline int tmpdir_setup(void **state)
{
	struct tmpdir *dir = kgb_xcalloc(1, sizeof(*dir));

	snprintf(dir->path, sizeof(dir->path), "/tmp/kgb-test-XXXXXX");
	if (!mkdtemp(dir->path) || chmod(dir->path, 0777) < 0)
		return -1;
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = dir;
	return dir->fd < 0 ? -1 : 0;
}

static inline void put_file(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/** Make a directory with this file and go there: messages then begin with the file's name. */
static inline void enter_dir_of(const char *name, const char *text, char dir[32])
{
	snprintf(dir, 32, "/tmp/kgb-test-XXXXXX");
	assert_true(mkdtemp(dir) && chdir(dir) == 0);
	put_file(AT_FDCWD, name, text);
}

static inline void leave_dir_of(const char *name, const char *dir)
{
	assert_true(unlink(name) == 0 && chdir("/") == 0 && rmdir(dir) == 0);
}

/** Entries of a directory, without "." and "..". */
static inline size_t count_entries(int dir_fd, const char *name)
{
	size_t n = 0;
	const struct dirent *entry;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	DIR *dir = fdopendir(fd);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return n;
}

#endif
