/* SPDX-License-Identifier: MIT */
#include "tests/unit/agent/agent_test.h"

#include <signal.h>
#include <unistd.h>

#include "agent/config/env.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/proc.h"
#include "base/time.h"

static const char *const environment[] = {"PATH=/usr/bin:/bin", "GREETING=hello", NULL};

/** Run a line of shell and capture from `fd`. */
static int run(const char *line, int fd, size_t limit, int64_t timeout_ms, struct kgb_buf *out,
	       struct kgb_proc_end *end, struct kgb_err *err)
{
	const char *const argv[] = {"/bin/sh", "-c", line, NULL};
	const struct kgb_proc_spec spec = {.argv = argv,
					   .env = environment,
					   .capture_fd = fd,
					   .limit = limit,
					   .timeout_ms = timeout_ms,
					   .quiet = true};
	return kgb_proc_run(&spec, out, end, err);
}

static void test_output_and_status_are_captured(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		int fd, exit_code, term_signal;
		const char *out;
	} cases[] = {
		{"echo $GREETING; exit 3", 1, 3, 0, "hello\n"},
		{"echo data >&3; echo noise >&2", 3, 0, 0, "data\n"},
		{"cat; kill -KILL $$", 1, -1, SIGKILL, ""}, /* stdin is empty */
		{"[ -z \"$HOME\" ] && echo bare", 1, 0, 0, "bare\n"},
		{"ls /proc/self/fd | wc -l", 1, 0, 0, "4\n"}, /* 0, 1, 2 and the directory itself */
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		struct kgb_proc_end end = {0};
		assert_ok(run(cases[i].line, cases[i].fd, 1000, 10000, &out, &end, err));
		assert_string_equal(out.ptr, cases[i].out);
		assert_int_equal(end.exit_code, cases[i].exit_code);
		assert_int_equal(end.term_signal, cases[i].term_signal);
		assert_int_equal(end.interrupted, 0);
	}
}

static void test_what_cannot_be_started_is_an_error(void **state)
{
	(void)state;
	const char *const argv[] = {"/nonexistent/program", NULL};
	const struct kgb_proc_spec spec = {
		.argv = argv, .env = environment, .capture_fd = 1, .timeout_ms = 1000};
	struct kgb_proc_end end;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	assert_fails(kgb_proc_run(&spec, &out, &end, err), KGB_ERR_NOT_FOUND,
		     "start '/nonexistent/program'");
}

/** Run what never ends until its time is over; it has said something before that, however slow the
 * machine is. */
static void run_too_long(const char *line, struct kgb_buf *out, struct kgb_proc_end *end)
{
	for (int64_t timeout_ms = 500; out->len == 0; timeout_ms *= 4) {
		assert_true(timeout_ms < 100000);
		assert_fails(run(line, 1, 1000, timeout_ms, out, end, err), KGB_ERR_TIMEOUT,
			     "in time");
	}
}

static void test_a_child_that_does_not_end_is_ended_with_its_group(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_proc_end end = {0};
	run_too_long("sleep 100 & echo $!; wait", &out, &end);
	assert_int_equal(end.term_signal, SIGTERM);
	int64_t helper = 0;
	struct kgb_err problem = KGB_ERR_INIT;
	kgb_buf_truncate(&out, strcspn(out.ptr, "\n"));
	assert_int_equal(kgb_parse_i64(out.ptr, 2, 1 << 30, &helper, &problem), 0);
	/* Killed, but whoever adopts it may not have reaped it yet. */
	KGB_AUTO(free) char *path = kgb_xasprintf("/proc/%d/cmdline", (int)helper);
	FILE *file = fopen(path, "re");
	assert_true(!file || fgetc(file) == EOF);
	if (file)
		fclose(file);
}

static void test_a_child_deaf_to_term_is_killed(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_proc_end end = {0};
	run_too_long("trap '' TERM; echo deaf; while :; do sleep 0.1; done", &out, &end);
	assert_int_equal(end.term_signal, SIGKILL);
}

static void test_a_flood_is_cut_off(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_proc_end end;
	assert_fails(run("yes", 1, 100000, 20000, &out, &end, err), KGB_ERR_LIMIT,
		     "more than 100000 bytes");
	assert_true(out.len <= 100000);
}

/** A grandchild in the background holds the pipe: it is not waited for longer than the grace time.
 */
static void test_a_helper_left_behind_does_not_hold_us_up(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_proc_end end;
	int64_t start_ms = kgb_mono_ms();
	assert_ok(run("setsid sleep 30 & echo done", 1, 1000, 20000, &out, &end, err));
	assert_true(kgb_mono_ms() - start_ms < 15000);
	assert_string_equal(out.ptr, "done\n");
	assert_int_equal(end.exit_code, 0);
}

static void test_an_interrupt_ends_the_child_and_is_told(void **state)
{
	(void)state;
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_proc_end end = {0};
	KGB_AUTO(free) char *line = kgb_xasprintf("kill -INT %ld; sleep 100", (long)getpid());
	int64_t start_ms = kgb_mono_ms();
	assert_ok(run(line, 1, 1000, 20000, &out, &end, err));
	assert_true(kgb_mono_ms() - start_ms < 15000);
	assert_int_equal(end.interrupted, SIGINT);
	assert_int_equal(end.term_signal, SIGTERM);
}

static void test_keys_do_not_reach_children(void **state)
{
	(void)state;
	setenv("ANTHROPIC_API_KEY", "secret", 1);
	KGB_AUTO(strv) struct kgb_strv env = KGB_STRV_INIT;
	kgb_child_env(&env);
	for (size_t i = 0; i < env.n; i++)
		assert_null(strstr(env.items[i], "secret"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_and_status_are_captured),
		cmocka_unit_test(test_what_cannot_be_started_is_an_error),
		cmocka_unit_test(test_a_child_that_does_not_end_is_ended_with_its_group),
		cmocka_unit_test(test_a_child_deaf_to_term_is_killed),
		cmocka_unit_test(test_a_flood_is_cut_off),
		cmocka_unit_test(test_a_helper_left_behind_does_not_hold_us_up),
		cmocka_unit_test(test_an_interrupt_ends_the_child_and_is_told),
		cmocka_unit_test(test_keys_do_not_reach_children),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
