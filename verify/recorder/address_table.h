/* SPDX-License-Identifier: MIT */
/** \file
 * A sorted map from numbers (addresses, handles) to numbers: the bytes of a live allocation, the
 * image of a handle.
 */
#ifndef KGB_VERIFY_RECORDER_ADDRESS_TABLE_H
#define KGB_VERIFY_RECORDER_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kgb_entry {
	uint64_t key, value;
};
struct kgb_address_table {
	struct kgb_entry *items; /* owned, sorted by key */
	size_t n, cap;
};

/** Add an entry, or replace the one with this key. */
void kgb_address_table_put(struct kgb_address_table *table, uint64_t key, uint64_t value);
/** Remove an entry; false when there is none. */
bool kgb_address_table_drop(struct kgb_address_table *table, uint64_t key);
/** Remove all entries with keys in [key, key + n). */
void kgb_address_table_drop_from(struct kgb_address_table *table, uint64_t key, uint64_t n);
/** The entry with this key, or NULL. Valid until the next change. */
const struct kgb_entry *kgb_address_table_find(const struct kgb_address_table *table, uint64_t key);
/** The entry whose range of `value` bytes from `key` on holds `address`, or NULL; of ranges that do
 * not overlap. */
const struct kgb_entry *kgb_address_table_holder(const struct kgb_address_table *table,
						 uint64_t address);
void kgb_address_table_release(struct kgb_address_table *table);

#endif
