/* SPDX-License-Identifier: MIT */
#include "base/time.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: the range of a four-digit year. */
#define WALL_MIN_MS INT64_C(-62167219200000)
#define WALL_MAX_MS INT64_C(253402300799999)

int64_t kgb_mono_ns(void)
{
	struct timespec ts;
	int rc = clock_gettime(CLOCK_MONOTONIC, &ts);

	KGB_ASSERT(rc == 0);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t kgb_mono_ms(void)
{
	return kgb_mono_ns() / 1000000;
}

int64_t kgb_wall_ms(void)
{
	struct timespec ts;
	int rc = clock_gettime(CLOCK_REALTIME, &ts);

	KGB_ASSERT(rc == 0);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void kgb_sleep_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	while (ns > 0 && nanosleep(&t, &t) < 0)
		KGB_ASSERT(errno == EINTR);
}

/* Whole seconds, rounded down, and the milliseconds that remain. */
static int split_ms(int64_t wall_ms, struct tm *tm)
{
	if (wall_ms < WALL_MIN_MS)
		wall_ms = WALL_MIN_MS;
	if (wall_ms > WALL_MAX_MS)
		wall_ms = WALL_MAX_MS;
	int ms = (int)(((wall_ms % 1000) + 1000) % 1000);
	time_t seconds = (time_t)((wall_ms - ms) / 1000);
	struct tm *done = gmtime_r(&seconds, tm);

	KGB_ASSERT(done);
	return ms;
}

void kgb_time_format(int64_t wall_ms, char out[KGB_TIME_LEN])
{
	struct tm tm;
	int ms = split_ms(wall_ms, &tm);
	char text[96];

	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, ms);
	memcpy(out, text, KGB_TIME_LEN);
}

void kgb_time_format_compact(int64_t wall_ms, char out[KGB_TIME_COMPACT_LEN])
{
	struct tm tm;
	char text[96];

	(void)split_ms(wall_ms, &tm);
	snprintf(text, sizeof(text), "%04d%02d%02dT%02d%02d%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
		 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	memcpy(out, text, KGB_TIME_COMPACT_LEN);
}

/* Whether the next characters follow `pattern`, in which '0' is any digit. */
static bool follows(const char *s, const char *pattern)
{
	for (; *pattern; s++, pattern++)
		if (*pattern == '0' ? !isdigit((unsigned char)*s)
				    : toupper((unsigned char)*s) != *pattern)
			return false;
	return true;
}

static int two_digits(const char *s)
{
	return (s[0] - '0') * 10 + (s[1] - '0');
}

/* ".123456": kept to milliseconds, the rest is cut. */
static bool take_fraction(const char **p, int *ms)
{
	int scale = 100;

	*ms = 0;
	if (**p != '.')
		return true;
	if (!follows(*p, ".0"))
		return false;
	for ((*p)++; isdigit((unsigned char)**p); (*p)++, scale /= 10)
		*ms += (**p - '0') * scale;
	return true;
}

/* "Z" or "+hh:mm", to the end of the text. */
static bool scan_offset(const char *s, int *minutes)
{
	*minutes = 0;
	if (follows(s, "Z"))
		return s[1] == '\0';
	if ((*s != '+' && *s != '-') || !follows(s + 1, "00:00") || s[6])
		return false;
	int hour = two_digits(s + 1), minute = two_digits(s + 4);
	*minutes = (*s == '-' ? -1 : 1) * (hour * 60 + minute);
	return hour < 24 && minute < 60;
}

static bool scan_time(const char *s, int64_t *out_wall_ms)
{
	int ms, offset_minutes;

	if (!follows(s, "0000-00-00T00:00:00"))
		return false;
	const struct tm tm = {.tm_year = two_digits(s) * 100 + two_digits(s + 2) - 1900,
			      .tm_mon = two_digits(s + 5) - 1,
			      .tm_mday = two_digits(s + 8),
			      .tm_hour = two_digits(s + 11),
			      .tm_min = two_digits(s + 14),
			      .tm_sec = two_digits(s + 17)};
	struct tm normal = tm;
	const char *p = s + 19;
	if (!take_fraction(&p, &ms) || !scan_offset(p, &offset_minutes))
		return false;
	/* timegm carries an out-of-range value, such as February 30, into the next field. */
	int64_t seconds = timegm(&normal);
	if (normal.tm_mon != tm.tm_mon || normal.tm_mday != tm.tm_mday ||
	    normal.tm_hour != tm.tm_hour || normal.tm_min != tm.tm_min ||
	    normal.tm_sec != tm.tm_sec)
		return false;
	*out_wall_ms = (seconds - (int64_t)offset_minutes * 60) * 1000 + ms;
	return true;
}

int kgb_time_parse(const char *s, int64_t *out_wall_ms, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];

	if (!scan_time(s, out_wall_ms))
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is not a time such as 2026-11-21T08:43:48.123Z",
				kgb_brief(s, shown));
	return 0;
}

const char *kgb_duration_format(int64_t ms, char *out, size_t cap)
{
	const char *sign = ms < 0 ? "-" : "";
	uint64_t t = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;

	if (t < 1000)
		snprintf(out, cap, "%s%" PRIu64 " ms", sign, t);
	else if (t < 60000)
		snprintf(out, cap, "%s%" PRIu64 ".%" PRIu64 " s", sign, t / 1000, t / 100 % 10);
	else if (t < 3600000)
		snprintf(out, cap, "%s%" PRIu64 " m %02" PRIu64 " s", sign, t / 60000,
			 t / 1000 % 60);
	else
		snprintf(out, cap, "%s%" PRIu64 " h %02" PRIu64 " m", sign, t / 3600000,
			 t / 60000 % 60);
	return out;
}
