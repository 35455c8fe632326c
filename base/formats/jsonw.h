/* SPDX-License-Identifier: MIT */
/** \file
 * Streaming JSON writer into a kgb_buf: no tree, correct escapes, exact 64-bit integers. Commas and
 * nesting are handled; misuse (value without key in an object, unbalanced end) is an assertion.
 * Strings are repaired to UTF-8.
 */
#ifndef KGB_BASE_FORMATS_JSONW_H
#define KGB_BASE_FORMATS_JSONW_H

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** Deepest nesting: room for a parsed tree (KGB_LIMIT_JSON_DEPTH) inside of this project's
 * levels. */
#define KGB_JSONW_DEPTH 128

struct kgb_jsonw {
	struct kgb_buf *out; /* borrowed */
	int indent; /* spaces per level; 0: one line */
	int depth;
	uint64_t is_object[KGB_JSONW_DEPTH / 64]; /* bit per level */
	uint64_t has_items[KGB_JSONW_DEPTH / 64]; /* bit per level */
	bool after_key;
};

void kgb_jsonw_init(struct kgb_jsonw *w, struct kgb_buf *out, int indent);
void kgb_jsonw_object(struct kgb_jsonw *w);
void kgb_jsonw_object_end(struct kgb_jsonw *w);
void kgb_jsonw_array(struct kgb_jsonw *w);
void kgb_jsonw_array_end(struct kgb_jsonw *w);
void kgb_jsonw_key(struct kgb_jsonw *w, const char *key);
void kgb_jsonw_str(struct kgb_jsonw *w, const char *s); /* NULL writes null */
void kgb_jsonw_strn(struct kgb_jsonw *w, const char *s, size_t len);
void kgb_jsonw_i64(struct kgb_jsonw *w, int64_t v);
void kgb_jsonw_num(
	struct kgb_jsonw *w,
	double v); /* shortest form that reads back equal; NaN and infinities write null */
void kgb_jsonw_bool(struct kgb_jsonw *w, bool v);
void kgb_jsonw_null(struct kgb_jsonw *w);
/** A parsed tree as a value. */
void kgb_jsonw_tree(struct kgb_jsonw *w, const cJSON *node);
/** Text that is already JSON, as a value. */
void kgb_jsonw_raw(struct kgb_jsonw *w, const char *json);

/* key + value in one call */
void kgb_jsonw_kstr(struct kgb_jsonw *w, const char *key, const char *s);
void kgb_jsonw_ki64(struct kgb_jsonw *w, const char *key, int64_t v);
void kgb_jsonw_knum(struct kgb_jsonw *w, const char *key, double v);
void kgb_jsonw_kbool(struct kgb_jsonw *w, const char *key, bool v);
void kgb_jsonw_knull(struct kgb_jsonw *w, const char *key);
/** Write a template: JSON with keys without quotes, 'literal strings', constants, and conversions
 * of printf for values: %s string (NULL writes null), %.*s string of that length, %d %u %ld %lu
 * %lld %zu integer, %+ld count (negative writes null), %g number, %hhd boolean. It may contain
 * members of the open object, and open or close an object or array that another call closes or
 * opens: kgb_jsonw_put(&w, "{op: 'load', size: %zu, args: [", size); A wrong template is an
 * assertion. */
void kgb_jsonw_put(struct kgb_jsonw *w, const char *template, ...) KGB_PRINTF(2, 3);
void kgb_jsonw_vput(struct kgb_jsonw *w, const char *template, va_list args) KGB_PRINTF(2, 0);
/** null when v < 0: an unknown count is not zero. */
void kgb_jsonw_kcount(struct kgb_jsonw *w, const char *key, int64_t v);

#endif
