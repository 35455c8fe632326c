/* SPDX-License-Identifier: MIT */
#include "verify/program/program.h"

#define ARENA_BYTES_MAX (UINT64_C(512) << 20)
#define ALIGNMENT 64
#define LIVE_MAX 4096 /* roots needed at a time; with more, each further root gets new space */

/* ---- lifetime of each root ---- */

static void note_use(struct kgb_machine_program *program, uint32_t value,
		     const struct kgb_operation *at)
{
	struct kgb_value *root = &program->values[program->values[value].root];
	const struct kgb_region *region = at->region;
	uint32_t last = at->end;

	/* A root from outside of a region is needed until the region's operation ends: a loop may
	 * run the region again. */
	while (region && region != root->home && region->parent) {
		last = region->parent->end;
		region = region->outer;
	}
	if (last > root->last)
		root->last = last;
}

static void note_list(struct kgb_machine_program *program, const uint32_t *values, uint32_t n,
		      const struct kgb_operation *at)
{
	for (uint32_t i = 0; i < n; i++)
		note_use(program, values[i], at);
}

/* Notes the use of a value in an operation, and after the region, or the region around branches. */
static void note_reach(struct kgb_machine_program *program, uint32_t value,
		       const struct kgb_operation *at)
{
	struct kgb_value *root = &program->values[program->values[value].root];
	const struct kgb_region *region = at->region;

	note_use(program, value, at);
	while (region->is_branch)
		region = region->outer;
	const uint32_t end = region->operations[region->n_operations - 1]->end;
	if (at->follows && root->last < end)
		root->last = end;
}

/* Values from which kgb_reach__leave finds what reaches memory. */
static void note_masks(struct kgb_machine_program *program, const struct kgb_operation *op)
{
	if (op->condition)
		note_reach(program, op->out[0], op);
	for (uint32_t k = 0; k < op->n_guards; k++)
		note_reach(program, op->guards[k], op);
	if (op->gate)
		note_reach(program, op->gate, op);
	if (kgb_operation__is(op, "scf.if"))
		note_reach(program, op->in[0], op);
}

/* Notes the uses of values in a region. A block's argument is needed until the region's operation
 * ends, because blocks follow each other in any order. */
static void note_region(struct kgb_machine_program *program, const struct kgb_region *region)
{
	const struct kgb_operation *parent = region->parent;

	for (uint32_t i = 0; i < region->n_operations; i++) {
		const struct kgb_operation *op = region->operations[i];
		note_list(program, op->in, op->n_in, op);
		note_list(program, op->out, op->n_out, op);
		note_list(program, op->scratch, op->n_scratch, op);
		note_masks(program, op);
		for (uint32_t k = 0; k < op->n_regions; k++)
			note_region(program, op->regions[k]);
	}
	for (uint32_t k = 0; k < region->n_blocks; k++)
		for (uint32_t i = 0; parent && i < region->blocks[k].n_arguments; i++)
			note_use(program, region->blocks[k].arguments[i], parent);
}

/* The outermost of the regions around a value in which a branch goes backwards; NULL: none. */
static const struct kgb_region *find_loop(const struct kgb_region *region)
{
	const struct kgb_region *found = NULL;

	for (; region; region = region->outer)
		if (region->has_loop)
			found = region;
	return found;
}

/* A root that is made in such a region is needed as long as the region runs. Elsewhere, operations
 * run in the order of their positions. */
static void extend_loops(struct kgb_machine_program *program)
{
	for (uint32_t i = 0; i < program->n_values; i++) {
		struct kgb_value *value = &program->values[i];
		const struct kgb_region *region = find_loop(value->home);
		if (!region || value->root != i)
			continue;
		uint32_t first = region->parent ? region->parent->position : 0;
		uint32_t last = region->parent ? region->parent->end : UINT32_MAX;
		value->first = value->first < first ? value->first : first;
		value->last = value->last > last ? value->last : last;
	}
}

/* ---- places ---- */

static int by_first(const void *a, const void *b)
{
	const struct kgb_value *x = *(struct kgb_value *const *)a,
			       *y = *(struct kgb_value *const *)b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x > y) - (x < y);
}

/* Gives a root the lowest gap between the live roots, which are in the order of their places. */
static void place(struct kgb_value *value, struct kgb_value **live, size_t *n_live)
{
	size_t kept = 0, at = 0, from = 0;

	for (size_t i = 0; i < *n_live; i++)
		if (live[i]->last >= value->first)
			live[kept++] = live[i];
	*n_live = kept;
	for (; at < kept && live[at]->at < from + value->bytes; at++)
		if (live[at]->at + live[at]->bytes > from)
			from = live[at]->at + live[at]->bytes;
	memmove(live + at + 1, live + at, (kept - at) * sizeof(struct kgb_value *));
	live[at] = value;
	value->at = from;
	(*n_live)++;
}

int kgb_program__lay_out(struct kgb_machine_program *program, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_value **order = NULL;
	KGB_AUTO(free) struct kgb_value **live = NULL;
	size_t n = 0, n_live = 0;

	note_region(program, program->body);
	extend_loops(program);
	order = kgb_xcalloc((size_t)program->n_values + 1, sizeof(struct kgb_value *));
	live = kgb_xcalloc((size_t)program->n_values + 1, sizeof(struct kgb_value *));
	for (uint32_t i = 1; i < program->n_values; i++) {
		struct kgb_value *value = &program->values[i];
		if (value->root != i || value->is_constant || value->argument >= 0)
			continue;
		value->bytes = (value->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		order[n++] = value;
	}
	qsort(order, n, sizeof(struct kgb_value *), by_first);
	for (size_t i = 0; i < n; i++) {
		if (n_live < LIVE_MAX)
			place(order[i], live, &n_live);
		else
			order[i]->at = program->arena_bytes;
		size_t end = order[i]->at + order[i]->bytes;
		if (end > program->arena_bytes)
			program->arena_bytes = end;
		if (program->arena_bytes > ARENA_BYTES_MAX)
			return kgb_fail(err, KGB_ERR_LIMIT,
					"a program needs over %llu MiB for its blocks",
					(unsigned long long)(ARENA_BYTES_MAX >> 20));
	}
	return 0;
}
