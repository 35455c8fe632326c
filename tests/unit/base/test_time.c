/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/time.h>

#include "base/time.h"

#include "base/str.h"
#include "tests/unit/base/support.h"

static void test_clocks_move_forward(void **state)
{
	(void)state;
	int64_t ns = kgb_mono_ns(), ms = kgb_mono_ms();
	assert_true(ns > 0);
	assert_true(ms >= ns / 1000000);
	assert_true(kgb_mono_ns() >= ns);
	assert_true(kgb_wall_ms() > INT64_C(1700000000000));
}

/* Texts from `date -u -d @N`. */
static void test_times_in_both_directions(void **state)
{
	static const struct {
		int64_t ms;
		const char *text, *compact;
	} cases[] = {
		{0, "1970-01-01T00:00:00.000Z", "19700101T000000Z"},
		{-1, "1969-12-31T23:59:59.999Z", "19691231T235959Z"},
		{INT64_C(1795250628123), "2026-11-21T08:43:48.123Z", "20261121T084348Z"},
		{INT64_C(951782400000), "2000-02-29T00:00:00.000Z", "20000229T000000Z"},
		{INT64_C(1078012800000), "2004-02-29T00:00:00.000Z", "20040229T000000Z"},
		{INT64_C(4107542400000), "2100-03-01T00:00:00.000Z", "21000301T000000Z"},
		{INT64_C(253402300799999), "9999-12-31T23:59:59.999Z", "99991231T235959Z"},
		{INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z", "00000101T000000Z"},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		char text[KGB_TIME_LEN], compact[KGB_TIME_COMPACT_LEN];
		int64_t back;
		kgb_time_format(cases[i].ms, text);
		assert_string_equal(text, cases[i].text);
		kgb_time_format_compact(cases[i].ms, compact);
		assert_string_equal(compact, cases[i].compact);
		assert_ok(kgb_time_parse(text, &back, &err), err);
		assert_true(back == cases[i].ms);
	}
}

static void test_every_day_of_eight_centuries_comes_back(void **state)
{
	(void)state;
	for (int64_t day = -146097; day < 146097; day++) {
		struct kgb_err err = KGB_ERR_INIT;
		char text[KGB_TIME_LEN];
		int64_t back, ms = day * 86400000 + 45296789;
		kgb_time_format(ms, text);
		assert_ok(kgb_time_parse(text, &back, &err), err);
		assert_true(back == ms);
	}
}

static void test_times_beyond_four_digit_years_are_clamped(void **state)
{
	char text[KGB_TIME_LEN];

	(void)state;
	kgb_time_format(INT64_MAX, text);
	assert_string_equal(text, "9999-12-31T23:59:59.999Z");
	kgb_time_format(INT64_MIN, text);
	assert_string_equal(text, "0000-01-01T00:00:00.000Z");
}

static void test_other_forms_of_rfc_3339(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{"2026-11-21T08:43:48Z", INT64_C(1795250628000)},
		{"2026-11-21t08:43:48z", INT64_C(1795250628000)},
		{"2026-11-21T08:43:48.1Z", INT64_C(1795250628100)},
		{"2026-11-21T08:43:48.123456789Z", INT64_C(1795250628123)},
		{"2026-11-21T08:43:48+00:00", INT64_C(1795250628000)},
		{"2026-11-21T10:13:48+01:30", INT64_C(1795250628000)},
		{"2026-11-20T23:43:48-09:00", INT64_C(1795250628000)},
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		int64_t ms;
		assert_ok(kgb_time_parse(cases[i].text, &ms, &err), err);
		assert_true(ms == cases[i].ms);
	}
}

static void test_what_is_no_time_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"now",
		"2026-11-21",
		"2026-11-21T08:43:48",
		"2026-11-21 08:43:48Z",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-02-29T00:00:00Z",
		"2100-02-29T00:00:00Z",
		"2026-04-31T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z",
		"2026-01-01T00:00:60Z",
		"2026-01-01T00:00:00.Z",
		"2026-01-01T00:00:00Zx",
		"2026-01-01T00:00:00+24:00",
		"2026-01-01T00:00:00+0100",
		"26-01-01T00:00:00Z",
		"2026-1-01T00:00:00Z",
		"-026-01-01T00:00:00Z",
	};

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		int64_t ms = 5;
		KGB_AUTO(free)
		char *expected = kgb_xasprintf(
			"'%s' is not a time such as 2026-11-21T08:43:48.123Z", cases[i]);
		assert_fails(kgb_time_parse(cases[i], &ms, &err), err, expected);
		assert_true(ms == 5);
	}
}

static void test_durations_for_people(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{0, "0 ms"},
		{340, "340 ms"},
		{999, "999 ms"},
		{1000, "1.0 s"},
		{1250, "1.2 s"},
		{59999, "59.9 s"},
		{60000, "1 m 00 s"},
		{185000, "3 m 05 s"},
		{3599999, "59 m 59 s"},
		{3600000, "1 h 00 m"},
		{INT64_C(360000000), "100 h 00 m"},
		{-1250, "-1.2 s"},
		{INT64_MIN, "-2562047788015 h 12 m"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(cases); i++)
		assert_string_equal(kgb_duration_format(cases[i].ms, out, sizeof(out)),
				    cases[i].text);
	assert_string_equal(kgb_duration_format(1250, out, 3), "1.");
}

static void on_alarm(int signo)
{
	(void)signo;
}

static void test_a_wait_outlasts_signals(void **state)
{
	const struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval often = {.it_value = {.tv_usec = 500},
					.it_interval = {.tv_usec = 500}};
	const struct itimerval never = {0};

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	int64_t begun_ns = kgb_mono_ns();
	kgb_sleep_ns(20000000);
	assert_true(kgb_mono_ns() - begun_ns >= 20000000);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	kgb_sleep_ns(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clocks_move_forward),
		cmocka_unit_test(test_times_in_both_directions),
		cmocka_unit_test(test_every_day_of_eight_centuries_comes_back),
		cmocka_unit_test(test_times_beyond_four_digit_years_are_clamped),
		cmocka_unit_test(test_other_forms_of_rfc_3339),
		cmocka_unit_test(test_what_is_no_time_is_refused),
		cmocka_unit_test(test_durations_for_people),
		cmocka_unit_test(test_a_wait_outlasts_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
