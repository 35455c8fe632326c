/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "verify/lanes/narrow.h"
#include "verify/machine/families.h"

#define TMA_ALIGNMENT 16 /* bytes, of the address and of all strides but the last */

/* ---- checks ---- */

KGB_BUILD(kgb_descriptor_make_build)
{
	const struct kgb_ttir_type base = *kgb_builder__type(b, op->in[0]);
	struct kgb_ttir_type type = kgb_builder__last_type(b);
	const uint32_t rank = type.rank;

	if (type.element != KGB_TTIR_DESCRIPTOR) { /* short: <16x64xf32> */
		type.pointee = type.element;
		type.element = KGB_TTIR_DESCRIPTOR;
	}
	bool fits = base.element == KGB_TTIR_POINTER && base.rank == 0 && base.depth == 1 &&
		    base.pointee == type.pointee && rank > 0 &&
		    rank <= KGB_MACHINE_DESCRIPTOR_RANK && op->n_in == 1 + 2 * rank;
	for (uint32_t k = 1; fits && k < op->n_in; k++) {
		const struct kgb_ttir_type *number = kgb_builder__type(b, op->in[k]);
		fits = number->rank == 0 &&
		       number->element == (k <= rank ? KGB_TTIR_I32 : KGB_TTIR_I64);
	}
	if (!fits) {
		kgb_builder__fail(b, "a pointer, sizes and strides that fit the type expected");
		return;
	}
	op->number[0] = kgb_ttir_integer(s, "padding", 1) == 2;
	(void)kgb_builder__result(b, op, &type, 0);
}

/* Checks operand 0, a descriptor, and the operands behind it: one index for each axis. */
static bool check_indices(struct kgb_builder *b, const struct kgb_operation *op)
{
	const struct kgb_ttir_type *type = kgb_builder__type(b, op->in[0]);

	if (type->element != KGB_TTIR_DESCRIPTOR || op->n_in < 1u + type->rank) {
		kgb_builder__fail(b, "a descriptor and its indices expected");
		return false;
	}
	for (uint32_t k = 1; k <= type->rank; k++) {
		const struct kgb_ttir_type *index = kgb_builder__type(b, op->in[k]);
		if (index->rank || index->element != KGB_TTIR_I32) {
			kgb_builder__fail(b, "indices of i32 expected");
			return false;
		}
	}
	return true;
}

static bool fits_block(const struct kgb_ttir_type *descriptor, const struct kgb_ttir_type *block)
{
	size_t lanes = 1;

	for (int i = 0; i < descriptor->rank; i++)
		lanes *= (size_t)descriptor->shape[i];
	return block->element == descriptor->pointee && kgb_ttir_lanes(block) == lanes;
}

/* number[0]: rows of the block, number[1]: elements of each. */
static void set_rows(struct kgb_builder *b, struct kgb_operation *op,
		     const struct kgb_ttir_type *descriptor, const struct kgb_ttir_type *block)
{
	struct kgb_machine_program *program = b->program;
	uint32_t size = (uint32_t)kgb_ttir_element_size((enum kgb_ttir_element)block->element);

	op->element = block->element;
	op->number[1] = descriptor->shape[descriptor->rank - 1];
	op->number[0] = (int64_t)kgb_ttir_lanes(block) / op->number[1];
	op->cost += (uint32_t)(kgb_ttir_lanes(block) / 64);
	if (program->least_access == 0 || size < program->least_access)
		program->least_access = size;
}

enum {
	DESCRIPTOR_LOAD,
	DESCRIPTOR_STORE,
	DESCRIPTOR_REDUCE,
	DESCRIPTOR_GATHER,
	DESCRIPTOR_SCATTER
};

KGB_BUILD(kgb_descriptor_load_build)
{
	const struct kgb_ttir_type block = kgb_builder__last_type(b);

	(void)s;
	if (!check_indices(b, op))
		return;
	const struct kgb_ttir_type descriptor = *kgb_builder__type(b, op->in[0]);
	if (op->n_in != 1u + descriptor.rank || !fits_block(&descriptor, &block)) {
		kgb_builder__fail(b, "a block that fits the descriptor expected");
		return;
	}
	set_rows(b, op, &descriptor, &block);
	(void)kgb_builder__result(b, op, &block, 0);
}

KGB_BUILD(kgb_descriptor_store_build)
{
	if (!check_indices(b, op))
		return;
	const struct kgb_ttir_type descriptor = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type block = *kgb_builder__type(b, op->in[op->n_in - 1]);
	if (op->n_in != 2u + descriptor.rank || !fits_block(&descriptor, &block)) {
		kgb_builder__fail(b, "a block that fits the descriptor expected");
		return;
	}
	if (op->what == DESCRIPTOR_REDUCE) {
		enum kgb_atomic atomic = kgb_atomic__find(s);
		if (atomic == KGB_ATOMIC_ADD &&
		    kgb_ttir_is_float((enum kgb_ttir_element)block.element))
			atomic = KGB_ATOMIC_FADD;
		else if (!kgb_ttir_is_integer((enum kgb_ttir_element)block.element) ||
			 block.element == KGB_TTIR_I1)
			atomic = KGB_N_ATOMICS;
		if (atomic == KGB_N_ATOMICS) {
			kgb_builder__unsupported(
				b, "on %s",
				kgb_ttir_element_name((enum kgb_ttir_element)block.element));
			return;
		}
		op->number[2] = atomic;
		b->program->has_atomic = true;
	}
	kgb_builder__dense_in(b, op, op->n_in - 1);
	set_rows(b, op, &descriptor, &block);
}

/* A block of indices names the rows; a scalar is the first column. */
KGB_BUILD(kgb_descriptor_gather_build)
{
	const struct kgb_ttir_type descriptor = *kgb_builder__type(b, op->in[0]);
	const struct kgb_ttir_type rows = *kgb_builder__type(b, op->in[1]);
	const struct kgb_ttir_type column = *kgb_builder__type(b, op->in[2]);
	const bool is_load = op->what == DESCRIPTOR_GATHER;
	const struct kgb_ttir_type block =
		is_load ? kgb_builder__last_type(b) : *kgb_builder__type(b, op->in[op->n_in - 1]);

	(void)s;
	if (descriptor.element != KGB_TTIR_DESCRIPTOR || descriptor.rank != 2 ||
	    descriptor.shape[0] != 1 || rows.rank != 1 || rows.element != KGB_TTIR_I32 ||
	    column.rank || column.element != KGB_TTIR_I32 || op->n_in != (is_load ? 3 : 4) ||
	    block.rank != 2 || block.element != descriptor.pointee ||
	    block.shape[0] != rows.shape[0] || block.shape[1] != descriptor.shape[1]) {
		kgb_builder__fail(b, "a descriptor of rows, indices and a block expected");
		return;
	}
	kgb_builder__dense_in(b, op, 1);
	set_rows(b, op, &descriptor, &block);
	if (is_load)
		(void)kgb_builder__result(b, op, &block, 0);
}

/* ---- execution ---- */

KGB_RUN(kgb_descriptor_make_run)
{
	struct kgb_machine_descriptor *d = (void *)x->at[op->out[0]];
	const struct kgb_value *out = kgb_execution__value(x, op->out[0]);
	const int64_t size =
		(int64_t)kgb_ttir_element_size((enum kgb_ttir_element)out->type.pointee);
	const uint32_t rank = out->type.rank;

	memset(d, 0, sizeof(*d));
	memcpy(&d->address, x->at[op->in[0]], sizeof(d->address));
	d->pads_with_nan = op->number[0];
	if (d->address % TMA_ALIGNMENT)
		return kgb_execution__fault_at(x, op, KGB_MACHINE_FAULT_ALIGNMENT, d->address,
					       "not aligned to 16 bytes, as a descriptor must be");
	for (uint32_t i = 0; i < rank; i++) {
		d->shape[i] = kgb_execution__integer(x, op->in[1 + i]);
		d->strides[i] = kgb_execution__integer(x, op->in[1 + rank + i]);
		int64_t bytes;
		if (i + 1 == rank ? d->strides[i] != 1
				  : d->strides[i] < 0 ||
					    __builtin_mul_overflow(d->strides[i], size, &bytes) ||
					    bytes % TMA_ALIGNMENT)
			return kgb_execution__fault(x, op, KGB_MACHINE_FAULT_ALIGNMENT,
						    "stride %lld of axis %u",
						    (long long)d->strides[i], i);
	}
	return 0;
}

/* A part of a row of a block: elements [from, to) lie at `address`. */
struct span {
	uint64_t address;
	int64_t from, to;
};

/* The part of the block's row `row` that lies inside the tensor; it may be empty. */
static struct span find_span(struct kgb_execution *x, const struct kgb_operation *op, int64_t row)
{
	const struct kgb_ttir_type *type = &kgb_execution__value(x, op->in[0])->type;
	const struct kgb_machine_descriptor *d = (const void *)x->at[op->in[0]];
	const int rank = type->rank;
	const int64_t size = (int64_t)kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	bool by_index = op->what >= DESCRIPTOR_GATHER, inside = true;
	uint64_t offset = 0;
	int64_t rest = row;

	for (int k = rank - 2; k >= 0; k--) {
		int64_t i =
			by_index ? ((const int32_t *)(const void *)x->at[op->in[1]])[row]
				 : kgb_execution__integer(x, op->in[1 + k]) + rest % type->shape[k];
		rest /= type->shape[k];
		inside = inside && i >= 0 && i < d->shape[k];
		offset += (uint64_t)i * (uint64_t)d->strides[k];
	}
	int64_t start = kgb_execution__integer(x, op->in[rank]), end = d->shape[rank - 1];
	struct span span = {0, start < 0 ? -start : 0, op->number[1]};
	if (span.to > end - start)
		span.to = end - start;
	if (!inside || span.to < span.from)
		return (struct span){0, 0, 0};
	span.address =
		d->address + (offset + (uint64_t)start + (uint64_t)span.from) * (uint64_t)size;
	return span;
}

static void pad(const struct kgb_execution *x, const struct kgb_operation *op, uint8_t *to)
{
	const struct kgb_machine_descriptor *d = (const void *)x->at[op->in[0]];
	const enum kgb_ttir_element element = (enum kgb_ttir_element)op->element;
	const size_t size = kgb_ttir_element_size(element);
	const double nan = (double)NAN;
	uint64_t one = 0;

	if (d->pads_with_nan && element == KGB_TTIR_F64)
		memcpy(&one, &nan, sizeof(nan));
	else if (d->pads_with_nan && element == KGB_TTIR_F32)
		one = 0x7fffffff;
	else if (d->pads_with_nan && kgb_ttir_is_narrow(element))
		kgb_narrow_round_double(element, &nan, 1, &one);
	kgb_execution__fill(to, &one, size, (size_t)op->number[1]);
}

static int reduce_span(struct kgb_execution *x, const struct kgb_operation *op,
		       const struct span *span, const uint8_t *row)
{
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);

	for (int64_t i = span->from; i < span->to; i++) {
		uint64_t operand = 0, old;
		memcpy(&operand, row + (size_t)i * size, size);
		if (kgb_atomic__apply(x, op, (enum kgb_atomic)op->number[2], KGB_ACCESS_ATOMIC,
				      span->address + (uint64_t)(i - span->from) * size, operand, 0,
				      &old) < 0)
			return -1;
	}
	return 0;
}

KGB_RUN(kgb_descriptor_run)
{
	const bool is_load = op->what == DESCRIPTOR_LOAD || op->what == DESCRIPTOR_GATHER;
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const size_t row_bytes = (size_t)op->number[1] * size;
	uint8_t *row = x->at[is_load ? op->out[0] : op->in[op->n_in - 1]];

	for (int64_t i = 0; i < op->number[0]; i++, row += row_bytes) {
		struct span span = find_span(x, op, i);
		size_t bytes = (size_t)(span.to - span.from) * size;
		if (is_load)
			pad(x, op, row);
		if (bytes == 0)
			continue;
		if (op->what == DESCRIPTOR_REDUCE) {
			if (reduce_span(x, op, &span, row) < 0)
				return -1;
			continue;
		}
		uint8_t *memory = kgb_access__check(x, op, span.address, bytes, size,
						    is_load ? KGB_ACCESS_READ : KGB_ACCESS_WRITE);
		if (!memory)
			return -1;
		if (is_load)
			memcpy(row + (size_t)span.from * size, memory, bytes);
		else
			memcpy(memory, row + (size_t)span.from * size, bytes);
	}
	return 0;
}
