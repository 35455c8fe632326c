/* SPDX-License-Identifier: MIT */
#include "base/formats/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/formats/json_scan.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str.h"

void kgb_auto_json(cJSON **json)
{
	cJSON_Delete(*json);
}

/* ---- duplicate keys ---- */

enum { PAIRS_MAX = 16 };

struct member {
	const cJSON *node;
	size_t index;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->node->string, y->node->string);

	return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Small objects, which nearly all are: compare each with those before it. */
static const cJSON *duplicate_by_pairs(const cJSON *object)
{
	const cJSON *node, *before;

	cJSON_ArrayForEach(node, object) {
		for (before = object->child; before != node; before = before->next)
			if (strcmp(before->string, node->string) == 0)
				return node;
	}
	return NULL;
}

static const cJSON *duplicate_by_sorting(const cJSON *object, size_t n)
{
	KGB_AUTO(free) struct member *members = kgb_xcalloc(n, sizeof(*members));
	const cJSON *node, *found = NULL;
	size_t i = 0, first = SIZE_MAX;

	cJSON_ArrayForEach(node, object) {
		members[i] = (struct member){node, i};
		i++;
	}
	qsort(members, n, sizeof(*members), compare_members);
	for (i = 1; i < n; i++) {
		if (strcmp(members[i - 1].node->string, members[i].node->string) == 0 &&
		    members[i].index < first) {
			first = members[i].index;
			found = members[i].node;
		}
	}
	return found;
}

const cJSON *kgb_json_duplicate(const cJSON *object)
{
	const cJSON *node;
	size_t n = 0;

	cJSON_ArrayForEach(node, object)
		n++;
	return n <= PAIRS_MAX ? duplicate_by_pairs(object) : duplicate_by_sorting(object, n);
}

/* Preorder walk of all objects: the first one with a duplicate. *n_keys counts the keys met before
 * it, or in all. */
static const cJSON *find_duplicate(const cJSON *node, size_t *n_keys)
{
	const cJSON *child, *found = NULL;

	if (cJSON_IsObject(node))
		found = kgb_json_duplicate(node);
	cJSON_ArrayForEach(child, node) {
		if (cJSON_IsObject(node))
			(*n_keys)++;
		if (child == found)
			return found;
		const cJSON *deeper = find_duplicate(child, n_keys);
		if (deeper)
			return deeper;
	}
	return NULL;
}

/* ---- parsing ---- */

static int fail_at(const char *text, size_t offset, enum kgb_err_kind kind, const char *problem,
		   const char *key, struct kgb_err *err)
{
	int line, column;
	char shown[KGB_BRIEF_LEN];

	kgb_json__position(text, offset, &line, &column);
	if (key)
		return kgb_fail_code(err, KGB_ERR_DOMAIN_JSON, kind, 0, "%d:%d: %s '%s'", line,
				     column, problem, kgb_brief(key, shown));
	return kgb_fail_code(err, KGB_ERR_DOMAIN_JSON, kind, 0, "%d:%d: %s", line, column, problem);
}

int kgb_json_parse(const char *text, size_t len, cJSON **out, struct kgb_err *err)
{
	struct kgb_json_scan scan = {0};
	size_t n_keys = 0;

	if (len > KGB_LIMIT_JSON)
		return kgb_fail(err, KGB_ERR_LIMIT, "JSON document is larger than %u bytes",
				KGB_LIMIT_JSON);
	if (kgb_json__scan(&scan, text, len) < 0)
		return fail_at(text, scan.pos, scan.over_limit ? KGB_ERR_LIMIT : KGB_ERR_INVALID,
			       scan.problem, NULL, err);
	KGB_AUTO(json) cJSON *root = cJSON_ParseWithLength(text, len);
	if (!root)
		return kgb_fail(err, KGB_ERR_FAILED, "JSON document: out of memory");
	const cJSON *duplicate = find_duplicate(root, &n_keys);
	if (duplicate) {
		scan = (struct kgb_json_scan){.stop_at_key = n_keys};
		int rc = kgb_json__scan(&scan, text, len);
		KGB_ASSERT(rc == 0);
		return fail_at(text, scan.pos, KGB_ERR_INVALID, "duplicate key", duplicate->string,
			       err);
	}
	*out = KGB_TAKE(root);
	return 0;
}

/* ---- accessors ---- */

/* The element with a decimal index, NULL when the name is no index. */
static const cJSON *array_item(const cJSON *array, const char *name, size_t len)
{
	size_t index = 0;
	const cJSON *item = array->child;

	if (len == 0 || len > 9)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return NULL;
		index = index * 10 + (size_t)(name[i] - '0');
	}
	while (item && index-- > 0)
		item = item->next;
	return item;
}

static const cJSON *object_item(const cJSON *object, const char *name, size_t len)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, object) {
		if (item->string && strncmp(item->string, name, len) == 0 &&
		    item->string[len] == '\0')
			return item;
	}
	return NULL;
}

const cJSON *kgb_json_get(const cJSON *node, const char *path)
{
	while (node && *path) {
		const char *end = strchrnul(path, '.');
		size_t len = (size_t)(end - path);
		if (cJSON_IsObject(node))
			node = object_item(node, path, len);
		else if (cJSON_IsArray(node))
			node = array_item(node, path, len);
		else
			return NULL;
		path = *end ? end + 1 : end;
	}
	return node;
}

const char *kgb_json_str(const cJSON *node, const char *path, const char *fallback)
{
	const cJSON *found = kgb_json_get(node, path);

	return cJSON_IsString(found) && found->valuestring ? found->valuestring : fallback;
}

bool kgb_json_bool(const cJSON *node, const char *path, bool fallback)
{
	const cJSON *found = kgb_json_get(node, path);

	return cJSON_IsBool(found) ? cJSON_IsTrue(found) != 0 : fallback;
}

double kgb_json_num(const cJSON *node, const char *path, double fallback)
{
	const cJSON *found = kgb_json_get(node, path);

	return cJSON_IsNumber(found) ? found->valuedouble : fallback;
}

int64_t kgb_json_i64(const cJSON *node, const char *path, int64_t fallback)
{
	const double exact = 9007199254740992.0; /* 2^53 */
	const cJSON *found = kgb_json_get(node, path);

	if (!cJSON_IsNumber(found) || found->valuedouble != trunc(found->valuedouble) ||
	    found->valuedouble < -exact || found->valuedouble > exact)
		return fallback;
	return (int64_t)found->valuedouble;
}

/* ---- numbers as text ---- */

const char *kgb_json_format_num(double value, char out[KGB_JSON_NUM_LEN])
{
	/* Whole numbers of up to 15 digits, which nearly all are: the same text, faster. */
	if (value == trunc(value) && fabs(value) < 1e15 && (value != 0 || !signbit(value))) {
		snprintf(out, KGB_JSON_NUM_LEN, "%" PRId64, (int64_t)value);
		return out;
	}
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(out, KGB_JSON_NUM_LEN, "%.*g", precision, value);
		if (strtod(out, NULL) == value)
			break;
	}
	return out;
}

cJSON *kgb_json_copy(struct kgb_arena *arena, const cJSON *node)
{
	cJSON *copy = kgb_arena_alloc(arena, sizeof(*copy));
	const cJSON *part = NULL;
	cJSON *last = NULL;

	*copy = *node;
	copy->next = copy->prev = copy->child = NULL;
	copy->string = node->string ? kgb_arena_strdup(arena, node->string) : NULL;
	copy->valuestring = node->valuestring ? kgb_arena_strdup(arena, node->valuestring) : NULL;
	cJSON_ArrayForEach(part, node) {
		cJSON *one = kgb_json_copy(arena, part);
		*(last ? &last->next : &copy->child) = one;
		one->prev = last;
		last = one;
	}
	return copy;
}
