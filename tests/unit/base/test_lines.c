/* SPDX-License-Identifier: MIT */
#include "base/formats/lines.h"

#include "tests/unit/base/support.h"

static void collect(void *payload, const char *line, size_t len)
{
	struct kgb_buf *out = payload;

	assert_int_equal(line[len], '\0');
	kgb_buf_addc(out, '<');
	kgb_buf_add(out, line, len);
	kgb_buf_addc(out, '>');
}

static const struct {
	const char *text;
	const char *expected;
	int64_t n_lines, n_too_long;
	bool rest;
} cases[] = {
	{"", "", 0, 0, false},
	{"a\n", "<a>", 1, 0, false},
	{"a", "<a>", 1, 0, true},
	{"\n\n", "<><>", 2, 0, false},
	{"a\r\nb\r\n", "<a><b>", 2, 0, false},
	{"a\rb\n", "<a\rb>", 1, 0, false},
	{"\r", "<>", 1, 0, true},
	{"12345678\n", "<12345678>", 1, 0, false},
	{"123456789\nok\n", "<ok>", 1, 1, false},
	{"ok\n123456789", "<ok>", 1, 1, true},
	{"123456789123456789\n\nx", "<><x>", 2, 1, true},
	{"123456789\n123456789\nz\n", "<z>", 1, 2, false},
	{"\xff\xfe\n", "<\xff\xfe>", 1, 0, false},
};

static void feed_case(size_t i, size_t chunk)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	struct kgb_lines lines;
	size_t len = strlen(cases[i].text);

	kgb_lines_init(&lines, 8);
	for (size_t at = 0; at < len; at += chunk)
		kgb_lines_feed(&lines, cases[i].text + at, len - at < chunk ? len - at : chunk,
			       collect, &got);
	assert_int_equal(kgb_lines_finish(&lines, collect, &got), cases[i].rest);
	assert_string_equal(got.ptr, cases[i].expected);
	assert_true(lines.n_lines == cases[i].n_lines);
	assert_true(lines.n_too_long == cases[i].n_too_long);
	kgb_lines_release(&lines);
}

static void test_lines_do_not_depend_on_how_the_bytes_arrive(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		for (size_t chunk = 1; chunk <= strlen(cases[i].text) + 1; chunk++)
			feed_case(i, chunk);
}

static void test_nul_bytes_are_counted_as_text(void **state)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	struct kgb_lines lines;

	(void)state;
	kgb_lines_init(&lines, 8);
	kgb_lines_feed(&lines, "a\0b\n", 4, collect, &got);
	assert_int_equal(got.len, 5);
	assert_memory_equal(got.ptr, "<a\0b>", 5);
	kgb_lines_release(&lines);
}

static void test_an_endless_line_holds_no_memory(void **state)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	char block[4096];
	struct kgb_lines lines;

	(void)state;
	memset(block, 'x', sizeof(block));
	kgb_lines_init(&lines, 10000);
	for (int i = 0; i < 1000; i++)
		kgb_lines_feed(&lines, block, sizeof(block), collect, &got);
	assert_true(lines.partial.cap <= 10001);
	assert_true(lines.n_too_long == 1);
	kgb_lines_feed(&lines, "\nnext\n", 6, collect, &got);
	assert_string_equal(got.ptr, "<next>");
	kgb_lines_release(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_do_not_depend_on_how_the_bytes_arrive),
		cmocka_unit_test(test_nul_bytes_are_counted_as_text),
		cmocka_unit_test(test_an_endless_line_holds_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
