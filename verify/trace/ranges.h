/* SPDX-License-Identifier: MIT */
/** \file
 * Address ranges that do not overlap, sorted: live allocations, module globals.
 */
#ifndef KGB_VERIFY_TRACE_RANGES_H
#define KGB_VERIFY_TRACE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kgb_range {
	uint64_t address, bytes;
};
struct kgb_ranges {
	struct kgb_range *items; /* owned, sorted by address */
	size_t n, cap;
};

/** Add a range; one that begins at the same address is replaced. */
void kgb_ranges_put(struct kgb_ranges *ranges, uint64_t address, uint64_t bytes);
/** Remove the range that begins at `address`; false when there is none. */
bool kgb_ranges_drop(struct kgb_ranges *ranges, uint64_t address);
/** Remove all ranges that begin in [address, address + bytes). */
void kgb_ranges_drop_within(struct kgb_ranges *ranges, uint64_t address, uint64_t bytes);
/** The range that holds `address`, or NULL. */
const struct kgb_range *kgb_ranges_find(const struct kgb_ranges *ranges, uint64_t address);
void kgb_ranges_release(struct kgb_ranges *ranges);

#endif
