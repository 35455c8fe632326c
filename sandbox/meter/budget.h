/* SPDX-License-Identifier: MIT */
/** \file
 * Budgets in tokens and dollars, for an attempt, its operator and the run: each is part of the one
 * above it. Before a request leaves, the upper bound of its charge is reserved in all three;
 * afterwards its charge replaces the reservation. So spent and reserved amounts together never
 * exceed a limit, however many requests are open.
 *
 * Tokens are all four classes together: input, output, written to and read from the cache. Loop
 * thread only.
 */
#ifndef KGB_SANDBOX_METER_BUDGET_H
#define KGB_SANDBOX_METER_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"
#include "base/err.h"

/** An amount of tokens and its cost. */
struct kgb_charge {
	int64_t tokens;
	int64_t nanos; /* billionths of a dollar; -1 in a reservation: unknown price */
};

/** Add two charges. Unknown nanos count as 0. Saturates. */
void kgb_charge_add(struct kgb_charge *sum, const struct kgb_charge *more);

enum kgb_budget_kind {
	KGB_BUDGET_NONE, /* not reached */
	KGB_BUDGET_TOKENS,
	KGB_BUDGET_USD,
	KGB_BUDGET_PRICE, /* limited in dollars, and the model's price is not known */
};
/** BUDGET_TOKENS, _USD or _UNKNOWN_PRICE; KGB_CODE_NONE for none. */
enum kgb_code kgb_budget_code(enum kgb_budget_kind kind);

struct kgb_budget {
	const char *level; /* static: "attempt", "operator", "run" */
	struct kgb_budget *parent; /* borrowed; NULL: the topmost */
	struct kgb_charge limit; /* 0: none */
	struct kgb_charge spent;
	struct kgb_charge reserved;
	int soft_percent; /* percent of a limit from which on the agent is warned; 0: never */
	enum kgb_budget_kind reached; /* reason of the first refusal */
};

enum kgb_budget_answer {
	KGB_BUDGET_GRANTED, /* reserved */
	KGB_BUDGET_LATER, /* not now, but perhaps after other reservations are settled */
	KGB_BUDGET_REFUSED, /* never: sets `reached` in the budget that refuses */
};
/** Reserve `reservation` in this budget and all above it, or in none. A refusal is explained in
 * `why`. */
enum kgb_budget_answer kgb_budget_reserve(struct kgb_budget *budget,
					  const struct kgb_charge *reservation,
					  struct kgb_err *why);
/** Take over a reservation of an earlier process. Budgets that loaded that process's totals count
 * it as spent; it moves to the reserved amount. No limit refuses it, because it is bought
 * already. */
void kgb_budget_reopen(struct kgb_budget *budget, const struct kgb_charge *reservation);
/** Settle a reservation; `spent` is the charge. */
void kgb_budget_settle(struct kgb_budget *budget, const struct kgb_charge *reserved,
		       const struct kgb_charge *spent);

/** The first of this budget and those above it that has refused something; NULL: none. */
const struct kgb_budget *kgb_budget_reached(const struct kgb_budget *budget);

/** The reason of `reached`, without any number. */
void kgb_budget_plain(const struct kgb_budget *reached, char *out, size_t cap);

/** One sentence on how much is used, when a soft limit is passed; false: not yet. */
bool kgb_budget_warning(const struct kgb_budget *budget, char *out, size_t cap);

#endif
