/* SPDX-License-Identifier: MIT */
#include "base/formats/yaml.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/formats/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

struct kgb_yaml_pos {
	const cJSON *node;
	struct kgb_yaml_mark key, value;
};

/* While a document is built. The tree under construction hangs on doc->root from the start. */
struct builder {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; deleted by next_event */
	struct kgb_yaml *doc;
	int depth;
	struct kgb_err *err;
};

static int fail_mark(struct builder *b, yaml_mark_t mark, enum kgb_err_kind kind, const char *fmt,
		     ...) KGB_PRINTF(4, 5);

static int fail_mark(struct builder *b, yaml_mark_t mark, enum kgb_err_kind kind, const char *fmt,
		     ...)
{
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return kgb_fail_code(b->err, KGB_ERR_DOMAIN_YAML, kind, 0, "%s:%zu:%zu: %s", b->doc->name,
			     mark.line + 1, mark.column + 1, text);
}

static int fail_parser(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem ? p->problem : "malformed YAML";

	if (p->error == YAML_MEMORY_ERROR)
		return kgb_fail(b->err, KGB_ERR_LIMIT, "%s: out of memory", b->doc->name);
	if (p->error == YAML_READER_ERROR)
		return kgb_fail_code(b->err, KGB_ERR_DOMAIN_YAML, KGB_ERR_INVALID, 0,
				     "%s: byte %zu: %s", b->doc->name, p->problem_offset, problem);
	/* The only such character on keyboards. */
	bool tab = strstr(problem, "cannot start any token") != NULL;
	return fail_mark(
		b, p->problem_mark, KGB_ERR_INVALID, "%s%s%s%s", p->context ? p->context : "",
		p->context ? ": " : "", problem,
		tab ? ": indent with blanks, not tabs, and quote text that starts with % @ or `"
		    : "");
}

static int next_event(struct builder *b)
{
	yaml_event_delete(&b->event);
	memset(&b->event, 0, sizeof(b->event));
	if (!yaml_parser_parse(&b->parser, &b->event))
		return fail_parser(b);
	return 0;
}

static struct kgb_yaml_mark to_mark(yaml_mark_t mark)
{
	return (struct kgb_yaml_mark){(int)mark.line + 1, (int)mark.column + 1};
}

static int remember(struct builder *b, const cJSON *node, struct kgb_yaml_mark key,
		    yaml_mark_t value)
{
	struct kgb_yaml *doc = b->doc;

	if (doc->positions.n == KGB_LIMIT_YAML_NODES)
		return fail_mark(b, value, KGB_ERR_LIMIT, "document has more than %u values",
				 KGB_LIMIT_YAML_NODES);
	struct kgb_yaml_mark mark = to_mark(value);
	KGB_VEC_ADD(&doc->positions, (struct kgb_yaml_pos){node, key.line ? key : mark, mark});
	return 0;
}

/* ---- scalars ---- */

/* cJSON frees strings with the hooks' free, which is free(3) like ours. */
static cJSON *new_node(int type, char *take_text)
{
	cJSON *node = cJSON_CreateNull();

	KGB_ASSERT(node);
	node->type = type;
	node->valuestring = take_text;
	return node;
}

static cJSON *resolve_plain(const char *text, size_t len)
{
	if (len == 0 || strcmp(text, "null") == 0 || strcmp(text, "~") == 0)
		return new_node(cJSON_NULL, NULL);
	if (strcmp(text, "true") == 0)
		return new_node(cJSON_True, kgb_xstrdup(text));
	if (strcmp(text, "false") == 0)
		return new_node(cJSON_False, kgb_xstrdup(text));
	double number;
	if (kgb_json_is_number(text, len) && kgb_parse_double(text, &number, NULL) == 0) {
		cJSON *node = new_node(cJSON_Number, kgb_xstrdup(text));
		cJSON_SetNumberHelper(node, number);
		return node;
	}
	return new_node(cJSON_String, kgb_xstrdup(text));
}

/* The text of the current scalar event; refuses text that a C string or our schema cannot hold. */
static int scalar_text(struct builder *b, const char **text, size_t *len)
{
	*text = (const char *)b->event.data.scalar.value;
	*len = b->event.data.scalar.length;
	if (strlen(*text) != *len)
		return fail_mark(b, b->event.start_mark, KGB_ERR_INVALID,
				 "text contains a NUL character");
	return 0;
}

static int scalar(struct builder *b, cJSON **out)
{
	const char *text;
	size_t len;

	if (scalar_text(b, &text, &len) < 0)
		return -1;
	bool plain = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	*out = plain ? resolve_plain(text, len) : new_node(cJSON_String, kgb_xstrdup(text));
	return 0;
}

/* ---- collections ---- */

static int value(struct builder *b, cJSON *parent, char *take_key, struct kgb_yaml_mark key_mark);

/* Hang a node into its parent, or make it the root. From here on the tree owns it. */
static void attach(struct builder *b, cJSON *parent, cJSON *node, char *take_key)
{
	node->string = take_key;
	if (parent)
		cJSON_AddItemToArray(parent, node); /* appends to objects too; the key is set */
	else
		b->doc->root = node;
}

static int sequence(struct builder *b, cJSON *node)
{
	for (;;) {
		if (next_event(b) < 0)
			return -1;
		if (b->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		if (value(b, node, NULL, (struct kgb_yaml_mark){0}) < 0)
			return -1;
	}
}

static int check_duplicate(struct builder *b, const cJSON *mapping)
{
	char shown[KGB_BRIEF_LEN];
	const cJSON *duplicate = kgb_json_duplicate(mapping);

	if (!duplicate)
		return 0;
	/* Positions are sorted only when the document is whole. */
	size_t i = b->doc->positions.n;
	while (b->doc->positions.items[--i].node != duplicate)
		;
	struct kgb_yaml_mark at = b->doc->positions.items[i].key;
	return kgb_fail_code(b->err, KGB_ERR_DOMAIN_YAML, KGB_ERR_INVALID, 0,
			     "%s:%d:%d: duplicate key '%s'", b->doc->name, at.line, at.column,
			     kgb_brief(duplicate->string, shown));
}

static int mapping(struct builder *b, cJSON *node)
{
	for (;;) {
		const char *text;
		size_t len;
		if (next_event(b) < 0)
			return -1;
		if (b->event.type == YAML_MAPPING_END_EVENT)
			return check_duplicate(b, node);
		if (b->event.type != YAML_SCALAR_EVENT)
			return fail_mark(b, b->event.start_mark, KGB_ERR_INVALID,
					 "a key must be plain text");
		if (scalar_text(b, &text, &len) < 0)
			return -1;
		if (len > KGB_LIMIT_YAML_KEY)
			return fail_mark(b, b->event.start_mark, KGB_ERR_LIMIT,
					 "key is longer than %d bytes", KGB_LIMIT_YAML_KEY);
		KGB_AUTO(free) char *key = kgb_xstrdup(text);
		struct kgb_yaml_mark key_mark = to_mark(b->event.start_mark);
		if (next_event(b) < 0 || value(b, node, KGB_TAKE(key), key_mark) < 0)
			return -1;
	}
}

static int refuse_extras(struct builder *b)
{
	const yaml_event_t *e = &b->event;
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT) {
		anchor = e->data.alias.anchor;
	} else if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor)
		return fail_mark(b, e->start_mark, KGB_ERR_INVALID,
				 "anchors and aliases are not accepted: repeat the value, or quote "
				 "text that starts with & or *");
	if (tag)
		return fail_mark(b, e->start_mark, KGB_ERR_INVALID,
				 "tags are not accepted: quote text that starts with !");
	return 0;
}

/* The value that the current event starts. Recursion ends at KGB_LIMIT_JSON_DEPTH. */
static int value(struct builder *b, cJSON *parent, char *take_key, struct kgb_yaml_mark key_mark)
{
	KGB_AUTO(free) char *key = take_key;
	yaml_event_type_t type = b->event.type;
	yaml_mark_t mark = b->event.start_mark;
	cJSON *node = NULL;

	if (refuse_extras(b) < 0)
		return -1;
	if (type == YAML_SCALAR_EVENT) {
		if (scalar(b, &node) < 0)
			return -1;
	} else {
		KGB_ASSERT(type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT);
		if (b->depth == KGB_LIMIT_JSON_DEPTH)
			return fail_mark(b, mark, KGB_ERR_LIMIT, "nested more than %d levels",
					 KGB_LIMIT_JSON_DEPTH);
		node = new_node(type == YAML_MAPPING_START_EVENT ? cJSON_Object : cJSON_Array,
				NULL);
	}
	attach(b, parent, node, KGB_TAKE(key));
	if (remember(b, node, key_mark, mark) < 0)
		return -1;
	if (type == YAML_SCALAR_EVENT)
		return 0;
	b->depth++;
	int rc = type == YAML_MAPPING_START_EVENT ? mapping(b, node) : sequence(b, node);
	b->depth--;
	return rc;
}

/* ---- documents ---- */

static int document(struct builder *b)
{
	if (next_event(b) < 0) /* STREAM-START */
		return -1;
	if (next_event(b) < 0) /* DOCUMENT-START, if there is one */
		return -1;
	if (b->event.type == YAML_STREAM_END_EVENT) {
		/* Comments alone make an empty document. */
		attach(b, NULL, new_node(cJSON_NULL, NULL), NULL);
		return remember(b, b->doc->root, (struct kgb_yaml_mark){0}, (yaml_mark_t){0});
	}
	if (next_event(b) < 0 || value(b, NULL, NULL, (struct kgb_yaml_mark){0}) < 0)
		return -1;
	if (next_event(b) < 0) /* DOCUMENT-END */
		return -1;
	if (next_event(b) < 0) /* STREAM-END, if this was the only one */
		return -1;
	if (b->event.type != YAML_STREAM_END_EVENT)
		return fail_mark(b, b->event.start_mark, KGB_ERR_INVALID,
				 "a second document starts here: one is expected");
	return 0;
}

static int compare_positions(const void *a, const void *b)
{
	const struct kgb_yaml_pos *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

int kgb_yaml_parse(const char *name, const char *text, size_t len, struct kgb_yaml *out,
		   struct kgb_err *err)
{
	KGB_AUTO(yaml) struct kgb_yaml doc = {.name = kgb_xstrdup(name)};
	struct builder b = {.doc = &doc, .err = err};

	if (len > KGB_LIMIT_YAML)
		return kgb_fail(err, KGB_ERR_LIMIT, "%s: larger than %u bytes", name,
				KGB_LIMIT_YAML);
	if (!yaml_parser_initialize(&b.parser))
		return kgb_fail(err, KGB_ERR_LIMIT, "%s: out of memory", name);
	yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	int rc = document(&b);
	yaml_event_delete(&b.event);
	yaml_parser_delete(&b.parser);
	if (rc < 0)
		return -1;
	qsort(doc.positions.items, doc.positions.n, sizeof(*doc.positions.items),
	      compare_positions);
	*out = doc;
	doc = (struct kgb_yaml)KGB_YAML_INIT;
	return 0;
}

int kgb_yaml_read(int dir_fd, const char *path, struct kgb_yaml *out, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	if (kgb_fs_read(dir_fd, path, KGB_LIMIT_YAML, &text, err) < 0)
		return -1;
	return kgb_yaml_parse(path, text.ptr, text.len, out, err);
}

/* ---- positions ---- */

static const struct kgb_yaml_pos *find_position(const struct kgb_yaml *doc, const cJSON *node)
{
	const struct kgb_yaml_pos wanted = {.node = node};

	if (!doc || !doc->positions.items)
		return NULL;
	return bsearch(&wanted, doc->positions.items, doc->positions.n, sizeof(wanted),
		       compare_positions);
}

void kgb_yaml_where(const struct kgb_yaml *doc, const cJSON *node, int *line, int *column)
{
	const struct kgb_yaml_pos *pos = find_position(doc, node);

	*line = pos ? pos->value.line : 0;
	*column = pos ? pos->value.column : 0;
}

static int fail_where(const struct kgb_yaml *doc, struct kgb_yaml_mark at, const char *text,
		      struct kgb_err *err)
{
	const char *name = doc && doc->name ? doc->name : NULL;

	if (!name)
		return kgb_fail(err, KGB_ERR_INVALID, "%s", text);
	if (at.line == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "%s: %s", name, text);
	return kgb_fail(err, KGB_ERR_INVALID, "%s:%d:%d: %s", name, at.line, at.column, text);
}

int kgb_yaml_fail(const struct kgb_yaml *doc, const cJSON *node, struct kgb_err *err,
		  const char *fmt, ...)
{
	const struct kgb_yaml_pos *pos = find_position(doc, node);
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return fail_where(doc, pos ? pos->value : (struct kgb_yaml_mark){0}, text, err);
}

int kgb_yaml_fail_key(const struct kgb_yaml *doc, const cJSON *node, struct kgb_err *err,
		      const char *fmt, ...)
{
	const struct kgb_yaml_pos *pos = find_position(doc, node);
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	return fail_where(doc, pos ? pos->key : (struct kgb_yaml_mark){0}, text, err);
}

bool kgb_yaml_whole(const cJSON *node, int64_t *out)
{
	return cJSON_IsNumber(node) && node->valuestring &&
	       kgb_parse_i64(node->valuestring, INT64_MIN, INT64_MAX, out, NULL) == 0;
}

void kgb_yaml_release(struct kgb_yaml *doc)
{
	cJSON_Delete(doc->root);
	kgb_free(doc->name);
	KGB_VEC_RELEASE(&doc->positions);
	*doc = (struct kgb_yaml)KGB_YAML_INIT;
}

void kgb_auto_yaml(struct kgb_yaml *doc)
{
	kgb_yaml_release(doc);
}
