/* SPDX-License-Identifier: MIT */
/* Checked number parsing of str.h. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int fail_range(const char *s, int64_t min, int64_t max, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];

	kgb_brief(s, shown);
	if (max == INT64_MAX && min != INT64_MIN)
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is out of range: must be at least %" PRId64, shown, min);
	if (min == INT64_MIN && max != INT64_MAX)
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is out of range: must be at most %" PRId64, shown, max);
	return kgb_fail(err, KGB_ERR_INVALID,
			"'%s' is out of range: must be %" PRId64 " to %" PRId64, shown, min, max);
}

int kgb_parse_i64(const char *s, int64_t min, int64_t max, int64_t *out, struct kgb_err *err)
{
	bool negative = s[0] == '-';
	const char *p = s + negative;
	int64_t value = 0;
	bool too_large = false;
	char shown[KGB_BRIEF_LEN];

	do {
		if (!is_digit(*p))
			return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not a whole number",
					kgb_brief(s, shown));
		int digit = *p++ - '0';
		/* Counted downwards: the negative range is the larger one. */
		too_large = too_large || __builtin_mul_overflow(value, 10, &value) ||
			    __builtin_sub_overflow(value, digit, &value);
	} while (*p);
	if (!negative)
		too_large = too_large || __builtin_sub_overflow(0, value, &value);
	if (too_large || value < min || value > max)
		return fail_range(s, min, max, err);
	*out = value;
	return 0;
}

struct unit {
	const char *name;
	int64_t factor;
};

/* Digits then a unit. Returns false with *unit unset when s does not start with a digit or the
 * number overflows. */
static bool scan_number(const char *s, int64_t *value, bool *too_large, const char **unit)
{
	const char *p = s;

	*value = 0;
	*too_large = false;
	if (!is_digit(*p))
		return false;
	for (; is_digit(*p); p++)
		*too_large = *too_large || __builtin_mul_overflow(*value, 10, value) ||
			     __builtin_add_overflow(*value, *p - '0', value);
	*unit = p;
	return true;
}

static const struct unit duration_units[] = {
	{"ms", 1},
	{"s", 1000},
	{"m", INT64_C(60) * 1000},
	{"h", INT64_C(60) * 60 * 1000},
	{"d", INT64_C(24) * 60 * 60 * 1000},
};

/* Durations are multiplied to nanoseconds elsewhere: refuse values that would overflow. */
#define DURATION_MAX_MS (INT64_MAX / 1000000)

int kgb_parse_duration_ms(const char *s, int64_t *out_ms, struct kgb_err *err)
{
	const char *unit = "";
	char shown[KGB_BRIEF_LEN], shown_unit[KGB_BRIEF_LEN];
	int64_t value;
	bool too_large;

	kgb_brief(s, shown);
	if (!scan_number(s, &value, &too_large, &unit))
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is not a duration: write 90s, 1500ms, 10m, 2h or 30d", shown);
	if (!*unit)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' needs a unit: ms, s, m, h or d", shown);
	for (size_t i = 0; i < KGB_ARRAY_LEN(duration_units); i++) {
		if (strcmp(unit, duration_units[i].name) != 0)
			continue;
		if (too_large || __builtin_mul_overflow(value, duration_units[i].factor, &value) ||
		    value > DURATION_MAX_MS)
			return kgb_fail(err, KGB_ERR_INVALID, "'%s' is too long", shown);
		*out_ms = value;
		return 0;
	}
	return kgb_fail(err, KGB_ERR_INVALID, "'%s' has an unknown unit '%s': use ms, s, m, h or d",
			shown, kgb_brief(unit, shown_unit));
}

int kgb_parse_size_bytes(const char *s, int64_t *out_bytes, struct kgb_err *err)
{
	static const struct unit units[] = {
		{"", 1},
		{"B", 1},
		{"KiB", INT64_C(1) << 10},
		{"MiB", INT64_C(1) << 20},
		{"GiB", INT64_C(1) << 30},
		{"TiB", INT64_C(1) << 40},
		{"KB", 1000},
		{"MB", INT64_C(1000) * 1000},
		{"GB", INT64_C(1000) * 1000 * 1000},
		{"TB", INT64_C(1000) * 1000 * 1000 * 1000},
	};
	const char *unit = "";
	char shown[KGB_BRIEF_LEN], shown_unit[KGB_BRIEF_LEN];
	int64_t value;
	bool too_large;

	kgb_brief(s, shown);
	if (!scan_number(s, &value, &too_large, &unit))
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is not a size: write 512, 64KiB, 10MiB or 2GiB", shown);
	for (size_t i = 0; i < KGB_ARRAY_LEN(units); i++) {
		if (strcasecmp(unit, units[i].name) != 0)
			continue;
		if (too_large || __builtin_mul_overflow(value, units[i].factor, &value))
			return kgb_fail(err, KGB_ERR_INVALID, "'%s' is too large", shown);
		*out_bytes = value;
		return 0;
	}
	return kgb_fail(err, KGB_ERR_INVALID,
			"'%s' has an unknown unit '%s': use KiB, MiB, GiB, KB, MB or GB", shown,
			kgb_brief(unit, shown_unit));
}

int kgb_parse_double(const char *s, double *out, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];
	char *end;
	double value = strtod(s, &end);

	/* strtod also reads "inf", "nan", hexadecimal numbers and leading blanks. */
	if (end == s || *end || s[strspn(s, "0123456789+-.eE")])
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not a number", kgb_brief(s, shown));
	if (!isfinite(value))
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is out of range", kgb_brief(s, shown));
	*out = value;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int kgb_parse_hex(const char *s, void *out, size_t len, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];
	bool good = strlen(s) == 2 * len;

	for (const char *p = s; good && *p; p++)
		good = hex_digit(*p) >= 0;
	if (!good)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not %zu hexadecimal digits",
				kgb_brief(s, shown), 2 * len);
	unsigned char *bytes = out;
	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(hex_digit(s[2 * i]) * 16 + hex_digit(s[2 * i + 1]));
	return 0;
}

/* ---- the other way ---- */

/* The largest unit that divides the value. */
static void print_unit(struct kgb_buf *out, int64_t value, const struct unit *units, size_t n)
{
	size_t best = 0;

	KGB_ASSERT(value >= 0);
	for (size_t i = 1; i < n; i++)
		if (value != 0 && value % units[i].factor == 0)
			best = i;
	kgb_buf_addf(out, "%" PRId64 "%s", value / units[best].factor, units[best].name);
}

void kgb_duration_print(struct kgb_buf *out, int64_t ms)
{
	print_unit(out, ms, duration_units, KGB_ARRAY_LEN(duration_units));
}

void kgb_size_print(struct kgb_buf *out, int64_t bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"KiB", INT64_C(1) << 10},
		{"MiB", INT64_C(1) << 20},
		{"GiB", INT64_C(1) << 30},
		{"TiB", INT64_C(1) << 40},
	};

	print_unit(out, bytes, units, KGB_ARRAY_LEN(units));
}
