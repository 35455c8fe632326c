/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include "base/str.h"
#include "base/system/fs.h"
#include "tests/unit/base/support.h"

/* Run fn with stderr in a file; returns what it wrote. */
static void capture(void (*fn)(void), struct kgb_buf *out)
{
	char name[] = "/tmp/kgb-test-log-XXXXXX";
	struct kgb_err err = KGB_ERR_INIT;
	int file = mkostemp(name, O_CLOEXEC);
	int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	assert_true(file >= 0 && saved >= 0);
	dup2(file, STDERR_FILENO);
	fn();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(file);
	int rc = kgb_fs_read(AT_FDCWD, name, 4 << 20, out, &err);
	unlink(name);
	assert_ok(rc, err);
}

static void one_of_each(void)
{
	kgb_error("e %d", 1);
	kgb_warn("w");
	kgb_info("i");
	kgb_verbose("v");
	kgb_log(KGB_LOG_DEBUG, "d");
}

static void test_levels_and_prefixes(void **state)
{
	static const struct {
		enum kgb_log_level level;
		const char *expected;
	} cases[] = {
		{KGB_LOG_ERROR, "prog: error: e 1\n"},
		{KGB_LOG_WARN, "prog: error: e 1\nprog: warning: w\n"},
		{KGB_LOG_INFO, "prog: error: e 1\nprog: warning: w\nprog: i\n"},
		{KGB_LOG_VERBOSE, "prog: error: e 1\nprog: warning: w\nprog: i\nprog: v\n"},
		{KGB_LOG_DEBUG,
		 "prog: error: e 1\nprog: warning: w\nprog: i\nprog: v\nprog: debug: d\n"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_log_init("prog", cases[i].level);
		assert_true(kgb_log_enabled(cases[i].level));
		assert_int_equal(kgb_log_enabled(KGB_LOG_DEBUG), cases[i].level == KGB_LOG_DEBUG);
		capture(one_of_each, &out);
		assert_string_equal(out.ptr, cases[i].expected);
	}
}

static void hostile(void)
{
	kgb_info("a\nb\033[2Jc\xff");
}

static void test_text_cannot_drive_the_terminal(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);

	(void)state;
	kgb_log_init("prog", KGB_LOG_INFO);
	capture(hostile, &out);
	assert_string_equal(out.ptr, "prog: a\\nb\\x1b[2Jc\\xff\n");
}

static void log_nested_error(void)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_fail(&err, KGB_ERR_FAILED, "inner");
	kgb_ctx(&err, "outer");
	kgb_log_err(&err);
}

static void test_errors_show_their_trace_only_when_debugging(void **state)
{
	KGB_AUTO(buf) struct kgb_buf quiet = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf loud = KGB_BUF_INIT(0);

	(void)state;
	kgb_log_init("prog", KGB_LOG_VERBOSE);
	capture(log_nested_error, &quiet);
	assert_string_equal(quiet.ptr, "prog: error: outer: inner\n");
	kgb_log_init("prog", KGB_LOG_DEBUG);
	capture(log_nested_error, &loud);
	assert_true(kgb_str_starts(loud.ptr, quiet.ptr));
	assert_contains(loud.ptr, "prog: debug: at ");
	assert_contains(loud.ptr, "test_log.c:");
}

static void on_before(void *payload)
{
	*(int *)payload += 1;
	dprintf(STDERR_FILENO, "(");
}

static void on_after(void *payload)
{
	*(int *)payload += 10;
	dprintf(STDERR_FILENO, ")");
}

static void test_hooks_surround_each_line(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	int calls = 0;

	(void)state;
	kgb_log_init("prog", KGB_LOG_WARN);
	kgb_log_set_hook(on_before, on_after, &calls);
	capture(one_of_each, &out);
	kgb_log_set_hook(NULL, NULL, NULL);
	assert_int_equal(calls, 22);
	assert_string_equal(out.ptr, "(prog: error: e 1\n)(prog: warning: w\n)");
}

static void very_long(void)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	for (int i = 0; i < 1000000; i++)
		kgb_buf_addc(&text, '\033');
	kgb_info("%s", text.ptr);
}

static void test_very_long_messages_are_cut(void **state)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);

	(void)state;
	kgb_log_init("prog", KGB_LOG_INFO);
	capture(very_long, &out);
	assert_true(out.len <= 1 << 20);
	assert_true(kgb_str_ends(out.ptr, "\\x1b...\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels_and_prefixes),
		cmocka_unit_test(test_text_cannot_drive_the_terminal),
		cmocka_unit_test(test_errors_show_their_trace_only_when_debugging),
		cmocka_unit_test(test_hooks_surround_each_line),
		cmocka_unit_test(test_very_long_messages_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
