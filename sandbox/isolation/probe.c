/* SPDX-License-Identifier: MIT */
#include "sandbox/isolation/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/status.h"

enum { OUTPUT_MAX = 4096, LIMIT_MS = 30000, PROBE_PORT = 8123, PROBE_TMP_BYTES = 1 << 20 };

/* Only builtins of sh: tells the kernel's word on the filter. */
static const char seccomp_script[] = "while read -r key value; do "
				     "[ \"$key\" != Seccomp: ] || echo \"seccomp $value\"; "
				     "done </proc/self/status; exit 0";

static const char *const level_names[] = {
	[KGB_ISOLATION_NONE] = "L0",
	[KGB_ISOLATION_L2] = "L2",
	[KGB_ISOLATION_L3] = "L3",
	[KGB_ISOLATION_L4] = "L4",
};

const char *kgb_isolation_level_name(enum kgb_isolation_level level)
{
	KGB_ASSERT((size_t)level < KGB_ARRAY_LEN(level_names));
	return level_names[level];
}

/* Read a pipe to its end or the deadline. Returns false when the deadline came first. */
static bool drain(int fd, int64_t deadline_ms, struct kgb_buf *out)
{
	for (;;) {
		char part[OUTPUT_MAX];
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - kgb_mono_ms();
		int n = poll(&poll_fd, 1, left_ms > 0 ? (int)left_ms : 0);
		if (n == 0)
			return false;
		ssize_t len = n < 0 ? -1 : read(fd, part, sizeof(part));
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return true;
		(void)kgb_buf_add(out, part, (size_t)len);
	}
}

/* The first line of what bwrap said, or what the exit status tells. */
static int refuse(const struct kgb_sandbox_status *status, const struct kgb_buf *said,
		  int exit_code, struct kgb_err *err)
{
	const char *hint =
		"user namespaces must be allowed (sysctl kernel.unprivileged_userns_clone=1, "
		"kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces>0; in a container: "
		"run it with a seccomp profile that permits them)";
	int len = (int)strcspn(said->ptr, "\n");

	if (status->error[0])
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: %s: %s", status->error, hint);
	if (len > 0)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: %.*s: %s",
				len > 120 ? 120 : len, said->ptr, hint);
	return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: the trial ended with status %d: %s",
			exit_code, hint);
}

/* Run one prepared sandbox, whose output goes to *write_fd, to its end; with a deadline. */
static int run_trial(struct kgb_sandbox *sandbox, int read_fd, int *write_fd,
		     struct kgb_sandbox_status *status, struct kgb_buf *said, struct kgb_err *err)
{
	int64_t deadline_ms = kgb_mono_ms() + LIMIT_MS;
	KGB_AUTO(buf) struct kgb_buf lines = KGB_BUF_INIT(OUTPUT_MAX);
	pid_t pid;
	int wait_status;

	if (kgb_sandbox_spawn(sandbox, &pid, err) < 0)
		return -1;
	kgb_close(kgb_take_fd(write_fd)); /* so that the output ends with the sandbox */
	bool in_time =
		drain(read_fd, deadline_ms, said) && drain(sandbox->status_fd, deadline_ms, &lines);
	if (!in_time)
		(void)kill(pid, SIGTERM);
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	if (!in_time)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "sandbox: a trial did not end in %d s",
				LIMIT_MS / 1000);
	kgb_sandbox_status_feed(status, lines.ptr, lines.len);
	int exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	return exit_code == 0 && status->tree_empty && status->exit_code == 0
		       ? 0
		       : refuse(status, said, exit_code, err);
}

int kgb_isolation__trial(const struct kgb_sandbox_spec *base, struct kgb_policy *policy,
			 const char *script, struct kgb_sandbox_status *status,
			 struct kgb_buf *said, struct kgb_err *err)
{
	struct kgb_sandbox_spec spec = *base;
	const struct kgb_policy_base_spec base_spec = {.tmp_bytes = PROBE_TMP_BYTES,
						       .shm_bytes = PROBE_TMP_BYTES};
	int output[2];

	if (kgb_policy_base(policy, &base_spec, err) < 0)
		return -1;
	kgb_policy_arg(policy, "/bin/sh");
	kgb_policy_arg(policy, "-c");
	kgb_policy_arg(policy, script);
	if (pipe2(output, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	KGB_AUTO(fd) int read_fd = output[0];
	KGB_AUTO(fd) int write_fd = output[1];
	KGB_AUTO(sandbox) struct kgb_sandbox sandbox = KGB_SANDBOX_INIT;
	spec.policy = policy;
	spec.stdio[0] = -1;
	spec.stdio[1] = write_fd;
	spec.stdio[2] = write_fd;
	if (kgb_sandbox_prepare(&sandbox, &spec, err) < 0)
		return -1;
	return run_trial(&sandbox, read_fd, &write_fd, status, said, err);
}

/* The same, of which only the output matters. */
static int trial(const struct kgb_sandbox_spec *base, struct kgb_policy *policy, const char *script,
		 struct kgb_buf *said, struct kgb_err *err)
{
	struct kgb_sandbox_status status;

	kgb_sandbox_status_init(&status);
	int rc = kgb_isolation__trial(base, policy, script, &status, said, err);
	kgb_sandbox_status_release(&status);
	return rc;
}

/* `bwrap --version` prints "bubblewrap 0.8.0". */
static int read_version(struct kgb_isolation_info *info, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf said = KGB_BUF_INIT(OUTPUT_MAX);
	int output[2];

	if (pipe2(output, O_CLOEXEC) < 0)
		return kgb_fail_errno(err, errno, "make a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		char version[] = "--version";
		char *argv[] = {info->bwrap_path, version, NULL};
		(void)dup2(output[1], STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(EXIT_FAILURE);
	}
	kgb_close(output[1]);
	bool in_time = pid > 0 && drain(output[0], kgb_mono_ms() + LIMIT_MS, &said);
	kgb_close(output[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	const char *word = strchr(said.ptr, ' ');
	if (!in_time || !kgb_str_starts(said.ptr, "bubblewrap ") || !word)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"sandbox: '%s --version' does not name bubblewrap",
				info->bwrap_path);
	word++;
	(void)snprintf(info->bwrap_version, sizeof(info->bwrap_version), "%.*s",
		       (int)strcspn(word, "\n"), word);
	return 0;
}

static bool try_listener(const struct kgb_sandbox_spec *spec)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(buf) struct kgb_buf said = KGB_BUF_INIT(OUTPUT_MAX);

	kgb_policy_init(&policy);
	policy.network = KGB_NETWORK_LISTENER;
	policy.listen_port = PROBE_PORT;
	return trial(spec, &policy, "true", &said, &ignored) == 0;
}

static bool try_nested(const struct kgb_sandbox_spec *spec)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(buf) struct kgb_buf said = KGB_BUF_INIT(OUTPUT_MAX);

	kgb_policy_init(&policy);
	policy.allow_nested_userns = true;
	return trial(spec, &policy,
		     "unshare --user --map-current-user --mount --pid --fork --ipc --net true",
		     &said, &ignored) == 0;
}

int kgb_isolation_probe(const char *launcher, const char *bwrap, struct kgb_isolation_info *out,
			struct kgb_err *err)
{
	const struct kgb_sandbox_spec spec = {.launcher = launcher, .bwrap = bwrap};
	struct kgb_isolation_info info = {.level = KGB_ISOLATION_NONE};
	KGB_AUTO(policy) struct kgb_policy policy;
	KGB_AUTO(buf) struct kgb_buf said = KGB_BUF_INIT(OUTPUT_MAX);
	KGB_AUTO(free) char *path = kgb_sandbox_find_bwrap(bwrap, err);

	kgb_policy_init(&policy);
	if (!path)
		return -1;
	(void)snprintf(info.bwrap_path, sizeof(info.bwrap_path), "%s", path);
	if (read_version(&info, err) < 0)
		return -1;
	int64_t start_ms = kgb_mono_ms();
	if (trial(&spec, &policy, seccomp_script, &said, err) < 0)
		return -1;
	info.start_ms = kgb_mono_ms() - start_ms;
	info.seccomp = strstr(said.ptr, "seccomp 2") != NULL;
	if (!info.seccomp)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"sandbox: the kernel did not take the seccomp filter: it needs CONFIG_SECCOMP_FILTER");
	info.listener = try_listener(&spec);
	info.nested_userns = try_nested(&spec);
	info.level = KGB_ISOLATION_L3;
	*out = info;
	return 0;
}

void kgb_isolation_write(const struct kgb_isolation_info *info, struct kgb_jsonw *w)
{
	kgb_jsonw_object(w);
	kgb_jsonw_kstr(w, "level", kgb_isolation_level_name(info->level));
	kgb_jsonw_kstr(w, "bwrap_version", info->bwrap_version[0] ? info->bwrap_version : NULL);
	kgb_jsonw_kbool(w, "seccomp", info->seccomp);
	kgb_jsonw_kbool(w, "listener", info->listener);
	kgb_jsonw_kbool(w, "nested_userns", info->nested_userns);
	kgb_jsonw_object_end(w);
}
