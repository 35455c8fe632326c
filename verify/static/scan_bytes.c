/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <strings.h>

#include "base/limits.h"
#include "base/str.h"
#include "verify/static/scan_rules.h"

void kgb_finding__put(char *out, size_t size, const char *text)
{
	KGB_AUTO(buf) struct kgb_buf printable = KGB_BUF_INIT(0);
	kgb_escape(&printable, text, strlen(text));
	size_t len = kgb_utf8_valid(printable.ptr, printable.len < size ? printable.len : size - 1);
	memcpy(out, printable.ptr, len);
	out[len] = '\0';
}

int kgb_finding__contract(struct kgb_finding *out, enum kgb_code code, int line, const char *hint,
			  const char *fmt, ...)
{
	va_list ap;

	*out = (struct kgb_finding){.code = code, .stage = "contract", .line = line};
	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	kgb_finding__put(out->message, sizeof(out->message), text);
	kgb_finding__put(out->hint, sizeof(out->hint), hint);
	return 1;
}

static int line_of(const char *source, size_t at)
{
	int line = 1;
	for (size_t i = 0; i < at && line < INT_MAX; i++)
		line += source[i] == '\n';
	return line;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

/* Finds the encoding that a line declares by PEP 263: a comment with "coding", then ':' or '=',
 * then a name. */
static bool coding_cookie(const char *line, size_t len, const char **name, size_t *name_len)
{
	size_t i = 0;
	while (i < len && (line[i] == ' ' || line[i] == '\t' || line[i] == '\f'))
		i++;
	if (i == len || line[i] != '#')
		return false;
	for (; i + 7 <= len; i++) {
		if (memcmp(line + i, "coding", 6) != 0 ||
		    (line[i + 6] != ':' && line[i + 6] != '='))
			continue;
		size_t start = i + 7;
		while (start < len && (line[start] == ' ' || line[start] == '\t'))
			start++;
		size_t end = start;
		while (end < len && is_word(line[end]))
			end++;
		if (end > start) {
			*name = line + start;
			*name_len = end - start;
			return true;
		}
	}
	return false;
}

static bool is_utf8_name(const char *name, size_t len)
{
	static const char *const names[] = {"utf-8", "utf8", "utf_8", "u8", "ascii", "us-ascii"};
	for (size_t i = 0; i < KGB_ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0)
			return true;
	return false;
}

static int scan_cookie(const char *source, size_t len, struct kgb_finding *out)
{
	size_t start = 0;
	for (int line = 1; line <= 2 && start < len; line++) {
		const char *name = NULL;
		size_t name_len = 0, end = start;
		while (end < len && source[end] != '\n' && source[end] != '\r')
			end++;
		if (coding_cookie(source + start, end - start, &name, &name_len) &&
		    !is_utf8_name(name, name_len))
			return kgb_finding__contract(
				out, KGB_CODE_CONTRACT_ENCODING, line,
				"Save the file as UTF-8 and drop the coding line.",
				"line %d declares the encoding '%.*s'", line,
				(int)(name_len > 40 ? 40 : name_len), name);
		start = end +
			(end + 1 < len && source[end] == '\r' && source[end + 1] == '\n' ? 2 : 1);
	}
	return 0;
}

/* Characters that make an editor show other code than Python reads: U+202A..202E and U+2066..2069.
 */
static bool is_bidi(const unsigned char *s, size_t left)
{
	if (left < 3 || s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

static int scan_characters(const char *source, size_t len, struct kgb_finding *out)
{
	const unsigned char *s = (const unsigned char *)source;
	for (size_t i = 0; i < len; i++) {
		bool is_control =
			s[i] < 0x20 && s[i] != '\n' && s[i] != '\r' && s[i] != '\t' && s[i] != '\f';
		if (is_control || s[i] == 0x7f)
			return kgb_finding__contract(
				out, KGB_CODE_CONTRACT_ENCODING, line_of(source, i),
				"Remove the control character.", "control character 0x%02x", s[i]);
		if (is_bidi(s + i, len - i))
			return kgb_finding__contract(
				out, KGB_CODE_CONTRACT_ENCODING, line_of(source, i),
				"Remove the bidirectional control character.",
				"a control character for text direction, which makes code read differently from what it does");
	}
	return 0;
}

int kgb_scan_bytes(const char *source, size_t len, struct kgb_finding *out)
{
	static const char save_utf8[] = "Save the file as UTF-8 without a byte order mark.";

	if (len > KGB_LIMIT_KERNEL)
		return kgb_finding__contract(out, KGB_CODE_CONTRACT_TOO_LARGE, 0,
					     "Write a smaller file; data does not belong into it.",
					     "the file has more than %u bytes", KGB_LIMIT_KERNEL);
	if (len >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0)
		return kgb_finding__contract(out, KGB_CODE_CONTRACT_ENCODING, 1, save_utf8,
					     "the file starts with a byte order mark");
	size_t valid = kgb_utf8_valid(source, len);
	if (valid < len)
		return kgb_finding__contract(out, KGB_CODE_CONTRACT_ENCODING,
					     line_of(source, valid), save_utf8,
					     "byte %zu is not valid UTF-8", valid);
	if (scan_characters(source, len, out))
		return 1;
	size_t blank = 0;
	while (blank < len && strchr(" \t\r\n\f", source[blank]))
		blank++;
	if (blank == len)
		return kgb_finding__contract(out, KGB_CODE_CONTRACT_EMPTY, 0,
					     "Write the kernel into this file.",
					     "the file is empty");
	return scan_cookie(source, len, out);
}
