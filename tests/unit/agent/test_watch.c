/* SPDX-License-Identifier: MIT */
/** \file
 * What is counted of a running agent: sums over rounds, limits on files, and the first broken
 * limit.
 */
#include "agent/watch/disk_watch.h"
#include "agent/watch/round_sums.h"
#include "base/str.h"
#include "tests/unit/agent/agent_test.h"

static void test_only_the_first_broken_limit_is_kept(void **state)
{
	(void)state;
	struct kgb_broken_limit broken = {0};
	kgb_broken_limit_set(&broken, KGB_AGENT_DISK, "disk", 10, 12, "%d bytes", 12);
	kgb_broken_limit_set(&broken, KGB_AGENT_HUNG, "idle_timeout", 1, 2, "silence");
	assert_int_equal(broken.end, KGB_AGENT_DISK);
	assert_string_equal(broken.name, "disk");
	assert_int_equal(broken.limit, 10);
	assert_int_equal(broken.measured, 12);
	assert_string_equal(broken.why, "12 bytes");
}

static void test_the_limits_on_files_are_checked_in_order(void **state)
{
	(void)state;
	static const struct {
		int64_t bytes, files;
		bool is_partial;
		const char *broken; /* NULL: none */
	} cases[] = {
		{100, 10, false, NULL},    {101, 10, false, "disk"},   {101, 11, true, "disk"},
		{100, 11, false, "files"}, {100, 10, true, "nesting"},
	};
	const struct kgb_attempt_limits limits = {.disk_bytes = 100, .n_files = 10};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		const struct kgb_disk_watch disk = {
			.limits = &limits,
			.dir_fd = -1,
			.used = {.total = {cases[i].bytes, cases[i].files, cases[i].is_partial}}};
		struct kgb_broken_limit broken = {0};
		kgb_disk_watch_check(&disk, &broken);
		if (!kgb_str_eq(broken.name, cases[i].broken))
			fail_msg("case %zu: %s", i, broken.name ? broken.name : "none");
	}
}

static void test_one_round_is_its_own_sum(void **state)
{
	(void)state;
	const struct kgb_sandbox_child_result result = {
		.exit_code = 3, .survivors = -1, .wall_ms = 5, .user_ms = -1, .sys_ms = 7};
	const struct kgb_sandbox_status status = {.tree_empty = true, .cgroup_empty = 1};
	const struct kgb_totals totals = {.n_exchanges = 4};
	struct kgb_report report = {.usage = {1, 2, 3, 4}, .n_turns = -1, .cost_nanos = -1};
	struct kgb_round_sums sums;
	kgb_round_sums_init(&sums);
	kgb_round_sums_begin_round(&sums, &report);
	kgb_round_sums_set_round(&sums, &totals);
	kgb_round_sums_end_round(&sums, &status, &result);
	kgb_round_sums_complete(&sums, &report);
	assert_int_equal(sums.totals.n_exchanges, 4);
	assert_int_equal(sums.result.exit_code, 3);
	assert_int_equal(sums.result.survivors, -1);
	assert_int_equal(sums.result.user_ms, -1);
	assert_true(sums.status.tree_empty);
	assert_int_equal(report.usage.input, 1);
	assert_int_equal(report.n_turns, -1);
	assert_int_equal(report.cost_nanos, -1);
}

static void test_rounds_are_added_and_the_worst_stands(void **state)
{
	(void)state;
	static const struct kgb_sandbox_child_result results[] = {
		{.exit_code = 3, .survivors = 2, .killed = true, .wall_ms = 5, .user_ms = -1},
		{.exit_code = 0, .wall_ms = 6, .user_ms = 8, .max_rss_bytes = 9},
	};
	static const struct kgb_sandbox_status statuses[] = {
		{.tree_empty = false, .cgroup_empty = 0, .peak_tasks = 7, .n_oom_kills = 1},
		{.tree_empty = true, .cgroup_empty = 1, .peak_tasks = 4, .n_oom_kills = 2},
	};
	struct kgb_report reports[] = {
		{.usage = {1, 1, 1, 1}, .n_turns = 2, .cost_nanos = 500, .n_events = 3},
		{.usage = {2, 2, -1, 2}, .n_turns = -1, .cost_nanos = -1, .n_events = 4},
	};
	struct kgb_round_sums sums;
	kgb_round_sums_init(&sums);
	for (int i = 0; i < 2; i++) {
		/* The gateway reports the totals of a round again and again. */
		const struct kgb_totals first = {.n_exchanges = 1};
		const struct kgb_totals last = {.n_exchanges = 3 + i};
		kgb_round_sums_begin_round(&sums, &reports[0]);
		kgb_round_sums_set_round(&sums, &first);
		kgb_round_sums_set_round(&sums, &last);
		kgb_round_sums_end_round(&sums, &statuses[i], &results[i]);
	}
	kgb_round_sums_complete(&sums, &reports[1]);
	assert_int_equal(sums.totals.n_exchanges, 7);
	assert_int_equal(sums.earlier.n_exchanges, 3);
	assert_int_equal(sums.round.n_exchanges, 4);
	assert_int_equal(sums.result.exit_code, 0);
	assert_int_equal(sums.result.survivors, 2);
	assert_true(sums.result.killed);
	assert_int_equal(sums.result.wall_ms, 11);
	assert_int_equal(sums.result.user_ms, 8);
	assert_int_equal(sums.result.max_rss_bytes, 9);
	assert_false(sums.status.tree_empty);
	assert_int_equal(sums.status.cgroup_empty, 0);
	assert_int_equal(sums.status.peak_tasks, 7);
	assert_int_equal(sums.status.n_oom_kills, 3);
	assert_int_equal(reports[1].usage.input, 3);
	assert_int_equal(reports[1].usage.cache_creation, 1);
	assert_int_equal(reports[1].n_turns, 2);
	assert_int_equal(reports[1].n_events, 7);
	assert_int_equal(reports[1].cost_nanos, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_first_broken_limit_is_kept),
		cmocka_unit_test(test_the_limits_on_files_are_checked_in_order),
		cmocka_unit_test(test_one_round_is_its_own_sum),
		cmocka_unit_test(test_rounds_are_added_and_the_worst_stands),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
