/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "tests/unit/base/support.h"

/* Each with the length of its valid prefix and its repaired form; R is U+FFFD. */
#define R "\xef\xbf\xbd"
static const struct {
	const char *bytes;
	size_t len, valid;
	const char *repaired;
} cases[] = {
	{"", 0, 0, ""},
	{"ascii", 5, 5, "ascii"},
	{"\x7f", 1, 1, "\x7f"},
	{"\xc2\x80", 2, 2, "\xc2\x80"},
	{"\xdf\xbf", 2, 2, "\xdf\xbf"},
	{"\xe0\xa0\x80", 3, 3, "\xe0\xa0\x80"},
	{"\xed\x9f\xbf", 3, 3, "\xed\x9f\xbf"},
	{"\xee\x80\x80", 3, 3, "\xee\x80\x80"},
	{"\xf0\x90\x80\x80", 4, 4, "\xf0\x90\x80\x80"},
	{"\xf4\x8f\xbf\xbf", 4, 4, "\xf4\x8f\xbf\xbf"},
	{"a\x80", 2, 1, "a" R}, /* a continuation byte alone */
	{"\xc0\xaf", 2, 0, R R}, /* overlong, two bytes */
	{"\xc1\xbf", 2, 0, R R}, /* overlong */
	{"\xe0\x9f\xbf", 3, 0, R R R}, /* overlong, three bytes */
	{"\xed\xa0\x80", 3, 0, R R R}, /* surrogate */
	{"\xed\xbf\xbf", 3, 0, R R R}, /* surrogate */
	{"\xf0\x8f\xbf\xbf", 4, 0, R R R R}, /* overlong, four bytes */
	{"\xf4\x90\x80\x80", 4, 0, R R R R}, /* above U+10FFFF */
	{"\xf5\x80\x80\x80", 4, 0, R R R R}, /* no such lead */
	{"\xff", 1, 0, R},
	{"\xe2\x82", 2, 0, R}, /* cut short: one replacement */
	{"\xe2\x82z", 3, 0, R "z"},
	{"\xf0\x9f\x98", 3, 0, R},
	{"\xf0\x9f\x98\xe2\x82\xac", 6, 0, R "\xe2\x82\xac"},
	{"ok\xe2\x82\xac\xc3", 6, 5, "ok\xe2\x82\xac" R},
	{"12345678\xff", 9, 8, "12345678" R},
	{"1234567\xe2\x82\xac", 10, 10, "1234567\xe2\x82\xac"},
};

static void test_the_valid_prefix_and_the_repair(void **state)
{
	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		assert_int_equal(kgb_utf8_valid(cases[i].bytes, cases[i].len), cases[i].valid);
		kgb_utf8_repair(&out, cases[i].bytes, cases[i].len);
		assert_string_equal(out.ptr, cases[i].repaired);
		assert_int_equal(kgb_utf8_valid(out.ptr, out.len), out.len);
	}
}

static void test_all_two_byte_strings_repair_to_valid_text(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 65536; i++) {
		const char s[2] = {(char)(i >> 8), (char)(i & 255)};
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_utf8_repair(&out, s, 2);
		assert_int_equal(kgb_utf8_valid(out.ptr, out.len), out.len);
	}
}

static void test_escapes(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *expected;
	} table[] = {
		{"plain \xe2\x82\xac text", 14, "plain \xe2\x82\xac text"},
		{"a\nb\tc\r", 6, "a\\nb\\tc\\r"},
		{"\033[2J", 4, "\\x1b[2J"},
		{"nul\0!", 5, "nul\\x00!"},
		{"\x7f", 1, "\\x7f"},
		{"\xc2\x9b", 2, "\\xc2\\x9b"}, /* C1: CSI in one character */
		{"\xc2\xa0", 2, "\xc2\xa0"}, /* no-break space is harmless */
		{"\xff\xfe", 2, "\\xff\\xfe"}, /* not UTF-8 */
		{"\xe2\x82", 2, "\\xe2\\x82"}, /* cut short */
		{"\xe2\x80\xae", 3, "\\xe2\\x80\\xae"}, /* right-to-left override */
		{"\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8"}, /* line separator */
		{"\xe2\x81\xa6", 3, "\\xe2\\x81\\xa6"}, /* isolate */
		{"\xe2\x80\xa6", 3, "\xe2\x80\xa6"}, /* ellipsis */
		{"\xd8\x9c", 2, "\\xd8\\x9c"}, /* Arabic letter mark */
		{"back\\slash", 10, "back\\slash"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_escape(&out, table[i].bytes, table[i].len);
		assert_string_equal(out.ptr, table[i].expected);
	}
}

static void test_brief_cuts_at_a_character(void **state)
{
	char out[KGB_BRIEF_LEN];
	char text[200];

	(void)state;
	assert_string_equal(kgb_brief("short\n", out), "short\\n");
	memset(text, 'x', sizeof(text));
	text[60] = '\0';
	assert_string_equal(kgb_brief(text, out), text);
	text[60] = 'x';
	text[61] = '\0';
	kgb_brief(text, out);
	assert_int_equal(strlen(out), 63);
	assert_true(kgb_str_ends(out, "x..."));
	for (int shift = 0; shift < 4; shift++) {
		KGB_AUTO(buf) struct kgb_buf euros = KGB_BUF_INIT(0);
		for (int i = 0; i < shift; i++)
			kgb_buf_addc(&euros, 'a');
		for (int i = 0; i < 60; i++)
			kgb_buf_adds(&euros, "\xe2\x82\xac");
		kgb_brief(euros.ptr, out);
		assert_true(strlen(out) < KGB_BRIEF_LEN);
		assert_true(kgb_str_ends(out, "\xe2\x82\xac..."));
	}
	memset(text, '\033', sizeof(text));
	text[199] = '\0';
	kgb_brief(text, out);
	assert_true(kgb_str_ends(out, "\\x1b..."));
}

static void test_lines_break_between_words(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *expected;
	} table[] = {
		{"", 10, ""},
		{"one two six", 11, "one two six"},
		{"one two six", 10, "one two\n  six"},
		{"one two six ten", 9, "one two\n  six ten"},
		{"one two six ten", 8, "one two\n  six\n  ten"},
		{"a path/that/is/too/long to fit", 10, "a\n  path/that/is/too/long\n  to fit"},
		{"path/that/is/too/long", 10, "path/that/is/too/long"},
		{"one   two", 8, "one\n  two"},
		{"one   two", 9, "one   two"},
		{"  indented words", 12, "  indented\n  words"},
		{"ends with a space ", 12, "ends with a\n  space "},
		{"\xe4\xb8\xad\xe6\x96\x87 ab", 7, "\xe4\xb8\xad\xe6\x96\x87 ab"}, /* two wide */
		{"\xe4\xb8\xad\xe6\x96\x87 ab", 6, "\xe4\xb8\xad\xe6\x96\x87\n  ab"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(table); i++) {
		KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
		kgb_utf8_wrap(&out, table[i].text, strlen(table[i].text), table[i].columns, 2);
		assert_string_equal(out.ptr, table[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_valid_prefix_and_the_repair),
		cmocka_unit_test(test_all_two_byte_strings_repair_to_valid_text),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_brief_cuts_at_a_character),
		cmocka_unit_test(test_lines_break_between_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
