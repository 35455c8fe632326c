/* SPDX-License-Identifier: MIT */
#include "verify/program/builder.h"

#include <stdarg.h>

#include "base/str.h"
#include "verify/program/execution.h"

/* ---- errors ---- */

static void KGB_PRINTF(3, 0)
	fail(struct kgb_builder *b, enum kgb_err_kind kind, const char *fmt, va_list ap)
{
	if (b->failed)
		return;
	KGB_AUTO(free) char *what = kgb_xvasprintf(fmt, ap);
	KGB_AUTO(buf) struct kgb_buf safe = KGB_BUF_INIT(300);
	kgb_escape(&safe, what, strlen(what));
	if (b->at)
		(void)kgb_fail(b->err, kind, "line %d: %.*s: %s", b->at->line,
			       (int)(b->at->name.n < 60 ? b->at->name.n : 60), b->at->name.s,
			       safe.ptr);
	else
		(void)kgb_fail(b->err, kind, "%s", safe.ptr);
	b->failed = true;
}

void kgb_builder__fail(struct kgb_builder *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(b, KGB_ERR_INVALID, fmt, ap);
	va_end(ap);
}

void kgb_builder__unsupported(struct kgb_builder *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(b, KGB_ERR_NOT_FOUND, fmt, ap);
	va_end(ap);
}

/* ---- values ---- */

const struct kgb_value *kgb_builder__value(const struct kgb_builder *b, uint32_t value)
{
	return &b->values.items[value];
}

const struct kgb_ttir_type *kgb_builder__type(const struct kgb_builder *b, uint32_t value)
{
	return &b->values.items[value].type;
}

struct kgb_value *kgb_builder__root(struct kgb_builder *b, uint32_t value)
{
	return &b->values.items[b->values.items[value].root];
}

static uint32_t stored_axes(const struct kgb_ttir_type *type, uint32_t *collapsed)
{
	uint32_t n = 1;

	for (int i = 0; i < type->rank; i++) {
		if (type->shape[i] == 1)
			*collapsed |= 1u << i;
		if (!(*collapsed >> i & 1) && type->element != KGB_TTIR_DESCRIPTOR)
			n *= (uint32_t)type->shape[i];
	}
	return n;
}

/* The innermost combine region around the current place; NULL: none. */
static const struct kgb_region *combine_region(const struct kgb_builder *b)
{
	const struct kgb_region *region = b->region;

	while (region && !region->width)
		region = region->outer;
	return region;
}

uint32_t kgb_builder__add_value(struct kgb_builder *b, const struct kgb_ttir_type *type,
				uint32_t collapsed)
{
	struct kgb_value value = {.type = *type,
				  .root = (uint32_t)b->values.n,
				  .argument = -1,
				  .home = b->region,
				  .first = b->position + 1,
				  .last = b->position + 1};

	if (b->values.n >= KGB_MACHINE_VALUES_MAX)
		kgb_builder__fail(b, "more than %u values", KGB_MACHINE_VALUES_MAX);
	if (type->rank && type->element != KGB_TTIR_DESCRIPTOR && combine_region(b))
		kgb_builder__unsupported(b, "a block in a combine region");
	if (b->failed && b->values.n > 1)
		return 0;
	value.n_stored = stored_axes(type, &collapsed);
	value.collapsed = collapsed;
	value.bytes = value.n_stored * kgb_ttir_element_size((enum kgb_ttir_element)type->element);
	if (type->element == KGB_TTIR_DESCRIPTOR)
		value.bytes = sizeof(struct kgb_machine_descriptor);
	KGB_VEC_ADD(&b->values, value);
	return value.root;
}

uint32_t kgb_builder__add_view(struct kgb_builder *b, uint32_t of, const struct kgb_ttir_type *type,
			       uint32_t collapsed)
{
	uint32_t view = kgb_builder__add_value(b, type, collapsed);
	struct kgb_value *value = &b->values.items[view];

	value->root = b->values.items[of].root;
	value->is_wide = b->values.items[of].is_wide;
	value->bytes = 0;
	return view;
}

void kgb_builder__inherit_vector(struct kgb_builder *b, uint32_t to, uint32_t from)
{
	struct kgb_value *value = &b->values.items[to];

	value->vector = b->values.items[from].vector;
	value->vector_axis = b->values.items[from].vector_axis;
	value->vector_from = value->vector ? from : 0;
	value->vector_also = 0;
}

uint32_t kgb_builder__add_scratch(struct kgb_builder *b, enum kgb_ttir_element element, size_t n)
{
	struct kgb_ttir_type type = {.element = (uint8_t)element};
	uint32_t scratch = kgb_builder__add_value(b, &type, 0);

	b->values.items[scratch].bytes = n * kgb_ttir_element_size(element);
	return scratch;
}

uint32_t kgb_builder__add_constant(struct kgb_builder *b, const struct kgb_ttir_type *type,
				   uint32_t collapsed, const void *elements)
{
	uint32_t constant = kgb_builder__add_value(b, type, collapsed);
	struct kgb_value *value = &b->values.items[constant];
	size_t padded = (value->bytes + 63) & ~(size_t)63;

	if (padded > KGB_MACHINE_CONSTANTS_MAX - b->constants.n)
		kgb_builder__fail(b, "more than %u bytes of constants", KGB_MACHINE_CONSTANTS_MAX);
	if (b->failed)
		return 0;
	value->is_constant = true;
	value->at = b->constants.n;
	KGB_VEC_GROW(&b->constants, padded);
	memset(b->constants.items + value->at, 0, padded);
	memcpy(b->constants.items + value->at, elements, value->bytes);
	b->constants.n += padded;
	value->bytes = 0;
	return constant;
}

/* ---- names ---- */

static uint32_t hash_of(struct kgb_slice name)
{
	uint32_t hash = 5381;

	for (size_t i = 0; i < name.n; i++)
		hash = hash * 33 ^ (unsigned char)name.s[i];
	return hash % 1024;
}

size_t kgb_builder__mark(const struct kgb_builder *b)
{
	return b->names.n;
}

void kgb_builder__name(struct kgb_builder *b, struct kgb_slice name, const uint32_t *values,
		       uint32_t count)
{
	uint32_t hash = hash_of(name);
	struct kgb_builder_name entry = {name,      values,
					 count,     b->chains[hash],
					 b->region, b->region ? b->region->building : 0};

	KGB_VEC_ADD(&b->names, entry);
	b->chains[hash] = (uint32_t)b->names.n;
}

void kgb_builder__forget(struct kgb_builder *b, size_t mark)
{
	while (b->names.n > mark) {
		const struct kgb_builder_name *last = &b->names.items[--b->names.n];
		b->chains[hash_of(last->name)] = last->next;
	}
}

/* Whether the name's block has run whenever the current block runs. */
static bool is_computed(const struct kgb_builder_name *name)
{
	const struct kgb_region *region = name->region;

	return !region || region->blocks[region->building].dominators >> name->block & 1;
}

uint32_t kgb_builder__find(struct kgb_builder *b, struct kgb_ttir_operand operand)
{
	for (uint32_t i = b->chains[hash_of(operand.name)]; i > b->scope;) {
		const struct kgb_builder_name *name = &b->names.items[i - 1];
		if (kgb_slice_same(name->name, operand.name)) {
			if (operand.nth >= name->count || !is_computed(name))
				break;
			return name->values[operand.nth];
		}
		i = name->next;
	}
	kgb_builder__fail(b, "no value %%%.*s is visible here",
			  (int)(operand.name.n < 60 ? operand.name.n : 60), operand.name.s);
	return 0;
}

/* ---- operations ---- */

void kgb_builder__set_scratch(struct kgb_builder *b, struct kgb_operation *op, uint32_t n,
			      const uint32_t *values)
{
	uint32_t *scratch = kgb_builder__list(b, n);

	memcpy(scratch, values, n * sizeof(*scratch));
	op->scratch = scratch;
	op->n_scratch = n;
}

uint32_t *kgb_builder__list(struct kgb_builder *b, size_t n)
{
	return kgb_arena_array(&b->program->arena, n + 1, sizeof(uint32_t));
}

void kgb_builder__set_in(struct kgb_builder *b, struct kgb_operation *op, uint32_t k,
			 uint32_t value)
{
	uint32_t *in = kgb_builder__list(b, op->n_in);

	memcpy(in, op->in, op->n_in * sizeof(*in));
	in[k] = value;
	op->in = in;
}

void kgb_builder__set_out(struct kgb_builder *b, struct kgb_operation *op, uint32_t n,
			  const uint32_t *values)
{
	uint32_t *out = kgb_builder__list(b, n);

	if (n)
		memcpy(out, values, n * sizeof(*out));
	op->out = out;
	op->n_out = n;
}

/* Gives a scalar that depends on a combine region's arguments an element for each combination. */
static void make_wide(struct kgb_builder *b, uint32_t value)
{
	struct kgb_value *wide = &b->values.items[value];
	const struct kgb_region *region = combine_region(b);

	wide->is_wide = true;
	if (region)
		wide->bytes = region->width *
			      kgb_ttir_element_size((enum kgb_ttir_element)wide->type.element);
}

uint32_t kgb_builder__result(struct kgb_builder *b, struct kgb_operation *op,
			     const struct kgb_ttir_type *type, uint32_t collapsed)
{
	uint32_t value = kgb_builder__add_value(b, type, collapsed);

	if (op->is_wide)
		make_wide(b, value);
	kgb_builder__set_out(b, op, 1, &value);
	return value;
}

struct kgb_ttir_type kgb_builder__last_type(struct kgb_builder *b)
{
	const struct kgb_ttir_statement *s = b->at;

	if (s->n_out_types)
		return s->out_types[s->n_out_types - 1];
	if (s->n_types)
		return s->types[s->n_types - 1];
	kgb_builder__fail(b, "its type is missing");
	return (struct kgb_ttir_type){.element = KGB_TTIR_I32};
}

void kgb_builder__place(struct kgb_builder *b, struct kgb_operation *op)
{
	struct kgb_region *region = b->region;
	struct kgb_arena *arena = &b->program->arena;

	if (b->failed)
		return;
	if (++b->n_placed > KGB_MACHINE_OPERATIONS_MAX) {
		kgb_builder__fail(b, "more than %u operations", KGB_MACHINE_OPERATIONS_MAX);
		return;
	}
	if (region->n_operations == region->cap_operations) {
		uint32_t more = region->cap_operations ? 2 * region->cap_operations : 8;
		struct kgb_operation **moved =
			kgb_arena_array(arena, more, sizeof(struct kgb_operation *));
		if (region->n_operations)
			memcpy(moved, region->operations,
			       region->n_operations * sizeof(struct kgb_operation *));
		region->operations = moved;
		region->cap_operations = more;
	}
	region->operations[region->n_operations++] = op;
	op->region = region;
	op->position = op->end = ++b->position;
	if (b->rule && !(b->rule->flags & KGB_BUILD_LANEWISE))
		for (; region; region = region->outer)
			region->is_narrow = true;
}

static struct kgb_operation *new_operation(struct kgb_builder *b, const char *name, kgb_run_fn run)
{
	struct kgb_operation *op = kgb_arena_alloc(&b->program->arena, sizeof(*op));

	op->name = name;
	op->run = run;
	op->line = b->at ? b->at->line : 0;
	op->kernel_line = b->at ? b->at->kernel_line : 0;
	op->kernel_file =
		op->kernel_line ? kgb_arena_strdup(&b->program->arena, b->at->kernel_file) : "";
	op->cost = 1;
	op->place = b->at ? b->at->place : 0;
	return op;
}

struct kgb_operation *kgb_builder__add_operation(struct kgb_builder *b, const char *name,
						 kgb_run_fn run)
{
	return new_operation(b, name, run);
}

static int pass_moves(struct kgb_execution *x, const struct kgb_operation *op)
{
	(void)op;
	x->thread.moves++;
	return 0;
}

static int pass_barrier(struct kgb_execution *x, const struct kgb_operation *op)
{
	x->thread.barriers++;
	return pass_moves(x, op);
}

void kgb_builder__barrier(struct kgb_builder *b)
{
	kgb_builder__place(b, new_operation(b, b->rule->name, pass_barrier));
}

/* Gives the results of a statement's operation the statement's names. */
static void name_results(struct kgb_builder *b, const struct kgb_operation *op,
			 const struct kgb_ttir_statement *s)
{
	uint32_t nth = 0;

	for (uint32_t i = 0; i < s->n_results && !b->failed; i++) {
		const struct kgb_ttir_result *result = &s->results[i];
		if (nth + result->count > op->n_out) {
			kgb_builder__fail(b, "it has %u results", op->n_out);
			return;
		}
		kgb_builder__name(b, result->name, op->out + nth, result->count);
		nth += result->count;
	}
}

static void build_statement(struct kgb_builder *b, const struct kgb_ttir_statement *s)
{
	const struct kgb_build_rule *rule = b->find_rule(s->name);

	b->at = s;
	b->rule = rule;
	if (!rule) {
		kgb_builder__unsupported(b, "the machine does not execute this operation");
		return;
	}
	if (s->n_operands < rule->least_in || s->n_operands > rule->most_in) {
		kgb_builder__fail(b, "%u operands", s->n_operands);
		return;
	}
	struct kgb_operation *op = new_operation(b, rule->name, rule->run);
	uint32_t *in = kgb_builder__list(b, s->n_operands);
	for (uint32_t i = 0; i < s->n_operands; i++)
		in[i] = kgb_builder__find(b, s->operands[i]);
	op->in = in;
	op->n_in = s->n_operands;
	op->what = rule->what;
	op->is_pure = rule->flags & KGB_BUILD_PURE;
	op->flow = rule->flags & KGB_BUILD_END      ? KGB_FLOW_END
		   : rule->flags & KGB_BUILD_BRANCH ? KGB_FLOW_BRANCH
						    : KGB_FLOW_NEXT;
	if (!b->failed)
		rule->build(b, op, s);
	if (op->run && !op->region)
		kgb_builder__place(b, op);
	op->end = b->position;
	b->at = s;
	b->rule = rule;
	b->note_hints(b, op, s);
	if (rule->flags & KGB_BUILD_BARRIER)
		kgb_builder__barrier(b);
	if (rule->flags & KGB_BUILD_MOVES)
		kgb_builder__place(b, new_operation(b, rule->name, pass_moves));
	name_results(b, op, s);
}

void kgb_builder__statements(struct kgb_builder *b, const struct kgb_ttir_block *block, uint32_t n)
{
	for (uint32_t i = 0; i < n && !b->failed; i++) {
		build_statement(b, block->statements[i]);
		if (!b->failed && b->rule &&
		    (b->rule->flags & (KGB_BUILD_END | KGB_BUILD_BRANCH)) &&
		    i + 1 != block->n_statements)
			kgb_builder__fail(b, "it is not the last of its block");
	}
}

/* ---- regions ---- */

static uint32_t block_index(const struct kgb_ttir_region *text, struct kgb_slice label)
{
	for (uint32_t i = 0; i < text->n_blocks; i++)
		if (kgb_slice_same(text->blocks[i].label, label))
			return i;
	return UINT32_MAX;
}

/* The blocks on every path to a block. */
static void find_dominators(struct kgb_region *region, const struct kgb_ttir_region *text)
{
	const uint64_t all =
		text->n_blocks == 64 ? UINT64_MAX : (UINT64_C(1) << text->n_blocks) - 1;
	bool changed = true;

	for (uint32_t i = 0; i < text->n_blocks; i++)
		region->blocks[i].dominators = i ? all : 1;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < text->n_blocks; i++) {
			const struct kgb_ttir_block *block = &text->blocks[i];
			if (block->n_statements == 0)
				continue;
			const struct kgb_ttir_statement *last =
				block->statements[block->n_statements - 1];
			for (uint32_t k = 0; k < last->n_successors; k++) {
				uint32_t to = block_index(text, last->successors[k].label);
				if (to == UINT32_MAX || to == 0)
					continue;
				uint64_t *of = &region->blocks[to].dominators;
				uint64_t now =
					*of & (region->blocks[i].dominators | UINT64_C(1) << to);
				changed |= now != *of;
				*of = now;
			}
		}
	}
}

static void add_block_arguments(struct kgb_builder *b, struct kgb_region *region, uint32_t index,
				const struct kgb_ttir_block *text, const uint32_t *arguments)
{
	struct kgb_machine_block *block = &region->blocks[index];
	uint32_t *values = kgb_builder__list(b, text->n_arguments);

	region->building = index;
	for (uint32_t i = 0; i < text->n_arguments; i++) {
		values[i] = index == 0 && arguments
				    ? arguments[i]
				    : kgb_builder__add_value(b, &text->arguments[i].type, 0);
	}
	block->arguments = values;
	block->n_arguments = text->n_arguments;
}

struct kgb_region *kgb_builder__region(struct kgb_builder *b, struct kgb_operation *op,
				       const struct kgb_ttir_region *text,
				       const uint32_t *arguments, size_t width)
{
	struct kgb_arena *arena = &b->program->arena;
	struct kgb_region *region = kgb_arena_alloc(arena, sizeof(*region));
	struct kgb_region *outer = b->region;
	const struct kgb_ttir_region *outer_text = b->text;
	const size_t mark = kgb_builder__mark(b);

	b->text = text;
	region->blocks = kgb_arena_array(arena, text->n_blocks + 1, sizeof(*region->blocks));
	region->n_blocks = text->n_blocks;
	region->parent = op;
	region->outer = outer;
	region->width = width;
	find_dominators(region, text);
	b->region = region;
	for (uint32_t i = 0; i < text->n_blocks; i++)
		add_block_arguments(b, region, i, &text->blocks[i], arguments);
	for (uint32_t i = 0; i < text->n_blocks && !b->failed; i++) {
		const struct kgb_ttir_block *block = &text->blocks[i];
		region->building = i;
		region->blocks[i].first = region->n_operations;
		for (uint32_t k = 0; k < block->n_arguments; k++)
			kgb_builder__name(b, block->arguments[k].name,
					  &region->blocks[i].arguments[k], 1);
		kgb_builder__statements(b, block, block->n_statements);
		bool ends = b->rule && b->rule->flags & (KGB_BUILD_END | KGB_BUILD_BRANCH);
		if (text->n_blocks > 1 && (block->n_statements == 0 || !ends))
			kgb_builder__fail(b, "block %u does not end with a branch", i);
	}
	kgb_builder__forget(b, mark);
	b->region = outer;
	b->text = outer_text;
	if (!b->failed)
		kgb_builder__prune(b, region);
	if (op) {
		op->regions[op->n_regions++] = region;
		op->end = b->position;
	}
	return region;
}

struct kgb_region *kgb_builder__region_with_end(struct kgb_builder *b, struct kgb_operation *op,
						const struct kgb_ttir_region *text,
						const uint32_t *arguments, size_t width,
						enum kgb_end end, const uint32_t *expected,
						uint32_t n_expected)
{
	const uint32_t *outer = b->expected, n_outer = b->n_expected;
	const enum kgb_end outer_end = b->expected_end;

	b->expected = expected;
	b->n_expected = n_expected;
	b->expected_end = end;
	struct kgb_region *region = kgb_builder__region(b, op, text, arguments, width);
	b->expected = outer;
	b->n_expected = n_outer;
	b->expected_end = outer_end;
	/* A body without results may lack its yield. */
	bool may_lack = end == KGB_END_YIELD && n_expected == 0;
	const struct kgb_operation *last =
		region->n_operations ? region->operations[region->n_operations - 1] : NULL;
	if (!may_lack && !b->failed && (!last || last->flow == KGB_FLOW_NEXT))
		kgb_builder__fail(b, "a region without an end");
	return region;
}

/* ---- stored axes and plans ---- */

uint32_t kgb_builder__collapsed(const struct kgb_builder *b, const struct kgb_operation *op,
				uint32_t n)
{
	uint32_t collapsed = KGB_COLLAPSED_ALL;

	for (uint32_t k = 0; k < n && k < op->n_in; k++) {
		const struct kgb_value *value = kgb_builder__value(b, op->in[k]);
		if (value->type.rank)
			collapsed &= value->collapsed;
	}
	return collapsed;
}

/* The strides of an operand along the axes of a result, 0 where it is stored once. */
static void strides_of(const struct kgb_value *value, uint32_t *strides)
{
	uint32_t stride = 1;

	for (int i = value->type.rank - 1; i >= 0; i--) {
		strides[i] = value->collapsed >> i & 1 ? 0 : stride;
		if (strides[i])
			stride *= (uint32_t)value->type.shape[i];
	}
}

/* Whether all operands traverse an axis and the next inner one as if they were one axis. */
static bool continues(uint32_t strides[3][KGB_TTIR_RANK_MAX], int axis, const uint32_t *inner,
		      uint32_t inner_size)
{
	for (int k = 0; k < 3; k++)
		if (strides[k][axis] != inner[k] * inner_size)
			return false;
	return true;
}

/* Goes through the axes from the innermost outwards and joins axes that continue each other. */
static void make_plan(struct kgb_plan *plan, const struct kgb_value *const *operands,
		      uint32_t n_operands, const struct kgb_ttir_type *type, uint32_t collapsed)
{
	uint32_t strides[3][KGB_TTIR_RANK_MAX] = {{0}}, sizes[KGB_TTIR_RANK_MAX] = {0};
	uint32_t inner[KGB_TTIR_RANK_MAX][3] = {{0}}, n = 0;

	for (uint32_t k = 0; k < n_operands; k++)
		strides_of(operands[k], strides[k]);
	for (int axis = type->rank - 1; axis >= 0; axis--) {
		uint32_t size = (uint32_t)type->shape[axis];
		if (collapsed >> axis & 1 || size == 1)
			continue;
		if (n && continues(strides, axis, inner[n - 1], sizes[n - 1])) {
			sizes[n - 1] *= size;
			continue;
		}
		for (int k = 0; k < 3; k++)
			inner[n][k] = strides[k][axis];
		sizes[n++] = size;
	}
	memset(plan, 0, sizeof(*plan));
	plan->run = n ? sizes[0] : 1;
	plan->n_runs = 1;
	for (uint32_t k = 0; k < n_operands && n; k++)
		plan->moves |= (unsigned)(inner[0][k] != 0) << k;
	for (uint32_t i = n; i-- > 1;) {
		for (int k = 0; k < 3; k++)
			plan->strides[k][plan->n_axes] = inner[i][k];
		plan->sizes[plan->n_axes++] = sizes[i];
		plan->n_runs *= sizes[i];
	}
}

/* Adds a copy of the value with fewer collapsed axes. */
static uint32_t expand(struct kgb_builder *b, uint32_t value, uint32_t collapsed)
{
	struct kgb_operation *op = kgb_builder__add_operation(b, "expand", kgb_execution__expand);
	struct kgb_plan *plan = kgb_arena_alloc(&b->program->arena, sizeof(*plan));
	const struct kgb_value from = *kgb_builder__value(b, value);
	const struct kgb_value *operands[] = {&from};
	uint32_t *in = kgb_builder__list(b, 1);

	in[0] = value;
	op->in = in;
	op->n_in = 1;
	op->element = from.type.element;
	op->is_pure = true;
	make_plan(plan, operands, 1, &from.type, collapsed);
	op->plan = plan;
	uint32_t out = kgb_builder__result(b, op, &from.type, collapsed);
	kgb_builder__inherit_vector(b, out, value);
	op->cost += b->values.items[out].n_stored / 64;
	kgb_builder__place(b, op);
	return out;
}

uint32_t kgb_builder__dense(struct kgb_builder *b, uint32_t value)
{
	const struct kgb_value *v = kgb_builder__value(b, value);

	return v->n_stored == kgb_ttir_lanes(&v->type) || v->is_wide ? value : expand(b, value, 0);
}

void kgb_builder__dense_in(struct kgb_builder *b, struct kgb_operation *op, uint32_t first)
{
	for (uint32_t k = first; k < op->n_in; k++)
		kgb_builder__set_in(b, op, k, kgb_builder__dense(b, op->in[k]));
}

#define SHORT_RUN 16

void kgb_builder__plan(struct kgb_builder *b, struct kgb_operation *op, uint32_t n_operands,
		       const struct kgb_ttir_type *type, uint32_t collapsed)
{
	struct kgb_plan *plan = kgb_arena_alloc(&b->program->arena, sizeof(*plan));
	const struct kgb_value *operands[3];
	uint32_t n_stored = stored_axes(type, &collapsed);

	op->plan = plan;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t k = 0; k < n_operands; k++) {
			operands[k] = kgb_builder__value(b, op->in[k]);
			op->is_wide |= operands[k]->is_wide;
		}
		if (op->is_wide) {
			plan->n_runs = plan->run = 1;
			for (uint32_t k = 0; k < n_operands; k++)
				plan->moves |= (unsigned)operands[k]->is_wide << k;
			return;
		}
		make_plan(plan, operands, n_operands, type, collapsed);
		if (plan->n_runs == 1 || plan->run >= SHORT_RUN || n_stored <= SHORT_RUN)
			break;
		for (uint32_t k = 0; k < n_operands; k++) {
			const struct kgb_value *value = kgb_builder__value(b, op->in[k]);
			if (value->type.rank && value->collapsed != collapsed)
				kgb_builder__set_in(b, op, k, expand(b, op->in[k], collapsed));
		}
	}
	op->cost += n_stored / 64;
}
