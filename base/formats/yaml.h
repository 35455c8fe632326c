/* SPDX-License-Identifier: MIT */
/** \file
 * YAML (libyaml) to the same cJSON tree that JSON decodes from, with positions kept beside it.
 * Scalars resolve by the JSON schema only (null, ~, true, false, JSON numbers): `no`, `on`, `0x10`,
 * `1e3x` stay strings. Tags are refused. Duplicate keys are refused; aliases are refused; depth,
 * node count and size are capped; exactly one document.
 */
#ifndef KGB_BASE_FORMATS_YAML_H
#define KGB_BASE_FORMATS_YAML_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "base/err.h"
#include "base/vec.h"

struct kgb_yaml_mark {
	int line, column; /* 1-based; 0, 0 when unknown */
};

/** Number and boolean nodes keep their text as written in `valuestring`. An empty document is a
 * null root. */
struct kgb_yaml {
	cJSON *root; /* owned */
	char *name; /* owned; file name for messages */
	KGB_VEC(struct kgb_yaml_pos) positions; /* sorted by node address */
};
#define KGB_YAML_INIT \
	{             \
		0     \
	}

KGB_MUST_CHECK int kgb_yaml_parse(const char *name, const char *text, size_t len,
				  struct kgb_yaml *out, struct kgb_err *err);
KGB_MUST_CHECK int kgb_yaml_read(int dir_fd, const char *path, struct kgb_yaml *out,
				 struct kgb_err *err);
/** Whether the node is a whole number of 64 bits. Its text decides, not the double: 1 is one, 1.0
 * and 1e3 are not, and *out is exact. `node` may be NULL. */
bool kgb_yaml_whole(const cJSON *node, int64_t *out);
/** 1-based line and column of a node (0, 0 if unknown). */
void kgb_yaml_where(const struct kgb_yaml *doc, const cJSON *node, int *line, int *column);
/** Fail with "file:line:col: <message>" at the value of a node. `doc` may be NULL or have no
 * positions. Returns -1. */
int kgb_yaml_fail(const struct kgb_yaml *doc, const cJSON *node, struct kgb_err *err,
		  const char *fmt, ...) KGB_PRINTF(4, 5);
/** The same at the key of a mapping's member. */
int kgb_yaml_fail_key(const struct kgb_yaml *doc, const cJSON *node, struct kgb_err *err,
		      const char *fmt, ...) KGB_PRINTF(4, 5);
void kgb_yaml_release(struct kgb_yaml *doc);
void kgb_auto_yaml(struct kgb_yaml *doc);

#endif
