/* SPDX-License-Identifier: MIT */
#include "sandbox/meter/budget.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/codes.h"
#include "sandbox/meter/prices.h"

enum kgb_code kgb_budget_code(enum kgb_budget_kind kind)
{
	switch (kind) {
	case KGB_BUDGET_NONE:
		return KGB_CODE_NONE;
	case KGB_BUDGET_TOKENS:
		return KGB_CODE_BUDGET_TOKENS;
	case KGB_BUDGET_USD:
		return KGB_CODE_BUDGET_USD;
	case KGB_BUDGET_PRICE:
		return KGB_CODE_BUDGET_UNKNOWN_PRICE;
	}
	KGB_UNREACHABLE();
}

static void add(int64_t *sum, int64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = INT64_MAX;
}

void kgb_charge_add(struct kgb_charge *sum, const struct kgb_charge *more)
{
	add(&sum->tokens, more->tokens);
	add(&sum->nanos, more->nanos > 0 ? more->nanos : 0);
}

/* Whether `used` and `reservation` are within the limit; 0 is none. */
static bool fits(int64_t limit, int64_t used, int64_t reservation)
{
	return limit <= 0 || (used <= limit && reservation <= limit - used);
}

/* The answer of one budget to a reservation, against spent and reserved amounts or spent ones
 * only. */
static enum kgb_budget_kind objection(const struct kgb_budget *b,
				      const struct kgb_charge *reservation, bool with_reserved)
{
	struct kgb_charge used = b->spent;
	if (with_reserved)
		kgb_charge_add(&used, &b->reserved);
	if (!fits(b->limit.tokens, used.tokens, reservation->tokens))
		return KGB_BUDGET_TOKENS;
	if (b->limit.nanos > 0 && reservation->nanos < 0)
		return KGB_BUDGET_PRICE;
	if (!fits(b->limit.nanos, used.nanos, reservation->nanos))
		return KGB_BUDGET_USD;
	return KGB_BUDGET_NONE;
}

static int explain(const struct kgb_budget *b, enum kgb_budget_kind kind,
		   const struct kgb_charge *reservation, struct kgb_err *why)
{
	if (kind == KGB_BUDGET_PRICE)
		return kgb_fail(
			why, KGB_ERR_LIMIT,
			"the %s has a budget in dollars, and the price of this model is not known",
			b->level);
	if (kind == KGB_BUDGET_TOKENS)
		return kgb_fail(why, KGB_ERR_LIMIT,
				"the token budget of the %s is used up: %" PRId64 " of %" PRId64
				" are spent, and this request may take %" PRId64,
				b->level, b->spent.tokens, b->limit.tokens, reservation->tokens);
	return kgb_fail(
		why, KGB_ERR_LIMIT,
		"the budget of the %s is used up: $%.4f of $%.2f are spent, and this request may cost $%.4f",
		b->level, kgb_nanos_to_usd(b->spent.nanos), kgb_nanos_to_usd(b->limit.nanos),
		kgb_nanos_to_usd(reservation->nanos));
}

enum kgb_budget_answer kgb_budget_reserve(struct kgb_budget *budget,
					  const struct kgb_charge *reservation, struct kgb_err *why)
{
	bool later = false;
	for (struct kgb_budget *b = budget; b; b = b->parent) {
		enum kgb_budget_kind kind = objection(b, reservation, false);
		if (kind != KGB_BUDGET_NONE) {
			(void)explain(b, kind, reservation, why);
			if (b->reached == KGB_BUDGET_NONE)
				b->reached = kind;
			return KGB_BUDGET_REFUSED;
		}
		/* A reservation that would overflow waits: it is subtracted later, so the sum must
		 * be exact. */
		later = later || objection(b, reservation, true) != KGB_BUDGET_NONE ||
			reservation->tokens > INT64_MAX - b->reserved.tokens ||
			reservation->nanos > INT64_MAX - b->reserved.nanos;
	}
	if (later)
		return KGB_BUDGET_LATER;
	for (struct kgb_budget *b = budget; b; b = b->parent)
		kgb_charge_add(&b->reserved, reservation);
	return KGB_BUDGET_GRANTED;
}

void kgb_budget_reopen(struct kgb_budget *budget, const struct kgb_charge *reservation)
{
	const int64_t nanos = reservation->nanos > 0 ? reservation->nanos : 0;
	for (struct kgb_budget *b = budget; b; b = b->parent) {
		kgb_charge_add(&b->reserved, reservation);
		b->spent.tokens -= b->spent.tokens < reservation->tokens ? b->spent.tokens
									 : reservation->tokens;
		b->spent.nanos -= b->spent.nanos < nanos ? b->spent.nanos : nanos;
	}
}

void kgb_budget_settle(struct kgb_budget *budget, const struct kgb_charge *reserved,
		       const struct kgb_charge *spent)
{
	for (struct kgb_budget *b = budget; b; b = b->parent) {
		b->reserved.tokens -= reserved->tokens;
		b->reserved.nanos -= reserved->nanos > 0 ? reserved->nanos : 0;
		KGB_ASSERT(b->reserved.tokens >= 0 && b->reserved.nanos >= 0);
		kgb_charge_add(&b->spent, spent);
	}
}

const struct kgb_budget *kgb_budget_reached(const struct kgb_budget *budget)
{
	while (budget && budget->reached == KGB_BUDGET_NONE)
		budget = budget->parent;
	return budget;
}

void kgb_budget_plain(const struct kgb_budget *reached, char *out, size_t cap)
{
	switch (reached->reached) {
	case KGB_BUDGET_TOKENS:
		snprintf(out, cap, "the token budget of the %s is used up", reached->level);
		return;
	case KGB_BUDGET_USD:
		snprintf(out, cap, "the budget of the %s in dollars is used up", reached->level);
		return;
	case KGB_BUDGET_PRICE:
		snprintf(out, cap, "the %s has a budget in dollars, and this model has no price",
			 reached->level);
		return;
	case KGB_BUDGET_NONE:
		break;
	}
	KGB_UNREACHABLE();
}

static int percent_of(int64_t spent, int64_t limit)
{
	if (limit <= 0)
		return -1;
	double percent = 100.0 * (double)spent / (double)limit;
	return percent > 999 ? 999 : (int)percent;
}

/* The fullest of this budget and those above it: percent spent of its limit, 0..999; -1 when none
 * has a limit. `out` is that budget. */
static int fullest(const struct kgb_budget *budget, const struct kgb_budget **out)
{
	int most = -1;
	for (const struct kgb_budget *b = budget; b; b = b->parent) {
		int tokens = percent_of(b->spent.tokens, b->limit.tokens);
		int nanos = percent_of(b->spent.nanos, b->limit.nanos);
		int percent = tokens > nanos ? tokens : nanos;
		if (percent > most) {
			most = percent;
			*out = b;
		}
	}
	return most;
}

bool kgb_budget_warning(const struct kgb_budget *budget, char *out, size_t cap)
{
	const struct kgb_budget *b = NULL;
	int percent = fullest(budget, &b);
	if (!b || b->soft_percent <= 0 || percent < b->soft_percent)
		return false;
	snprintf(out, cap,
		 "%d%% of the %s's budget is used; finish soon with the best version you have",
		 percent, b->level);
	return true;
}
