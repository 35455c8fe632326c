/* SPDX-License-Identifier: MIT */
#include "agent/compare/board.h"

#include <math.h>
#include <stdlib.h>

#include "agent/compare/versus.h"
#include "agent/statistics/pass_at_k.h"
#include "agent/statistics/power.h"
#include "agent/statistics/proportion.h"

/** The operators that all sides have: item s * n + i is operator i of side s. */
struct shared {
	KGB_VEC(const struct kgb_side_op *) ops;
	size_t n, n_left_out;
};

/* ---- operators ---- */

static bool is_shared(const struct kgb_sides *sides, const char *name, size_t likely)
{
	KGB_VEC_FOREACH(side, &sides->list)
		if (!kgb_side_find(side, name, likely))
			return false;
	return true;
}

static void find_shared(const struct kgb_sides *sides, struct shared *out)
{
	const struct kgb_side *first = &sides->list.items[0];
	KGB_VEC(size_t) places = {0};
	*out = (struct shared){0};
	for (size_t i = 0; i < first->ops.n; i++)
		if (is_shared(sides, first->ops.items[i].row->name, i))
			KGB_VEC_ADD(&places, i);
	out->n = places.n;
	for (size_t s = 0; s < sides->list.n; s++) {
		const struct kgb_side *side = &sides->list.items[s];
		for (size_t i = 0; i < places.n; i++)
			KGB_VEC_ADD(&out->ops,
				    kgb_side_find(side, first->ops.items[places.items[i]].row->name,
						  places.items[i]));
		if (side->ops.n - places.n > out->n_left_out)
			out->n_left_out = side->ops.n - places.n;
	}
	KGB_VEC_RELEASE(&places);
}

/* ---- contenders ---- */

static double pass_at(const struct kgb_side_op *op, size_t k, bool core)
{
	size_t n_right = 0;
	KGB_VEC_FOREACH(attempt, &op->tries)
		n_right += core ? attempt->is_core : attempt->is_correct;
	return kgb_pass_at_k(op->tries.n, n_right, k < op->tries.n ? k : op->tries.n);
}

/** Logarithms of the speedups of an operator's attempts that have one; returns their number. */
static size_t take_logs(const struct kgb_side_op *op, double *out)
{
	size_t n = 0;
	KGB_VEC_FOREACH(attempt, &op->tries)
		if (attempt->speedup > 0)
			out[n++] = log(attempt->speedup);
	return n;
}

static void add_speedups(struct kgb_contender *c, const struct kgb_side_op *const *ops, size_t n)
{
	KGB_AUTO(free)
	double *logs = kgb_xcalloc(c->side->max_tries + 1, sizeof(*logs));
	double right = 0, all = 0;
	for (size_t i = 0; i < n; i++) {
		const size_t n_tries = ops[i]->tries.n, k = c->k < n_tries ? c->k : n_tries;
		const size_t n_right = take_logs(ops[i], logs);
		if (n_right == 0)
			continue;
		right += kgb_best_right_at_k(logs, n_right, n_tries, k);
		c->of_correct.n++;
		/* The baseline stands in for an attempt that failed. */
		for (size_t j = n_right; j < n_tries; j++)
			logs[j] = 0;
		all += kgb_best_at_k(logs, n_tries, k);
	}
	const bool is_timed = c->of_correct.n > 0;
	c->of_correct.value = is_timed ? exp(right / (double)c->of_correct.n) : (double)NAN;
	c->with_fallback = is_timed ? exp(all / (double)n) : (double)NAN;
}

/** k times the mean attempt, over the operators where it is known. */
static double cost_of(const struct kgb_contender *c, const struct kgb_side_op *const *ops, size_t n,
		      const struct kgb_measure *measure)
{
	double sum = 0;
	size_t n_known = 0;
	for (size_t i = 0; i < n; i++) {
		const double value = kgb_side_op_value(ops[i], measure);
		if (isnan(value))
			continue;
		sum += value;
		n_known++;
	}
	return n_known > 0 ? (double)c->k * sum / (double)n_known : (double)NAN;
}

/** Single attempts are trials, and have an interval of Wilson. */
static struct kgb_estimate estimate(const double *values, size_t n, bool is_single)
{
	struct kgb_estimate mean = kgb_bootstrap_mean(values, n);
	if (!is_single)
		return mean;
	const struct kgb_interval wilson = kgb_wilson_share(mean.value, n);
	mean.low = wilson.low;
	mean.high = wilson.high;
	return mean;
}

static void add_contender(struct kgb_board *board, const struct kgb_side *side, size_t k,
			  const struct kgb_side_op *const *ops, size_t n)
{
	struct kgb_contender c = {
		.side = side, .k = k, .passed = kgb_xcalloc(n + 1, sizeof(*c.passed))};
	KGB_AUTO(free) double *core = kgb_xcalloc(n + 1, sizeof(*core));
	const bool is_single = side->max_tries == 1;
	for (size_t i = 0; i < n; i++) {
		core[i] = pass_at(ops[i], k, true);
		c.passed[i] = pass_at(ops[i], k, false);
	}
	c.core = estimate(core, n, is_single);
	c.correct = estimate(c.passed, n, is_single);
	add_speedups(&c, ops, n);
	c.tokens = cost_of(&c, ops, n, kgb_measure_tokens);
	c.dollars = cost_of(&c, ops, n, kgb_measure_dollars);
	c.seconds = cost_of(&c, ops, n, kgb_measure_seconds);
	KGB_VEC_ADD(&board->list, c);
}

/* ---- ranks ---- */

static int by_score(const void *a, const void *b)
{
	const struct kgb_contender *x = a, *y = b;
	if (x->correct.value != y->correct.value)
		return x->correct.value > y->correct.value ? -1 : 1;
	if (x->core.value != y->core.value)
		return x->core.value > y->core.value ? -1 : 1;
	return x->tokens < y->tokens ? -1 : x->tokens > y->tokens;
}

static struct kgb_contest contest(const struct kgb_board *board, size_t better, size_t other)
{
	const size_t n_pairs = board->list.n * (board->list.n - 1) / 2;
	const struct kgb_contender *a = &board->list.items[better], *b = &board->list.items[other];
	const size_t n = board->n_ops, most = a->side->max_tries > b->side->max_tries
						      ? a->side->max_tries
						      : b->side->max_tries;
	KGB_AUTO(free) double *differences = kgb_xcalloc(n + 1, sizeof(*differences));
	for (size_t i = 0; i < n; i++)
		differences[i] = a->passed[i] - b->passed[i];
	const double sd = kgb_null_sd(differences, n, 1 / (double)most);
	struct kgb_contest contest = {.better = better,
				      .other = other,
				      .d = kgb_paired_difference(a->passed, b->passed, n),
				      .detectable =
					      kgb_detectable_by_flips(sd, n, KGB_POWER, n_pairs)};
	contest.p = contest.d.p;
	return contest;
}

static void rank_all(struct kgb_board *board)
{
	const size_t n = board->list.n;
	KGB_AUTO(free) double *p = kgb_xcalloc(n * n + 1, sizeof(*p));
	KGB_AUTO(free) double *scores = kgb_xcalloc(n + 1, sizeof(*scores));
	KGB_AUTO(free) bool *separated = kgb_xcalloc(n * n + 1, sizeof(*separated));
	KGB_AUTO(free) struct kgb_rank *ranks = kgb_xcalloc(n + 1, sizeof(*ranks));
	qsort(board->list.items, n, sizeof(*board->list.items), by_score);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			KGB_VEC_ADD(&board->contests, contest(board, i, k));
	for (size_t i = 0; i < board->contests.n; i++)
		p[i] = board->contests.items[i].p;
	kgb_holm(p, board->contests.n);
	for (size_t i = 0; i < board->contests.n; i++) {
		struct kgb_contest *one = &board->contests.items[i];
		one->p = p[i];
		one->is_separated = p[i] <= KGB_LEVEL;
		separated[one->better * n + one->other] = one->is_separated;
		separated[one->other * n + one->better] = one->is_separated;
	}
	for (size_t i = 0; i < n; i++)
		scores[i] = board->list.items[i].correct.value;
	kgb_rank_with_ties(scores, separated, n, ranks);
	for (size_t i = 0; i < n; i++)
		board->list.items[i].rank = ranks[i];
}

static bool has_row(const struct kgb_side *side, const struct kgb_board_rows *rows, size_t k)
{
	const bool has_samples = side->max_tries > side->runs.n;
	return k == 1 || (k <= side->max_tries && (has_samples || !rows->one_for_repeats));
}

int kgb_board_of(const struct kgb_sides *sides, const struct kgb_board_rows *rows,
		 struct kgb_board *out, struct kgb_err *err)
{
	struct shared shared;
	find_shared(sides, &shared);
	out->n_ops = shared.n;
	out->n_left_out = shared.n_left_out;
	for (size_t s = 0; shared.n > 0 && s < sides->list.n; s++) {
		const struct kgb_side *side = &sides->list.items[s];
		for (size_t i = 0; i < rows->n; i++)
			if (has_row(side, rows, rows->ks[i]))
				add_contender(out, side, rows->ks[i],
					      &shared.ops.items[s * shared.n], shared.n);
	}
	KGB_VEC_RELEASE(&shared.ops);
	if (shared.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "the runs share no operator");
	if (out->list.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID,
				"no method has that many attempts at an operator");
	rank_all(out);
	return 0;
}

void kgb_board_release(struct kgb_board *board)
{
	KGB_VEC_FOREACH(contender, &board->list)
		kgb_free(contender->passed);
	KGB_VEC_RELEASE(&board->list);
	KGB_VEC_RELEASE(&board->contests);
}
