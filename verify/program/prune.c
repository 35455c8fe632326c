/* SPDX-License-Identifier: MIT */
/** \file
 * Removes operations with unread results. Triton's front end leaves many: it also computes every
 * index in 64 bits, to check whether 32 bits suffice, but asserts the check only on request. */
#include "verify/program/builder.h"

static struct kgb_builder_read *read_of(struct kgb_builder *b, uint32_t value)
{
	return &b->reads.items[kgb_builder__value(b, value)->root];
}

/* Counts the reads of each root in a region and in the regions inside of it. */
static void count_reads(struct kgb_builder *b, const struct kgb_region *region)
{
	for (uint32_t i = 0; i < region->n_operations; i++) {
		struct kgb_operation *op = region->operations[i];
		for (uint32_t k = 0; k < op->n_in; k++)
			read_of(b, op->in[k])->n++;
		for (uint32_t k = 0; op->is_pure && k < op->n_out; k++)
			read_of(b, op->out[k])->maker = op;
		for (uint32_t k = 0; k < op->n_regions; k++)
			count_reads(b, op->regions[k]);
	}
}

/* Clear only the written entries: there may be many regions. */
static void clear_reads(struct kgb_builder *b, const struct kgb_region *region)
{
	for (uint32_t i = 0; i < region->n_operations; i++) {
		const struct kgb_operation *op = region->operations[i];
		for (uint32_t k = 0; k < op->n_in; k++)
			*read_of(b, op->in[k]) = (struct kgb_builder_read){0};
		for (uint32_t k = 0; k < op->n_out; k++)
			*read_of(b, op->out[k]) = (struct kgb_builder_read){0};
		for (uint32_t k = 0; k < op->n_regions; k++)
			clear_reads(b, op->regions[k]);
	}
}

static bool is_needed(struct kgb_builder *b, const struct kgb_operation *op)
{
	for (uint32_t i = 0; i < op->n_out; i++)
		if (read_of(b, op->out[i])->n > 0)
			return true;
	return !op->is_pure;
}

/* Drops an operation, then the pure operations whose results nothing reads any more. */
static void drop(struct kgb_builder *b, struct kgb_operation *op)
{
	KGB_VEC(struct kgb_operation *) dropped = {0};

	op->run = NULL;
	KGB_VEC_ADD(&dropped, op);
	while (dropped.n > 0) {
		op = dropped.items[--dropped.n];
		for (uint32_t i = 0; i < op->n_out; i++)
			b->values.items[op->out[i]].bytes = 0;
		for (uint32_t i = 0; i < op->n_in; i++) {
			struct kgb_builder_read *read = read_of(b, op->in[i]);
			struct kgb_operation *maker = read->maker;
			read->n--;
			if (!maker || !maker->run || maker->region != op->region ||
			    is_needed(b, maker))
				continue;
			maker->run = NULL;
			KGB_VEC_ADD(&dropped, maker);
		}
	}
	KGB_VEC_RELEASE(&dropped);
}

static void close_gaps(struct kgb_region *region)
{
	uint32_t kept = 0, block = 0;

	for (uint32_t i = 0; i <= region->n_operations; i++) {
		for (; block < region->n_blocks && region->blocks[block].first <= i; block++)
			region->blocks[block].first = kept;
		if (i < region->n_operations && region->operations[i]->run)
			region->operations[kept++] = region->operations[i];
	}
	region->n_operations = kept;
}

/* An atomic acquires only if its result is read: else it orders no later work. */
static void note_acquisition(struct kgb_builder *b, struct kgb_operation *op)
{
	if (op->acquires)
		op->acquires = read_of(b, op->out[0])->n > 0;
	b->program->acquires |= op->acquires;
}

void kgb_builder__prune(struct kgb_builder *b, struct kgb_region *region)
{
	while (b->reads.n < b->values.n)
		KGB_VEC_ADD(&b->reads, (struct kgb_builder_read){0});
	count_reads(b, region);
	for (uint32_t i = 0; i < region->n_operations; i++)
		if (region->operations[i]->run && !is_needed(b, region->operations[i]))
			drop(b, region->operations[i]);
	for (uint32_t i = 0; i < region->n_operations; i++)
		note_acquisition(b, region->operations[i]);
	clear_reads(b, region);
	close_gaps(region);
	b->program->n_operations += region->n_operations;
}
