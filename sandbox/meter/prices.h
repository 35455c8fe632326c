/* SPDX-License-Identifier: MIT */
/** \file
 * Prices of models: one YAML table, datasets/prices.yaml, that users may edit. Money is counted in
 * billionths of a dollar (nanos), so that the smallest published price is a whole number a token.
 *
 *     checked: 2026-11-21 # date of the last comparison with the providers' pages
 *     models:                       # dollars for a million tokens
 *       - {model: claude-haiku-4-5, input: 1, output: 5, cache_write: 1.25, cache_read: 0.10}
 *       - {model: claude-haiku-4-5, from: 2027-01-01, input: 0.8, ...}   # from that day on
 *
 * A row is for the model of that name and for its dated versions ("NAME-20251001",
 * "NAME-2025-10-01", "NAME-latest"). A missing price is unknown, which is not zero. */
#ifndef KGB_SANDBOX_METER_PRICES_H
#define KGB_SANDBOX_METER_PRICES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/meter/usage.h"

#define KGB_NANOS_PER_USD 1000000000LL

/** Convert dollars to nanos; -1: negative, or no amount. */
int64_t kgb_usd_to_nanos(double usd);
double kgb_nanos_to_usd(int64_t nanos);

struct kgb_prices;

/** Nanos a token; -1: not known. */
struct kgb_price {
	int64_t input, output, cache_write, cache_read;
};

KGB_MUST_CHECK int kgb_prices_load(struct kgb_prices **out, const char *path, struct kgb_err *err);
KGB_MUST_CHECK int kgb_prices_parse(struct kgb_prices **out, const char *name, const char *text,
				    size_t len, struct kgb_err *err);
void kgb_prices_free(struct kgb_prices *prices);

/** The price of `model` at that time; NULL when unknown. `prices` may be NULL. */
const struct kgb_price *kgb_prices_find(const struct kgb_prices *prices, const char *model,
					int64_t wall_ms);
/** Cost of these tokens in nanos; -1 when a count or a needed price is unknown. `price` may be
 * NULL. */
int64_t kgb_price_nanos(const struct kgb_price *price, const struct kgb_usage *usage);
/** Upper bound of the cost of these tokens in nanos, with input at the highest price for it; -1
 * when unknown. */
int64_t kgb_price_most(const struct kgb_price *price, int64_t input, int64_t output);

#endif
