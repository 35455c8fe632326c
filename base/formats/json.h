/* SPDX-License-Identifier: MIT */
/** \file
 * Strict JSON reading over cJSON, and forgiving accessors for foreign documents. kgb_json_parse
 * refuses what cJSON accepts: invalid UTF-8, \u0000, duplicate keys, trailing text, depth and size
 * beyond base/limits.h. */
#ifndef KGB_BASE_FORMATS_JSON_H
#define KGB_BASE_FORMATS_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/** Parse one document; the caller frees *out with cJSON_Delete (or KGB_AUTO(json)). Message has
 * line:column. */
KGB_MUST_CHECK int kgb_json_parse(const char *text, size_t len, cJSON **out, struct kgb_err *err);
void kgb_auto_json(cJSON **json);
/** The first member of an object whose name an earlier member has too, or NULL. */
const cJSON *kgb_json_duplicate(const cJSON *object);
/** Shortest decimal form of a finite double that reads back equal; returns out. */
#define KGB_JSON_NUM_LEN 32
const char *kgb_json_format_num(double value, char out[KGB_JSON_NUM_LEN]);
/** Whether this text is a number by the JSON grammar. */
bool kgb_json_is_number(const char *text, size_t len);

/** A deep copy that the arena owns. */
cJSON *kgb_json_copy(struct kgb_arena *arena, const cJSON *node);

/* Accessors return the fallback for NULL and wrong types. `path` is dotted: "message.usage". */
const cJSON *kgb_json_get(const cJSON *node, const char *path);
const char *kgb_json_str(const cJSON *node, const char *path, const char *fallback);
bool kgb_json_bool(const cJSON *node, const char *path, bool fallback);
double kgb_json_num(const cJSON *node, const char *path, double fallback);
/** Whole numbers up to 2^53; anything else yields the fallback. */
int64_t kgb_json_i64(const cJSON *node, const char *path, int64_t fallback);

#endif
