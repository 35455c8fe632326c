/* SPDX-License-Identifier: MIT */
#include "verify/program/execution.h"

#include <stdarg.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/str.h"

/* ---- faults ---- */

static int note_fault(struct kgb_execution *x, const struct kgb_operation *op,
		      enum kgb_machine_fault_kind kind, const char *what)
{
	struct kgb_machine_fault *fault = x->fault;
	KGB_AUTO(buf) struct kgb_buf message = KGB_BUF_INIT(sizeof(fault->message) - 1);
	KGB_AUTO(buf) struct kgb_buf safe = KGB_BUF_INIT(160);

	fault->kind = kind;
	fault->line = op->line;
	fault->kernel_line = op->kernel_line;
	memcpy(fault->program, x->program_id, sizeof(fault->program));
	(void)snprintf(fault->kernel_file, sizeof(fault->kernel_file), "%s", op->kernel_file);
	kgb_escape(&safe, what, strlen(what));
	if (op->kernel_line)
		kgb_buf_addf(&message, "%s:%d: ", op->kernel_file, op->kernel_line);
	kgb_buf_addf(&message, "%s (line %d of the IR), program (%u, %u, %u): %s", op->name,
		     op->line, x->program_id[0], x->program_id[1], x->program_id[2], safe.ptr);
	memcpy(fault->message, message.ptr, message.len + 1);
	return -1;
}

int kgb_execution__fault(struct kgb_execution *x, const struct kgb_operation *op,
			 enum kgb_machine_fault_kind kind, const char *fmt, ...)
{
	char what[160];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	x->fault->buffer = -1;
	return note_fault(x, op, kind, what);
}

int kgb_execution__fault_at(struct kgb_execution *x, const struct kgb_operation *op,
			    enum kgb_machine_fault_kind kind, uint64_t address, const char *what)
{
	const struct kgb_memory_range *range = kgb_memory__find(x->memory, address);
	struct kgb_machine_fault *fault = x->fault;
	char text[160];

	fault->address = address;
	fault->buffer = -1;
	if (range) {
		fault->buffer = (int32_t)range->index;
		fault->offset = (int64_t)(address - range->buffer->address);
		(void)snprintf(text, sizeof(text), "byte %lld of buffer %d, which has %zu: %s",
			       (long long)fault->offset, fault->buffer, range->buffer->bytes, what);
	} else {
		(void)snprintf(text, sizeof(text), "address 0x%llx: %s",
			       (unsigned long long)address, what);
	}
	return note_fault(x, op, kind, text);
}

/* ---- values ---- */

const struct kgb_value *kgb_execution__value(const struct kgb_execution *x, uint32_t value)
{
	return &x->program->values[value];
}

int64_t kgb_execution__integer(const struct kgb_execution *x, uint32_t value)
{
	const size_t size = kgb_ttir_element_size(
		(enum kgb_ttir_element)kgb_execution__value(x, value)->type.element);
	uint64_t bits = 0;

	memcpy(&bits, x->at[value], size);
	return (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);
}

uint64_t kgb_execution__draw(struct kgb_execution *x)
{
	return kgb_splitmix64(&x->random);
}

void kgb_execution__draw_lanes(struct kgb_execution *x, enum kgb_ttir_element element, void *to,
			       size_t n)
{
	const size_t size = kgb_ttir_element_size(element), bytes = n * size;
	uint8_t *d = to;

	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = kgb_execution__draw(x);
		if (element == KGB_TTIR_I1)
			word &= UINT64_C(0x0101010101010101);
		memcpy(d + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
	}
}

#define FILL(type)                                  \
	case sizeof(type): {                        \
		type value;                         \
		memcpy(&value, one, sizeof(value)); \
		for (size_t i = 0; i < n; i++)      \
			((type *)to)[i] = value;    \
		break;                              \
	}

void kgb_execution__fill(void *to, const void *one, size_t size, size_t n)
{
	switch (size) {
		FILL(uint8_t)
		FILL(uint16_t)
		FILL(uint32_t)
		FILL(uint64_t)
	default:
		KGB_UNREACHABLE();
	}
}

static size_t bytes_of(const struct kgb_value *value)
{
	return value->n_stored * kgb_ttir_element_size((enum kgb_ttir_element)value->type.element);
}

static uint8_t *spare(struct kgb_execution *x, size_t bytes)
{
	if (bytes > x->spare_bytes) {
		kgb_free(x->spare);
		x->spare = kgb_xmalloc(bytes);
		x->spare_bytes = bytes;
	}
	return x->spare;
}

void kgb_execution__move(struct kgb_execution *x, const uint32_t *to, const uint32_t *from,
			 uint32_t n)
{
	const struct kgb_value *values = x->program->values;
	bool clash = false;
	size_t total = 0;

	for (uint32_t i = 0; i < n; i++) {
		total += bytes_of(&values[to[i]]);
		for (uint32_t k = 0; k < i; k++)
			clash |= values[from[i]].root == values[to[k]].root;
	}
	if (!clash) {
		for (uint32_t i = 0; i < n; i++)
			memmove(x->at[to[i]], x->at[from[i]], bytes_of(&values[to[i]]));
		return;
	}
	uint8_t *first = spare(x, total), *at = first;
	for (uint32_t i = 0; i < n; at += bytes_of(&values[to[i]]), i++)
		memcpy(at, x->at[from[i]], bytes_of(&values[to[i]]));
	at = first;
	for (uint32_t i = 0; i < n; at += bytes_of(&values[to[i]]), i++)
		memcpy(x->at[to[i]], at, bytes_of(&values[to[i]]));
}

/* ---- expansion: axes that were stored once ---- */

int kgb_execution__expand(struct kgb_execution *x, const struct kgb_operation *op)
{
	const struct kgb_plan *plan = op->plan;
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	const size_t bytes = plan->run * size;
	struct kgb_plan_cursor runs = {.plan = plan};
	uint8_t *d = x->at[op->out[0]];

	for (; runs.i < plan->n_runs; kgb_plan_cursor__next(&runs), d += bytes) {
		const uint8_t *from = x->at[op->in[0]] + runs.offset[0] * size;
		if (plan->moves)
			memcpy(d, from, bytes);
		else
			kgb_execution__fill(d, from, size, plan->run);
	}
	return 0;
}

/* ---- regions and programs ---- */

static int out_of_fuel(struct kgb_execution *x, const struct kgb_operation *op)
{
	return kgb_execution__fault(x, op, KGB_MACHINE_FAULT_FUEL,
				    "more steps than allowed: an endless loop");
}

int kgb_execution__round(struct kgb_execution *x, const struct kgb_operation *op)
{
	if (__atomic_load_n(x->has_failed, __ATOMIC_RELAXED))
		return -1;
	return --x->fuel < 0 ? out_of_fuel(x, op) : 0;
}

int kgb_execution__region(struct kgb_execution *x, const struct kgb_region *region)
{
	uint64_t blocks = 1; /* a bit for each that ran */

	for (uint32_t i = 0; i < region->n_operations;) {
		const struct kgb_operation *op = region->operations[i++];
		x->fuel -= op->cost;
		if (x->fuel < 0)
			return out_of_fuel(x, op);
		if (op->run(x, op) < 0)
			return -1;
		if (op->condition && x->reach.outcomes)
			kgb_reach__see(&x->reach, op, x->width);
		if (op->flow == KGB_FLOW_END) {
			kgb_reach__leave(&x->reach, region, blocks);
			return 0;
		}
		if (op->flow != KGB_FLOW_BRANCH)
			continue;
		if (kgb_execution__round(x, op) < 0)
			return -1;
		i = region->blocks[x->next_block].first;
		blocks |= UINT64_C(1) << x->next_block;
	}
	kgb_reach__leave(&x->reach, region, blocks);
	x->last = NULL;
	return 0;
}

void kgb_execution__init(struct kgb_execution *x, const struct kgb_machine_program *program,
			 uint8_t *const *arguments)
{
	x->program = program;
	x->lanes = kgb_lanes_choose();
	x->width = 1;
	x->at = kgb_xcalloc((size_t)program->n_values + 1, sizeof(uint8_t *));
	x->arena = kgb_xmalloc(program->arena_bytes + 64);
	uint8_t *aligned = x->arena + (64 - (uintptr_t)x->arena % 64);
	for (uint32_t i = 0; i < program->n_values; i++) {
		const struct kgb_value *root = &program->values[program->values[i].root];
		x->at[i] = root->is_constant     ? program->constants + root->at
			   : root->argument >= 0 ? arguments[root->argument]
						 : aligned + root->at;
	}
	kgb_reach__init(&x->reach, program, x->at);
}

void kgb_execution__release(struct kgb_execution *x)
{
	kgb_free(x->at);
	kgb_free(x->arena);
	kgb_free(x->spare);
	kgb_reach__release(&x->reach);
}

int kgb_execution__program(struct kgb_execution *x, uint64_t number, uint64_t seed, int64_t fuel)
{
	const uint64_t row = number / x->grid[0];

	x->thread.program = (uint32_t)number;
	x->program_id[0] = (uint32_t)(number % x->grid[0]);
	x->program_id[1] = (uint32_t)(row % x->grid[1]);
	x->program_id[2] = (uint32_t)(row / x->grid[1]);
	x->random = kgb_mix64(seed ^ kgb_mix64(number + 1));
	x->reordering = kgb_execution__draw(x);
	x->fuel = fuel;
	x->reach.open = 0;
	return kgb_execution__region(x, x->program->body);
}
