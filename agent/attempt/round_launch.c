/* SPDX-License-Identifier: MIT */
#include "agent/attempt/round_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/attempt/recording.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"

/* Where things are inside the sandbox. */
#define INSIDE_WS "/ws"
#define INSIDE_BIN "/opt/kgb/bin"
#define INSIDE_CLI "/opt/kgb/cli/"
#define INSIDE_PORT 8123
#define INSIDE_GATEWAY "http://127.0.0.1:8123"

/* Largest file that a CLI may write, its stdout included. */
#define AGENT_FILE_BYTES (512LL << 20)
#define AGENT_OPEN_FILES 4096

void kgb_round_launch_release(struct kgb_round_launch *launch)
{
	kgb_offline_free(launch->offline);
	kgb_cassette_free(launch->cassette);
}

/** A path in the round's folder. */
static char *path_in(const struct kgb_round_launch *launch, const char *name)
{
	return kgb_attempt_round_path(&launch->facts->paths, launch->round, name);
}

static int open_in(const struct kgb_round_launch *launch, const char *name, int flags, int *out,
		   struct kgb_err *err)
{
	KGB_AUTO(free) char *path = path_in(launch, name);
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return kgb_fail_errno(err, errno, "open '%s'", path);
	*out = fd;
	return 0;
}

/* ---- what exists before it starts ---- */

/** Move the home of the previous round into that round's folder, so that the session starts
 * afresh. */
static int put_home_away(const struct kgb_round_launch *launch, const char *home,
			 struct kgb_err *err)
{
	if (launch->round == 1)
		return 0;
	KGB_AUTO(free)
	char *away = kgb_attempt_round_path(&launch->facts->paths, launch->round - 1, "home");
	/* Moving a directory needs write permission on it. */
	if (chmod(home, 0755) < 0 || rename(home, away) < 0)
		return kgb_fail_errno(err, errno, "move '%s'", home);
	return 0;
}

/** traffic/ in the round's folder, and an empty home. */
static int make_folders(const struct kgb_round_launch *launch, struct kgb_err *err)
{
	KGB_AUTO(free) char *home = kgb_attempt_path(&launch->facts->paths, "home");
	KGB_AUTO(free) char *traffic = path_in(launch, "traffic");
	return put_home_away(launch, home, err) < 0 ||
			       kgb_fs_mkdirs(AT_FDCWD, traffic, 0755, err) < 0 ||
			       kgb_fs_mkdirs(AT_FDCWD, home, 0755, err) < 0
		       ? -1
		       : 0;
}

static int load_offline(struct kgb_round_launch *launch, struct kgb_err *err)
{
	const struct kgb_attempt_env *env = launch->facts->env;
	if (env->gateway_mode != KGB_GATEWAY_OFFLINE)
		return 0;
	struct kgb_offline_subject subject = kgb_attempt_offline(launch->facts);
	KGB_AUTO(free)
	char *seed = env->offline_seed ? kgb_xasprintf("%s %s %d", env->offline_seed,
						       subject.safe_name, launch->round)
				       : NULL;
	subject.seed = seed;
	enum kgb_offline_variant variant = env->method->session == KGB_METHOD_SESSION_ONESHOT
						   ? KGB_OFFLINE_ONESHOT
					   : launch->round > 1 ? KGB_OFFLINE_AGAIN
							       : KGB_OFFLINE_VERIFY;
	kgb_offline_free(launch->offline);
	launch->offline = NULL;
	/* The plan has checked that a program that needs a model has an answer. */
	if (!kgb_offline_can_answer(&subject))
		return 0;
	return kgb_offline_load(&launch->offline, &subject, variant, err);
}

/** The session's id and the model's answers of the recorded round. */
static int load_recorded(struct kgb_round_launch *launch, struct kgb_err *err)
{
	const struct kgb_recording *recording = launch->facts->recording;
	if (!recording)
		return 0;
	const char *id = kgb_recording_session_id(recording, launch->round);
	if (id && strlen(id) < sizeof(launch->session_id))
		snprintf(launch->session_id, sizeof(launch->session_id), "%s", id);
	KGB_AUTO(free)
	char *traffic =
		kgb_attempt_round_path(kgb_recording_paths(recording), launch->round, "traffic");
	kgb_cassette_free(launch->cassette);
	launch->cassette = NULL;
	return kgb_cassette_load(&launch->cassette, traffic, err);
}

int kgb_round_launch_prepare(struct kgb_round_launch *launch, struct kgb_buf *prompt,
			     struct kgb_err *err)
{
	KGB_AUTO(free) char *task = kgb_attempt_path(&launch->facts->paths, "prompt.md");
	launch->round++;
	kgb_uuid4(launch->session_id);
	return make_folders(launch, err) < 0 || load_offline(launch, err) < 0 ||
			       load_recorded(launch, err) < 0 ||
			       kgb_fs_read(AT_FDCWD, task, KGB_LIMIT_PROMPT, prompt, err) < 0
		       ? -1
		       : 0;
}

/** The program's own files, in the home that it gets. */
static int write_files(const struct kgb_attempt_facts *facts,
		       const struct kgb_method_command *command, struct kgb_err *err)
{
	KGB_AUTO(free) char *home = kgb_attempt_path(&facts->paths, "home");
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
	KGB_AUTO(free) char *inside = kgb_xasprintf("%s%s", INSIDE_CLI, env->method->cli);
	KGB_AUTO(free) char *run = kgb_path_join(inside, "run");
	struct stat st;
	bool is_folder = stat(env->cli_path, &st) == 0 && S_ISDIR(st.st_mode);
	kgb_policy_mount(policy, KGB_MOUNT_RO, env->cli_path, inside);
	kgb_policy_arg(policy, is_folder ? run : inside);
}

/** The program's command line, environment and files, by the method's data. */
static int add_command(const struct kgb_round_launch *launch, struct kgb_policy *policy,
		       struct kgb_err *err)
{
	const struct kgb_attempt_env *env = launch->facts->env;
	const struct kgb_method_vars vars = {
		.model = env->model,
		.session_id = launch->session_id,
		.gateway_url = INSIDE_GATEWAY,
		.token = launch->facts->token,
	};
	struct kgb_method_command command = {0};
	int rc = kgb_method_render(env->method, &vars, &command, err);
	if (rc == 0)
		rc = write_files(launch->facts, &command, err);
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

static void add_verify_tool(const struct kgb_attempt_facts *facts, struct kgb_policy *policy)
{
	KGB_AUTO(free) char *client = kgb_path_join(facts->env->bin_dir, "kgb-verify");
	kgb_policy_mount(policy, KGB_MOUNT_RO, client, INSIDE_BIN "/kgb-verify");
	kgb_policy_setenv(policy, "PATH", INSIDE_BIN ":/usr/local/bin:/usr/bin:/bin");
	kgb_policy_setenv(policy, "KGB_GATEWAY", INSIDE_GATEWAY);
	kgb_policy_setenv(policy, "KGB_TOKEN", facts->token);
}

/** The GPU on which the attempt's kernels are judged, and what is needed to use it. */
static int add_gpu(const struct kgb_attempt_facts *facts, struct kgb_policy *policy,
		   struct kgb_err *err)
{
	const char *python = facts->env->limits.python;
	if (kgb_policy_one_gpu(policy, "", facts->device->own, err) < 0)
		return -1;
	if (access(python, X_OK) <
	    0) /* a replay judges nothing, so its plan has found no interpreter */
		return 0;
	if (kgb_policy_python(policy, python, err) < 0)
		return -1;
	KGB_AUTO(free)
	char *path = kgb_xasprintf("%.*s:%s", (int)(strrchr(python, '/') - python), python,
				   kgb_policy_getenv(policy, "PATH"));
	kgb_policy_setenv(policy, "PATH", path);
	return 0;
}

static void set_limits(const struct kgb_attempt_limits *limits, struct kgb_policy *policy)
{
	policy->limits.file_size_bytes = AGENT_FILE_BYTES;
	policy->limits.n_open_files = AGENT_OPEN_FILES;
	policy->limits.n_tasks = limits->n_tasks;
	/* Keep RLIMIT_NPROC above the limit on all processes together: that limit ends them and is
	 * reported, this one only makes fork fail and does not bind root. */
	policy->limits.n_processes = 2 * limits->n_tasks;
	policy->limits.memory_bytes = limits->memory_bytes;
	policy->limits.nameless_bytes = limits->disk_bytes;
}

static int start_child(struct kgb_round_launch *launch, const int stdio[3],
		       const struct kgb_sandbox_child_callbacks *callbacks, void *payload,
		       struct kgb_err *err)
{
	const struct kgb_attempt_facts *facts = launch->facts;
	const struct kgb_attempt_env *env = facts->env;
	KGB_AUTO(free) char *home = kgb_attempt_path(&facts->paths, "home");
	KGB_AUTO(free) char *worktree = kgb_attempt_path(&facts->paths, "ws");
	KGB_AUTO(free) char *launcher = kgb_path_join(env->bin_dir, "kgb-launch");
	KGB_AUTO(policy) struct kgb_policy policy;
	kgb_policy_init(&policy);
	const struct kgb_policy_base_spec base = {.home = home, .tmp_bytes = env->limits.tmp_bytes};
	if (kgb_policy_base(&policy, &base, err) < 0)
		return -1;
	kgb_policy_mount(&policy, KGB_MOUNT_RW, worktree, INSIDE_WS);
	kgb_policy_set_cwd(&policy, INSIDE_WS);
	if (add_command(launch, &policy, err) < 0)
		return -1;
	if (env->method->verify_tool)
		add_verify_tool(facts, &policy);
	if (facts->sees_gpu && add_gpu(facts, &policy, err) < 0)
		return -1;
	policy.network = KGB_NETWORK_LISTENER;
	policy.listen_port = INSIDE_PORT;
	set_limits(&env->limits, &policy);

	const char *own_home = getenv("HOME");
	if (own_home && (own_home[0] != '/' || !own_home[1] || kgb_str_eq(own_home, "/tmp") ||
			 kgb_str_eq(own_home, "/home/agent")))
		own_home = NULL; /* that would be everything, or the agent's own */
	const struct kgb_sandbox_spec spec = {
		.policy = &policy,
		.launcher = launcher,
		.confinement = &env->limits.ladder->confinement,
		/* The interpreter that is added with a GPU may lie in HOME, or below the data. */
		.watch_files = env->limits.watch_files && !facts->sees_gpu,
		.private_paths = {env->dir->path, env->data_dir, own_home},
		.stdio = {stdio[0], stdio[1], stdio[2]},
	};
	return kgb_sandbox_child_start(&launch->child, env->loop, &spec, callbacks, payload, err);
}

int kgb_round_launch_start(struct kgb_round_launch *launch, const struct kgb_buf *prompt,
			   const struct kgb_sandbox_child_callbacks *callbacks, void *payload,
			   int *stdout_fd, struct kgb_err *err)
{
	const int write_flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND;
	bool by_file = launch->facts->env->method->prompt == KGB_METHOD_PROMPT_FILE; /* TASK.md */
	int stdio[3] = {-1, -1, -1};
	kgb_sha256_hex(prompt->ptr, prompt->len, launch->prompt_sha256);
	/* Do not pass prompt.md itself: through /proc/self/fd a program can reopen a read-only
	 * descriptor for writing, and prompt.md is part of the record. */
	int rc = kgb_memfd_of("prompt", prompt->ptr, by_file ? 0 : prompt->len, &stdio[0], err) <
					 0 ||
				 open_in(launch, "stdout.jsonl", write_flags, &stdio[1], err) < 0 ||
				 open_in(launch, "stderr.log", write_flags, &stdio[2], err) < 0 ||
				 open_in(launch, "stdout.jsonl", O_RDONLY, stdout_fd, err) < 0
			 ? -1
			 : start_child(launch, stdio, callbacks, payload, err);
	for (size_t i = 0; i < KGB_ARRAY_LEN(stdio); i++)
		kgb_close(stdio[i]);
	return rc;
}
