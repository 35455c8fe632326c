/* SPDX-License-Identifier: MIT */
/** \file
 * The history of an operator in one run: its checks, rounds or samples, and its final verdict, each
 * with the operator's cost until then. */
#ifndef KGB_AGENT_PAGE_HISTORY_H
#define KGB_AGENT_PAGE_HISTORY_H

#include "agent/answers/runs.h"
#include "base/formats/json.h"

/** The units of cost. */
enum kgb_history_cost { KGB_COST_TOKENS, KGB_COST_USD, KGB_COST_SECONDS, KGB_N_COSTS };
/** "tokens", "usd", "seconds" (of agents). */
const char *kgb_history_cost_name(enum kgb_history_cost cost);

enum kgb_step_kind {
	KGB_STEP_CHECK, /* that the agent requested */
	KGB_STEP_ROUND, /* of a method that works in rounds */
	KGB_STEP_SAMPLE, /* of a bare model */
	KGB_STEP_FINAL, /* the verdict that counts */
};
/** "check", "round", "sample", "final". */
const char *kgb_history_step_name(enum kgb_step_kind kind);

/** One verdict. Words are borrowed, NULL where unknown. */
struct kgb_history_step {
	enum kgb_step_kind kind;
	int number; /* of the attempt or of the sample; 0: unknown */
	size_t place; /* among the steps that came at the same time */
	const char *time; /* RFC 3339; when it came */
	const char *status, *code, *reached;
	double speedup; /* NaN: none */
	double cost[KGB_N_COSTS]; /* of the operator until then, earlier attempts included */
};

struct kgb_history {
	KGB_VEC(struct kgb_history_step) steps; /* in order of time; the final verdict last */
};

/** Read an operator of a results.json, from which the words are borrowed. */
void kgb_history_read(const cJSON *node, const struct kgb_op_row *op, struct kgb_history *out);
/** Add a line of samples.jsonl, from which the words are borrowed. Its cost is that of the sample
 * alone until kgb_history_order. */
void kgb_history_add_sample(const cJSON *node, struct kgb_history *out);
/** Order the steps by time, and sum the costs of samples. */
void kgb_history_order(struct kgb_history *history);
void kgb_history_release(struct kgb_history *history);
void kgb_auto_history(struct kgb_history *history);

/** The cost of the operator up to its first kernel that passed with more than `target` times the
 * speed of the baseline; `target` 0: up to its first kernel that passed, which is op->solved. NaN:
 * the final verdict shows no such kernel, or the cost is unknown. Thus as many operators have a
 * cost as kgb_fast_p counts. */
double kgb_history_cost(const struct kgb_history *history, const struct kgb_op_row *op,
			double target, enum kgb_history_cost cost);

#endif
