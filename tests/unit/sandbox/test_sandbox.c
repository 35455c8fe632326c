/* SPDX-License-Identifier: MIT */
#include "tests/unit/sandbox/sandbox_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/time.h"
#include "sandbox/isolation/pidns.h"
#include "sandbox/isolation/probe.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_output(const char *const *args, const char *expected)
{
	char *out = guest_output(args);

	assert_string_equal(out, expected);
	kgb_free(out);
}

static void test_the_program_sees_only_its_three_descriptors(void **state)
{
	(void)state;
	need_sandbox();
	/* One that we forgot to close on exec must not come through. */
	int leaked = open("/etc/hostname", O_RDONLY);
	assert_int_equal(fcntl(leaked, F_DUPFD, 77), 77);
	assert_output(ARGS("fds"), "0 1 2 \n");
	(void)close(77);
	(void)close(leaked);
}

static void test_a_passed_descriptor_comes_through_under_its_number(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	struct kgb_sandbox sandbox;
	char said[64] = "";
	int pair[2];
	pid_t pid;

	(void)state;
	need_sandbox();
	guest_policy(&policy, ARGS("fds"));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	/* Given as 3 and as stdout: both must arrive, and the launcher's own must move out of the
	 * way. */
	const struct kgb_sandbox_spec spec = {.policy = &policy,
					      .launcher = LAUNCHER,
					      .stdio = {-1, pair[1], -1},
					      .pass = {{.from = pair[1], .to = 3}},
					      .n_pass = 1};
	assert_ok(kgb_sandbox_prepare(&sandbox, &spec, &err), &err);
	assert_ok(kgb_sandbox_spawn(&sandbox, &pid, &err), &err);
	(void)close(pair[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(read(pair[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(said, "0 1 2 3 \n");
	(void)close(pair[0]);
	kgb_sandbox_release(&sandbox);
	kgb_policy_release(&policy);
}

/* Neither the launcher nor bwrap may keep a copy: whoever talks with the program must see it hang
 * up. */
static void test_a_passed_descriptor_is_held_by_the_program_alone(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	struct kgb_sandbox sandbox;
	int pair[2];
	pid_t pid;

	(void)state;
	need_sandbox();
	guest_policy(&policy, ARGS("close-passed"));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	const struct kgb_sandbox_spec spec = {.policy = &policy,
					      .launcher = LAUNCHER,
					      .stdio = {-1, -1, 2},
					      .pass = {{.from = pair[1], .to = 3}},
					      .n_pass = 1};
	assert_ok(kgb_sandbox_prepare(&sandbox, &spec, &err), &err);
	assert_ok(kgb_sandbox_spawn(&sandbox, &pid, &err), &err);
	(void)close(pair[1]);
	struct pollfd poll_fd = {.fd = pair[0], .events = POLLIN};
	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
	assert_true(poll_fd.revents & POLLHUP);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(pair[0]);
	kgb_sandbox_release(&sandbox);
	kgb_policy_release(&policy);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_the_environment_is_exactly_the_allowlist(void **state)
{
	static const char *const expected[] = {"HOME=/home/agent",
					       "KGB_TOKEN=secret value",
					       "LANG=C.UTF-8",
					       "LOGNAME=agent",
					       "PATH=/usr/local/bin:/usr/bin:/bin",
					       "PWD=/home/agent",
					       "TMPDIR=/tmp",
					       "TZ=UTC",
					       "USER=agent"};
	struct kgb_policy policy;
	struct guest_run run;
	struct kgb_strv lines = KGB_STRV_INIT;

	(void)state;
	need_sandbox();
	assert_int_equal(setenv("ANTHROPIC_API_KEY", "the real one", 1), 0);
	guest_policy(&policy, ARGS("env"));
	kgb_policy_setenv(&policy, "KGB_TOKEN", "secret value");
	run_guest(&policy, &run);
	kgb_strv_split(&lines, run.out.ptr, '\n');
	qsort(lines.items, lines.n, sizeof(lines.items[0]), compare_lines);
	assert_int_equal(lines.n, KGB_ARRAY_LEN(expected));
	for (size_t i = 0; i < lines.n; i++)
		assert_string_equal(lines.items[i], expected[i]);
	kgb_strv_release(&lines);
	guest_run_release(&run);
	kgb_policy_release(&policy);
	(void)unsetenv("ANTHROPIC_API_KEY");
}

static void test_identity_and_place_are_the_policys(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(ARGS("self"), "uid=1000 gid=1000 host=kgb cwd=/home/agent pid=2\n");
}

static void test_the_host_is_not_visible(void **state)
{
	KGB_AUTO(free)
	char *project = kgb_path_real(KGB_TEST_SOURCE_DIR, &(struct kgb_err)KGB_ERR_INIT);
	KGB_AUTO(free)
	char *expected =
		kgb_xasprintf("/root=no\n/var=no\n/sys=no\n/etc/shadow=no\n/proc/1/root/root=no\n"
			      "%s=no\n/dev/sda=no\n/run/docker.sock=no\n/usr/bin=yes\n",
			      project);

	(void)state;
	need_sandbox();
	assert_output(ARGS("exists", "/root", "/var", "/sys", "/etc/shadow", "/proc/1/root/root",
			   project, "/dev/sda", "/run/docker.sock", "/usr/bin"),
		      expected);
}

static void test_nothing_but_home_and_tmp_can_be_written(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(ARGS("write", "/", "/usr", "/etc", "/opt", "/dev", "/run", "/home", "/tmp",
			   "/dev/shm", "/home/agent"),
		      "/=EROFS\n/usr=EROFS\n/etc=EROFS\n/opt=EROFS\n/dev=EROFS\n/run=EROFS\n"
		      "/home=EROFS\n/tmp=written\n/dev/shm=written\n/home/agent=written\n");
}

/* Without the capabilities of root but with its user id, mode bits would let these be written. */
static void test_kernel_settings_cannot_be_written(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(ARGS("writable-proc"), "");
	/* EROFS for the owner, EACCES for others */
	char *out =
		guest_output(ARGS("open", "/proc/sys/kernel/core_pattern", "/etc/passwd",
				  "/etc/ld.so.cache", "/usr/bin/env", "/proc/self/oom_score_adj"));
	assert_null(strstr(out, "=ok"));
	kgb_free(out);
}

static void test_tmp_holds_no_more_than_its_size(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(ARGS("fill", "/tmp"), "8\n");
	assert_output(ARGS("fill", "/dev/shm"), "4\n");
}

static void test_home_is_the_directory_we_gave(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	char dir[] = "/tmp/kgb-test-XXXXXX";
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_sandbox();
	assert_non_null(mkdtemp(dir));
	kgb_policy_init(&policy);
	assert_ok(kgb_policy_base(&policy, &(struct kgb_policy_base_spec){.home = dir}, &err),
		  &err);
	kgb_policy_mount(&policy, KGB_MOUNT_RO, KGB_TEST_GUEST, GUEST);
	kgb_policy_arg(&policy, GUEST);
	kgb_policy_arg(&policy, "write");
	kgb_policy_arg(&policy, "/home/agent");
	run_guest(&policy, &run);
	assert_string_equal(run.out.ptr, "/home/agent=written\n");
	KGB_AUTO(free) char *path = kgb_path_join(dir, "probe-file");
	assert_int_equal(access(path, F_OK), 0);
	guest_run_release(&run);
	kgb_policy_release(&policy);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void test_there_is_no_network(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(ARGS("internet"), "ENETUNREACH\n");
	assert_output(ARGS("interfaces"), "lo \n");
}

static void test_dangerous_system_calls_are_refused(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(
		ARGS("syscalls"),
		"ptrace=EPERM\nprocess_vm_readv=EPERM\nunshare_user=EPERM\nclone_user=EPERM\nclone3=ENOSYS\n"
		"mount=EPERM\numount=EPERM\nfsopen=EPERM\nsetns=EPERM\nkeyctl=EPERM\nadd_key=EPERM\nbpf=EPERM\n"
		"perf_event_open=EPERM\nio_uring_setup=ENOSYS\nuserfaultfd=EPERM\nkexec_load=EPERM\n"
		"init_module=EPERM\npidfd_getfd=EPERM\ntiocsti=EPERM\nchroot=EPERM\n");
}

static void test_only_plain_socket_families_exist(void **state)
{
	(void)state;
	need_sandbox();
	assert_output(
		ARGS("sockets"),
		"unix=ok\ninet=ok\ninet_udp=ok\ninet6=ok\nnetlink_raw=ok\ninet_raw=EPERM\n"
		"packet=EAFNOSUPPORT\nvsock=EAFNOSUPPORT\nalg=EAFNOSUPPORT\nax25=EAFNOSUPPORT\n");
}

static void test_nested_namespaces_need_the_policys_leave(void **state)
{
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_sandbox();
	guest_policy(&policy, ARGS("nested"));
	policy.allow_nested_userns = true;
	run_guest(&policy, &run);
	assert_string_equal(run.out.ptr, "unshare=ok\ntmpfs=ok\npid=1\n");
	guest_run_release(&run);
	kgb_policy_release(&policy);

	char *out = guest_output(ARGS("nested"));
	assert_true(kgb_str_starts(out, "unshare=EPERM\n"));
	kgb_free(out);
}

static void test_limits_are_applied(void **state)
{
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_sandbox();
	guest_policy(&policy, ARGS("limits"));
	policy.limits = (struct kgb_limits){.n_open_files = 123, .file_size_bytes = 456789};
	run_guest(&policy, &run);
	assert_string_equal(run.out.ptr, "core=0\nnofile=123\nfsize=456789\n");
	guest_run_release(&run);
	kgb_policy_release(&policy);
}

static void test_the_exit_status_comes_back(void **state)
{
	static const struct {
		const char *mode, *arg;
		int exit_code;
	} cases[] = {
		{"exit", "0", 0}, {"exit", "41", 41}, {"raise", "9", 137}, {"raise", "15", 143}};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_policy policy;
		struct guest_run run;
		guest_policy(&policy, ARGS(cases[i].mode, cases[i].arg));
		run_guest(&policy, &run);
		assert_true(WIFEXITED(run.wait_status));
		assert_int_equal(WEXITSTATUS(run.wait_status), cases[i].exit_code);
		assert_int_equal(run.status.exit_code, cases[i].exit_code);
		assert_true(run.status.tree_empty);
		assert_true(run.status.init_pid > 0);
		assert_true(run.status.pidns_inode > 0);
		assert_true(run.status.user_ms >= 0);
		assert_true(run.status.max_rss_bytes > 0);
		assert_int_equal(run.status.n_bad_lines, 0);
		guest_run_release(&run);
		kgb_policy_release(&policy);
	}
}

static void test_a_daemon_does_not_outlive_its_program(void **state)
{
	struct kgb_policy policy;
	struct guest_run run;

	(void)state;
	need_sandbox();
	guest_policy(&policy, ARGS("leave-daemon"));
	run_guest(&policy, &run);
	assert_string_equal(run.out.ptr, "ready\n");
	assert_int_equal(run.status.exit_code, 0);
	assert_true(run.status.tree_empty);
	guest_run_release(&run);
	kgb_policy_release(&policy);
}

/* The sandbox's listening socket is ours; what connects to it from inside reaches us. */
static void test_a_listener_serves_the_inside(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	struct kgb_sandbox sandbox;
	char text[64] = "";
	int listener;
	int out[2];
	pid_t pid;

	(void)state;
	need_sandbox();
	guest_policy(&policy, ARGS("client", "8123"));
	policy.network = KGB_NETWORK_LISTENER;
	policy.listen_port = 8123;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	const struct kgb_sandbox_spec spec = {
		.policy = &policy, .launcher = LAUNCHER, .stdio = {-1, out[1], 2}};
	assert_ok(kgb_sandbox_prepare(&sandbox, &spec, &err), &err);
	assert_ok(kgb_sandbox_spawn(&sandbox, &pid, &err), &err);
	assert_ok(kgb_sandbox_recv_listener(sandbox.listen_fd, 60000, &listener, &err), &err);
	assert_int_equal(fcntl(listener, F_GETFD), FD_CLOEXEC);
	struct pollfd poll_fd = {.fd = listener, .events = POLLIN};
	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
	int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(connection >= 0);
	assert_int_equal(read(connection, text, sizeof(text)), 5);
	assert_memory_equal(text, "hello", 5);
	assert_int_equal(write(connection, "world", 5), 5);
	(void)close(connection);
	(void)close(listener);
	(void)close(out[1]);
	assert_int_equal(read(out[0], text, sizeof(text)), 6);
	assert_memory_equal(text, "world\n", 6);
	(void)close(out[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	kgb_sandbox_release(&sandbox);
	kgb_policy_release(&policy);
}

static void test_a_listening_sandbox_has_no_other_network(void **state)
{
	struct kgb_policy policy;
	struct guest_run run;
	static const struct {
		const char *mode, *expected;
	} cases[] = {{"internet", "ENETUNREACH\n"}, {"interfaces", "lo \n"}, {"fds", "0 1 2 \n"}};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		guest_policy(&policy, ARGS(cases[i].mode));
		policy.network = KGB_NETWORK_LISTENER;
		policy.listen_port = 8123;
		run_guest(&policy, &run);
		assert_string_equal(run.out.ptr, cases[i].expected);
		guest_run_release(&run);
		kgb_policy_release(&policy);
	}
}

/* SIGTERM to the launcher is how a synchronous owner ends a sandbox. */
static void test_terminating_the_launcher_ends_everything(void **state)
{
	static const char *const modes[] = {"daemon", "deaf", "bomb"};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(modes); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_policy policy;
		struct kgb_sandbox sandbox;
		struct kgb_sandbox_status status;
		char lines[1024];
		int out[2];
		int wait_status;
		pid_t pid;

		guest_policy(&policy, ARGS(modes[i]));
		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		const struct kgb_sandbox_spec spec = {
			.policy = &policy, .launcher = LAUNCHER, .stdio = {-1, out[1], 2}};
		assert_ok(kgb_sandbox_prepare(&sandbox, &spec, &err), &err);
		assert_ok(kgb_sandbox_spawn(&sandbox, &pid, &err), &err);
		(void)close(out[1]);
		wait_for_text(out[0], "ready");
		kgb_sandbox_status_init(&status);
		kgb_sandbox_status_feed(&status, lines,
					(size_t)read(sandbox.status_fd, lines, sizeof(lines)));
		KGB_AUTO(fd) int held = kgb_pidns_hold(status.init_pid, &status.pidns_inode);
		assert_true(held >= 0);
		assert_true(kgb_pidns_count(status.pidns_inode) >= 2);
		assert_int_equal(kill(pid, SIGTERM), 0);
		assert_int_equal(waitpid(pid, &wait_status, 0), pid);
		assert_int_equal(kgb_pidns_count(status.pidns_inode), 0);
		assert_true(WIFEXITED(wait_status));
		assert_int_equal(WEXITSTATUS(wait_status), 128 + SIGKILL);
		(void)close(out[0]);
		kgb_sandbox_status_release(&status);
		kgb_sandbox_release(&sandbox);
		kgb_policy_release(&policy);
	}
}

static void test_the_probe_reports_this_machine(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_isolation_info info;

	(void)state;
	need_sandbox();
	assert_ok(kgb_isolation_probe(LAUNCHER, NULL, &info, &err), &err);
	assert_string_equal(kgb_isolation_level_name(info.level), "L3");
	assert_true(info.bwrap_version[0] >= '0' && info.bwrap_version[0] <= '9');
	assert_true(info.seccomp);
	assert_true(info.listener);
	assert_true(info.nested_userns);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf again = KGB_BUF_INIT(0);
	struct kgb_isolation_info read_back;
	struct kgb_jsonw w;
	cJSON *node = NULL;
	kgb_jsonw_init(&w, &text, 0);
	kgb_isolation_write(&info, &w);
	assert_ok(kgb_json_parse(text.ptr, text.len, &node, &err), &err);
	assert_true(kgb_isolation_read(node, &read_back));
	kgb_jsonw_init(&w, &again, 0);
	kgb_isolation_write(&read_back, &w);
	assert_string_equal(text.ptr, again.ptr);
	cJSON_SetValuestring(cJSON_GetObjectItem(node, "level"), "L9");
	assert_false(kgb_isolation_read(node, &read_back));
	cJSON_Delete(node);
}

static void test_the_probe_names_the_fix(void **state)
{
	static const struct {
		const char *bwrap, *launcher, *part;
	} cases[] = {
		{"/nonexistent/bwrap", LAUNCHER, "apt-get install bubblewrap"},
		{"/bin/false", LAUNCHER, "does not name bubblewrap"},
		{NULL, "/nonexistent/kgb-launch", "'/nonexistent/kgb-launch' not found"},
	};

	(void)state;
	need_sandbox();
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_isolation_info info;
		assert_int_equal(
			kgb_isolation_probe(cases[i].launcher, cases[i].bwrap, &info, &err), -1);
		assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
		assert_non_null(strstr(err.msg, cases[i].part));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_program_sees_only_its_three_descriptors),
		cmocka_unit_test(test_a_passed_descriptor_comes_through_under_its_number),
		cmocka_unit_test(test_a_passed_descriptor_is_held_by_the_program_alone),
		cmocka_unit_test(test_the_environment_is_exactly_the_allowlist),
		cmocka_unit_test(test_identity_and_place_are_the_policys),
		cmocka_unit_test(test_the_host_is_not_visible),
		cmocka_unit_test(test_nothing_but_home_and_tmp_can_be_written),
		cmocka_unit_test(test_kernel_settings_cannot_be_written),
		cmocka_unit_test(test_tmp_holds_no_more_than_its_size),
		cmocka_unit_test(test_home_is_the_directory_we_gave),
		cmocka_unit_test(test_there_is_no_network),
		cmocka_unit_test(test_dangerous_system_calls_are_refused),
		cmocka_unit_test(test_only_plain_socket_families_exist),
		cmocka_unit_test(test_nested_namespaces_need_the_policys_leave),
		cmocka_unit_test(test_limits_are_applied),
		cmocka_unit_test(test_the_exit_status_comes_back),
		cmocka_unit_test(test_a_daemon_does_not_outlive_its_program),
		cmocka_unit_test(test_a_listener_serves_the_inside),
		cmocka_unit_test(test_a_listening_sandbox_has_no_other_network),
		cmocka_unit_test(test_terminating_the_launcher_ends_everything),
		cmocka_unit_test(test_the_probe_reports_this_machine),
		cmocka_unit_test(test_the_probe_names_the_fix),
	};

	return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
