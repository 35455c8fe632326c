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
	replayer.exec.process.launcher = pid;
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
	assert_int_equal(replayer.exec.process.launcher,
			 0); /* reaped: the next to need one starts it */
}

static void test_a_lane_leaves_an_exec_of_others_alone(KGB_UNUSED void **state)
{
	struct kgb_replayer replayer = running_replayer(gettid() + 1);
	const pid_t pid = replayer.exec.process.launcher;

	free_lent(&replayer);
	assert_true(replayer.runs);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	kgb_exec_client_stop(&replayer.exec);
}

/* --- what a run on the CPU ended with --- */

static const struct {
	enum kgb_exec_outcome outcome;
	enum kgb_exec_fault fault;
	enum kgb_code code;
} explained[] = {
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_ACCESS, KGB_CODE_VERIFY_OUT_OF_BOUNDS},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_ALIGNMENT, KGB_CODE_VERIFY_OUT_OF_BOUNDS},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_CLAIM, KGB_CODE_VERIFY_RECORD},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_RACE, KGB_CODE_VERIFY_RACE},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_INDEX, KGB_CODE_VERIFY_OUT_OF_BOUNDS},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_ASSERT, KGB_CODE_VERIFY_EXCEPTION},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_FUEL, KGB_CODE_VERIFY_TIMEOUT},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_HINT, KGB_CODE_VERIFY_OUT_OF_BOUNDS},
	{KGB_EXEC_BROKE_RULE, KGB_EXEC_FAULT_INPUT, KGB_CODE_VERIFY_MUTATION},
	{KGB_EXEC_UNKNOWN_OPERATION, KGB_EXEC_FAULT_NONE, KGB_CODE_INFRA_UNSUPPORTED_OP},
};

static void test_the_fault_of_a_kernel_on_the_cpu_has_a_code(KGB_UNUSED void **state)
{
	struct kgb_replayer replayer = KGB_REPLAYER_INIT;
	struct kgb_replay replay = {.replayer = &replayer, .uses = &replayer};
	struct kgb_verdict verdict = {.arena = KGB_ARENA_INIT};
	struct kgb_lane lane = {.replay = &replay, .verdict = &verdict};

	replayer.runs = true;
	for (size_t i = 0; i < KGB_ARRAY_LEN(explained); i++) {
		struct kgb_failure failure = {0};
		struct kgb_err err = KGB_ERR_INIT;
		(void)kgb_fail(&err, KGB_ERR_FAILED, "kernel.py:7: why");
		replayer.exec.reply.device_error = explained[i].fault;
		assert_int_equal(kgb_replay_explain(&lane, explained[i].outcome, &failure, &err),
				 1);
		assert_int_equal(failure.code, explained[i].code);
		assert_contains(failure.message, "kernel.py:7: why");
		assert_true(replayer.runs); /* the process goes on */
	}
	kgb_arena_release(&verdict.arena);
}

/* The recorded call of a benchmark leaves all in the runner; a replay of it is examined. */
static void test_a_replay_brings_back_what_the_recorded_call_did_not(KGB_UNUSED void **state)
{
	struct kgb_replay_case *rcase = kgb_xcalloc(1, sizeof(*rcase));

	rcase->call.without_arena = rcase->call.without_values = true;
	rcase->call.arena_bytes = 77;
	rcase->call.values[0] = rcase;
	const struct kgb_candidate_call call = kgb_replay_call(rcase);
	assert_false(call.without_arena || call.without_values);
	assert_int_equal(call.arena_bytes, 77);
	assert_null(call.values[0]);
	kgb_free(rcase);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_replay_brings_back_what_the_recorded_call_did_not),
		cmocka_unit_test(test_the_fault_of_a_kernel_on_the_cpu_has_a_code),
		cmocka_unit_test(test_a_lane_takes_along_the_exec_that_its_thread_started),
		cmocka_unit_test(test_a_lane_leaves_an_exec_of_others_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
