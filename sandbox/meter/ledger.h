/* SPDX-License-Identifier: MIT */
/** \file
 * The usage of a session, message by message. Every message id counts once: an answer that repeats
 * an id raises the counts of that message to the larger report, never adds to it. */
#ifndef KGB_SANDBOX_METER_LEDGER_H
#define KGB_SANDBOX_METER_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "sandbox/meter/prices.h"
#include "sandbox/meter/usage.h"

/** The tariff of a message. */
enum kgb_tariff {
	KGB_TARIFF_LIST,
	KGB_TARIFF_UNKNOWN, /* above the table's price, or unknown */
	KGB_TARIFF_BATCH, /* half of the list's, as both providers have it (November 2026) */
};
/** A price of the list by the tariff, rounded up; -1: not known. */
int64_t kgb_tariff_nanos(enum kgb_tariff tariff, int64_t nanos);

struct kgb_ledger {
	KGB_VEC(struct kgb_ledger_entry) entries; /* sorted by id */
	const struct kgb_prices *prices; /* borrowed; NULL: no cost is known */
	struct kgb_totals totals;
};

void kgb_ledger_init(struct kgb_ledger *ledger, const struct kgb_prices *prices);
/** Count what exchange `number` reports of message `id` ("": the exchange is its own message). A
 * later report of the same exchange replaces its earlier one. Returns whether another exchange had
 * reported that id before. */
bool kgb_ledger_report(struct kgb_ledger *ledger, int64_t number, const char *id, const char *model,
		       const struct kgb_usage *usage, enum kgb_tariff tariff);
void kgb_ledger_release(struct kgb_ledger *ledger);

#endif
