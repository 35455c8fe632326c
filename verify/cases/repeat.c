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

/* A structured fill gives a tensor a meaning beside others. */
static bool is_plain_input(const struct kgb_arg *arg)
{
	return is_read_only(arg->param) && !arg->is_absent && arg->view.storage_elements > 0 &&
	       !kgb_fill_is_structured(arg->fill);
}

bool kgb_interface_can_repeat_tensors(const struct kgb_interface *interface)
{
	size_t n = 0;

	for (size_t i = 0; i < interface->n_params; i++)
		n += is_read_only(&interface->params[i]);
	return n > 1;
}

/* An argument whose layout is a variable may have any. */
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

static bool can_be(const struct kgb_arg *arg, const struct kgb_arg *first)
{
	return is_plain_input(first) && !first->is_repeated && can_have_view(arg, &first->view) &&
	       is_same_read(&arg->read, &first->read) && arg->fill == first->fill &&
	       arg->lo == first->lo && arg->hi == first->hi && arg->specials == first->specials &&
	       arg->bounded == first->bounded;
}

/* The number of the first argument that this one can be; its own: none. */
static size_t first_like(const struct kgb_case *c, size_t i)
{
	size_t k = 0;

	while (k < i && !(is_plain_input(&c->args[i]) && can_be(&c->args[i], &c->args[k])))
		k++;
	return k;
}

bool kgb_case_repeat_tensors(struct kgb_case *c, const struct kgb_seed *seed, bool by_chance)
{
	struct kgb_rng rng;
	size_t n = 0;

	kgb_rng_init(&rng, seed, c->name, REPEAT_STREAM);
	if (kgb_rng_int(&rng, 0, 1) == 0 && by_chance)
		return false;
	for (size_t i = 1; i < c->n_args; i++) {
		const size_t first = first_like(c, i);
		/* Of a list's tensors not all need be the same. */
		if (first == i || (n > 0 && kgb_rng_int(&rng, 0, 1) == 0))
			continue;
		c->args[i].view = c->args[first].view;
		c->args[i].layout = c->args[first].layout;
		c->args[i].is_repeated = true;
		c->args[i].same_as = first;
		n++;
	}
	return n > 0;
}
