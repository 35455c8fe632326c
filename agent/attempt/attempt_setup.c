/* SPDX-License-Identifier: MIT */
#include "agent/attempt/attempt_setup.h"

#include <fcntl.h>

#include "agent/attempt/recording.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "methods/prompt.h"

/** The initial kernel.py: that of an earlier run (copied into the run by `--from-run`), a stub, or
 * none. */
static int make_start(struct kgb_start_kernel *start, const struct kgb_attempt_facts *facts,
		      struct kgb_buf *kernel, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = facts->env;
	const char *run = env->replay ? env->replay->dir : env->dir->path;
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%s/" KGB_RUNDIR_START "/%s.py", run, facts->spec->safe_name);
	if (!facts->paths.has_rounds)
		return 0;
	if (kgb_fs_exists(AT_FDCWD, path)) {
		if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, kernel, err) < 0)
			return -1;
		start->is_earlier = true;
	} else if (facts->loop.start == KGB_METHOD_START_FROM_RUN) {
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "%s has no kernel to begin with: '%s'",
				facts->spec->name, path);
	} else if (facts->loop.start == KGB_METHOD_START_STUB) {
		kgb_prompt_stub(facts->spec, kernel);
		start->is_stub = true;
	}
	if (kernel->len > 0)
		kgb_sha256_hex(kernel->ptr, kernel->len, start->sha256);
	return 0;
}

static int make_workspace(struct kgb_attempt_setup *setup, const struct kgb_attempt_facts *facts,
			  const struct kgb_buf *prompt, struct kgb_err *err)
{
	KGB_AUTO(free) char *worktree = kgb_attempt_path(&facts->paths, "ws");
	KGB_AUTO(free) char *git_dir = kgb_attempt_path(&facts->paths, "git");
	KGB_AUTO(buf) struct kgb_buf kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free)
	char *message = kgb_xasprintf("task: %s by %s, attempt %d", facts->spec->name,
				      facts->env->method->name, facts->number);
	if (make_start(&setup->start, facts, &kernel, err) < 0)
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
	return kgb_workspace_create(&setup->ws, &spec, err);
}

/** The task of the agent. A replay takes the recorded text, because the data may have changed. */
static int find_prompt(const struct kgb_attempt_facts *facts, struct kgb_buf *prompt,
		       struct kgb_err *err)
{
	const struct kgb_attempt_env *env = facts->env;
	struct kgb_prompt_vars vars = env->prompt;

	vars.sees_gpu = facts->sees_gpu;
	if (facts->recording) {
		KGB_AUTO(free)
		char *path = kgb_attempt_path(kgb_recording_paths(facts->recording), "prompt.md");
		return kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_PROMPT, prompt, err);
	}
	return kgb_prompt_render(env->data_dir, env->method, facts->spec, &vars, prompt, err);
}

int kgb_attempt_setup_make(struct kgb_attempt_setup *setup, const struct kgb_attempt_facts *facts,
			   struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_attempt_path(&facts->paths, "prompt.md");
	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	if (find_prompt(facts, &prompt, err) < 0)
		return -1;
	kgb_sha256_hex(prompt.ptr, prompt.len, setup->prompt_sha256);
	if (kgb_fs_write_atomic(AT_FDCWD, path, prompt.ptr, prompt.len, 0644, false, err) < 0)
		return -1;
	return make_workspace(setup, facts, &prompt, err);
}
