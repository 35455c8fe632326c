/* SPDX-License-Identifier: MIT */
#include "verify/lane/candidate_check.h"

#include <float.h>
#include <math.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/str.h"
#include "verify/cost/cost.h"
#include "verify/lane/random_results.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/record.h"

/* ---- checks: 0 fine, 1 refused ---- */

static int check_count(struct kgb_lane *lane, const struct kgb_case_data *data,
		       const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_reply *reply = &call->reply;
	size_t wanted = interface->n_returned + interface->n_nones;
	int64_t wanted_form = wanted == 0   ? KGB_WIRE_FORM_NONE
			      : wanted == 1 ? KGB_WIRE_FORM_SINGLE
					    : KGB_WIRE_FORM_SEQUENCE;

	if (reply->value == wanted_form && reply->n_outputs == wanted)
		return 0;
	if (reply->value == KGB_WIRE_FORM_SINGLE && reply->n_outputs != 1)
		return kgb_refuse(failure, KGB_CODE_VERIFY_PROTOCOL,
				  "the kernel's process contradicts itself",
				  "Return plain tensors in a plain tuple.");
	const char *got =
		reply->value == KGB_WIRE_FORM_NONE ? "None"
		: reply->value == KGB_WIRE_FORM_SINGLE
			? kgb_lane_text(lane, "one %s", reply->outputs[0].type)
			: kgb_lane_text(lane, "a sequence of %u values", reply->n_outputs);
	const char *must =
		wanted == 0            ? "None: its results go into its parameters"
		: interface->is_number ? "one Python number"
		: wanted == 1          ? "one tensor"
		: interface->n_nones == 0
			? kgb_lane_text(lane, "a tuple of %zu tensors", wanted)
			: kgb_lane_text(lane, "a tuple of %zu values, the last %zu of them None",
					wanted, interface->n_nones);
	return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_RETURN,
			       kgb_lane_text(lane, "In %s return %s.", interface->entry, must),
			       "%s returned %s", interface->entry, got);
}

static bool same_sizes(const struct kgb_wire_output *output, const struct kgb_tensor_view *view)
{
	return output->ndim == view->ndim &&
	       memcmp(output->sizes, view->sizes, (size_t)view->ndim * sizeof(view->sizes[0])) == 0;
}

static int check_type(struct kgb_lane *lane, const struct kgb_truth *truth,
		      const struct kgb_wire_output *output, struct kgb_failure *failure)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf want = KGB_BUF_INIT(0);
	const struct kgb_tensor_view view = kgb_wire_view(output);

	if (output->kind != KGB_WIRE_TENSOR)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_TYPE,
			"Return a torch.Tensor on the inputs' device, no subclass and no Python number.",
			"the result is %s, not a plain torch.Tensor on the inputs' device",
			output->type);
	kgb_tensor_view_describe(&view, &got);
	kgb_tensor_view_describe(&truth->view, &want);
	if (output->dtype != truth->view.dtype)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_DTYPE,
			"Give the output tensor the dtype that PyTorch's type promotion gives.",
			"the result is %s, expected %s", got.ptr, want.ptr);
	if (!same_sizes(output, &truth->view))
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_SHAPE,
			"Compute the output's shape from all inputs (broadcasting, keepdim, empty sizes).",
			"the result is %s, expected %s", got.ptr, want.ptr);
	return 0;
}

/* Number of the argument that a kernel returns for a result in argument `holder`: that argument, or
 * the one with the addresses of its rows. */
static size_t returned_for(const struct kgb_case *c, size_t holder)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->into && c->args[i].behind == holder)
			return i;
	return holder;
}

/* A result that a parameter holds must be returned as that very tensor. */
static int check_held(struct kgb_lane *lane, const struct kgb_case_data *data,
		      const struct kgb_candidate_call *call, size_t i, size_t holder,
		      struct kgb_failure *failure)
{
	const struct kgb_wire_output *output = &call->reply.outputs[i];
	const struct kgb_tensor_view *view = &call->views[holder];
	const char *name = data->kase->args[holder].param->name;
	uint64_t address = call->addresses[holder] - KGB_ARENA_ADDRESS +
			   (uint64_t)view->offset * kgb_dtype_size(view->dtype);
	bool same = output->kind == KGB_WIRE_TENSOR && output->dtype == view->dtype &&
		    same_sizes(output, view);

	for (int d = 0; same && d < view->ndim; d++)
		same = view->sizes[d] <= 1 || output->strides[d] == view->strides[d];
	if (same && kgb_tensor_view_numel(view) > 0)
		same = output->where == KGB_WIRE_ARENA && output->address == address;
	if (same)
		return 0;
	return kgb_lane_refuse(
		lane, failure, KGB_CODE_VERIFY_ALIAS,
		kgb_lane_text(
			lane,
			"Write the result into '%s' and return '%s' itself, with its own strides.",
			name, name),
		"the returned tensor is not the argument '%s'", name);
}

static int check_number(struct kgb_lane *lane, const struct kgb_truth *truth,
			const struct kgb_wire_output *output, struct kgb_failure *failure)
{
	const enum kgb_dtype dtype = truth->view.dtype;
	const char *want = dtype == KGB_DTYPE_BOOL    ? "bool"
			   : dtype == KGB_DTYPE_INT64 ? "int"
						      : "float";

	if (output->kind == KGB_WIRE_NUMBER && output->dtype == dtype)
		return 0;
	return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_TYPE,
			       "Return the Python type of the result's dtype: bool, int or float.",
			       "the result is %s, expected a Python %s", output->type, want);
}

/* Compare the strides of dimensions with at least `least_size` elements. The strides of smaller
 * ones matter only for results without values (check_unwritten). */
static int check_strides(struct kgb_lane *lane, const struct kgb_truth *truth,
			 const struct kgb_wire_output *output, int64_t least_size, const char *hint,
			 struct kgb_failure *failure)
{
	for (int d = 0; d < output->ndim; d++)
		if (output->sizes[d] >= least_size && output->strides[d] != truth->strides[d])
			return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_STRIDES, hint,
					       "stride %d of the result is %lld, expected %lld", d,
					       (long long)output->strides[d],
					       (long long)truth->strides[d]);
	return 0;
}

/* A result of unwritten memory must have PyTorch's strides, even where its elements overlap. */
static int check_unwritten(struct kgb_lane *lane, const struct kgb_truth *truth,
			   const struct kgb_wire_output *output, struct kgb_failure *failure)
{
	if (check_strides(lane, truth, output, 0,
			  "Allocate it with these strides: torch.empty_strided(size, stride).",
			  failure) != 0)
		return 1;
	if (output->where == KGB_WIRE_FRESH || kgb_tensor_view_numel(&truth->view) == 0)
		return 0;
	return kgb_refuse(failure, KGB_CODE_VERIFY_ALIAS,
			  "the result shares memory with an argument",
			  "Allocate new memory for the result.");
}

/* Where PyTorch returns a view, the result must be the same memory of the same argument, with the
 * same strides. */
static int check_view(struct kgb_lane *lane, const struct kgb_case_data *data,
		      const struct kgb_candidate_call *call, size_t i, struct kgb_failure *failure)
{
	const struct kgb_wire_output *output = &call->reply.outputs[i];
	const struct kgb_truth *truth = &data->results[i];
	const char *name = data->kase->args[truth->alias_arg].param->name;

	if (output->where != KGB_WIRE_ARENA ||
	    output->address !=
		    call->addresses[truth->alias_arg] - KGB_ARENA_ADDRESS + truth->alias_at)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_ALIAS,
			kgb_lane_text(lane, "Return a view of '%s', which shares its memory.",
				      name),
			"the result is not the part of '%s' that it must be", name);
	return check_strides(lane, truth, output, 2,
			     "Return a view with these strides: expand, transpose, as_strided.",
			     failure);
}

static int check_fresh(struct kgb_lane *lane, const struct kgb_case_data *data,
		       const struct kgb_candidate_call *call, size_t i, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_output *output = &call->reply.outputs[i];
	const struct kgb_truth *truth = &data->results[i];

	if (interface->is_number)
		return check_number(lane, truth, output, failure);
	if (check_type(lane, truth, output, failure) != 0)
		return 1;
	if (interface->is_unwritten)
		return check_unwritten(lane, truth, output, failure);
	if (kgb_tensor_view_numel(&truth->view) == 0)
		return 0;
	if (lane->judge->spec.triton == KGB_TRITON_NONE && truth->is_alias)
		return check_view(lane, data, call, i, failure);
	if (output->where != KGB_WIRE_FRESH)
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_ALIAS, "the result shares memory with an argument",
			"Allocate a new tensor for the result (torch.empty) instead of returning an input or a "
			"view of it.");
	const struct kgb_tensor_view view = kgb_wire_view(output);
	if (kgb_tensor_view_may_overlap(&view))
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_LAYOUT, "elements of the result overlap in memory",
			"Return a tensor of its own with one place per element, not an expanded one.");
	if (!call->values[i] && !call->without_values)
		return kgb_refuse(failure, KGB_CODE_VERIFY_PROTOCOL,
				  "the result's elements were not delivered",
				  "Return a plain tensor that torch allocated.");
	if (!interface->is_laid_out[i])
		return 0;
	return check_strides(
		lane, truth, output, 2,
		"Allocate it with these strides (torch.empty_strided), as the semantics say.",
		failure);
}

/* Bytes from the first element to the end of the last one; n_bytes if the strides reach beyond the
 * limit on tensors. */
static uint64_t reach_of(const struct kgb_wire_output *output)
{
	int64_t reach = kgb_wire_reach(output);

	return reach > 0 ? (uint64_t)reach * kgb_dtype_size((enum kgb_dtype)output->dtype)
			 : (uint64_t)output->n_bytes;
}

/* Whether two fresh results share memory. Their elements need not have been delivered. */
static bool overlap(const struct kgb_wire_output *a, const struct kgb_wire_output *b)
{
	if (a->kind != KGB_WIRE_TENSOR || b->kind != KGB_WIRE_TENSOR ||
	    a->where != KGB_WIRE_FRESH || b->where != KGB_WIRE_FRESH)
		return false;
	const uint64_t reach_a = reach_of(a), reach_b = reach_of(b);
	return reach_a > 0 && reach_b > 0 && a->address < b->address + reach_b &&
	       b->address < a->address + reach_a;
}

static int check_results(struct kgb_lane *lane, const struct kgb_case_data *data,
			 const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_output *outputs = call->reply.outputs;
	const size_t n = interface->n_returned;

	for (size_t i = n; i < n + interface->n_nones; i++)
		if (outputs[i].kind != KGB_WIRE_NONE)
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_VERIFY_RETURN,
				"There is no such result here: return None in its place.",
				"value %zu of what %s returned is %s", i, interface->entry,
				outputs[i].type);
	for (size_t i = 0; i < n; i++) {
		size_t holder = kgb_candidate_call_holder(data->kase, i);
		int rc = holder == SIZE_MAX ? check_fresh(lane, data, call, i, failure)
					    : check_held(lane, data, call, i,
							 returned_for(data->kase, holder), failure);
		if (rc != 0)
			return rc;
		for (size_t k = 0; k < i; k++)
			if (overlap(&outputs[i], &outputs[k]))
				return kgb_refuse(failure, KGB_CODE_VERIFY_ALIAS,
						  "two results share memory",
						  "Allocate a tensor of its own for each result.");
	}
	return 0;
}

/* The change at byte `at` of the arena, as a failure. */
static int explain_change(struct kgb_lane *lane, const struct kgb_case_data *data,
			  const struct kgb_candidate_call *call, size_t at,
			  struct kgb_failure *failure)
{
	static const char write_hint[] =
		"Write to the result's elements only; respect strides and the storage offset.";
	const struct kgb_case *c = data->kase;
	const char *near = "outside";
	size_t distance = SIZE_MAX;

	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_param *param = c->args[i].param;
		const size_t begin = call->at[i];
		size_t n = param->kind == KGB_PARAM_VALUE
				   ? 0
				   : kgb_tensor_view_storage_bytes(&call->views[i]);
		if (n == 0)
			continue;
		if (at >= begin && at < begin + n && param->result >= 0)
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_VERIFY_STRAY_WRITE, write_hint,
				"memory of '%s' between its elements was overwritten (byte %zu of its "
				"storage)",
				param->name, at - begin);
		if (at >= begin && at < begin + n)
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_VERIFY_MUTATION, write_hint,
				"the input '%s' was modified (byte %zu of its storage)",
				param->name, at - begin);
		size_t away = at < begin ? begin - at : at - (begin + n) + 1;
		if (away >= distance)
			continue;
		distance = away;
		near = kgb_lane_text(lane, "%zu bytes %s '%s'", away,
				     at < begin ? "before" : "past the end of", param->name);
	}
	return kgb_lane_refuse(
		lane, failure, KGB_CODE_VERIFY_OUT_OF_BOUNDS,
		"Mask every tl.store: offsets must stay below the number of elements.",
		"memory was overwritten %s", near);
}

/* Check that only elements of results have changed. */
static int check_memory(struct kgb_lane *lane, const struct kgb_case_data *data,
			const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	if (call->without_arena)
		return 0;
	for (size_t i = 0; i < data->n_results; i++) {
		size_t arg = kgb_candidate_call_holder(data->kase, i);
		if (arg != SIZE_MAX)
			kgb_tensor_view_copy(&call->views[arg], lane->image.ptr + call->at[arg],
					     lane->after.ptr + call->at[arg]);
	}
	for (size_t i = 0; i < call->n_parts; i++) {
		size_t at = call->parts[i].at;
		if (kgb_parallel_equal(lane->after.ptr + at, lane->image.ptr + at,
				       call->parts[i].bytes))
			continue;
		while (lane->after.ptr[at] == lane->image.ptr[at])
			at++;
		return explain_change(lane, data, call, at, failure);
	}
	return 0;
}

bool kgb_candidate_call_check(struct kgb_lane *lane, const struct kgb_case_data *data,
			      const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	return check_memory(lane, data, call, failure) == 0 &&
	       check_count(lane, data, call, failure) == 0 &&
	       check_results(lane, data, call, failure) == 0;
}

bool kgb_candidate_call_shares_memory(const struct kgb_case_data *data,
				      const struct kgb_candidate_call *a,
				      const struct kgb_candidate_call *b)
{
	for (size_t i = 0; i < data->n_results; i++)
		for (size_t k = 0; k < data->n_results; k++)
			if (i < a->reply.n_outputs && k < b->reply.n_outputs &&
			    overlap(&a->reply.outputs[i], &b->reply.outputs[k]))
				return true;
	return false;
}

/* The relative error of a rounded result before its rounding: that of a computation in float32, or
 * of one whose steps are rounded to the case's type. */
static double eps_before_rounding(const struct kgb_case *c)
{
	bool by_step = c->interface->tolerance.before_rounding == KGB_ACCUMULATE_RESULT;

	return by_step && kgb_dtype_is_float(c->dtype) ? kgb_dtype_eps(c->dtype)
						       : 4 * (double)FLT_EPSILON;
}

/* Whether an argument's elements are converted to become the result: a conversion changes NaN. */
static bool is_conversion(const struct kgb_case *c, enum kgb_dtype to)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent &&
		    kgb_dtype_is_float(c->args[i].view.dtype) && c->args[i].view.dtype != to)
			return true;
	return false;
}

/* Whether products of two tensors of at most 16 bits may be added up: by tensor cores. */
static bool multiplies_short_numbers(const struct kgb_case *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_args; i++)
		n += c->args[i].param->kind == KGB_PARAM_TENSOR &&
		     kgb_dtype_is_float(c->args[i].view.dtype) &&
		     kgb_dtype_size(c->args[i].view.dtype) <= 2;
	return n >= 2;
}

static struct kgb_tolerance tolerance_of(const struct kgb_case_data *data, size_t i)
{
	struct kgb_tolerance tolerance = data->kase->interface->tolerance;
	struct kgb_tensor_view views[KGB_MAX_RESULTS];

	kgb_case_data_views(data, views);
	tolerance.n_terms = kgb_case_terms(data->kase, views, data->n_results, i);
	tolerance.cuts_off = multiplies_short_numbers(data->kase);
	tolerance.has_equal_terms = kgb_case_data_is_flat(data);
	tolerance.has_nan_bits &= !is_conversion(data->kase, data->results[i].view.dtype);
	return tolerance;
}

bool kgb_candidate_call_compare(const struct kgb_case_data *data,
				const struct kgb_candidate_call *call, size_t i,
				struct kgb_compare *out)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_truth *truth = &data->results[i];

	*out = (struct kgb_compare){.first_wrong = -1, .reported = -1};
	if (interface->random_results[i].kind != KGB_RANDOM_NONE) {
		kgb_random_result_check(data, call->values, i, out);
		return out->ok;
	}
	if (!truth->native)
		return true;
	if (!call->values[i])
		return false;
	const struct kgb_tolerance tolerance = tolerance_of(data, i);
	if (interface->is_rounded[i] && truth->exact)
		kgb_compare_rounded(&truth->view, call->values[i], truth->native, truth->exact,
				    truth->magnitude, eps_before_rounding(data->kase), &tolerance,
				    out);
	else
		kgb_compare(&truth->view, call->values[i], truth->native, truth->exact,
			    truth->magnitude, &tolerance, out);
	return out->ok;
}

bool kgb_candidate_call_is_right(const struct kgb_case_data *data,
				 const struct kgb_candidate_call *call, size_t i)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_truth *truth = &data->results[i];
	struct kgb_compare compare;

	if (interface->random_results[i].kind != KGB_RANDOM_NONE || !truth->native ||
	    !call->values[i])
		return kgb_candidate_call_compare(data, call, i, &compare);
	const struct kgb_tolerance tolerance = tolerance_of(data, i);
	if (interface->is_rounded[i] && truth->exact)
		return kgb_compare_rounded_passes(&truth->view, call->values[i], truth->native,
						  truth->exact, truth->magnitude,
						  eps_before_rounding(data->kase), &tolerance);
	return kgb_compare_passes(&truth->view, call->values[i], truth->native, truth->exact,
				  truth->magnitude, &tolerance);
}

static bool is_fresh(const struct kgb_candidate_call *call, uint64_t address, const char *bytes,
		     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t at = address + i;
		const uint64_t word = call->fresh_is_ones
					      ? UINT64_MAX
					      : kgb_exec_poison_word(call->fresh_seed, at & ~7ULL);
		if ((unsigned char)bytes[i] != (unsigned char)(word >> (at % 8 * 8)))
			return false;
	}
	return true;
}

/* Whether the call left this element of result `i` as it was. False for single bytes, and for
 * integers in fresh memory with every bit set, which may be equal by chance; also for complex
 * numbers. */
static bool is_unwritten(const struct kgb_lane *lane, const struct kgb_case_data *data,
			 const struct kgb_candidate_call *call, size_t i, int64_t element)
{
	const enum kgb_dtype dtype = data->results[i].view.dtype;
	const size_t holder = kgb_candidate_call_holder(data->kase, i);
	const size_t n = kgb_dtype_size(dtype);

	if (element < 0 || n == 1 || kgb_dtype_is_complex(dtype) || !call->values[i])
		return false;
	const char *got = (const char *)call->values[i] + (size_t)element * n;
	if (holder != SIZE_MAX) {
		const int64_t at = kgb_tensor_view_element(&call->views[holder], element);
		return data->kase->args[holder].param->kind == KGB_PARAM_OUT &&
		       memcmp(lane->image.ptr + call->at[holder] + (size_t)at * n, got, n) == 0;
	}
	if (call->fresh_is_ones ? !kgb_dtype_is_float(dtype) : !call->fresh_seed)
		return false;
	const struct kgb_tensor_view view = kgb_wire_view(&call->reply.outputs[i]);
	const int64_t at = kgb_tensor_view_element(&view, element) - view.offset;
	return is_fresh(call, call->reply.outputs[i].address + (uint64_t)at * n, got, n);
}

/* The most likely fault for the kind of difference. */
static const char *mismatch_hint(const struct kgb_case *c, const struct kgb_compare *compare,
				 bool unwritten)
{
	const bool is_new_nan = isnan(compare->got) && !isnan(compare->expected);

	if (unwritten)
		return "No kernel wrote this element, it still holds the bytes of fresh memory: check the grid (sizes that are "
		       "no multiple of the block) and the mask of tl.store.";
	if (is_new_nan && kgb_case_has_read_mask(c))
		return "Elements that the operator does not read hold NaN here (between columns or elements, in the other triangle, in "
		       "slots without a token): mask them off when loading, because NaN times 0 is NaN.";
	if (is_new_nan && c->mode != KGB_MODE_SPECIAL)
		return "The kernel computed NaN from ordinary numbers: look for 0 / 0, inf - inf, inf * 0, roots and logarithms of "
		       "negative numbers, masked lanes of tl.load without 'other=', and memory that is read before it is written.";
	if (compare->n_wrong > 0 && compare->got == 0 && compare->expected == 0)
		return "Keep the sign of zeros here: -0 must stay -0 where the operator's semantics say so (comparisons and sums "
		       "like x + 0.0 lose it).";
	if (isnan(compare->got) && isnan(compare->expected))
		return "Move the bits: a NaN keeps its sign and payload, which comparisons, sums and conversions do not keep.";
	if (c->interface->tolerance.is_exact)
		return "Copy and convert exactly: load, convert once to the result's type (to nearest, ties to even) and store, without "
		       "another type in between.";
	if (c->mode == KGB_MODE_SPECIAL)
		return "Treat infinities, NaN, zeros of both signs and the largest and smallest numbers as PyTorch does: the inputs "
		       "contain them.";
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].layout && strcmp(c->args[i].layout, "contiguous") != 0)
			return "An argument is not contiguous here: address elements through the tensor's strides and "
			       "storage offset, for outputs too.";
	if (compare->n_wrong == 0 || c->mode == KGB_MODE_OUTLIER)
		return "The error is larger than that of a faithful implementation: accumulate in float32 (or float64 for "
		       "float64 inputs) and convert once at the end.";
	return "Compute by hand what the semantics give for exactly these shapes and arguments, and compare.";
}

static void explain_mismatch(struct kgb_lane *lane, const struct kgb_case_data *data,
			     const struct kgb_candidate_call *call, size_t i,
			     const struct kgb_compare *compare, struct kgb_failure *failure)
{
	const struct kgb_truth *truth = &data->results[i];
	const char *which = data->n_results > 1 ? kgb_lane_text(lane, "result %zu: ", i) : "";

	*failure = (struct kgb_failure){
		.code = KGB_CODE_VERIFY_MISMATCH,
		.hint = mismatch_hint(data->kase, compare,
				      is_unwritten(lane, data, call, i, compare->reported)),
		.has_values = compare->reported >= 0,
		.index_is_first = compare->reported == compare->first_wrong,
		.ndim = truth->view.ndim,
		.expected = compare->expected,
		.got = compare->got,
		.n_wrong = compare->n_wrong,
		.n_elements = compare->n_elements,
		.max_abs_err = compare->max_abs_err,
		.allowed_abs_err = compare->allowed_abs_err,
	};
	if (compare->reported >= 0)
		kgb_unravel(compare->reported, truth->view.sizes, truth->view.ndim, failure->index);
	if (data->kase->interface->random_results[i].kind != KGB_RANDOM_NONE &&
	    data->kase->interface->random_results[i].kind != KGB_RANDOM_PRODUCT) {
		kgb_random_result_explain(lane, data, i, compare, failure);
		return;
	}
	if (compare->n_wrong > 0)
		failure->message =
			kgb_lane_text(lane, "%s%lld of %lld elements are wrong", which,
				      (long long)compare->n_wrong, (long long)compare->n_elements);
	else
		failure->message = kgb_lane_text(
			lane,
			"%sthe result as a whole is too inaccurate: relative error %.3g, allowed %.3g",
			which, compare->rms_err, compare->allowed_rms_err);
}

bool kgb_candidate_call_check_values(struct kgb_lane *lane, const struct kgb_case_data *data,
				     const struct kgb_candidate_call *call,
				     struct kgb_failure *failure)
{
	for (size_t i = 0; i < data->n_results; i++) {
		struct kgb_compare compare;
		if (kgb_candidate_call_compare(data, call, i, &compare)) {
			if (data->results[i].exact)
				kgb_verdict_note_closest(lane->verdict, data->kase->name,
							 compare.share);
			continue;
		}
		explain_mismatch(lane, data, call, i, &compare, failure);
		return false;
	}
	return true;
}

bool kgb_candidate_call_same_bits(const struct kgb_case_data *data,
				  const struct kgb_candidate_call *a,
				  const struct kgb_candidate_call *b)
{
	for (size_t i = 0; i < data->n_results; i++) {
		size_t n = kgb_tensor_view_bytes(&data->results[i].view);
		if (a->values[i] && b->values[i] &&
		    !kgb_parallel_equal(a->values[i], b->values[i], n))
			return false;
	}
	return true;
}
