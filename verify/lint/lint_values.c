/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that right results are accepted (feasible) and wrong ones refused (trivial).
 */
#include <math.h>

#include "verify/ablation/ablation.h"
#include "verify/lane/candidate_check.h"
#include "verify/lint/lint_parts.h"

enum {
	STEPS_OF = 50, /* one element in 50 may lie at a step of the operator */
	TRUSTED_ULPS = 16, /* multiple of the spec's tolerance: bound on the trusted
			      implementation's error */
	SKIPPED_OF = 100,
};

static const char *const wrong_names[KGB_N_WRONG] = {
	"zeros",
	"ones",
	"a constant",
	"an input",
	"what was there before",
	"the result for other inputs",
	"half the precision",
	"the last element left out",
	"one element in a hundred left out",
};

/* ---- wrong results ---- */

static int64_t numel(const struct kgb_truth *truth)
{
	return kgb_tensor_view_numel(&truth->view);
}

/* The first input with as many elements as the result, converted to the result's type. */
static bool take_input(const struct kgb_case_data *data, const struct kgb_truth *truth,
		       char *values)
{
	const enum kgb_dtype to = truth->view.dtype;
	const size_t size = kgb_dtype_size(to);

	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_tensor_view *view = &data->kase->args[i].view;
		const size_t from_size = kgb_dtype_size(view->dtype);
		if (!data->storages[i] || kgb_tensor_view_numel(view) != numel(truth))
			continue;
		KGB_AUTO(free)
		char *input = kgb_xreallocarray(NULL, (size_t)numel(truth), from_size);
		kgb_tensor_view_gather(view, data->storages[i], input);
		for (int64_t k = 0; k < numel(truth); k++) {
			const char *at = input + (size_t)k * from_size;
			if (view->dtype == to)
				memcpy(values + (size_t)k * size, at, size);
			else
				kgb_dtype_store(to, values + (size_t)k * size,
						kgb_dtype_load(view->dtype, at));
		}
		return true;
	}
	return false;
}

/* The elements of the result's parameter before the call, if it is an input. */
static bool unchanged(const struct kgb_case_data *data, size_t result, char *values)
{
	size_t holder = kgb_candidate_call_holder(data->kase, result);

	if (holder == SIZE_MAX || data->kase->args[holder].param->kind != KGB_PARAM_TENSOR)
		return false;
	kgb_tensor_view_gather(&data->kase->args[holder].view, data->storages[holder], values);
	return true;
}

static bool take_previous(const struct kgb_truth *truth, const struct kgb_truth *previous,
			  char *values)
{
	if (!previous || !previous->native || previous->view.dtype != truth->view.dtype ||
	    numel(previous) != numel(truth))
		return false;
	memcpy(values, previous->native, (size_t)numel(truth) * kgb_dtype_size(truth->view.dtype));
	return true;
}

static enum kgb_dtype coarser(enum kgb_dtype dtype)
{
	return dtype == KGB_DTYPE_FLOAT64   ? KGB_DTYPE_FLOAT32
	       : dtype == KGB_DTYPE_FLOAT32 ? KGB_DTYPE_FLOAT16
	       : dtype == KGB_DTYPE_FLOAT16 ? KGB_DTYPE_BFLOAT16
					    : KGB_N_DTYPES;
}

/* Rounds a result to half its precision. Not for the mode with special values, such as infinities,
 * which are often right in any precision; NaN stays as it is. */
static bool coarsen(const struct kgb_case_data *data, const struct kgb_truth *truth, char *values)
{
	const struct kgb_tensor_view parts = kgb_tensor_view_parts(&truth->view);
	const enum kgb_dtype dtype = parts.dtype;

	if (data->kase->mode == KGB_MODE_SPECIAL || coarser(dtype) == KGB_N_DTYPES)
		return false;
	for (int64_t i = 0; i < kgb_tensor_view_numel(&parts); i++) {
		char *at = values + (size_t)i * kgb_dtype_size(dtype);
		const double x = kgb_dtype_load(dtype, at);
		if (!isnan(x))
			kgb_dtype_store(dtype, at, kgb_dtype_round(coarser(dtype), x));
	}
	return true;
}

/* Leave elements unwritten: their old contents, or zeros. */
static void leave_out(const struct kgb_case_data *data, size_t result, int64_t first, int64_t n,
		      char *values)
{
	const struct kgb_truth *truth = &data->results[result];
	const size_t size = kgb_dtype_size(truth->view.dtype);
	KGB_AUTO(free) char *before = kgb_xcalloc((size_t)numel(truth), size);

	(void)unchanged(data, result, before);
	memcpy(values + (size_t)first * size, before + (size_t)first * size, (size_t)n * size);
}

/* Whether the result is random, so that other elements may be right, too. */
static bool is_drawn(const struct kgb_case_data *data, size_t result)
{
	enum kgb_random_kind kind = data->kase->interface->random_results[result].kind;

	return kind != KGB_RANDOM_NONE && kind != KGB_RANDOM_PRODUCT;
}

/* Make `values`, the native result, wrong in this way; false if that is impossible. */
static bool make_wrong(const struct kgb_case_data *data, const struct kgb_truth *previous,
		       size_t result, enum kgb_lint_wrong wrong, char *values)
{
	const struct kgb_truth *truth = &data->results[result];
	const int64_t n = numel(truth);
	enum kgb_dtype dtype = truth->view.dtype;
	size_t size = kgb_dtype_size(dtype);

	if (is_drawn(data, result) &&
	    (wrong == KGB_WRONG_PREVIOUS || wrong == KGB_WRONG_LAST || wrong == KGB_WRONG_SKIPPED))
		return false;
	switch (wrong) {
	case KGB_WRONG_ZEROS:
		memset(values, 0, (size_t)n * size);
		return true;
	case KGB_WRONG_ONES:
		for (int64_t i = 0; i < n; i++)
			kgb_dtype_store(dtype, values + (size_t)i * size, 1);
		return true;
	case KGB_WRONG_CONSTANT:
		for (int64_t i = 0; i < n; i++)
			memmove(values + (size_t)i * size,
				(const char *)truth->native + (size_t)(n / 2) * size, size);
		return true;
	case KGB_WRONG_INPUT:
		return take_input(data, truth, values);
	case KGB_WRONG_UNCHANGED:
		return unchanged(data, result, values);
	case KGB_WRONG_PREVIOUS:
		return take_previous(truth, previous, values);
	case KGB_WRONG_COARSE:
		return coarsen(data, truth, values);
	case KGB_WRONG_LAST:
		leave_out(data, result, n - 1, 1, values);
		return true;
	case KGB_WRONG_SKIPPED:
		leave_out(data, result, n / 2, (n + SKIPPED_OF - 1) / SKIPPED_OF, values);
		return true;
	case KGB_N_WRONG:
		break;
	}
	KGB_UNREACHABLE();
}

/* Whether the call's result differs from the native one in more than the sign of a zero that does
 * not count (the sum of -0 is 0) or the bits of a NaN. */
static bool differs(const struct kgb_case_data *data, const struct kgb_candidate_call *call,
		    size_t i)
{
	const struct kgb_truth *truth = &data->results[i];
	struct kgb_interface interface = *data->kase->interface;
	struct kgb_case kase = *data->kase;
	struct kgb_case_data strict = *data;
	struct kgb_compare compare;

	if (memcmp(call->values[i], truth->native,
		   (size_t)numel(truth) * kgb_dtype_size(truth->view.dtype)) == 0)
		return false;
	if (is_drawn(data, i))
		return true;
	interface.tolerance.is_exact = true;
	kase.interface = &interface;
	strict.kase = &kase;
	return !kgb_candidate_call_compare(&strict, call, i, &compare);
}

/* Makes native result i wrong in one way and records whether it is refused. */
static void try_wrong(struct kgb_lint *lint, const struct kgb_case_data *data,
		      const struct kgb_case_data *previous, size_t i, enum kgb_lint_wrong wrong)
{
	const struct kgb_truth *truth = &data->results[i];
	size_t bytes = (size_t)numel(truth) * kgb_dtype_size(truth->view.dtype);
	struct kgb_candidate_call call = {0};
	struct kgb_compare compare;

	if (lint->seen.refused[i][wrong] || !truth->native)
		return;
	call.values[i] = kgb_xmalloc(bytes);
	memcpy(call.values[i], truth->native, bytes);
	/* Skip a change without an effect: with k = 1 a sum over k is its input. */
	bool is_made =
		make_wrong(data, previous ? &previous->results[i] : NULL, i, wrong, call.values[i]);
	bool is_wrong = is_made && differs(data, &call, i);
	lint->seen.does_something |= wrong == KGB_WRONG_UNCHANGED && (!is_made || is_wrong);
	if (is_wrong) {
		lint->seen.tried[i][wrong] = true;
		lint->seen.refused[i][wrong] =
			!kgb_candidate_call_compare(data, &call, i, &compare);
	}
	kgb_candidate_call_release(&call);
}

/* If the sign of a zero counts, a result without signs must be refused by a listed case: a draw may
 * have no such zero. */
static void try_zeros(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];
	const struct kgb_tolerance *tolerance = &data->kase->interface->tolerance;
	const struct kgb_tensor_view parts = kgb_tensor_view_parts(&truth->view);
	const size_t n = (size_t)kgb_tensor_view_numel(&parts), size = kgb_dtype_size(parts.dtype);
	struct kgb_candidate_call call = {0};
	struct kgb_compare compare;
	bool has_some = false;

	if (tolerance->zeros != KGB_ZEROS_SIGNED || !kgb_dtype_is_float(parts.dtype) ||
	    lint->seen.has_zeros[parts.dtype])
		return;
	lint->seen.wants_zeros[parts.dtype] = true;
	if (data->kase->is_drawn)
		return;
	call.values[i] = kgb_xreallocarray(NULL, n, size);
	memcpy(call.values[i], truth->native, n * size);
	for (size_t k = 0; k < n; k++) {
		char *at = (char *)call.values[i] + k * size;
		const double x = kgb_dtype_load(parts.dtype, at);
		if (x == 0 && signbit(x)) {
			kgb_dtype_store(parts.dtype, at, 0);
			has_some = true;
		}
	}
	lint->seen.has_zeros[parts.dtype] =
		has_some && !kgb_candidate_call_compare(data, &call, i, &compare);
	kgb_candidate_call_release(&call);
}

static void settle_zeros(struct kgb_lint *lint)
{
	for (int d = 0; d < KGB_N_DTYPES; d++)
		if (lint->seen.wants_zeros[d] && !lint->seen.has_zeros[d])
			kgb_lint_note(
				lint->report, "trivial",
				"%s: the sign of zero counts, but no listed case has a result "
				"of -0 in %s: add one with the fill signs",
				lint->interface->entry, kgb_dtype_name((enum kgb_dtype)d));
}

/* ---- right results ---- */

/* The truth rounded to the result's type; a new array. */
static char *rounded_truth(const struct kgb_truth *truth)
{
	const struct kgb_tensor_view parts = kgb_tensor_view_parts(&truth->view);
	const size_t n = (size_t)kgb_tensor_view_numel(&parts);
	char *rounded = kgb_xreallocarray(NULL, n, kgb_dtype_size(parts.dtype));

	kgb_dtype_store_array(parts.dtype, truth->exact, n, rounded);
	return rounded;
}

static void try_accepted(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i,
			 void *values, const char *what)
{
	struct kgb_candidate_call call = {0};
	struct kgb_compare compare;

	call.values[i] = values; /* borrowed */
	if (!kgb_candidate_call_compare(data, &call, i, &compare))
		kgb_lint_note(lint->report, "feasible",
			      "%s: result %zu, %s, is refused: %lld of "
			      "%lld wrong, %g instead of %g",
			      data->kase->name, i, what, (long long)compare.n_wrong,
			      (long long)compare.n_elements, compare.got, compare.expected);
}

/* Checks that right results are accepted even by half of the tolerance, because a faithful
 * implementation needs at most that. */
static void try_right(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];
	struct kgb_interface interface = *data->kase->interface;
	struct kgb_case kase = *data->kase;
	struct kgb_case_data strict = *data;

	if (is_drawn(data, i)) {
		try_accepted(lint, data, i, truth->native, "of the reference itself");
		return;
	}
	interface.tolerance.factor /= 2;
	interface.tolerance.ulps /= 2;
	kase.interface = &interface;
	strict.kase = &kase;
	try_accepted(lint, &strict, i, truth->native, "of the reference itself");
	if (!truth->exact || interface.is_rounded[i])
		return;
	KGB_AUTO(free) char *rounded = rounded_truth(truth);
	interface.tolerance.has_nan_bits = false; /* the truth has float64's NaN */
	try_accepted(lint, &strict, i, rounded, "the truth rounded");
}

/* Checks the error of the native result. The error widens the tolerance, so it must not be much
 * larger than the error of rounding the truth. Exceptions: a few elements at a step of the operator
 * (a truncated division), and results that are quantised from half precision, which cannot be more
 * exact. */
static void try_precise(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i)
{
	const struct kgb_truth *truth = &data->results[i];
	enum kgb_dtype dtype = truth->view.dtype;
	struct kgb_tolerance tolerance = data->kase->interface->tolerance;
	struct kgb_compare compare;

	tolerance.is_exact = false;
	if (!truth->exact || !kgb_dtype_is_float(dtype) || data->kase->interface->is_rounded[i] ||
	    (tolerance.before_rounding == KGB_ACCUMULATE_RESULT &&
	     data->kase->dtype != KGB_DTYPE_FLOAT32))
		return;
	KGB_AUTO(free) char *rounded = rounded_truth(truth);
	tolerance.ulps *= TRUSTED_ULPS;
	kgb_compare(&truth->view, truth->native, rounded, truth->exact, truth->magnitude,
		    &tolerance, &compare);
	if (compare.n_wrong * STEPS_OF > compare.n_elements || compare.rms_failed)
		kgb_lint_note(lint->report, "feasible",
			      "%s: result %zu of the reference is imprecise: %g instead of %g, "
			      "allowed %g",
			      data->kase->name, i, compare.got, compare.expected,
			      compare.allowed_abs_err);
}

bool kgb_lint_accepts(const struct kgb_case_data *data, const struct kgb_case_data *answer,
		      size_t *result)
{
	for (size_t i = 0; i < data->n_results; i++) {
		const struct kgb_truth *ours = &data->results[i], *theirs = &answer->results[i];
		struct kgb_candidate_call call = {0};
		struct kgb_compare compare;
		if (!ours->native || !theirs->native)
			continue;
		call.values[i] = theirs->native; /* borrowed */
		*result = i;
		if (ours->view.dtype != theirs->view.dtype || numel(ours) != numel(theirs) ||
		    !kgb_candidate_call_compare(data, &call, i, &compare))
			return false;
	}
	return true;
}

/* On a GPU: torch's implementation for the CPU is a second faithful one, so its results must be
 * accepted. */
static void try_witness(struct kgb_lint *lint, const struct kgb_case_data *data)
{
	struct kgb_case_data answer;
	size_t result;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_lint_ask(&lint->witness, data->kase, data, 0, &answer, &err) < 0) {
		kgb_lint_note(lint->report, "feasible", "on the CPU %s", err.msg);
		return;
	}
	if (!kgb_lint_accepts(data, &answer, &result))
		kgb_lint_note(lint->report, "feasible",
			      "%s: result %zu as the CPU computes it is refused", data->kase->name,
			      result);
	kgb_lint_forget(&answer);
}

/* ---- */

bool kgb_lint_wants_previous(const struct kgb_lint *lint, const struct kgb_case_data *data)
{
	for (size_t i = 0; i < data->n_results; i++)
		if (data->results[i].native && !lint->seen.refused[i][KGB_WRONG_PREVIOUS])
			return true;
	return false;
}

void kgb_lint_values(struct kgb_lint *lint, const struct kgb_case_data *data,
		     const struct kgb_case_data *previous)
{
	lint->seen.tells |= kgb_ablation_is_sensitive(&lint->judge, data);
	/* Of results in unwritten memory only sizes and strides count, which are compared exactly.
	 */
	lint->seen.does_something |= lint->interface->is_unwritten;
	for (size_t i = 0; i < data->n_results && !lint->interface->is_unwritten; i++) {
		if (!data->results[i].native)
			continue;
		lint->seen.has_elements[i] = true;
		try_right(lint, data, i);
		try_precise(lint, data, i);
		try_zeros(lint, data, i);
		for (int wrong = 0; wrong < KGB_N_WRONG; wrong++)
			try_wrong(lint, data, previous, i, (enum kgb_lint_wrong)wrong);
	}
	if (lint->options->judge->device != KGB_DEVICE_CPU && !lint->interface->is_random &&
	    !lint->interface->is_unwritten)
		try_witness(lint, data);
}

void kgb_lint_settle_values(struct kgb_lint *lint)
{
	if (lint->judge.spec.triton != KGB_TRITON_NONE && !lint->seen.tells)
		kgb_lint_note(lint->report, "trivial",
			      "%s: every result is a constant or an input, which torch's fills and "
			      "copies make: add a case where it is not, or write 'triton: alone'",
			      lint->interface->entry);
	for (size_t i = 0; i < lint->interface->n_results; i++) {
		for (int wrong = 0; wrong < KGB_N_WRONG; wrong++)
			if (lint->seen.tried[i][wrong] && !lint->seen.refused[i][wrong])
				kgb_lint_note(lint->report, "trivial",
					      "%s: no case refuses %s as result %zu",
					      lint->interface->entry, wrong_names[wrong], i);
		/* Zeros may be the right result of a fill. */
		if (lint->seen.has_elements[i] && !lint->seen.tried[i][KGB_WRONG_ZEROS] &&
		    lint->judge.spec.triton != KGB_TRITON_ALONE)
			kgb_lint_note(lint->report, "trivial", "%s: result %zu is always zero",
				      lint->interface->entry, i);
	}
	settle_zeros(lint);
	if (!lint->seen.does_something)
		kgb_lint_note(lint->report, "trivial", "%s: no case changes anything",
			      lint->interface->entry);
}
