/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/sched/attempt_internal.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "methods/prompt.h"

/* A CLI's stdout and everything else it writes: one file at most this large. */
#define AGENT_FILE_BYTES (512LL << 20)
#define AGENT_OPEN_FILES 4096
/* Processes and threads; a CLI has some dozens. Does not bind root. */
#define AGENT_PROCESSES 4096

static char *path_in(const struct kgb_attempt *attempt, const char *name)
{
	return kgb_path_join(attempt->dir, name);
}

static int open_in(const struct kgb_attempt *attempt, const char *name, int flags, int *out,
		   struct kgb_err *err)
{
	KGB_AUTO(free) char *path = path_in(attempt, name);
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	*out = fd;
	return 0;
}

static int make_workspace(struct kgb_attempt *attempt, const struct kgb_buf *prompt,
			  struct kgb_err *err)
{
	KGB_AUTO(free) char *worktree = path_in(attempt, "ws");
	KGB_AUTO(free) char *git_dir = path_in(attempt, "git");
	KGB_AUTO(free)
	char *message = kgb_xasprintf("task: %s by %s, attempt %d", attempt->spec->name,
				      attempt->env->method->name, attempt->number);
	const struct kgb_workspace_file files[] = {{"TASK.md", prompt->ptr, prompt->len}};
	const struct kgb_workspace_spec spec = {
		.worktree = worktree,
		.git_dir = git_dir,
		.files = files,
		.n_files = KGB_ARRAY_LEN(files),
		.message = message,
	};
	return kgb_workspace_create(&attempt->ws, &spec, err);
}

/** The CLI's stdin. Not prompt.md itself: through /proc/self/fd a program opens what it was given
 * for reading again for writing, and that file is ours. */
static int seal_prompt(const struct kgb_buf *prompt, int *out, struct kgb_err *err)
{
	KGB_AUTO(fd) int fd = memfd_create("prompt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "create memory file 'prompt'");
	if (kgb_fs_write_all(fd, prompt->ptr, prompt->len, err) < 0)
		return kgb_ctx(err, "prompt");
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return kgb_fail_errno(err, errno, "seal memory file 'prompt'");
	*out = kgb_take_fd(&fd);
	return 0;
}

static int make_prompt(struct kgb_attempt *attempt, struct kgb_buf *prompt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const struct kgb_prompt_vars vars = {.platform = kgb_devices_platform(env->devices),
					     .max_verify_calls = env->max_verify_calls};
	KGB_AUTO(free) char *path = path_in(attempt, "prompt.md");
	if (kgb_prompt_render(env->data_dir, env->method, attempt->spec, &vars, prompt, err) < 0 ||
	    kgb_fs_write_atomic(AT_FDCWD, path, prompt->ptr, prompt->len, 0644, false, err) < 0)
		return -1;
	kgb_sha256_hex(prompt->ptr, prompt->len, attempt->prompt_sha256);
	return seal_prompt(prompt, &attempt->prompt_fd, err);
}

static int load_offline(struct kgb_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	if (env->gateway_mode != KGB_GATEWAY_OFFLINE)
		return 0;
	KGB_AUTO(free) char *dir = kgb_path_join(env->data_dir, "datasets/offline");
	enum kgb_offline_variant variant = env->method->session == KGB_METHOD_SESSION_ONESHOT
						   ? KGB_OFFLINE_ONESHOT
						   : KGB_OFFLINE_VERIFY;
	return kgb_offline_load(&attempt->offline, dir, attempt->spec->safe_name, variant, err);
}

int kgb_attempt__setup(struct kgb_attempt *attempt, struct kgb_err *err)
{
	uint8_t token[(KGB_TOKEN_LEN - 1) / 2];
	kgb_random(token, sizeof(token));
	kgb_hex(token, sizeof(token), attempt->token);
	kgb_uuid4(attempt->session_id);

	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *home = path_in(attempt, "home");
	if (kgb_rundir_make_attempt(attempt->env->dir, attempt->spec->safe_name, attempt->number,
				    err) < 0 ||
	    kgb_fs_mkdirs(AT_FDCWD, home, 0755, err) < 0 || load_offline(attempt, err) < 0 ||
	    make_prompt(attempt, &prompt, err) < 0 || make_workspace(attempt, &prompt, err) < 0 ||
	    open_in(attempt, "stdout.jsonl", O_WRONLY | O_CREAT | O_EXCL | O_APPEND,
		    &attempt->stdout_fd, err) < 0 ||
	    open_in(attempt, "stderr.log", O_WRONLY | O_CREAT | O_EXCL | O_APPEND,
		    &attempt->stderr_fd, err) < 0 ||
	    open_in(attempt, "stdout.jsonl", O_RDONLY, &attempt->stdout_read_fd, err) < 0)
		return -1;
	return 0;
}

/** The CLI's command line and environment, by the method's data. */
static int add_command(struct kgb_attempt *attempt, struct kgb_policy *policy, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const struct kgb_method_vars vars = {
		.model = env->model,
		.session_id = attempt->session_id,
		.gateway_url = KGB_INSIDE_GATEWAY,
		.token = attempt->token,
	};
	KGB_AUTO(strv) struct kgb_strv argv = KGB_STRV_INIT;
	KGB_AUTO(strv) struct kgb_strv vars_env = KGB_STRV_INIT;
	if (kgb_method_render(env->method, &vars, &argv, &vars_env, err) < 0)
		return -1;
	KGB_AUTO(free) char *cli = kgb_xasprintf("%s%s", KGB_INSIDE_CLI, env->method->cli);
	kgb_policy_ro(policy, env->cli_path, cli);
	kgb_policy_arg(policy, cli);
	for (size_t i = 0; i < argv.n; i++)
		kgb_policy_arg(policy, argv.items[i]);
	for (size_t i = 0; i < vars_env.n; i++) {
		const char *equals = strchr(vars_env.items[i], '=');
		KGB_AUTO(free)
		char *name = kgb_xstrndup(vars_env.items[i], (size_t)(equals - vars_env.items[i]));
		kgb_policy_setenv(policy, name, equals + 1);
	}
	return 0;
}

static void add_verify_tool(const struct kgb_attempt *attempt, struct kgb_policy *policy)
{
	KGB_AUTO(free) char *client = kgb_path_join(attempt->env->bin_dir, "kgb-verify");
	kgb_policy_ro(policy, client, KGB_INSIDE_BIN "/kgb-verify");
	kgb_policy_setenv(policy, "PATH", KGB_INSIDE_BIN ":/usr/local/bin:/usr/bin:/bin");
	kgb_policy_setenv(policy, "KGB_GATEWAY", KGB_INSIDE_GATEWAY);
	kgb_policy_setenv(policy, "KGB_TOKEN", attempt->token);
}

int kgb_attempt__launch(struct kgb_attempt *attempt, const struct kgb_launch_callbacks *callbacks,
			struct kgb_err *err)
{
	KGB_AUTO(free) char *home = path_in(attempt, "home");
	KGB_AUTO(free) char *worktree = path_in(attempt, "ws");
	KGB_AUTO(free) char *launcher = kgb_path_join(attempt->env->bin_dir, "kgb-launch");
	KGB_AUTO(policy) struct kgb_policy policy;
	kgb_policy_init(&policy);
	const struct kgb_policy_base_spec base = {.home = home,
						  .tmp_bytes = attempt->env->tmp_bytes};
	if (kgb_policy_base(&policy, &base, err) < 0)
		return -1;
	kgb_policy_rw(&policy, worktree, KGB_INSIDE_WS);
	kgb_policy_set_cwd(&policy, KGB_INSIDE_WS);
	if (add_command(attempt, &policy, err) < 0)
		return -1;
	if (attempt->env->method->verify_tool)
		add_verify_tool(attempt, &policy);
	policy.network = KGB_NETWORK_LISTENER;
	policy.listen_port = KGB_INSIDE_PORT;
	policy.limits.file_size_bytes = AGENT_FILE_BYTES;
	policy.limits.n_open_files = AGENT_OPEN_FILES;
	policy.limits.n_processes = AGENT_PROCESSES;

	const struct kgb_sandbox_spec spec = {
		.policy = &policy,
		.launcher = launcher,
		.stdio = {attempt->prompt_fd, attempt->stdout_fd, attempt->stderr_fd},
	};
	if (kgb_launch_start(&attempt->launch, attempt->env->loop, &spec, callbacks, attempt, err) <
	    0)
		return -1;
	kgb_close(attempt->prompt_fd);
	kgb_close(attempt->stdout_fd);
	kgb_close(attempt->stderr_fd);
	attempt->prompt_fd = attempt->stdout_fd = attempt->stderr_fd = -1;
	return 0;
}
