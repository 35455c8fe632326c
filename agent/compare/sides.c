/* SPDX-License-Identifier: MIT */
#include "agent/compare/sides.h"

#include <math.h>

#include "agent/report/common.h"

/** The key by which runs are repeats of each other. */
enum sameness { SAME_MAKER, SAME_WORD, SAME_RUN };

static bool are_one_side(const struct kgb_run_row *a, const struct kgb_run_row *b,
			 enum sameness same)
{
	switch (same) {
	case SAME_MAKER:
		return kgb_run_rows_are_repeats(a, b);
	case SAME_WORD:
		return a->word == b->word || kgb_str_eq(a->word, b->word);
	case SAME_RUN:
		return a == b;
	}
	KGB_UNREACHABLE();
}

static size_t count_sides(const struct kgb_runs *runs, enum sameness same)
{
	size_t n = 0;
	for (size_t i = 0; i < runs->list.n; i++) {
		bool is_first = true;
		for (size_t k = 0; k < i; k++)
			is_first = is_first &&
				   !are_one_side(&runs->list.items[k], &runs->list.items[i], same);
		n += is_first;
	}
	return n;
}

static enum sameness choose_sameness(const struct kgb_runs *runs, enum kgb_sides_by by)
{
	if (by == KGB_SIDES_BY_RUN)
		return SAME_RUN;
	if (by == KGB_SIDES_BY_METHOD || count_sides(runs, SAME_MAKER) > 1)
		return SAME_MAKER;
	return count_sides(runs, SAME_WORD) > 1 ? SAME_WORD : SAME_RUN;
}

/* ---- attempts ---- */

void kgb_side__add_try(struct kgb_side_op *op, const struct kgb_try *attempt, const char *code,
		       struct kgb_arena *arena)
{
	KGB_VEC_ADD(&op->tries, *attempt);
	if (!attempt->is_correct && code)
		op->code = kgb_arena_strdup(arena, code);
}

static size_t place_of(const struct kgb_side *side, const char *name, size_t likely)
{
	if (likely < side->ops.n && kgb_str_eq(side->ops.items[likely].row->name, name))
		return likely;
	for (size_t i = 0; i < side->ops.n; i++)
		if (kgb_str_eq(side->ops.items[i].row->name, name))
			return i;
	return side->ops.n;
}

const struct kgb_side_op *kgb_side_find(const struct kgb_side *side, const char *name,
					size_t likely)
{
	const size_t place = place_of(side, name, likely);
	return place < side->ops.n ? &side->ops.items[place] : NULL;
}

static int add_run(struct kgb_side *side, const struct kgb_run_row *run, struct kgb_arena *arena,
		   struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf samples = KGB_BUF_INIT(0);
	if (kgb_run_samples(run->path, &samples, err) < 0)
		return -1;
	KGB_VEC_ADD(&side->runs, run);
	for (size_t i = 0; i < run->ops.n; i++) {
		const struct kgb_op_row *row = &run->ops.items[i];
		const size_t place = place_of(side, row->name, i);
		if (row->is_replaced)
			continue;
		if (place == side->ops.n)
			KGB_VEC_ADD(&side->ops, (struct kgb_side_op){.row = row});
		const struct kgb_try attempt = {row->is_core, row->is_correct, row->speedup,
						row->tokens,  row->dollars,    row->agent_seconds};
		if (samples.len == 0)
			kgb_side__add_try(&side->ops.items[place], &attempt,
					  row->code ? row->code : row->status, arena);
	}
	return samples.len > 0 ? kgb_side__add_samples(side, run, samples.ptr, arena, err) : 0;
}

static void count_tries(struct kgb_side *side)
{
	KGB_VEC_FOREACH(op, &side->ops)
		side->max_tries = op->tries.n > side->max_tries ? op->tries.n : side->max_tries;
}

/** Label each side like its first run among the first runs of all sides. */
static void add_labels(struct kgb_sides *sides)
{
	KGB_AUTO(strv) struct kgb_strv labels = KGB_STRV_INIT;
	KGB_VEC(const struct kgb_run_row *) firsts = {0};
	KGB_VEC_FOREACH(side, &sides->list)
		KGB_VEC_ADD(&firsts, side->runs.items[0]);
	kgb_run_rows_label(firsts.items, firsts.n, &labels);
	for (size_t i = 0; i < labels.n; i++)
		sides->list.items[i].label = kgb_arena_strdup(&sides->arena, labels.items[i]);
	KGB_VEC_RELEASE(&firsts);
}

int kgb_sides_of(const struct kgb_runs *runs, enum kgb_sides_by by, struct kgb_sides *out,
		 struct kgb_err *err)
{
	const enum sameness same = choose_sameness(runs, by);
	KGB_VEC_FOREACH(run, &runs->list) {
		size_t i = 0;
		while (i < out->list.n &&
		       !are_one_side(out->list.items[i].runs.items[0], run, same))
			i++;
		if (i == out->list.n)
			KGB_VEC_ADD(&out->list, (struct kgb_side){0});
		if (add_run(&out->list.items[i], run, &out->arena, err) < 0)
			return -1;
	}
	KGB_VEC_FOREACH(side, &out->list)
		count_tries(side);
	add_labels(out);
	return 0;
}

void kgb_side_describe(const struct kgb_side *side, struct kgb_buf *out)
{
	const struct kgb_run_row *first = side->runs.items[0];
	size_t n_completed = 0;
	KGB_VEC_FOREACH(run, &side->runs)
		n_completed += kgb_str_eq((*run)->status, "completed");
	if (first->is_offline)
		kgb_buf_adds(out, KGB_MARK_OFFLINE ", ");
	if (side->runs.n == 1)
		kgb_buf_adds(out, first->name);
	else
		kgb_buf_addf(out, "%zu runs", side->runs.n);
	if (!first->is_offline && first->model)
		kgb_buf_addf(out, ", model %s", first->model);
	if (side->runs.n == 1)
		kgb_buf_addf(out, ", %s", first->status ? first->status : "running");
	else
		kgb_buf_addf(out, ", %zu completed", n_completed);
}

void kgb_side_add_runs(const struct kgb_side *side, struct kgb_table *table)
{
	KGB_AUTO(buf) struct kgb_buf names = KGB_BUF_INIT(0);
	KGB_VEC_FOREACH(run, &side->runs)
		kgb_buf_addf(&names, "%s%s", names.len > 0 ? " " : "", (*run)->name);
	kgb_table_word(table, names.ptr);
}

void kgb_sides_release(struct kgb_sides *sides)
{
	KGB_VEC_FOREACH(side, &sides->list) {
		KGB_VEC_FOREACH(op, &side->ops)
			KGB_VEC_RELEASE(&op->tries);
		KGB_VEC_RELEASE(&side->ops);
		KGB_VEC_RELEASE(&side->runs);
	}
	KGB_VEC_RELEASE(&sides->list);
	kgb_arena_release(&sides->arena);
}

void kgb_auto_sides(struct kgb_sides *sides)
{
	kgb_sides_release(sides);
}
