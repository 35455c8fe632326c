/* SPDX-License-Identifier: MIT */
/** \file
 * Cgroups as files: what is looked for, written and read. What a kernel does with them is tried in
 * test_walls.c, with what the machine has.
 */
#include "tests/unit/sandbox/sandbox_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "sandbox/isolation/cgroup.h"

static char root[] = "/tmp/kgb-cgroup.XXXXXX";

/* A file of a pretended hierarchy, with the directories that lead to it. */
static void put(const char *name, const char *text)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *path = kgb_path_join(root, name);
	KGB_AUTO(free) char *dir = kgb_xstrndup(path, (size_t)(strrchr(path, '/') - path));

	assert_int_equal(kgb_fs_mkdirs(AT_FDCWD, dir, 0755, &err), 0);
	assert_int_equal(kgb_fs_write_atomic(AT_FDCWD, path, text, strlen(text), 0644, false, &err),
			 0);
}

/* What is in it now. */
static void check(const char *name, const char *text)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *path = kgb_path_join(root, name);
	KGB_AUTO(buf) struct kgb_buf have = KGB_BUF_INIT(0);

	assert_ok(kgb_fs_read(AT_FDCWD, path, 4096, &have, &err), &err);
	assert_string_equal(have.ptr, text);
}

static int find(const char *mounts, const char *cgroup, struct kgb_confinement *out,
		struct kgb_err *err)
{
	*out = (struct kgb_confinement){0};
	*err = (struct kgb_err)KGB_ERR_INIT;
	return kgb_cgroup_find_in(mounts, cgroup, false, out, err);
}

static void test_version_2_needs_both_controllers_given_away(void **state)
{
	struct kgb_confinement out;
	struct kgb_err err;
	KGB_AUTO(free)
	char *mounts = kgb_xasprintf("24 1 0:20 / / rw - ext4 /dev/a rw\n"
				     "30 24 0:26 / %s/v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
				     root);
	KGB_AUTO(free) char *want = kgb_path_join(root, "v2/user/run");

	(void)state;
	put("v2/user/run/cgroup.controllers", "cpu memory pids\n");
	put("v2/user/run/cgroup.subtree_control", "memory pids\n");
	assert_int_equal(find(mounts, "0::/user/run\n", &out, &err), 0);
	assert_string_equal(out.cgroup_v2, want);
	put("v2/user/run/cgroup.subtree_control", "cpu\n");
	assert_int_equal(find(mounts, "0::/user/run\n", &out, &err), -1);
	assert_string_equal(out.cgroup_v2, "");
	put("v2/user/run/cgroup.controllers", "cpu pids\n");
	assert_int_equal(find(mounts, "0::/user/run\n", &out, &err), -1);
	assert_non_null(strstr(err.msg, "does not have the controllers memory and pids"));
	assert_non_null(strstr(err.msg, "systemd-run --user --scope"));
	/* a name that only begins like one */
	put("v2/user/run/cgroup.controllers", "memory pidsx\n");
	assert_int_equal(find(mounts, "0::/user/run\n", &out, &err), -1);
}

static void test_a_group_that_was_stepped_out_of_is_found_again(void **state)
{
	struct kgb_confinement out;
	struct kgb_err err;
	KGB_AUTO(free)
	char *mounts = kgb_xasprintf("30 24 0:26 / %s/w2 rw - cgroup2 cgroup2 rw\n", root);
	KGB_AUTO(free) char *want = kgb_path_join(root, "w2/scope");

	(void)state;
	put("w2/scope/cgroup.controllers", "memory pids\n");
	put("w2/scope/cgroup.subtree_control", "memory pids\n");
	put("w2/scope/kgb-agent/cgroup.procs", "");
	assert_int_equal(find(mounts, "0::/scope/kgb-agent\n", &out, &err), 0);
	assert_string_equal(out.cgroup_v2, want);
}

static void test_who_is_alone_steps_aside_to_give_controllers_away(void **state)
{
	struct kgb_confinement out = {0};
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free)
	char *mounts = kgb_xasprintf("30 24 0:26 / %s/s2 rw - cgroup2 cgroup2 rw\n", root);
	KGB_AUTO(free) char *own = kgb_xasprintf("%d\n", getpid());
	KGB_AUTO(free) char *crowd = kgb_xasprintf("1\n%d\n", getpid());
	KGB_AUTO(free) char *want = kgb_path_join(root, "s2/scope");

	(void)state;
	put("s2/scope/cgroup.controllers", "cpu memory pids\n");
	put("s2/scope/cgroup.subtree_control", "\n");
	put("s2/scope/kgb-agent/cgroup.procs", "");
	put("s2/scope/cgroup.procs", crowd);
	assert_int_equal(kgb_cgroup_find_in(mounts, "0::/scope\n", true, &out, &err), -1);
	assert_non_null(strstr(err.msg, "holds other processes too"));
	assert_string_equal(out.cgroup_v2, "");
	check("s2/scope/kgb-agent/cgroup.procs", "");
	put("s2/scope/cgroup.procs", own);
	assert_ok(kgb_cgroup_find_in(mounts, "0::/scope\n", true, &out, &err), &err);
	assert_string_equal(out.cgroup_v2, want);
	check("s2/scope/kgb-agent/cgroup.procs", "0");
	/* A file keeps what was longer; a kernel takes each write by itself. */
	check("s2/scope/cgroup.subtree_control", "+memory +pids");
}

/* The launcher makes its group by its own number: who becomes it has made the files of it. */
static void become_launcher(const char *group, int status_fd)
{
	static const char *const files[][2] = {
		{"cgroup.procs", ""},      {"cgroup.kill", ""},
		{"pids.max", ""},          {"memory.max", ""},
		{"pids.peak", "9"},        {"memory.swap.max", ""},
		{"memory.peak", "123"},    {"memory.events", "low 0\noom 1\noom_kill 2\n"},
		{"pids.events", "max 3\n"}};
	KGB_AUTO(free) char *parent = kgb_xasprintf("%d", getppid());
	KGB_AUTO(free) char *fd = kgb_xasprintf("%d", status_fd);
	KGB_AUTO(free) char *dir = kgb_path_join(root, group);

	for (size_t i = 0; i < KGB_ARRAY_LEN(files); i++) {
		KGB_AUTO(free)
		char *name = kgb_xasprintf("%s/kgb-%d/%s", group, getpid(), files[i][0]);
		put(name, files[i][1]);
	}
	(void)fcntl(status_fd, F_SETFD, 0);
	execl(LAUNCHER, LAUNCHER, "--parent", parent, "--status-fd", fd, "--cgroup-v2", dir,
	      "--limit", "tasks=7", "--limit", "memory=4096", "--", "/bin/sleep", "20", NULL);
	_exit(127);
}

static void test_the_launcher_writes_and_reads_a_group_of_version_2(void **state)
{
	KGB_AUTO(buf) struct kgb_buf lines = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_sandbox_status status;
	static const char *const want[][2] = {{"cgroup.procs", "0"},
					      {"cgroup.kill", "1"},
					      {"pids.max", "7"},
					      {"memory.max", "4096"},
					      {"memory.swap.max", "0"}};
	int wait_status;
	int pair[2];

	(void)state;
	put("l2/run/cgroup.controllers", "memory pids\n");
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		become_launcher("l2/run", pair[1]);
	(void)close(pair[1]);
	/* Nobody ends it: somebody was refused a process, as pids.events says. */
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_ok(kgb_fs_read_fd(pair[0], 65536, &lines, &err), &err);
	(void)close(pair[0]);
	kgb_sandbox_status_init(&status);
	kgb_sandbox_status_feed(&status, lines.ptr, lines.len);
	assert_string_equal(status.error, "");
	assert_string_equal(status.limit, "processes");
	assert_int_equal(status.limit_value, 7);
	assert_int_equal(status.n_oom_kills, 2);
	assert_int_equal(status.peak_memory_bytes, 123);
	assert_int_equal(status.peak_tasks, 9);
	assert_true(status.tree_empty);
	/* Its files keep the directory here: what cannot be removed is not told to be empty. */
	assert_int_equal(status.cgroup_empty, 0);
	kgb_sandbox_status_release(&status);
	for (size_t i = 0; i < KGB_ARRAY_LEN(want); i++) {
		KGB_AUTO(free) char *name = kgb_xasprintf("l2/run/kgb-%d/%s", pid, want[i][0]);
		check(name, want[i][1]);
	}
}

static void test_version_1_needs_both_hierarchies(void **state)
{
	struct kgb_confinement out;
	struct kgb_err err;
	KGB_AUTO(free)
	char *both = kgb_xasprintf("31 24 0:27 / %s/v1/pids rw - cgroup cgroup rw,pids\n"
				   "32 24 0:28 /docker/1 %s/v1/mem rw - cgroup cgroup rw,memory\n",
				   root, root);
	KGB_AUTO(free)
	char *one = kgb_xasprintf("31 24 0:27 / %s/v1/pids rw - cgroup cgroup rw,pids\n", root);
	KGB_AUTO(free) char *pids = kgb_path_join(root, "v1/pids/a/b");
	KGB_AUTO(free) char *memory = kgb_path_join(root, "v1/mem/job");

	(void)state;
	put("v1/pids/a/b/tasks", "");
	put("v1/mem/job/tasks", "");
	assert_int_equal(find(both, "8:pids:/a/b\n4:memory:/docker/1/job\n0::/\n", &out, &err), 0);
	assert_string_equal(out.cgroup_pids, pids);
	assert_string_equal(out.cgroup_memory, memory);
	assert_string_equal(out.cgroup_v2, "");
	assert_int_equal(find(one, "8:pids:/a/b\n", &out, &err), -1);
	assert_string_equal(out.cgroup_pids, "");
}

static void test_without_cgroups_there_is_a_reason(void **state)
{
	struct kgb_confinement out;
	struct kgb_err err;

	(void)state;
	assert_int_equal(find("24 1 0:20 / / rw - ext4 /dev/a rw\n", "", &out, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "cgroups"));
	assert_int_equal(find("nonsense\n - \n1 2 - cgroup2\n", "0::\n::\n", &out, &err), -1);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	return kgb_fs_remove_tree(AT_FDCWD, root, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_2_needs_both_controllers_given_away),
		cmocka_unit_test(test_a_group_that_was_stepped_out_of_is_found_again),
		cmocka_unit_test(test_who_is_alone_steps_aside_to_give_controllers_away),
		cmocka_unit_test(test_the_launcher_writes_and_reads_a_group_of_version_2),
		cmocka_unit_test(test_version_1_needs_both_hierarchies),
		cmocka_unit_test(test_without_cgroups_there_is_a_reason),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
