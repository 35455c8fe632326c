/* SPDX-License-Identifier: MIT */
/** \file
 * Table-driven decoding of a YAML/JSON mapping into a struct. One table describes a setting:
 * parsing, checks, default, help text, JSON Schema. Unknown keys are errors that name the nearest
 * key. Everything decoded lives in the caller's arena.
 */
#ifndef KGB_BASE_FORMATS_DECODE_H
#define KGB_BASE_FORMATS_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/faults.h"
#include "base/formats/yaml.h"
#include "base/mem.h"

enum kgb_field_type {
	KGB_FIELD_BOOL, /* bool */
	KGB_FIELD_I64, /* int64_t, min..max */
	KGB_FIELD_NUM, /* double, min..max */
	KGB_FIELD_STR, /* const char * */
	KGB_FIELD_DURATION, /* int64_t milliseconds, written "90s"; min..max in ms */
	KGB_FIELD_SIZE, /* int64_t bytes, written "64MiB" */
	KGB_FIELD_ENUM, /* int, one of `names` (NULL-terminated), value = index */
	KGB_FIELD_STRS, /* struct kgb_strs */
	KGB_FIELD_MAP, /* struct kgb_field_map: text by name; numbers and booleans as written */
	KGB_FIELD_OBJECT, /* embedded struct described by `sub` */
	KGB_FIELD_OBJECTS, /* struct kgb_objects: structs described by `sub`, `sub_size` bytes each
			    */
	KGB_FIELD_NODE, /* const cJSON *: kept undecoded, borrowed from the document */
};

struct kgb_strs {
	const char **items; /* arena */
	size_t n;
};
struct kgb_field_map {
	const char **keys; /* arena, in file order */
	const char **values;
	size_t n;
};
struct kgb_objects {
	void *items; /* arena */
	size_t n;
};

struct kgb_field {
	const char *name;
	enum kgb_field_type type;
	size_t offset; /* offsetof in the struct */
	bool required;
	int64_t min, max; /* I64, DURATION, SIZE, NUM; 0, 0: no check; a positive min with max 0: no
			     maximum */
	const char *def; /* in YAML syntax (STR: or bare); NULL: zero value */
	const char *const *names; /* ENUM */
	const struct kgb_field *sub; /* OBJECT, OBJECTS */
	size_t sub_size; /* OBJECTS: sizeof one element */
	const char *doc; /* one sentence for help and schema */
};
/** The beginning of a row for a member of a struct, and of one whose name in the document differs:
 * {KGB_FIELD(struct limits, wall, DURATION), .def = "2h", .doc = "..."} */
#define KGB_FIELD(structure, member, kind) KGB_FIELD_AS(#member, structure, member, kind)
#define KGB_FIELD_AS(key, structure, member, kind) \
	.name = (key), .type = KGB_FIELD_##kind, .offset = offsetof(structure, member)
#define KGB_FIELD_END \
	{             \
		0     \
	}
/** A whole row with its sentence and further members: KGB_FIELD_ROW(STR, rule, code, "reason code",
 * .required = true). */
#define KGB_FIELD_ROW(kind, of, member, ...) \
	KGB_FIELD_ROW_AS(kind, of, #member, member, __VA_ARGS__)
#define KGB_FIELD_ROW_AS(kind, of, key, member, ...)                           \
	{                                                                      \
		KGB_FIELD_AS(key, struct of, member, kind), .doc = __VA_ARGS__ \
	}

/** Fill defaults for a whole table (also nested OBJECTs). Aborts on a default that does not parse:
 * a bug. */
void kgb_decode_defaults(const struct kgb_field *table, void *out, struct kgb_arena *arena);
/** Fill *out with the defaults, then decode `node` (a mapping, or null: an empty one) over them. An
 * absent OBJECT keeps its defaults, its required keys are not missed. `doc` gives positions and may
 * be NULL. Messages read "file:12:9: limits.wall: '90' needs a unit: ms, s, m or h". After a
 * failure *out has no meaning. */
KGB_MUST_CHECK int kgb_decode(const struct kgb_field *table, const struct kgb_yaml *doc,
			      const cJSON *node, void *out, struct kgb_arena *arena,
			      struct kgb_err *err);
/** The same over what *out holds: a key that is absent keeps its value. */
KGB_MUST_CHECK int kgb_decode_over(const struct kgb_field *table, const struct kgb_yaml *doc,
				   const cJSON *node, void *out, struct kgb_arena *arena,
				   struct kgb_err *err);
/** The same without a stop at the first error: valid values are decoded, and *faults receives an
 * error for each invalid value, unknown key and missing key. */
void kgb_decode_all(const struct kgb_field *table, const struct kgb_yaml *doc, const cJSON *node,
		    void *out, struct kgb_arena *arena, struct kgb_faults *faults);
/** Set one field by dotted path from text (flags and environment): "limits.timeout", "20m". Lists
 * are written "a,b"; a key of a MAP is set by "env.KEY". `origin` starts the message ("--timeout").
 */
KGB_MUST_CHECK int kgb_decode_set(const struct kgb_field *table, const char *path, const char *text,
				  const char *origin, void *out, struct kgb_arena *arena,
				  struct kgb_err *err);
/** Write the struct as YAML, one `# doc` line above each key when `docs`. Reading it back gives
 * equal values. */
void kgb_decode_print(const struct kgb_field *table, const void *in, bool docs,
		      struct kgb_buf *out);
/** JSON Schema (draft 2020-12) of the table. */
void kgb_decode_schema(const struct kgb_field *table, const char *title, struct kgb_buf *out);

#endif
