/* SPDX-License-Identifier: MIT */
#include "base/system/spare_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "base/system/fs.h"
#include "tests/unit/base/support.h"

/* Take every descriptor that is left below the limit. */
static void use_up(void)
{
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	assert_int_equal(errno, EMFILE);
}

static void close_some(void)
{
	for (int fd = 40; fd < 64; fd++)
		kgb_close(fd);
}

static void test_files_work_at_the_limit_only_with_spare_descriptors(void **state)
{
	(void)state;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(100);
	const struct rlimit limit = {64, 64};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	const char *path = "/proc/self/comm";

	use_up();
	assert_int_equal(kgb_fs_read(AT_FDCWD, path, 100, &text, &err), -1);
	assert_true(kgb_err_is_shortage(&err));

	close_some();
	kgb_spare_fds_hold();
	use_up();
	for (int i = 0; i < 100; i++)
		assert_int_equal(kgb_fs_read(AT_FDCWD, path, 100, &text, &err), 0);
	/* Nothing leaks out of the loans, and the spare descriptors are held again. */
	assert_int_equal(open("/dev/null", O_RDONLY), -1);
}

static void test_loans_nest(void **state)
{
	(void)state;
	KGB_BORROW_SPARE_FDS;
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(100);
	assert_int_equal(kgb_fs_read(AT_FDCWD, "/proc/self/comm", 100, &text, &err), 0);
	KGB_AUTO(fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
}

static void test_another_may_take_them_meanwhile(void **state)
{
	(void)state;
	{
		KGB_BORROW_SPARE_FDS;
		use_up();
	}
	struct kgb_err err = KGB_ERR_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(100);
	assert_int_equal(kgb_fs_read(AT_FDCWD, "/proc/self/comm", 100, &text, &err), -1);
	/* They come back when descriptors are free again. */
	close_some();
	assert_int_equal(kgb_fs_read(AT_FDCWD, "/proc/self/comm", 100, &text, &err), 0);
	use_up();
	assert_int_equal(kgb_fs_read(AT_FDCWD, "/proc/self/comm", 100, &text, &err), 0);
	close_some(); /* the leak checker opens files at the end */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_work_at_the_limit_only_with_spare_descriptors),
		cmocka_unit_test(test_loans_nest),
		cmocka_unit_test(test_another_may_take_them_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
