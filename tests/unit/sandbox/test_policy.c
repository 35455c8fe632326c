/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/fs.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/policy.h"

#define assert_ok(call, err)                                        \
	do {                                                        \
		if ((call) != 0) {                                  \
			print_error("%s: %s\n", #call, (err)->msg); \
			fail();                                     \
		}                                                   \
	} while (0)

/* Index of a string in a list, which must be there. */
static size_t index_of(const struct kgb_strv *list, const char *item)
{
	for (size_t i = 0; i < list->n; i++)
		if (kgb_str_eq(list->items[i], item))
			return i;
	fail_msg("'%s' is not in the list", item);
	return 0;
}

static void test_mounts_keep_the_order_of_the_calls(void **state)
{
	struct kgb_policy policy;
	struct kgb_strv argv = KGB_STRV_INIT;
	const int data_fds[] = {20, -1, 21};

	(void)state;
	kgb_policy_init(&policy);
	kgb_policy_mount(&policy, KGB_MOUNT_RO, "/usr", "/usr");
	kgb_policy_mount(&policy, KGB_MOUNT_DATA, "one", "/etc/one");
	kgb_policy_mount(&policy, KGB_MOUNT_COPY, "/nonexistent", "/etc/left-out");
	kgb_policy_tmpfs(&policy, "/tmp", 4096);
	kgb_policy_mount(&policy, KGB_MOUNT_RW, "/var/x", "/tmp/x");
	kgb_policy_mount(&policy, KGB_MOUNT_SYMLINK, "usr/bin", "/bin");
	kgb_policy_mount(&policy, KGB_MOUNT_DATA, "two", "/etc/two");
	kgb_policy_mount(&policy, KGB_MOUNT_DEV, "/dev/null", "/dev/nvidia0");
	kgb_policy_arg(&policy, "prog");
	kgb_policy_arg(&policy, "--bind");
	kgb_bwrap_argv(&policy,
		       &(struct kgb_bwrap_options){.bwrap = "/usr/bin/bwrap",
						   .status_fd = 3,
						   .seccomp_fd = 4,
						   .data_fds = data_fds},
		       &argv);
	static const char *const expected[] = {
		"--ro-bind", "/usr",         "/usr",         "--perms",   "0444",     "--file",
		"20",        "/etc/one",     "--size",       "4096",      "--tmpfs",  "/tmp",
		"--bind",    "/var/x",       "/tmp/x",       "--symlink", "usr/bin",  "/bin",
		"--perms",   "0444",         "--file",       "21",        "/etc/two", "--dev-bind",
		"/dev/null", "/dev/nvidia0", "--remount-ro", "/",         "--chdir",  "/",
		"--",        "prog",         "--bind"};
	size_t start = index_of(&argv, "--ro-bind");
	assert_int_equal(argv.n - start, KGB_ARRAY_LEN(expected));
	for (size_t i = 0; i < KGB_ARRAY_LEN(expected); i++)
		assert_string_equal(argv.items[start + i], expected[i]);
	kgb_strv_release(&argv);
	kgb_policy_release(&policy);
}

static const struct kgb_bwrap_options plain = {.bwrap = "bwrap", .status_fd = -1, .seccomp_fd = -1};

static void test_every_namespace_is_new(void **state)
{
	static const char *const needed[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
					     "--unshare-uts",  "--unshare-net", "--die-with-parent",
					     "--new-session"};
	struct kgb_policy policy;
	struct kgb_strv argv = KGB_STRV_INIT;

	(void)state;
	kgb_policy_init(&policy);
	kgb_policy_arg(&policy, "true");
	kgb_bwrap_argv(&policy, &plain, &argv);
	for (size_t i = 0; i < KGB_ARRAY_LEN(needed); i++)
		assert_true(kgb_strv_has(&argv, needed[i]));
	assert_false(kgb_strv_has(&argv, "--seccomp"));
	kgb_strv_release(&argv);
	/* The launcher has made the network namespace already; a second one would hide the
	 * listener. */
	policy.network = KGB_NETWORK_LISTENER;
	kgb_bwrap_argv(&policy, &plain, &argv);
	assert_false(kgb_strv_has(&argv, "--unshare-net"));
	kgb_strv_release(&argv);
	kgb_policy_release(&policy);
}

static void test_values_of_the_environment_are_not_in_the_command(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	struct kgb_sandbox sandbox;

	(void)state;
	kgb_policy_init(&policy);
	kgb_policy_arg(&policy, "true");
	kgb_policy_setenv(&policy, "KGB_TOKEN", "old");
	kgb_policy_setenv(&policy, "KGB_TOKEN", "capability");
	assert_string_equal(kgb_policy_getenv(&policy, "KGB_TOKEN"), "capability");
	assert_null(kgb_policy_getenv(&policy, "KGB"));
	const struct kgb_sandbox_spec spec = {.policy = &policy,
					      .launcher = "/bin/true",
					      .bwrap = "/bin/true",
					      .stdio = {-1, -1, -1}};
	assert_ok(kgb_sandbox_prepare(&sandbox, &spec, &err), &err);
	for (size_t i = 0; i < sandbox.argv.n; i++)
		assert_null(strstr(sandbox.argv.items[i], "capability"));
	assert_int_equal(sandbox.env.n, 1);
	assert_string_equal(sandbox.env.items[0], "KGB_TOKEN=capability");
	kgb_sandbox_release(&sandbox);
	kgb_policy_release(&policy);
}

/* Each case spoils a good policy in one way. */
static void spoil_nothing(struct kgb_policy *policy)
{
	(void)policy;
}

static void spoil_command(struct kgb_policy *policy)
{
	kgb_strv_release(&policy->argv);
}

static void spoil_target(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_RO, "/usr", "usr");
}

static void spoil_target_upwards(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_RO, "/usr", "/a/../etc");
}

static void spoil_source(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_RW, "/nonexistent/home", "/home/agent");
}

static void spoil_source_relative(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_RO_TRY, "home", "/home/agent");
}

static void spoil_size(struct kgb_policy *policy)
{
	kgb_policy_tmpfs(policy, "/tmp", 0);
}

static void spoil_data(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_DATA, "x", "/tmp/x");
	kgb_policy_tmpfs(policy, "/tmp", 4096);
}

static void spoil_copy(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_COPY, "passwd", "/etc/passwd");
}

static void spoil_env_name(struct kgb_policy *policy)
{
	kgb_policy_setenv(policy, "A=B", "x");
}

static void spoil_env_loader(struct kgb_policy *policy)
{
	kgb_policy_setenv(policy, "LD_PRELOAD", "/tmp/x.so");
}

static void spoil_port(struct kgb_policy *policy)
{
	policy->network = KGB_NETWORK_LISTENER;
}

static void spoil_cwd(struct kgb_policy *policy)
{
	kgb_policy_set_cwd(policy, "ws");
}

static void add_absent_optional(struct kgb_policy *policy)
{
	kgb_policy_mount(policy, KGB_MOUNT_RO_TRY, "/nonexistent", "/nonexistent");
}

static void test_a_policy_that_cannot_be_right_is_refused(void **state)
{
	static const struct {
		void (*spoil)(struct kgb_policy *policy);
		const char *message;
	} cases[] = {
		{spoil_nothing, NULL},
		{add_absent_optional, NULL},
		{spoil_command, "no command"},
		{spoil_target, "mount target 'usr'"},
		{spoil_target_upwards, "mount target '/a/../etc'"},
		{spoil_source, "mount '/nonexistent/home' at '/home/agent'"},
		{spoil_source_relative, "mount source 'home'"},
		{spoil_size, "tmpfs '/tmp' has no size"},
		{spoil_data, "the file '/tmp/x' would lie in the mount '/tmp'"},
		{spoil_copy, "mount source 'passwd'"},
		{spoil_env_name, "'A=B' is not the name"},
		{spoil_env_loader, "variable 'LD_PRELOAD'"},
		{spoil_port, "a listener needs a port"},
		{spoil_cwd, "working directory 'ws'"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_policy policy;
		kgb_policy_init(&policy);
		kgb_policy_arg(&policy, "true");
		cases[i].spoil(&policy);
		int rc = kgb_policy_check(&policy, &err);
		assert_int_equal(rc, cases[i].message ? -1 : 0);
		if (cases[i].message)
			assert_non_null(strstr(err.msg, cases[i].message));
		kgb_policy_release(&policy);
	}
}

/* A directory tree for the interpreter tests. */
static char root[] = "/tmp/kgb-test-XXXXXX";

static void make_dir(const char *path)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *full = kgb_path_join(root, path);

	assert_ok(kgb_fs_mkdirs(AT_FDCWD, full, 0755, &err), &err);
}

static void make_file(const char *path, const char *text, mode_t mode)
{
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(free) char *full = kgb_path_join(root, path);

	assert_ok(kgb_fs_write_atomic(AT_FDCWD, full, text, strlen(text), mode, false, &err), &err);
}

static void make_link(const char *text, const char *path)
{
	KGB_AUTO(free) char *full = kgb_path_join(root, path);

	assert_int_equal(symlink(text, full), 0);
}

/* base/ is an installation, venv/ and chain/ are environments on it, venv/bin/python goes through
 * two links. */
static int make_tree(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	make_dir("base/bin");
	make_dir("base/lib/python3.11");
	make_file("base/lib/python3.11/os.py", "", 0644);
	make_file("base/bin/python3.11", "", 0755);
	make_link("python3.11", "base/bin/python3");
	make_link("base", "alias");
	make_dir("venv/bin");
	KGB_AUTO(free)
	char *cfg = kgb_xasprintf("include-system-site-packages = false\nhome = %s/alias/bin\r\n",
				  root);
	make_file("venv/pyvenv.cfg", cfg, 0644);
	KGB_AUTO(free) char *link = kgb_xasprintf("%s/alias/./bin/python3", root);
	make_link(link, "venv/bin/python3");
	make_link("python3", "venv/bin/python");
	make_dir("wrapper/bin");
	make_file("wrapper/bin/python", "#!/bin/sh\n", 0755);
	make_dir("broken/bin");
	make_file("broken/pyvenv.cfg", "version = 3.11\n", 0644);
	make_file("broken/bin/python", "", 0755);
	return 0;
}

static int remove_tree(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	return kgb_fs_remove_tree(AT_FDCWD, root, &err);
}

static bool shows(const struct kgb_policy *policy, const char *source, const char *target)
{
	KGB_AUTO(free) char *from = kgb_path_join(root, source);
	KGB_AUTO(free) char *to = kgb_path_join(root, target);

	for (size_t i = 0; i < policy->mounts.n; i++)
		if (policy->mounts.items[i].kind == KGB_MOUNT_RO &&
		    kgb_str_eq(policy->mounts.items[i].source, from) &&
		    kgb_str_eq(policy->mounts.items[i].target, to))
			return true;
	return false;
}

static void test_a_virtual_environment_brings_its_base(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	KGB_AUTO(free) char *python = kgb_path_join(root, "venv/bin/python");

	(void)state;
	kgb_policy_init(&policy);
	assert_ok(kgb_policy_python(&policy, python, &err), &err);
	assert_true(shows(&policy, "venv", "venv"));
	assert_true(shows(&policy, "base", "base"));
	/* The interpreter finds its library by the name that it was started with. */
	assert_true(shows(&policy, "base", "alias"));
	assert_int_equal(policy.mounts.n, 3);
	kgb_policy_release(&policy);
}

static void test_an_installation_is_bound_as_a_whole(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;
	KGB_AUTO(free) char *python = kgb_path_join(root, "base/bin/python3");

	(void)state;
	kgb_policy_init(&policy);
	assert_ok(kgb_policy_python(&policy, python, &err), &err);
	assert_true(shows(&policy, "base", "base"));
	assert_int_equal(policy.mounts.n, 1);
	kgb_policy_release(&policy);
}

static void test_what_is_no_installation_is_refused(void **state)
{
	static const struct {
		const char *path, *message;
	} cases[] = {
		{"wrapper/bin/python", "is not a Python installation"},
		{"broken/bin/python", "has no absolute 'home'"},
		{"nothing/bin/python", "No such file"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_policy policy;
		KGB_AUTO(free) char *python = kgb_path_join(root, cases[i].path);
		kgb_policy_init(&policy);
		assert_int_equal(kgb_policy_python(&policy, python, &err), -1);
		assert_non_null(strstr(err.msg, cases[i].message));
		kgb_policy_release(&policy);
	}
}

static void test_the_system_python_needs_no_mount(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_policy policy;

	(void)state;
	if (access("/usr/bin/python3", X_OK) < 0)
		skip();
	kgb_policy_init(&policy);
	assert_ok(kgb_policy_python(&policy, "/usr/bin/python3", &err), &err);
	assert_int_equal(policy.mounts.n, 0);
	kgb_policy_release(&policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts_keep_the_order_of_the_calls),
		cmocka_unit_test(test_every_namespace_is_new),
		cmocka_unit_test(test_values_of_the_environment_are_not_in_the_command),
		cmocka_unit_test(test_a_policy_that_cannot_be_right_is_refused),
		cmocka_unit_test(test_a_virtual_environment_brings_its_base),
		cmocka_unit_test(test_an_installation_is_bound_as_a_whole),
		cmocka_unit_test(test_what_is_no_installation_is_refused),
		cmocka_unit_test(test_the_system_python_needs_no_mount),
	};

	return cmocka_run_group_tests_name("policy", tests, make_tree, remove_tree);
}
