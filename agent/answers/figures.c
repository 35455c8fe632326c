/* SPDX-License-Identifier: MIT */
#include "agent/answers/figures.h"

#include <math.h>

#include "agent/answers/groups.h"

const double kgb_fast_ps[KGB_N_FAST] = {0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5};

/** Add what is known. */
static void add(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

/** The sum in `value` becomes a mean at the end. */
static void add_to_mean(struct kgb_mean *mean, double value)
{
	add(&mean->value, value);
	mean->n += isnan(value) ? 0 : 1;
}

static void count(const struct kgb_op_row *op, struct kgb_figures *out)
{
	out->n++;
	out->n_finished += op->is_finished;
	out->n_compiled += op->is_compiled;
	out->n_run += op->is_run;
	out->n_core += op->is_core;
	out->n_correct += op->is_correct;
	out->n_slower += op->speedup < 1;
	add_to_mean(&out->standard, op->standard);
	add_to_mean(&out->outlier, op->outlier);
	add_to_mean(&out->device, log(op->speedup_device));
	add_to_mean(&out->peak_share, op->peak_share);
	add(&out->tokens, op->tokens);
	add(&out->dollars, op->dollars);
	add(&out->seconds, op->agent_seconds);
}

void kgb_figures_of(const struct kgb_run_row *run, const char *group, struct kgb_figures *out)
{
	static const struct kgb_mean none = {(double)NAN, 0};
	KGB_AUTO(free) double *speedups = kgb_xcalloc(run->ops.n + 1, sizeof(*speedups));
	KGB_AUTO(free) double *known = kgb_xcalloc(run->ops.n + 1, sizeof(*known));
	size_t n_known = 0;
	*out = (struct kgb_figures){.standard = none,
				    .outlier = none,
				    .device = none,
				    .peak_share = none,
				    .tokens = (double)NAN,
				    .dollars = (double)NAN,
				    .seconds = (double)NAN};
	KGB_VEC_FOREACH(op, &run->ops) {
		if (!kgb_op_is_in(op, group))
			continue;
		speedups[out->n] = op->speedup;
		if (op->speedup > 0)
			known[n_known++] = op->speedup;
		count(op, out);
	}
	out->standard.value /= (double)out->standard.n;
	out->outlier.value /= (double)out->outlier.n;
	out->device.value = exp(out->device.value / (double)out->device.n);
	out->peak_share.value /= (double)out->peak_share.n;
	out->core = kgb_wilson(out->n_core, out->n);
	out->correct = kgb_wilson(out->n_correct, out->n);
	out->of_correct = kgb_geometric_mean_of_correct(speedups, out->n);
	out->with_fallback = kgb_geometric_mean_with_fallback(speedups, out->n);
	out->median_speedup = kgb_median(known, n_known);
	for (size_t i = 0; i < KGB_N_FAST; i++)
		out->fast[i] = kgb_fast_p(speedups, out->n, kgb_fast_ps[i]);
}
