/* SPDX-License-Identifier: MIT */
#include "verify/exec/cpu/run.h"

#include "base/hash.h"
#include "base/mem.h"
#include "verify/exec/cpu/move.h"
#include "verify/exec/serve.h"
#include "verify/machine/slots.h"

#define OUTSIDE_FUEL (INT64_C(1) << 22) /* about 0.1 s */

static enum kgb_exec_fault fault_of(enum kgb_machine_fault_kind kind)
{
	static const enum kgb_exec_fault faults[] = {
		[KGB_MACHINE_NO_FAULT] = KGB_EXEC_FAULT_NONE,
		[KGB_MACHINE_FAULT_ACCESS] = KGB_EXEC_FAULT_ACCESS,
		[KGB_MACHINE_FAULT_READ_ONLY] = KGB_EXEC_FAULT_INPUT,
		[KGB_MACHINE_FAULT_ALIGNMENT] = KGB_EXEC_FAULT_ALIGNMENT,
		[KGB_MACHINE_FAULT_CLAIM] = KGB_EXEC_FAULT_CLAIM,
		[KGB_MACHINE_FAULT_RACE] = KGB_EXEC_FAULT_RACE,
		[KGB_MACHINE_FAULT_INDEX] = KGB_EXEC_FAULT_INDEX,
		[KGB_MACHINE_FAULT_ASSERT] = KGB_EXEC_FAULT_ASSERT,
		[KGB_MACHINE_FAULT_FUEL] = KGB_EXEC_FAULT_FUEL,
		[KGB_MACHINE_FAULT_HINT] = KGB_EXEC_FAULT_HINT,
	};
	_Static_assert(KGB_ARRAY_LEN(faults) == KGB_N_MACHINE_FAULTS, "one row per fault");

	return faults[kind];
}

/* Check for races, unless the log of accesses exceeds its cap. */
static int run_program(const struct kgb_machine_program *program, struct kgb_machine_launch *launch,
		       struct kgb_machine_fault *fault, struct kgb_err *err)
{
	launch->finds_races = true;
	if (kgb_machine_run(program, launch, fault, err) == 0)
		return 0;
	if (err->kind != KGB_ERR_LIMIT)
		return -1;
	*err = (struct kgb_err)KGB_ERR_INIT;
	launch->finds_races = false;
	return kgb_machine_run(program, launch, fault, err);
}

static int launch_kernel(const struct kgb_cpu_run *run, const struct kgb_machine_program *program,
			 const struct kgb_launch *op, uint8_t *outcomes, uint64_t seed,
			 struct kgb_cpu_end *end, struct kgb_err *err)
{
	struct kgb_machine_slots slots = KGB_MACHINE_SLOTS_INIT;
	struct kgb_machine_fault fault = {.kind = KGB_MACHINE_NO_FAULT};

	if (kgb_machine_slots_read(&slots, program, op->params, op->params_bytes, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	struct kgb_machine_launch launch = {
		.buffers = run->memory.buffers,
		.n_buffers = (uint32_t)run->memory.n_buffers,
		.arguments = slots.arguments,
		.n_arguments = kgb_machine_program_n_arguments(program),
		.grid = {op->grid[0], op->grid[1], op->grid[2]},
		.seed = seed,
		.n_threads = run->n_threads,
		.has_warps = op->block[0] > KGB_MACHINE_WARP,
		.fuel = run->is_outside ? OUTSIDE_FUEL : run->fuel,
		.outcomes = outcomes,
	};
	const int status = run_program(program, &launch, &fault, err);
	kgb_machine_slots_release(&slots);
	if (status == 0)
		return 0;
	end->fault = fault_of(fault.kind);
	if (end->fault == KGB_EXEC_FAULT_NONE)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	if (end->fault == KGB_EXEC_FAULT_ACCESS || end->fault == KGB_EXEC_FAULT_INPUT)
		(void)kgb_ctx(err, "access to 0x%llx", (unsigned long long)fault.address);
	return kgb_exec_refuse(err, KGB_EXEC_KERNEL_FAULT);
}

/* Torch and the host may not write to read-only memory either. */
static int check_destination(const struct kgb_cpu_run *run, const struct kgb_op_range *destination,
			     struct kgb_cpu_end *end, struct kgb_err *err)
{
	if (!kgb_spans_touch(&run->arena.inputs, destination->address, destination->bytes))
		return 0;
	end->fault = KGB_EXEC_FAULT_INPUT;
	return kgb_exec_fail(
		err, KGB_EXEC_KERNEL_FAULT, "written, but read only: %llu bytes at 0x%llx",
		(unsigned long long)destination->bytes, (unsigned long long)destination->address);
}

static int run_torch_move(const struct kgb_cpu_run *run, const struct kgb_launch *launch,
			  struct kgb_cpu_end *end, struct kgb_err *err)
{
	struct kgb_op_range ranges[KGB_OP_RANGES_MAX];
	struct kgb_torch_move move;

	if (kgb_torch_move_parse(launch, &move, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	if (kgb_torch_move_ranges(&move, ranges) > 0 &&
	    check_destination(run, &ranges[0], end, err) < 0)
		return -1;
	return kgb_cpu_torch_move(&run->memory, &move, err);
}

static int run_move(const struct kgb_cpu_run *run, const struct kgb_op *op, struct kgb_cpu_end *end,
		    struct kgb_err *err)
{
	struct kgb_op_range ranges[KGB_OP_RANGES_MAX];

	if (kgb_op_ranges(op, ranges) > 0 && check_destination(run, &ranges[0], end, err) < 0)
		return -1;
	kgb_cpu_move(&run->memory, op);
	return 0;
}

static int run_launch(const struct kgb_cpu_run *run, const struct kgb_cpu_plan *plan,
		      const struct kgb_launch *launch, uint64_t seed, struct kgb_cpu_end *end,
		      struct kgb_err *err)
{
	const struct kgb_machine_program *program = kgb_cpu_plan_program(plan, launch);

	return program ? launch_kernel(
				 run, program, launch,
				 run->notes_conditions
					 ? kgb_cpu_plan_outcomes(plan, launch, run->is_outside)
					 : NULL,
				 seed, end, err)
		       : run_torch_move(run, launch, end, err);
}

/* Run in the host's order, which satisfies all events and waits. */
static int run_op(const struct kgb_cpu_run *run, const struct kgb_cpu_plan *plan,
		  const struct kgb_op *op, uint64_t seed, struct kgb_cpu_end *end,
		  struct kgb_err *err)
{
	switch (op->kind) {
	case KGB_OP_LAUNCH:
		return run_launch(run, plan, &op->launch, seed, end, err);
	case KGB_OP_MEMSET:
	case KGB_OP_COPY:
	case KGB_OP_UPLOAD:
		return run_move(run, op, end, err);
	case KGB_OP_DOWNLOAD:
	case KGB_OP_EVENT_RECORD:
	case KGB_OP_EVENT_WAIT:
	case KGB_OP_SYNC:
		return 0;
	case KGB_OP_UNSUPPORTED:
	case KGB_OP_REPLACES:
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

static int run_ops(const struct kgb_cpu_run *run, const struct kgb_cpu_plan *plan, int32_t skip,
		   uint64_t seed, struct kgb_cpu_end *end, struct kgb_err *err)
{
	const struct kgb_window *window = plan->sent.window;

	for (size_t i = 0; i < window->n_ops; i++) {
		const struct kgb_op *op = &window->ops[i];
		if (skip >= 0 && i == (size_t)skip)
			continue;
		if (run_op(run, plan, op, kgb_mix64(seed + i), end, err) == 0)
			continue;
		end->op = i;
		if (op->kind == KGB_OP_LAUNCH)
			return kgb_ctx(err, "op %zu (launch of '%.100s')", i, op->launch.kernel);
		return kgb_ctx(err, "op %zu (%s)", i, kgb_op_kind_name(op->kind));
	}
	return 0;
}

/* Clear the images first: the plan must not depend on work of the prologue on the plan's input. */
static int run_prologue(struct kgb_cpu_run *run, const struct kgb_cpu_plan *prologue, uint64_t seed,
			struct kgb_cpu_end *end, struct kgb_err *err)
{
	for (size_t i = 0; i < run->arena.parts.n; i++) {
		const struct kgb_span *part = &run->arena.parts.items[i];
		memset(kgb_cpu_memory_at(&run->memory, part->start, part->bytes), 0, part->bytes);
	}
	if (run_ops(run, prologue, -1, seed, end, err) == 0)
		return 0;
	end->op = UINT64_MAX;
	return kgb_ctx(err, "prologue");
}

static void load_image(struct kgb_cpu_run *run, uint32_t slot)
{
	const char *image = kgb_exec_arena_image(&run->arena, slot);

	for (size_t i = 0; i < run->arena.parts.n; i++) {
		const struct kgb_span *part = &run->arena.parts.items[i];
		memcpy(kgb_cpu_memory_at(&run->memory, part->start, part->bytes),
		       image + kgb_arena_offset(part->start), part->bytes);
	}
}

/* Make the read-only parts of the arena read-only, after the prologue, which may write there. */
static void protect_inputs(struct kgb_cpu_run *run)
{
	for (size_t i = 0; i < run->memory.n_buffers; i++) {
		struct kgb_machine_buffer *buffer = &run->memory.buffers[i];
		buffer->is_writable =
			!kgb_spans_hold(&run->arena.inputs, buffer->address, buffer->bytes);
	}
}

static void bring_back(struct kgb_cpu_run *run, const struct kgb_exec_request *request,
		       const struct kgb_exec_layout *layout)
{
	const bool whole = !(request->flags & KGB_EXEC_WITHOUT_ARENA);

	for (size_t i = 0; whole && i < run->arena.parts.n; i++) {
		const struct kgb_span *part = &run->arena.parts.items[i];
		memcpy(run->arena.output + kgb_arena_offset(part->start),
		       kgb_cpu_memory_at(&run->memory, part->start, part->bytes), part->bytes);
	}
	for (uint32_t i = 0; i < request->n_ranges; i++) {
		const struct kgb_exec_range *range = &request->ranges[i];
		memcpy(run->arena.output + layout->ranges[i],
		       kgb_cpu_memory_at(&run->memory, range->address, range->bytes), range->bytes);
	}
}

static int lay_memory(struct kgb_cpu_run *run, const struct kgb_exec_request *request,
		      const struct kgb_cpu_plan *plan, const struct kgb_cpu_plan *prologue,
		      struct kgb_exec_layout *layout, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans all = KGB_SPANS_INIT;
	const struct kgb_exec_run_names names = {.arena = &run->arena,
						 .plan = &plan->sent,
						 .prologue = prologue ? &prologue->sent : NULL,
						 .memory = &all};

	kgb_spans_put_all(&all, &run->arena.parts);
	kgb_spans_put_all(&all, &plan->sent.blocks);
	if (prologue)
		kgb_spans_put_all(&all, &prologue->sent.blocks);
	kgb_spans_normalize(&all);
	if (kgb_exec_check_run(request, &names, layout, err) < 0)
		return -1;
	return kgb_cpu_memory_lay(&run->memory, &all, err);
}

int kgb_cpu_run_once(struct kgb_cpu_run *run, const struct kgb_exec_request *request,
		     const struct kgb_cpu_plan *plan, const struct kgb_cpu_plan *prologue,
		     struct kgb_cpu_end *end, struct kgb_err *err)
{
	const uint64_t seed = kgb_mix64(request->poison);
	struct kgb_exec_layout layout;

	if (lay_memory(run, request, plan, prologue, &layout, err) < 0)
		return -1;
	run->notes_conditions = run->is_outside = false;
	/* Images fill the rest. */
	kgb_cpu_memory_poison(&run->memory, &plan->sent.blocks, request->poison);
	if (prologue)
		kgb_cpu_memory_poison(&run->memory, &prologue->sent.blocks, request->poison);
	if (prologue && run_prologue(run, prologue, kgb_mix64(seed), end, err) < 0)
		return -1;
	load_image(run, request->slot);
	protect_inputs(run);
	run->notes_conditions = request->skip < 0;
	run->is_outside = request->flags & KGB_EXEC_OUTSIDE;
	if (run_ops(run, plan, request->skip, seed, end, err) < 0)
		return -1;
	bring_back(run, request, &layout);
	return 0;
}
