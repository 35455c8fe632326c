/* SPDX-License-Identifier: MIT */
/* What kgb-exec says where the driver is missing, too old, or without a GPU: stand-ins for it lie
 * in directories beside this program. */
#include <sys/socket.h>

#include "base/system/fs.h"
#include "tests/unit/base/support.h"
#include "verify/process/exec_client.h"

enum { OPEN_MS = 20 * 1000 };

static enum kgb_exec_outcome open_with(const char *libraries, const char *pretends,
				       struct kgb_exec_client *exec, struct kgb_err *err)
{
	KGB_AUTO(free) char *self = kgb_path_self_dir();
	KGB_AUTO(free) char *path = kgb_path_join(self, libraries);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(pair[1], KGB_EXEC_FD);
		(void)setenv("LD_LIBRARY_PATH", path, 1);
		(void)setenv("FAKE_CUDA", pretends, 1);
		(void)execl(KGB_TEST_BIN_DIR "/kgb-exec", "kgb-exec", (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	return kgb_exec_client_adopt(exec, pid, pair[0], 0, OPEN_MS, err);
}

static void test_a_bad_driver_is_named(void **state)
{
	static const struct {
		const char *libraries, *pretends;
		const char *message;
	} cases[] = {
		{"fake_old", "", "libcuda.so.1: the driver is for CUDA 11.4, 12.8 is needed"},
		{"fake", "none", "start CUDA: CUDA_ERROR_NO_DEVICE"},
		{"fake", "broken", "start CUDA: CUDA_ERROR_UNKNOWN"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_exec_client exec;
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(open_with(cases[i].libraries, cases[i].pretends, &exec, &err),
				 KGB_EXEC_NO_GPU);
		assert_int_equal(err.kind, KGB_ERR_UNAVAILABLE);
		assert_contains(err.msg, cases[i].message);
		assert_int_equal(exec.process.launcher, 0); /* it is gone */
	}
}

static void test_a_good_one_is_opened(void **state)
{
	struct kgb_exec_client exec;
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	if (open_with("fake", "", &exec, &err) != KGB_EXEC_DONE)
		fail_msg("%s", err.msg);
	assert_string_equal(exec.machine.pci, "0000:0f:00.0");
	assert_string_equal(exec.machine.driver, "999.1");
	assert_int_equal(exec.machine.sm_mhz, 1500);
	assert_true(exec.machine.free_bytes > 0);
	kgb_exec_client_stop(&exec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bad_driver_is_named),
		cmocka_unit_test(test_a_good_one_is_opened),
	};

	return cmocka_run_group_tests_name("bad_drivers", tests, NULL, NULL);
}
