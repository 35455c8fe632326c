/* SPDX-License-Identifier: MIT */
/** \file
 * What an operator went through in one run: its checks and its final verdict, each with what the
 * operator had cost until then.
 */
#ifndef KGB_AGENT_PAGE_HISTORY_H
#define KGB_AGENT_PAGE_HISTORY_H

#include "agent/answers/runs.h"
#include "base/formats/json.h"

/** What work is paid with. */
enum kgb_cost { KGB_COST_TOKENS, KGB_COST_USD, KGB_COST_SECONDS, KGB_N_COSTS };
/** "tokens", "usd", "seconds" (of agents). */
const char *kgb_cost_name(enum kgb_cost cost);

/** One verdict. Words are borrowed from the document, NULL where unknown. */
struct kgb_step {
	bool is_final;
	int attempt; /* 0: unknown */
	const char *time; /* RFC 3339; when it came */
	double wall_seconds; /* that the judge worked; NaN: unknown */
	const char *status, *code, *reached, *message;
	double speedup; /* NaN: none */
	double cost[KGB_N_COSTS]; /* of the operator until then, earlier attempts included */
};

struct kgb_history {
	KGB_VEC(struct kgb_step) steps; /* in order; the final verdict last, if there is one */
};

/** Read an operator of a results.json. */
void kgb_history_read(const cJSON *node, const struct kgb_op_row *op, struct kgb_history *out);
void kgb_history_release(struct kgb_history *history);
void kgb_auto_history(struct kgb_history *history);

/** What the operator had cost when a kernel that passed with more than `target` times the speed of
 * the baseline was first seen; `target` 0: when one passed. NaN: the final verdict shows no such
 * kernel, or the cost is unknown. So as many operators have a cost as kgb_fast_p counts. */
double kgb_history_cost(const struct kgb_history *history, const struct kgb_op_row *op,
			double target, enum kgb_cost cost);

#endif
