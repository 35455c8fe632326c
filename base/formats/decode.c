/* SPDX-License-Identifier: MIT */
#include "base/formats/decode.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/formats/json.h"
#include "base/str.h"

/* The place in the document: a list from the innermost place outwards, on the stack. */
struct place {
	const struct place *up;
	const char *name; /* NULL: the element `index` of a list */
	size_t index;
};

struct decoder {
	const struct kgb_yaml *doc;
	struct kgb_arena *arena;
	struct kgb_err *err;
	struct kgb_faults *faults; /* NULL: the first error is the end */
};

static int decode_table(struct decoder *d, const struct place *place, const struct kgb_field *table,
			const cJSON *node, void *out);

static void *slot_of(const struct kgb_field *field, void *out)
{
	return (char *)out + field->offset;
}

/* ---- messages ---- */

static void add_place(struct kgb_buf *out, const struct place *place)
{
	if (!place)
		return;
	add_place(out, place->up);
	if (place->name)
		kgb_buf_addf(out, "%s%s", place->up ? "." : "", place->name);
	else
		kgb_buf_addf(out, "[%zu]", place->index);
}

/* "file:12:9: limits.wall: <message>" */
KGB_PRINTF(4, 5)
static int fail_at(const struct decoder *d, const struct place *place, const cJSON *node,
		   const char *fmt, ...)
{
	KGB_AUTO(buf) struct kgb_buf where = KGB_BUF_INIT(0);
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	add_place(&where, place);
	return kgb_yaml_fail(d->doc, node, d->err, "%s%s%s", where.ptr, place ? ": " : "", text);
}

/* The description of each type, and its size in the struct; an OBJECT has that of its members. */
static const struct {
	const char *wanted;
	size_t size;
} types[] = {
	[KGB_FIELD_BOOL] = {"true or false", sizeof(bool)},
	[KGB_FIELD_I64] = {"a whole number", sizeof(int64_t)},
	[KGB_FIELD_NUM] = {"a number", sizeof(double)},
	[KGB_FIELD_STR] = {"text", sizeof(char *)},
	[KGB_FIELD_DURATION] = {"a duration such as 90s or 10m", sizeof(int64_t)},
	[KGB_FIELD_SIZE] = {"a size such as 64MiB", sizeof(int64_t)},
	[KGB_FIELD_ENUM] = {"one of the known names", sizeof(int)},
	[KGB_FIELD_STRS] = {"a list of texts", sizeof(struct kgb_strs)},
	[KGB_FIELD_MAP] = {"a mapping", sizeof(struct kgb_field_map)},
	[KGB_FIELD_OBJECT] = {"a mapping", 0},
	[KGB_FIELD_OBJECTS] = {"a list of mappings", sizeof(struct kgb_objects)},
	[KGB_FIELD_NODE] = {"text", sizeof(cJSON *)},
};

static int fail_type(const struct decoder *d, const struct place *place, enum kgb_field_type wanted,
		     const cJSON *node)
{
	if (cJSON_IsNull(node))
		return fail_at(d, place, node, "needs a value: %s", types[wanted].wanted);
	const char *have = cJSON_IsObject(node)  ? "a mapping"
			   : cJSON_IsArray(node) ? "a list"
						 : "a single value";
	return fail_at(d, place, node, "must be %s, not %s", types[wanted].wanted, have);
}

/* ---- scalars from text ---- */

static void add_limit(struct kgb_buf *out, const struct kgb_field *field, int64_t value)
{
	if (field->type == KGB_FIELD_DURATION)
		kgb_duration_print(out, value);
	else if (field->type == KGB_FIELD_SIZE)
		kgb_size_print(out, value);
	else
		kgb_buf_addf(out, "%" PRId64, value);
}

static bool has_max(const struct kgb_field *field)
{
	return field->max != 0 || field->min < 0;
}

static int check_range(const struct kgb_field *field, const char *text, bool below, bool above,
		       struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf limits = KGB_BUF_INIT(0);
	char shown[KGB_BRIEF_LEN];

	if (field->min == 0 && field->max == 0)
		return 0;
	if (!below && !(above && has_max(field)))
		return 0;
	kgb_buf_adds(&limits, has_max(field) ? "" : "at least ");
	add_limit(&limits, field, field->min);
	if (has_max(field)) {
		kgb_buf_adds(&limits, " to ");
		add_limit(&limits, field, field->max);
	}
	return kgb_fail(err, KGB_ERR_INVALID, "'%s' is out of range: must be %s",
			kgb_brief(text, shown), limits.ptr);
}

static int set_whole(const struct kgb_field *field, const char *text, void *slot,
		     struct kgb_err *err)
{
	int64_t value = 0;
	int rc;

	if (field->type == KGB_FIELD_DURATION)
		rc = kgb_parse_duration_ms(text, &value, err);
	else if (field->type == KGB_FIELD_SIZE)
		rc = kgb_parse_size_bytes(text, &value, err);
	else
		rc = kgb_parse_i64(text, INT64_MIN, INT64_MAX, &value, err);
	if (rc < 0)
		return -1;
	bool below = value < field->min;
	bool above = value > field->max;
	if (check_range(field, text, below, above, err) < 0)
		return -1;
	memcpy(slot, &value, sizeof(value));
	return 0;
}

static int set_num(const struct kgb_field *field, const char *text, void *slot, struct kgb_err *err)
{
	double value;

	if (kgb_parse_double(text, &value, err) < 0)
		return -1;
	bool below = value < (double)field->min;
	bool above = value > (double)field->max;
	if (check_range(field, text, below, above, err) < 0)
		return -1;
	memcpy(slot, &value, sizeof(value));
	return 0;
}

static int set_bool(const char *text, void *slot, struct kgb_err *err)
{
	char shown[KGB_BRIEF_LEN];
	bool value = strcmp(text, "true") == 0;

	if (!value && strcmp(text, "false") != 0)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' must be true or false",
				kgb_brief(text, shown));
	memcpy(slot, &value, sizeof(value));
	return 0;
}

static int set_enum(const struct kgb_field *field, const char *text, void *slot,
		    struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	char shown[KGB_BRIEF_LEN];
	int n = 0;

	for (; field->names[n]; n++) {
		if (strcmp(field->names[n], text) == 0) {
			memcpy(slot, &n, sizeof(n));
			return 0;
		}
		kgb_buf_addf(&hint, "%s%s", n ? ", " : "", field->names[n]);
	}
	kgb_suggest(&hint, text, field->names, (size_t)n);
	return kgb_fail(err, KGB_ERR_INVALID, "'%s' is not one of %s", kgb_brief(text, shown),
			hint.ptr);
}

static int set_scalar(const struct kgb_field *field, const char *text, void *slot,
		      struct kgb_arena *arena, struct kgb_err *err)
{
	switch (field->type) {
	case KGB_FIELD_BOOL:
		return set_bool(text, slot, err);
	case KGB_FIELD_I64:
	case KGB_FIELD_DURATION:
	case KGB_FIELD_SIZE:
		return set_whole(field, text, slot, err);
	case KGB_FIELD_NUM:
		return set_num(field, text, slot, err);
	case KGB_FIELD_ENUM:
		return set_enum(field, text, slot, err);
	case KGB_FIELD_STR:
		*(const char **)slot = kgb_arena_strdup(arena, text);
		return 0;
	case KGB_FIELD_STRS:
	case KGB_FIELD_MAP:
	case KGB_FIELD_OBJECT:
	case KGB_FIELD_OBJECTS:
	case KGB_FIELD_NODE:
		break;
	}
	KGB_UNREACHABLE();
}

/* A scalar node as it was written; trees that did not come from YAML have numbers without text.
 * NULL: no scalar. */
static const char *scalar_text(const cJSON *node, char number[KGB_JSON_NUM_LEN])
{
	if (cJSON_IsString(node) || (cJSON_IsNumber(node) && node->valuestring))
		return node->valuestring;
	if (cJSON_IsBool(node))
		return cJSON_IsTrue(node) ? "true" : "false";
	if (!cJSON_IsNumber(node))
		return NULL;
	int64_t whole = kgb_json_i64(node, "", INT64_MIN);
	if (whole == INT64_MIN)
		return kgb_json_format_num(node->valuedouble, number);
	snprintf(number, KGB_JSON_NUM_LEN, "%" PRId64, whole);
	return number;
}

/* ---- values ---- */

static int decode_scalar(struct decoder *d, const struct place *place,
			 const struct kgb_field *field, const cJSON *node, void *slot)
{
	char number[KGB_JSON_NUM_LEN];
	const char *text = scalar_text(node, number);
	struct kgb_err inner = KGB_ERR_INIT;

	if (cJSON_IsNull(node) && field->type == KGB_FIELD_STR && !field->required) {
		*(const char **)slot = NULL;
		return 0;
	}
	if (!text)
		return fail_type(d, place, field->type, node);
	if (set_scalar(field, text, slot, d->arena, &inner) < 0)
		return fail_at(d, place, node, "%s", inner.msg);
	return 0;
}

static int decode_strs(struct decoder *d, const struct place *place, const cJSON *node,
		       struct kgb_strs *out)
{
	struct kgb_strs list = {0};
	const cJSON *item;

	if (!cJSON_IsArray(node) && !cJSON_IsNull(node))
		return fail_type(d, place, KGB_FIELD_STRS, node);
	list.n = (size_t)cJSON_GetArraySize(node);
	list.items = kgb_arena_array(d->arena, list.n, sizeof(*list.items));
	size_t i = 0;
	cJSON_ArrayForEach(item, node) {
		struct place at = {.up = place, .index = i};
		char number[KGB_JSON_NUM_LEN];
		const char *text = scalar_text(item, number);
		if (!text)
			return fail_type(d, &at, KGB_FIELD_STR, item);
		list.items[i++] = kgb_arena_strdup(d->arena, text);
	}
	*out = list;
	return 0;
}

static int decode_map(struct decoder *d, const struct place *place, const cJSON *node,
		      struct kgb_field_map *out)
{
	struct kgb_field_map map = {0};
	const cJSON *item;

	if (!cJSON_IsObject(node) && !cJSON_IsNull(node))
		return fail_type(d, place, KGB_FIELD_MAP, node);
	map.n = (size_t)cJSON_GetArraySize(node);
	map.keys = kgb_arena_array(d->arena, map.n, sizeof(*map.keys));
	map.values = kgb_arena_array(d->arena, map.n, sizeof(*map.values));
	size_t i = 0;
	cJSON_ArrayForEach(item, node) {
		struct place at = {.up = place, .name = item->string};
		char number[KGB_JSON_NUM_LEN];
		const char *text = scalar_text(item, number);
		if (!text)
			return fail_type(d, &at, KGB_FIELD_STR, item);
		map.keys[i] = kgb_arena_strdup(d->arena, item->string);
		map.values[i++] = kgb_arena_strdup(d->arena, text);
	}
	*out = map;
	return 0;
}

static int decode_objects(struct decoder *d, const struct place *place,
			  const struct kgb_field *field, const cJSON *node, struct kgb_objects *out)
{
	struct kgb_objects list = {0};
	const cJSON *item;

	if (!cJSON_IsArray(node) && !cJSON_IsNull(node))
		return fail_type(d, place, KGB_FIELD_OBJECTS, node);
	list.n = (size_t)cJSON_GetArraySize(node);
	list.items = kgb_arena_array(d->arena, list.n, field->sub_size);
	char *element = list.items;
	size_t i = 0;
	cJSON_ArrayForEach(item, node) {
		struct place at = {.up = place, .index = i++};
		if (!cJSON_IsObject(item))
			return fail_type(d, &at, KGB_FIELD_OBJECT, item);
		kgb_decode_defaults(field->sub, element, d->arena);
		if (decode_table(d, &at, field->sub, item, element) < 0)
			return -1;
		element += field->sub_size;
	}
	*out = list;
	return 0;
}

static int decode_field(struct decoder *d, const struct place *place, const struct kgb_field *field,
			const cJSON *node, void *slot)
{
	if (field->required && cJSON_IsNull(node))
		return fail_type(d, place, field->type, node);
	switch (field->type) {
	case KGB_FIELD_STRS:
		return decode_strs(d, place, node, slot);
	case KGB_FIELD_MAP:
		return decode_map(d, place, node, slot);
	case KGB_FIELD_OBJECT:
		return decode_table(d, place, field->sub, node, slot);
	case KGB_FIELD_OBJECTS:
		return decode_objects(d, place, field, node, slot);
	case KGB_FIELD_NODE:
		*(const cJSON **)slot = node;
		return 0;
	case KGB_FIELD_BOOL:
	case KGB_FIELD_I64:
	case KGB_FIELD_NUM:
	case KGB_FIELD_STR:
	case KGB_FIELD_DURATION:
	case KGB_FIELD_SIZE:
	case KGB_FIELD_ENUM:
	default:
		return decode_scalar(d, place, field, node, slot);
	}
}

/* ---- tables ---- */

static const struct kgb_field *find_field(const struct kgb_field *table, const char *name,
					  size_t len)
{
	for (const struct kgb_field *f = table; f->name; f++)
		if (strncmp(f->name, name, len) == 0 && f->name[len] == '\0')
			return f;
	return NULL;
}

enum {
	LISTED_KEYS = 12
}; /* an unknown key that resembles nothing: show all keys, if they are few */

static int fail_unknown_key(struct decoder *d, const struct place *place,
			    const struct kgb_field *table, const cJSON *node)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	size_t n = 0;
	char shown[KGB_BRIEF_LEN];

	while (table[n].name)
		n++;
	KGB_AUTO(free) const char **names = kgb_xcalloc(n, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = table[i].name;
	add_place(&text, place);
	kgb_buf_addf(&text, "%sunknown key '%s'", place ? ": " : "",
		     kgb_brief(node->string, shown));
	size_t before = text.len;
	kgb_suggest(&text, node->string, names, n);
	if (text.len == before && n <= LISTED_KEYS)
		for (size_t i = 0; i < n; i++)
			kgb_buf_addf(&text, "%s%s", i ? ", " : ": known keys are ", names[i]);
	return kgb_yaml_fail_key(d->doc, node, d->err, "%s", text.ptr);
}

/** Record an error, and go on if the caller collects all. */
static int note(struct decoder *d, int rc)
{
	if (rc == 0 || !d->faults)
		return rc;
	KGB_VEC_ADD(&d->faults->list, *d->err);
	*d->err = (struct kgb_err)KGB_ERR_INIT;
	return 0;
}

static int decode_table(struct decoder *d, const struct place *place, const struct kgb_field *table,
			const cJSON *node, void *out)
{
	const cJSON *item;

	if (!cJSON_IsObject(node) && !cJSON_IsNull(node))
		return fail_type(d, place, KGB_FIELD_OBJECT, node);
	cJSON_ArrayForEach(item, node) {
		const struct kgb_field *field =
			find_field(table, item->string, strlen(item->string));
		struct place at = {.up = place, .name = item->string};
		if (note(d, field ? decode_field(d, &at, field, item, slot_of(field, out))
				  : fail_unknown_key(d, place, table, item)) < 0)
			return -1;
	}
	for (const struct kgb_field *f = table; f->name; f++)
		if (f->required && !cJSON_GetObjectItemCaseSensitive(node, f->name) &&
		    note(d, fail_at(d, place, node, "missing key '%s'", f->name)) < 0)
			return -1;
	return 0;
}

int kgb_decode_over(const struct kgb_field *table, const struct kgb_yaml *doc, const cJSON *node,
		    void *out, struct kgb_arena *arena, struct kgb_err *err)
{
	struct decoder d = {.doc = doc, .arena = arena, .err = err};

	return decode_table(&d, NULL, table, node, out);
}

void kgb_decode_all(const struct kgb_field *table, const struct kgb_yaml *doc, const cJSON *node,
		    void *out, struct kgb_arena *arena, struct kgb_faults *faults)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct decoder d = {.doc = doc, .arena = arena, .err = &err, .faults = faults};

	kgb_decode_defaults(table, out, arena);
	(void)note(&d, decode_table(&d, NULL, table, node, out));
}

int kgb_decode(const struct kgb_field *table, const struct kgb_yaml *doc, const cJSON *node,
	       void *out, struct kgb_arena *arena, struct kgb_err *err)
{
	kgb_decode_defaults(table, out, arena);
	return kgb_decode_over(table, doc, node, out, arena, err);
}

/* ---- defaults ---- */

/* Texts that need no YAML quoting may stand in tables as they are. */
static bool is_literal_text(const struct kgb_field *field)
{
	return field->type == KGB_FIELD_STR && field->def[0] != '"' && field->def[0] != '\'';
}

static void fill_default(const struct kgb_field *field, void *slot, struct kgb_arena *arena)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	struct kgb_err err = KGB_ERR_INIT;
	struct decoder d = {.doc = NULL, .arena = arena, .err = &err};
	struct place place = {.name = field->name};

	KGB_ASSERT(field->type != KGB_FIELD_NODE);
	if (is_literal_text(field)) {
		*(const char **)slot = kgb_arena_strdup(arena, field->def);
		return;
	}
	if (kgb_yaml_parse(field->name, field->def, strlen(field->def), &doc, &err) < 0 ||
	    decode_field(&d, &place, field, doc.root, slot) < 0) {
		fprintf(stderr, "default of a setting: %s\n", err.msg);
		abort();
	}
}

void kgb_decode_defaults(const struct kgb_field *table, void *out, struct kgb_arena *arena)
{
	for (const struct kgb_field *f = table; f->name; f++) {
		void *slot = slot_of(f, out);
		if (f->type == KGB_FIELD_OBJECT) {
			kgb_decode_defaults(f->sub, slot, arena);
			continue;
		}
		memset(slot, 0, types[f->type].size);
		if (f->def)
			fill_default(f, slot, arena);
	}
}

/* ---- single settings, from flags and environment ---- */

static void collect_settings(const struct kgb_field *table, const char *prefix,
			     struct kgb_strv *out)
{
	for (const struct kgb_field *f = table; f->name; f++) {
		KGB_AUTO(free)
		char *path =
			*prefix ? kgb_xasprintf("%s.%s", prefix, f->name) : kgb_xstrdup(f->name);
		if (f->type == KGB_FIELD_OBJECT)
			collect_settings(f->sub, path, out);
		else
			kgb_strv_add(out, path);
	}
}

static int fail_unknown_setting(const struct kgb_field *table, const char *path,
				struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf hint = KGB_BUF_INIT(0);
	KGB_AUTO(strv) struct kgb_strv all = KGB_STRV_INIT;
	char shown[KGB_BRIEF_LEN];

	collect_settings(table, "", &all);
	kgb_suggest(&hint, path, (const char *const *)all.items, all.n);
	return kgb_fail(err, KGB_ERR_INVALID, "unknown setting '%s'%s", kgb_brief(path, shown),
			hint.ptr);
}

static void set_strs(const char *text, struct kgb_strs *out, struct kgb_arena *arena)
{
	KGB_AUTO(strv) struct kgb_strv parts = KGB_STRV_INIT;

	kgb_strv_split(&parts, text, ',');
	out->n = parts.n;
	out->items = kgb_arena_array(arena, parts.n, sizeof(*out->items));
	for (size_t i = 0; i < parts.n; i++)
		out->items[i] = kgb_arena_strdup(arena, parts.items[i]);
}

/* Replace or append one entry. The old arrays stay in the arena. */
static void set_map(const char *key, const char *text, struct kgb_field_map *map,
		    struct kgb_arena *arena)
{
	struct kgb_field_map fresh = {.n = map->n};
	size_t at = 0;

	while (at < map->n && strcmp(map->keys[at], key) != 0)
		at++;
	fresh.n += at == map->n;
	fresh.keys = kgb_arena_array(arena, fresh.n, sizeof(*fresh.keys));
	fresh.values = kgb_arena_array(arena, fresh.n, sizeof(*fresh.values));
	for (size_t i = 0; i < map->n; i++) {
		fresh.keys[i] = map->keys[i];
		fresh.values[i] = map->values[i];
	}
	fresh.keys[at] = kgb_arena_strdup(arena, key);
	fresh.values[at] = kgb_arena_strdup(arena, text);
	*map = fresh;
}

static int set_leaf(const struct kgb_field *field, const char *path, const char *text, void *slot,
		    struct kgb_arena *arena, struct kgb_err *err)
{
	if (field->type == KGB_FIELD_OBJECT)
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is a group: set one of its keys, as in %s.%s", path, path,
				field->sub->name ? field->sub->name : "KEY");
	if (field->type == KGB_FIELD_MAP)
		return kgb_fail(err, KGB_ERR_INVALID,
				"'%s' is a mapping: set one of its keys, as in %s.KEY", path, path);
	if (field->type == KGB_FIELD_OBJECTS || field->type == KGB_FIELD_NODE)
		return kgb_fail(err, KGB_ERR_INVALID, "'%s' can only be set in a file", path);
	if (field->type == KGB_FIELD_STRS) {
		set_strs(text, slot, arena);
		return 0;
	}
	return set_scalar(field, text, slot, arena, err);
}

static int set_by_path(const struct kgb_field *table, const char *path, const char *text, void *out,
		       struct kgb_arena *arena, struct kgb_err *err)
{
	const struct kgb_field *at = table;
	const char *name = path;

	for (;;) {
		const char *end = strchrnul(name, '.');
		const struct kgb_field *field = find_field(at, name, (size_t)(end - name));
		if (!field)
			return fail_unknown_setting(table, path, err);
		void *slot = slot_of(field, out);
		if (!*end)
			return set_leaf(field, path, text, slot, arena, err);
		if (field->type == KGB_FIELD_MAP && end[1]) {
			set_map(end + 1, text, slot, arena);
			return 0;
		}
		if (field->type != KGB_FIELD_OBJECT)
			return fail_unknown_setting(table, path, err);
		at = field->sub;
		out = slot;
		name = end + 1;
	}
}

int kgb_decode_set(const struct kgb_field *table, const char *path, const char *text,
		   const char *origin, void *out, struct kgb_arena *arena, struct kgb_err *err)
{
	if (set_by_path(table, path, text, out, arena, err) < 0)
		return kgb_ctx(err, "%s", origin ? origin : path);
	return 0;
}
