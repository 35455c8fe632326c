/* SPDX-License-Identifier: MIT */
#include "tests/unit/base/support.h"

static void test_an_empty_buffer_is_an_empty_string(void **state)
{
	struct kgb_buf buf = KGB_BUF_INIT(10);

	(void)state;
	assert_string_equal(buf.ptr, "");
	kgb_buf_clear(&buf);
	kgb_buf_truncate(&buf, 0);
	kgb_buf_consume(&buf, 0);
	assert_int_equal(kgb_buf_add(&buf, NULL, 0), 0);
	assert_string_equal(buf.ptr, "");
	KGB_AUTO(free) char *taken = kgb_buf_take(&buf);
	assert_string_equal(taken, "");
	kgb_buf_release(&buf);
	kgb_buf_release(&buf);
}

static void test_pieces_are_joined_and_terminated(void **state)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);

	(void)state;
	kgb_buf_adds(&buf, "ab");
	kgb_buf_addc(&buf, '\0');
	kgb_buf_addf(&buf, "%d", 12);
	assert_int_equal(buf.len, 5);
	assert_memory_equal(buf.ptr,
			    "ab\0"
			    "12",
			    6);
}

static void test_growth_keeps_the_contents(void **state)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);

	(void)state;
	for (int i = 0; i < 100000; i++)
		kgb_buf_addc(&buf, (char)('a' + i % 26));
	assert_int_equal(buf.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf.ptr[i], 'a' + i % 26);
	assert_int_equal(buf.ptr[buf.len], '\0');
}

static void test_the_cap_is_exact_and_drops_whole_pieces(void **state)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(10);

	(void)state;
	assert_int_equal(kgb_buf_adds(&buf, "0123456789"), 0);
	assert_false(buf.overflowed);
	assert_int_equal(kgb_buf_addc(&buf, 'x'), -1);
	assert_true(buf.overflowed);
	assert_string_equal(buf.ptr, "0123456789");
	kgb_buf_clear(&buf);
	assert_false(buf.overflowed);
	assert_int_equal(kgb_buf_adds(&buf, "01234567890"), -1);
	assert_string_equal(buf.ptr, "");
	assert_int_equal(kgb_buf_addf(&buf, "%011d", 1), -1);
	assert_int_equal(kgb_buf_addf(&buf, "%010d", 1), 0);
	assert_string_equal(buf.ptr, "0000000001");
}

static void test_a_length_that_would_overflow_is_refused(void **state)
{
	KGB_AUTO(buf) struct kgb_buf limited = KGB_BUF_INIT(10);
	KGB_AUTO(buf) struct kgb_buf unlimited = KGB_BUF_INIT(0);

	(void)state;
	kgb_buf_addc(&limited, 'a');
	kgb_buf_addc(&unlimited, 'a');
	assert_int_equal(kgb_buf_add(&limited, "x", SIZE_MAX), -1);
	assert_int_equal(kgb_buf_add(&unlimited, "x", SIZE_MAX), -1);
	assert_int_equal(limited.len, 1);
	assert_int_equal(unlimited.len, 1);
}

static void test_long_formats(void **state)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);

	(void)state;
	for (int width = 250; width < 260; width++) {
		kgb_buf_clear(&buf);
		assert_int_equal(kgb_buf_addf(&buf, "<%*d>", width, 7), 0);
		assert_int_equal(buf.len, width + 2);
		assert_int_equal(buf.ptr[buf.len - 1], '>');
		assert_int_equal(buf.ptr[buf.len], '\0');
	}
	KGB_AUTO(buf) struct kgb_buf small = KGB_BUF_INIT(300);
	assert_int_equal(kgb_buf_addf(&small, "%*d", 301, 7), -1);
	assert_int_equal(kgb_buf_addf(&small, "%*d", 300, 7), 0);
}

static void test_consume_and_truncate(void **state)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(0);

	(void)state;
	kgb_buf_adds(&buf, "abcdef");
	kgb_buf_consume(&buf, 2);
	assert_string_equal(buf.ptr, "cdef");
	kgb_buf_truncate(&buf, 1);
	assert_string_equal(buf.ptr, "c");
	kgb_buf_consume(&buf, 1);
	assert_string_equal(buf.ptr, "");
	assert_int_equal(buf.len, 0);
}

static void consume_too_much(void *payload)
{
	kgb_buf_consume(payload, 1);
}

static void truncate_upwards(void *payload)
{
	kgb_buf_truncate(payload, 1);
}

static void test_misuse_aborts(void **state)
{
	struct kgb_buf buf = KGB_BUF_INIT(0);

	(void)state;
	assert_aborts(consume_too_much, &buf);
	assert_aborts(truncate_upwards, &buf);
}

static void test_take_leaves_an_empty_usable_buffer(void **state)
{
	KGB_AUTO(buf) struct kgb_buf buf = KGB_BUF_INIT(8);

	(void)state;
	kgb_buf_adds(&buf, "abc");
	KGB_AUTO(free) char *taken = kgb_buf_take(&buf);
	assert_string_equal(taken, "abc");
	assert_string_equal(buf.ptr, "");
	assert_int_equal(buf.limit, 8);
	kgb_buf_adds(&buf, "x");
	assert_string_equal(taken, "abc");
	assert_string_equal(buf.ptr, "x");
	assert_int_equal(kgb_buf_empty[0], '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_buffer_is_an_empty_string),
		cmocka_unit_test(test_pieces_are_joined_and_terminated),
		cmocka_unit_test(test_growth_keeps_the_contents),
		cmocka_unit_test(test_the_cap_is_exact_and_drops_whole_pieces),
		cmocka_unit_test(test_a_length_that_would_overflow_is_refused),
		cmocka_unit_test(test_long_formats),
		cmocka_unit_test(test_consume_and_truncate),
		cmocka_unit_test(test_misuse_aborts),
		cmocka_unit_test(test_take_leaves_an_empty_usable_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
