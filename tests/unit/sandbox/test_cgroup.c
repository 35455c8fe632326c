/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
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
		cmocka_unit_test(test_version_1_needs_both_hierarchies),
		cmocka_unit_test(test_without_cgroups_there_is_a_reason),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
