/* SPDX-License-Identifier: MIT */
#include "verify/recorder/address_table.h"

#include <string.h>

#include "base/vec.h"

/* Number of entries before `key`. */
static size_t lower_bound(const struct kgb_address_table *table, uint64_t key)
{
	size_t low = 0, high = table->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (table->items[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct kgb_address_table *table, size_t i, uint64_t key)
{
	return i < table->n && table->items[i].key == key;
}

void kgb_address_table_put(struct kgb_address_table *table, uint64_t key, uint64_t value)
{
	const size_t i = lower_bound(table, key);

	if (!is_at(table, i, key)) {
		KGB_VEC_GROW(table, 1);
		memmove(table->items + i + 1, table->items + i,
			(table->n - i) * sizeof(table->items[0]));
		table->n++;
	}
	table->items[i] = (struct kgb_entry){key, value};
}

bool kgb_address_table_drop(struct kgb_address_table *table, uint64_t key)
{
	const size_t n = table->n;

	kgb_address_table_drop_from(table, key, 1);
	return table->n < n;
}

void kgb_address_table_drop_from(struct kgb_address_table *table, uint64_t key, uint64_t n)
{
	const size_t first = lower_bound(table, key);
	size_t end = first;

	while (end < table->n && table->items[end].key - key < n)
		end++;
	if (end == first)
		return;
	memmove(table->items + first, table->items + end,
		(table->n - end) * sizeof(table->items[0]));
	table->n -= end - first;
}

const struct kgb_entry *kgb_address_table_find(const struct kgb_address_table *table, uint64_t key)
{
	const size_t i = lower_bound(table, key);

	return is_at(table, i, key) ? &table->items[i] : NULL;
}

const struct kgb_entry *kgb_address_table_holder(const struct kgb_address_table *table,
						 uint64_t address)
{
	const size_t i = lower_bound(table, address);
	const size_t holder = is_at(table, i, address) ? i : i - 1;

	if (holder == SIZE_MAX)
		return NULL;

	const struct kgb_entry *entry = &table->items[holder];

	return address - entry->key < entry->value || entry->key == address ? entry : NULL;
}

void kgb_address_table_release(struct kgb_address_table *table)
{
	KGB_VEC_RELEASE(table);
}
