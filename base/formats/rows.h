/* SPDX-License-Identifier: MIT */
/** \file
 * Members of a JSON object as rows of a table. A row gives name, type and offset in a struct; the
 * same row writes the member, reads it and adds it up. For this project's records: reading ignores
 * unknown members, and a missing or wrong one gets the default of its type. */
#ifndef KGB_BASE_FORMATS_ROWS_H
#define KGB_BASE_FORMATS_ROWS_H

#include "base/formats/jsonw.h"
#include "base/mem.h"

enum kgb_row_type {
	KGB_ROW_TEXT, /* const char *; NULL: null */
	KGB_ROW_KEPT_TEXT, /* the same; reading null or nothing keeps the field */
	KGB_ROW_OPTIONAL_TEXT, /* the same as KEPT_TEXT; NULL is not written */
	KGB_ROW_CHARS, /* char[]; "": null. A longer text is cut. */
	KGB_ROW_COUNT, /* int64_t; -1: null. Added up where it is known. */
	KGB_ROW_I64, /* int64_t; missing: 0. Added up. */
	KGB_ROW_INT, /* int; missing: 0 */
	KGB_ROW_INDEX, /* int; missing: -1 */
	KGB_ROW_BOOL, /* missing: false */
	KGB_ROW_POSITIVE, /* double; 0: null */
	KGB_ROW_TREE, /* const cJSON *, an object; NULL: null */
};

struct kgb_row {
	const char *name; /* NULL: end of the table */
	enum kgb_row_type type;
	size_t offset, size;
};
/* clang-tidy takes the size of a member that is a pointer for a mistake. */
#define KGB_ROW(type, container, field, name)                                                    \
	{                                                                                        \
		name, KGB_ROW_##type, offsetof(container, field),                                \
			sizeof(((container *)0)->field) /* NOLINT(bugprone-sizeof-expression) */ \
	}
#define KGB_ROWS_END          \
	{                     \
		NULL, 0, 0, 0 \
	}

/** Write the members into the open object. */
void kgb_rows_write(struct kgb_jsonw *w, const struct kgb_row *rows, const void *from);
/** Read each member of `node`, which may be NULL. Texts go to the arena; NULL arena: they become
 * NULL. */
void kgb_rows_read(const cJSON *node, const struct kgb_row *rows, struct kgb_arena *arena,
		   void *to);
/** Add each COUNT and I64 of `part` to `total`. Unknown parts add nothing, an unknown total becomes
 * the part. Saturates. */
void kgb_rows_add(const struct kgb_row *rows, void *total, const void *part);

#endif
