/* SPDX-License-Identifier: MIT */
/** \file
 * Texts from users and children: durations, sizes, numbers, times, templates, escapes, suggestions.
 * The first byte picks one.
 */
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_duration(const char *s)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	int64_t ms, back;

	if (kgb_parse_duration_ms(s, &ms, &err) < 0)
		return;
	kgb_duration_print(&out, ms);
	int rc = kgb_parse_duration_ms(out.ptr, &back, &err);
	KGB_ASSERT(rc == 0 && back == ms);
}

static void fuzz_size(const char *s)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	struct kgb_err err = KGB_ERR_INIT;
	int64_t bytes, back;

	if (kgb_parse_size_bytes(s, &bytes, &err) < 0)
		return;
	kgb_size_print(&out, bytes);
	int rc = kgb_parse_size_bytes(out.ptr, &back, &err);
	KGB_ASSERT(rc == 0 && back == bytes);
}

static void fuzz_numbers(const char *s)
{
	struct kgb_err err = KGB_ERR_INIT;
	int64_t whole;
	double number;
	unsigned char bytes[4];
	int rc = kgb_parse_i64(s, -1000, INT64_MAX, &whole, &err);

	KGB_ASSERT(rc < 0 || whole >= -1000);
	rc = kgb_parse_double(s, &number, &err);
	KGB_ASSERT(rc < 0 || number - number == 0);
	rc = kgb_parse_hex(s, bytes, sizeof(bytes), &err);
	KGB_ASSERT(rc < 0 || strlen(s) == 8);
}

static void fuzz_time(const char *s)
{
	struct kgb_err err = KGB_ERR_INIT;
	char text[KGB_TIME_LEN];
	int64_t ms, back;

	if (kgb_time_parse(s, &ms, &err) < 0)
		return;
	kgb_time_format(ms, text);
	int rc = kgb_time_parse(text, &back, &err);
	/* An offset may lead out of the four-digit years, where texts are clamped. */
	KGB_ASSERT(rc == 0);
	KGB_ASSERT(back == ms || strncmp(text, "0000-01-01", 10) == 0 ||
		   strncmp(text, "9999-12-31", 10) == 0);
}

static const char *lookup(const char *name, const void *payload)
{
	(void)payload;
	return name[0] == 'a' ? "{{b}}" : NULL;
}

static void fuzz_template(const char *s)
{
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(256);
	struct kgb_err err = KGB_ERR_INIT;

	kgb_buf_addc(&out, 'x');
	int rc = kgb_template_render(&out, s, lookup, NULL, &err);
	KGB_ASSERT(rc == 0 || (out.len == 1 && !out.overflowed));
}

static void fuzz_escape(const char *s, size_t len)
{
	KGB_AUTO(buf) struct kgb_buf repaired = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf escaped = KGB_BUF_INIT(0);
	char brief[KGB_BRIEF_LEN];
	size_t valid = kgb_utf8_valid(s, len);

	kgb_utf8_repair(&repaired, s, len);
	KGB_ASSERT(kgb_utf8_valid(repaired.ptr, repaired.len) == repaired.len);
	KGB_ASSERT(valid < len || repaired.len == len);
	kgb_escape(&escaped, s, len);
	KGB_ASSERT(kgb_utf8_valid(escaped.ptr, escaped.len) == escaped.len);
	for (size_t i = 0; i < escaped.len; i++)
		KGB_ASSERT((unsigned char)escaped.ptr[i] >= 0x20 && escaped.ptr[i] != 0x7f);
	kgb_brief(s, brief);
	KGB_ASSERT(strlen(brief) < KGB_BRIEF_LEN);
	KGB_ASSERT(kgb_utf8_valid(brief, strlen(brief)) == strlen(brief));
}

static void fuzz_suggest(const char *s)
{
	static const char *const names[] = {"add", "softmax", "log_softmax", "rms_norm", "a"};
	KGB_AUTO(buf) struct kgb_buf out = KGB_BUF_INIT(0);
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;

	kgb_suggest(&out, s, names, KGB_ARRAY_LEN(names));
	kgb_strv_split(&parts, s, ',');
	kgb_strv_sort(&parts);
	for (size_t i = 0; i < parts.n; i++)
		KGB_ASSERT(*parts.items[i] && !strchr(parts.items[i], ','));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	size_t len = size - 1;
	KGB_AUTO(free) char *s = kgb_xstrndup((const char *)data + 1, len);
	switch (data[0]) {
	case 'd':
		fuzz_duration(s);
		break;
	case 's':
		fuzz_size(s);
		break;
	case 'n':
		fuzz_numbers(s);
		break;
	case 't':
		fuzz_time(s);
		break;
	case '{':
		fuzz_template(s);
		break;
	case '?':
		fuzz_suggest(s);
		break;
	default:
		fuzz_escape(s, len);
		break;
	}
	return 0;
}
