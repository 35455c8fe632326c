/* SPDX-License-Identifier: MIT */
/** \file
 * What a session has used, message by message. Every message id counts once: an answer that repeats
 * an id raises the counts of that message to the larger report, never adds to it.
 */
#ifndef KGB_SANDBOX_METER_LEDGER_H
#define KGB_SANDBOX_METER_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "sandbox/meter/prices.h"
#include "sandbox/meter/usage.h"

struct kgb_ledger {
	struct kgb_ledger_entry *entries; /* owned; sorted by id */
	size_t n;
	size_t cap;
	const struct kgb_prices *prices; /* borrowed; NULL: no cost is known */
	struct kgb_totals totals;
};

void kgb_ledger_init(struct kgb_ledger *ledger, const struct kgb_prices *prices);
/** Count what exchange `number` reports of message `id` ("": the exchange is its own message). A
 * later report of the same exchange replaces its earlier one. The price of a `surcharged` message
 * is unknown. Returns whether another exchange had reported that id before. */
bool kgb_ledger_report(struct kgb_ledger *ledger, int64_t number, const char *id, const char *model,
		       const struct kgb_usage *usage, bool surcharged);
void kgb_ledger_release(struct kgb_ledger *ledger);

#endif
