/* SPDX-License-Identifier: MIT */
#include "verify/process/exec_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/system/install.h"
#include "base/time.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/status.h"
#include "verify/gpu/gpu_devices.h"
#include "verify/process/zygote.h"
#include "verify/protocol/exec_protocol.h"
#include "verify/protocol/wire.h"

enum {
	STDERR_KEPT = 64 << 10, /* capacity of a pipe */
	LAST_WORDS = 300,
	PRIVATE_BYTES = 16 << 20
};

static const char cupti_inside[] = "/kgb/lib/libcupti.so";
static const char program_inside[] = "/kgb/kgb-exec";

static char *find_program(const struct kgb_exec_spec *spec, struct kgb_err *err)
{
	KGB_AUTO(free) char *dir = kgb_install_programs();
	KGB_AUTO(free)
	char *path = spec->program ? kgb_xstrdup(spec->program)
				   : kgb_path_join(dir, spec->on_cpu ? "kgb-exec-cpu" : "kgb-exec");

	if (access(path, X_OK) < 0) {
		(void)kgb_fail(
			err, KGB_ERR_UNAVAILABLE, "'%s' not found%s", path,
			spec->on_cpu ? "" : ": it is built where CMake finds the headers of CUDA");
		return NULL;
	}
	return kgb_path_real(path, err);
}

static int gpu_policy(struct kgb_policy *policy, const struct kgb_exec_spec *spec,
		      struct kgb_err *err)
{
	if (kgb_policy_gpu(policy, err) < 0)
		return -1;
	/* Disable the driver's cache: compiled code must not come from, or go to, a place that
	 * outlives us. */
	kgb_policy_setenv(policy, "CUDA_CACHE_DISABLE", "1");
	if (spec->cupti) {
		kgb_policy_mount(policy, KGB_MOUNT_RO, spec->cupti, cupti_inside);
		kgb_policy_arg(policy, cupti_inside);
	}
	return 0;
}

static int cpu_policy(struct kgb_policy *policy, const struct kgb_exec_spec *spec)
{
	KGB_AUTO(free) char *n_threads = kgb_xasprintf("%d", spec->n_threads);

	kgb_policy_arg(policy, n_threads);
	return 0;
}

int kgb_exec_process_policy(struct kgb_policy *policy, const struct kgb_exec_spec *spec,
			    struct kgb_err *err)
{
	const struct kgb_policy_base_spec base = {.tmp_bytes = PRIVATE_BYTES,
						  .shm_bytes = PRIVATE_BYTES};
	KGB_AUTO(free) char *program = find_program(spec, err);

	if (!program || kgb_policy_base(policy, &base, err) < 0)
		return -1;
	kgb_policy_mount(policy, KGB_MOUNT_RO, program, program_inside);
	kgb_policy_set_cwd(policy, "/");
	kgb_policy_arg(policy, program_inside);
	return spec->on_cpu ? cpu_policy(policy, spec) : gpu_policy(policy, spec, err);
}

int kgb_exec_process_start(struct kgb_exec_process *process, const struct kgb_exec_spec *spec,
			   struct kgb_err *err)
{
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	KGB_AUTO(fd) int channel = -1;
	KGB_AUTO(fd) int inside = -1;
	KGB_AUTO(fd) int log = -1;
	KGB_AUTO(fd) int log_inside = -1;
	int pair[2];
	pid_t pid;

	kgb_policy_init(&policy);
	if (kgb_exec_process_policy(&policy, spec, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kgb_fail_errno(err, errno, "socketpair");
	channel = pair[0];
	inside = pair[1];
	/* Use a pipe, which loses output when it is full: hostile code could grow a file without
	 * end. */
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return kgb_fail_errno(err, errno, "pipe");
	log = pair[0];
	log_inside = pair[1];

	const struct kgb_sandbox_spec sandbox_spec = {
		.policy = &policy,
		.launcher = spec->launcher,
		.stdio = {-1, -1, log_inside},
		.pass = {{.from = inside, .to = KGB_EXEC_FD}},
		.n_pass = 1,
	};
	if (kgb_sandbox_prepare(&sandbox, &sandbox_spec, err) < 0 ||
	    kgb_sandbox_spawn(&sandbox, &pid, err) < 0)
		return -1;
	*process = (struct kgb_exec_process){.launcher = pid,
					     .holder_fd = -1,
					     .channel_fd = kgb_take_fd(&channel),
					     .log_fd = kgb_take_fd(&log),
					     .status_fd = kgb_take_fd(&sandbox.status_fd)};
	return 0;
}

int kgb_exec_process_request(struct kgb_exec_process *process, const struct kgb_exec_spec *spec,
			     struct kgb_err *err)
{
	*process = (struct kgb_exec_process)KGB_EXEC_PROCESS_INIT;
	return kgb_zygotes_connect(spec->pool, kgb_exec_pool_socket(spec->on_cpu),
				   &process->holder_fd, err);
}

int kgb_exec_process_await(struct kgb_exec_process *process, int64_t deadline_ms,
			   struct kgb_err *err)
{
	char text[KGB_EXEC_POOL_TEXT] = "the pool of processes ended";
	int fds[KGB_EXEC_POOL_FDS];
	size_t n_fds = 0;

	if (process->channel_fd >= 0)
		return 0;
	if (!kgb_wire_await(process->holder_fd, deadline_ms))
		return kgb_fail(err, KGB_ERR_TIMEOUT, "no process of the pool came in time");
	ssize_t n = kgb_wire_recv(process->holder_fd, text, sizeof(text) - 1, fds,
				  KGB_EXEC_POOL_FDS, &n_fds, err);
	if (n < 0)
		return -1;
	if (n_fds < KGB_EXEC_POOL_FDS) {
		for (size_t i = 0; i < n_fds; i++)
			kgb_close(fds[i]);
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "%s", text);
	}
	process->channel_fd = fds[0];
	process->log_fd = fds[1];
	process->status_fd = fds[2];
	return 0;
}

bool kgb_exec_process_lives(const struct kgb_exec_process *process)
{
	return process->launcher > 0 || process->holder_fd >= 0;
}

/* Tell the pool what to do with the process. If the pool has ended, so has the process. */
static void tell_pool(const struct kgb_exec_process *process, char what, int lease_fd)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	(void)!kgb_wire_send(process->holder_fd, &what, 1, &lease_fd, lease_fd >= 0, &ignored);
}

void kgb_exec_process_kill(const struct kgb_exec_process *process)
{
	if (process->launcher > 0)
		(void)kill(process->launcher, SIGTERM);
	if (process->holder_fd >= 0)
		tell_pool(process, KGB_EXEC_POOL_END, -1);
}

/* Waits for the pool's message about the end. */
static bool hear_of_end(struct kgb_exec_process *process, int64_t deadline_ms)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	int value;

	if (!kgb_wire_await(process->holder_fd, deadline_ms))
		return false;
	const ssize_t n =
		kgb_wire_recv(process->holder_fd, &value, sizeof(value), NULL, 0, NULL, &ignored);
	process->end_value = n == (ssize_t)sizeof(value) ? value : 128 + SIGKILL;
	kgb_close(process->holder_fd);
	process->holder_fd = -1;
	return true;
}

/* Waits for the end of the launcher, which exits only after all processes of the sandbox. */
static bool reap_child(struct kgb_exec_process *process, int64_t deadline_ms)
{
	int status;

	while (process->launcher > 0) {
		const bool may_wait = deadline_ms == INT64_MAX;
		pid_t pid = waitpid(process->launcher, &status, may_wait ? 0 : WNOHANG);
		if (pid == 0) {
			if (kgb_mono_ms() >= deadline_ms)
				return false;
			(void)poll(NULL, 0, 2);
			continue;
		}
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid > 0)
			process->end_value =
				WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		process->launcher = 0;
	}
	return true;
}

bool kgb_exec_process_reap(struct kgb_exec_process *process, int64_t wait_ms)
{
	const int64_t deadline_ms = wait_ms < 0 ? INT64_MAX : kgb_mono_ms() + wait_ms;

	return process->holder_fd >= 0 ? hear_of_end(process, deadline_ms)
				       : reap_child(process, deadline_ms);
}

static void close_all(struct kgb_exec_process *process)
{
	kgb_close(process->holder_fd);
	kgb_close(process->channel_fd);
	kgb_close(process->log_fd);
	kgb_close(process->status_fd);
	process->holder_fd = process->channel_fd = process->log_fd = process->status_fd = -1;
}

void kgb_exec_process_stop(struct kgb_exec_process *process)
{
	kgb_exec_process_kill(process);
	if (kgb_exec_process_lives(process))
		(void)kgb_exec_process_reap(process, -1);
	close_all(process);
}

void kgb_exec_process_leave(struct kgb_exec_process *process, bool is_clean,
			    const struct kgb_gpu_lease *lease)
{
	if (process->holder_fd < 0) {
		kgb_exec_process_kill(process);
		return;
	}
	tell_pool(process, is_clean ? KGB_EXEC_POOL_KEEP : KGB_EXEC_POOL_END,
		  lease ? lease->fd : -1);
	close_all(process);
}

/* The reason why the sandbox could not be made; "" if it was made. The process is gone, so no read
 * blocks. */
static void read_status(const struct kgb_exec_process *process, char *out, size_t cap)
{
	struct kgb_sandbox_status status;
	char bytes[1024];
	ssize_t n;

	kgb_sandbox_status_init(&status);
	while ((n = read(process->status_fd, bytes, sizeof(bytes))) > 0)
		kgb_sandbox_status_feed(&status, bytes, (size_t)n);
	snprintf(out, cap, "%s", status.error);
	kgb_sandbox_status_release(&status);
}

void kgb_exec_process_last_words(const struct kgb_exec_process *process, struct kgb_buf *out)
{
	KGB_AUTO(free) char *text = kgb_xmalloc(STDERR_KEPT + 1);
	char error[256];
	ssize_t n = read(process->log_fd, text, STDERR_KEPT);

	n = n < 0 ? 0 : n;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	const char *last = strrchr(text, '\n');
	last = last ? last + 1 : text;
	read_status(process, error, sizeof(error));
	const char *words = error[0] ? error : last;
	if (words[0])
		kgb_buf_adds(out, ": ");
	kgb_escape(out, words, strnlen(words, LAST_WORDS));
}
