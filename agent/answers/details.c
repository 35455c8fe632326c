/* SPDX-License-Identifier: MIT */
#include "agent/answers/details.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/formats/lines.h"
#include "base/limits.h"
#include "base/time.h"
#include "verify/lane/reached.h"

static double number(const cJSON *node, const char *path)
{
	return kgb_json_num(node, path, (double)NAN);
}

static bool has_passed(const cJSON *verdict)
{
	return kgb_str_eq(kgb_json_str(verdict, "status", NULL), "passed");
}

/** Whether its kernel compiled. An old verdict without a rung shows it only if it is "passed". */
static bool has_compiled(const cJSON *verdict)
{
	const char *reached = kgb_json_str(verdict, "reached", NULL);
	const bool cheated = kgb_str_eq(kgb_json_str(verdict, "status", NULL), "cheated");
	return has_passed(verdict) ||
	       (!cheated && kgb_reached_find(reached) >= KGB_REACHED_COMPILES);
}

static struct kgb_op_step step_of(const cJSON *verdict, int chain, int round)
{
	const double speedup = number(verdict, "speedup");
	const bool correct = has_passed(verdict);
	return (struct kgb_op_step){
		.chain = chain,
		.round = round,
		.is_compiled = has_compiled(verdict),
		.is_correct = correct,
		.has_rung = correct || kgb_json_get(verdict, "reached"),
		.speedup = correct && speedup > 0 ? speedup : (double)NAN,
	};
}

/* ---- rounds ---- */

/** The rounds of the last attempt that has any: an attempt begins anew. */
static void read_rounds(struct kgb_runs *runs, const cJSON *node, struct kgb_op_row *op)
{
	const cJSON *attempt = NULL, *last = NULL;
	cJSON_ArrayForEach(attempt, kgb_json_get(node, "attempts"))
		if (cJSON_GetArraySize(kgb_json_get(attempt, "rounds")) > 0)
			last = attempt;
	const cJSON *rounds = kgb_json_get(last, "rounds"), *round = NULL;
	const int chain = (int)kgb_json_i64(last, "number", 1);
	const int n = cJSON_GetArraySize(rounds);
	struct kgb_op_step *steps = kgb_arena_array(&runs->arena, (size_t)n + 1, sizeof(*steps));
	op->steps = steps;
	cJSON_ArrayForEach(round, rounds)
		steps[op->n_steps++] = step_of(round, chain, (int)kgb_json_i64(round, "number", 1));
}

/* ---- the cost of the first right kernel ---- */

static double add(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

static double seconds_between(const char *from, const char *to)
{
	int64_t from_ms = 0, to_ms = 0;
	struct kgb_err err = KGB_ERR_INIT;
	if (!from || !to || kgb_time_parse(from, &from_ms, &err) < 0 ||
	    kgb_time_parse(to, &to_ms, &err) < 0)
		return (double)NAN;
	return (double)(to_ms - from_ms) / 1000;
}

/** The first check of an attempt that passed; NULL: none. */
static const cJSON *passed_check(const cJSON *node, int64_t attempt)
{
	const cJSON *call = NULL;
	cJSON_ArrayForEach(call, kgb_json_get(node, "verify_calls"))
		if (kgb_json_i64(call, "attempt", 0) == attempt && has_passed(call))
			return call;
	return NULL;
}

static const cJSON *passed_round(const cJSON *attempt)
{
	const cJSON *round = NULL;
	cJSON_ArrayForEach(round, kgb_json_get(attempt, "rounds"))
		if (has_passed(round))
			return round;
	return NULL;
}

/** Tokens of the rounds up to this one. */
static double tokens_until(const cJSON *attempt, const cJSON *last)
{
	const cJSON *round = NULL;
	double tokens = (double)NAN;
	cJSON_ArrayForEach(round, kgb_json_get(attempt, "rounds")) {
		tokens = add(tokens, number(round, "tokens.gateway.total_tokens"));
		if (round == last)
			break;
	}
	return tokens;
}

/** What the attempt had spent when a check or a round of it first passed. */
static bool find_solved(const cJSON *node, const cJSON *attempt, struct kgb_op_cost *out)
{
	const cJSON *call = passed_check(node, kgb_json_i64(attempt, "number", 0));
	const cJSON *round = call ? NULL : passed_round(attempt);
	if (!call && !round)
		return false;
	*out = (struct kgb_op_cost){
		.tokens = call ? number(call, "spent.tokens.total_tokens")
			       : tokens_until(attempt, round),
		.dollars = call ? number(call, "spent.cost_usd") : (double)NAN,
		.seconds = seconds_between(kgb_json_str(attempt, "start_time", NULL),
					   kgb_json_str(call ? call : round, "time", NULL)),
	};
	return true;
}

static double first_known(double value, double otherwise)
{
	return isnan(value) ? otherwise : value;
}

/** Without such a check the cost of the right kernel is all that the attempt spent. */
static void read_solved(const cJSON *node, struct kgb_op_row *op)
{
	const cJSON *attempt = NULL;
	const struct kgb_op_cost all = {op->tokens, op->dollars, op->agent_seconds};
	struct kgb_op_cost before = {0, 0, 0}, found;
	op->solved = (struct kgb_op_cost){(double)NAN, (double)NAN, (double)NAN};
	if (!op->is_correct)
		return;
	op->solved = all;
	cJSON_ArrayForEach(attempt, kgb_json_get(node, "attempts")) {
		if (find_solved(node, attempt, &found)) {
			op->solved.tokens = first_known(before.tokens + found.tokens, all.tokens);
			op->solved.dollars =
				first_known(before.dollars + found.dollars, all.dollars);
			op->solved.seconds =
				first_known(before.seconds + found.seconds, all.seconds);
			return;
		}
		before.tokens = add(before.tokens, number(attempt, "tokens.gateway.total_tokens"));
		before.dollars = add(before.dollars, number(attempt, "cost_usd"));
		before.seconds = add(before.seconds, number(attempt, "duration_seconds"));
	}
}

/* ---- parts ---- */

/** Geometric mean over the timed cases of the part: a case is named
 * "<interface>/<element type>/...". */
static double speedup_of(const cJSON *timed_cases, const char *name, bool is_dtype)
{
	const cJSON *timed = NULL;
	const size_t len = strlen(name);
	double logs = 0;
	size_t n = 0;
	cJSON_ArrayForEach(timed, timed_cases) {
		const char *at = timed->string;
		const char *slash = is_dtype ? strchr(at, '/') : NULL;
		at = slash ? slash + 1 : at;
		if (strncmp(at, name, len) != 0 || at[len] != '/')
			continue;
		logs += log(number(timed, "speedup.value"));
		n++;
	}
	return n > 0 ? exp(logs / (double)n) : (double)NAN;
}

static struct kgb_op_part part_of(struct kgb_runs *runs, const cJSON *node, const cJSON *cases,
				  bool is_dtype, const struct kgb_op_row *op)
{
	const bool shows = !op->is_replaced && !kgb_str_eq(op->status, "cheated");
	const int64_t total = kgb_json_i64(cases, "total", 0);
	const char *reached = kgb_json_str(cases, "reached", NULL);
	struct kgb_op_part part = {
		.name = kgb_arena_strdup(&runs->arena, cases->string),
		.is_dtype = is_dtype,
		.reached = shows && reached ? kgb_arena_strdup(&runs->arena, reached) : NULL,
		.speedup = (double)NAN,
	};
	part.is_correct =
		shows && (is_dtype ? total > 0 && kgb_json_i64(cases, "passed", 0) == total
				   : kgb_reached_find(reached) >= KGB_REACHED_CORRECT);
	if (part.is_correct)
		part.speedup = speedup_of(kgb_json_get(node, "timed_cases"), part.name, is_dtype);
	return part;
}

static void read_parts(struct kgb_runs *runs, const cJSON *node, struct kgb_op_row *op)
{
	const cJSON *lists[] = {kgb_json_get(node, "interfaces"), kgb_json_get(node, "dtypes")};
	const cJSON *cases = NULL;
	const size_t most =
		(size_t)cJSON_GetArraySize(lists[0]) + (size_t)cJSON_GetArraySize(lists[1]);
	struct kgb_op_part *parts = kgb_arena_array(&runs->arena, most + 1, sizeof(*parts));
	op->parts = parts;
	for (size_t i = 0; i < KGB_ARRAY_LEN(lists); i++)
		cJSON_ArrayForEach(cases, lists[i])
			parts[op->n_parts++] = part_of(runs, node, cases, i == 1, op);
}

void kgb_details__read(struct kgb_runs *runs, const cJSON *node, struct kgb_op_row *op)
{
	if (runs->details & KGB_DETAIL_STEPS) {
		read_rounds(runs, node, op);
		read_solved(node, op);
	}
	if (runs->details & KGB_DETAIL_PARTS)
		read_parts(runs, node, op);
}

/* ---- samples ---- */

struct sample {
	struct kgb_op_step step;
	struct kgb_op_cost cost;
	char time[KGB_TIME_LEN];
};

/** The samples of one operator, which follow each other in the file. */
struct samples {
	struct kgb_runs *runs;
	struct kgb_run_row *run;
	char *operator; /* owned */
	KGB_VEC(struct sample) list;
	int64_t n_lines;
	struct kgb_err *err;
	int rc;
};

static int by_time(const void *a, const void *b)
{
	return strcmp(((const struct sample *)a)->time, ((const struct sample *)b)->time);
}

static int by_chain(const void *a, const void *b)
{
	const struct kgb_op_step *x = a, *y = b;
	return x->chain != y->chain ? (x->chain > y->chain) - (x->chain < y->chain)
				    : (x->round > y->round) - (x->round < y->round);
}

static struct kgb_op_row *find_op(struct kgb_run_row *run, const char *name)
{
	KGB_VEC_FOREACH(op, &run->ops)
		if (kgb_str_eq(op->name, name))
			return op;
	return NULL;
}

/** In the order of their answers, until the first that passed. */
static struct kgb_op_cost cost_until_passed(struct samples *s, struct kgb_op_cost all)
{
	struct kgb_op_cost sum = {(double)NAN, (double)NAN, (double)NAN};
	qsort(s->list.items, s->list.n, sizeof(*s->list.items), by_time);
	KGB_VEC_FOREACH(sample, &s->list) {
		sum.tokens = add(sum.tokens, sample->cost.tokens);
		sum.dollars = add(sum.dollars, sample->cost.dollars);
		sum.seconds = add(sum.seconds, sample->cost.seconds);
		if (sample->step.is_correct)
			return (struct kgb_op_cost){first_known(sum.tokens, all.tokens),
						    first_known(sum.dollars, all.dollars),
						    first_known(sum.seconds, all.seconds)};
	}
	return all;
}

static void end_operator(struct samples *s)
{
	struct kgb_op_row *op = s->operator? find_op(s->run, s->operator) : NULL;
	if (op && s->list.n > 0) {
		struct kgb_op_step *steps =
			kgb_arena_array(&s->runs->arena, s->list.n, sizeof(*steps));
		if (op->is_correct)
			op->solved = cost_until_passed(s, op->solved);
		for (size_t i = 0; i < s->list.n; i++)
			steps[i] = s->list.items[i].step;
		qsort(steps, s->list.n, sizeof(*steps), by_chain);
		op->steps = steps;
		op->n_steps = s->list.n;
	}
	kgb_free(s->operator);
	s->operator= NULL;
	s->list.n = 0;
}

static void on_line(void *payload, const char *line, size_t len)
{
	struct samples *s = payload;
	KGB_AUTO(json) cJSON *node = NULL;
	s->n_lines++;
	if (s->rc < 0)
		return;
	s->rc = kgb_json_parse(line, len, &node, s->err);
	if (s->rc < 0) {
		s->rc = kgb_ctx(s->err, "samples.jsonl, line %lld", (long long)s->n_lines);
		return;
	}
	const char *name = kgb_json_str(node, "operator", "");
	if (!kgb_str_eq(name, s->operator)) {
		end_operator(s);
		s->operator= kgb_xstrdup(name);
	}
	struct sample sample = {
		.step = step_of(node, (int)kgb_json_i64(node, "sample", 1),
				(int)kgb_json_i64(node, "round", 1)),
		.cost = {number(node, "tokens.total_tokens"), number(node, "cost_usd"),
			 number(node, "seconds")},
	};
	snprintf(sample.time, sizeof(sample.time), "%s", kgb_json_str(node, "time", ""));
	KGB_VEC_ADD(&s->list, sample);
}

int kgb_details__read_samples(struct kgb_runs *runs, struct kgb_run_row *run, const char *text,
			      size_t len, struct kgb_err *err)
{
	struct samples s = {.runs = runs, .run = run, .err = err};
	struct kgb_lines lines;
	kgb_lines_init(&lines, KGB_LIMIT_LINE);
	kgb_lines_feed(&lines, text, len, on_line, &s);
	(void)kgb_lines_finish(&lines, on_line, &s);
	kgb_lines_release(&lines);
	end_operator(&s);
	KGB_VEC_RELEASE(&s.list);
	return s.rc;
}
