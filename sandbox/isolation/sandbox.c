/* SPDX-License-Identifier: MIT */
/** \file
 * Prepares a sandbox: its command line, environment and descriptors; and starts it without a loop.
 */
#include "sandbox/isolation/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/install.h"
#include "base/system/memfd.h"
#include "base/system/pass_fd.h"
#include "base/system/proc.h"
#include "base/time.h"
#include "sandbox/isolation/seccomp.h"

enum {
	STATUS_BYTES = 64 << 10,
	OPEN_FILES_MIN = 160, /* for a run with one sandbox; below, later steps fail one by one */
};

/* Give the child a descriptor. Asserts when the table is full: its size covers the largest policy.
 */
static void map_fd(struct kgb_sandbox *sandbox, int from, int to, bool owned)
{
	KGB_ASSERT(sandbox->n_fds < KGB_PROC_FDS_MAX);
	sandbox->fds[sandbox->n_fds++] = (struct kgb_fdmap){.from = from, .to = to, .owned = owned};
}

static int map_callers_fds(struct kgb_sandbox *sandbox, const struct kgb_sandbox_spec *spec,
			   int *next_fd, struct kgb_err *err)
{
	for (int i = 0; i < 3; i++) {
		if (spec->stdio[i] >= 0) {
			map_fd(sandbox, spec->stdio[i], i, false);
			continue;
		}
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return kgb_fail_errno(err, errno, "open '/dev/null'");
		map_fd(sandbox, fd, i, true);
	}
	for (size_t i = 0; i < spec->n_pass; i++) {
		KGB_ASSERT(spec->pass[i].to >= 3 && spec->pass[i].from >= 0);
		map_fd(sandbox, spec->pass[i].from, spec->pass[i].to, false);
		if (spec->pass[i].to >= *next_fd)
			*next_fd = spec->pass[i].to + 1;
	}
	return 0;
}

/* The contents of a file inside: *to is its descriptor in the child, -1 when the host has no such
 * file. */
static int map_data(struct kgb_sandbox *sandbox, const struct kgb_mount *mount, int *next_fd,
		    int *to, struct kgb_err *err)
{
	int fd = -1;

	if (sandbox->n_fds == KGB_PROC_FDS_MAX)
		return kgb_fail(err, KGB_ERR_LIMIT, "sandbox: too many generated files");
	*to = -1;
	if (mount->kind == KGB_MOUNT_COPY) {
		fd = open(mount->source, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return errno == ENOENT || errno == EACCES
				       ? 0
				       : kgb_fail_errno(err, errno, "open '%s'", mount->source);
	} else if (kgb_memfd_of("kgb-data", mount->source, strlen(mount->source), &fd, err) < 0) {
		return -1;
	}
	*to = (*next_fd)++;
	map_fd(sandbox, fd, *to, true);
	return 0;
}

/* Numbers, in the child, of the descriptors that this file opens. */
struct child_fds {
	int status;
	int seccomp;
	int send; /* -1 without a listener */
	int calls; /* the launcher's end of the socket for the filter's listener; -1: none */
	int calls_inside; /* the other end */
	int data[KGB_PROC_FDS_MAX];
	size_t n_data;
};

/* Two connected descriptors for the child: *a is that of the launcher. */
static int map_pair(struct kgb_sandbox *sandbox, int *next_fd, int *a, int *b, struct kgb_err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kgb_fail_errno(err, errno, "make a socket pair");
	*a = (*next_fd)++;
	*b = (*next_fd)++;
	map_fd(sandbox, pair[0], *a, true);
	map_fd(sandbox, pair[1], *b, true);
	return 0;
}

static int map_own_fds(struct kgb_sandbox *sandbox, const struct kgb_sandbox_spec *spec,
		       int next_fd, struct child_fds *out, struct kgb_err *err)
{
	const struct kgb_policy *policy = spec->policy;
	const struct kgb_seccomp_spec filter = {
		.allow_nested_userns = policy->allow_nested_userns,
		.notify = spec->confinement && spec->confinement->watch_calls,
		.watch_files = spec->watch_files,
	};
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	sandbox->status_fd = pair[0];
	out->status = next_fd++;
	map_fd(sandbox, pair[1], out->status, true);

	int filter_fd;
	if (kgb_seccomp_memfd(&filter, &filter_fd, err) < 0)
		return -1;
	out->seccomp = next_fd++;
	map_fd(sandbox, filter_fd, out->seccomp, true);
	if (filter.notify && map_pair(sandbox, &next_fd, &out->calls, &out->calls_inside, err) < 0)
		return -1;

	if (policy->network == KGB_NETWORK_LISTENER) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return kgb_fail_errno(err, errno, "make a socket pair");
		sandbox->listen_fd = pair[0];
		out->send = next_fd++;
		map_fd(sandbox, pair[1], out->send, true);
	}
	for (size_t i = 0; i < policy->mounts.n; i++) {
		const struct kgb_mount *mount = &policy->mounts.items[i];
		if (mount->kind != KGB_MOUNT_DATA && mount->kind != KGB_MOUNT_COPY)
			continue;
		if (out->n_data == KGB_ARRAY_LEN(out->data))
			return kgb_fail(err, KGB_ERR_LIMIT, "sandbox: too many generated files");
		if (map_data(sandbox, mount, &next_fd, &out->data[out->n_data++], err) < 0)
			return -1;
	}
	return 0;
}

static void add_limit(struct kgb_strv *argv, const char *name, int64_t value)
{
	if (value <= 0)
		return;
	kgb_strv_add(argv, "--limit");
	kgb_strv_addf(argv, "%s=%lld", name, (long long)value);
}

static void add_limits(struct kgb_strv *argv, const struct kgb_limits *limits)
{
	add_limit(argv, "nofile", limits->n_open_files);
	add_limit(argv, "nproc", limits->n_processes);
	add_limit(argv, "fsize", limits->file_size_bytes);
	add_limit(argv, "as", limits->address_space_bytes);
	add_limit(argv, "tasks", limits->n_tasks);
	add_limit(argv, "memory", limits->memory_bytes);
	add_limit(argv, "nameless", limits->nameless_bytes);
}

static void add_fd(struct kgb_strv *argv, const char *option, int fd)
{
	if (fd < 0)
		return;
	kgb_strv_add(argv, option);
	kgb_strv_addf(argv, "%d", fd);
}

static void add_path(struct kgb_strv *argv, const char *option, const char *path)
{
	if (path && *path)
		KGB_STRV_ADD(argv, option, path);
}

static void add_launcher_args(struct kgb_sandbox *sandbox, const struct kgb_sandbox_spec *spec,
			      const char *launcher, const struct child_fds *fds)
{
	struct kgb_strv *argv = &sandbox->argv;

	kgb_strv_add(argv, launcher);
	add_fd(argv, "--parent", getpid());
	add_fd(argv, "--status-fd", fds->status);
	add_fd(argv, "--calls-fd", fds->calls);
	if (fds->send >= 0) {
		kgb_strv_add(argv, "--listen");
		kgb_strv_addf(argv, "%u", spec->policy->listen_port);
		add_fd(argv, "--send-fd", fds->send);
	}
	for (size_t i = 0; i < sandbox->n_fds; i++)
		if (sandbox->fds[i].to >= 3 && sandbox->fds[i].to != fds->send &&
		    sandbox->fds[i].to != fds->calls)
			add_fd(argv, "--keep", sandbox->fds[i].to);
	add_limits(argv, &spec->policy->limits);
	if (spec->confinement) {
		add_path(argv, "--cgroup-v2", spec->confinement->cgroup_v2);
		add_path(argv, "--cgroup-pids", spec->confinement->cgroup_pids);
		add_path(argv, "--cgroup-memory", spec->confinement->cgroup_memory);
	}
	for (size_t i = 0; i < KGB_PRIVATE_PATHS_MAX && fds->calls >= 0; i++)
		add_path(argv, "--private", spec->private_paths[i]);
	kgb_strv_add(argv, "--");
}

char *kgb_sandbox_find_bwrap(const char *given, struct kgb_err *err)
{
	const char *name = given ? given : getenv("KGB_BWRAP");
	char *path = kgb_path_which(name ? name : "bwrap", getenv("PATH"));

	if (!path)
		(void)kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"sandbox: '%s' not found: install bubblewrap (Debian: apt-get install bubblewrap)",
			name ? name : "bwrap");
	return path;
}

/* The path of an installed program: `given`, else `name` beside `beside`, else beside the running
 * program. */
static char *find_program(const char *given, const char *beside, const char *name,
			  struct kgb_err *err)
{
	const char *slash = beside ? strrchr(beside, '/') : NULL;
	KGB_AUTO(free)
	char *dir = slash ? kgb_xstrndup(beside, (size_t)(slash - beside)) : kgb_install_programs();
	KGB_AUTO(free) char *path = given ? kgb_xstrdup(given) : kgb_path_join(dir, name);

	if (access(path, X_OK) < 0) {
		(void)kgb_fail(err, KGB_ERR_UNAVAILABLE,
			       "sandbox: '%s' not found: build or install kgb-agent completely",
			       path);
		return NULL;
	}
	return KGB_TAKE(path);
}

static void add_command(struct kgb_sandbox *sandbox, const struct kgb_sandbox_spec *spec,
			const char *bwrap, const char *confiner, const struct child_fds *fds)
{
	KGB_AUTO(strv) struct kgb_strv args = KGB_STRV_INIT;
	const struct kgb_bwrap_options options = {
		.bwrap = bwrap,
		.status_fd = fds->status,
		.seccomp_fd = fds->seccomp,
		.data_fds = fds->data,
		.confiner = confiner,
		.confine_args = &args,
	};

	if (confiner) {
		kgb_confine_args(spec->policy, spec->confinement->landlock_abi, &args);
		add_fd(&args, "--filter-fd", fds->seccomp);
		add_fd(&args, "--calls-fd", fds->calls_inside);
	}
	kgb_bwrap_argv(spec->policy, &options, &sandbox->argv);
}

int kgb_sandbox_prepare(struct kgb_sandbox *sandbox, const struct kgb_sandbox_spec *spec,
			struct kgb_err *err)
{
	const struct kgb_policy *policy = spec->policy;
	KGB_AUTO(sandbox) struct kgb_sandbox made = KGB_SANDBOX_INIT;
	struct child_fds fds = {.send = -1, .calls = -1, .calls_inside = -1};
	int next_fd = 3;

	KGB_ASSERT(!spec->confinement || !policy->allow_nested_userns);
	if (kgb_policy_check(policy, err) < 0)
		return -1;
	KGB_AUTO(free) char *bwrap = kgb_sandbox_find_bwrap(spec->bwrap, err);
	if (!bwrap)
		return -1;
	KGB_AUTO(free) char *launcher = find_program(spec->launcher, NULL, "kgb-launch", err);
	if (!launcher)
		return -1;
	KGB_AUTO(free) char *confiner = NULL;
	if (spec->confinement && !(confiner = find_program(NULL, launcher, "kgb-confine", err)))
		return -1;
	if (map_callers_fds(&made, spec, &next_fd, err) < 0 ||
	    map_own_fds(&made, spec, next_fd, &fds, err) < 0)
		return -1;
	add_launcher_args(&made, spec, launcher, &fds);
	add_command(&made, spec, bwrap, confiner, &fds);
	KGB_VEC_FOREACH(env, &policy->env)
		kgb_strv_addf(&made.env, "%s=%s", env->name, env->value);
	*sandbox = made;
	made = (struct kgb_sandbox)KGB_SANDBOX_INIT;
	return 0;
}

void kgb_sandbox_close_child_fds(struct kgb_sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->n_fds; i++)
		if (sandbox->fds[i].owned)
			kgb_close(sandbox->fds[i].from);
	sandbox->n_fds = 0;
}

void kgb_sandbox_release(struct kgb_sandbox *sandbox)
{
	kgb_sandbox_close_child_fds(sandbox);
	kgb_close(sandbox->status_fd);
	kgb_close(sandbox->listen_fd);
	kgb_strv_release(&sandbox->argv);
	kgb_strv_release(&sandbox->env);
	*sandbox = (struct kgb_sandbox)KGB_SANDBOX_INIT;
}

void kgb_auto_sandbox(struct kgb_sandbox *sandbox)
{
	kgb_sandbox_release(sandbox);
}

int kgb_sandbox_spawn(struct kgb_sandbox *sandbox, pid_t *out_pid, struct kgb_err *err)
{
	static const char *const no_env[] = {NULL};
	const struct kgb_proc_start_spec spec = {
		.argv = (const char *const *)sandbox->argv.items,
		.env = sandbox->env.n ? (const char *const *)sandbox->env.items : no_env,
		.fds = sandbox->fds,
		.n_fds = sandbox->n_fds,
	};

	struct rlimit open_files;

	if (getrlimit(RLIMIT_NOFILE, &open_files) == 0 && open_files.rlim_cur < OPEN_FILES_MIN)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"start '%s': too few open files are allowed: ulimit -n 1024",
				sandbox->argv.items[0]);
	if (kgb_proc_start(&spec, out_pid, err) < 0)
		return -1;
	kgb_sandbox_close_child_fds(sandbox);
	return 0;
}

int kgb_sandbox_run(const struct kgb_sandbox_spec *spec, bool with_stderr, int64_t timeout_ms,
		    struct kgb_buf *out, struct kgb_sandbox_status *status, int *exit_code,
		    struct kgb_err *err)
{
	const int64_t deadline_ms = kgb_mono_ms() + timeout_ms;
	struct kgb_sandbox_spec captured = *spec;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	KGB_AUTO(buf) struct kgb_buf lines = KGB_BUF_INIT(STATUS_BYTES);
	int output[2];
	pid_t pid = -1;

	if (pipe2(output, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = output[0];
	KGB_AUTO(fd) int write_fd = output[1];
	captured.stdio[1] = write_fd;
	if (with_stderr)
		captured.stdio[2] = write_fd;
	if (kgb_sandbox_prepare(&sandbox, &captured, err) < 0 ||
	    kgb_sandbox_spawn(&sandbox, &pid, err) < 0)
		return -1;
	KGB_ASSERT(pid > 0);
	kgb_close(kgb_take_fd(&write_fd)); /* so that the output ends with the sandbox */
	bool in_time = kgb_proc_drain(read_fd, deadline_ms, out) &&
		       kgb_proc_drain(sandbox.status_fd, deadline_ms, &lines);
	if (!in_time)
		(void)kill(pid, SIGTERM);
	*exit_code = kgb_proc_wait(pid).exit_code;
	if (!in_time)
		return kgb_fail(err, KGB_ERR_TIMEOUT, "the sandbox did not end in %lld s",
				(long long)(timeout_ms / 1000));
	kgb_sandbox_status_feed(status, lines.ptr, lines.len);
	return 0;
}

int kgb_sandbox_recv_listener(int socket_fd, int timeout_ms, int *out_fd, struct kgb_err *err)
{
	struct pollfd poll_fd = {.fd = socket_fd, .events = POLLIN};
	int n;

	while ((n = poll(&poll_fd, 1, timeout_ms)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return kgb_fail_errno(err, errno, "wait for the sandbox's listening socket");
	if (n == 0)
		return kgb_fail(err, KGB_ERR_TIMEOUT,
				"the sandbox's listening socket did not come in %d ms", timeout_ms);
	int fd = kgb_receive_fd(socket_fd);
	if (fd < 0 && errno != 0)
		return kgb_fail_errno(err, errno, "receive the sandbox's listening socket");
	if (fd < 0)
		return kgb_fail(err, KGB_ERR_FAILED,
				"the launcher ended without sending its listening socket");
	*out_fd = fd;
	return 0;
}
