/* SPDX-License-Identifier: MIT */
#include "verify/trace/map.h"

#include "base/mem.h"

/* Linear probing in a power of two, at most two thirds full. */

static size_t home_of(const struct kgb_id_map *map, uint64_t key)
{
	/* Fibonacci hashing: handles differ in their middle bits. */
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->cap - 1);
}

/* The slot of `key`, or the free one where it would go. */
static size_t slot_of(const struct kgb_id_map *map, uint64_t key)
{
	size_t i = home_of(map, key);

	while (map->slots[i].taken && map->slots[i].key != key)
		i = (i + 1) & (map->cap - 1);
	return i;
}

static void grow(struct kgb_id_map *map)
{
	struct kgb_id_map bigger = {.cap = map->cap ? 2 * map->cap : 64, .n = map->n};

	bigger.slots = kgb_xcalloc(bigger.cap, sizeof(bigger.slots[0]));
	for (size_t i = 0; i < map->cap; i++) {
		if (map->slots[i].taken)
			bigger.slots[slot_of(&bigger, map->slots[i].key)] = map->slots[i];
	}
	kgb_free(map->slots);
	*map = bigger;
}

bool kgb_id_map_get(const struct kgb_id_map *map, uint64_t key, uint64_t *value)
{
	if (map->n == 0)
		return false;

	const struct kgb_id_map_slot *slot = &map->slots[slot_of(map, key)];

	if (slot->taken && value)
		*value = slot->value;
	return slot->taken;
}

void kgb_id_map_put(struct kgb_id_map *map, uint64_t key, uint64_t value)
{
	if (3 * (map->n + 1) > 2 * map->cap)
		grow(map);

	struct kgb_id_map_slot *slot = &map->slots[slot_of(map, key)];

	if (!slot->taken)
		map->n++;
	*slot = (struct kgb_id_map_slot){key, value, true};
}

bool kgb_id_map_drop(struct kgb_id_map *map, uint64_t key)
{
	size_t hole, i;

	if (map->n == 0)
		return false;
	hole = slot_of(map, key);
	if (!map->slots[hole].taken)
		return false;
	map->slots[hole].taken = false;
	map->n--;
	/* Close the gap: whatever was pushed past the hole by it moves back. */
	for (i = (hole + 1) & (map->cap - 1); map->slots[i].taken; i = (i + 1) & (map->cap - 1)) {
		const size_t home = home_of(map, map->slots[i].key);

		if (((i - home) & (map->cap - 1)) < ((i - hole) & (map->cap - 1)))
			continue;
		map->slots[hole] = map->slots[i];
		map->slots[i].taken = false;
		hole = i;
	}
	return true;
}

bool kgb_id_map_next(const struct kgb_id_map *map, size_t *i, uint64_t *key, uint64_t *value)
{
	while (*i < map->cap) {
		const struct kgb_id_map_slot *slot = &map->slots[(*i)++];

		if (slot->taken) {
			*key = slot->key;
			*value = slot->value;
			return true;
		}
	}
	return false;
}

void kgb_id_map_release(struct kgb_id_map *map)
{
	kgb_free(map->slots);
	*map = (struct kgb_id_map){0};
}
