/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "agent/compare/sides.h"
#include "agent/report/samples.h"
#include "base/formats/json.h"
#include "verify/lane/reached.h"

/** A sample, or with reflection a chain of rounds: the attempt is as good as its best round. */
struct chain {
	size_t op; /* its place in the side */
	int64_t number;
	bool is_judged; /* all its rounds */
	struct kgb_try attempt;
	const char *code; /* of its last round that did not pass; in the arena */
};

struct chains {
	KGB_VEC(struct chain) list; /* those of one operator together */
};

/** Sum of the known values. */
static double sum(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/** The chain of that number; the lines of an operator stand together. */
static struct chain *find(struct chains *chains, size_t op, int64_t number)
{
	for (size_t i = chains->list.n; i-- > 0 && chains->list.items[i].op == op;)
		if (chains->list.items[i].number == number)
			return &chains->list.items[i];
	const double unknown = (double)NAN;
	KGB_VEC_ADD(&chains->list,
		    (struct chain){.op = op,
				   .number = number,
				   .is_judged = true,
				   .attempt = {false, false, unknown, unknown, unknown, unknown}});
	return &chains->list.items[chains->list.n - 1];
}

static void add_round(struct chain *chain, const cJSON *line, struct kgb_arena *arena)
{
	const char *status = kgb_json_str(line, "status", NULL);
	const char *code = kgb_json_str(line, "code", status);
	const bool passed = kgb_str_eq(status, "passed");
	struct kgb_try *attempt = &chain->attempt;
	chain->is_judged = chain->is_judged && status;
	attempt->is_correct = attempt->is_correct || passed;
	attempt->is_core =
		attempt->is_core || passed ||
		(!kgb_str_eq(status, "cheated") &&
		 kgb_reached_find(kgb_json_str(line, "reached", NULL)) >= KGB_REACHED_CORE);
	if (passed)
		attempt->speedup =
			fmax(attempt->speedup, kgb_json_num(line, "speedup", (double)NAN));
	else if (code)
		chain->code = kgb_arena_strdup(arena, code);
	attempt->tokens =
		sum(attempt->tokens, kgb_json_num(line, "tokens.total_tokens", (double)NAN));
	attempt->dollars = sum(attempt->dollars, kgb_json_num(line, "cost_usd", (double)NAN));
	attempt->seconds = sum(attempt->seconds, kgb_json_num(line, "seconds", (double)NAN));
}

static int add_line(struct chains *chains, const struct kgb_side *side, const char *text,
		    size_t len, struct kgb_arena *arena, struct kgb_err *err)
{
	KGB_AUTO(json) cJSON *line = NULL;
	if (kgb_json_parse(text, len, &line, err) < 0)
		return -1;
	const char *name = kgb_json_str(line, "operator", NULL);
	const int64_t number = kgb_json_i64(line, "sample", -1);
	if (!name || number < 1)
		return kgb_fail(err, KGB_ERR_INVALID, "it has no operator or no sample");
	const size_t likely = chains->list.n > 0 ? chains->list.items[chains->list.n - 1].op : 0;
	const struct kgb_side_op *op = kgb_side_find(side, name, likely);
	/* A kernel that was replaced counts nowhere. */
	if (op)
		add_round(find(chains, (size_t)(op - side->ops.items), number), line, arena);
	return 0;
}

static int read_chains(const struct kgb_side *side, const struct kgb_run_row *run, const char *text,
		       struct chains *chains, struct kgb_arena *arena, struct kgb_err *err)
{
	int number = 1;
	for (const char *at = text, *end = NULL; *at; at = end + (*end == '\n'), number++) {
		end = at + strcspn(at, "\n");
		if (add_line(chains, side, at, (size_t)(end - at), arena, err) < 0)
			return kgb_ctx(err, "%s/" KGB_SAMPLES_NAME ":%d", run->path, number);
	}
	return 0;
}

int kgb_side__add_samples(struct kgb_side *side, const struct kgb_run_row *run, const char *text,
			  struct kgb_arena *arena, struct kgb_err *err)
{
	KGB_AUTO(free) bool *has_one = kgb_xcalloc(side->ops.n + 1, sizeof(*has_one));
	struct chains chains = {0};
	const int rc = read_chains(side, run, text, &chains, arena, err);
	if (rc == 0)
		KGB_VEC_FOREACH(chain, &chains.list) {
			if (!chain->is_judged && !chain->attempt.is_correct)
				continue;
			has_one[chain->op] = true;
			kgb_side__add_try(&side->ops.items[chain->op], &chain->attempt, chain->code,
					  arena);
		}
	KGB_VEC_RELEASE(&chains.list);
	for (size_t i = 0; rc == 0 && i < run->ops.n; i++) {
		const struct kgb_op_row *row = &run->ops.items[i];
		const struct kgb_side_op *op = kgb_side_find(side, row->name, i);
		const size_t place = op ? (size_t)(op - side->ops.items) : 0;
		const struct kgb_try none = {false,       false,        (double)NAN,
					     row->tokens, row->dollars, row->agent_seconds};
		if (op && !row->is_replaced && !has_one[place])
			kgb_side__add_try(&side->ops.items[place], &none, row->status, arena);
	}
	return rc;
}
