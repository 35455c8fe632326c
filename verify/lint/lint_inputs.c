/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that the reference is a function of all its arguments and of nothing else.
 */

#include "base/str.h"
#include "verify/cases/read_mask.h"
#include "verify/lane/candidate_check.h"
#include "verify/lint/lint_parts.h"

enum {
	/* attempts to find a value of a parameter that changes the result */
	ATTEMPTS = 400,
	ATTEMPTS_AT_A_CASE = 6,
	SLACK = 1, /* any number but 0 */
};

/* A tensor of this shape is None in every case. */
#define NEVER_GIVEN "$none|null"

/* ---- repetition ---- */

static bool is_as_before(const struct kgb_lint *lint, const struct kgb_case_data *data,
			 const struct kgb_case_data *again)
{
	size_t ignored;

	return kgb_lint_same(data, again) ||
	       (lint->interface->any_order && kgb_lint_accepts(data, again, &ignored));
}

void kgb_lint_again(struct kgb_lint *lint, const struct kgb_case_data *data)
{
	struct kgb_case_data again;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_lint_ask(&lint->other, data->kase, data, SLACK, &again, &err) < 0) {
		kgb_lint_note(lint->report, "bounds", "among other memory: %s", err.msg);
		return;
	}
	bool same = is_as_before(lint, data, &again);
	kgb_lint_forget(&again);
	if (same)
		return;
	if (kgb_lint_ask(&lint->other, data->kase, data, 0, &again, &err) < 0) {
		kgb_lint_note(lint->report, "deterministic", "in another process: %s", err.msg);
		return;
	}
	if (is_as_before(lint, data, &again))
		kgb_lint_note(lint->report, "bounds",
			      "%s: the reference reads memory outside of its arguments",
			      data->kase->name);
	else
		kgb_lint_note(lint->report, "deterministic",
			      "%s: the reference gives another result in another process",
			      data->kase->name);
	kgb_lint_forget(&again);
}

/* ---- memory that is not read ---- */

/* The same arguments with zeros in the unread elements. Release with release_zeroed. */
static void zero_unread(const struct kgb_case_data *data, struct kgb_case_data *out)
{
	*out = *data;
	for (size_t i = 0; i < data->kase->n_args; i++) {
		if (!data->storages[i])
			continue;
		out->storages[i] = kgb_xmalloc(data->storage_bytes[i]);
		memcpy(out->storages[i], data->storages[i], data->storage_bytes[i]);
	}
	kgb_read_mask_fill(data->kase, out->storages, 0);
}

static void release_zeroed(struct kgb_case_data *zeroed)
{
	for (size_t i = 0; i < zeroed->kase->n_args; i++)
		kgb_free(zeroed->storages[i]);
}

/* The elements of the argument that holds a result, in the result's order; NULL: none. */
static char *held_before(const struct kgb_case_data *data, size_t result)
{
	size_t holder = kgb_candidate_call_holder(data->kase, result);

	if (holder == SIZE_MAX || !data->storages[holder])
		return NULL;
	const struct kgb_tensor_view *view = &data->kase->args[holder].view;
	char *values = kgb_xreallocarray(NULL, (size_t)kgb_tensor_view_numel(view),
					 kgb_dtype_size(view->dtype));
	kgb_tensor_view_gather(view, data->storages[holder], values);
	return values;
}

/* Whether each element is the same in both calls, or in both calls still has the value that the
 * result's argument had before. */
static bool ignores_unread(const struct kgb_case_data *data, const struct kgb_case_data *zeroed,
			   const struct kgb_case_data *answer, size_t result)
{
	const struct kgb_truth *ours = &data->results[result], *theirs = &answer->results[result];
	const size_t size = kgb_dtype_size(ours->view.dtype);
	KGB_AUTO(free) char *before = held_before(data, result);
	KGB_AUTO(free) char *zeros = held_before(zeroed, result);

	if (!ours->native || !theirs->native)
		return true;
	for (size_t at = 0; at < (size_t)kgb_tensor_view_numel(&ours->view) * size; at += size) {
		const char *a = (const char *)ours->native + at;
		const char *b = (const char *)theirs->native + at;
		if (memcmp(a, b, size) != 0 && !(before && memcmp(a, before + at, size) == 0 &&
						 memcmp(b, zeros + at, size) == 0))
			return false;
	}
	return true;
}

void kgb_lint_unread(struct kgb_lint *lint, const struct kgb_case_data *data)
{
	struct kgb_case_data zeroed, answer;
	struct kgb_err err = KGB_ERR_INIT;

	if (!kgb_case_has_read_mask(data->kase))
		return;
	zero_unread(data, &zeroed);
	if (kgb_lint_ask(&lint->other, data->kase, &zeroed, 0, &answer, &err) < 0) {
		kgb_lint_note(lint->report, "bounds", "with zeros where nothing is read: %s",
			      err.msg);
		release_zeroed(&zeroed);
		return;
	}
	for (size_t i = 0; i < data->n_results; i++) {
		if (!ignores_unread(data, &zeroed, &answer, i))
			kgb_lint_note(lint->report, "bounds",
				      "%s: the reference's result %zu depends on elements that "
				      "'read' excludes",
				      data->kase->name, i);
	}
	kgb_lint_forget(&answer);
	release_zeroed(&zeroed);
}

/* ---- parameters ---- */

/* Whether the reference gives another result for the changed arguments, or refuses them. */
static bool notices(struct kgb_lint *lint, const struct kgb_case *c,
		    const struct kgb_case_data *storages, const struct kgb_case_data *data)
{
	struct kgb_case_data answer;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (kgb_lint_ask(&lint->other, c, storages, 0, &answer, &ignored) < 0)
		return true;
	bool same = kgb_lint_same(data, &answer);
	kgb_lint_forget(&answer);
	return !same;
}

/* Tries whether the result changes when argument i has these bytes. */
static void try_bytes(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i,
		      void *bytes)
{
	struct kgb_lint_param *param = &lint->seen.params[i];
	struct kgb_case_data changed = *data;

	if (memcmp(data->storages[i], bytes, data->storage_bytes[i]) == 0)
		return;
	changed.storages[i] = bytes;
	param->is_varied = true;
	param->n_tried++;
	param->matters = notices(lint, data->kase, &changed, data);
}

/* For a tensor whose fill always gives the same elements: tries its elements in other cases of the
 * interface. */
static void try_other_cases(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i)
{
	const struct kgb_cases *cases = &lint->judge.cases;
	const struct kgb_tensor_view *view = &data->kase->args[i].view;
	struct kgb_lint_param *param = &lint->seen.params[i];
	const int most = param->n_tried + ATTEMPTS_AT_A_CASE;

	for (size_t k = 0;
	     k < cases->n && !param->matters && param->n_tried < most && param->n_tried < ATTEMPTS;
	     k++) {
		const struct kgb_case *other = &cases->items[k];
		struct kgb_case_data theirs;
		if (other->interface != lint->interface || other == data->kase ||
		    other->args[i].view.dtype != view->dtype ||
		    other->args[i].view.storage_elements != view->storage_elements)
			continue;
		kgb_lane_fill(&lint->lane, &theirs, other, 0);
		try_bytes(lint, data, i, theirs.storages[i]);
		kgb_case_data_release(&theirs);
	}
}

static void try_tensor(struct kgb_lint *lint, const struct kgb_case_data *data,
		       const struct kgb_case_data *other_inputs, size_t i)
{
	if (!data->storages[i])
		return;
	lint->seen.params[i].is_given = true;
	if (data->kase->args[i].fill == KGB_FILL_NAN)
		return;
	if (memcmp(data->storages[i], other_inputs->storages[i], data->storage_bytes[i]) != 0)
		try_bytes(lint, data, i, other_inputs->storages[i]);
	else
		try_other_cases(lint, data, i);
}

static bool same_value(const struct kgb_case_value *a, const struct kgb_case_value *b)
{
	KGB_AUTO(buf) struct kgb_buf one = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf two = KGB_BUF_INIT(0);

	if (a->kind != b->kind)
		return false;
	kgb_case_value_describe(a, &one);
	kgb_case_value_describe(b, &two);
	return one.len == two.len && memcmp(one.ptr, two.ptr, one.len) == 0;
}

/* Tries the values that argument i has in other cases of the interface. */
static void try_value(struct kgb_lint *lint, const struct kgb_case_data *data, size_t i)
{
	const struct kgb_cases *cases = &lint->judge.cases;
	struct kgb_lint_param *param = &lint->seen.params[i];
	const int most = param->n_tried + ATTEMPTS_AT_A_CASE;

	param->is_given = true;
	for (size_t k = 0;
	     k < cases->n && !param->matters && param->n_tried < most && param->n_tried < ATTEMPTS;
	     k++) {
		const struct kgb_case *other = &cases->items[k];
		if (other->interface != lint->interface ||
		    same_value(&other->args[i].value, &data->kase->args[i].value))
			continue;
		struct kgb_case changed = *data->kase;
		changed.args[i].value = other->args[i].value;
		param->is_varied = true;
		param->n_tried++;
		param->matters = notices(lint, &changed, data, data);
	}
}

void kgb_lint_inputs(struct kgb_lint *lint, const struct kgb_case_data *data,
		     const struct kgb_case_data *other_inputs)
{
	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_arg *arg = &data->kase->args[i];
		if (lint->seen.params[i].matters || arg->param->kind == KGB_PARAM_OUT ||
		    arg->is_absent)
			continue;
		if (arg->param->kind == KGB_PARAM_TENSOR)
			try_tensor(lint, data, other_inputs, i);
		else
			try_value(lint, data, i);
	}
}

/* Whether a parameter may have no effect: a constant of the spec, which is visibly fixed; a
 * parameter that is written to, which need not be read; elements that must not be read. */
static bool may_be_ignored(const struct kgb_param *param)
{
	if (param->kind != KGB_PARAM_VALUE)
		return param->result >= 0 || kgb_str_eq(param->fill, "nan") ||
		       (cJSON_IsString(param->shape) &&
			kgb_str_eq(param->shape->valuestring, NEVER_GIVEN));
	return !(cJSON_IsString(param->value) && param->value->valuestring[0] == '$');
}

static void settle_param(struct kgb_lint *lint, size_t i)
{
	const struct kgb_param *param = &lint->interface->params[i];
	const struct kgb_lint_param *seen = &lint->seen.params[i];
	const char *entry = lint->interface->entry;

	if (may_be_ignored(param))
		return;
	if (!seen->is_given)
		kgb_lint_note(lint->report, "inputs", "%s: '%s' has elements in no case", entry,
			      param->name);
	else if (!seen->is_varied && !param->unused)
		kgb_lint_note(lint->report, "inputs",
			      "%s: '%s' is the same in every case: vary it, or write a value "
			      "into the spec itself",
			      entry, param->name);
	else if (seen->is_varied && !seen->matters && !param->unused)
		kgb_lint_note(lint->report, "inputs",
			      "%s: '%s' changes no result: add a case where it does, or write "
			      "'unused: true'",
			      entry, param->name);
	else if (seen->matters && param->unused)
		kgb_lint_note(lint->report, "inputs",
			      "%s: '%s' is declared as unused, but it changes a result", entry,
			      param->name);
}

/* ---- interfaces ---- */

/* Whether either interface accepts the arguments of the other. */
static bool same_signature(const struct kgb_interface *a, const struct kgb_interface *b)
{
	if (a == b || a->n_params != b->n_params || a->n_results != b->n_results ||
	    kgb_str_eq(a->same_as, b->entry) || kgb_str_eq(b->same_as, a->entry) ||
	    kgb_str_eq(a->target, b->target))
		return false;
	for (size_t i = 0; i < a->n_params; i++) {
		const struct kgb_param *x = &a->params[i], *y = &b->params[i];
		if (x->kind != y->kind || x->result != y->result || x->keyword != y->keyword ||
		    x->as != y->as || !x->list != !y->list || !x->into != !y->into)
			return false;
	}
	return true;
}

/* Whether the other interface's result is refused as a result of this one. */
static void try_swapped(struct kgb_lint *lint, const struct kgb_case_data *data, size_t number)
{
	const struct kgb_interface *other = &lint->judge.spec.interfaces[number];
	struct kgb_case swapped = *data->kase;
	struct kgb_case_data answer;
	struct kgb_err ignored = KGB_ERR_INIT;
	bool right = true;

	swapped.interface = other;
	for (size_t i = 0; i < swapped.n_args; i++)
		swapped.args[i].param = &other->params[i];
	if (kgb_lint_ask(&lint->other, &swapped, data, 0, &answer, &ignored) < 0) {
		lint->swap_differs[number] = lint->swap_refused[number] = true;
		return;
	}
	lint->swap_differs[number] |= !kgb_lint_same(data, &answer);
	for (size_t i = 0; i < data->n_results && right; i++) {
		const struct kgb_tensor_view *ours = &data->results[i].view,
					     *theirs = &answer.results[i].view;
		struct kgb_candidate_call call = {0};
		struct kgb_compare compare;
		call.values[i] = answer.results[i].native; /* borrowed */
		right = ours->dtype == theirs->dtype && ours->ndim == theirs->ndim &&
			memcmp(ours->sizes, theirs->sizes,
			       (size_t)ours->ndim * sizeof(ours->sizes[0])) == 0 &&
			kgb_candidate_call_compare(data, &call, i, &compare);
	}
	lint->swap_refused[number] |= !right;
	kgb_lint_forget(&answer);
}

void kgb_lint_swapped(struct kgb_lint *lint, const struct kgb_case_data *data)
{
	const struct kgb_spec *spec = &lint->judge.spec;

	for (size_t k = 0; k < spec->n_interfaces; k++)
		if (!lint->swap_refused[k] && same_signature(lint->interface, &spec->interfaces[k]))
			try_swapped(lint, data, k);
}

void kgb_lint_settle_inputs(struct kgb_lint *lint)
{
	const struct kgb_spec *spec = &lint->judge.spec;

	for (size_t i = 0; i < lint->interface->n_params; i++)
		settle_param(lint, i);
	for (size_t k = 0; k < spec->n_interfaces; k++) {
		if (!same_signature(lint->interface, &spec->interfaces[k]) || lint->swap_refused[k])
			continue;
		kgb_lint_note(lint->report, "swapped",
			      lint->swap_differs[k] ? "%s: no case refuses what %s gives"
						    : "%s: no case distinguishes it from %s",
			      lint->interface->entry, spec->interfaces[k].entry);
	}
}
