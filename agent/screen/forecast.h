/* SPDX-License-Identifier: MIT */
/** \file
 * When a run will end and what it will cost, from the operators that have ended so far
 * (docs/answers.md has the method).
 */
#ifndef KGB_AGENT_SCREEN_FORECAST_H
#define KGB_AGENT_SCREEN_FORECAST_H

#include <stdint.h>

#include "agent/statistics/remaining.h"
#include "agent/store/state.h"

/** NaN: not known. */
struct kgb_forecast {
	struct kgb_remaining ms; /* until the last operator has ended */
	double usd_spent; /* so far, attempts that were lost included */
	struct kgb_remaining usd; /* of the whole run at its end */
};

/** \param now_ms Wall clock. */
void kgb_forecast(const struct kgb_run_state *state, int64_t now_ms, struct kgb_forecast *out);

#endif
