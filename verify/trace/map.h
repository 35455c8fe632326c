/* SPDX-License-Identifier: MIT */
/** \file
 * A hash table from numbers (handles, addresses) to numbers. Not for keys that an adversary chooses
 * to be slow: here the adversary would only slow itself down.
 */
#ifndef KGB_VERIFY_TRACE_MAP_H
#define KGB_VERIFY_TRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kgb_id_map {
	struct kgb_id_map_slot *slots; /* owned */
	size_t n, cap;
};
struct kgb_id_map_slot {
	uint64_t key, value;
	bool taken;
};

/** True and *value (which may be NULL), when there is such a key. */
bool kgb_id_map_get(const struct kgb_id_map *map, uint64_t key, uint64_t *value);
/** Add or replace. */
void kgb_id_map_put(struct kgb_id_map *map, uint64_t key, uint64_t value);
/** False when there was none. */
bool kgb_id_map_drop(struct kgb_id_map *map, uint64_t key);
/** Visit in no order; `i` starts at 0; false at the end. The map must not change meanwhile. */
bool kgb_id_map_next(const struct kgb_id_map *map, size_t *i, uint64_t *key, uint64_t *value);
void kgb_id_map_release(struct kgb_id_map *map);

#endif
