/* SPDX-License-Identifier: MIT */
#include "agent/page/words.h"

#include <math.h>

#include "agent/answers/figures.h"
#include "agent/compare/unlike.h"
#include "agent/compare/versus.h"
#include "agent/report/common.h"

/* ---- warnings ---- */

static int add_warnings(const struct kgb_runs *runs, const struct kgb_collected *c,
			struct kgb_strv *warnings, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv reasons = KGB_STRV_INIT;
	KGB_VEC_FOREACH(run, &c->runs)
		if (run->row->is_offline)
			kgb_strv_addf(warnings,
				      "%s is " KGB_MARK_OFFLINE
				      ": a built-in script wrote its kernels, so that its figures "
				      "show nothing about a model.",
				      run->label);
	if (kgb_runs_find_unlike(runs, &reasons, err) < 0)
		return -1;
	for (size_t i = 0; i < reasons.n; i++)
		kgb_strv_addf(warnings, "The runs measure different things: %s.", reasons.items[i]);
	return 0;
}

/* ---- outcome of each run ---- */

static void add_speed(struct kgb_buf *out, const struct kgb_run_row *run,
		      const struct kgb_figures *f)
{
	if (f->of_correct.n == 0 && kgb_str_eq(run->platform, "cpu"))
		kgb_buf_adds(out, " Speed was not measured: the judge ran on the CPU.");
	else if (f->of_correct.n == 0)
		kgb_buf_adds(out, " No kernel has a speedup.");
	else
		kgb_buf_addf(
			out,
			" %zu kernels have a speedup: %.2f times the baseline in the geometric "
			"mean, %.2f when each other operator counts as 1.0; %zu of them are "
			"slower than the baseline.",
			f->of_correct.n, f->of_correct.value, f->with_fallback.value, f->n_slower);
}

static void add_cost(struct kgb_buf *out, const struct kgb_figures *f)
{
	char text[32];
	KGB_AUTO(buf) struct kgb_buf parts = KGB_BUF_INIT(0);
	if (!isnan(f->tokens))
		kgb_buf_addf(&parts, ", %s tokens",
			     kgb_report__count((int64_t)f->tokens, text, sizeof(text)));
	if (!isnan(f->dollars))
		kgb_buf_addf(&parts, ", %.2f USD", f->dollars);
	if (!isnan(f->seconds))
		kgb_buf_addf(&parts, ", %s of agents' time",
			     kgb_duration_format((int64_t)(1000 * f->seconds), text, sizeof(text)));
	if (parts.len > 0)
		kgb_buf_addf(out, " It cost %s.", parts.ptr + 2);
}

static void add_run(const struct kgb_collected_run *run, struct kgb_strv *sentences)
{
	struct kgb_figures f;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	kgb_figures_of(run->row, NULL, &f);
	kgb_buf_addf(&text, "%s: %zu of %zu operators passed", run->label, f.n_correct, f.n);
	if (f.n > 0)
		kgb_buf_addf(&text, " (%.1f %%; 95 %% interval %.1f to %.1f)",
			     100 * f.correct.value, 100 * f.correct.low, 100 * f.correct.high);
	kgb_buf_adds(&text, ".");
	if (f.n_finished < f.n)
		kgb_buf_addf(&text, " %zu have not ended and count as not passed.",
			     f.n - f.n_finished);
	add_speed(&text, run->row, &f);
	add_cost(&text, &f);
	kgb_strv_add(sentences, text.ptr);
}

/* ---- differences between methods ---- */

/** The sentences of `compare` on the same runs; those on speed only if something was timed. */
static int add_comparisons(const struct kgb_runs *runs, struct kgb_strv *sentences,
			   struct kgb_err *err)
{
	const struct kgb_measure *const measures[] = {kgb_measure_correct, kgb_measure_speedup};
	KGB_AUTO(sides) struct kgb_sides sides = {.arena = KGB_ARENA_INIT};
	if (kgb_sides_of(runs, KGB_SIDES_BY_METHOD_OR_WORD, &sides, err) < 0)
		return -1;
	const size_t n = sides.list.n - 1;
	const struct kgb_side *first = &sides.list.items[0];
	KGB_AUTO(free) struct kgb_match *matches = kgb_xcalloc(n + 1, sizeof(*matches));
	KGB_AUTO(free) struct kgb_versus *results = kgb_xcalloc(2 * n + 1, sizeof(*results));
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		kgb_match_init(&matches[i], first, &sides.list.items[i + 1], NULL, NULL);
	for (size_t m = 0; m < KGB_ARRAY_LEN(measures); m++)
		kgb_versus_all(matches, n, measures[m], &results[m * n]);
	kgb_strv_addf(
		sentences,
		"Compared with %s on the operators that both have, as by `kgb-agent compare`%s:",
		first->label, n > 1 ? ", adjusted for several comparisons" : "");
	for (size_t i = 0; i < n; i++)
		for (size_t m = 0; m < KGB_ARRAY_LEN(measures); m++)
			if (m == 0 || results[m * n + i].d.n > 0)
				kgb_versus_add_words(&results[m * n + i], measures[m],
						     matches[i].b->label, first->label, sentences);
	for (size_t i = 0; i < n; i++)
		kgb_match_release(&matches[i]);
	return 0;
}

int kgb_words(const struct kgb_runs *runs, const struct kgb_collected *c, struct kgb_strv *warnings,
	      struct kgb_strv *sentences, struct kgb_err *err)
{
	if (add_warnings(runs, c, warnings, err) < 0)
		return -1;
	KGB_VEC_FOREACH(run, &c->runs)
		add_run(run, sentences);
	return add_comparisons(runs, sentences, err);
}
