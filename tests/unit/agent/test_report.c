/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <fcntl.h>
#include <uv.h>

#include "agent/report/common.h"
#include "agent/report/progress.h"
#include "agent/report/results.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "base/time.h"

#define GOLDEN KGB_TEST_SOURCE_DIR "/tests/fixtures/agent/"

/** Compares with a file; with KGB_TEST_REGENERATE=1 writes it instead. */
static void assert_golden(const char *name, const struct kgb_buf *text)
{
	KGB_AUTO(free) char *path = kgb_xasprintf(GOLDEN "%s", name);
	if (getenv("KGB_TEST_REGENERATE"))
		assert_ok(kgb_fs_write_atomic(AT_FDCWD, path, text->ptr, text->len, 0644, false,
					      err));
	KGB_AUTO(buf) struct kgb_buf expected = KGB_BUF_INIT(0);
	assert_ok(kgb_fs_read(AT_FDCWD, path, 1 << 20, &expected, err));
	assert_string_equal(text->ptr, expected.ptr);
}

static void test_progress_of_the_story_is_as_recorded(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	fold_story(&run, NULL);
	kgb_progress_render(&run, &text);
	assert_golden("progress.json", &text);
}

static void test_results_of_the_story_are_as_recorded(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf journal = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	fold_story(&run, &journal);
	/* The integration tests rebuild this journal with the program. */
	assert_golden("run/journal.jsonl", &journal);
	kgb_results_render(&run, 2, &text);
	assert_golden("results.json", &text);
}

static void test_an_empty_run_has_projections_too(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_progress_render(&run, &text);
	kgb_results_render(&run, 0, &text);
	kgb_results_table(&run, NULL, 80, false, &text);
	assert_non_null(strstr(text.ptr, "0 of 0 passed"));
	assert_int_equal(kgb_results_exit_code(&run), KGB_EXIT_OK);
}

static void test_the_table_is_as_recorded(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	fold_story(&run, NULL);
	kgb_results_table(&run, "/runs/r", 100, false, &text);
	assert_golden("table.txt", &text);
}

static void test_a_run_has_the_mean_of_the_speedups_there_are(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	size_t n = 0;
	fold_story(&run, NULL);
	run.ops[0].verdict.speedup = 4;
	run.ops[3].has_verdict = true;
	run.ops[3].verdict = (struct kgb_verdict_summary){.speedup = 1};
	assert_true(kgb_run_speedup(&run, &n) > 3.999); /* aten::sum has not passed */
	assert_int_equal(n, 1);
	run.ops[3].status = KGB_OP_PASSED;
	double mean = kgb_run_speedup(&run, &n);
	assert_true(mean > 1.999 && mean < 2.001);
	assert_int_equal(n, 2);
	/* A cheat is not fast, whatever its verdict holds. */
	run.ops[2].verdict.speedup = 100;
	assert_true(kgb_run_speedup(&run, &n) < 2.001);
	/* One without a speedup does not count as 1, and the table says why. */
	run.ops[3].verdict = (struct kgb_verdict_summary){.timing_note = "case x UNTRUSTED: \033y"};
	assert_true(kgb_run_speedup(&run, &n) > 3.999);
	kgb_results_table(&run, NULL, 100, false, &text);
	assert_non_null(strstr(text.ptr, "aten::sum: no speedup: case x UNTRUSTED: \\x1by\n"));
	assert_non_null(strstr(text.ptr, "speedup 4x (geometric mean of 1)"));
}

/** Longest line in bytes (the story is ASCII). */
static size_t widest(const char *text)
{
	size_t widest = 0;
	while (*text) {
		size_t len = strcspn(text, "\n");
		widest = len > widest ? len : widest;
		text += len + (text[len] == '\n');
	}
	return widest;
}

static void test_a_narrow_terminal_loses_columns_not_lines(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	fold_story(&run, NULL);
	for (size_t width = 24; width <= 120; width += 8) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_results_table(&run, NULL, width, false, &text);
		/* The table ends at the empty line before the failures. */
		*strstr(text.ptr, "\n\n") = '\0';
		assert_true(widest(text.ptr) <= width);
		assert_non_null(strstr(text.ptr, "aten::sum"));
	}
}

static void test_colours_never_stand_alone(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	fold_story(&run, NULL);
	kgb_results_table(&run, NULL, 100, true, &text);
	assert_non_null(strstr(text.ptr, "\033[32mpassed\033[0m"));
	assert_non_null(strstr(text.ptr, "\033[35mcheated\033[0m"));
}

static void test_an_agents_text_cannot_drive_the_terminal(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	fold_story(&run, NULL);
	run.ops[1].error_message = "a\033[2J\nb";
	kgb_results_table(&run, NULL, 100, false, &text);
	assert_null(strchr(text.ptr, '\033'));
	assert_non_null(strstr(text.ptr, "a\\x1b[2J\\nb"));
}

static void test_text_is_cut_at_columns(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t columns, taken;
		const char *out;
	} cases[] = {
		{"abc", 3, 3, "abc"},
		{"abcd", 3, 3, "ab~"},
		{"", 3, 0, ""},
		{"abc", 0, 0, ""},
		{"abc", 1, 1, "~"},
		{"\xc3\xa4\xc3\xb6", 2, 2, "\xc3\xa4\xc3\xb6"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 3, 3, "\xe6\xbc\xa2~"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 2, 1, "~"},
		{"\xe6\xbc\xa2\xe5\xad\x97", 4, 4, "\xe6\xbc\xa2\xe5\xad\x97"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		assert_int_equal(kgb_report__cut(&out, cases[i].text, cases[i].columns),
				 cases[i].taken);
		assert_string_equal(out.ptr, cases[i].out);
	}
}

static void test_exit_codes_follow_the_state(void **state)
{
	(void)state;
	KGB_AUTO(run_state) struct kgb_run_state run = KGB_RUN_STATE_INIT;
	fold_story(&run, NULL);
	static const struct {
		enum kgb_op_status status[4];
		bool skip_verify;
		int code;
	} cases[] = {
		{{KGB_OP_PASSED, KGB_OP_PASSED, KGB_OP_PASSED, KGB_OP_PASSED}, false, KGB_EXIT_OK},
		{{KGB_OP_PASSED, KGB_OP_PASSED, KGB_OP_FAILED, KGB_OP_PASSED},
		 false,
		 KGB_EXIT_FAILURES},
		{{KGB_OP_PASSED, KGB_OP_PASSED, KGB_OP_GENERATED, KGB_OP_PASSED},
		 false,
		 KGB_EXIT_FAILURES},
		{{KGB_OP_PASSED, KGB_OP_PASSED, KGB_OP_GENERATED, KGB_OP_PASSED},
		 true,
		 KGB_EXIT_OK},
		{{KGB_OP_PASSED, KGB_OP_BUDGET, KGB_OP_PASSED, KGB_OP_PASSED},
		 false,
		 KGB_EXIT_BUDGET},
		{{KGB_OP_INFRA_ERROR, KGB_OP_INFRA_ERROR, KGB_OP_INFRA_ERROR, KGB_OP_INFRA_ERROR},
		 false,
		 KGB_EXIT_ENVIRONMENT},
		{{KGB_OP_INFRA_ERROR, KGB_OP_PASSED, KGB_OP_PASSED, KGB_OP_PASSED},
		 false,
		 KGB_EXIT_FAILURES},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		for (int op = 0; op < 4; op++)
			run.ops[op].status = cases[i].status[op];
		run.skip_verify = cases[i].skip_verify;
		assert_int_equal(kgb_results_exit_code(&run), cases[i].code);
	}
}

/* ---- the live writer ---- */

static void stop_loop(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

static void run_for(uv_loop_t *loop, uint64_t ms)
{
	uv_timer_t timer;
	assert_int_equal(uv_timer_init(loop, &timer), 0);
	assert_int_equal(uv_timer_start(&timer, stop_loop, ms, 0), 0);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(loop, UV_RUN_NOWAIT);
}

static bool progress_says(int dir_fd, const char *part)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	if (kgb_fs_read(dir_fd, KGB_PROGRESS_NAME, 1 << 20, &text, &err) < 0)
		return false;
	return strstr(text.ptr, part) != NULL;
}

static void
test_the_progress_file_follows_within_a_quarter_second_and_the_last_state_is_kept(void **state)
{
	(void)state;
	struct scratch scratch;
	make_scratch(&scratch);
	struct kgb_rundir dir = KGB_RUNDIR_INIT;
	struct kgb_run_log *log = NULL;
	struct kgb_progress *progress = NULL;
	uv_loop_t loop;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_ok(kgb_rundir_create(&dir, scratch.path, "m", "d", err));
	assert_ok(kgb_run_log_open(&log, &dir, err));
	assert_ok(kgb_progress_start(&progress, &loop, log, dir.fd, err));
	const struct kgb_event_run_started start = {.run_name = dir.name};
	const struct kgb_event_plan_item plan[] = {
		{.name = "aten::add", .safe_name = "aten__add", .spec_sha256 = NULL}};
	assert_ok(kgb_event_run_started(log, &start, err));
	assert_false(kgb_fs_exists(dir.fd, KGB_PROGRESS_NAME));
	run_for(&loop, 250);
	assert_true(progress_says(dir.fd, "\"total\": 0"));
	assert_ok(kgb_event_planned(log, plan, 1, err));
	run_for(&loop, 250);
	assert_true(progress_says(dir.fd, "\"total\": 1"));
	kgb_run_log_set_doing(log, "aten::add", "busy");
	kgb_run_log_set_doing(log, "aten::other", "busy");
	run_for(&loop, 250);
	assert_true(progress_says(dir.fd, "\"doing\": \"busy\""));
	kgb_run_log_move_job(log, "aten::add", 1, 0);
	kgb_run_log_move_job(log, "aten::add", -1, 1);
	run_for(&loop, 250);
	assert_true(progress_says(dir.fd, "\"running\": 1\n"));
	kgb_run_log_move_job(log, "aten::add", 0, -1);
	const struct kgb_event_run_finished end = {
		.end = KGB_RUN_FAILED, .exit_code = 4, .message = "disk full"};
	assert_ok(kgb_event_run_finished(log, &end, err));
	assert_ok(kgb_progress_close(progress, err));
	assert_true(progress_says(dir.fd, "\"status\": \"failed\""));
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
	kgb_run_log_close(log);
	kgb_rundir_release(&dir);
	drop_scratch(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress_of_the_story_is_as_recorded),
		cmocka_unit_test(test_results_of_the_story_are_as_recorded),
		cmocka_unit_test(test_an_empty_run_has_projections_too),
		cmocka_unit_test(test_the_table_is_as_recorded),
		cmocka_unit_test(test_a_run_has_the_mean_of_the_speedups_there_are),
		cmocka_unit_test(test_a_narrow_terminal_loses_columns_not_lines),
		cmocka_unit_test(test_colours_never_stand_alone),
		cmocka_unit_test(test_an_agents_text_cannot_drive_the_terminal),
		cmocka_unit_test(test_text_is_cut_at_columns),
		cmocka_unit_test(test_exit_codes_follow_the_state),
		cmocka_unit_test(
			test_the_progress_file_follows_within_a_quarter_second_and_the_last_state_is_kept),
	};
	kgb_log_init("test", KGB_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
