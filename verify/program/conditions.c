/* SPDX-License-Identifier: MIT */
#include "verify/program/conditions.h"

#include <string.h>

#include "base/str.h"

enum {
	PASSES_MAX = 16, /* over a program: after these, everything counts as data */
	GUARDS_MAX = 4, /* of a condition */
	GUARD_STEPS = 64, /* operations that are searched for them */
};

/* ---- which values depend on data ---- */

struct search {
	struct kgb_builder *b;
	bool has_changed;
	KGB_VEC(struct kgb_machine_condition) found;
};

static bool *data_of(const struct search *search, uint32_t value)
{
	return &kgb_builder__root(search->b, value)->is_data;
}

static bool has_data(const struct search *search, const uint32_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (*data_of(search, values[i]))
			return true;
	return false;
}

static void mark(struct search *search, const uint32_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		search->has_changed |= !*data_of(search, values[i]);
		*data_of(search, values[i]) = true;
	}
}

/* to[i] takes the place of from[i]. */
static void pass(struct search *search, const uint32_t *to, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (*data_of(search, from[i]))
			mark(search, &to[i], 1);
}

static bool reads_memory(const struct kgb_operation *op)
{
	static const char *const names[] = {"tt.load",
					    "tt.atomic_rmw",
					    "tt.atomic_cas",
					    "tt.descriptor_load",
					    "tt.descriptor_gather",
					    NULL};

	return kgb_str_is_one_of(op->name, names);
}

/* `x != x` of integers is false, whatever x is. */
static bool compares_with_itself(const struct search *search, const struct kgb_operation *op)
{
	return kgb_operation__is(op, "arith.cmpi") &&
	       kgb_builder__value(search->b, op->in[0])->root ==
		       kgb_builder__value(search->b, op->in[1])->root;
}

/* Operands become arguments of the regions: those of a combine region twice. */
static void enter_regions(struct search *search, const struct kgb_operation *op)
{
	const struct kgb_machine_block *block = &op->regions[0]->blocks[0];
	const uint32_t skipped = kgb_operation__is(op, "scf.for") ? 3 : 0; /* bounds and step */
	const uint32_t n = op->n_in - skipped;

	if (skipped) {
		pass(search, block->arguments + 1, op->in + skipped, n);
		pass(search, op->out, op->in + skipped, n);
		return;
	}
	for (uint32_t i = 0; n > 0 && i + n <= block->n_arguments; i += n)
		pass(search, block->arguments + i, op->in, n);
}

/* What a region ends with becomes results, and arguments of the next round or combination. */
static void leave_region(struct search *search, const struct kgb_operation *op, uint32_t k,
			 const struct kgb_operation *end)
{
	const bool is_while = kgb_operation__is(op, "scf.while"), is_condition = is_while && k == 0;
	const uint32_t *values = end->in + is_condition;
	const uint32_t n = end->n_in - is_condition;
	const struct kgb_region *next = op->regions[is_condition ? 1 : 0];
	const uint32_t skipped = kgb_operation__is(op, "scf.for"); /* the counter */

	if (!is_while || is_condition)
		pass(search, op->out, values, n < op->n_out ? n : op->n_out);
	for (uint32_t i = skipped; n > 0 && i + n <= next->blocks[0].n_arguments; i += n)
		pass(search, next->blocks[0].arguments + i, values, n);
}

static void pass_region(struct search *search, const struct kgb_region *region);

static void pass_regions(struct search *search, const struct kgb_operation *op)
{
	enter_regions(search, op);
	for (uint32_t k = 0; k < op->n_regions; k++) {
		const struct kgb_region *region = op->regions[k];
		pass_region(search, region);
		for (uint32_t i = 0; i < region->n_operations; i++)
			if (region->operations[i]->flow == KGB_FLOW_END)
				leave_region(search, op, k, region->operations[i]);
	}
}

static void pass_region(struct search *search, const struct kgb_region *region)
{
	for (uint32_t i = 0; i < region->n_operations; i++) {
		const struct kgb_operation *op = region->operations[i];
		const bool chooses = op->n_regions == 0 || kgb_operation__is(op, "scf.if");
		const bool depends = reads_memory(op) || (has_data(search, op->in, op->n_in) &&
							  !compares_with_itself(search, op));
		if (chooses && depends)
			mark(search, op->out, op->n_out);
		if (op->n_regions > 0)
			pass_regions(search, op);
		for (uint32_t k = 0; op->flow == KGB_FLOW_BRANCH && depends && k < region->n_blocks;
		     k++)
			mark(search, region->blocks[k].arguments, region->blocks[k].n_arguments);
	}
}

static void find_data(struct search *search)
{
	for (int passes = 0; passes == 0 || search->has_changed; passes++) {
		search->has_changed = false;
		pass_region(search, search->b->program->body);
		for (size_t i = 0; passes == PASSES_MAX && i < search->b->values.n; i++)
			search->b->values.items[i].is_data = true;
	}
}

/* ---- conditions ---- */

static void add(struct search *search, struct kgb_operation *op)
{
	struct kgb_machine_condition condition = {
		.place = op->place, .kernel_line = op->kernel_line, .kernel_file = op->kernel_file};

	KGB_VEC_FOREACH(other, &search->found)
		condition.ordinal += other->place == op->place;
	KGB_VEC_ADD(&search->found, condition);
	op->condition = (uint32_t)search->found.n;
	if (search->found.n > KGB_MACHINE_CONDITIONS_MAX)
		kgb_builder__unsupported(search->b, "more than %u conditions in a kernel",
					 KGB_MACHINE_CONDITIONS_MAX);
}

/* Whether Triton's front end made the condition as a part of `tl.atomic_max` of floats: it stands
 * directly before an atomic of the same place. */
static bool is_part_of_atomic(const struct kgb_region *region, uint32_t i)
{
	const uint64_t place = region->operations[i]->place;

	while (++i < region->n_operations && region->operations[i]->place == place)
		if (kgb_str_starts(region->operations[i]->name, "tt.atomic"))
			return true;
	return false;
}

/* ---- lanes beyond the data ---- */

static bool has_shape(const struct search *search, uint32_t value, uint32_t of)
{
	return kgb_ttir_same_shape(kgb_builder__type(search->b, value),
				   kgb_builder__type(search->b, of));
}

static bool is_guard(const struct kgb_operation *op, uint32_t value)
{
	for (uint32_t i = 0; i < op->n_guards; i++)
		if (op->guards[i] == value)
			return true;
	return false;
}

/* Adds the masks of the loads that a value of the condition's shape follows from, lane by lane.
 * `left` bounds the search. */
static void add_guards(const struct search *search, struct kgb_operation *op, uint32_t value,
		       int *left)
{
	const struct kgb_operation *maker = kgb_builder__root(search->b, value)->maker;

	if (!maker || --*left < 0 || !has_shape(search, value, op->out[0]) || maker->n_out != 1 ||
	    !has_shape(search, maker->out[0], op->out[0]))
		return;
	if (kgb_operation__is(maker, "tt.load")) {
		if (maker->n_in > 1 && has_shape(search, maker->in[1], op->out[0]) &&
		    op->n_guards < GUARDS_MAX && !is_guard(op, maker->in[1]))
			op->guards[op->n_guards++] = maker->in[1];
		return;
	}
	for (uint32_t k = 0; (maker->is_lanewise || maker->is_pure) && k < maker->n_in; k++)
		add_guards(search, op, maker->in[k], left);
}

static void find_guards(const struct search *search, struct kgb_operation *op)
{
	int left = GUARD_STEPS;

	op->guards = kgb_builder__list(search->b, GUARDS_MAX);
	for (uint32_t k = 0; k < op->n_in; k++)
		add_guards(search, op, op->in[k], &left);
}

static void note_makers(struct search *search, const struct kgb_region *region)
{
	for (uint32_t i = 0; i < region->n_operations; i++) {
		const struct kgb_operation *op = region->operations[i];
		for (uint32_t k = 0; k < op->n_out; k++)
			kgb_builder__root(search->b, op->out[k])->maker = op;
		for (uint32_t k = 0; k < op->n_regions; k++)
			note_makers(search, op->regions[k]);
	}
}

/* ---- all conditions ---- */

static void find_in(struct search *search, const struct kgb_region *region)
{
	for (uint32_t i = 0; i < region->n_operations && !search->b->failed; i++) {
		struct kgb_operation *op = region->operations[i];
		for (uint32_t k = 0; k < op->n_regions; k++)
			find_in(search, op->regions[k]);
		if (op->is_lanewise &&
		    kgb_builder__type(search->b, op->out[0])->element == KGB_TTIR_I1 &&
		    has_data(search, op->in, op->n_in) && !compares_with_itself(search, op) &&
		    !is_part_of_atomic(region, i)) {
			add(search, op);
			find_guards(search, op);
		}
	}
}

void kgb_conditions__find(struct kgb_builder *b)
{
	struct search search = {.b = b};

	find_data(&search);
	note_makers(&search, b->program->body);
	find_in(&search, b->program->body);
	b->program->conditions = search.found.items;
	b->program->n_conditions = (uint32_t)search.found.n;
}
