/* SPDX-License-Identifier: MIT */
#include "verify/program/follow.h"

#include "base/str.h"

#define REACH_BYTES_MAX ((size_t)128 << 20)
#define PARTS_MAX 64 /* of a mask that are looked at */

/* The conditions that an operation follows from. An scf.if passes on the values of its branches. */
static uint64_t causes(struct kgb_builder *b, const struct kgb_operation *op)
{
	uint64_t found =
		op->condition && !op->region->is_blurred ? kgb_condition__bit(op->condition) : 0;

	for (uint32_t k = 0; k < op->n_in; k++)
		found |= kgb_builder__root(b, op->in[k])->follows;
	for (uint32_t k = 0; k < op->n_regions; k++)
		if (op->regions[k]->is_branch)
			found |= op->regions[k]->follows;
	return found;
}

/* Whether all operands count, whatever follows from the results: the operation touches memory, or
 * decides what runs. */
static bool has_effect(const struct kgb_operation *op)
{
	return op->n_out == 0 || (op->n_regions > 0 && !op->regions[0]->width) ||
	       kgb_str_starts(op->name, "tt.atomic");
}

static void add_results(struct kgb_builder *b, const struct kgb_operation *op)
{
	for (uint32_t k = 0; k < op->n_out; k++) {
		struct kgb_value *root = kgb_builder__root(b, op->out[k]);
		root->follows = op->follows;
		root->reach = b->program->reach_bytes;
		b->program->reach_bytes += root->n_stored;
	}
	if (b->program->reach_bytes > REACH_BYTES_MAX)
		kgb_builder__unsupported(b, "over %zu MiB of lanes that follow from conditions",
					 REACH_BYTES_MAX >> 20);
}

/* A mask that does not depend on data, or else a part of it that does not, stored like the mask,
 * and without which it is false; 0: there is none. `left` bounds the search. */
static uint32_t sure_part(struct kgb_builder *b, uint32_t mask, int *left)
{
	const struct kgb_value *root = kgb_builder__root(b, mask);
	const struct kgb_operation *maker = root->maker;
	uint32_t sure = 0;

	if (!root->is_data)
		return mask;
	if (!maker || !kgb_operation__is(maker, "arith.andi"))
		return 0;
	for (uint32_t k = 0; k < 2 && !sure && --*left > 0; k++)
		if (kgb_builder__value(b, maker->in[k])->collapsed ==
		    kgb_builder__value(b, maker->out[0])->collapsed)
			sure = sure_part(b, maker->in[k], left);
	return sure;
}

/* The operand that is a mask for others; bits as in struct kgb_operation. */
static void set_gate(struct kgb_builder *b, struct kgb_operation *op)
{
	static const struct {
		const char *name;
		uint8_t operand, open, shut;
	} gates[] = {
		{"tt.load", 1, 1 << 0, 1 << 2},
		{"tt.store", 2, 1 << 0 | 1 << 1, 0},
		{"tt.atomic_rmw", 2, 1 << 0 | 1 << 1, 0},
		{"arith.select", 0, 1 << 1, 1 << 2},
		{"arith.andi", 0, 1 << 1, 0},
		{"arith.andi", 1, 1 << 0, 0},
		{"arith.ori", 0, 0, 1 << 1},
		{"arith.ori", 1, 0, 1 << 0},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(gates) && !op->gate; i++) {
		const uint32_t k = gates[i].operand;
		int left = PARTS_MAX;
		if (!kgb_operation__is(op, gates[i].name) || k >= op->n_in ||
		    kgb_builder__type(b, op->in[k])->element != KGB_TTIR_I1)
			continue;
		op->gate = sure_part(b, op->in[k], &left);
		op->gate_operand = (uint8_t)k;
		op->open = gates[i].open;
		op->shut = op->gate == op->in[k] ? gates[i].shut : 0;
	}
}

static void follow_region(struct kgb_builder *b, struct kgb_region *region)
{
	region->is_blurred =
		region->width || region->has_loop || (region->outer && region->outer->is_blurred);
	region->is_branch = region->parent && kgb_operation__is(region->parent, "scf.if") &&
			    !region->is_blurred;
	for (uint32_t i = 0; i < region->n_operations && !b->failed; i++) {
		struct kgb_operation *op = region->operations[i];
		for (uint32_t k = 0; k < op->n_regions; k++)
			follow_region(b, op->regions[k]);
		op->follows = causes(b, op);
		region->follows |= op->follows;
		if (!op->follows)
			continue;
		set_gate(b, op);
		op->has_effect = has_effect(op);
		if (!region->is_blurred && (!op->has_effect || kgb_operation__is(op, "scf.if")))
			add_results(b, op);
	}
}

void kgb_follow__conditions(struct kgb_builder *b)
{
	follow_region(b, b->program->body);
}
