/* SPDX-License-Identifier: MIT */
/** \file
 * One round of an attempt: a start of the CLI in a sandbox of its own, with a fresh session and
 * home, in the workspace that all rounds share. A method without a loop has one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/attempt/attempt_internal.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"

/* A CLI's stdout and everything else it writes: one file at most this large. */
#define AGENT_FILE_BYTES (512LL << 20)
#define AGENT_OPEN_FILES 4096

/** In the round's record. */
static char *path_in(const struct kgb_attempt *attempt, const char *name)
{
	return kgb_path_join(attempt->round_dir, name);
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

/* ---- what exists before it starts ---- */

/** What the last round left in its home is its own: a session starts anew. */
static int put_home_away(const struct kgb_attempt *attempt, const char *home, struct kgb_err *err)
{
	if (!attempt->round_dir)
		return 0;
	KGB_AUTO(free) char *away = path_in(attempt, "home");
	/* To move a directory takes the right to write it. */
	if (chmod(home, 0755) < 0 || rename(home, away) < 0)
		return kgb_fail_errno(err, errno, "move '%s'", home);
	return 0;
}

/** rounds/003/ with traffic/, and an empty home; without a loop it is the attempt's own directory.
 */
static int make_places(struct kgb_attempt *attempt, struct kgb_err *err)
{
	KGB_AUTO(free) char *home = kgb_attempt__path(attempt, "home");
	if (put_home_away(attempt, home, err) < 0)
		return -1;
	kgb_free(attempt->round_dir);
	attempt->round_dir = kgb_attempt__has_loop(attempt)
				     ? kgb_xasprintf("%s/rounds/%03d", attempt->dir, attempt->round)
				     : kgb_xstrdup(attempt->dir);
	KGB_AUTO(free) char *traffic = path_in(attempt, "traffic");
	return kgb_fs_mkdirs(AT_FDCWD, traffic, 0755, err) < 0 ||
			       kgb_fs_mkdirs(AT_FDCWD, home, 0755, err) < 0
		       ? -1
		       : 0;
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

/** The task, and in a loop what there is to say in this round. */
static int make_prompt(struct kgb_attempt *attempt, int *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf prompt = KGB_BUF_INIT(KGB_LIMIT_PROMPT);
	KGB_AUTO(free) char *task = kgb_attempt__path(attempt, "prompt.md");
	if (kgb_fs_read(AT_FDCWD, task, KGB_LIMIT_PROMPT, &prompt, err) < 0)
		return -1;
	if (kgb_attempt__has_loop(attempt)) {
		KGB_AUTO(free) char *path = path_in(attempt, "prompt.md");
		kgb_buf_addc(&prompt, '\n');
		if (kgb_attempt__tell_round(attempt, &prompt, err) < 0 ||
		    kgb_fs_write_atomic(AT_FDCWD, path, prompt.ptr, prompt.len, 0644, false, err) <
			    0 ||
		    kgb_workspace_write(&attempt->ws, "TASK.md", prompt.ptr, prompt.len, err) < 0)
			return -1;
	}
	kgb_sha256_hex(prompt.ptr, prompt.len, attempt->round_prompt_sha256);
	static const struct kgb_buf nothing = KGB_BUF_INIT(0);
	bool by_file = attempt->env->method->prompt == KGB_METHOD_PROMPT_FILE; /* TASK.md */
	return seal_prompt(by_file ? &nothing : &prompt, out, err);
}

static int load_offline(struct kgb_attempt *attempt, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = attempt->env;
	if (env->gateway_mode != KGB_GATEWAY_OFFLINE)
		return 0;
	KGB_AUTO(free) char *dir = kgb_path_join(env->data_dir, "datasets/offline");
	enum kgb_offline_variant variant = env->method->session == KGB_METHOD_SESSION_ONESHOT
						   ? KGB_OFFLINE_ONESHOT
					   : attempt->round > 1 ? KGB_OFFLINE_AGAIN
								: KGB_OFFLINE_VERIFY;
	kgb_offline_free(attempt->offline);
	attempt->offline = NULL;
	return kgb_offline_load(&attempt->offline, dir, attempt->spec->safe_name, variant, err);
}

/** Nothing of the round before is left in what is known of a round. */
static int begin(struct kgb_attempt *attempt, struct kgb_err *err)
{
	kgb_round_sums_begin_round(&attempt->sums, &attempt->stream.events.report);
	if (kgb_cli_stream_reset(&attempt->stream, attempt->env->method->program.adapter, err) < 0)
		return -1;
	attempt->result_seen_ms = 0;
	attempt->lingered = false;
	attempt->round_check = 0;
	attempt->round_code = NULL;
	*attempt->round_commit = '\0';
	kgb_free(attempt->summary);
	attempt->summary = NULL;
	kgb_uuid4(attempt->session_id);
	snprintf(attempt->gateway_url, sizeof(attempt->gateway_url), "http://127.0.0.1:%u",
		 (unsigned)KGB_INSIDE_PORT);
	attempt->round++;
	return 0;
}

static int prepare(struct kgb_attempt *attempt, int stdio[3], struct kgb_err *err)
{
	const int write_flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND;
	return begin(attempt, err) < 0 || make_places(attempt, err) < 0 ||
			       load_offline(attempt, err) < 0 ||
			       kgb_attempt__load_replay_round(attempt, err) < 0 ||
			       make_prompt(attempt, &stdio[0], err) < 0 ||
			       open_in(attempt, "stdout.jsonl", write_flags, &stdio[1], err) < 0 ||
			       open_in(attempt, "stderr.log", write_flags, &stdio[2], err) < 0 ||
			       open_in(attempt, "stdout.jsonl", O_RDONLY, &attempt->stream.fd,
				       err) < 0
		       ? -1
		       : 0;
}

/* ---- the start ---- */

/** The program's own files, in the home that it gets. */
static int write_files(const struct kgb_attempt *attempt, const struct kgb_method_command *command,
		       struct kgb_err *err)
{
	KGB_AUTO(free) char *home = kgb_attempt__path(attempt, "home");
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

bool kgb_attempt__sees_gpu(const struct kgb_attempt *attempt)
{
	const struct kgb_attempt_env *env = attempt->env;
	return env->limits.gpu && kgb_devices_at(env->devices, attempt->slot)->number >= 0;
}

/** The GPU on which the attempt's kernels are judged, and what is needed to use it. */
static int add_gpu(const struct kgb_attempt *attempt, struct kgb_policy *policy,
		   struct kgb_err *err)
{
	const char *python = attempt->env->limits.python;
	const struct kgb_device *device = kgb_devices_at(attempt->env->devices, attempt->slot);
	if (kgb_policy_one_gpu(policy, "", device->own, err) < 0)
		return -1;
	if (access(python, X_OK) < 0) /* nothing is judged here: nobody has looked for it */
		return 0;
	if (kgb_policy_python(policy, python, err) < 0)
		return -1;
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%.*s:%s", (int)(strrchr(python, '/') - python), python,
				   kgb_policy_getenv(policy, "PATH"));
	kgb_policy_setenv(policy, "PATH", path);
	return 0;
}

static int launch(struct kgb_attempt *attempt, const int stdio[3],
		  const struct kgb_sandbox_child_callbacks *callbacks, struct kgb_err *err)
{
	KGB_AUTO(free) char *home = kgb_attempt__path(attempt, "home");
	KGB_AUTO(free) char *worktree = kgb_attempt__path(attempt, "ws");
	KGB_AUTO(free) char *launcher = kgb_path_join(attempt->env->bin_dir, "kgb-launch");
	KGB_AUTO(policy) struct kgb_policy policy;
	kgb_policy_init(&policy);
	const struct kgb_policy_base_spec base = {.home = home,
						  .tmp_bytes = attempt->env->limits.tmp_bytes};
	if (kgb_policy_base(&policy, &base, err) < 0)
		return -1;
	kgb_policy_rw(&policy, worktree, KGB_INSIDE_WS);
	kgb_policy_set_cwd(&policy, KGB_INSIDE_WS);
	if (add_command(attempt, &policy, err) < 0)
		return -1;
	if (attempt->env->method->verify_tool)
		add_verify_tool(attempt, &policy);
	bool sees_gpu = kgb_attempt__sees_gpu(attempt);
	if (sees_gpu && add_gpu(attempt, &policy, err) < 0)
		return -1;
	policy.network = KGB_NETWORK_LISTENER;
	policy.listen_port = KGB_INSIDE_PORT;
	policy.limits.file_size_bytes = AGENT_FILE_BYTES;
	policy.limits.n_open_files = AGENT_OPEN_FILES;
	policy.limits.n_tasks = attempt->env->limits.n_tasks;
	/* Above the limit on all together, which ends them and is told; this one only refuses. Does
	 * not bind root. */
	policy.limits.n_processes = 2 * attempt->env->limits.n_tasks;
	policy.limits.memory_bytes = attempt->env->limits.memory_bytes;
	policy.limits.nameless_bytes = attempt->env->limits.disk_bytes;

	const char *own_home = getenv("HOME");
	if (own_home && (own_home[0] != '/' || !own_home[1] || kgb_str_eq(own_home, "/tmp") ||
			 kgb_str_eq(own_home, "/home/agent")))
		own_home = NULL; /* that would be everything, or the agent's own */
	const struct kgb_sandbox_spec spec = {
		.policy = &policy,
		.launcher = launcher,
		.confinement = &attempt->env->limits.ladder->confinement,
		/* The interpreter that comes with a GPU may lie in HOME, or below the data. */
		.watch_files = attempt->env->limits.watch_files && !sees_gpu,
		.private_paths = {attempt->env->dir->path, attempt->env->data_dir, own_home},
		.stdio = {stdio[0], stdio[1], stdio[2]},
	};
	return kgb_sandbox_child_start(&attempt->launch, attempt->env->loop, &spec, callbacks,
				       attempt, err);
}

int kgb_attempt__start_round(struct kgb_attempt *attempt,
			     const struct kgb_sandbox_child_callbacks *callbacks,
			     struct kgb_err *err)
{
	int stdio[3] = {-1, -1, -1};
	int rc = prepare(attempt, stdio, err);
	if (rc == 0)
		rc = launch(attempt, stdio, callbacks, err);
	for (size_t i = 0; i < KGB_ARRAY_LEN(stdio); i++)
		kgb_close(stdio[i]);
	if (rc == 0)
		kgb_watcher_begin_round(&attempt->watcher);
	return rc;
}
