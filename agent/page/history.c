/* SPDX-License-Identifier: MIT */
#include "agent/page/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

const char *kgb_history_cost_name(enum kgb_history_cost cost)
{
	static const char *const names[KGB_N_COSTS] = {"tokens", "usd", "seconds"};
	return names[cost];
}

const char *kgb_history_step_name(enum kgb_step_kind kind)
{
	static const char *const names[] = {"check", "round", "sample", "final"};
	return names[kind];
}

static double number(const cJSON *node, const char *path)
{
	return kgb_json_num(node, path, (double)NAN);
}

static double seconds_between(const char *from, const char *to)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	int64_t from_ms = 0, to_ms = 0;
	if (!from || !to || kgb_time_parse(from, &from_ms, &ignored) < 0 ||
	    kgb_time_parse(to, &to_ms, &ignored) < 0)
		return (double)NAN;
	return (double)(to_ms - from_ms) / 1000;
}

static double tokens_of(const cJSON *node)
{
	const double gateway = number(node, "tokens.gateway.total_tokens");
	return isnan(gateway) ? number(node, "tokens.cli.total_tokens") : gateway;
}

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

/** A verdict on a kernel of an attempt, or of a sample. */
static struct kgb_history_step step_of(const cJSON *node, enum kgb_step_kind kind, int step_number)
{
	return (struct kgb_history_step){
		.kind = kind,
		.number = step_number,
		.time = kgb_json_str(node, "time", NULL),
		.status = kgb_json_str(node, "status", NULL),
		.code = kgb_json_str(node, "code", NULL),
		.reached = kgb_json_str(node, "reached", NULL),
		.speedup = number(node, "speedup"),
	};
}

static void add_step(struct kgb_history *out, struct kgb_history_step step, const double before[])
{
	step.place = out->steps.n;
	for (size_t i = 0; i < KGB_N_COSTS; i++)
		step.cost[i] += before[i];
	KGB_VEC_ADD(&out->steps, step);
}

/** The checks and rounds of one attempt. \param before what the operator had cost */
static void read_attempt(const cJSON *attempt, const cJSON *calls, const double before[],
			 struct kgb_history *out)
{
	const int attempt_number = (int)kgb_json_i64(attempt, "number", 0);
	const char *start = kgb_json_str(attempt, "start_time", NULL);
	const cJSON *call = NULL, *round = NULL;
	double tokens = 0;
	cJSON_ArrayForEach(call, calls) {
		if (kgb_json_i64(call, "attempt", 0) != attempt_number)
			continue;
		struct kgb_history_step step = step_of(call, KGB_STEP_CHECK, attempt_number);
		step.cost[KGB_COST_TOKENS] = number(call, "spent.tokens.total_tokens");
		step.cost[KGB_COST_USD] = number(call, "spent.cost_usd");
		step.cost[KGB_COST_SECONDS] = seconds_between(start, step.time);
		add_step(out, step, before);
	}
	cJSON_ArrayForEach(round, kgb_json_get(attempt, "rounds")) {
		struct kgb_history_step step = step_of(round, KGB_STEP_ROUND, attempt_number);
		tokens += tokens_of(round);
		step.cost[KGB_COST_TOKENS] = tokens;
		step.cost[KGB_COST_USD] = (double)NAN;
		step.cost[KGB_COST_SECONDS] = seconds_between(start, step.time);
		add_step(out, step, before);
	}
}

void kgb_history_read(const cJSON *node, const struct kgb_op_row *op, struct kgb_history *out)
{
	static const double nothing[KGB_N_COSTS];
	const cJSON *attempt = NULL;
	double before[KGB_N_COSTS] = {0};
	cJSON_ArrayForEach(attempt, kgb_json_get(node, "attempts")) {
		read_attempt(attempt, kgb_json_get(node, "verify_calls"), before, out);
		before[KGB_COST_TOKENS] += or_zero(tokens_of(attempt));
		before[KGB_COST_USD] += or_zero(number(attempt, "cost_usd"));
		before[KGB_COST_SECONDS] += or_zero(number(attempt, "duration_seconds"));
	}
	if (!kgb_json_str(node, "verdict", NULL))
		return;
	struct kgb_history_step final = {.kind = KGB_STEP_FINAL,
					 .time = kgb_json_str(node, "time.end_time", NULL),
					 .status = op->status,
					 .code = op->code,
					 .reached = op->reached,
					 .speedup = number(node, "speedup"),
					 .cost = {op->tokens, op->dollars, op->agent_seconds}};
	add_step(out, final, nothing);
}

void kgb_history_add_sample(const cJSON *node, struct kgb_history *out)
{
	static const double nothing[KGB_N_COSTS];
	struct kgb_history_step step =
		step_of(node, KGB_STEP_SAMPLE, (int)kgb_json_i64(node, "sample", 0));
	step.cost[KGB_COST_TOKENS] = number(node, "tokens.total_tokens");
	step.cost[KGB_COST_USD] = number(node, "cost_usd");
	step.cost[KGB_COST_SECONDS] = number(node, "seconds");
	add_step(out, step, nothing);
}

static int by_time(const void *a, const void *b)
{
	const struct kgb_history_step *x = a, *y = b;
	if ((x->kind == KGB_STEP_FINAL) != (y->kind == KGB_STEP_FINAL))
		return x->kind == KGB_STEP_FINAL ? 1 : -1;
	const int order = strcmp(x->time ? x->time : "", y->time ? y->time : "");
	return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

void kgb_history_order(struct kgb_history *history)
{
	double sum[KGB_N_COSTS] = {0};
	if (history->steps.n > 0)
		qsort(history->steps.items, history->steps.n, sizeof(*history->steps.items),
		      by_time);
	KGB_VEC_FOREACH(step, &history->steps)
		for (size_t i = 0; step->kind == KGB_STEP_SAMPLE && i < KGB_N_COSTS; i++)
			step->cost[i] = sum[i] += step->cost[i];
}

void kgb_history_release(struct kgb_history *history)
{
	KGB_VEC_RELEASE(&history->steps);
}

void kgb_auto_history(struct kgb_history *history)
{
	kgb_history_release(history);
}

double kgb_history_cost(const struct kgb_history *history, const struct kgb_op_row *op,
			double target, enum kgb_history_cost cost)
{
	const double whole[KGB_N_COSTS] = {op->tokens, op->dollars, op->agent_seconds};
	const double solved[KGB_N_COSTS] = {op->solved.tokens, op->solved.dollars,
					    op->solved.seconds};
	if (target <= 0)
		return op->is_correct ? solved[cost] : (double)NAN;
	if (!op->is_correct || !(op->speedup > target))
		return (double)NAN;
	KGB_VEC_FOREACH(step, &history->steps)
		if (kgb_str_eq(step->status, "passed") && step->speedup > target &&
		    !isnan(step->cost[cost]))
			return step->cost[cost];
	return whole[cost];
}
