/* SPDX-License-Identifier: MIT */
#include "verify/ablation/ablation.h"

#include <math.h>

#include "base/mem.h"
#include "verify/lane/case_judge.h"

enum {
	CASES_PER_INTERFACE =
		2, /* cases of an interface in which kernels are left out one at a time */
	WATCHED_PER_INTERFACE = 3,
	SUSPECTED_PER_INTERFACE = 12, /* while torch made the results of all watched ones */
	TRIES_PER_INTERFACE = 24, /* cheapest cases, which may show whether kernels compute */
	LEAST_ELEMENTS = 8,
};

/* ---- cases that show whether kernels compute ---- */

static double value_at(const struct kgb_truth *truth, int64_t i)
{
	return kgb_dtype_load(truth->view.dtype,
			      (const char *)truth->native +
				      (size_t)i * kgb_dtype_size(truth->view.dtype));
}

static bool is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* Whether the result is one number everywhere: then zeros or a constant fill are right without any
 * computation, and for NaN also unwritten memory. */
static bool is_constant(const struct kgb_truth *truth)
{
	int64_t n = kgb_tensor_view_numel(&truth->view);
	double first = value_at(truth, 0);

	if (n == 1)
		return first == 0 || first == 1 || isnan(first);
	for (int64_t i = 1; i < n; i++)
		if (!is_same(value_at(truth, i), first))
			return false;
	return true;
}

/* Whether the result is an input, perhaps expanded, or its first elements. Then a copy of the input
 * is right, and so is memory that still holds an earlier copy. */
static bool is_copy_of(const struct kgb_truth *truth, const struct kgb_tensor_view *view,
		       const char *storage)
{
	struct kgb_tensor_view expanded;

	if (kgb_tensor_view_expand(view, &truth->view, &expanded))
		view = &expanded;
	return kgb_tensor_view_numel(view) >= kgb_tensor_view_numel(&truth->view) &&
	       kgb_truth_is_copy(truth, view, storage);
}

/* Whether the random bytes of fresh memory cannot be right by chance. */
static bool is_no_chance(const struct kgb_truth *truth)
{
	int64_t n = kgb_tensor_view_numel(&truth->view);

	return n >= LEAST_ELEMENTS ||
	       (kgb_dtype_size(truth->view.dtype) >= sizeof(float) && !is_constant(truth));
}

bool kgb_ablation_result_is_sensitive(const struct kgb_judge *judge,
				      const struct kgb_case_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];

	if (truth->native && judge->spec.triton == KGB_TRITON_ALONE)
		return is_no_chance(truth);
	if (!truth->native || is_constant(truth))
		return false;
	for (size_t k = 0; k < data->kase->n_args; k++)
		if (data->storages[k] &&
		    is_copy_of(truth, &data->kase->args[k].view, data->storages[k]))
			return false;
	return true;
}

/* Whether the bytes of a bool result are all 0 or 1. Random bytes are nearly all true, but neither
 * 0 nor 1. */
static bool are_written(const struct kgb_tensor_view *view, const unsigned char *values)
{
	const int64_t n = view->dtype == KGB_DTYPE_BOOL ? kgb_tensor_view_numel(view) : 0;

	for (int64_t i = 0; i < n; i++)
		if (values[i] > 1)
			return false;
	return true;
}

bool kgb_ablation_values_are_sensitive(const struct kgb_judge *judge,
				       const struct kgb_case_data *data, size_t i, void *values)
{
	struct kgb_case_data made = *data;

	if (!are_written(&data->results[i].view, values))
		return false;
	made.results[i].native = values;
	return kgb_ablation_result_is_sensitive(judge, &made, i);
}

/* Whether the case has fewer than LEAST_ELEMENTS elements. False if the case has no tensors that
 * matter: then its size is unknown. */
static bool is_tiny(const struct kgb_case *c)
{
	bool has_tensors = false;

	for (size_t i = 0; i < c->n_args; i++)
		has_tensors |=
			c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].param->unused;
	return has_tensors && kgb_case_elements(c) < LEAST_ELEMENTS;
}

/* One result is enough: others may be known beforehand (a given scale, a count). */
bool kgb_ablation_is_sensitive(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	if (is_tiny(data->kase) || !kgb_case_needs_launch(judge, data))
		return false;
	for (size_t i = 0; i < data->n_results; i++)
		if (kgb_ablation_result_is_sensitive(judge, data, i))
			return true;
	return false;
}

/* Whether the elements of a tensor may be nearly the same in every call: memory that an earlier
 * call has left may then hold the right result. */
static bool has_fixed_elements(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].values.is_beyond_number)
			return true;
	return false;
}

/* The next case of this interface in standard mode by (elements, number), NULL at the end. */
static const struct kgb_case *next_case(const struct kgb_cases *cases,
					const struct kgb_interface *interface,
					const struct kgb_case *after)
{
	const struct kgb_case *best = NULL;
	int64_t after_cost = after ? kgb_case_elements(after) : 0;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		int64_t cost = kgb_case_elements(c);
		if (c->interface != interface || c->mode != KGB_MODE_STANDARD || is_tiny(c) ||
		    has_fixed_elements(c))
			continue;
		if (after && (cost < after_cost || (cost == after_cost && c <= after)))
			continue;
		if (!best || cost < kgb_case_elements(best))
			best = c;
	}
	return best;
}

void kgb_ablation_choose(struct kgb_judge *judge)
{
	judge->may_be_sensitive = kgb_xcalloc(judge->cases.n + 1, 1);
	judge->tallies = kgb_xcalloc(judge->spec.n_interfaces + 1, sizeof(*judge->tallies));
	for (size_t i = 0; i < judge->spec.n_interfaces; i++) {
		const struct kgb_case *c = NULL;
		for (int tried = 0; tried < TRIES_PER_INTERFACE; tried++) {
			c = next_case(&judge->cases, &judge->spec.interfaces[i], c);
			if (!c)
				break;
			judge->may_be_sensitive[c - judge->cases.items] = 1;
		}
	}
}

/* ---- counts of used cases ---- */

static struct kgb_ablation_tally *tally_of(const struct kgb_judge *judge, const struct kgb_case *c)
{
	return &judge->tallies[c->interface - judge->spec.interfaces];
}

bool kgb_ablation_wants(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	return judge->may_be_sensitive[data->kase - judge->cases.items] &&
	       __atomic_load_n(&tally_of(judge, data->kase)->n_ablated, __ATOMIC_RELAXED) <
		       CASES_PER_INTERFACE;
}

void kgb_ablation_count(const struct kgb_judge *judge, const struct kgb_case_data *data)
{
	(void)__atomic_fetch_add(&tally_of(judge, data->kase)->n_ablated, 1, __ATOMIC_RELAXED);
}

/* Whether enough cases of the interface were watched. In some a copy by torch is the result, by the
 * numbers of the call: a rotation by 0. */
static bool is_watched_enough(const struct kgb_ablation_tally *tally)
{
	const unsigned char n_watched = __atomic_load_n(&tally->n_watched, __ATOMIC_RELAXED);
	const unsigned char n_by_host = __atomic_load_n(&tally->n_by_host, __ATOMIC_RELAXED);

	return n_watched >=
	       (n_by_host < n_watched ? WATCHED_PER_INTERFACE : SUSPECTED_PER_INTERFACE);
}

bool kgb_ablation_begin_watch(const struct kgb_judge *judge, const struct kgb_case_data *data,
			      struct kgb_result_origin *origin)
{
	const struct kgb_ablation_tally *tally = tally_of(judge, data->kase);

	if (!judge->may_be_sensitive[data->kase - judge->cases.items] || is_watched_enough(tally) ||
	    !kgb_ablation_is_sensitive(judge, data))
		return false;
	kgb_result_origin_init(origin, data, judge->spec.triton == KGB_TRITON_ALONE);
	if (kgb_result_origin_suffices(origin))
		return true;
	kgb_result_origin_release(origin);
	return false;
}

void kgb_ablation_count_watched(const struct kgb_judge *judge,
				const struct kgb_result_origin *origin)
{
	struct kgb_ablation_tally *tally = tally_of(judge, origin->data->kase);

	(void)__atomic_fetch_add(&tally->n_watched, 1, __ATOMIC_RELAXED);
	if (kgb_result_origin_by_host(origin))
		(void)__atomic_fetch_add(&tally->n_by_host, 1, __ATOMIC_RELAXED);
}

void kgb_ablation_record(struct kgb_lane *lane, const struct kgb_case_data *data,
			 const char *kernel, bool broken)
{
	struct kgb_verdict *verdict = lane->verdict;

	if (verdict->n_ablations == KGB_VERDICT_ABLATIONS_MAX)
		return;
	verdict->ablations[verdict->n_ablations++] = (struct kgb_ablation_run){
		.case_name = kgb_lane_text(lane, "%s", data->kase->name),
		.kernel = kernel ? kgb_lane_text(lane, "%s", kernel) : NULL,
		.broken = broken,
	};
}
