/* SPDX-License-Identifier: MIT */
#include "agent/compare/versus.h"

#include <math.h>

#include "agent/statistics/power.h"

/* ---- measures ---- */

static double correct_of(const struct kgb_try *attempt)
{
	return attempt->is_correct;
}

static double core_of(const struct kgb_try *attempt)
{
	return attempt->is_core;
}

static double speedup_of(const struct kgb_try *attempt)
{
	return attempt->speedup;
}

static double tokens_of(const struct kgb_try *attempt)
{
	return attempt->tokens / 1000;
}

static double dollars_of(const struct kgb_try *attempt)
{
	return attempt->dollars;
}

static double seconds_of(const struct kgb_try *attempt)
{
	return attempt->seconds;
}

const struct kgb_measure kgb_measures[] = {
	{"correct, %", correct_of, KGB_SHARE, 1}, {"core, %", core_of, KGB_SHARE, 1},
	{"speedup", speedup_of, KGB_RATIO, 2},    {"tokens, k", tokens_of, KGB_AMOUNT, 1},
	{"USD", dollars_of, KGB_AMOUNT, 3},       {"agent time, s", seconds_of, KGB_AMOUNT, 1},
};
const size_t kgb_n_measures = KGB_ARRAY_LEN(kgb_measures);
const struct kgb_measure *const kgb_measure_correct = &kgb_measures[0],
				*const kgb_measure_speedup = &kgb_measures[2],
				*const kgb_measure_tokens = &kgb_measures[3],
				*const kgb_measure_dollars = &kgb_measures[4],
				*const kgb_measure_seconds = &kgb_measures[5];

double kgb_side_op_value(const struct kgb_side_op *op, const struct kgb_measure *measure)
{
	double sum = 0;
	size_t n = 0;
	KGB_VEC_FOREACH(attempt, &op->tries) {
		const double value = measure->of(attempt);
		if (isnan(value))
			continue;
		sum += measure->kind == KGB_RATIO ? log(value) : value;
		n++;
	}
	const double mean = n > 0 ? sum / (double)n : (double)NAN;
	return measure->kind == KGB_RATIO ? exp(mean) : mean;
}

/* ---- two sides ---- */

void kgb_match_init(struct kgb_match *out, const struct kgb_side *a, const struct kgb_side *b,
		    bool (*in_group)(const struct kgb_op_row *op, const void *payload),
		    const void *payload)
{
	*out = (struct kgb_match){.a = a, .b = b};
	for (size_t i = 0; i < a->ops.n; i++) {
		const struct kgb_side_op *of_a = &a->ops.items[i];
		const struct kgb_side_op *of_b = kgb_side_find(b, of_a->row->name, i);
		if (of_b && (!in_group || in_group(of_a->row, payload)))
			KGB_VEC_ADD(&out->ops, (struct kgb_match_op){of_a, of_b});
	}
}

void kgb_match_release(struct kgb_match *match)
{
	KGB_VEC_RELEASE(&match->ops);
}

/** Mean of the values of one side where the other side's value is known too. */
static double mean_of(const double *values, const double *others, size_t n, bool of_logs)
{
	double sum = 0;
	size_t n_known = 0;
	for (size_t i = 0; i < n; i++) {
		if (isnan(values[i]) || isnan(others[i]))
			continue;
		sum += of_logs ? log(values[i]) : values[i];
		n_known++;
	}
	const double mean = n_known > 0 ? sum / (double)n_known : (double)NAN;
	return of_logs ? exp(mean) : mean;
}

/** Spread of the differences of shares if there is no difference. */
static double null_sd(const struct kgb_match *match, double *a, const double *b, size_t n)
{
	const size_t most = match->a->max_tries > match->b->max_tries ? match->a->max_tries
								      : match->b->max_tries;
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] - a[i];
	return kgb_null_sd(a, n, 1 / (double)most);
}

static double detectable_of(const struct kgb_versus *versus, const struct kgb_measure *measure,
			    size_t n_comparisons)
{
	const double least =
		kgb_detectable_by_flips(versus->d.sd, versus->d.n, KGB_POWER, n_comparisons);
	return measure->kind == KGB_RATIO ? exp(least) : least;
}

void kgb_versus(const struct kgb_match *match, const struct kgb_measure *measure,
		struct kgb_versus *out)
{
	const size_t n = match->ops.n;
	const bool is_ratio = measure->kind == KGB_RATIO;
	KGB_AUTO(free) double *a = kgb_xcalloc(2 * n + 1, sizeof(*a));
	double *b = a + n;
	for (size_t i = 0; i < n; i++) {
		a[i] = kgb_side_op_value(match->ops.items[i].a, measure);
		b[i] = kgb_side_op_value(match->ops.items[i].b, measure);
	}
	*out = (struct kgb_versus){
		.a = mean_of(a, b, n, is_ratio),
		.b = mean_of(b, a, n, is_ratio),
		.d = is_ratio ? kgb_paired_ratio(b, a, n) : kgb_paired_difference(b, a, n),
	};
	out->p = out->d.n > 0 ? out->d.p : (double)NAN;
	if (measure->kind == KGB_SHARE)
		out->d.sd = null_sd(match, a, b, n);
	out->detectable = detectable_of(out, measure, 1);
}

void kgb_versus_all(const struct kgb_match *matches, size_t n_matches,
		    const struct kgb_measure *measure, struct kgb_versus *out)
{
	KGB_AUTO(free) double *p = kgb_xcalloc(n_matches, sizeof(*p));
	size_t n = 0;
	for (size_t i = 0; i < n_matches; i++) {
		kgb_versus(&matches[i], measure, &out[i]);
		if (!isnan(out[i].p))
			p[n++] = out[i].p;
	}
	kgb_holm(p, n);
	for (size_t i = 0, k = 0; i < n_matches; i++) {
		if (isnan(out[i].p))
			continue;
		out[i].p = p[k++];
		out[i].detectable = detectable_of(&out[i], measure, n);
	}
}

enum kgb_outcome kgb_versus_outcome(const struct kgb_versus *versus,
				    const struct kgb_measure *measure, double *size_out)
{
	const bool is_ratio = measure->kind == KGB_RATIO;
	const double low = is_ratio ? log(versus->d.low) : versus->d.low;
	const double high = is_ratio ? log(versus->d.high) : versus->d.high;
	const double least = is_ratio ? log(versus->detectable) : versus->detectable;
	const double small = is_ratio ? log1p(KGB_SMALL) : KGB_SMALL;
	/* Equal differences have no interval: the smallest detectable difference bounds them. */
	const double bound = isnan(low) ? least : fmax(fabs(low), fabs(high));
	*size_out = (double)NAN;
	if (versus->d.n == 0)
		return KGB_OUTCOME_NOTHING;
	if (versus->p <= KGB_LEVEL)
		return versus->d.value > (is_ratio ? 1 : 0) ? KGB_OUTCOME_BETTER
							    : KGB_OUTCOME_WORSE;
	const double size = bound <= small ? bound : least;
	*size_out = is_ratio ? exp(size) : size;
	return bound <= small ? KGB_OUTCOME_ALIKE : KGB_OUTCOME_UNSURE;
}

void kgb_versus_add_words(const struct kgb_versus *v, const struct kgb_measure *m,
			  const char *other, const char *first, struct kgb_strv *words)
{
	const bool is_ratio = m->kind == KGB_RATIO;
	const char *what = is_ratio ? "common speedup" : "operators passed";
	double size = 0;
	const enum kgb_outcome outcome = kgb_versus_outcome(v, m, &size);
	KGB_AUTO(free)
	char *text = isinf(size) || (!is_ratio && size > 1) ? kgb_xstrdup("none")
		     : is_ratio ? kgb_xasprintf("a factor of %.2f", size)
				: kgb_xasprintf("%.1f points", 100 * size);
	switch (outcome) {
	case KGB_OUTCOME_NOTHING:
		kgb_strv_addf(words, "%s, %s: nothing to compare", other, what);
		break;
	case KGB_OUTCOME_BETTER:
	case KGB_OUTCOME_WORSE:
		kgb_strv_addf(words, "%s, %s: %s than %s (p = %.2g)", other, what,
			      outcome == KGB_OUTCOME_BETTER ? "better" : "worse", first, v->p);
		break;
	case KGB_OUTCOME_ALIKE:
		kgb_strv_addf(words, "%s, %s: no difference from %s larger than %s (p = %.2g)",
			      other, what, first, text, v->p);
		break;
	case KGB_OUTCOME_UNSURE:
		kgb_strv_addf(words, "%s, %s: undecided (p = %.2g; %zu operators show %s)", other,
			      what, v->p, v->d.n, text);
		break;
	}
}
