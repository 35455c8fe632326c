/* SPDX-License-Identifier: MIT */
/* Single settings from flags and environment: kgb_decode_set. */
#include <string.h>

#include "base/formats/decode.h"
#include "base/formats/decode_internal.h"
#include "base/str.h"

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
	return kgb_decode__scalar(field, text, slot, arena, err);
}

static int set_by_path(const struct kgb_field *table, const char *path, const char *text, void *out,
		       struct kgb_arena *arena, struct kgb_err *err)
{
	const struct kgb_field *at = table;
	const char *name = path;

	for (;;) {
		const char *end = strchrnul(name, '.');
		const struct kgb_field *field = kgb_decode__find(at, name, (size_t)(end - name));
		if (!field)
			return fail_unknown_setting(table, path, err);
		void *slot = kgb_decode__slot(field, out);
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
