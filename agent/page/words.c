/* SPDX-License-Identifier: MIT */
#include "agent/page/words.h"

#include <math.h>

#include "agent/answers/figures.h"
#include "agent/compare/unlike.h"
#include "agent/compare/versus.h"
#include "agent/report/common.h"
#include "agent/statistics/power.h"

/* ---- what must be read first ---- */

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

/* ---- what each run came to ---- */

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

/* ---- how the others differ from the best ---- */

static size_t n_correct(const struct kgb_run_row *run)
{
	size_t n = 0;
	KGB_VEC_FOREACH(op, &run->ops)
		n += op->is_correct;
	return n;
}

/** Operators that both have, and of which only one passed. */
struct flips {
	size_t n, only_best, only_other;
};

static struct flips count_flips(const struct kgb_run_row *best, const struct kgb_run_row *other)
{
	struct flips flips = {0};
	for (size_t i = 0; i < best->ops.n; i++) {
		const struct kgb_op_row *a = &best->ops.items[i];
		const struct kgb_op_row *b = kgb_run_row_find(other, a->name, i);
		if (!b || a->is_replaced || b->is_replaced)
			continue;
		flips.n++;
		flips.only_best += a->is_correct && !b->is_correct;
		flips.only_other += b->is_correct && !a->is_correct;
	}
	return flips;
}

/** The smallest difference, in points, that so many operators show in four of five runs. */
static double detectable_points(const struct flips *f)
{
	const double n = (double)f->n;
	const double discordance = fmax((double)(f->only_best + f->only_other), 1) / n;
	return 100 * kgb_detectable(kgb_discordance_sd(discordance), n, KGB_POWER);
}

static void add_comparison(const struct kgb_collected_run *best,
			   const struct kgb_collected_run *other, const struct flips *f, double p,
			   const char *adjusted, struct kgb_strv *sentences)
{
	KGB_AUTO(free)
	char *verdict =
		p <= KGB_LEVEL ? kgb_xstrdup("a difference")
			       : kgb_xasprintf("the test sees no difference, and so many operators "
					       "show one of %.1f points in four of five runs",
					       detectable_points(f));
	if (f->n > 0)
		kgb_strv_addf(sentences,
			      "%s against %s: of %zu operators that both have, %zu were passed by "
			      "%s alone and %zu by %s alone: %s (p = %.2g by McNemar's test%s).",
			      best->label, other->label, f->n, f->only_best, best->label,
			      f->only_other, other->label, verdict, p, adjusted);
}

static void add_comparisons(const struct kgb_collected *c, struct kgb_strv *sentences)
{
	KGB_AUTO(free) double *p = kgb_xcalloc(c->runs.n + 1, sizeof(*p));
	KGB_AUTO(free) struct flips *flips = kgb_xcalloc(c->runs.n + 1, sizeof(*flips));
	size_t best = 0, m = 0;
	for (size_t r = 1; r < c->runs.n; r++)
		if (n_correct(c->runs.items[r].row) > n_correct(c->runs.items[best].row))
			best = r;
	for (size_t r = 0; r < c->runs.n; r++) {
		if (r == best)
			continue;
		flips[m] = count_flips(c->runs.items[best].row, c->runs.items[r].row);
		p[m] = kgb_mcnemar(flips[m].only_best, flips[m].only_other);
		m++;
	}
	kgb_holm(p, m);
	for (size_t r = 0, k = 0; r < c->runs.n; r++)
		if (r != best) {
			add_comparison(&c->runs.items[best], &c->runs.items[r], &flips[k], p[k],
				       m > 1 ? ", adjusted by Holm" : "", sentences);
			k++;
		}
}

int kgb_words(const struct kgb_runs *runs, const struct kgb_collected *c, struct kgb_strv *warnings,
	      struct kgb_strv *sentences, struct kgb_err *err)
{
	if (add_warnings(runs, c, warnings, err) < 0)
		return -1;
	KGB_VEC_FOREACH(run, &c->runs)
		add_run(run, sentences);
	add_comparisons(c, sentences);
	return 0;
}
