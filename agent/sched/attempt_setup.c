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

/** Where there is no mount, the workspace has the name that it has on the host. */
static void name_workspace(const struct kgb_attempt *attempt, struct kgb_buf *prompt)
{
	static const char name[] = KGB_INSIDE_WS;
	KGB_AUTO(free) char *real = path_in(attempt, "ws");
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	for (const char *c = prompt->ptr; *c;) {
		bool is_name = strncmp(c, name, sizeof(name) - 1) == 0 &&
			       strchr("/`'\" .,\n", c[sizeof(name) - 1]);
		if (is_name)
			kgb_buf_adds(&out, real);
		else
			kgb_buf_addc(&out, *c);
		c += is_name ? sizeof(name) - 1 : 1;
	}
	kgb_buf_clear(prompt);
	kgb_buf_add(prompt, out.ptr, out.len);
}

static int make_prompt(struct kgb_attempt *attempt, struct kgb_buf *prompt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const struct kgb_prompt_vars vars = {.platform = kgb_devices_platform(env->devices),
					     .max_verify_calls = env->max_verify_calls};
	KGB_AUTO(free) char *path = path_in(attempt, "prompt.md");
	if (kgb_prompt_render(env->data_dir, env->method, attempt->spec, &vars, prompt, err) < 0)
		return -1;
	if (attempt->host_port != 0)
		name_workspace(attempt, prompt);
	if (kgb_fs_write_atomic(AT_FDCWD, path, prompt->ptr, prompt->len, 0644, false, err) < 0)
		return -1;
	kgb_sha256_hex(prompt->ptr, prompt->len, attempt->prompt_sha256);
	static const struct kgb_buf nothing = KGB_BUF_INIT(0);
	bool by_file = env->method->prompt == KGB_METHOD_PROMPT_FILE; /* TASK.md */
	return seal_prompt(by_file ? &nothing : prompt, &attempt->prompt_fd, err);
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

/** With a network namespace every attempt has the same address, in it; else a port of its own. */
static int find_gateway(struct kgb_attempt *attempt, struct kgb_err *err)
{
	uint16_t port = KGB_INSIDE_PORT;
	if (attempt->env->walls.ladder->confinement.no_namespaces) {
		if (kgb_gateway_listen_loopback(0, &attempt->host_listen_fd, &port, err) < 0)
			return -1;
		attempt->host_port = port;
	}
	snprintf(attempt->gateway_url, sizeof(attempt->gateway_url), "http://127.0.0.1:%u", port);
	return 0;
}

int kgb_attempt__setup(struct kgb_attempt *attempt, struct kgb_err *err)
{
	uint8_t token[(KGB_TOKEN_LEN - 1) / 2];
	kgb_random(token, sizeof(token));
	kgb_hex(token, sizeof(token), attempt->token);
	kgb_uuid4(attempt->session_id);

	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *home = path_in(attempt, "home");
	if (find_gateway(attempt, err) < 0 ||
	    kgb_rundir_make_attempt(attempt->env->dir, attempt->spec->safe_name, attempt->number,
				    err) < 0 ||
	    kgb_fs_mkdirs(AT_FDCWD, home, 0755, err) < 0 || load_offline(attempt, err) < 0 ||
	    kgb_attempt__load_replay(attempt, err) < 0 || make_prompt(attempt, &prompt, err) < 0 ||
	    make_workspace(attempt, &prompt, err) < 0 ||
	    open_in(attempt, "stdout.jsonl", O_WRONLY | O_CREAT | O_EXCL | O_APPEND,
		    &attempt->stdout_fd, err) < 0 ||
	    open_in(attempt, "stderr.log", O_WRONLY | O_CREAT | O_EXCL | O_APPEND,
		    &attempt->stderr_fd, err) < 0 ||
	    open_in(attempt, "stdout.jsonl", O_RDONLY, &attempt->stdout_read_fd, err) < 0)
		return -1;
	return 0;
}

/** The program's own files, in the home that it gets. */
static int write_files(const struct kgb_attempt *attempt, const struct kgb_method_command *command,
		       struct kgb_err *err)
{
	KGB_AUTO(free) char *home = path_in(attempt, "home");
	for (size_t i = 0; i < command->paths.n; i++) {
		KGB_AUTO(free) char *path = kgb_path_join(home, command->paths.items[i]);
		KGB_AUTO(free)
		char *folder = kgb_xstrndup(path, (size_t)(strrchr(path, '/') - path));
		const char *text = command->texts.items[i];
		if (kgb_fs_mkdirs(AT_FDCWD, folder, 0755, err) < 0 ||
		    kgb_fs_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, false, err) < 0)
			return -1;
	}
	return 0;
}

/** A file is the program itself, a folder holds it as `run`. */
static void add_program(const struct kgb_attempt_env *env, struct kgb_policy *policy)
{
	KGB_AUTO(free) char *inside = kgb_xasprintf("%s%s", KGB_INSIDE_CLI, env->method->cli);
	KGB_AUTO(free) char *run = kgb_path_join(inside, "run");
	struct stat st;
	bool is_folder = stat(env->cli_path, &st) == 0 && S_ISDIR(st.st_mode);
	kgb_policy_ro(policy, env->cli_path, inside);
	kgb_policy_arg(policy, is_folder ? run : inside);
}

/** The program's command line, environment and files, by the method's data. */
static int add_command(struct kgb_attempt *attempt, struct kgb_policy *policy, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	const struct kgb_method_vars vars = {
		.model = env->model,
		.session_id = attempt->session_id,
		.gateway_url = attempt->gateway_url,
		.token = attempt->token,
	};
	struct kgb_method_command command = {0};
	int rc = kgb_method_render(env->method, &vars, &command, err);
	if (rc == 0)
		rc = write_files(attempt, &command, err);
	if (rc == 0)
		add_program(env, policy);
	for (size_t i = 0; rc == 0 && i < command.argv.n; i++)
		kgb_policy_arg(policy, command.argv.items[i]);
	for (size_t i = 0; rc == 0 && i < command.env.n; i++) {
		const char *equals = strchr(command.env.items[i], '=');
		KGB_AUTO(free)
		char *name =
			kgb_xstrndup(command.env.items[i], (size_t)(equals - command.env.items[i]));
		kgb_policy_setenv(policy, name, equals + 1);
	}
	kgb_method_command_release(&command);
	return rc;
}

static void add_verify_tool(const struct kgb_attempt *attempt, struct kgb_policy *policy)
{
	KGB_AUTO(free) char *client = kgb_path_join(attempt->env->bin_dir, "kgb-verify");
	kgb_policy_ro(policy, client, KGB_INSIDE_BIN "/kgb-verify");
	kgb_policy_setenv(policy, "PATH", KGB_INSIDE_BIN ":/usr/local/bin:/usr/bin:/bin");
	kgb_policy_setenv(policy, "KGB_GATEWAY", attempt->gateway_url);
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
						  .tmp_bytes = attempt->env->walls.tmp_bytes};
	if (kgb_policy_base(&policy, &base, err) < 0)
		return -1;
	kgb_policy_rw(&policy, worktree, KGB_INSIDE_WS);
	kgb_policy_set_cwd(&policy, KGB_INSIDE_WS);
	if (add_command(attempt, &policy, err) < 0)
		return -1;
	if (attempt->env->method->verify_tool)
		add_verify_tool(attempt, &policy);
	const struct kgb_device *device = kgb_devices_at(attempt->env->devices, attempt->slot);
	if (attempt->env->walls.gpu && device->number >= 0 &&
	    kgb_policy_one_gpu(&policy, "/dev", device->own, err) < 0)
		return -1;
	bool on_host = attempt->host_port != 0;
	policy.network = on_host ? KGB_NETWORK_HOST : KGB_NETWORK_LISTENER;
	policy.listen_port = on_host ? attempt->host_port : KGB_INSIDE_PORT;
	policy.limits.file_size_bytes = AGENT_FILE_BYTES;
	policy.limits.n_open_files = AGENT_OPEN_FILES;
	policy.limits.n_tasks = attempt->env->walls.n_tasks;
	/* Above the limit on all together, which ends them and is told; this one only refuses. Does
	 * not bind root. */
	policy.limits.n_processes = 2 * attempt->env->walls.n_tasks;
	policy.limits.memory_bytes = attempt->env->walls.memory_bytes;
	policy.limits.nameless_bytes = attempt->env->walls.disk_bytes;

	const char *own_home = getenv("HOME");
	if (own_home && (own_home[0] != '/' || !own_home[1] || kgb_str_eq(own_home, "/tmp") ||
			 kgb_str_eq(own_home, "/home/agent")))
		own_home = NULL; /* that would be everything, or the agent's own */
	const struct kgb_sandbox_spec spec = {
		.policy = &policy,
		.launcher = launcher,
		.confinement = &attempt->env->walls.ladder->confinement,
		.watch_files = attempt->env->walls.watch_files && !on_host,
		.private_paths = {attempt->env->dir->path, attempt->env->data_dir, own_home},
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
