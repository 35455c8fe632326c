/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cli/cmd.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "verify/spec.h"

int kgb_cli_fail(const struct kgb_err *err, int invalid)
{
	kgb_log_err(err);
	switch (err->kind) {
	case KGB_ERR_INVALID:
	case KGB_ERR_NOT_FOUND:
		return invalid;
	case KGB_ERR_UNAVAILABLE:
	case KGB_ERR_LIMIT:
	case KGB_ERR_DENIED:
	case KGB_ERR_TIMEOUT:
		return KGB_EXIT_ENVIRONMENT;
	case KGB_ERR_BUSY:
		return KGB_EXIT_LOCKED;
	case KGB_ERR_CANCELLED:
		return 130;
	case KGB_ERR_FAILED:
		return KGB_EXIT_INTERNAL;
	}
	KGB_UNREACHABLE();
}

int kgb_cli_print(const struct kgb_buf *text, int exit_code)
{
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_write_all(STDOUT_FILENO, text->ptr, text->len, &err) < 0) {
		/* The reader has seen enough (`| head`): that is no fault. */
		if (err.code == EPIPE)
			return exit_code;
		kgb_ctx(&err, "stdout");
		kgb_log_err(&err);
		return KGB_EXIT_INTERNAL;
	}
	return exit_code;
}

/** A word that is no operator may have been meant as a subcommand. */
static void add_command_hint(const struct kgb_cli *cli, const char *word, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv names = KGB_STRV_INIT;
	const char *nearest = NULL;
	for (const struct kgb_subcommand *c = kgb_cli_commands; c->name; c++)
		kgb_strv_add(&names, c->name);
	if (cli->named ||
	    !kgb_nearest(word, (const char *const *)names.items, names.n, &nearest, 1))
		return;
	size_t len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, " (or the command '%s'?)", nearest);
}

int kgb_cli_operators(const struct kgb_cli *cli, const struct kgb_spec_index *index,
		      struct kgb_strv *names, struct kgb_strv *paths, struct kgb_err *err)
{
	bool all = cli->operators.n == 0 ||
		   (cli->operators.n == 1 && kgb_str_eq(cli->operators.items[0], "all"));
	if (all) {
		kgb_strv_add_all(names, (const char *const *)index->names.items);
		kgb_strv_add_all(paths, (const char *const *)index->paths.items);
		return 0;
	}
	for (size_t i = 0; i < cli->operators.n; i++) {
		const char *name = NULL;
		const char *path = NULL;
		if (kgb_spec_index_find(index, cli->operators.items[i], &name, &path, err) < 0) {
			if (i == 0)
				add_command_hint(cli, cli->operators.items[i], err);
			return -1;
		}
		if (kgb_strv_has(names, name))
			continue;
		kgb_strv_add(names, name);
		kgb_strv_add(paths, path);
	}
	return 0;
}

int kgb_cli_read_kernel(const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return kgb_fail_errno(err, errno, "kernel '%s'", path);
	if (S_ISLNK(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID,
				"kernel '%s' is a symbolic link: name the file itself", path);
	if (!S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "kernel '%s' is not a regular file", path);
	if (st.st_size > (off_t)KGB_LIMIT_KERNEL)
		return kgb_fail(err, KGB_ERR_INVALID,
				"kernel '%s' is %lld bytes long: %u are allowed", path,
				(long long)st.st_size, KGB_LIMIT_KERNEL);
	/* It may have been exchanged since: the same is asked of what is opened. */
	KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "kernel '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return kgb_fail(err, KGB_ERR_INVALID, "kernel '%s' is not a regular file", path);
	if (kgb_fs_read_fd(fd, KGB_LIMIT_KERNEL, out, err) < 0)
		return kgb_ctx(err, "kernel '%s'", path);
	return 0;
}
