/* SPDX-License-Identifier: MIT */
/** \file
 * kill -9 of whoever started a sandbox, at any moment, leaves no process behind.
 */
#include "tests/unit/sandbox/sandbox_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "base/time.h"

enum { N_TRIES = 60, STEP_US = 400, LIMIT_MS = 30000, CMDLINE_MAX = 1 << 16 };

/* Number of processes whose command line has `marker`. */
static int count_marked(const char *marker)
{
	DIR *proc = opendir("/proc");
	int n = 0;

	assert_non_null(proc);
	for (struct dirent *entry; (entry = readdir(proc));) {
		struct kgb_err ignored = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(CMDLINE_MAX);
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		KGB_AUTO(free) char *path = kgb_xasprintf("/proc/%s/cmdline", entry->d_name);
		KGB_AUTO(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || kgb_fs_read_fd(fd, CMDLINE_MAX, &text, &ignored) < 0)
			continue;
		n += memmem(text.ptr, text.len, marker, strlen(marker)) != NULL;
	}
	closedir(proc);
	return n;
}

/* In a process of its own: start a sandbox and wait to be killed. */
static void start_and_wait(const char *marker, uint16_t listen_port, int ready_fd)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	struct kgb_sandbox sandbox;
	pid_t pid;

	guest_policy(&policy, (const char *const[]){"daemon", marker, NULL});
	if (listen_port) {
		policy.network = KGB_NETWORK_LISTENER;
		policy.listen_port = listen_port;
	}
	const struct kgb_sandbox_spec spec = {
		.policy = &policy, .launcher = LAUNCHER, .stdio = {-1, ready_fd, 2}};
	if (kgb_sandbox_prepare(&sandbox, &spec, &err) < 0 ||
	    kgb_sandbox_spawn(&sandbox, &pid, &err) < 0)
		_exit(1);
	for (;;)
		(void)pause();
}

static void assert_all_gone(const char *marker)
{
	int64_t deadline_ms = kgb_mono_ms() + LIMIT_MS;
	int n;

	while ((n = count_marked(marker)) > 0 && kgb_mono_ms() < deadline_ms)
		(void)usleep(1000);
	assert_int_equal(n, 0);
}

static void kill_starter(uint16_t listen_port, int delay_us)
{
	KGB_AUTO(free) char *marker = kgb_xasprintf("kgb-orphan-test-%d", getpid());
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t starter = fork();
	assert_true(starter >= 0);
	if (starter == 0)
		start_and_wait(marker, listen_port, out[1]);
	(void)close(out[1]);
	if (delay_us < 0) {
		wait_for_text(out[0], "ready");
		assert_true(count_marked(marker) >= 3); /* launcher, bwrap, program ... */
	} else {
		(void)usleep((useconds_t)delay_us);
	}
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitpid(starter, NULL, 0), starter);
	assert_all_gone(marker);
	(void)close(out[0]);
}

static void test_a_running_sandbox_dies_with_its_starter(void **state)
{
	(void)state;
	need_sandbox();
	kill_starter(0, -1);
	kill_starter(8123, -1);
}

/* bwrap alone fails here: until it has set its own parent-death signal, nobody tells it. */
static void test_a_starting_sandbox_dies_with_its_starter(void **state)
{
	(void)state;
	need_sandbox();
	for (int i = 0; i < N_TRIES; i++)
		kill_starter(i % 2 ? 8123 : 0, i * STEP_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_running_sandbox_dies_with_its_starter),
		cmocka_unit_test(test_a_starting_sandbox_dies_with_its_starter),
	};

	return cmocka_run_group_tests_name("orphan", tests, NULL, NULL);
}
