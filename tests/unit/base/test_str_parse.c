/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "tests/unit/base/support.h"

struct whole_case {
	const char *text;
	int64_t min, max, expected;
	const char *error;
};

static void check_whole(const struct whole_case *c)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t value = 12345;
	if (c->error) {
		assert_fails(kgb_parse_i64(c->text, c->min, c->max, &value, &err), err, c->error);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_int_equal(value, 12345);
	} else {
		assert_ok(kgb_parse_i64(c->text, c->min, c->max, &value, &err), err);
		assert_true(value == c->expected);
	}
}

static void test_whole_numbers(void **state)
{
	static const struct whole_case cases[] = {
		{"0", INT64_MIN, INT64_MAX, 0, NULL},
		{"-0", INT64_MIN, INT64_MAX, 0, NULL},
		{"42", 1, 64, 42, NULL},
		{"1", 1, 64, 1, NULL},
		{"64", 1, 64, 64, NULL},
		{"-7", -10, 10, -7, NULL},
		{"9223372036854775807", INT64_MIN, INT64_MAX, INT64_MAX, NULL},
		{"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, NULL},
		{"0", 1, 64, 0, "'0' is out of range: must be 1 to 64"},
		{"65", 1, 64, 0, "'65' is out of range: must be 1 to 64"},
		{"0", 1, INT64_MAX, 0, "'0' is out of range: must be at least 1"},
		{"9", INT64_MIN, 8, 0, "'9' is out of range: must be at most 8"},
		{"9223372036854775808", 0, INT64_MAX, 0,
		 "'9223372036854775808' is out of range: must be at least 0"},
		{"-9223372036854775809", INT64_MIN, INT64_MAX, 0,
		 "'-9223372036854775809' is out of range: must be -9223372036854775808 to "
		 "9223372036854775807"},
		{"99999999999999999999999", INT64_MIN, INT64_MAX, 0,
		 "'99999999999999999999999' is out of range: must be -9223372036854775808 to "
		 "9223372036854775807"},
		{"", 0, 9, 0, "'' is not a whole number"},
		{"-", 0, 9, 0, "'-' is not a whole number"},
		{"+1", 0, 9, 0, "'+1' is not a whole number"},
		{" 1", 0, 9, 0, "' 1' is not a whole number"},
		{"1 ", 0, 9, 0, "'1 ' is not a whole number"},
		{"1.5", 0, 9, 0, "'1.5' is not a whole number"},
		{"0x10", 0, 99, 0, "'0x10' is not a whole number"},
		{"1e3", 0, 9999, 0, "'1e3' is not a whole number"},
		{"--1", -9, 9, 0, "'--1' is not a whole number"},
		{"a\033[31mb", 0, 9, 0, "'a\\x1b[31mb' is not a whole number"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		check_whole(&cases[i]);
}

struct unit_case {
	const char *text;
	int64_t expected;
	const char *error;
};

static void check_duration(const struct unit_case *c)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t value = 12345;
	if (c->error) {
		assert_fails(kgb_parse_duration_ms(c->text, &value, &err), err, c->error);
		assert_int_equal(err.kind, KGB_ERR_INVALID);
		assert_int_equal(value, 12345);
	} else {
		assert_ok(kgb_parse_duration_ms(c->text, &value, &err), err);
		assert_true(value == c->expected);
	}
}

static void test_durations(void **state)
{
	static const struct unit_case cases[] = {
		{"90s", 90000, NULL},
		{"1500ms", 1500, NULL},
		{"10m", 600000, NULL},
		{"2h", 7200000, NULL},
		{"30d", 2592000000, NULL},
		{"0s", 0, NULL},
		{"2562047h", 9223369200000, NULL},
		{"2562048h", 0, "'2562048h' is too long"},
		{"90", 0, "'90' needs a unit: ms, s, m, h or d"},
		{"0", 0, "'0' needs a unit: ms, s, m, h or d"},
		{"90x", 0, "'90x' has an unknown unit 'x': use ms, s, m, h or d"},
		{"90S", 0, "'90S' has an unknown unit 'S': use ms, s, m, h or d"},
		{"90 s", 0, "'90 s' has an unknown unit ' s': use ms, s, m, h or d"},
		{"1h30m", 0, "'1h30m' has an unknown unit 'h30m': use ms, s, m, h or d"},
		{"1.5h", 0, "'1.5h' has an unknown unit '.5h': use ms, s, m, h or d"},
		{"", 0, "'' is not a duration: write 90s, 1500ms, 10m, 2h or 30d"},
		{"s", 0, "'s' is not a duration: write 90s, 1500ms, 10m, 2h or 30d"},
		{"-5s", 0, "'-5s' is not a duration: write 90s, 1500ms, 10m, 2h or 30d"},
		{"9223372036854775807h", 0, "'9223372036854775807h' is too long"},
		{"99999999999999999999s", 0, "'99999999999999999999s' is too long"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		check_duration(&cases[i]);
}

static void check_size(const struct unit_case *c)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t value = 12345;
	if (c->error) {
		assert_fails(kgb_parse_size_bytes(c->text, &value, &err), err, c->error);
		assert_int_equal(value, 12345);
	} else {
		assert_ok(kgb_parse_size_bytes(c->text, &value, &err), err);
		assert_true(value == c->expected);
	}
}

static void test_sizes(void **state)
{
	static const struct unit_case cases[] = {
		{"0", 0, NULL},
		{"512", 512, NULL},
		{"512B", 512, NULL},
		{"64KiB", 65536, NULL},
		{"10MiB", 10485760, NULL},
		{"2GiB", 2147483648, NULL},
		{"1TiB", 1099511627776, NULL},
		{"5KB", 5000, NULL},
		{"5kb", 5000, NULL},
		{"5MB", 5000000, NULL},
		{"5GB", 5000000000, NULL},
		{"5TB", 5000000000000, NULL},
		{"9223372036854775807", INT64_MAX, NULL},
		{"9223372036854775808", 0, "'9223372036854775808' is too large"},
		{"8388608TiB", 0, "'8388608TiB' is too large"},
		{"64K", 0, "'64K' has an unknown unit 'K': use KiB, MiB, GiB, KB, MB or GB"},
		{"1.5GiB", 0,
		 "'1.5GiB' has an unknown unit '.5GiB': use KiB, MiB, GiB, KB, MB or GB"},
		{"", 0, "'' is not a size: write 512, 64KiB, 10MiB or 2GiB"},
		{"-1", 0, "'-1' is not a size: write 512, 64KiB, 10MiB or 2GiB"},
		{"KiB", 0, "'KiB' is not a size: write 512, 64KiB, 10MiB or 2GiB"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		check_size(&cases[i]);
}

static void test_durations_and_sizes_print_in_the_largest_exact_unit(void **state)
{
	static const struct {
		int64_t value;
		const char *duration, *size;
	} cases[] = {
		{0, "0ms", "0"},
		{1, "1ms", "1"},
		{1000, "1s", "1000"},
		{1024, "1024ms", "1KiB"},
		{90000, "90s", "90000"},
		{61440, "61440ms", "60KiB"},
		{7200000, "2h", "7200000"},
		{5400000, "90m", "5400000"},
		{2147483648, "2147483648ms", "2GiB"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf duration = KGB_BUF_INIT(0);
		KGB_AUTO(buf) struct kgb_buf size = KGB_BUF_INIT(0);
		int64_t back;
		kgb_duration_print(&duration, cases[i].value);
		assert_string_equal(duration.ptr, cases[i].duration);
		assert_ok(kgb_parse_duration_ms(duration.ptr, &back, &err), err);
		assert_true(back == cases[i].value);
		kgb_size_print(&size, cases[i].value);
		assert_string_equal(size.ptr, cases[i].size);
		assert_ok(kgb_parse_size_bytes(size.ptr, &back, &err), err);
		assert_true(back == cases[i].value);
	}
}

struct double_case {
	const char *text;
	double expected;
	const char *error;
};

static void check_double(const struct double_case *c)
{
	struct kgb_err err = KGB_ERR_INIT;
	double value = 77;
	if (c->error) {
		assert_fails(kgb_parse_double(c->text, &value, &err), err, c->error);
		assert_true(value == 77);
	} else {
		assert_ok(kgb_parse_double(c->text, &value, &err), err);
		assert_true(value == c->expected);
	}
}

static void test_doubles(void **state)
{
	static const struct double_case cases[] = {
		{"0", 0, NULL},
		{"1.5", 1.5, NULL},
		{"-1e-3", -1e-3, NULL},
		{"+2E2", 200, NULL},
		{".5", 0.5, NULL},
		{"5.", 5, NULL},
		{"1.7976931348623157e308", 1.7976931348623157e308, NULL},
		{"4.9e-324", 4.9e-324, NULL},
		{"1e-999", 0, NULL},
		{"1e999", 0, "'1e999' is out of range"},
		{"inf", 0, "'inf' is not a number"},
		{"nan", 0, "'nan' is not a number"},
		{"0x1p3", 0, "'0x1p3' is not a number"},
		{"", 0, "'' is not a number"},
		{".", 0, "'.' is not a number"},
		{"e5", 0, "'e5' is not a number"},
		{"1e", 0, "'1e' is not a number"},
		{"1e+", 0, "'1e+' is not a number"},
		{" 1", 0, "' 1' is not a number"},
		{"1 ", 0, "'1 ' is not a number"},
		{"1,5", 0, "'1,5' is not a number"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		check_double(&cases[i]);
}

static void test_hexadecimal(void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	unsigned char out[3] = {1, 2, 3};

	(void)state;
	assert_fails(kgb_parse_hex("00ff", out, 3, &err), err,
		     "'00ff' is not 6 hexadecimal digits");
	assert_fails(kgb_parse_hex("00ff0g", out, 3, &err), err,
		     "'00ff0g' is not 6 hexadecimal digits");
	assert_fails(kgb_parse_hex("00ff0011", out, 3, &err), err,
		     "'00ff0011' is not 6 hexadecimal digits");
	assert_int_equal(out[0], 1);
	assert_ok(kgb_parse_hex("00fFa9", out, 3, &err), err);
	assert_memory_equal(out, "\x00\xff\xa9", 3);
	assert_ok(kgb_parse_hex("", out, 0, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_numbers),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations_and_sizes_print_in_the_largest_exact_unit),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_hexadecimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
