/* SPDX-License-Identifier: MIT */
#include "base/formats/jsonw.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"

static bool level_bit(const uint64_t *bits, int level)
{
	return bits[level / 64] >> (level % 64) & 1;
}

static void set_level_bit(uint64_t *bits, int level, bool on)
{
	uint64_t mask = UINT64_C(1) << (level % 64);

	bits[level / 64] = on ? bits[level / 64] | mask : bits[level / 64] & ~mask;
}

void kgb_jsonw_init(struct kgb_jsonw *w, struct kgb_buf *out, int indent)
{
	*w = (struct kgb_jsonw){.out = out, .indent = indent};
}

static void newline(struct kgb_jsonw *w)
{
	if (w->indent == 0)
		return;
	kgb_buf_addc(w->out, '\n');
	for (int i = 0; i < w->depth * w->indent; i++)
		kgb_buf_addc(w->out, ' ');
}

/* Comma and line break before an item of the current level. */
static void separate(struct kgb_jsonw *w)
{
	if (level_bit(w->has_items, w->depth))
		kgb_buf_addc(w->out, ',');
	set_level_bit(w->has_items, w->depth, true);
	if (w->depth > 0)
		newline(w);
}

static void before_value(struct kgb_jsonw *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	/* In an object a value needs its key; outside of everything there is one value. */
	KGB_ASSERT(!level_bit(w->is_object, w->depth));
	KGB_ASSERT(w->depth > 0 || !level_bit(w->has_items, 0));
	separate(w);
}

static void begin(struct kgb_jsonw *w, bool is_object)
{
	before_value(w);
	KGB_ASSERT(w->depth + 1 < KGB_JSONW_DEPTH);
	w->depth++;
	set_level_bit(w->is_object, w->depth, is_object);
	set_level_bit(w->has_items, w->depth, false);
	kgb_buf_addc(w->out, is_object ? '{' : '[');
}

static void end(struct kgb_jsonw *w, bool is_object)
{
	KGB_ASSERT(w->depth > 0 && !w->after_key);
	KGB_ASSERT(level_bit(w->is_object, w->depth) == is_object);
	bool has_items = level_bit(w->has_items, w->depth);
	w->depth--;
	if (has_items)
		newline(w);
	kgb_buf_addc(w->out, is_object ? '}' : ']');
}

void kgb_jsonw_object(struct kgb_jsonw *w)
{
	begin(w, true);
}

void kgb_jsonw_object_end(struct kgb_jsonw *w)
{
	end(w, true);
}

void kgb_jsonw_array(struct kgb_jsonw *w)
{
	begin(w, false);
}

void kgb_jsonw_array_end(struct kgb_jsonw *w)
{
	end(w, false);
}

/* A character of n bytes. */
static void escape_char(struct kgb_buf *out, const char *s, size_t n)
{
	static const char codes[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *known = strchr(codes, *s);
	const unsigned char *u = (const unsigned char *)s;

	if (*s != '\0' && known)
		kgb_buf_addf(out, "\\%c", letters[known - codes]);
	else
		kgb_buf_addf(out, "\\u%04x",
			     n == 1   ? u[0]
			     : n == 2 ? (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu)
				      : (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu));
}

/* Whether a character may need an escape, by its first byte; C1 begins with c2, direction marks
 * with d8 or e2. */
static bool may_need_escape(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\' || c == 0x7f || c == 0xc2 || c == 0xd8 ||
	       c == 0xe2;
}

/* s must be valid UTF-8. Escape characters that would control a terminal that shows the
 * document. */
static void put_escaped(struct kgb_buf *out, const char *s, size_t len)
{
	size_t plain = 0;

	for (size_t i = 0; i < len; i++) {
		if (!may_need_escape((unsigned char)s[i]))
			continue;
		size_t columns, n = kgb_utf8_char(s + i, &columns);
		if (s[i] != '"' && s[i] != '\\' && !kgb_utf8_drives_terminal(s + i, n))
			continue;
		kgb_buf_add(out, s + plain, i - plain);
		escape_char(out, s + i, n);
		i += n - 1;
		plain = i + 1;
	}
	kgb_buf_add(out, s + plain, len - plain);
}

static void put_string(struct kgb_buf *out, const char *s, size_t len)
{
	kgb_buf_addc(out, '"');
	if (kgb_utf8_valid(s, len) == len) {
		put_escaped(out, s, len);
	} else {
		struct kgb_buf repaired = KGB_BUF_INIT(0);
		kgb_utf8_repair(&repaired, s, len);
		put_escaped(out, repaired.ptr, repaired.len);
		kgb_buf_release(&repaired);
	}
	kgb_buf_addc(out, '"');
}

void kgb_jsonw_key(struct kgb_jsonw *w, const char *key)
{
	KGB_ASSERT(level_bit(w->is_object, w->depth) && !w->after_key);
	separate(w);
	put_string(w->out, key, strlen(key));
	kgb_buf_adds(w->out, w->indent ? ": " : ":");
	w->after_key = true;
}

void kgb_jsonw_strn(struct kgb_jsonw *w, const char *s, size_t len)
{
	before_value(w);
	put_string(w->out, s, len);
}

void kgb_jsonw_str(struct kgb_jsonw *w, const char *s)
{
	if (s)
		kgb_jsonw_strn(w, s, strlen(s));
	else
		kgb_jsonw_null(w);
}

void kgb_jsonw_i64(struct kgb_jsonw *w, int64_t v)
{
	before_value(w);
	kgb_buf_addf(w->out, "%" PRId64, v);
}

void kgb_jsonw_num(struct kgb_jsonw *w, double v)
{
	char text[KGB_JSON_NUM_LEN];

	kgb_jsonw_raw(w, isfinite(v) ? kgb_json_format_num(v, text) : "null");
}

void kgb_jsonw_bool(struct kgb_jsonw *w, bool v)
{
	kgb_jsonw_raw(w, v ? "true" : "false");
}

void kgb_jsonw_null(struct kgb_jsonw *w)
{
	kgb_jsonw_raw(w, "null");
}

void kgb_jsonw_raw(struct kgb_jsonw *w, const char *json)
{
	before_value(w);
	kgb_buf_adds(w->out, json);
}

static void tree_number(struct kgb_jsonw *w, const cJSON *node)
{
	const char *text = node->valuestring; /* trees of yaml.h keep the text */

	if (text && kgb_json_is_number(text, strlen(text)))
		kgb_jsonw_raw(w, text);
	else
		kgb_jsonw_num(w, node->valuedouble);
}

void kgb_jsonw_tree(struct kgb_jsonw *w, const cJSON *node)
{
	const cJSON *child;

	if (cJSON_IsObject(node) || cJSON_IsArray(node)) {
		begin(w, cJSON_IsObject(node) != 0);
		cJSON_ArrayForEach(child, node) {
			if (cJSON_IsObject(node))
				kgb_jsonw_key(w, child->string);
			kgb_jsonw_tree(w, child);
		}
		end(w, cJSON_IsObject(node) != 0);
	} else if (cJSON_IsNumber(node)) {
		tree_number(w, node);
	} else if (cJSON_IsString(node)) {
		kgb_jsonw_str(w, node->valuestring);
	} else if (cJSON_IsBool(node)) {
		kgb_jsonw_bool(w, cJSON_IsTrue(node) != 0);
	} else {
		kgb_jsonw_null(w);
	}
}

void kgb_jsonw_kstr(struct kgb_jsonw *w, const char *key, const char *s)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_str(w, s);
}

void kgb_jsonw_ki64(struct kgb_jsonw *w, const char *key, int64_t v)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_i64(w, v);
}

void kgb_jsonw_knum(struct kgb_jsonw *w, const char *key, double v)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_num(w, v);
}

void kgb_jsonw_kbool(struct kgb_jsonw *w, const char *key, bool v)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_bool(w, v);
}

void kgb_jsonw_knull(struct kgb_jsonw *w, const char *key)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_null(w);
}

void kgb_jsonw_kcount(struct kgb_jsonw *w, const char *key, int64_t v)
{
	kgb_jsonw_key(w, key);
	if (v < 0)
		kgb_jsonw_null(w);
	else
		kgb_jsonw_i64(w, v);
}

/* ---- templates ---- */

enum { TEMPLATE_KEY_MAX = 64 };
_Static_assert(sizeof(long) == sizeof(int64_t) && sizeof(size_t) == sizeof(int64_t),
	       "%ld, %lld and %zu take 64 bits");

/* Write the argument of the conversion that stands behind its '%'; returns the text behind it. */
static const char *put_argument(struct kgb_jsonw *w, const char *conversion, va_list *args)
{
	if (kgb_str_starts(conversion, ".*s")) {
		size_t len = (size_t)va_arg(*args, int);
		kgb_jsonw_strn(w, va_arg(*args, const char *), len);
		return conversion + 3;
	}
	const bool is_count = *conversion == '+';
	const size_t n = strspn(conversion += is_count, "hlz");
	const char type = conversion[n];
	int64_t v;

	if (type == 's') {
		kgb_jsonw_str(w, va_arg(*args, const char *));
	} else if (type == 'g') {
		kgb_jsonw_num(w, va_arg(*args, double));
	} else if (*conversion == 'h') {
		kgb_jsonw_bool(w, va_arg(*args, int) != 0);
	} else {
		if (n > 0)
			v = va_arg(*args, int64_t);
		else
			v = type == 'u' ? (int64_t)va_arg(*args, unsigned) : va_arg(*args, int);
		KGB_ASSERT(type == 'd' || (type == 'u' && v >= 0));
		if (is_count && v < 0)
			kgb_jsonw_null(w);
		else
			kgb_jsonw_i64(w, v);
	}
	return conversion + n + 1;
}

/* Write a key, a number or the name of a constant. */
static const char *put_word(struct kgb_jsonw *w, const char *word)
{
	const size_t len = strcspn(word, ":,{}[] ");
	char text[TEMPLATE_KEY_MAX];

	KGB_ASSERT(len > 0 && len < sizeof(text));
	memcpy(text, word, len);
	text[len] = '\0';
	if (word[len] == ':') {
		kgb_jsonw_key(w, text);
		return word + len + 1;
	}
	KGB_ASSERT(kgb_str_eq(text, "null") || kgb_str_eq(text, "true") ||
		   kgb_str_eq(text, "false") || kgb_json_is_number(text, len));
	kgb_jsonw_raw(w, text);
	return word + len;
}

static const char *put_token(struct kgb_jsonw *w, const char *at, va_list *args)
{
	const char *quote = strchr(at + 1, '\'');

	switch (*at) {
	case ' ':
	case ',':
		return at + 1;
	case '{':
	case '[':
		begin(w, *at == '{');
		return at + 1;
	case '}':
	case ']':
		end(w, *at == '}');
		return at + 1;
	case '%':
		return put_argument(w, at + 1, args);
	case '\'':
		KGB_ASSERT(quote);
		kgb_jsonw_strn(w, at + 1, (size_t)(quote - at - 1));
		return quote + 1;
	default:
		return put_word(w, at);
	}
}

void kgb_jsonw_vput(struct kgb_jsonw *w, const char *template, va_list args)
{
	va_list rest;

	va_copy(rest, args);
	while (*template)
		template = put_token(w, template, &rest);
	va_end(rest);
}

void kgb_jsonw_put(struct kgb_jsonw *w, const char *template, ...)
{
	va_list args;

	va_start(args, template);
	kgb_jsonw_vput(w, template, args);
	va_end(args);
}
