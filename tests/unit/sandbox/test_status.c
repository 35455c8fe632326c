/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "sandbox/isolation/status.h"

static void feed(struct kgb_sandbox_status *status, const char *text)
{
	kgb_sandbox_status_feed(status, text, strlen(text));
}

static void test_the_words_of_bwrap_and_launcher_are_understood(void **state)
{
	struct kgb_sandbox_status status;

	(void)state;
	kgb_sandbox_status_init(&status);
	assert_int_equal(status.exit_code, -1);
	assert_int_equal(status.max_rss_bytes, -1);
	feed(&status,
	     "{ \"child-pid\": 7870, \"net-namespace\": 4026532182, \"pid-namespace\": 4026532181 }\n");
	assert_int_equal(status.init_pid, 7870);
	assert_int_equal(status.pidns_inode, 4026532181);
	assert_int_equal(status.exit_code, -1);
	feed(&status, "{ \"exit-code\": 3 }\n");
	assert_int_equal(status.exit_code, 3);
	assert_false(status.tree_empty);
	feed(&status, "{\"tree-empty\":true,\"user-ms\":12,\"sys-ms\":0,\"max-rss-bytes\":4096}\n");
	assert_true(status.tree_empty);
	assert_int_equal(status.user_ms, 12);
	assert_int_equal(status.sys_ms, 0);
	assert_int_equal(status.max_rss_bytes, 4096);
	assert_int_equal(status.init_pid, 7870);
	assert_int_equal(status.n_bad_lines, 0);
	kgb_sandbox_status_release(&status);
}

static void test_limits_and_probes_are_understood(void **state)
{
	struct kgb_sandbox_status status;

	(void)state;
	kgb_sandbox_status_init(&status);
	assert_int_equal(status.cgroup_empty, -1);
	assert_int_equal(status.peak_tasks, -1);
	feed(&status, "{\"limit\":\"processes\",\"limit-value\":300,\"limit-seen\":412}\n");
	feed(&status,
	     "{\"oom-kills\":2,\"peak-memory-bytes\":4096,\"peak-tasks\":412,\"cgroup-empty\":true}\n");
	feed(&status, "{\"probe\":\"network\",\"detail\":\"192.0.2.1:80\",\"count\":3}\n");
	assert_string_equal(status.limit, "processes");
	assert_int_equal(status.limit_value, 300);
	assert_int_equal(status.limit_seen, 412);
	assert_int_equal(status.n_oom_kills, 2);
	assert_int_equal(status.peak_memory_bytes, 4096);
	assert_int_equal(status.peak_tasks, 412);
	assert_int_equal(status.cgroup_empty, 1);
	assert_int_equal(status.n_probes, 1);
	assert_string_equal(status.probes[0].name, "network");
	assert_string_equal(status.probes[0].detail, "192.0.2.1:80");
	assert_int_equal(status.probes[0].count, 3);
	for (int i = 0; i < 2 * KGB_SANDBOX_PROBES_MAX; i++)
		feed(&status, "{\"probe\":\"x\",\"count\":1}\n");
	assert_int_equal(status.n_probes, KGB_SANDBOX_PROBES_MAX);
	kgb_sandbox_status_release(&status);
}

static void test_text_may_come_in_any_pieces(void **state)
{
	static const char text[] = "{ \"child-pid\": 12 }\n{ \"exit-code\": 0 }\n";
	struct kgb_sandbox_status status;

	(void)state;
	kgb_sandbox_status_init(&status);
	for (size_t i = 0; i < strlen(text); i++)
		kgb_sandbox_status_feed(&status, text + i, 1);
	assert_int_equal(status.init_pid, 12);
	assert_int_equal(status.exit_code, 0);
	kgb_sandbox_status_release(&status);
}

static void test_nonsense_is_counted_and_changes_nothing(void **state)
{
	static const struct {
		const char *line;
		int n_bad;
	} cases[] = {
		{"\n", 0},
		{"hello\n", 1},
		{"[1]\n", 1},
		{"{\"child-pid\":\n", 1},
		{"{\"child-pid\": \"12\"}\n", 0},
		{"{\"child-pid\": -5, \"exit-code\": -1, \"user-ms\": -7}\n", 0},
		{"{\"child-pid\": 99999999999, \"exit-code\": 256}\n", 0},
		{"{\"child-pid\": 1.5, \"pid-namespace\": 1e300}\n", 0},
		{"{\"launch-error\": 5}\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_sandbox_status status;
		kgb_sandbox_status_init(&status);
		feed(&status, cases[i].line);
		assert_int_equal(status.n_bad_lines, cases[i].n_bad);
		assert_int_equal(status.init_pid, 0);
		assert_int_equal(status.pidns_inode, 0);
		assert_int_equal(status.exit_code, -1);
		assert_int_equal(status.user_ms, -1);
		assert_string_equal(status.error, "");
		kgb_sandbox_status_release(&status);
	}
}

static void test_a_launch_error_is_kept(void **state)
{
	struct kgb_sandbox_status status;

	(void)state;
	kgb_sandbox_status_init(&status);
	feed(&status,
	     "{\"launch-error\":\"listen on the loopback interface: Address already in use\"}\n");
	assert_string_equal(status.error,
			    "listen on the loopback interface: Address already in use");
	kgb_sandbox_status_release(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_words_of_bwrap_and_launcher_are_understood),
		cmocka_unit_test(test_limits_and_probes_are_understood),
		cmocka_unit_test(test_text_may_come_in_any_pieces),
		cmocka_unit_test(test_nonsense_is_counted_and_changes_nothing),
		cmocka_unit_test(test_a_launch_error_is_kept),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
