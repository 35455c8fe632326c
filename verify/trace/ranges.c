/* SPDX-License-Identifier: MIT */
#include "verify/trace/ranges.h"

#include <string.h>

#include "base/vec.h"

/* Number of ranges that begin before `address`. */
static size_t lower_bound(const struct kgb_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void kgb_ranges_put(struct kgb_ranges *ranges, uint64_t address, uint64_t bytes)
{
	const size_t i = lower_bound(ranges, address);

	if (i < ranges->n && ranges->items[i].address == address) {
		ranges->items[i].bytes = bytes;
		return;
	}
	KGB_VEC_GROW(ranges, 1);
	memmove(ranges->items + i + 1, ranges->items + i,
		(ranges->n - i) * sizeof(ranges->items[0]));
	ranges->items[i] = (struct kgb_range){address, bytes};
	ranges->n++;
}

static void drop_items(struct kgb_ranges *ranges, size_t first, size_t end)
{
	memmove(ranges->items + first, ranges->items + end,
		(ranges->n - end) * sizeof(ranges->items[0]));
	ranges->n -= end - first;
}

bool kgb_ranges_drop(struct kgb_ranges *ranges, uint64_t address)
{
	const size_t i = lower_bound(ranges, address);

	if (i == ranges->n || ranges->items[i].address != address)
		return false;
	drop_items(ranges, i, i + 1);
	return true;
}

void kgb_ranges_drop_within(struct kgb_ranges *ranges, uint64_t address, uint64_t bytes)
{
	const size_t first = lower_bound(ranges, address);
	size_t end = first;

	while (end < ranges->n && ranges->items[end].address - address < bytes)
		end++;
	if (end > first)
		drop_items(ranges, first, end);
}

const struct kgb_range *kgb_ranges_find(const struct kgb_ranges *ranges, uint64_t address)
{
	size_t i = lower_bound(ranges, address);

	if (i < ranges->n && ranges->items[i].address == address)
		return &ranges->items[i];
	if (i == 0)
		return NULL;
	i--;
	return address - ranges->items[i].address < ranges->items[i].bytes ? &ranges->items[i]
									   : NULL;
}

void kgb_ranges_release(struct kgb_ranges *ranges)
{
	kgb_free(ranges->items);
	*ranges = (struct kgb_ranges){0};
}
