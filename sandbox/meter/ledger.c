/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"

/* Ids come from the upstream. Messages beyond this number still count, but a repeated one counts
 * twice. */
#define MAX_ENTRIES 100000

struct kgb_ledger_entry {
	char *id; /* owned */
	int64_t number; /* exchange that reported it first */
	size_t row; /* in totals.models */
	struct kgb_usage usage; /* as counted in the totals */
	int64_t nanos; /* the same; -1: not known */
	int64_t first_wall_ms; /* the day's prices hold */
};

int64_t kgb_tariff_nanos(enum kgb_tariff tariff, int64_t nanos)
{
	if (tariff == KGB_TARIFF_UNKNOWN || nanos < 0)
		return -1;
	return tariff == KGB_TARIFF_BATCH ? nanos / 2 + nanos % 2 : nanos;
}

void kgb_ledger_init(struct kgb_ledger *ledger, const struct kgb_prices *prices)
{
	*ledger = (struct kgb_ledger){.prices = prices};
}

void kgb_ledger_release(struct kgb_ledger *ledger)
{
	KGB_VEC_FOREACH(entry, &ledger->entries)
		kgb_free(entry->id);
	KGB_VEC_RELEASE(&ledger->entries);
	memset(ledger, 0, sizeof(*ledger));
}

/* Replace the old counts of a message in a total by its new ones. Unknown counts are 0. */
static void move_count(int64_t *total, int64_t before, int64_t now)
{
	int64_t delta = (now > 0 ? now : 0) - (before > 0 ? before : 0);
	if (__builtin_add_overflow(*total, delta, total))
		*total = INT64_MAX;
}

static void move_usage(struct kgb_usage *total, const struct kgb_usage *before,
		       const struct kgb_usage *now)
{
#define MOVE(count, long_name) move_count(&total->count, before->count, now->count);
	KGB_USAGE_COUNTS(MOVE)
}

static void move_cost(struct kgb_totals *totals, int64_t before, int64_t now)
{
	move_count(&totals->cost_nanos, before, now);
	totals->n_unpriced += (now < 0) - (before < 0);
}

/* Index of `id`, or of its insertion point. */
static size_t find(const struct kgb_ledger *ledger, const char *id, bool *found)
{
	size_t lo = 0, hi = ledger->entries.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = strcmp(ledger->entries.items[mid].id, id);
		if (order == 0) {
			*found = true;
			return mid;
		}
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*found = false;
	return lo;
}

static struct kgb_ledger_entry *insert(struct kgb_ledger *ledger, size_t at, const char *id)
{
	KGB_VEC_GROW(&ledger->entries, 1);
	memmove(&ledger->entries.items[at + 1], &ledger->entries.items[at],
		(ledger->entries.n - at) * sizeof(*ledger->entries.items));
	ledger->entries.n++;
	ledger->entries.items[at] = (struct kgb_ledger_entry){.id = kgb_xstrdup(id),
							      .usage = KGB_USAGE_UNKNOWN,
							      .nanos = -1,
							      .first_wall_ms = kgb_wall_ms()};
	ledger->totals.n_unpriced++;
	return &ledger->entries.items[at];
}

bool kgb_ledger_report(struct kgb_ledger *ledger, int64_t number, const char *id, const char *model,
		       const struct kgb_usage *usage, enum kgb_tariff tariff)
{
	char own[40];
	if (!*id) {
		/* A blank cannot occur in a real id, so this cannot collide. */
		snprintf(own, sizeof(own), "exchange %" PRId64, number);
		id = own;
	}
	struct kgb_totals *totals = &ledger->totals;
	bool found;
	size_t at = find(ledger, id, &found);
	if (!found && ledger->entries.n >= MAX_ENTRIES) {
		struct kgb_model_total *row = kgb_totals_model(totals, model);
		kgb_usage_add(&totals->usage, usage);
		kgb_usage_add(&row->usage, usage);
		row->n_messages++;
		totals->n_unpriced++;
		return false;
	}
	struct kgb_ledger_entry *entry =
		found ? &ledger->entries.items[at] : insert(ledger, at, id);
	if (!found) {
		entry->number = number;
		entry->row = (size_t)(kgb_totals_model(totals, model) - totals->models);
		totals->models[entry->row].n_messages++;
	}
	bool repeated = entry->number != number;
	struct kgb_usage now = *usage;
	if (repeated)
		kgb_usage_max(&now, &entry->usage);
	move_usage(&totals->usage, &entry->usage, &now);
	move_usage(&totals->models[entry->row].usage, &entry->usage, &now);
	entry->usage = now;
	const struct kgb_price *price =
		kgb_prices_find(ledger->prices, model, entry->first_wall_ms);
	const int64_t nanos = kgb_tariff_nanos(tariff, kgb_price_nanos(price, &now));
	move_cost(totals, entry->nanos, nanos);
	entry->nanos = nanos;
	return repeated;
}
