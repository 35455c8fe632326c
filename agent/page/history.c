/* SPDX-License-Identifier: MIT */
#include "agent/page/history.h"

#include <math.h>

#include "base/time.h"

const char *kgb_cost_name(enum kgb_cost cost)
{
	static const char *const names[KGB_N_COSTS] = {"tokens", "usd", "seconds"};
	return names[cost];
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

/** An attempt, and what the operator had cost when it began. */
struct start {
	int number;
	const char *time;
	double cost[KGB_N_COSTS];
};

static struct start start_of(const cJSON *attempts, int number_wanted)
{
	struct start start = {.number = number_wanted};
	const cJSON *attempt = NULL;
	cJSON_ArrayForEach(attempt, attempts) {
		if (kgb_json_i64(attempt, "number", 0) == number_wanted) {
			start.time = kgb_json_str(attempt, "start_time", NULL);
			break;
		}
		const double gateway = number(attempt, "tokens.gateway.total_tokens");
		const double spent[KGB_N_COSTS] = {
			isnan(gateway) ? number(attempt, "tokens.cli.total_tokens") : gateway,
			number(attempt, "cost_usd"), number(attempt, "duration_seconds")};
		for (size_t i = 0; i < KGB_N_COSTS; i++)
			start.cost[i] += isnan(spent[i]) ? 0 : spent[i];
	}
	return start;
}

static struct kgb_step read_call(const cJSON *call, const cJSON *attempts)
{
	struct kgb_step step = {
		.attempt = (int)kgb_json_i64(call, "attempt", 0),
		.time = kgb_json_str(call, "time", NULL),
		.wall_seconds = number(call, "seconds"),
		.status = kgb_json_str(call, "status", NULL),
		.code = kgb_json_str(call, "code", NULL),
		.reached = kgb_json_str(call, "reached", NULL),
		.message = kgb_json_str(call, "message", NULL),
		.speedup = number(call, "speedup"),
	};
	const struct start start = start_of(attempts, step.attempt);
	step.cost[KGB_COST_TOKENS] = number(call, "spent.tokens.total_tokens");
	step.cost[KGB_COST_USD] = number(call, "spent.cost_usd");
	step.cost[KGB_COST_SECONDS] = seconds_between(start.time, step.time);
	for (size_t i = 0; i < KGB_N_COSTS; i++)
		step.cost[i] += start.cost[i];
	return step;
}

void kgb_history_read(const cJSON *node, const struct kgb_op_row *op, struct kgb_history *out)
{
	const cJSON *attempts = kgb_json_get(node, "attempts"), *call = NULL;
	cJSON_ArrayForEach(call, kgb_json_get(node, "verify_calls"))
		KGB_VEC_ADD(&out->steps, read_call(call, attempts));
	if (!kgb_json_str(node, "verdict", NULL))
		return;
	KGB_VEC_ADD(&out->steps, (struct kgb_step){
					 .is_final = true,
					 .time = kgb_json_str(node, "time.end_time", NULL),
					 .wall_seconds = op->verify_seconds,
					 .status = op->status,
					 .code = op->code,
					 .reached = op->reached,
					 .message = kgb_json_str(node, "error", NULL),
					 .speedup = number(node, "speedup"),
					 .cost = {op->tokens, op->dollars, op->agent_seconds},
				 });
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
			double target, enum kgb_cost cost)
{
	const double whole[KGB_N_COSTS] = {op->tokens, op->dollars, op->agent_seconds};
	if (!op->is_correct || (target > 0 && !(op->speedup > target)))
		return (double)NAN;
	KGB_VEC_FOREACH(step, &history->steps)
		if (kgb_str_eq(step->status, "passed") && (target <= 0 || step->speedup > target) &&
		    !isnan(step->cost[cost]))
			return step->cost[cost];
	return whole[cost];
}
