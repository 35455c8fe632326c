/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "verify/ttir/ttir_reader.h"

#define DEPTH_MAX 16 /* steps from a location to the one with a file and line */

static bool starts(struct kgb_slice s, const char *text)
{
	return s.n >= strlen(text) && memcmp(s.s, text, strlen(text)) == 0;
}

static struct kgb_slice behind(struct kgb_slice s, size_t n)
{
	return n <= s.n ? (struct kgb_slice){s.s + n, s.n - n} : (struct kgb_slice){s.s, 0};
}

/* The decimal number at the start, of at most 8 digits; 0: no digit is there. */
static int number(struct kgb_slice s)
{
	int value = 0;

	for (size_t i = 0; i < s.n && i < 8 && isdigit((unsigned char)s.s[i]); i++)
		value = value * 10 + (s.s[i] - '0');
	return value;
}

/* The next location on the way to a file and line: the text of an alias, the callee of a call
 * site, the first part of a fused location. Empty: there is none. */
static struct kgb_slice nearer(struct kgb_slice s, const struct kgb_slice *aliases,
			       size_t n_aliases)
{
	if (starts(s, "#loc")) {
		size_t at = (size_t)number(behind(s, 4));
		return at < n_aliases ? aliases[at] : behind(s, s.n);
	}
	if (starts(s, "callsite("))
		return behind(s, 9);
	if (starts(s, "fused[") || starts(s, "fused<")) {
		const char *open = memchr(s.s, '[', s.n);
		return open ? behind(s, (size_t)(open - s.s) + 1) : behind(s, s.n);
	}
	return behind(s, s.n);
}

/* "file":12:3 sets the statement's file and line; "name"(other) returns the other location. */
static struct kgb_slice quoted(struct kgb_ttir_statement *statement, struct kgb_slice s)
{
	const char *close = memchr(s.s + 1, '"', s.n - 1);
	if (!close)
		return behind(s, s.n);
	struct kgb_slice name = {s.s + 1, (size_t)(close - s.s) - 1};
	struct kgb_slice rest = behind(s, name.n + 2);

	if (starts(rest, "("))
		return behind(rest, 1);
	if (!starts(rest, ":"))
		return behind(s, s.n);
	const char *slash = memrchr(name.s, '/', name.n);
	if (slash)
		name = behind(name, (size_t)(slash - name.s) + 1);
	size_t n = name.n < sizeof(statement->kernel_file) ? name.n
							   : sizeof(statement->kernel_file) - 1;
	for (size_t i = 0; i < n; i++)
		statement->kernel_file[i] = isgraph((unsigned char)name.s[i]) ? name.s[i] : '?';
	statement->kernel_line = number(behind(rest, 1));
	return behind(s, s.n);
}

#define PLACE_MAX 4096 /* characters of a location that count */

/* Adds a location with the texts of its aliases to a hash (FNV-1a). */
static void add_place(uint64_t *place, struct kgb_slice s, const struct kgb_slice *aliases,
		      size_t n_aliases, int depth, size_t *left)
{
	while (s.n > 0 && *left > 0) {
		(*left)--;
		if (depth < DEPTH_MAX && starts(s, "#loc")) {
			const size_t at = (size_t)number(behind(s, 4));
			if (at < n_aliases)
				add_place(place, aliases[at], aliases, n_aliases, depth + 1, left);
			s = behind(s, 4);
			while (s.n > 0 && isdigit((unsigned char)s.s[0]))
				s = behind(s, 1);
		} else {
			*place = (*place ^ (uint8_t)s.s[0]) * UINT64_C(0x100000001b3);
			s = behind(s, 1);
		}
	}
}

void kgb_ttir_locate(struct kgb_ttir_statement *statement, const struct kgb_slice *aliases,
		     size_t n_aliases)
{
	struct kgb_slice s = statement->location;
	size_t left = PLACE_MAX;

	statement->place = UINT64_C(0xcbf29ce484222325);
	add_place(&statement->place, s, aliases, n_aliases, 0, &left);
	for (int depth = 0; depth < DEPTH_MAX && s.n > 0; depth++)
		s = starts(s, "\"") ? quoted(statement, s) : nearer(s, aliases, n_aliases);
}
