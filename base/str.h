/* SPDX-License-Identifier: MIT */
/** \file
 * String helpers: checked number parsing with units, UTF-8, nearest-name suggestions, escaping.
 */
#ifndef KGB_BASE_STR_H
#define KGB_BASE_STR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

bool kgb_str_eq(const char *a, const char *b); /* NULL equals NULL only */
bool kgb_str_starts(const char *s, const char *prefix);
bool kgb_str_ends(const char *s, const char *suffix);
/** Whether a word, which may be NULL, is in a list that NULL ends. */
bool kgb_str_is_one_of(const char *word, const char *const *words);

/** A whole decimal number within [min, max]; no blanks, no trailing text. */
KGB_MUST_CHECK int kgb_parse_i64(const char *s, int64_t min, int64_t max, int64_t *out,
				 struct kgb_err *err);
/** "90s", "1500ms", "10m", "2h", "30d" -> milliseconds. A bare number is an error (KGB_ERR_INVALID
 * names the units). */
KGB_MUST_CHECK int kgb_parse_duration_ms(const char *s, int64_t *out_ms, struct kgb_err *err);
/** "512", "64KiB", "10MiB", "2GiB", also KB/MB/GB (decimal) -> bytes. */
KGB_MUST_CHECK int kgb_parse_size_bytes(const char *s, int64_t *out_bytes, struct kgb_err *err);
/** Append the shortest exact form that the two functions above read back: "90s", "64KiB". Values
 * must not be negative. */
void kgb_duration_print(struct kgb_buf *out, int64_t ms);
void kgb_size_print(struct kgb_buf *out, int64_t bytes);
/** A finite double, whole string. */
KGB_MUST_CHECK int kgb_parse_double(const char *s, double *out, struct kgb_err *err);
KGB_MUST_CHECK int kgb_parse_hex(const char *s, void *out, size_t len,
				 struct kgb_err *err); /* exactly 2*len digits */

/** Length of the valid UTF-8 prefix of [s, s+len); equal to len when all of it is valid (no
 * surrogates, no overlong forms). */
size_t kgb_utf8_valid(const char *s, size_t len);
/** Append s to out with each invalid sequence replaced by U+FFFD. */
void kgb_utf8_repair(struct kgb_buf *out, const char *s, size_t len);
/** Bytes of the character at s, which is valid UTF-8, and the columns that it takes on a terminal:
 * two for all scripts of which some characters are wide, so never fewer than it takes. */
size_t kgb_utf8_char(const char *s, size_t *columns);
/** Whether a character, which has n bytes, moves the cursor or turns the reading direction: C0,
 * DEL, C1, line and paragraph separators and the bidirectional controls (LRM, RLM, ALM, LRE..RLO,
 * LRI..PDI). */
bool kgb_utf8_drives_terminal(const char *s, size_t n);
/** Append s, which is valid UTF-8, with spaces replaced by line breaks so that words stay whole and
 * lines have at most `columns` columns; a longer word has a separate line. Lines after the first
 * are indented by `indent` spaces. */
void kgb_utf8_wrap(struct kgb_buf *out, const char *s, size_t len, size_t columns, size_t indent);
/** Append s with control characters, direction marks and invalid UTF-8 as \xNN (newline, tab and
 * return as \n, \t, \r), so that a child's text cannot drive a terminal. Only for people:
 * backslashes are not doubled, so it cannot be undone. */
void kgb_escape(struct kgb_buf *out, const char *s, size_t len);
/** s escaped and cut to fit between quotes in a one-line message, "..." marking the cut; returns
 * out. */
#define KGB_BRIEF_LEN 64
const char *kgb_brief(const char *s, char out[KGB_BRIEF_LEN]);

/** Up to `max_out` names nearest to `word` by edit distance (Damerau-Levenshtein, or sharing a
 * prefix/substring), best first; returns how many. Names are borrowed pointers. */
size_t kgb_nearest(const char *word, const char *const *names, size_t n_names, const char **out,
		   size_t max_out);
/** Append "; did you mean 'a' or 'b'?" if some name is near. */
void kgb_suggest(struct kgb_buf *out, const char *word, const char *const *names, size_t n_names);

/** {{name}} template: every placeholder is looked up through `lookup` (NULL = unknown = error
 * naming it and its line). Inserted text is not re-scanned. Names are of [A-Za-z0-9_.-]; blanks
 * around are fine. The text between {{#name}} and {{/name}} is left out if the value of name is
 * empty, that between {{^name}} and {{/name}} if it is not; such a tag alone on a line takes the
 * line with it. LIMIT when the text does not fit into out. A failure appends nothing. */
KGB_MUST_CHECK int kgb_template_render(struct kgb_buf *out, const char *tmpl,
				       const char *(*lookup)(const char *name, const void *payload),
				       const void *payload, struct kgb_err *err);

/** Dynamic array of owned strings. */
struct kgb_strv {
	char **items; /* NULL-terminated when n > 0 */
	size_t n;
	size_t cap;
};
#define KGB_STRV_INIT \
	{             \
		0     \
	}
void kgb_strv_add(struct kgb_strv *v, const char *s);
void kgb_strv_addf(struct kgb_strv *v, const char *fmt, ...) KGB_PRINTF(2, 3);
/** Add all of a NULL-terminated list; NULL adds nothing. */
void kgb_strv_add_all(struct kgb_strv *v, const char *const *list);
/** Add these strings: KGB_STRV_ADD(&argv, "--chdir", dir); */
#define KGB_STRV_ADD(v, ...) kgb_strv_add_all((v), (const char *const[]){__VA_ARGS__, NULL})
/** Split at `sep`, dropping blanks around and empty parts. */
void kgb_strv_split(struct kgb_strv *v, const char *s, char sep);
bool kgb_strv_has(const struct kgb_strv *v, const char *s);
void kgb_strv_sort(struct kgb_strv *v);
void kgb_strv_release(struct kgb_strv *v);
void kgb_auto_strv(struct kgb_strv *v);

#endif
