/* SPDX-License-Identifier: MIT */
#include "verify/program/reach.h"

/* A search for lanes takes as long as the region. With a condition that only padding makes true,
 * each program of a large case would be searched in vain: so a thread searches the first regions of
 * a launch, and of the others one in so many. */
enum { SEARCHES = 64 };

void kgb_reach__init(struct kgb_reach *reach, const struct kgb_machine_program *program,
		     uint8_t *const *at)
{
	reach->program = program;
	reach->at = at;
	if (reach->outcomes)
		reach->lanes = kgb_xcalloc(program->reach_bytes + 1, 1);
}

void kgb_reach__release(struct kgb_reach *reach)
{
	kgb_free(reach->lanes);
}

/* ---- lanes that reach memory ---- */

static const struct kgb_value *root_of(const struct kgb_reach *reach, uint32_t value)
{
	return &reach->program->values[reach->program->values[value].root];
}

/* Of a value that follows from an open condition: a byte for each of its stored elements. NULL: any
 * other value. */
static uint8_t *lanes_of(const struct kgb_reach *reach, uint32_t value)
{
	const struct kgb_value *root = root_of(reach, value);

	return root->follows & reach->open ? reach->lanes + root->reach : NULL;
}

static void set_all(const struct kgb_reach *reach, const uint32_t *values, uint32_t n, uint8_t to)
{
	for (uint32_t k = 0; k < n; k++)
		if (lanes_of(reach, values[k]))
			memset(lanes_of(reach, values[k]), to, root_of(reach, values[k])->n_stored);
}

/* Marks the lanes of operand k in a run. `result`: those of the run's result that reach memory;
 * NULL: all. */
static void mark_run(const struct kgb_reach *reach, const struct kgb_operation *op, uint32_t k,
		     const struct kgb_plan_cursor *runs, const uint8_t *result)
{
	const struct kgb_plan *plan = op->plan;
	const size_t step =
		kgb_operation__is(op, "tt.trans") ? (size_t)op->number[0] : plan->moves >> k & 1;
	const bool is_open = op->open >> k & 1, has_gate = is_open || op->shut >> k & 1;
	const size_t gate_step = plan->moves >> op->gate_operand & 1;
	const uint8_t *gate = NULL;
	uint8_t *to = lanes_of(reach, op->in[k]);

	if (!to)
		return;
	to += runs->offset[k];
	if (op->gate && has_gate)
		gate = reach->at[op->gate] + runs->offset[op->gate_operand];
	for (size_t i = 0; i < plan->run; i++)
		to[i * step] |= (!result || result[i]) && (!gate || gate[i * gate_step] == is_open);
}

static void mark_runs(const struct kgb_reach *reach, const struct kgb_operation *op)
{
	const uint8_t *result = op->has_effect ? NULL : lanes_of(reach, op->out[0]);
	struct kgb_plan_cursor runs = {.plan = op->plan};

	for (; runs.i < op->plan->n_runs; kgb_plan_cursor__next(&runs)) {
		for (uint32_t k = 0; k < op->n_in; k++)
			mark_run(reach, op, k, &runs, result);
		if (result)
			result += op->plan->run;
	}
}

/* A lane of a reduction's result follows from all lanes along the axis (set_axis). */
static void mark_axis(const struct kgb_reach *reach, const struct kgb_operation *op, uint32_t in,
		      uint32_t out)
{
	const size_t inner = (size_t)op->number[1], row = (size_t)op->number[0] * inner;
	const uint8_t *result = lanes_of(reach, out);
	uint8_t *to = lanes_of(reach, in);

	KGB_ASSERT(row > 0 && result);
	for (size_t i = 0; to && i < root_of(reach, in)->n_stored; i++)
		to[i] |= result[i / row * inner + i % inner];
}

static bool has_reaching_result(const struct kgb_reach *reach, const struct kgb_operation *op)
{
	for (uint32_t k = 0; k < op->n_out; k++)
		if (memchr(lanes_of(reach, op->out[k]), 1, root_of(reach, op->out[k])->n_stored))
			return true;
	return false;
}

/* ---- outcomes ---- */

/* The place of a lane in a value's elements. The lane is the i-th stored one of `of`, which stores
 * at least the axes that the value stores. */
static size_t place_of(const struct kgb_value *value, const struct kgb_value *of, size_t i)
{
	size_t place = 0, stride = 1;

	for (int axis = of->type.rank; axis-- > 0;) {
		const size_t size = of->collapsed >> axis & 1 ? 1 : (size_t)of->type.shape[axis];
		if (!(value->collapsed >> axis & 1)) {
			place += i % size * stride;
			stride *= (size_t)value->type.shape[axis];
		}
		i /= size;
	}
	return place;
}

/* Lanes, `most` at most, in which a condition had an outcome and that no mask of a load excludes.
 * `reaching`: only these lanes; NULL: all. */
static uint32_t count_lanes(const struct kgb_reach *reach, const struct kgb_operation *op,
			    uint8_t outcome, size_t n, const uint8_t *reaching, uint32_t most)
{
	const struct kgb_value *values = reach->program->values;
	const uint8_t *lanes = reach->at[op->out[0]];
	uint32_t counted = 0;

	for (const uint8_t *at = lanes; counted < most; at++) {
		at = memchr(at, outcome, (size_t)(lanes + n - at));
		if (!at)
			break;
		const size_t i = (size_t)(at - lanes);
		bool counts = !reaching || reaching[i];
		for (uint32_t k = 0; k < op->n_guards && counts; k++)
			counts = reach->at[op->guards[k]][place_of(&values[op->guards[k]],
								   &values[op->out[0]], i)];
		counted += counts;
	}
	return counted;
}

/* What is known of a condition, and what a run adds to it. */
struct outcomes {
	uint8_t bits; /* KGB_OUTCOME_* */
	uint32_t lanes;
};

static struct outcomes unpack(uint8_t byte)
{
	return (struct outcomes){.bits = byte & (KGB_OUTCOME_TRUE | KGB_OUTCOME_FALSE),
				 .lanes = byte >> KGB_OUTCOME_BITS};
}

/* The outcomes of a condition that it lacked so far, and lanes, until there are enough. Nothing of
 * one that lacks none. */
static struct outcomes find_new(const struct kgb_reach *reach, const struct kgb_operation *op,
				size_t n, const uint8_t *reaching)
{
	const uint8_t bits[] = {KGB_OUTCOME_FALSE, KGB_OUTCOME_TRUE};
	const struct outcomes before =
		unpack(__atomic_load_n(&reach->outcomes[op->condition - 1], __ATOMIC_RELAXED));
	struct outcomes found = {0};

	if (before.bits == (KGB_OUTCOME_TRUE | KGB_OUTCOME_FALSE))
		return found;
	for (uint8_t outcome = 0; outcome < 2; outcome++) {
		const uint32_t left = KGB_OUTCOME_LANES_MAX - before.lanes;
		const uint32_t most = left == 0 && !(before.bits & bits[outcome]) ? 1 : left;
		const uint32_t lanes = count_lanes(reach, op, outcome, n, reaching, most);
		found.bits |= lanes > 0 ? bits[outcome] : 0;
		found.lanes += lanes;
	}
	return found;
}

static void note(const struct kgb_reach *reach, const struct kgb_operation *op,
		 struct outcomes found)
{
	uint8_t *at = &reach->outcomes[op->condition - 1];
	uint8_t old = __atomic_load_n(at, __ATOMIC_RELAXED), new;

	if (found.lanes == 0)
		return;
	do {
		const struct outcomes before = unpack(old);
		const uint32_t lanes = before.lanes + found.lanes;
		new = (uint8_t)(before.bits | found.bits |
				(lanes < KGB_OUTCOME_LANES_MAX ? lanes : KGB_OUTCOME_LANES_MAX)
					<< KGB_OUTCOME_BITS);
	} while (!__atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

void kgb_reach__see(struct kgb_reach *reach, const struct kgb_operation *op, size_t width)
{
	const size_t n = op->is_wide ? width : reach->program->values[op->out[0]].n_stored;
	const struct outcomes found = find_new(reach, op, n, NULL);

	if (op->region->is_blurred)
		note(reach, op, found);
	else if (found.lanes > 0)
		reach->open |= kgb_condition__bit(op->condition);
}

/* ---- regions that have run ---- */

/* Marks the lanes of operands from which the operation's effect, or marked lanes of its results,
 * follow. */
static void mark(const struct kgb_reach *reach, const struct kgb_operation *op)
{
	const bool is_blurred = op->region->is_blurred;

	if (op->plan && !is_blurred) {
		mark_runs(reach, op);
	} else if (kgb_operation__is(op, "tt.reduce") && !is_blurred) {
		for (uint32_t k = 0; k < op->n_in * op->n_out; k++)
			mark_axis(reach, op, op->in[k / op->n_out], op->out[k % op->n_out]);
	} else if (op->has_effect || is_blurred || has_reaching_result(reach, op)) {
		set_all(reach, op->in, op->n_in, 1);
	}
}

static uint64_t leave_block(const struct kgb_reach *reach, const struct kgb_region *region,
			    uint32_t first, uint32_t end);

/* The results of an scf.if are what the branch that ran ends with. */
static uint64_t leave_branch(const struct kgb_reach *reach, const struct kgb_operation *op)
{
	const uint32_t ran = *reach->at[op->in[0]] ? 0 : 1;

	if (ran >= op->n_regions)
		return 0;
	const struct kgb_region *branch = op->regions[ran];
	for (uint32_t i = 0; i < op->n_out; i++) {
		const uint32_t from = branch->operations[branch->n_operations - 1]->in[i];
		const uint8_t *result = lanes_of(reach, op->out[i]);
		uint8_t *to = lanes_of(reach, from);
		for (size_t k = 0; to && k < root_of(reach, from)->n_stored; k++)
			to[k] |= result[k];
	}
	return leave_block(reach, branch, 0, branch->n_operations);
}

/* Goes through the operations from the one before `end` back to the first. Returns the conditions
 * among them. */
static uint64_t leave_block(const struct kgb_reach *reach, const struct kgb_region *region,
			    uint32_t first, uint32_t end)
{
	uint64_t noted = 0;

	for (uint32_t i = end; i-- > first;) {
		const struct kgb_operation *op = region->operations[i];
		if (!(op->follows & reach->open))
			continue;
		if (op->condition && lanes_of(reach, op->out[0])) {
			const size_t n = reach->program->values[op->out[0]].n_stored;
			note(reach, op, find_new(reach, op, n, lanes_of(reach, op->out[0])));
			noted |= kgb_condition__bit(op->condition);
		}
		if (op->flow != KGB_FLOW_END || !region->is_branch)
			mark(reach, op);
		if (op->n_regions > 0 && op->regions[0]->is_branch)
			noted |= leave_branch(reach, op);
		set_all(reach, op->out, op->n_out, 0);
	}
	return noted;
}

void kgb_reach__leave(struct kgb_reach *reach, const struct kgb_region *region, uint64_t blocks)
{
	uint32_t end = region->n_operations;
	uint64_t noted = 0;

	if (region->is_branch || !(region->follows & reach->open))
		return;
	const uint32_t number = reach->n_searches++;
	if (number >= SEARCHES && number % SEARCHES > 0) {
		reach->open = 0;
		return;
	}
	for (uint32_t k = region->n_blocks; k-- > 0; end = region->blocks[k].first)
		if (blocks >> k & 1)
			noted |= leave_block(reach, region, region->blocks[k].first, end);
	reach->open &= ~noted | KGB_CONDITIONS_SHARED;
}
