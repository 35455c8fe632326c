/* SPDX-License-Identifier: MIT */
/* The writing half of decode.h: YAML that reads back equal, and JSON Schema. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/formats/decode.h"
#include "base/formats/json.h"
#include "base/formats/jsonw.h"
#include "base/str.h"

/* ---- YAML text ---- */

static void indent(struct kgb_buf *out, int columns)
{
	for (int i = 0; i < columns; i++)
		kgb_buf_addc(out, ' ');
}

/* Text that every YAML reader takes for text, also those with more kinds of booleans than ours. */
static bool is_plain_text(const char *s)
{
	static const char *const words[] = {"null", "true", "false", "yes", "no", "on",
					    "off",  "y",    "n",     "inf", "nan"};
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/";
	static const char rest[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/0123456789.+-";

	for (size_t i = 0; i < KGB_ARRAY_LEN(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return false;
	return *s && strchr(first, *s) && s[strspn(s, rest)] == '\0';
}

static uint32_t code_point(const char *s, size_t *len)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	uint32_t code = n == 1 ? u[0] : u[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (u[i] & 0x3f);
	*len = n;
	return code;
}

/* Characters that libyaml refuses to read, or folds as a line break, unless escaped. */
static bool needs_escape(uint32_t code)
{
	return code < 0x20 || code == '"' || code == '\\' || (code >= 0x7f && code < 0xa0) ||
	       code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe ||
	       code == 0xffff;
}

static void add_quoted(struct kgb_buf *out, const char *s)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	size_t n;

	kgb_utf8_repair(&text, s, strlen(s));
	kgb_buf_addc(out, '"');
	for (const char *p = text.ptr; *p; p += n) {
		uint32_t code = code_point(p, &n);
		if (!needs_escape(code))
			kgb_buf_add(out, p, n);
		else if (code == '"' || code == '\\')
			kgb_buf_addf(out, "\\%c", (int)code);
		else if (code == '\n' || code == '\t')
			kgb_buf_adds(out, code == '\n' ? "\\n" : "\\t");
		else
			kgb_buf_addf(out, code < 0x100 ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
	}
	kgb_buf_addc(out, '"');
}

static void add_text(struct kgb_buf *out, const char *s)
{
	if (!s)
		kgb_buf_adds(out, "null");
	else if (is_plain_text(s))
		kgb_buf_adds(out, s);
	else
		add_quoted(out, s);
}

/* Numbers and booleans of a map were written bare, most likely. */
static void add_map_value(struct kgb_buf *out, const char *s)
{
	if (kgb_json_is_number(s, strlen(s)) || strcmp(s, "true") == 0 || strcmp(s, "false") == 0)
		kgb_buf_adds(out, s);
	else
		add_text(out, s);
}

/* A tree on one line. */
static void add_tree(struct kgb_buf *out, const cJSON *node)
{
	const cJSON *child;
	char number[KGB_JSON_NUM_LEN];

	if (cJSON_IsObject(node) || cJSON_IsArray(node)) {
		kgb_buf_addc(out, cJSON_IsObject(node) ? '{' : '[');
		cJSON_ArrayForEach(child, node) {
			if (child != node->child)
				kgb_buf_adds(out, ", ");
			if (cJSON_IsObject(node)) {
				add_text(out, child->string);
				kgb_buf_adds(out, ": ");
			}
			add_tree(out, child);
		}
		kgb_buf_addc(out, cJSON_IsObject(node) ? '}' : ']');
	} else if (cJSON_IsString(node)) {
		add_text(out, node->valuestring);
	} else if (cJSON_IsNumber(node)) {
		kgb_buf_adds(out, node->valuestring
					  ? node->valuestring
					  : kgb_json_format_num(node->valuedouble, number));
	} else if (cJSON_IsBool(node)) {
		kgb_buf_adds(out, cJSON_IsTrue(node) ? "true" : "false");
	} else {
		kgb_buf_adds(out, "null");
	}
}

/* ---- struct to YAML ---- */

static void print_table(const struct kgb_field *table, const void *in, bool docs, int columns,
			struct kgb_buf *out);

static void print_enum(const struct kgb_field *field, int value, struct kgb_buf *out)
{
	for (int i = 0; i <= value; i++)
		KGB_ASSERT(field->names[i]);
	KGB_ASSERT(value >= 0);
	add_text(out, field->names[value]);
}

static void print_num(double value, struct kgb_buf *out)
{
	char number[KGB_JSON_NUM_LEN];

	KGB_ASSERT(isfinite(value));
	kgb_buf_adds(out, kgb_json_format_num(value, number));
}

static void print_strs(const struct kgb_strs *list, struct kgb_buf *out)
{
	kgb_buf_addc(out, '[');
	for (size_t i = 0; i < list->n; i++) {
		kgb_buf_adds(out, i ? ", " : "");
		add_text(out, list->items[i]);
	}
	kgb_buf_addc(out, ']');
}

static void print_map(const struct kgb_field_map *map, int columns, struct kgb_buf *out)
{
	if (map->n == 0)
		kgb_buf_adds(out, "{}");
	for (size_t i = 0; i < map->n; i++) {
		kgb_buf_addc(out, '\n');
		indent(out, columns + 2);
		add_text(out, map->keys[i]);
		kgb_buf_adds(out, ": ");
		add_map_value(out, map->values[i]);
	}
}

static void print_objects(const struct kgb_field *field, const struct kgb_objects *list, bool docs,
			  int columns, struct kgb_buf *out)
{
	const char *element = list->items;

	if (list->n == 0)
		kgb_buf_adds(out, "[]");
	for (size_t i = 0; i < list->n; i++, element += field->sub_size) {
		kgb_buf_addc(out, '\n');
		size_t start = out->len;
		print_table(field->sub, element, docs, columns + 4, out);
		if (out->len == start)
			continue;
		/* The dash takes the place of the first key's (or comment's) indentation. */
		kgb_buf_truncate(out, out->len - 1);
		out->ptr[start + (size_t)columns + 2] = '-';
	}
}

/* Behind "key:". Nested blocks start with a line break; nothing ends with one. */
static void print_value(const struct kgb_field *field, const void *slot, bool docs, int columns,
			struct kgb_buf *out)
{
	switch (field->type) {
	case KGB_FIELD_BOOL:
		kgb_buf_adds(out, *(const bool *)slot ? "true" : "false");
		return;
	case KGB_FIELD_I64:
		kgb_buf_addf(out, "%" PRId64, *(const int64_t *)slot);
		return;
	case KGB_FIELD_NUM:
		print_num(*(const double *)slot, out);
		return;
	case KGB_FIELD_STR:
		add_text(out, *(const char *const *)slot);
		return;
	case KGB_FIELD_DURATION:
		kgb_duration_print(out, *(const int64_t *)slot);
		return;
	case KGB_FIELD_SIZE:
		kgb_size_print(out, *(const int64_t *)slot);
		return;
	case KGB_FIELD_ENUM:
		print_enum(field, *(const int *)slot, out);
		return;
	case KGB_FIELD_STRS:
		print_strs(slot, out);
		return;
	case KGB_FIELD_MAP:
		print_map(slot, columns, out);
		return;
	case KGB_FIELD_OBJECT:
		kgb_buf_addc(out, '\n');
		print_table(field->sub, slot, docs, columns + 2, out);
		kgb_buf_truncate(out, out->len - 1);
		return;
	case KGB_FIELD_OBJECTS:
		print_objects(field, slot, docs, columns, out);
		return;
	case KGB_FIELD_NODE:
		add_tree(out, *(const cJSON *const *)slot);
		return;
	}
	KGB_UNREACHABLE();
}

static bool starts_block(const struct kgb_field *field, const void *slot)
{
	return field->type == KGB_FIELD_OBJECT ||
	       (field->type == KGB_FIELD_MAP && ((const struct kgb_field_map *)slot)->n > 0) ||
	       (field->type == KGB_FIELD_OBJECTS && ((const struct kgb_objects *)slot)->n > 0);
}

static void print_table(const struct kgb_field *table, const void *in, bool docs, int columns,
			struct kgb_buf *out)
{
	for (const struct kgb_field *f = table; f->name; f++) {
		const void *slot = (const char *)in + f->offset;
		if (docs && columns == 0 && f != table)
			kgb_buf_addc(out, '\n');
		if (docs && f->doc) {
			indent(out, columns);
			kgb_buf_addf(out, "# %s\n", f->doc);
		}
		indent(out, columns);
		kgb_buf_addf(out, "%s:%s", f->name, starts_block(f, slot) ? "" : " ");
		print_value(f, slot, docs, columns, out);
		kgb_buf_addc(out, '\n');
	}
}

void kgb_decode_print(const struct kgb_field *table, const void *in, bool docs, struct kgb_buf *out)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0); /* print_objects writes into it */

	print_table(table, in, docs, 0, &text);
	kgb_buf_add(out, text.ptr, text.len);
}

/* ---- JSON Schema ---- */

static void schema_table(struct kgb_jsonw *w, const struct kgb_field *table);

static void schema_range(struct kgb_jsonw *w, const struct kgb_field *field)
{
	if (field->min == 0 && field->max == 0)
		return;
	kgb_jsonw_ki64(w, "minimum", field->min);
	if (field->max != 0 || field->min < 0)
		kgb_jsonw_ki64(w, "maximum", field->max);
}

static void schema_type(struct kgb_jsonw *w, const struct kgb_field *field)
{
	switch (field->type) {
	case KGB_FIELD_BOOL:
		kgb_jsonw_put(w, "type: 'boolean'");
		return;
	case KGB_FIELD_I64:
	case KGB_FIELD_NUM:
		kgb_jsonw_put(w, "type: %s", field->type == KGB_FIELD_I64 ? "integer" : "number");
		schema_range(w, field);
		return;
	case KGB_FIELD_STR:
		if (field->required)
			kgb_jsonw_put(w, "type: 'string'");
		else
			kgb_jsonw_put(w, "type: ['string', 'null']");
		return;
	case KGB_FIELD_DURATION:
		kgb_jsonw_put(w, "type: 'string', pattern: '^[0-9]+(ms|s|m|h)$'");
		return;
	case KGB_FIELD_SIZE:
		kgb_jsonw_put(w, "type: ['string', 'integer'], pattern: %s",
			      "^[0-9]+(([KMGTkmgt][Ii]?)?[Bb])?$");
		return;
	case KGB_FIELD_ENUM:
		kgb_jsonw_put(w, "enum: [");
		for (const char *const *name = field->names; *name; name++)
			kgb_jsonw_str(w, *name);
		kgb_jsonw_array_end(w);
		return;
	case KGB_FIELD_STRS:
		kgb_jsonw_put(w, "type: 'array', items: {type: 'string'}");
		return;
	case KGB_FIELD_MAP:
		kgb_jsonw_put(w, "type: 'object', additionalProperties: {");
		kgb_jsonw_put(w, "type: ['string', 'number', 'boolean']}");
		return;
	case KGB_FIELD_OBJECT:
		schema_table(w, field->sub);
		return;
	case KGB_FIELD_OBJECTS:
		kgb_jsonw_put(w, "type: 'array', items: {");
		schema_table(w, field->sub);
		kgb_jsonw_object_end(w);
		return;
	case KGB_FIELD_NODE:
		return;
	}
}

static void schema_default(struct kgb_jsonw *w, const struct kgb_field *field)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	bool is_text = field->type == KGB_FIELD_STR || field->type == KGB_FIELD_DURATION ||
		       field->type == KGB_FIELD_ENUM;

	kgb_jsonw_key(w, "default");
	if (is_text && field->def[0] != '"' && field->def[0] != '\'') {
		kgb_jsonw_str(w, field->def);
		return;
	}
	int rc = kgb_yaml_parse(field->name, field->def, strlen(field->def), &doc, NULL);
	KGB_ASSERT(rc == 0);
	kgb_jsonw_tree(w, doc.root);
}

static void schema_table(struct kgb_jsonw *w, const struct kgb_field *table)
{
	bool any_required = false;

	kgb_jsonw_put(w, "type: 'object', additionalProperties: false, properties: {");
	for (const struct kgb_field *f = table; f->name; f++) {
		any_required = any_required || f->required;
		kgb_jsonw_key(w, f->name);
		kgb_jsonw_object(w);
		if (f->doc)
			kgb_jsonw_put(w, "description: %s", f->doc);
		schema_type(w, f);
		if (f->def)
			schema_default(w, f);
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_object_end(w);
	if (!any_required)
		return;
	kgb_jsonw_put(w, "required: [");
	for (const struct kgb_field *f = table; f->name; f++)
		if (f->required)
			kgb_jsonw_str(w, f->name);
	kgb_jsonw_array_end(w);
}

void kgb_decode_schema(const struct kgb_field *table, const char *title, struct kgb_buf *out)
{
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w, "{$schema: 'https://json-schema.org/draft/2020-12/schema', title: %s",
		      title);
	schema_table(&w, table);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
}
