/* SPDX-License-Identifier: MIT */
#include "base/system/fs.h"
#include "tests/unit/base/support.h"

static int teardown(void **state)
{
	struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	int rc = kgb_fs_remove_tree(AT_FDCWD, dir->path, &err);

	close(dir->fd);
	kgb_free(dir);
	return rc;
}

static void test_a_tree_goes_and_its_neighbours_stay(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_mkdirs(dir->fd, "t/a/b/c", 0755, &err), err);
	assert_ok(kgb_fs_mkdirs(dir->fd, "t/a/d", 0755, &err), err);
	for (int i = 0; i < 300; i++) {
		char name[32];
		snprintf(name, sizeof(name), "t/a/b/f%d", i);
		put_file(dir->fd, name, "x");
	}
	put_file(dir->fd, "stay", "x");
	assert_int_equal(mkfifoat(dir->fd, "t/p", 0644), 0);
	assert_ok(kgb_fs_remove_tree(dir->fd, "t", &err), err);
	assert_false(kgb_fs_exists(dir->fd, "t"));
	assert_int_equal(count_entries(dir->fd, "."), 1);
}

static void test_links_are_removed_not_followed(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_fs_mkdirs(dir->fd, "outside/keep", 0755, &err), err);
	put_file(dir->fd, "outside/f", "x");
	assert_ok(kgb_fs_mkdirs(dir->fd, "t/sub", 0755, &err), err);
	assert_int_equal(symlinkat("../../outside", dir->fd, "t/sub/up"), 0);
	assert_int_equal(symlinkat("../outside", dir->fd, "t/up"), 0);
	assert_int_equal(symlinkat("outside", dir->fd, "link"), 0);
	assert_ok(kgb_fs_remove_tree(dir->fd, "t", &err), err);
	assert_ok(kgb_fs_remove_tree(dir->fd, "link", &err), err);
	assert_false(kgb_fs_exists(dir->fd, "link"));
	assert_true(kgb_fs_exists(dir->fd, "outside/f"));
	assert_true(kgb_fs_exists(dir->fd, "outside/keep"));
}

static void test_files_and_absent_names_are_fine(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	put_file(dir->fd, "f", "x");
	assert_ok(kgb_fs_remove_tree(dir->fd, "f", &err), err);
	assert_ok(kgb_fs_remove_tree(dir->fd, "f", &err), err);
	assert_ok(kgb_fs_remove_tree(dir->fd, "no/such", &err), err);
	assert_int_equal(count_entries(dir->fd, "."), 0);
}

/* More levels than descriptors, and a path longer than the kernel takes. */
static void test_a_tree_deeper_than_any_path(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const int levels = 3000;

	assert_int_equal(mkdirat(dir->fd, "t", 0755), 0);
	int at = openat(dir->fd, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < levels; i++) {
		assert_int_equal(mkdirat(at, "directory", 0755), 0);
		int next = openat(at, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	put_file(at, "f", "x");
	close(at);
	assert_ok(kgb_fs_remove_tree(dir->fd, "t", &err), err);
	assert_false(kgb_fs_exists(dir->fd, "t"));
}

/* As an ordinary user: root may do everything. */
static void become_user(void)
{
	if (geteuid() == 0 &&
	    (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		_exit(99);
}

static void remove_locked(void *payload)
{
	const struct tmpdir *dir = payload;
	struct kgb_err err = KGB_ERR_INIT;

	become_user();
	if (kgb_fs_mkdirs(dir->fd, "t/locked/inner/deep", 0755, &err) < 0)
		_exit(98);
	put_file(dir->fd, "t/locked/inner/f", "x");
	if (fchmodat(dir->fd, "t/locked/inner/deep", 0, 0) < 0 ||
	    fchmodat(dir->fd, "t/locked/inner", 0400, 0) < 0 ||
	    fchmodat(dir->fd, "t/locked", 0555, 0) < 0 || fchmodat(dir->fd, "t", 0, 0) < 0)
		_exit(97);
	if (kgb_fs_remove_tree(dir->fd, "t", &err) < 0)
		_exit(96);
	_exit(kgb_fs_exists(dir->fd, "t") ? 95 : 0);
}

static void test_directories_without_permissions_are_opened_first(void **state)
{
	assert_int_equal(run_in_child(remove_locked, *state), 0);
}

static void remove_foreign(void *payload)
{
	const struct tmpdir *dir = payload;
	struct kgb_err err = KGB_ERR_INIT;

	become_user();
	if (kgb_fs_remove_tree(dir->fd, "t", &err) == 0)
		_exit(1);
	_exit(err.kind == KGB_ERR_DENIED && strncmp(err.msg, "remove 't': entry 'f'", 21) == 0 ? 0
											       : 2);
}

static void test_what_belongs_to_others_is_an_error_that_names_it(void **state)
{
	const struct tmpdir *dir = *state;
	struct kgb_err err = KGB_ERR_INIT;

	if (geteuid() != 0)
		skip();
	assert_ok(kgb_fs_mkdirs(dir->fd, "t", 0755, &err), err);
	put_file(dir->fd, "t/f", "x");
	assert_int_equal(run_in_child(remove_foreign, *state), 0);
	assert_true(kgb_fs_exists(dir->fd, "t/f"));
}

#define remove_test(f) cmocka_unit_test_setup_teardown(f, tmpdir_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		remove_test(test_a_tree_goes_and_its_neighbours_stay),
		remove_test(test_links_are_removed_not_followed),
		remove_test(test_files_and_absent_names_are_fine),
		remove_test(test_a_tree_deeper_than_any_path),
		remove_test(test_directories_without_permissions_are_opened_first),
		remove_test(test_what_belongs_to_others_is_an_error_that_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
