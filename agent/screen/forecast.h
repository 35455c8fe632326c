/* SPDX-License-Identifier: MIT */
/** \file
 * When runs will end and what they will cost, from the operators that have ended so far
 * (docs/statistics.md has the method).
 */
#ifndef KGB_AGENT_SCREEN_FORECAST_H
#define KGB_AGENT_SCREEN_FORECAST_H

#include <stdint.h>

#include "agent/screen/shown.h"
#include "agent/statistics/remaining.h"

/** NaN: not known. */
struct kgb_forecast {
	struct kgb_remaining ms; /* until the last operator has ended */
	bool will_know; /* ms is unknown until more operators have ended */
	size_t n_methods; /* of which something is left */
	double usd_spent; /* so far, attempts that were lost included */
	struct kgb_remaining usd; /* of all runs at their end */
};

/** \param now_ms Wall clock. */
void kgb_forecast(const struct kgb_shown *shown, int64_t now_ms, struct kgb_forecast *out);

#endif
