/* SPDX-License-Identifier: MIT */
#include "verify/machine/families.h"

/* ---- views: the same storage under another type ---- */

static void view(struct kgb_builder *b, struct kgb_operation *op, const struct kgb_ttir_type *type,
		 uint32_t collapsed)
{
	uint32_t value = kgb_builder__add_view(b, op->in[0], type, collapsed);

	op->run = NULL;
	kgb_builder__set_out(b, op, 1, &value);
}

static bool same_elements(const struct kgb_ttir_type *a, const struct kgb_ttir_type *b)
{
	return a->element == b->element && a->pointee == b->pointee && a->depth == b->depth;
}

static void fail_types(struct kgb_builder *b, const struct kgb_ttir_type *from,
		       const struct kgb_ttir_type *to)
{
	char name[KGB_TTIR_TYPE_NAME_LEN], other[KGB_TTIR_TYPE_NAME_LEN];

	kgb_builder__fail(b, "from %s to %s", kgb_ttir_type_name(from, name),
			  kgb_ttir_type_name(to, other));
}

KGB_BUILD(kgb_splat_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);

	(void)s;
	if (from.rank || from.element == KGB_TTIR_DESCRIPTOR || !same_elements(&from, &to)) {
		fail_types(b, &from, &to);
		return;
	}
	view(b, op, &to, KGB_COLLAPSED_ALL);
}

KGB_BUILD(kgb_expand_dims_build)
{
	const struct kgb_value from = *kgb_builder__value(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);
	const int64_t axis = kgb_ttir_integer(s, "axis", -1);

	if (axis < 0 || axis > from.type.rank || to.rank != from.type.rank + 1 ||
	    !same_elements(&from.type, &to) || to.shape[axis] != 1 ||
	    memcmp(to.shape, from.type.shape, (size_t)axis * sizeof(*to.shape)) != 0 ||
	    memcmp(to.shape + axis + 1, from.type.shape + axis,
		   (from.type.rank - (size_t)axis) * sizeof(*to.shape)) != 0) {
		fail_types(b, &from.type, &to);
		return;
	}
	uint32_t below = from.collapsed & ((1u << axis) - 1);
	view(b, op, &to, below | 1u << axis | (from.collapsed >> axis << axis) << 1);
}

KGB_BUILD(kgb_broadcast_build)
{
	const struct kgb_value from = *kgb_builder__value(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);
	bool fits = from.type.rank == to.rank && same_elements(&from.type, &to);

	(void)s;
	for (int i = 0; fits && i < to.rank; i++)
		fits = from.type.shape[i] == to.shape[i] || from.type.shape[i] == 1;
	if (!fits) {
		fail_types(b, &from.type, &to);
		return;
	}
	view(b, op, &to, from.collapsed);
}

KGB_BUILD(kgb_reshape_build)
{
	const struct kgb_value from = *kgb_builder__value(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);

	if (!same_elements(&from.type, &to) || from.type.element == KGB_TTIR_DESCRIPTOR ||
	    kgb_ttir_lanes(&from.type) != kgb_ttir_lanes(&to)) {
		fail_types(b, &from.type, &to);
		return;
	}
	if (from.n_stored > 1)
		kgb_builder__dense_in(b, op, 0);
	if (from.n_stored > 1 && kgb_ttir_has_word(s, "allow_reorder")) {
		op->run = kgb_reorder_run;
		op->element = to.element;
		op->cost += (uint32_t)(kgb_ttir_lanes(&to) / 64);
		(void)kgb_builder__result(b, op, &to, 0);
		return;
	}
	view(b, op, &to, from.n_stored > 1 ? 0 : KGB_COLLAPSED_ALL);
}

/* The same bits as another type: bitcasts, pointers to integers and back, a block of one lane as a
 * scalar. */
KGB_BUILD(kgb_bitcast_build)
{
	const struct kgb_value from = *kgb_builder__value(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);
	const bool may_drop_axes = b->rule->what;
	const bool from_bit = from.type.element == KGB_TTIR_I1, to_bit = to.element == KGB_TTIR_I1;

	(void)s;
	if (kgb_ttir_element_size((enum kgb_ttir_element)from.type.element) !=
		    kgb_ttir_element_size((enum kgb_ttir_element)to.element) ||
	    to.element == KGB_TTIR_DESCRIPTOR || from_bit != to_bit ||
	    (may_drop_axes ? kgb_ttir_lanes(&from.type) != kgb_ttir_lanes(&to)
			   : !kgb_ttir_same_shape(&from.type, &to))) {
		fail_types(b, &from.type, &to);
		return;
	}
	view(b, op, &to, may_drop_axes ? KGB_COLLAPSED_ALL : from.collapsed);
}

/* ---- transposition ---- */

/* order[i]: the operand's axis that becomes axis i of the result. false: not a permutation. */
static bool read_order(const struct kgb_ttir_statement *s, const struct kgb_ttir_type *from,
		       const struct kgb_ttir_type *to, int64_t *order)
{
	uint32_t seen = 0;

	if (!same_elements(from, to) || from->rank != to->rank ||
	    kgb_ttir_integers(s, "order", order, KGB_TTIR_RANK_MAX) != from->rank)
		return false;
	for (int i = 0; i < to->rank; i++) {
		if (order[i] < 0 || order[i] >= to->rank || seen >> order[i] & 1 ||
		    to->shape[i] != from->shape[order[i]])
			return false;
		seen |= 1u << order[i];
	}
	return true;
}

/* Plans the copy: sizes and strides of the result's stored axes, outermost first; number[0] is the
 * distance in the operand between neighbours of a run. Returns whether the elements keep their
 * order, so that a view suffices. */
static bool plan_transpose(struct kgb_builder *b, struct kgb_operation *op,
			   const struct kgb_value *from, const struct kgb_ttir_type *to,
			   const int64_t *order)
{
	struct kgb_plan *plan = kgb_arena_alloc(&b->program->arena, sizeof(*plan));
	uint32_t natural[KGB_TTIR_RANK_MAX] = {0}, stride = 1, last = UINT32_MAX;
	bool in_order = true;

	for (int i = from->type.rank - 1; i >= 0; i--) {
		natural[i] = stride;
		stride *= from->collapsed >> i & 1 ? 1 : (uint32_t)from->type.shape[i];
	}
	plan->n_runs = plan->run = 1;
	for (int i = 0; i < to->rank; i++) {
		if (from->collapsed >> order[i] & 1)
			continue;
		in_order = in_order && natural[order[i]] < last;
		last = natural[order[i]];
		plan->sizes[plan->n_axes] = (uint32_t)to->shape[i];
		plan->strides[0][plan->n_axes++] = last;
	}
	if (plan->n_axes) {
		plan->run = plan->sizes[--plan->n_axes];
		op->number[0] = plan->strides[0][plan->n_axes];
	}
	for (uint32_t i = 0; i < plan->n_axes; i++)
		plan->n_runs *= plan->sizes[i];
	op->plan = plan;
	return in_order;
}

KGB_BUILD(kgb_transpose_build)
{
	const struct kgb_value from = *kgb_builder__value(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);
	int64_t order[KGB_TTIR_RANK_MAX];
	uint32_t collapsed = 0;

	if (!read_order(s, &from.type, &to, order)) {
		fail_types(b, &from.type, &to);
		return;
	}
	for (int i = 0; i < to.rank; i++)
		collapsed |= (from.collapsed >> order[i] & 1) << i;
	if (plan_transpose(b, op, &from, &to, order)) {
		view(b, op, &to, collapsed);
		return;
	}
	op->element = to.element;
	op->cost += from.n_stored / 64;
	(void)kgb_builder__result(b, op, &to, collapsed);
}

KGB_RUN(kgb_transpose_run)
{
	const struct kgb_plan *plan = op->plan;
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	struct kgb_plan_cursor runs = {.plan = plan};
	uint8_t *d = x->at[op->out[0]];

	for (; runs.i < plan->n_runs; kgb_plan_cursor__next(&runs), d += plan->run * size)
		x->lanes->stride(d, x->at[op->in[0]] + runs.offset[0] * size, size,
				 (size_t)op->number[0], plan->run);
	return 0;
}

/* ---- two blocks to one, and back ---- */

static void finish_dense(struct kgb_builder *b, struct kgb_operation *op,
			 const struct kgb_ttir_type *type)
{
	kgb_builder__dense_in(b, op, 0);
	op->element = type->element;
	op->cost += (uint32_t)(kgb_ttir_lanes(type) / 64);
	(void)kgb_builder__result(b, op, type, 0);
}

KGB_BUILD(kgb_join_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);

	(void)s;
	if (!kgb_ttir_same_type(&from, kgb_builder__type(b, op->in[1])) ||
	    !same_elements(&from, &to) || to.rank != from.rank + 1 || to.shape[from.rank] != 2 ||
	    memcmp(to.shape, from.shape, from.rank * sizeof(*to.shape)) != 0) {
		fail_types(b, &from, &to);
		return;
	}
	finish_dense(b, op, &to);
}

KGB_BUILD(kgb_cat_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);

	(void)s;
	if (!kgb_ttir_same_type(&from, kgb_builder__type(b, op->in[1])) ||
	    !same_elements(&from, &to) || from.rank != 1 || to.rank != 1 ||
	    to.shape[0] != 2 * from.shape[0]) {
		fail_types(b, &from, &to);
		return;
	}
	finish_dense(b, op, &to);
}

KGB_BUILD(kgb_split_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	struct kgb_ttir_type to = from;
	uint32_t out[2];

	(void)s;
	if (from.rank == 0 || from.shape[from.rank - 1] != 2) {
		kgb_builder__fail(b, "an operand whose last axis is 2 expected");
		return;
	}
	to.rank--;
	kgb_builder__dense_in(b, op, 0);
	op->element = from.element;
	for (int k = 0; k < 2; k++)
		out[k] = kgb_builder__add_value(b, &to, 0);
	kgb_builder__set_out(b, op, 2, out);
}

static size_t lanes_of(const struct kgb_execution *x, uint32_t value)
{
	return kgb_ttir_lanes(&kgb_execution__value(x, value)->type);
}

#define INTERLEAVE(type)                                               \
	case sizeof(type):                                             \
		for (size_t i = 0; i < n; i++) {                       \
			((type *)d)[2 * i] = ((const type *)a)[i];     \
			((type *)d)[2 * i + 1] = ((const type *)c)[i]; \
		}                                                      \
		break

KGB_RUN(kgb_join_run)
{
	const size_t n = lanes_of(x, op->in[0]);
	const void *a = x->at[op->in[0]], *c = x->at[op->in[1]];
	void *d = x->at[op->out[0]];

	switch (kgb_ttir_element_size((enum kgb_ttir_element)op->element)) {
		INTERLEAVE(uint8_t);
		INTERLEAVE(uint16_t);
		INTERLEAVE(uint32_t);
		INTERLEAVE(uint64_t);
	default:
		break;
	}
	return 0;
}

/* Blocks of one size get one order in a program: a kernel that reduces values together with their
 * indices reorders both in the same way. */
static void reorder(const struct kgb_execution *x, void *to, const void *from, size_t size,
		    size_t n_to, size_t first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy((uint8_t *)to + kgb_execution__lane(x->reordering, first + i, n_to) * size,
		       (const uint8_t *)from + i * size, size);
}

KGB_RUN(kgb_reorder_run)
{
	const size_t n = lanes_of(x, op->out[0]);

	reorder(x, x->at[op->out[0]], x->at[op->in[0]],
		kgb_ttir_element_size((enum kgb_ttir_element)op->element), n, 0, n);
	return 0;
}

KGB_RUN(kgb_cat_run)
{
	const size_t n = lanes_of(x, op->in[0]);

	for (size_t k = 0; k < 2; k++)
		reorder(x, x->at[op->out[0]], x->at[op->in[k]],
			kgb_ttir_element_size((enum kgb_ttir_element)op->element), 2 * n, k * n, n);
	return 0;
}

KGB_RUN(kgb_split_run)
{
	const size_t n = lanes_of(x, op->out[0]);
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);

	for (int k = 0; k < 2; k++)
		x->lanes->stride(x->at[op->out[k]], x->at[op->in[0]] + (size_t)k * size, size, 2,
				 n);
	return 0;
}

/* ---- by index ---- */

KGB_BUILD(kgb_gather_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type index = *kgb_builder__type(b, op->in[1]);
	const int64_t axis = kgb_ttir_integer(s, "axis", -1);
	bool fits = from.rank == index.rank && axis >= 0 && axis < from.rank &&
		    (index.element == KGB_TTIR_I32 || index.element == KGB_TTIR_I64);
	struct kgb_ttir_type to = from;

	for (int i = 0; fits && i < from.rank; i++)
		fits = i == axis || from.shape[i] == index.shape[i];
	if (!fits) {
		fail_types(b, &from, &index);
		return;
	}
	memcpy(to.shape, index.shape, sizeof(to.shape));
	op->number[0] = from.shape[axis];
	op->number[1] = to.shape[axis];
	op->number[2] = 1;
	for (int i = (int)axis + 1; i < from.rank; i++)
		op->number[2] *= from.shape[i];
	op->to = index.element;
	finish_dense(b, op, &to);
}

KGB_RUN(kgb_gather_run)
{
	const size_t n = lanes_of(x, op->out[0]);
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const size_t from_axis = (size_t)op->number[0],
		     row = (size_t)(op->number[1] * op->number[2]);
	const size_t inner = (size_t)op->number[2];
	const void *indices = x->at[op->in[1]];
	const uint8_t *from = x->at[op->in[0]];
	uint8_t *to = x->at[op->out[0]];

	for (size_t i = 0; i < n; i++) {
		int64_t index = op->to == KGB_TTIR_I64 ? ((const int64_t *)indices)[i]
						       : ((const int32_t *)indices)[i];
		if (index < 0 || (size_t)index >= from_axis)
			return kgb_execution__fault(x, op, KGB_MACHINE_FAULT_INDEX,
						    "index %lld of %zu", (long long)index,
						    from_axis);
		size_t at = (i / row * from_axis + (size_t)index) * inner + i % inner;
		memcpy(to + i * size, from + at * size, size);
	}
	return 0;
}

KGB_BUILD(kgb_histogram_build)
{
	const struct kgb_ttir_type from = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type to = kgb_builder__last_type(b);

	(void)s;
	if (from.rank != 1 || from.element != KGB_TTIR_I32 || to.rank != 1 ||
	    to.element != KGB_TTIR_I32) {
		fail_types(b, &from, &to);
		return;
	}
	if (op->n_in > 1) {
		const struct kgb_ttir_type *mask = kgb_builder__type(b, op->in[1]);
		if (mask->element != KGB_TTIR_I1 || !kgb_ttir_same_shape(mask, &from))
			kgb_builder__fail(b, "a mask of the operand's shape expected");
	}
	finish_dense(b, op, &to);
}

KGB_RUN(kgb_histogram_run)
{
	const size_t n = lanes_of(x, op->in[0]), n_bins = lanes_of(x, op->out[0]);
	const int32_t *in = (const void *)x->at[op->in[0]];
	const uint8_t *mask = op->n_in > 1 ? x->at[op->in[1]] : NULL;
	int32_t *bins = (void *)x->at[op->out[0]];

	memset(bins, 0, n_bins * sizeof(*bins));
	for (size_t i = 0; i < n; i++) {
		if (mask && !mask[i])
			continue;
		if (in[i] < 0 || (size_t)in[i] >= n_bins)
			return kgb_execution__fault(x, op, KGB_MACHINE_FAULT_INDEX, "bin %d of %zu",
						    in[i], n_bins);
		bins[in[i]]++;
	}
	return 0;
}
