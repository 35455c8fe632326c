/* SPDX-License-Identifier: MIT */
/* UTF-8 checks, repair and escaping of str.h. */
#include <string.h>

#include "base/str.h"

/* Length of the sequence and range of the second byte for a lead byte (Unicode 15, table 3-7). */
static size_t sequence_length(uint8_t lead, uint8_t *low, uint8_t *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef) {
		if (lead == 0xe0)
			*low = 0xa0;
		if (lead == 0xed)
			*high = 0x9f;
		return 3;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		if (lead == 0xf0)
			*low = 0x90;
		if (lead == 0xf4)
			*high = 0x8f;
		return 4;
	}
	return 0;
}

/* One step at s (len > 0): the length of the character there, or 0 and in *bad the bytes that one
 * U+FFFD replaces (the maximal subpart of an ill-formed sequence). */
static size_t utf8_step(const char *s, size_t len, size_t *bad)
{
	uint8_t low, high;
	size_t want = sequence_length((uint8_t)s[0], &low, &high);

	*bad = 1;
	for (size_t i = 1; i < want; i++) {
		uint8_t c = i < len ? (uint8_t)s[i] : 0;
		if (c < low || c > high) {
			*bad = i;
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return want;
}

size_t kgb_utf8_valid(const char *s, size_t len)
{
	size_t i = 0, bad;

	while (i < len) {
		uint64_t word;
		while (len - i >= sizeof(word)) {
			memcpy(&word, s + i, sizeof(word));
			if (word & UINT64_C(0x8080808080808080))
				break;
			i += sizeof(word);
		}
		if (i == len)
			break;
		size_t n = utf8_step(s + i, len - i, &bad);
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

void kgb_utf8_repair(struct kgb_buf *out, const char *s, size_t len)
{
	while (len > 0) {
		size_t good = kgb_utf8_valid(s, len), bad;
		kgb_buf_add(out, s, good);
		s += good;
		len -= good;
		if (len == 0)
			return;
		utf8_step(s, len, &bad);
		kgb_buf_adds(out, "\xef\xbf\xbd");
		s += bad;
		len -= bad;
	}
}

size_t kgb_utf8_char(const char *s, size_t *columns)
{
	const uint8_t lead = (uint8_t)*s;

	*columns = lead >= 0xe1 ? 2 : 1;
	return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

void kgb_utf8_wrap(struct kgb_buf *out, const char *s, size_t len, size_t columns, size_t indent)
{
	size_t used = 0,
	       margin = 0; /* columns of the line that is written; those before its words */

	for (size_t i = 0; i < len;) {
		const size_t start = i; /* of spaces and the word after them */
		size_t n_spaces, width = 0;
		while (i < len && s[i] == ' ')
			i++;
		n_spaces = i - start;
		while (i < len && s[i] != ' ') {
			size_t wide;
			i += kgb_utf8_char(s + i, &wide);
			width += wide;
		}
		if (n_spaces > 0 && used > margin && used + n_spaces + width > columns) {
			kgb_buf_addf(out, "\n%*s", (int)indent, "");
			margin = indent;
			used = indent + width;
			kgb_buf_add(out, s + start + n_spaces, i - start - n_spaces);
			continue;
		}
		kgb_buf_add(out, s + start, i - start);
		used += n_spaces + width;
	}
}

bool kgb_utf8_drives_terminal(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;

	if (n == 1)
		return u[0] < 0x20 || u[0] == 0x7f;
	if (n == 2)
		return (u[0] == 0xc2 && u[1] < 0xa0) || (u[0] == 0xd8 && u[1] == 0x9c);
	if (n == 3 && u[0] == 0xe2 && u[1] == 0x80)
		return u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae);
	return n == 3 && u[0] == 0xe2 && u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9;
}

static void escape_bytes(struct kgb_buf *out, const char *s, size_t n)
{
	if (n == 1 && (*s == '\n' || *s == '\t' || *s == '\r')) {
		kgb_buf_addf(out, "\\%c", *s == '\n' ? 'n' : *s == '\t' ? 't' : 'r');
		return;
	}
	for (size_t i = 0; i < n; i++)
		kgb_buf_addf(out, "\\x%02x", (unsigned)(unsigned char)s[i]);
}

void kgb_escape(struct kgb_buf *out, const char *s, size_t len)
{
	size_t plain = 0; /* bytes at s that wait to be copied */

	while (plain < len) {
		size_t bad;
		if (s[plain] >= 0x20 && s[plain] < 0x7f) {
			plain++;
			continue;
		}
		size_t n = utf8_step(s + plain, len - plain, &bad);
		if (n > 0 && !kgb_utf8_drives_terminal(s + plain, n)) {
			plain += n;
			continue;
		}
		kgb_buf_add(out, s, plain);
		n = n > 0 ? n : bad;
		escape_bytes(out, s + plain, n);
		s += plain + n;
		len -= plain + n;
		plain = 0;
	}
	kgb_buf_add(out, s, plain);
}

const char *kgb_brief(const char *s, char out[KGB_BRIEF_LEN])
{
	struct kgb_buf text = KGB_BUF_INIT(KGB_BRIEF_LEN - 4);
	size_t len = strnlen(s, KGB_BRIEF_LEN);
	size_t i = 0, bad;

	while (i < len && !text.overflowed) {
		size_t n = utf8_step(s + i, len - i, &bad);
		n = n > 0 ? n : bad;
		size_t before = text.len;
		kgb_escape(&text, s + i, n);
		if (text.overflowed)
			kgb_buf_truncate(&text, before);
		i += n;
	}
	memcpy(out, text.ptr, text.len);
	memcpy(out + text.len, text.overflowed ? "..." : "", text.overflowed ? 4 : 1);
	kgb_buf_release(&text);
	return out;
}
