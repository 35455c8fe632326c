/* SPDX-License-Identifier: MIT */
#include "verify/program/hints.h"

#include <ctype.h>

#include "verify/program/execution.h"

#define VECTOR_BYTES 16 /* of the largest load or store of a lane */
#define N_MAX (1 << 30)
#define SOURCES_MAX 1000 /* values from which a claim may be inherited */

/* Reads one integer for each axis from "dense<[16, 1]> : tensor<2xi32>"; a single one is for all
 * axes. false: there is no such hint. */
static bool read_hint(struct kgb_builder *b, const struct kgb_ttir_statement *s, const char *key,
		      int64_t *out, uint32_t rank)
{
	const struct kgb_ttir_attribute *attribute = kgb_ttir_attribute(s, key);
	uint32_t n = 0;

	if (!attribute)
		return false;
	const char *at = attribute->value.s, *end = at + attribute->value.n;
	while (at < end && *at != '>') {
		int64_t value = 0;
		if (!isdigit((unsigned char)*at)) {
			at++;
			continue;
		}
		for (; at < end && isdigit((unsigned char)*at); at++)
			value = value < N_MAX ? 10 * value + (*at - '0') : value;
		if (n < rank)
			out[n] = value;
		n++;
	}
	for (uint32_t i = 1; n == 1 && i < rank; i++)
		out[i] = out[0];
	if (n != 1 && n != rank)
		kgb_builder__fail(b, "hints for another number of axes");
	return true;
}

/* The largest power of two that divides n, at most `most`. */
static uint32_t power_in(int64_t n, uint32_t most)
{
	uint32_t power = 1;

	while (power < most && n > 0 && n % (2 * (int64_t)power) == 0)
		power *= 2;
	return power;
}

/* ---- multiples and constancy ---- */

/* The lanes of a value, and the axis along which hints are checked. */
struct checked {
	const uint8_t *lanes, *mask; /* mask: NULL: all lanes */
	size_t size; /* of an element */
	uint64_t step; /* between neighbours that are contiguous */
	size_t n, axis_size, inner; /* inner: lanes between neighbours of the axis */
};

static uint64_t lane(const struct checked *c, size_t i)
{
	uint64_t bits = 0;

	memcpy(&bits, c->lanes + i * c->size, c->size);
	return bits;
}

static bool is_first(const struct checked *c, size_t i, int64_t group)
{
	const size_t at = i / c->inner % c->axis_size;

	if (group > 0)
		return at % (size_t)group == 0;
	return at == 0 || lane(c, i) != lane(c, i - c->inner) + c->step;
}

static int check_axis(struct kgb_execution *x, const struct kgb_operation *op,
		      const struct checked *c, const int64_t *multiple, const int64_t *contiguous,
		      const int64_t *constant)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->mask && !c->mask[i])
			continue;
		const uint64_t bits = lane(c, i);
		const size_t at = i / c->inner % c->axis_size;
		const size_t first = i - at % (size_t)*constant * c->inner;
		if (bits % (uint64_t)*multiple && is_first(c, i, *contiguous))
			return kgb_execution__fault(
				x, op, KGB_MACHINE_FAULT_HINT,
				"lane %zu is claimed to be a multiple of %lld, and is 0x%llx", i,
				(long long)*multiple, (unsigned long long)bits);
		if (bits != lane(c, first) && (!c->mask || c->mask[first]))
			return kgb_execution__fault(
				x, op, KGB_MACHINE_FAULT_HINT,
				"lanes %zu and %zu are claimed to be equal: 0x%llx, 0x%llx", first,
				i, (unsigned long long)lane(c, first), (unsigned long long)bits);
	}
	return 0;
}

/* The operation's list: multiples, lanes of a contiguous group (0: not given) and lanes of a
 * constant group, for each axis. */
static int check_run(struct kgb_execution *x, const struct kgb_operation *op)
{
	const struct kgb_ttir_type *type = &kgb_execution__value(x, op->in[0])->type;
	const uint32_t rank = type->rank ? type->rank : 1;
	struct checked c = {.lanes = x->at[op->in[0]],
			    .mask = op->n_in > 1 ? x->at[op->in[1]] : NULL,
			    .size = kgb_ttir_element_size((enum kgb_ttir_element)type->element),
			    .step = (uint64_t)op->number[0],
			    .n = kgb_ttir_lanes(type),
			    .inner = 1};

	for (uint32_t k = rank; k-- > 0; c.inner *= c.axis_size) {
		const int64_t *hints = op->list + k;
		c.axis_size = type->rank ? (size_t)type->shape[k] : 1;
		if (check_axis(x, op, &c, hints, hints + rank, hints + 2 * (size_t)rank) < 0)
			return -1;
	}
	return 0;
}

/* Adds the check of a value's hints. The check skips lanes that a load's mask excludes: they have
 * no defined value. */
static void add_check(struct kgb_builder *b, struct kgb_operation *maker, const int64_t *hints)
{
	const struct kgb_ttir_type type = *kgb_builder__type(b, maker->out[0]);
	struct kgb_operation *op = kgb_builder__add_operation(b, maker->name, check_run);
	uint32_t *in = kgb_builder__list(b, 2);

	op->n_in = strcmp(maker->name, "tt.load") == 0 && maker->n_in > 1 ? 2 : 1;
	in[0] = maker->out[0];
	if (op->n_in > 1)
		in[1] = maker->in[1];
	op->in = in;
	op->list = hints;
	op->number[0] = 1;
	if (type.element == KGB_TTIR_POINTER)
		op->number[0] = (int64_t)kgb_ttir_pointee_size(&type);
	op->cost += (uint32_t)(kgb_ttir_lanes(&type) / 8);
	kgb_builder__dense_in(b, op, 0);
	kgb_builder__place(b, op);
}

/* ---- contiguity, from value to value ---- */

/* Whether the claim holds in all values from which it is inherited. A claim that comes from too
 * many values counts as none. */
static bool all_claimed(const struct kgb_value *values, uint32_t value, int *n_left)
{
	while (values[value].vector && values[value].vector_from) {
		if (--*n_left < 0)
			return false;
		if (values[value].vector_also &&
		    !all_claimed(values, values[value].vector_also, n_left))
			return false;
		value = values[value].vector_from;
	}
	return values[value].vector;
}

static bool is_claimed(const struct kgb_value *values, uint32_t value)
{
	int n_left = SOURCES_MAX;

	return all_claimed(values, value, &n_left);
}

void kgb_hints__meet(struct kgb_builder *b, uint32_t carried, uint32_t yielded)
{
	struct kgb_value *value = &b->values.items[carried];
	const struct kgb_value *other = &b->values.items[yielded];

	if (other->vector < value->vector || other->vector_axis != value->vector_axis ||
	    !is_claimed(b->values.items, yielded))
		value->vector = 0;
}

static bool is_same(const struct kgb_value *value, uint8_t axis)
{
	return value->type.rank == 0 || value->collapsed >> axis & 1;
}

static bool is_one(const struct kgb_builder *b, uint32_t value)
{
	const struct kgb_value *v = kgb_builder__value(b, value);
	const struct kgb_value *root = kgb_builder__value(b, v->root);

	return root->is_constant && v->n_stored == 1 && b->constants.items[root->at] == 1;
}

/* A sum is contiguous where one operand is and the other one is the same for all lanes. */
static void inherit_sum(struct kgb_builder *b, const struct kgb_operation *op, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		const struct kgb_value *value = kgb_builder__value(b, op->in[k]);
		const struct kgb_value *other = kgb_builder__value(b, op->in[1 - k]);
		if (value->vector && is_same(other, value->vector_axis)) {
			kgb_builder__inherit_vector(b, op->out[0], op->in[k]);
			return;
		}
	}
}

static void inherit_product(struct kgb_builder *b, const struct kgb_operation *op)
{
	for (uint32_t k = 0; k < 2; k++)
		if (is_one(b, op->in[1 - k]))
			kgb_builder__inherit_vector(b, op->out[0], op->in[k]);
}

/* A choice that is the same for all lanes is contiguous as far as both values are. */
static void inherit_choice(struct kgb_builder *b, const struct kgb_operation *op)
{
	const struct kgb_value *condition = kgb_builder__value(b, op->in[0]);
	const struct kgb_value *chosen = kgb_builder__value(b, op->in[1]);
	const struct kgb_value *other = kgb_builder__value(b, op->in[2]);
	const uint32_t less = chosen->vector <= other->vector ? 1 : 2;

	if (!chosen->vector || !other->vector || chosen->vector_axis != other->vector_axis ||
	    !is_same(condition, chosen->vector_axis))
		return;
	kgb_builder__inherit_vector(b, op->out[0], op->in[less]);
	b->values.items[op->out[0]].vector_also = op->in[3 - less];
}

static void inherit(struct kgb_builder *b, const struct kgb_operation *op,
		    const struct kgb_ttir_statement *s)
{
	static const char *const same[] = {"tt.broadcast", "tt.bitcast", "arith.extsi",
					   "arith.extui", "arith.trunci"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(same); i++)
		if (strcmp(op->name, same[i]) == 0)
			kgb_builder__inherit_vector(b, op->out[0], op->in[0]);
	if (strcmp(op->name, "tt.addptr") == 0 || strcmp(op->name, "arith.addi") == 0)
		inherit_sum(b, op, 2);
	if (strcmp(op->name, "arith.subi") == 0)
		inherit_sum(b, op, 1);
	if (strcmp(op->name, "arith.muli") == 0)
		inherit_product(b, op);
	if (strcmp(op->name, "arith.select") == 0)
		inherit_choice(b, op);
	if (strcmp(op->name, "tt.expand_dims") == 0) {
		kgb_builder__inherit_vector(b, op->out[0], op->in[0]);
		struct kgb_value *value = &b->values.items[op->out[0]];
		if (kgb_ttir_integer(s, "axis", 0) <= value->vector_axis)
			value->vector_axis++;
	}
}

static void note_contiguity(struct kgb_builder *b, uint32_t out, const int64_t *contiguous)
{
	struct kgb_value *value = &b->values.items[out];

	for (uint32_t k = 0; k < value->type.rank; k++) {
		const uint32_t vector = power_in(contiguous[k], VECTOR_BYTES);
		if (vector > 1 && vector > value->vector) {
			value->vector = (uint8_t)vector;
			value->vector_axis = (uint8_t)k;
			value->vector_from = value->vector_also = 0;
		}
	}
}

void kgb_hints__note(struct kgb_builder *b, struct kgb_operation *op,
		     const struct kgb_ttir_statement *s)
{
	if (b->failed || op->n_out != 1)
		return;
	inherit(b, op, s);
	const struct kgb_value *value = kgb_builder__value(b, op->out[0]);
	const enum kgb_ttir_element element = (enum kgb_ttir_element)value->type.element;
	if (value->is_wide || (element != KGB_TTIR_POINTER && !kgb_ttir_is_integer(element)))
		return;
	const uint32_t rank = value->type.rank ? value->type.rank : 1;
	int64_t *hints = kgb_arena_array(&b->program->arena, 3 * (size_t)rank, sizeof(*hints));
	for (uint32_t k = 0; k < rank; k++)
		hints[k] = hints[2 * rank + k] = 1;
	bool any = read_hint(b, s, "tt.divisibility", hints, rank);
	for (uint32_t k = 0; k < rank; k++)
		hints[k] = power_in(hints[k], VECTOR_BYTES);
	if (read_hint(b, s, "tt.contiguity", hints + rank, rank))
		note_contiguity(b, op->out[0], hints + rank);
	any |= read_hint(b, s, "tt.constancy", hints + 2 * (size_t)rank, rank);
	for (uint32_t k = 0; k < rank; k++)
		hints[2 * rank + k] += hints[2 * rank + k] == 0;
	if (any && !b->failed)
		add_check(b, op, hints);
}

/* ---- vectors of loads and stores ---- */

/* Pointers of an access with lanes that are claimed to be contiguous along an axis. */
struct vectors {
	uint64_t *pointers;
	const uint8_t *mask; /* NULL: all lanes */
	size_t n, axis_size, inner, size;
};

static bool begins_vector(const struct vectors *v, size_t i, size_t length)
{
	return i / v->inner % v->axis_size % length == 0;
}

/* Whether compiled code can have vectors of this length: each is aligned, and the mask permits all
 * lanes of it or none. */
static bool may_be_vectors(const struct vectors *v, size_t length)
{
	if (v->axis_size % length)
		return false;
	for (size_t i = 0; i < v->n; i++) {
		if (!begins_vector(v, i, length))
			continue;
		for (size_t k = 1; v->mask && k < length; k++)
			if (!v->mask[i] != !v->mask[i + k * v->inner])
				return false;
		if ((!v->mask || v->mask[i]) && v->pointers[i] % (length * v->size))
			return false;
	}
	return true;
}

/* Moves the lanes of a vector behind its first lane, except out of the buffer: no honest kernel
 * uses a lane there. */
static void make_vector(const struct kgb_execution *x, const struct vectors *v, size_t i,
			size_t length)
{
	const struct kgb_memory_range *range = kgb_memory__find(x->memory, v->pointers[i]);

	for (size_t k = 1; range && k < length; k++)
		if (kgb_memory__holds(range, v->pointers[i] + k * v->size, v->size))
			v->pointers[i + k * v->inner] = v->pointers[i] + k * v->size;
}

static int vectors_run(struct kgb_execution *x, const struct kgb_operation *op)
{
	const struct kgb_value *value = kgb_execution__value(x, op->out[0]);
	struct vectors v = {.pointers = (uint64_t *)(void *)x->at[op->out[0]],
			    .mask = op->n_in > 1 ? x->at[op->in[1]] : NULL,
			    .n = value->n_stored,
			    .axis_size = (size_t)value->type.shape[op->number[2]],
			    .inner = 1,
			    .size = (size_t)op->number[1]};
	size_t length = (size_t)op->number[0];

	memcpy(v.pointers, x->at[op->in[0]], v.n * sizeof(*v.pointers));
	if (!is_claimed(x->program->values, (uint32_t)op->number[3]))
		return 0;
	for (uint32_t k = value->type.rank; k-- > (uint32_t)op->number[2] + 1;)
		v.inner *= (size_t)value->type.shape[k];
	while (length > 1 && !may_be_vectors(&v, length))
		length /= 2;
	for (size_t i = 0; length > 1 && i < v.n; i++)
		if (begins_vector(&v, i, length) && (!v.mask || v.mask[i]))
			make_vector(x, &v, i, length);
	return 0;
}

void kgb_hints__access(struct kgb_builder *b, struct kgb_operation *op, uint32_t mask)
{
	const struct kgb_value value = *kgb_builder__value(b, op->in[0]);
	const struct kgb_ttir_type *type = &value.type;

	if (!value.vector || type->element != KGB_TTIR_POINTER)
		return;
	const uint32_t size = (uint32_t)kgb_ttir_pointee_size(type);
	const uint32_t most = VECTOR_BYTES / size;
	const bool has_mask = mask < op->n_in;
	if (has_mask && !kgb_ttir_same_shape(type, kgb_builder__type(b, op->in[mask])))
		return;
	struct kgb_operation *vectors = kgb_builder__add_operation(b, op->name, vectors_run);
	uint32_t *in = kgb_builder__list(b, 2);
	in[0] = op->in[0];
	in[1] = has_mask ? op->in[mask] : 0;
	vectors->in = in;
	vectors->n_in = has_mask ? 2 : 1;
	vectors->number[0] = value.vector < most ? value.vector : most;
	vectors->number[1] = size;
	vectors->number[2] = value.vector_axis;
	vectors->number[3] = op->in[0];
	vectors->cost += (uint32_t)(kgb_ttir_lanes(type) / 8);
	vectors->is_pure = true;
	kgb_builder__dense_in(b, vectors, 0);
	kgb_builder__set_in(b, op, 0, kgb_builder__result(b, vectors, type, 0));
	kgb_builder__place(b, vectors);
}
