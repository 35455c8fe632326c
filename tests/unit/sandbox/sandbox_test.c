/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/sandbox_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "sandbox/isolation/probe.h"

enum { OUTPUT_MAX = 1 << 20, RUN_LIMIT_MS = 120000 };

void need_sandbox(void)
{
	static enum { UNKNOWN, HAVE, LACK } state = UNKNOWN;
	static struct kgb_err why = KGB_ERR_INIT;
	struct kgb_isolation_info info;

	if (state == UNKNOWN)
		state = kgb_isolation_probe(LAUNCHER, NULL, &info, &why) == 0 ? HAVE : LACK;
	if (state == HAVE)
		return;
	const char *must_run = getenv("KGB_TESTS_MUST_RUN");
	print_message("# %s\n", why.msg);
	if (must_run && strstr(must_run, "sandbox"))
		fail_msg("the sandbox tests must run: %s", why.msg);
	skip();
}

void guest_policy(struct kgb_policy *policy, const char *const *args)
{
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_policy_base_spec spec = {.tmp_bytes = 8 << 20, .shm_bytes = 4 << 20};

	kgb_policy_init(policy);
	assert_ok(kgb_policy_base(policy, &spec, &err), &err);
	kgb_policy_mount(policy, KGB_MOUNT_RO, KGB_TEST_GUEST, GUEST);
	kgb_policy_arg(policy, GUEST);
	for (; *args; args++)
		kgb_policy_arg(policy, *args);
}

/* Append what a descriptor has until its end; fails after the deadline. */
static void read_to_end(int fd, int64_t deadline_ms, struct kgb_buf *out)
{
	for (;;) {
		char part[4096];
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - kgb_mono_ms();
		if (left_ms <= 0 || poll(&poll_fd, 1, (int)left_ms) == 0)
			fail_msg("no end of output in %d ms; so far: %s", RUN_LIMIT_MS, out->ptr);
		ssize_t len = read(fd, part, sizeof(part));
		if (len == 0)
			return;
		assert_true(len > 0);
		assert_int_equal(kgb_buf_add(out, part, (size_t)len), 0);
	}
}

void run_guest(const struct kgb_policy *policy, struct guest_run *run)
{
	run_guest_confined(policy, NULL, run);
}

void run_guest_confined(const struct kgb_policy *policy, const struct kgb_confinement *confinement,
			struct guest_run *run)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sandbox sandbox;
	struct kgb_buf lines = KGB_BUF_INIT(OUTPUT_MAX);
	int64_t deadline_ms = kgb_mono_ms() + RUN_LIMIT_MS;
	int pipe_fds[2];
	pid_t pid;

	*run = (struct guest_run){.out = KGB_BUF_INIT(OUTPUT_MAX)};
	kgb_sandbox_status_init(&run->status);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	const struct kgb_sandbox_spec spec = {
		.policy = policy,
		.launcher = LAUNCHER,
		.confinement = confinement,
		.stdio = {-1, pipe_fds[1], pipe_fds[1]},
	};
	assert_ok(kgb_sandbox_prepare(&sandbox, &spec, &err), &err);
	assert_ok(kgb_sandbox_spawn(&sandbox, &pid, &err), &err);
	(void)close(pipe_fds[1]);
	read_to_end(pipe_fds[0], deadline_ms, &run->out);
	read_to_end(sandbox.status_fd, deadline_ms, &lines);
	(void)close(pipe_fds[0]);
	kgb_sandbox_status_feed(&run->status, lines.ptr, lines.len);
	assert_int_equal(waitpid(pid, &run->wait_status, 0), pid);
	kgb_buf_release(&lines);
	kgb_sandbox_release(&sandbox);
}

void guest_run_release(struct guest_run *run)
{
	kgb_buf_release(&run->out);
	kgb_sandbox_status_release(&run->status);
}

char *guest_output(const char *const *args)
{
	struct kgb_policy policy;
	struct guest_run run;

	guest_policy(&policy, args);
	run_guest(&policy, &run);
	char *out = kgb_buf_take(&run.out);
	guest_run_release(&run);
	kgb_policy_release(&policy);
	return out;
}

void wait_for_text(int fd, const char *text)
{
	int64_t deadline_ms = kgb_mono_ms() + RUN_LIMIT_MS;
	struct kgb_buf seen = KGB_BUF_INIT(OUTPUT_MAX);

	while (!strstr(seen.ptr, text)) {
		char part[256];
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		int64_t left_ms = deadline_ms - kgb_mono_ms();
		if (left_ms <= 0 || poll(&poll_fd, 1, (int)left_ms) <= 0)
			fail_msg("'%s' did not come; so far: %s", text, seen.ptr);
		ssize_t len = read(fd, part, sizeof(part));
		if (len <= 0)
			fail_msg("the output ended without '%s': %s", text, seen.ptr);
		(void)kgb_buf_add(&seen, part, (size_t)len);
	}
	kgb_buf_release(&seen);
}
