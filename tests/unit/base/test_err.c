/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/str.h"
#include "tests/unit/base/support.h"

static void test_fail_fills_everything_and_returns_minus_one(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(kgb_fail(&err, KGB_ERR_LIMIT, "buffer over %d bytes", 7), -1);
	assert_int_equal(err.domain, KGB_ERR_DOMAIN_KGB);
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	assert_int_equal(err.depth, 1);
	assert_contains(err.trace[0].file, "test_err.c");
	assert_true(err.trace[0].line > 0);
	assert_string_equal(err.msg, "buffer over 7 bytes");
}

static void test_errno_values_become_kinds_and_text(void **state)
{
	static const struct {
		int code;
		enum kgb_err_kind kind;
		const char *msg;
	} cases[] = {
		{ENOENT, KGB_ERR_NOT_FOUND, "open 'x': No such file or directory"},
		{EACCES, KGB_ERR_DENIED, "open 'x': Permission denied"},
		{EPERM, KGB_ERR_DENIED, "open 'x': Operation not permitted"},
		{ENOSPC, KGB_ERR_LIMIT, "open 'x': No space left on device"},
		{EDQUOT, KGB_ERR_LIMIT, "open 'x': Disk quota exceeded"},
		{ETIMEDOUT, KGB_ERR_TIMEOUT, "open 'x': Connection timed out"},
		{EIO, KGB_ERR_FAILED, "open 'x': Input/output error"},
		{99999, KGB_ERR_FAILED, "open 'x': unknown system error"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		assert_int_equal(kgb_fail_errno(&err, cases[i].code, "open '%s'", "x"), -1);
		assert_int_equal(err.kind, cases[i].kind);
		assert_int_equal(err.code, cases[i].code);
		assert_int_equal(err.domain, KGB_ERR_DOMAIN_ERRNO);
		assert_string_equal(err.msg, cases[i].msg);
	}
}

static void test_library_codes_are_kept(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	assert_int_equal(
		kgb_fail_code(&err, KGB_ERR_DOMAIN_CURL, KGB_ERR_TIMEOUT, 28, "slow %s", "host"),
		-1);
	assert_int_equal(err.domain, KGB_ERR_DOMAIN_CURL);
	assert_int_equal(err.kind, KGB_ERR_TIMEOUT);
	assert_int_equal(err.code, 28);
	assert_string_equal(err.msg, "slow host");
}

static void test_context_goes_in_front_and_keeps_the_rest(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	kgb_fail_errno(&err, ENOENT, "open 'k.py'");
	assert_int_equal(kgb_ctx(&err, "attempt %d", 3), -1);
	assert_string_equal(err.msg, "attempt 3: open 'k.py': No such file or directory");
	assert_int_equal(err.kind, KGB_ERR_NOT_FOUND);
	assert_int_equal(err.code, ENOENT);
	assert_int_equal(err.depth, 2);
}

static void test_trace_stops_when_full(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	kgb_fail(&err, KGB_ERR_FAILED, "x");
	for (int i = 0; i < 20; i++)
		kgb_ctx(&err, "c");
	assert_int_equal(err.depth, KGB_ARRAY_LEN(err.trace));
}

static void test_failing_again_starts_a_new_trace(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	kgb_fail(&err, KGB_ERR_FAILED, "first");
	kgb_ctx(&err, "c");
	kgb_fail(&err, KGB_ERR_DENIED, "second");
	assert_int_equal(err.depth, 1);
	assert_string_equal(err.msg, "second");
}

static void test_a_message_may_quote_the_one_it_replaces(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;

	(void)state;
	kgb_fail(&err, KGB_ERR_FAILED, "inner");
	kgb_fail(&err, KGB_ERR_INVALID, "outer: %s", err.msg);
	assert_string_equal(err.msg, "outer: inner");
}

static void test_long_messages_end_in_dots_at_a_character(void **state)
{
	/* Every offset of a three-byte character against the end of the buffer. */
	(void)state;
	for (int shift = 0; shift < 3; shift++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		for (int i = 0; i < shift; i++)
			kgb_buf_addc(&text, 'a');
		for (int i = 0; i < 300; i++)
			kgb_buf_adds(&text, "\xe2\x82\xac");
		kgb_fail(&err, KGB_ERR_FAILED, "%s", text.ptr);
		size_t len = strlen(err.msg);
		assert_true(len < sizeof(err.msg) && len > sizeof(err.msg) - 8);
		assert_true(kgb_str_ends(err.msg, "..."));
		assert_int_equal(kgb_utf8_valid(err.msg, len), len);
	}
}

static void test_a_message_that_just_fits_is_not_cut(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	char text[sizeof(err.msg)];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	kgb_fail(&err, KGB_ERR_FAILED, "%s", text);
	assert_string_equal(err.msg, text);
}

static void test_a_message_one_byte_too_long_is_cut(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	char text[sizeof(err.msg) + 1];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(err.msg)] = '\0';
	kgb_fail(&err, KGB_ERR_FAILED, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_true(kgb_str_ends(err.msg, "x..."));
}

static void test_null_errors_are_accepted(void **state)
{
	(void)state;
	assert_int_equal(kgb_fail(NULL, KGB_ERR_FAILED, "x"), -1);
	assert_int_equal(kgb_fail_errno(NULL, EIO, "x"), -1);
	assert_int_equal(kgb_fail_code(NULL, KGB_ERR_DOMAIN_UV, KGB_ERR_FAILED, 1, "x"), -1);
	assert_int_equal(kgb_ctx(NULL, "x"), -1);
}

static void test_every_kind_has_a_name(void **state)
{
	(void)state;
	for (int kind = KGB_ERR_FAILED; kind <= KGB_ERR_BUSY; kind++) {
		const char *name = kgb_err_kind_name((enum kgb_err_kind)kind);
		assert_non_null(name);
		assert_string_not_equal(name, "unknown");
	}
	assert_string_equal(kgb_err_kind_name(KGB_ERR_NOT_FOUND), "not_found");
	assert_string_equal(kgb_err_kind_name((enum kgb_err_kind)99), "unknown");
}

static void break_invariant(void *payload)
{
	KGB_ASSERT(payload != NULL);
}

static void test_assertions_abort(void **state)
{
	(void)state;
	assert_aborts(break_invariant, NULL);
	assert_int_equal(run_in_child(break_invariant, &state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fail_fills_everything_and_returns_minus_one),
		cmocka_unit_test(test_errno_values_become_kinds_and_text),
		cmocka_unit_test(test_library_codes_are_kept),
		cmocka_unit_test(test_context_goes_in_front_and_keeps_the_rest),
		cmocka_unit_test(test_trace_stops_when_full),
		cmocka_unit_test(test_failing_again_starts_a_new_trace),
		cmocka_unit_test(test_a_message_may_quote_the_one_it_replaces),
		cmocka_unit_test(test_long_messages_end_in_dots_at_a_character),
		cmocka_unit_test(test_a_message_that_just_fits_is_not_cut),
		cmocka_unit_test(test_a_message_one_byte_too_long_is_cut),
		cmocka_unit_test(test_null_errors_are_accepted),
		cmocka_unit_test(test_every_kind_has_a_name),
		cmocka_unit_test(test_assertions_abort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
