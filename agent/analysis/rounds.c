/* SPDX-License-Identifier: MIT */
/** \file
 * Round by round, for methods that work in rounds and for chains of samples: shares that compile
 * and that are right, speedups, and the counts of kernels that a round rescued, kept and lost. A
 * chain that has ended keeps its last kernel; an operator without a kernel is a chain that
 * fails. */
#include <math.h>

#include "agent/analysis/analysis.h"
#include "agent/statistics/bootstrap.h"
#include "agent/statistics/paired.h"
#include "agent/statistics/speedup.h"

#define ROUND "After each round: % of chains [95 %, over operators]; speedup of right kernels"
#define CHANGE "Against the round before: rescued (failed then), kept (right then), lost"

static const struct kgb_table_column columns[] = {
	KGB_ANALYSIS_COLUMNS,
	{"round", "round", NULL},
	{"chains", "chains", ROUND},
	{"compiled", "compile", ROUND},
	{"correct", "right", ROUND},
	{"correct_low", NULL, ROUND},
	{"correct_high", NULL, ROUND},
	{"ever_correct", "ever", ROUND},
	{"speedup", "speedup", ROUND},
	{"timed", "of", ROUND},
	{"rescued", "rescued", CHANGE},
	{"speedup_rescued", "speedup", CHANGE},
	{"kept", "kept", CHANGE},
	{"speedup_kept", "speedup", CHANGE},
	{"kept_change", "to before [95 %]", CHANGE},
	{"kept_change_low", NULL, CHANGE},
	{"kept_change_high", NULL, CHANGE},
	{"lost", "lost", CHANGE},
};

/** Speedups of kernels, for a geometric mean. */
struct speeds {
	KGB_VEC(double) list;
};

struct round {
	int number;
	size_t n_chains, n_compiled, n_correct, n_ever, n_rescued, n_kept, n_lost;
	bool lacks_rungs; /* of older verdicts: how many compiled is not known */
	struct speeds correct, rescued, kept, kept_before;
	struct speeds shares; /* of right chains, of each operator */
};

static void release(struct round *round)
{
	KGB_VEC_RELEASE(&round->correct.list);
	KGB_VEC_RELEASE(&round->rescued.list);
	KGB_VEC_RELEASE(&round->kept.list);
	KGB_VEC_RELEASE(&round->kept_before.list);
	KGB_VEC_RELEASE(&round->shares.list);
}

/** The chain's kernel after a round, which is that of its last step until then. Without one the
 * chain fails. */
static struct kgb_op_step state_after(const struct kgb_op_step *chain, size_t n, int round)
{
	struct kgb_op_step state = {.has_rung = true, .speedup = (double)NAN};
	for (size_t i = 0; i < n && chain[i].round <= round; i++)
		state = chain[i];
	return state;
}

static bool was_correct(const struct kgb_op_step *chain, size_t n, int round)
{
	for (size_t i = 0; i < n && chain[i].round <= round; i++)
		if (chain[i].is_correct)
			return true;
	return false;
}

/** \param is_first there is no round before it */
static bool count_chain(struct round *out, const struct kgb_op_step *chain, size_t n, bool is_first)
{
	const struct kgb_op_step now = state_after(chain, n, out->number);
	const struct kgb_op_step before = state_after(chain, n, out->number - 1);
	out->n_chains++;
	out->n_compiled += now.is_compiled;
	out->lacks_rungs = out->lacks_rungs || !now.has_rung;
	out->n_correct += now.is_correct;
	out->n_ever += was_correct(chain, n, out->number);
	if (now.is_correct)
		KGB_VEC_ADD(&out->correct.list, now.speedup);
	if (is_first)
		return now.is_correct;
	out->n_lost += before.is_correct && !now.is_correct;
	if (now.is_correct && !before.is_correct) {
		out->n_rescued++;
		KGB_VEC_ADD(&out->rescued.list, now.speedup);
	}
	if (now.is_correct && before.is_correct) {
		out->n_kept++;
		KGB_VEC_ADD(&out->kept.list, now.speedup);
		KGB_VEC_ADD(&out->kept_before.list, before.speedup);
	}
	return now.is_correct;
}

static void count_op(struct round *out, const struct kgb_op_row *op, bool is_first)
{
	size_t n_chains = 0, n_correct = 0;
	for (size_t at = 0, end = 0; at < op->n_steps || n_chains == 0; at = end) {
		while (end < op->n_steps && op->steps[end].chain == op->steps[at].chain)
			end++;
		n_correct += count_chain(out, &op->steps[at], end - at, is_first);
		n_chains++;
	}
	KGB_VEC_ADD(&out->shares.list, (double)n_correct / (double)n_chains);
}

static struct kgb_mean mean_of(const struct speeds *speeds)
{
	return kgb_geometric_mean_of_correct(speeds->list.items, speeds->list.n);
}

static void add_round(struct kgb_table *table, const struct round *r, bool is_first)
{
	const double n = (double)r->n_chains, unknown = (double)NAN;
	const struct kgb_estimate correct =
		kgb_bootstrap_mean(r->shares.list.items, r->shares.list.n);
	const struct kgb_mean speedup = mean_of(&r->correct);
	const struct kgb_paired change =
		kgb_paired_ratio(r->kept.list.items, r->kept_before.list.items, r->kept.list.n);
	kgb_table_number(table, (double)r->number, "%d", r->number);
	kgb_table_count(table, r->n_chains);
	kgb_table_share(table, r->lacks_rungs ? unknown : (double)r->n_compiled / n);
	kgb_table_interval(table, (double)r->n_correct / n, correct.low, correct.high);
	kgb_table_share(table, (double)r->n_ever / n);
	kgb_table_speedup(table, speedup.value);
	kgb_table_number(table, speedup.n > 0 ? (double)speedup.n : unknown, "%zu", speedup.n);
	kgb_table_number(table, is_first ? unknown : (double)r->n_rescued, "%zu", r->n_rescued);
	kgb_table_speedup(table, mean_of(&r->rescued).value);
	kgb_table_number(table, is_first ? unknown : (double)r->n_kept, "%zu", r->n_kept);
	kgb_table_speedup(table, mean_of(&r->kept).value);
	if (isnan(change.low))
		kgb_table_speedup(table, change.n > 0 ? change.value : unknown);
	else
		kgb_table_number(table, change.value, "%.2fx [%.2f, %.2f]", change.value,
				 change.low, change.high);
	kgb_table_number(table, change.low, "%s", "");
	kgb_table_number(table, change.high, "%s", "");
	kgb_table_number(table, is_first ? unknown : (double)r->n_lost, "%zu", r->n_lost);
}

/** The first and last round of any operator; false: the run has no rounds. */
static bool find_rounds(const struct kgb_run_row *run, int *first, int *last)
{
	bool found = false;
	KGB_VEC_FOREACH(op, &run->ops)
		for (size_t i = 0; i < op->n_steps; i++) {
			const int round = op->steps[i].round;
			*first = !found || round < *first ? round : *first;
			*last = !found || round > *last ? round : *last;
			found = true;
		}
	return found;
}

static void add_rows(struct kgb_analysis *a, const struct kgb_group *group, struct kgb_table *table)
{
	for (size_t r = 0; r < group->runs->list.n; r++) {
		const struct kgb_run_row *run = &group->runs->list.items[r];
		int first = 0, last = -1;
		if (!find_rounds(run, &first, &last) && !group->name)
			kgb_strv_addf(a->notes, "%s: its method has no rounds", a->labels.items[r]);
		for (int number = first; number <= last; number++) {
			struct round round = {.number = number};
			KGB_VEC_FOREACH(op, &run->ops)
				if (kgb_op_is_in(op, group->name))
					count_op(&round, op, number == first);
			if (round.n_chains > 0) {
				kgb_analysis_begin(a, group, r, table);
				add_round(table, &round, number == first);
			}
			release(&round);
		}
	}
}

static int add(struct kgb_analysis *a, struct kgb_table *table, KGB_UNUSED struct kgb_err *err)
{
	kgb_analysis_each(a, add_rows, table);
	return 0;
}

const struct kgb_view kgb_view_rounds = {
	.member = "rounds",
	.details = KGB_DETAIL_STEPS,
	.columns = columns,
	.n_columns = KGB_ARRAY_LEN(columns),
	.add = add,
};
