/* SPDX-License-Identifier: MIT */
#include "verify/cases/repeat.h"

#include <string.h>

#include "verify/cases/fill.h"

enum { REPEAT_STREAM = 4000 }; /* random stream of a case beyond those of its data and calls */

static bool is_read_only(const struct kgb_param *param)
{
	return param->kind == KGB_PARAM_TENSOR && param->result < 0 && !param->into &&
	       !param->is_behind;
}

/* A structured fill gives a tensor a meaning that depends on other arguments. */
static bool is_plain(const struct kgb_arg *arg)
{
	return arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
	       arg->view.storage_elements > 0 && !kgb_fill_is_structured(arg->fill);
}

bool kgb_interface_can_repeat_tensors(const struct kgb_interface *interface)
{
	size_t n = 0;
	bool has_may_be = false;

	for (size_t i = 0; i < interface->n_params; i++) {
		n += is_read_only(&interface->params[i]);
		has_may_be |= interface->params[i].may_be != NULL;
	}
	return n > 1 || has_may_be;
}

static struct kgb_tensor_view transposed(const struct kgb_tensor_view *view)
{
	struct kgb_tensor_view out = *view;
	const int last = view->ndim - 1;

	out.sizes[last - 1] = view->sizes[last];
	out.sizes[last] = view->sizes[last - 1];
	out.strides[last - 1] = view->strides[last];
	out.strides[last] = view->strides[last - 1];
	return out;
}

/* Whether the argument can have the view `b`: an argument whose layout is a variable may have any
 * layout. */
static bool can_have_view(const struct kgb_arg *arg, const struct kgb_tensor_view *b)
{
	const struct kgb_tensor_view *a = &arg->view;
	const size_t bytes = (size_t)a->ndim * sizeof(a->sizes[0]);

	return a->dtype == b->dtype && a->ndim == b->ndim &&
	       memcmp(a->sizes, b->sizes, bytes) == 0 &&
	       (arg->param->layout[0] == '$' ||
		(a->offset == b->offset && a->storage_elements == b->storage_elements &&
		 memcmp(a->strides, b->strides, bytes) == 0));
}

static bool is_same_read(const struct kgb_read *a, const struct kgb_read *b)
{
	return a->shape == b->shape && a->is_unit == b->is_unit && a->rows == b->rows &&
	       a->columns == b->columns && a->ld == b->ld && a->stride == b->stride &&
	       a->table == b->table && a->has_mask == b->has_mask && a->mask == b->mask &&
	       a->lens == b->lens && a->dim == b->dim && a->block == b->block;
}

static bool has_same_fill(const struct kgb_arg *arg, const struct kgb_arg *first)
{
	return arg->fill == first->fill && arg->lo == first->lo && arg->hi == first->hi &&
	       arg->specials == first->specials && arg->bounded == first->bounded;
}

/* Whether argument i can be the tensor of argument k: both are only read, or the spec allows it.
 * Then a changed argument may have any fill, but no two elements may share a place. */
static bool can_be(const struct kgb_case *c, size_t i, size_t k)
{
	const struct kgb_arg *arg = &c->args[i], *first = &c->args[k];
	const bool is_allowed = arg->may_be_other && arg->other == k;

	if (!is_plain(arg) || !is_plain(first) || first->is_repeated ||
	    !is_same_read(&arg->read, &first->read))
		return false;
	if (!is_allowed)
		return is_read_only(arg->param) && is_read_only(first->param) &&
		       has_same_fill(arg, first);
	return (arg->param->result >= 0 || has_same_fill(arg, first)) &&
	       !kgb_tensor_view_may_overlap(&first->view);
}

/* Make argument i the tensor of an earlier argument, or the transpose of one. */
static bool repeat_earlier(struct kgb_case *c, size_t i)
{
	struct kgb_arg *arg = &c->args[i];

	for (size_t k = 0; k < i; k++) {
		const struct kgb_tensor_view *view = &c->args[k].view;
		const bool is_matrix = view->ndim >= 2 && is_read_only(c->args[k].param);
		const struct kgb_tensor_view other = is_matrix ? transposed(view) : *view;
		if (!can_be(c, i, k))
			continue;
		if (!can_have_view(arg, view) &&
		    !(is_read_only(arg->param) && is_matrix && can_have_view(arg, &other)))
			continue;
		arg->is_transposed = !can_have_view(arg, view);
		arg->view = arg->is_transposed ? other : *view;
		arg->layout = c->args[k].layout;
		arg->is_repeated = true;
		arg->same_as = k;
		return true;
	}
	return false;
}

bool kgb_case_repeat_tensors(struct kgb_case *c, const struct kgb_seed *seed, bool by_chance)
{
	struct kgb_rng rng;
	size_t n = 0;

	kgb_rng_init(&rng, seed, c->name, REPEAT_STREAM);
	if (kgb_rng_int(&rng, 0, 1) == 0 && by_chance)
		return false;
	for (size_t i = 1; i < c->n_args; i++) {
		/* Of a list's tensors not all need be the same. */
		if (n == 0 || kgb_rng_int(&rng, 0, 1) == 1)
			n += repeat_earlier(c, i);
	}
	return n > 0;
}
