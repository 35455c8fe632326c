/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/base/support.h"
#include "verify/replay/replay.h"

/* A process in the place of kgb-exec. */
static struct kgb_replayer running_replayer(pid_t starter)
{
	struct kgb_replayer replayer = KGB_REPLAYER_INIT;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	replayer.exec.launcher = pid;
	replayer.runs = true;
	replayer.starter = starter;
	return replayer;
}

static void free_lent(struct kgb_replayer *replayer)
{
	struct kgb_replay *replay = kgb_xcalloc(1, sizeof(*replay));

	replay->record_fd = -1;
	replay->replayer = replayer;
	replay->replayer_is_lent = true;
	kgb_replay_free(replay);
}

static void test_a_lane_takes_along_the_exec_that_its_thread_started(KGB_UNUSED void **state)
{
	struct kgb_replayer replayer = running_replayer(gettid());

	free_lent(&replayer);
	assert_false(replayer.runs);
	assert_int_equal(replayer.exec.launcher, 0); /* reaped: the next to need one starts it */
}

static void test_a_lane_leaves_an_exec_of_others_alone(KGB_UNUSED void **state)
{
	struct kgb_replayer replayer = running_replayer(gettid() + 1);
	const pid_t pid = replayer.exec.launcher;

	free_lent(&replayer);
	assert_true(replayer.runs);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kgb_exec_client_stop(&replayer.exec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lane_takes_along_the_exec_that_its_thread_started),
		cmocka_unit_test(test_a_lane_leaves_an_exec_of_others_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
