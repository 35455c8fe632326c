/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

bool kgb_str_eq(const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	return strcmp(a, b) == 0;
}

bool kgb_str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool kgb_str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool kgb_str_is_one_of(const char *word, const char *const *words)
{
	while (*words && !kgb_str_eq(word, *words))
		words++;
	return *words != NULL;
}

/* ---- nearest names ---- */

enum {
	NEAREST_LEN = 64, /* longer words are not compared */
	SUGGESTIONS = 3,
	SCORE_EDIT = 10, /* per edit; a shared prefix ranks between one and two edits */
	SCORE_PREFIX = 15,
	SCORE_PREFIX_REVERSED = 18,
	SCORE_SUBSTRING = 25,
	SCORE_NONE = 1000,
};

static int min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

static char lower(char c)
{
	return (char)tolower((unsigned char)c);
}

/* Damerau-Levenshtein (optimal string alignment), blind to case: inserts, deletes, replacements,
 * swaps of neighbours. */
static int edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	int rows[3][NEAREST_LEN + 1] = {0};
	int *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= m; j++)
		above[j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			char x = lower(a[i - 1]), y = lower(b[j - 1]);
			row[j] = min3(row[j - 1] + 1, above[j] + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
				row[j] = min3(row[j], before[j - 2] + 1, row[j]);
		}
		int *spare = before;
		before = above;
		above = row;
		row = spare;
	}
	return above[m];
}

static int name_score(const char *word, const char *name)
{
	size_t n = strlen(word), m = strlen(name);
	int score = SCORE_NONE;

	if (n == 0 || m == 0 || n > NEAREST_LEN || m > NEAREST_LEN)
		return SCORE_NONE;
	int distance = edit_distance(word, n, name, m);
	int longest = (int)(n > m ? n : m);
	if (distance <= (longest > 2 ? (longest + 2) / 4 : 1) && distance < longest)
		score = distance * SCORE_EDIT;
	if (n >= 2 && strncasecmp(word, name, n) == 0)
		score = score < SCORE_PREFIX ? score : SCORE_PREFIX;
	else if (m >= 3 && strncasecmp(word, name, m) == 0)
		score = score < SCORE_PREFIX_REVERSED ? score : SCORE_PREFIX_REVERSED;
	else if (n >= 3 && strcasestr(name, word))
		score = score < SCORE_SUBSTRING ? score : SCORE_SUBSTRING;
	return score;
}

size_t kgb_nearest(const char *word, const char *const *names, size_t n_names, const char **out,
		   size_t max_out)
{
	KGB_AUTO(free) int *scores = kgb_xcalloc(max_out, sizeof(*scores));
	size_t n = 0;

	for (size_t i = 0; i < n_names; i++) {
		int score = name_score(word, names[i]);
		if (score >= SCORE_NONE)
			continue;
		/* Insertion into the short sorted list; equal scores keep the order of `names`. */
		size_t at = n;
		while (at > 0 && scores[at - 1] > score)
			at--;
		if (at >= max_out)
			continue;
		if (n < max_out)
			n++;
		for (size_t k = n - 1; k > at; k--) {
			scores[k] = scores[k - 1];
			out[k] = out[k - 1];
		}
		scores[at] = score;
		out[at] = names[i];
	}
	return n;
}

void kgb_suggest(struct kgb_buf *out, const char *word, const char *const *names, size_t n_names)
{
	const char *near[SUGGESTIONS];
	size_t n = kgb_nearest(word, names, n_names, near, SUGGESTIONS);

	for (size_t i = 0; i < n; i++) {
		const char *glue = i == 0 ? "; did you mean " : i + 1 == n ? " or " : ", ";
		kgb_buf_addf(out, "%s'%s'", glue, near[i]);
	}
	if (n > 0)
		kgb_buf_addc(out, '?');
}

/* ---- templates ---- */

static int line_of(const char *text, const char *at)
{
	int line = 1;

	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	return line;
}

static bool is_placeholder_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !memchr("_.-", s[i], 3))
			return false;
	return len > 0;
}

enum { SECTIONS_MAX = 8 }; /* in each other */

/* The text between "{{" and "}}". */
struct tag {
	const char *open, *next; /* its first character, and the first one behind it */
	char kind; /* '#', '^' or '/' of a section; 0: a placeholder */
	char *name;
};

/* The state of rendering, with the open sections. */
struct rendering {
	const char *text;
	const char *(*lookup)(const char *name, const void *payload);
	const void *payload;
	struct kgb_buf *out;
	struct {
		char *name;
		const char *open;
		bool is_shown;
	} sections[SECTIONS_MAX];
	size_t n_sections;
};

/* A tag of a section that has a line to itself takes the line with it. */
static const char *behind_tag(const char *text, const char *open, const char *close)
{
	const bool is_alone = (open == text || open[-1] == '\n') && close[2] == '\n';

	return close + 2 + is_alone;
}

static int read_tag(const char *text, const char *open, struct tag *out, struct kgb_err *err)
{
	const char *name = open + 2;
	const char *close = strstr(name, "}}");
	char shown[KGB_BRIEF_LEN];

	if (!close)
		return kgb_fail(err, KGB_ERR_INVALID, "template line %d: '{{' without '}}'",
				line_of(text, open));
	*out = (struct tag){.open = open, .next = close + 2};
	if (*name && strchr("#^/", *name)) {
		out->kind = *name++;
		out->next = behind_tag(text, open, close);
	}
	const char *end = close;
	while (name < end && *name == ' ')
		name++;
	while (end > name && end[-1] == ' ')
		end--;
	out->name = kgb_xstrndup(name, (size_t)(end - name));
	if (is_placeholder_name(out->name, strlen(out->name)))
		return 0;
	kgb_fail(err, KGB_ERR_INVALID, "template line %d: '%s' is not a placeholder name",
		 line_of(text, open), kgb_brief(out->name, shown));
	kgb_free(out->name);
	return -1;
}

static bool is_shown(const struct rendering *t)
{
	return t->n_sections == 0 || t->sections[t->n_sections - 1].is_shown;
}

static int end_section(struct rendering *t, const struct tag *tag, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];

	if (t->n_sections == 0 || strcmp(t->sections[t->n_sections - 1].name, tag->name) != 0)
		return kgb_fail(err, KGB_ERR_INVALID, "template line %d: '{{/%s}}' ends no section",
				line_of(t->text, tag->open), kgb_brief(tag->name, shown));
	kgb_free(t->sections[--t->n_sections].name);
	return 0;
}

static int begin_section(struct rendering *t, const struct tag *tag, bool is_set,
			 struct kgb_err *err)
{
	if (t->n_sections == SECTIONS_MAX)
		return kgb_fail(err, KGB_ERR_INVALID,
				"template line %d: more than %d sections in each other",
				line_of(t->text, tag->open), SECTIONS_MAX);
	const bool shown = is_shown(t) && is_set == (tag->kind == '#');
	t->sections[t->n_sections].name = kgb_xstrdup(tag->name);
	t->sections[t->n_sections].open = tag->open;
	t->sections[t->n_sections++].is_shown = shown;
	return 0;
}

static int render_tag(struct rendering *t, const struct tag *tag, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];

	if (tag->kind == '/')
		return end_section(t, tag, err);
	const char *value = t->lookup(tag->name, t->payload);
	if (!value)
		return kgb_fail(err, KGB_ERR_INVALID,
				"template line %d: unknown placeholder '{{%s}}'",
				line_of(t->text, tag->open), kgb_brief(tag->name, shown));
	if (tag->kind)
		return begin_section(t, tag, value[0] != '\0', err);
	if (is_shown(t))
		kgb_buf_adds(t->out, value);
	return 0;
}

static int render(struct rendering *t, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];
	const char *p = t->text;

	for (;;) {
		struct tag tag = {0};
		KGB_ASSERT(p);
		const char *open = strstr(p, "{{");
		if (is_shown(t))
			kgb_buf_add(t->out, p, open ? (size_t)(open - p) : strlen(p));
		if (!open)
			break;
		if (read_tag(t->text, open, &tag, err) < 0)
			return -1;
		const int rc = render_tag(t, &tag, err);
		kgb_free(tag.name);
		if (rc < 0)
			return -1;
		p = tag.next;
	}
	if (t->n_sections == 0)
		return 0;
	return kgb_fail(err, KGB_ERR_INVALID, "template line %d: the section '%s' does not end",
			line_of(t->text, t->sections[t->n_sections - 1].open),
			kgb_brief(t->sections[t->n_sections - 1].name, shown));
}

int kgb_template_render(struct kgb_buf *out, const char *tmpl,
			const char *(*lookup)(const char *name, const void *payload),
			const void *payload, struct kgb_err *err)
{
	struct rendering t = {.text = tmpl, .lookup = lookup, .payload = payload, .out = out};
	size_t start = out->len;
	bool overflowed_before = out->overflowed;

	out->overflowed = false;
	int rc = render(&t, err);
	bool too_large = out->overflowed;
	out->overflowed = overflowed_before;
	while (t.n_sections > 0)
		kgb_free(t.sections[--t.n_sections].name);
	if (rc == 0 && too_large)
		rc = kgb_fail(err, KGB_ERR_LIMIT, "rendered template is larger than %zu bytes",
			      out->limit);
	if (rc < 0)
		kgb_buf_truncate(out, start);
	return rc;
}

/* ---- arrays of strings ---- */

static void strv_push(struct kgb_strv *v, char *take_s)
{
	KGB_VEC_GROW(v, 2);
	v->items[v->n++] = take_s;
	v->items[v->n] = NULL;
}

void kgb_strv_add(struct kgb_strv *v, const char *s)
{
	strv_push(v, kgb_xstrdup(s));
}

void kgb_strv_addf(struct kgb_strv *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *s = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	strv_push(v, s);
}

void kgb_strv_add_all(struct kgb_strv *v, const char *const *list)
{
	for (; list && *list; list++)
		kgb_strv_add(v, *list);
}

void kgb_strv_split(struct kgb_strv *v, const char *s, char sep)
{
	for (;;) {
		const char *end = strchrnul(s, sep);
		const char *from = s, *to = end;
		while (from < to && isspace((unsigned char)*from))
			from++;
		while (to > from && isspace((unsigned char)to[-1]))
			to--;
		if (to > from)
			strv_push(v, kgb_xstrndup(from, (size_t)(to - from)));
		if (!*end)
			return;
		s = end + 1;
	}
}

bool kgb_strv_has(const struct kgb_strv *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->items[i], s) == 0)
			return true;
	return false;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void kgb_strv_sort(struct kgb_strv *v)
{
	if (v->n > 1)
		qsort(v->items, v->n, sizeof(*v->items), compare_strings);
}

void kgb_strv_release(struct kgb_strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		kgb_free(v->items[i]);
	kgb_free(v->items);
	*v = (struct kgb_strv)KGB_STRV_INIT;
}

void kgb_auto_strv(struct kgb_strv *v)
{
	kgb_strv_release(v);
}
