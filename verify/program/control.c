/* SPDX-License-Identifier: MIT */
#include "verify/program/control.h"
#include "verify/program/hints.h"

#define MISSED_MAX 15 /* rounds of a loop whose stores an early load misses, at most */

/* ---- ends of regions ---- */

static void check_values(struct kgb_builder *b, const uint32_t *in, uint32_t n,
			 const uint32_t *expected, uint32_t n_expected)
{
	char name[KGB_TTIR_TYPE_NAME_LEN], other[KGB_TTIR_TYPE_NAME_LEN];

	if (n != n_expected) {
		kgb_builder__fail(b, "%u values where %u are expected", n, n_expected);
		return;
	}
	for (uint32_t k = 0; k < n; k++) {
		const struct kgb_ttir_type *type = kgb_builder__type(b, in[k]);
		struct kgb_ttir_type want = *kgb_builder__type(b, expected[k]);
		if (b->expected_end == KGB_END_MAP)
			want.rank = 0;
		if (!kgb_ttir_same_type(type, &want))
			kgb_builder__fail(b, "%s where %s is expected",
					  kgb_ttir_type_name(type, name),
					  kgb_ttir_type_name(&want, other));
	}
}

KGB_BUILD(kgb_yield_build)
{
	const uint32_t first = b->rule->what == KGB_END_CONDITION;

	(void)s;
	if (b->rule->what != b->expected_end) {
		kgb_builder__fail(b, "it does not end this region");
		return;
	}
	if (first) {
		const struct kgb_ttir_type *condition = kgb_builder__type(b, op->in[0]);
		if (condition->rank || condition->element != KGB_TTIR_I1)
			kgb_builder__fail(b, "a condition of i1 expected");
	}
	if (!b->failed)
		check_values(b, op->in + first, op->n_in - first, b->expected, b->n_expected);
	kgb_builder__dense_in(b, op, first);
}

KGB_BUILD(kgb_return_build)
{
	const struct kgb_operation *parent = b->region->parent;

	(void)s;
	if (b->expected_end != KGB_END_RETURN || (parent && parent->run != kgb_call_run)) {
		kgb_builder__fail(b, "it does not end a function");
		return;
	}
	check_values(b, op->in, op->n_in, b->expected, b->n_expected);
	kgb_builder__dense_in(b, op, 0);
}

KGB_RUN(kgb_end_run)
{
	x->last = op;
	return 0;
}

/* ---- branches between the blocks of a region ---- */

static void build_successor(struct kgb_builder *b, struct kgb_operation *op,
			    const struct kgb_ttir_successor *successor, uint32_t index,
			    const struct kgb_ttir_region *text)
{
	uint32_t to = 0;

	for (to = 1; to < text->n_blocks; to++) {
		if (kgb_slice_same(text->blocks[to].label, successor->label))
			break;
	}
	if (to >= text->n_blocks) {
		kgb_builder__fail(b, "unknown block");
		return;
	}
	const struct kgb_machine_block *block = &b->region->blocks[to];
	op->successors[index] = to;
	op->successor_in[index] = successor->first_operand;
	if (to <= b->region->building) {
		b->region->has_loop = true;
		b->program->may_wait |= b->program->has_atomic;
	}
	check_values(b, op->in + successor->first_operand, successor->n_operands, block->arguments,
		     block->n_arguments);
}

KGB_BUILD(kgb_branch_build)
{
	const bool is_conditional = b->rule->what;
	const enum kgb_end end = b->expected_end;

	if (s->n_successors != (is_conditional ? 2 : 1)) {
		kgb_builder__fail(b, "%u successors", s->n_successors);
		return;
	}
	if (is_conditional) {
		const struct kgb_ttir_type *condition = kgb_builder__type(b, op->in[0]);
		if (condition->rank || condition->element != KGB_TTIR_I1)
			kgb_builder__fail(b, "a condition of i1 expected");
	}
	b->expected_end = KGB_END_YIELD; /* a block's arguments have separate types */
	for (uint32_t k = 0; k < s->n_successors && !b->failed; k++)
		build_successor(b, op, &s->successors[k], k, b->text);
	b->expected_end = end;
	kgb_builder__dense_in(b, op, is_conditional);
}

KGB_RUN(kgb_branch_run)
{
	const bool second = op->what && !*x->at[op->in[0]];
	const struct kgb_machine_block *block = &op->region->blocks[op->successors[second]];

	kgb_execution__move(x, block->arguments, op->in + op->successor_in[second],
			    block->n_arguments);
	x->next_block = op->successors[second];
	return 0;
}

/* ---- loops ---- */

/* Adds values of the arguments' types that are needed as long as an operation. */
static uint32_t *add_carried(struct kgb_builder *b, const struct kgb_operation *op,
			     const struct kgb_ttir_argument *arguments, uint32_t n)
{
	uint32_t *values = kgb_builder__list(b, n);

	for (uint32_t i = 0; i < n; i++) {
		values[i] = kgb_builder__add_value(b, &arguments[i].type, 0);
		if (arguments[i].type.element == KGB_TTIR_DESCRIPTOR)
			kgb_builder__unsupported(b, "a descriptor that a loop carries");
		if (b->failed)
			return values;
		b->values.items[values[i]].first = op->position;
	}
	return values;
}

/* Results that share the storage of the loop's carried values. */
static void add_results(struct kgb_builder *b, struct kgb_operation *op, const uint32_t *carried,
			uint32_t n)
{
	uint32_t *out = kgb_builder__list(b, n);

	for (uint32_t i = 0; i < n; i++) {
		const struct kgb_value value = *kgb_builder__value(b, carried[i]);
		out[i] = kgb_builder__add_view(b, carried[i], &value.type, value.collapsed);
	}
	op->out = out;
	op->n_out = n;
}

/* Checks that the result types of a loop's statement are the types of the values that it carries.
 */
static bool same_as_results(struct kgb_builder *b, const struct kgb_ttir_statement *s,
			    const struct kgb_ttir_argument *arguments, uint32_t n)
{
	bool same = s->n_out_types == n;

	for (uint32_t i = 0; same && i < n; i++)
		same = kgb_ttir_same_type(&s->out_types[i], &arguments[i].type);
	if (!same)
		kgb_builder__fail(b, "its results are not what it carries");
	return same;
}

/* ---- loads ahead of their round ---- With tl.range(num_stages=n), a GPU executes a load of an
 * innermost loop n - 1 rounds early, after the stores of that earlier round. So the load misses the
 * stores of the n - 2 rounds before its own round. Triton 3.9 compiles so, for compute capability
 * 9.0, loads of at least 4 bytes that are in the body itself and whose result an operation of the
 * body uses. It does not if the body has a barrier; bodies with products follow other rules. */

/* Whether a region has a loop or a call, which may contain a loop, or a barrier, or a product. */
static bool has_one_stage(const struct kgb_region *region)
{
	bool has = region->n_blocks > 1;

	for (uint32_t i = 0; !has && i < region->n_operations; i++) {
		const struct kgb_operation *op = region->operations[i];
		has = op->run == kgb_for_run || op->run == kgb_while_run ||
		      op->run == kgb_call_run || kgb_operation__is(op, "gpu.barrier") ||
		      kgb_operation__is(op, "ttg.barrier") || kgb_operation__is(op, "tt.dot");
		for (uint32_t k = 0; op->run == kgb_if_run && !has && k < op->n_regions; k++)
			has = has_one_stage(op->regions[k]);
	}
	return has;
}

static bool is_used(const struct kgb_builder *b, const struct kgb_region *region, uint32_t value)
{
	const uint32_t root = kgb_builder__value(b, value)->root;

	for (uint32_t i = 0; i + 1 < region->n_operations; i++)
		for (uint32_t k = 0; k < region->operations[i]->n_in; k++)
			if (kgb_builder__value(b, region->operations[i]->in[k])->root == root)
				return true;
	return false;
}

/* number[1]: rounds whose stores early loads miss. */
static void note_stages(struct kgb_builder *b, struct kgb_operation *op,
			const struct kgb_ttir_statement *s)
{
	const struct kgb_region *region = op->regions[0];
	const int64_t missed = kgb_ttir_integer(s, "tt.num_stages", 0) - 2;

	if (b->failed || missed <= 0 || has_one_stage(region))
		return;
	op->number[1] = missed < MISSED_MAX ? missed : MISSED_MAX;
	for (uint32_t i = 0; i < region->n_operations; i++) {
		struct kgb_operation *load = region->operations[i];
		if (kgb_operation__is(load, "tt.load") && load->n_out == 1 &&
		    kgb_ttir_element_size((enum kgb_ttir_element)load->element) >= 4)
			load->is_early = is_used(b, region, load->out[0]);
	}
}

KGB_BUILD(kgb_for_build)
{
	const struct kgb_ttir_block *text = s->n_regions == 1 ? &s->regions[0].blocks[0] : NULL;

	if (!text || s->regions[0].n_blocks != 1 || text->n_arguments != op->n_in - 2) {
		kgb_builder__fail(b, "one block with its arguments expected");
		return;
	}
	for (uint32_t k = 0; k < 3; k++)
		if (!kgb_ttir_same_type(kgb_builder__type(b, op->in[k]), &text->arguments[0].type))
			kgb_builder__fail(b, "bounds of another type");
	if (text->arguments[0].type.rank ||
	    !kgb_ttir_is_integer((enum kgb_ttir_element)text->arguments[0].type.element))
		kgb_builder__fail(b, "bounds that are not integers");
	op->element = text->arguments[0].type.element;
	op->number[0] = kgb_ttir_has_word(s, "unsigned");
	kgb_builder__dense_in(b, op, 3);
	if (b->failed || !same_as_results(b, s, text->arguments + 1, op->n_in - 3))
		return;
	kgb_builder__place(b, op);
	const uint32_t *carried = add_carried(b, op, text->arguments, text->n_arguments);
	if (b->failed)
		return;
	for (uint32_t i = 0; i < op->n_in - 3; i++)
		if (!kgb_ttir_same_type(kgb_builder__type(b, op->in[3 + i]),
					kgb_builder__type(b, carried[1 + i])))
			kgb_builder__fail(b, "initial values of other types");
	add_results(b, op, carried + 1, op->n_in - 3);
	for (uint32_t i = 0; i < op->n_out && !b->failed; i++) {
		kgb_builder__inherit_vector(b, carried[1 + i], op->in[3 + i]);
		kgb_builder__inherit_vector(b, op->out[i], carried[1 + i]);
	}
	const struct kgb_region *region = kgb_builder__region_with_end(
		b, op, &s->regions[0], carried, 0, KGB_END_YIELD, carried + 1, op->n_in - 3);
	for (uint32_t i = 0; i < op->n_out && !b->failed; i++)
		kgb_hints__meet(b, carried[1 + i],
				region->operations[region->n_operations - 1]->in[i]);
	note_stages(b, op, s);
}

KGB_RUN(kgb_for_run)
{
	const struct kgb_region *region = op->regions[0];
	const uint32_t *arguments = region->blocks[0].arguments;
	const size_t size = kgb_ttir_element_size((enum kgb_ttir_element)op->element);
	int64_t i = kgb_execution__integer(x, op->in[0]);
	const int64_t end = kgb_execution__integer(x, op->in[1]);
	const int64_t step = kgb_execution__integer(x, op->in[2]);
	const uint64_t unused = 64 - 8 * size;
	const uint64_t u_end = (uint64_t)end << unused;
	const size_t n_seen = (size_t)op->number[1] + 1;
	uint32_t stores[MISSED_MAX + 1]; /* number of stores before this round and the last ones */

	KGB_ASSERT(n_seen > 0 && n_seen <= KGB_ARRAY_LEN(stores));
	if (step <= 0)
		return kgb_execution__fault(x, op, KGB_MACHINE_FAULT_INDEX, "step %lld",
					    (long long)step);
	kgb_execution__move(x, arguments + 1, op->in + 3, op->n_in - 3);
	for (size_t k = 0; k < n_seen; k++)
		stores[k] = x->thread.stores;
	for (size_t k = 0; op->number[0] ? (uint64_t)i << unused < u_end : i < end; k++) {
		stores[k % n_seen] = x->thread.stores;
		x->thread.found = stores[(k + 1) % n_seen];
		memcpy(x->at[arguments[0]], &i, size);
		if (kgb_execution__round(x, op) < 0 || kgb_execution__region(x, region) < 0)
			return -1;
		if (op->n_out)
			kgb_execution__move(x, arguments + 1, x->last->in, op->n_out);
		if (__builtin_add_overflow(i, step, &i))
			break;
	}
	return 0;
}

KGB_BUILD(kgb_while_build)
{
	if (s->n_regions != 2 || s->regions[0].n_blocks != 1 || s->regions[1].n_blocks != 1) {
		kgb_builder__fail(b, "two blocks expected");
		return;
	}
	const struct kgb_ttir_block *before = &s->regions[0].blocks[0];
	const struct kgb_ttir_block *after = &s->regions[1].blocks[0];
	if (before->n_arguments != op->n_in ||
	    !same_as_results(b, s, after->arguments, after->n_arguments)) {
		kgb_builder__fail(b, "its results are not what it carries");
		return;
	}
	kgb_builder__dense_in(b, op, 0);
	kgb_builder__place(b, op);
	const uint32_t *first = add_carried(b, op, before->arguments, before->n_arguments);
	const uint32_t *second = add_carried(b, op, after->arguments, after->n_arguments);
	if (b->failed)
		return;
	for (uint32_t i = 0; i < op->n_in; i++)
		if (!kgb_ttir_same_type(kgb_builder__type(b, op->in[i]),
					kgb_builder__type(b, first[i])))
			kgb_builder__fail(b, "initial values of other types");
	add_results(b, op, second, after->n_arguments);
	b->n_loops++;
	(void)kgb_builder__region_with_end(b, op, &s->regions[0], first, 0, KGB_END_CONDITION,
					   second, after->n_arguments);
	(void)kgb_builder__region_with_end(b, op, &s->regions[1], second, 0, KGB_END_YIELD, first,
					   before->n_arguments);
	b->n_loops--;
}

KGB_RUN(kgb_while_run)
{
	const struct kgb_machine_block *before = &op->regions[0]->blocks[0];
	const struct kgb_machine_block *after = &op->regions[1]->blocks[0];

	kgb_execution__move(x, before->arguments, op->in, before->n_arguments);
	for (;;) {
		if (kgb_execution__round(x, op) < 0 || kgb_execution__region(x, op->regions[0]) < 0)
			return -1;
		const struct kgb_operation *condition = x->last;
		const bool goes_on = *x->at[condition->in[0]];
		kgb_execution__move(x, after->arguments, condition->in + 1, after->n_arguments);
		if (!goes_on)
			return 0;
		if (kgb_execution__region(x, op->regions[1]) < 0)
			return -1;
		if (before->n_arguments)
			kgb_execution__move(x, before->arguments, x->last->in, before->n_arguments);
	}
}

/* ---- conditions ---- */

KGB_BUILD(kgb_if_build)
{
	const struct kgb_ttir_type *condition = kgb_builder__type(b, op->in[0]);
	uint32_t *out = kgb_builder__list(b, s->n_out_types);

	if (condition->rank || condition->element != KGB_TTIR_I1 || s->n_regions == 0 ||
	    (s->n_out_types && s->n_regions != 2)) {
		kgb_builder__fail(b, "a condition of i1, and a region for each case expected");
		return;
	}
	for (uint32_t i = 0; i < s->n_out_types; i++) {
		if (s->out_types[i].element == KGB_TTIR_DESCRIPTOR)
			kgb_builder__unsupported(b, "a descriptor that depends on a condition");
		out[i] = kgb_builder__add_value(b, &s->out_types[i], 0);
	}
	op->out = out;
	op->n_out = s->n_out_types;
	kgb_builder__place(b, op);
	for (uint32_t k = 0; k < s->n_regions && !b->failed; k++) {
		if (s->regions[k].n_blocks != 1 || s->regions[k].blocks[0].n_arguments)
			kgb_builder__fail(b, "one block without arguments expected");
		else
			(void)kgb_builder__region_with_end(b, op, &s->regions[k], NULL, 0,
							   KGB_END_YIELD, out, op->n_out);
	}
}

KGB_RUN(kgb_if_run)
{
	const uint32_t k = *x->at[op->in[0]] ? 0 : 1;

	if (k >= op->n_regions)
		return 0;
	if (kgb_execution__region(x, op->regions[k]) < 0)
		return -1;
	if (op->n_out)
		kgb_execution__move(x, op->out, x->last->in, op->n_out);
	return 0;
}

/* ---- calls: a straight function is expanded in place, any other one becomes a region ---- */

static const struct kgb_ttir_function *find_function(struct kgb_builder *b, struct kgb_slice name)
{
	for (uint32_t i = 0; i < b->module->n_functions; i++) {
		const struct kgb_ttir_function *f = &b->module->functions[i];
		if (kgb_slice_same(f->name, name))
			return f;
	}
	kgb_builder__unsupported(b, "unknown function '%.*s'", (int)(name.n < 100 ? name.n : 100),
				 name.s);
	return NULL;
}

/* A function that ends with its first block. The front end adds an unreachable block after every
 * return, which is not read. */
static bool is_straight(const struct kgb_ttir_function *f)
{
	const struct kgb_ttir_block *block = &f->body.blocks[0];
	const uint32_t n = block->n_statements;

	return f->body.n_blocks == 1 ||
	       (n > 0 && kgb_slice_is(block->statements[n - 1]->name, "tt.return"));
}

/* Adds the statements of a straight function; the operands of its return become the results. */
static void expand_call(struct kgb_builder *b, struct kgb_operation *op,
			const struct kgb_ttir_function *f)
{
	const struct kgb_ttir_block *block = &f->body.blocks[0];
	const struct kgb_ttir_statement *call = b->at;

	if (block->n_statements == 0) {
		kgb_builder__fail(b, "a function without a return");
		return;
	}
	const struct kgb_ttir_statement *last = block->statements[block->n_statements - 1];
	kgb_builder__statements(b, block, block->n_statements - 1);
	if (b->failed)
		return;
	b->at = last;
	if (!kgb_slice_is(last->name, "tt.return") || last->n_operands != f->n_results)
		kgb_builder__fail(b, "a return of the function's results expected");
	uint32_t *out = kgb_builder__list(b, f->n_results);
	for (uint32_t i = 0; i < f->n_results && !b->failed; i++) {
		out[i] = kgb_builder__find(b, last->operands[i]);
		if (!kgb_ttir_same_type(kgb_builder__type(b, out[i]), &f->results[i]))
			kgb_builder__fail(b, "a result of another type");
	}
	b->at = call;
	op->run = NULL;
	op->out = out;
	op->n_out = b->failed ? 0 : f->n_results;
}

static void region_call(struct kgb_builder *b, struct kgb_operation *op,
			const struct kgb_ttir_function *f)
{
	uint32_t *out = kgb_builder__list(b, f->n_results);

	for (uint32_t i = 0; i < f->n_results; i++)
		out[i] = kgb_builder__add_value(b, &f->results[i], 0);
	op->out = out;
	op->n_out = f->n_results;
	kgb_builder__place(b, op);
	if (!b->failed)
		(void)kgb_builder__region_with_end(b, op, &f->body, op->in, 0, KGB_END_RETURN, out,
						   f->n_results);
}

KGB_BUILD(kgb_call_build)
{
	const struct kgb_ttir_function *f = find_function(b, s->symbol);
	const size_t scope = b->scope, mark = kgb_builder__mark(b);
	const struct kgb_build_rule *rule = b->rule;

	if (!f)
		return;
	bool fits = f->arguments.n_arguments == op->n_in;
	for (uint32_t k = 0; fits && k < op->n_in; k++)
		fits = kgb_ttir_same_type(kgb_builder__type(b, op->in[k]),
					  &f->arguments.arguments[k].type);
	if (!fits || ++b->n_calls > KGB_MACHINE_CALLS_MAX) {
		kgb_builder__fail(b, fits ? "more than 32 calls in each other"
					  : "arguments that do not fit the function");
		return;
	}
	b->scope = mark;
	for (uint32_t k = 0; k < op->n_in; k++)
		kgb_builder__name(b, f->arguments.arguments[k].name, &op->in[k], 1);
	if (is_straight(f))
		expand_call(b, op, f);
	else
		region_call(b, op, f);
	kgb_builder__forget(b, mark);
	b->scope = scope;
	b->rule = rule;
	b->n_calls--;
}

KGB_RUN(kgb_call_run)
{
	if (kgb_execution__region(x, op->regions[0]) < 0)
		return -1;
	kgb_execution__move(x, op->out, x->last->in, op->n_out);
	return 0;
}

/* ---- assertions ---- */

KGB_BUILD(kgb_assert_build)
{
	const struct kgb_ttir_type *condition = kgb_builder__type(b, op->in[0]);

	if (condition->element != KGB_TTIR_I1) {
		kgb_builder__fail(b, "a condition of i1 expected");
		return;
	}
	size_t n = s->text.n < 120 ? s->text.n : 120;
	op->text = n ? kgb_arena_strndup(&b->program->arena, s->text.s, n) : "";
}

KGB_RUN(kgb_assert_run)
{
	const struct kgb_value *value = kgb_execution__value(x, op->in[0]);
	const size_t n = value->is_wide ? x->width : value->n_stored;

	for (size_t i = 0; i < n; i++)
		if (!x->at[op->in[0]][i])
			return kgb_execution__fault(x, op, KGB_MACHINE_FAULT_ASSERT,
						    "it does not hold: %s", op->text);
	return 0;
}

KGB_BUILD(kgb_nothing_build)
{
	(void)b;
	(void)s;
	op->run = NULL;
}
