/* SPDX-License-Identifier: MIT */
#include "agent/watch/processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "tests/unit/agent/agent_test.h"

/* One look serves all who come soon after it; who asks for none of before gets a new one. */
static void test_a_look_is_shared_until_it_is_too_old(void **state)
{
	struct kgb_processes processes = {0};
	struct kgb_proc_tree tree = KGB_TREE_INIT;
	int64_t start_ms = kgb_mono_ms();
	int64_t first_ms = -1;
	int64_t taken_ms = -1;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			(void)pause();
	}
	assert_true(child > 0);
	assert_int_equal(kgb_processes_below(&processes, INT64_MAX, getpid(), &tree, &first_ms), 0);
	assert_true(first_ms >= start_ms && first_ms <= kgb_mono_ms());
	assert_int_equal(tree.n, 1);
	assert_int_equal(tree.items[0].pid, child);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(kgb_processes_below(&processes, INT64_MAX, getpid(), &tree, &taken_ms), 0);
	assert_int_equal(taken_ms, first_ms);
	assert_int_equal(tree.n, 1);
	assert_int_equal(kgb_processes_below(&processes, 0, getpid(), &tree, &taken_ms), 0);
	assert_true(taken_ms >= first_ms);
	assert_int_equal(tree.n, 0);
	kgb_proc_tree_release(&tree);
	kgb_processes_release(&processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_look_is_shared_until_it_is_too_old),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
