/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/fs.h"
#include "sandbox/isolation/disk.h"

static char dir[] = "/tmp/kgb-disk.XXXXXX";
static int dir_fd = -1;

static void write_file(int at, const char *name, size_t bytes)
{
	static char block[1 << 20];
	int fd = openat(at, name, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	memset(block, 'x', sizeof(block));
	assert_int_equal(write(fd, block, bytes), bytes);
	assert_int_equal(close(fd), 0);
}

static struct kgb_disk_usage usage(const char *name)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_disk_usage out = {0};

	assert_int_equal(kgb_disk_usage_add(dir_fd, name, &out, &err), 0);
	return out;
}

static void test_what_is_there_counts(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(dir_fd, "a", 0700), 0);
	assert_int_equal(mkdirat(dir_fd, "a/b", 0700), 0);
	write_file(dir_fd, "a/x", 100000);
	write_file(dir_fd, "a/b/y", 300000);
	struct kgb_disk_usage out = usage("a");
	assert_int_equal(out.files, 3);
	assert_in_range(out.bytes, 400000, 450000);
	assert_false(out.is_partial);
}

static void test_holes_take_nothing_and_names_share_a_file(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(dir_fd, "h", 0700), 0);
	int fd = openat(dir_fd, "h/sparse", O_CREAT | O_WRONLY, 0600);
	assert_int_equal(ftruncate(fd, INT64_C(1) << 33), 0);
	assert_int_equal(close(fd), 0);
	write_file(dir_fd, "h/one", 400000);
	assert_int_equal(linkat(dir_fd, "h/one", dir_fd, "h/two", 0), 0);
	struct kgb_disk_usage out = usage("h");
	assert_int_equal(out.files, 3);
	assert_in_range(out.bytes, 400000, 450000);
}

static void test_links_lead_nowhere(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_disk_usage out = {0};

	(void)state;
	assert_int_equal(mkdirat(dir_fd, "l", 0700), 0);
	assert_int_equal(symlinkat("/usr", dir_fd, "l/usr"), 0);
	assert_int_equal(symlinkat(".", dir_fd, "l/self"), 0);
	assert_int_equal(usage("l").files, 2);
	assert_int_equal(symlinkat("/usr", dir_fd, "link"), 0);
	assert_int_equal(kgb_disk_usage_add(dir_fd, "link", &out, &err), -1);
	assert_int_equal(kgb_disk_usage_add(dir_fd, "nothing", &out, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
}

static void test_a_locked_directory_is_looked_into(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(dir_fd, "k", 0700), 0);
	assert_int_equal(mkdirat(dir_fd, "k/locked", 0700), 0);
	write_file(dir_fd, "k/locked/x", 200000);
	assert_int_equal(fchmodat(dir_fd, "k/locked", 0, 0), 0);
	struct kgb_disk_usage out = usage("k");
	assert_int_equal(out.files, 2);
	assert_true(out.bytes >= 200000);
	assert_false(out.is_partial);
}

static void test_depth_is_no_hiding_place(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(dir_fd, "d", 0700), 0);
	int fd = openat(dir_fd, "d", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 500; i++) {
		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		int below = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		(void)close(fd);
		fd = below;
	}
	write_file(fd, "x", 500000);
	(void)close(fd);
	struct kgb_disk_usage out = usage("d");
	assert_int_equal(out.files, 501);
	assert_true(out.bytes >= 500000);
	assert_false(out.is_partial);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	(void)close(dir_fd);
	return kgb_fs_remove_tree(AT_FDCWD, dir, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_there_counts),
		cmocka_unit_test(test_holes_take_nothing_and_names_share_a_file),
		cmocka_unit_test(test_links_lead_nowhere),
		cmocka_unit_test(test_a_locked_directory_is_looked_into),
		cmocka_unit_test(test_depth_is_no_hiding_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
