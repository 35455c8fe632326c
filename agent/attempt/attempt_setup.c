/* SPDX-License-Identifier: MIT */
#include <fcntl.h>

#include "agent/attempt/attempt_internal.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "methods/prompt.h"

char *kgb_attempt__path(const struct kgb_attempt *attempt, const char *name)
{
	return kgb_path_join(attempt->dir, name);
}

/** The kernel.py that the work begins with: an earlier run's (`--from-run` has put it into the
 * run), a stub, or none. */
static int make_start(struct kgb_attempt *attempt, struct kgb_buf *kernel, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const char *run = env->replay ? env->replay->dir : env->dir->path;
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%s/" KGB_RUNDIR_START "/%s.py", run, attempt->spec->safe_name);
	if (!kgb_attempt__has_loop(attempt))
		return 0;
	if (kgb_fs_exists(AT_FDCWD, path)) {
		if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, kernel, err) < 0)
			return -1;
		attempt->judge_start = true;
	} else if (attempt->loop.start == KGB_METHOD_START_FROM_RUN) {
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "%s has no kernel to begin with: '%s'",
				attempt->spec->name, path);
	} else if (attempt->loop.start == KGB_METHOD_START_STUB) {
		kgb_prompt_stub(attempt->spec, kernel);
		attempt->start_is_stub = true;
	}
	if (kernel->len > 0)
		kgb_sha256_hex(kernel->ptr, kernel->len, attempt->start_sha256);
	return 0;
}

static int make_workspace(struct kgb_attempt *attempt, const struct kgb_buf *prompt,
			  struct kgb_err *err)
{
	KGB_AUTO(free) char *worktree = kgb_attempt__path(attempt, "ws");
	KGB_AUTO(free) char *git_dir = kgb_attempt__path(attempt, "git");
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free)
	char *message = kgb_xasprintf("task: %s by %s, attempt %d", attempt->spec->name,
				      attempt->env->method->name, attempt->number);
	if (make_start(attempt, &kernel, err) < 0)
		return -1;
	const struct kgb_workspace_file files[] = {{"TASK.md", prompt->ptr, prompt->len},
						   {KGB_WORKSPACE_KERNEL, kernel.ptr, kernel.len}};
	const struct kgb_workspace_spec spec = {
		.worktree = worktree,
		.git_dir = git_dir,
		.files = files,
		.n_files = kernel.len > 0 ? 2 : 1,
		.message = message,
	};
	return kgb_workspace_create(&attempt->ws, &spec, err);
}

/** What is asked of the agent; in a replay what was asked then, whatever the data say today. */
static int find_prompt(const struct kgb_attempt *attempt, struct kgb_buf *prompt,
		       struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const struct kgb_prompt_vars vars = {.platform = kgb_devices_platform(env->devices),
					     .max_verify_calls = env->max_verify_calls,
					     .sees_gpu = kgb_attempt__sees_gpu(attempt)};
	if (attempt->recorded_dir) {
		KGB_AUTO(free) char *recorded = kgb_path_join(attempt->recorded_dir, "prompt.md");
		return kgb_fs_read(AT_FDCWD, recorded, KGB_LIMIT_PROMPT, prompt, err);
	}
	if (kgb_prompt_render(env->data_dir, env->method, attempt->spec, &vars, prompt, err) < 0)
		return -1;
	return 0;
}

/** prompt.md: the task, which is the same in all rounds. */
static int make_prompt(struct kgb_attempt *attempt, struct kgb_buf *prompt, struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_attempt__path(attempt, "prompt.md");
	if (find_prompt(attempt, prompt, err) < 0)
		return -1;
	kgb_sha256_hex(prompt->ptr, prompt->len, attempt->prompt_sha256);
	return kgb_fs_write_atomic(AT_FDCWD, path, prompt->ptr, prompt->len, 0644, false, err);
}

int kgb_attempt__setup(struct kgb_attempt *attempt, struct kgb_err *err)
{
	uint8_t token[(KGB_TOKEN_LEN - 1) / 2];
	kgb_random(token, sizeof(token));
	kgb_hex(token, sizeof(token), attempt->token);
	attempt->loop = attempt->env->method->loop;
	if (kgb_attempt__has_loop(attempt) && attempt->env->iterations > 0)
		attempt->loop.iterations = attempt->env->iterations;

	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	if (kgb_rundir_make_attempt(attempt->env->dir, attempt->spec->safe_name, attempt->number,
				    err) < 0 ||
	    kgb_attempt__load_replay(attempt, err) < 0 || make_prompt(attempt, &prompt, err) < 0)
		return -1;
	return make_workspace(attempt, &prompt, err);
}
