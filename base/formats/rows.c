/* SPDX-License-Identifier: MIT */
#include "base/formats/rows.h"

#include <math.h>

#include "base/formats/json.h"

/** The field of a row. */
union field {
	void *any;
	const char **text;
	char *chars;
	int64_t *i64;
	int *integer;
	bool *boolean;
	double *number;
	const cJSON **tree;
};

static union field field_of(const struct kgb_row *row, const void *container)
{
	static const size_t sizes[] = {
		[KGB_ROW_TEXT] = sizeof(char *),      [KGB_ROW_OPTIONAL_TEXT] = sizeof(char *),
		[KGB_ROW_KEPT_TEXT] = sizeof(char *), [KGB_ROW_CHARS] = 0,
		[KGB_ROW_COUNT] = sizeof(int64_t),    [KGB_ROW_I64] = sizeof(int64_t),
		[KGB_ROW_INT] = sizeof(int),          [KGB_ROW_INDEX] = sizeof(int),
		[KGB_ROW_BOOL] = sizeof(bool),        [KGB_ROW_POSITIVE] = sizeof(double),
		[KGB_ROW_TREE] = sizeof(cJSON *),
	};

	KGB_ASSERT(row->type == KGB_ROW_CHARS || row->size == sizes[row->type]);
	return (union field){.any = (void *)((uintptr_t)container + row->offset)};
}

static void write_one(struct kgb_jsonw *w, const struct kgb_row *row, union field field)
{
	switch (row->type) {
	case KGB_ROW_TEXT:
	case KGB_ROW_KEPT_TEXT:
	case KGB_ROW_OPTIONAL_TEXT:
		if (*field.text || row->type != KGB_ROW_OPTIONAL_TEXT)
			kgb_jsonw_kstr(w, row->name, *field.text);
		return;
	case KGB_ROW_CHARS:
		kgb_jsonw_kstr(w, row->name, *field.chars ? field.chars : NULL);
		return;
	case KGB_ROW_COUNT:
		kgb_jsonw_kcount(w, row->name, *field.i64);
		return;
	case KGB_ROW_I64:
		kgb_jsonw_ki64(w, row->name, *field.i64);
		return;
	case KGB_ROW_INT:
	case KGB_ROW_INDEX:
		kgb_jsonw_ki64(w, row->name, *field.integer);
		return;
	case KGB_ROW_BOOL:
		kgb_jsonw_kbool(w, row->name, *field.boolean);
		return;
	case KGB_ROW_POSITIVE:
		kgb_jsonw_knum(w, row->name, *field.number > 0 ? *field.number : (double)NAN);
		return;
	case KGB_ROW_TREE:
		kgb_jsonw_key(w, row->name);
		if (*field.tree)
			kgb_jsonw_tree(w, *field.tree);
		else
			kgb_jsonw_null(w);
		return;
	}
	KGB_UNREACHABLE();
}

void kgb_rows_write(struct kgb_jsonw *w, const struct kgb_row *rows, const void *from)
{
	for (; rows->name; rows++)
		write_one(w, rows, field_of(rows, from));
}

static void read_one(const cJSON *node, const struct kgb_row *row, struct kgb_arena *arena,
		     union field field)
{
	const char *text = kgb_json_str(node, row->name, NULL);

	switch (row->type) {
	case KGB_ROW_TEXT:
	case KGB_ROW_KEPT_TEXT:
	case KGB_ROW_OPTIONAL_TEXT:
		if (text || row->type == KGB_ROW_TEXT)
			*field.text = text && arena ? kgb_arena_strdup(arena, text) : NULL;
		return;
	case KGB_ROW_CHARS:
		snprintf(field.chars, row->size, "%s", text ? text : "");
		return;
	case KGB_ROW_COUNT:
		*field.i64 = kgb_json_i64(node, row->name, -1);
		return;
	case KGB_ROW_I64:
		*field.i64 = kgb_json_i64(node, row->name, 0);
		return;
	case KGB_ROW_INT:
		*field.integer = (int)kgb_json_i64(node, row->name, 0);
		return;
	case KGB_ROW_INDEX:
		*field.integer = (int)kgb_json_i64(node, row->name, -1);
		return;
	case KGB_ROW_BOOL:
		*field.boolean = kgb_json_bool(node, row->name, false);
		return;
	case KGB_ROW_POSITIVE:
		*field.number = kgb_json_num(node, row->name, 0);
		return;
	case KGB_ROW_TREE:
		*field.tree = kgb_json_get(node, row->name);
		*field.tree = cJSON_IsObject(*field.tree) && arena
				      ? kgb_json_copy(arena, *field.tree)
				      : NULL;
		return;
	}
	KGB_UNREACHABLE();
}

void kgb_rows_read(const cJSON *node, const struct kgb_row *rows, struct kgb_arena *arena, void *to)
{
	for (; rows->name; rows++)
		read_one(node, rows, arena, field_of(rows, to));
}

void kgb_rows_add(const struct kgb_row *rows, void *total, const void *part)
{
	for (; rows->name; rows++) {
		if (rows->type != KGB_ROW_COUNT && rows->type != KGB_ROW_I64)
			continue;
		int64_t *sum = field_of(rows, total).i64;
		const int64_t add = *field_of(rows, part).i64;
		if (rows->type == KGB_ROW_COUNT && add < 0)
			continue;
		if (rows->type == KGB_ROW_COUNT && *sum < 0)
			*sum = 0;
		if (__builtin_add_overflow(*sum, add, sum))
			*sum = INT64_MAX;
	}
}
