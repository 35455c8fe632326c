/* SPDX-License-Identifier: MIT */
#include "agent/cli/preflight.h"

#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define SETUP_HINT "run `./bootstrap setup`"

int kgb_preflight_cli(const char *path, struct kgb_err *err)
{
	if (access(path, X_OK) == 0)
		return 0;
	return kgb_fail(err, KGB_ERR_UNAVAILABLE,
			"Claude Code is not at '%s': %s, or set paths.claude", path, SETUP_HINT);
}

int kgb_preflight_sandbox(const char *bin_dir, struct kgb_isolation_info *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *launcher = kgb_path_join(bin_dir, "kgb-launch");
	return kgb_isolation_probe(launcher, NULL, out, err);
}

/** Exit status of a short command, or -1. */
static int run_quietly(char *const *argv, struct kgb_err *err)
{
	static char *const no_env[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", 2 /* O_RDWR */, 0);
	pid_t pid = 0;
	int rc = posix_spawn(&pid, argv[0], &actions, NULL, argv, no_env);
	posix_spawn_file_actions_destroy(&actions);
	if (rc != 0)
		return kgb_fail_errno(err, rc, "start '%s'", argv[0]);
	int status = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return kgb_fail_errno(err, errno, "wait for '%s'", argv[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int kgb_preflight_python(const char *python, struct kgb_err *err)
{
	if (access(python, X_OK) < 0)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"there is no Python with torch and triton at '%s': %s, or set paths.python",
			python, SETUP_HINT);
	static const char probe[] =
		"import importlib.util as u, sys\n"
		"sys.exit(3 if not u.find_spec('torch') else 4 if not u.find_spec('triton') else 0)";
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	kgb_strv_add(&argv, python);
	kgb_strv_add(&argv, "-I");
	kgb_strv_add(&argv, "-c");
	kgb_strv_add(&argv, probe);
	int status = run_quietly(argv.items, err);
	if (status < 0)
		return -1;
	if (status == 3 || status == 4)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "'%s' has no %s: %s", python,
				status == 3 ? "torch" : "triton", SETUP_HINT);
	if (status != 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"'%s' does not run (status %d): %s, or set paths.python", python,
				status, SETUP_HINT);
	return 0;
}
