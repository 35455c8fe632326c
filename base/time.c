/* SPDX-License-Identifier: MIT */
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

enum { MS_PER_DAY = 24 * 60 * 60 * 1000 };

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: what four digits of a year can say. */
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

struct civil {
	int year, month, day;
	int hour, minute, second, ms;
};

/* Proleptic Gregorian calendar by whole 400-year eras, years counted from March so that the leap
 * day comes last (H. Hinnant, "chrono-compatible low-level date algorithms"). */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = month <= 2 ? (int64_t)year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

static struct civil civil_from_ms(int64_t wall_ms)
{
	struct civil c = {0};

	if (wall_ms < WALL_MIN_MS)
		wall_ms = WALL_MIN_MS;
	if (wall_ms > WALL_MAX_MS)
		wall_ms = WALL_MAX_MS;
	int64_t days = wall_ms / MS_PER_DAY;
	int64_t rest = wall_ms % MS_PER_DAY;
	if (rest < 0) {
		rest += MS_PER_DAY;
		days--;
	}
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	c.day = (int)(doy - (153 * mp + 2) / 5 + 1);
	c.month = (int)(mp < 10 ? mp + 3 : mp - 9);
	c.year = (int)(yoe + era * 400 + (c.month <= 2));
	c.hour = (int)(rest / 3600000);
	c.minute = (int)(rest / 60000 % 60);
	c.second = (int)(rest / 1000 % 60);
	c.ms = (int)(rest % 1000);
	return c;
}

void kgb_time_format(int64_t wall_ms, char out[KGB_TIME_LEN])
{
	struct civil c = civil_from_ms(wall_ms);
	char text[96];

	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", c.year, c.month, c.day,
		 c.hour, c.minute, c.second, c.ms);
	memcpy(out, text, KGB_TIME_LEN);
}

void kgb_time_format_compact(int64_t wall_ms, char out[KGB_TIME_COMPACT_LEN])
{
	struct civil c = civil_from_ms(wall_ms);
	char text[96];

	snprintf(text, sizeof(text), "%04d%02d%02dT%02d%02d%02dZ", c.year, c.month, c.day, c.hour,
		 c.minute, c.second);
	memcpy(out, text, KGB_TIME_COMPACT_LEN);
}

static int days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

/* Exactly n digits at *p; advances. */
static bool take_digits(const char **p, int n, int *out)
{
	int value = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		value = value * 10 + (**p - '0');
	}
	*out = value;
	return true;
}

static bool take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* ".123456": kept to milliseconds, the rest is cut. */
static bool take_fraction(const char **p, int *ms)
{
	int scale = 100;

	*ms = 0;
	if (!take_char(p, '.'))
		return true;
	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; (*p)++, scale /= 10)
		*ms += (**p - '0') * scale;
	return true;
}

/* "Z" or "+hh:mm". */
static bool take_offset(const char **p, int *minutes)
{
	int hour, minute;
	int sign = **p == '-' ? -1 : 1;

	*minutes = 0;
	if (take_char(p, 'Z') || take_char(p, 'z'))
		return true;
	if (!take_char(p, '+') && !take_char(p, '-'))
		return false;
	if (!take_digits(p, 2, &hour) || !take_char(p, ':') || !take_digits(p, 2, &minute))
		return false;
	*minutes = sign * (hour * 60 + minute);
	return hour < 24 && minute < 60;
}

static bool scan_time(const char *s, struct civil *c, int *offset_minutes)
{
	const char *p = s;

	if (!take_digits(&p, 4, &c->year) || !take_char(&p, '-') ||
	    !take_digits(&p, 2, &c->month) || !take_char(&p, '-') || !take_digits(&p, 2, &c->day))
		return false;
	if (!take_char(&p, 'T') && !take_char(&p, 't'))
		return false;
	if (!take_digits(&p, 2, &c->hour) || !take_char(&p, ':') ||
	    !take_digits(&p, 2, &c->minute) || !take_char(&p, ':') ||
	    !take_digits(&p, 2, &c->second))
		return false;
	return take_fraction(&p, &c->ms) && take_offset(&p, offset_minutes) && *p == '\0';
}

int kgb_time_parse(const char *s, int64_t *out_wall_ms, struct kgb_err *err)
{
	struct civil c = {0};
	int offset_minutes = 0;
	char shown[KGB_BRIEF_LEN];

	bool good = scan_time(s, &c, &offset_minutes) && c.month >= 1 && c.month <= 12 &&
		    c.day >= 1 && c.day <= days_in_month(c.year, c.month) && c.hour < 24 &&
		    c.minute < 60 && c.second < 60;
	if (!good)
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is not a time such as 2026-11-21T08:43:48.123Z",
				kgb_brief(s, shown));
	int64_t seconds = days_from_civil(c.year, c.month, c.day) * 86400 + (int64_t)c.hour * 3600 +
			  ((int64_t)c.minute - offset_minutes) * 60 + c.second;
	*out_wall_ms = seconds * 1000 + c.ms;
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
