/* SPDX-License-Identifier: MIT */
/* A hostile plan on the CPU: refused with a message, or run within its memory and its fuel. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system/memfd.h"
#include "verify/exec/cpu/run.h"
#include "verify/exec/serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 4096, OUTPUT_BYTES = 64 << 10, PROGRAM_BYTES_MAX = 8 << 20 };
#define MEMORY_BYTES (UINT64_C(1) << 20)
#define FUEL 2000

static struct kgb_cpu_run run;

static void open_once(void)
{
	struct kgb_exec_request request = {
		.arena_bytes = ARENA_BYTES, .output_bytes = OUTPUT_BYTES, .n_slots = 1};
	struct kgb_err err = KGB_ERR_INIT;
	int fds[2] = {-1, -1};

	if (run.arena.bytes)
		return;
	KGB_ASSERT(kgb_memfd_sized("in", ARENA_BYTES, 0, &fds[0], &err) == 0 &&
		   kgb_memfd_sized("out", OUTPUT_BYTES, 0, &fds[1], &err) == 0 &&
		   kgb_exec_arena_set(&run.arena, &request, fds, &err) == 0);
	close(fds[0]);
	close(fds[1]);
	kgb_cpu_memory_init(&run.memory);
	run.memory.limit_bytes = MEMORY_BYTES;
	run.n_threads = 1;
	run.fuel = FUEL;
}

/* Large programs are slow to try. */
static bool is_small(const struct kgb_cpu_plan *plan)
{
	size_t bytes = 0;

	for (size_t i = 0; i < plan->sent.record.n_images; i++)
		if (plan->programs[i])
			bytes += kgb_machine_program_arena_bytes(plan->programs[i]);
	for (size_t i = 0; i < plan->sent.window->n_ops; i++) {
		const struct kgb_op *op = &plan->sent.window->ops[i];
		if (op->kind == KGB_OP_LAUNCH &&
		    (uint64_t)op->launch.grid[0] * op->launch.grid[1] * op->launch.grid[2] > 16)
			return false;
	}
	return bytes < PROGRAM_BYTES_MAX && plan->sent.window->n_ops < 64;
}

static void try_run(const struct kgb_cpu_plan *plan, uint8_t choice)
{
	struct kgb_exec_request request = {
		.op = KGB_EXEC_RUN, .skip = (int32_t)(choice % 4) - 1, .poison = choice};
	struct kgb_cpu_end end = {.op = UINT64_MAX};
	struct kgb_err err = KGB_ERR_INIT;

	if (choice & 16) {
		request.n_ranges = 1;
		request.ranges[0] = (struct kgb_exec_range){KGB_POOL_ADDRESS + choice, choice};
	}
	if (kgb_cpu_run_once(&run, &request, plan, choice & 32 ? plan : NULL, &end, &err) == 0) {
		KGB_ASSERT(end.op == UINT64_MAX && end.fault == KGB_EXEC_FAULT_NONE);
		return;
	}
	KGB_ASSERT(err.msg[0] != '\0' && err.code > KGB_EXEC_OK && err.code < KGB_EXEC_N_STATUSES);
	KGB_ASSERT((err.code == KGB_EXEC_KERNEL_FAULT) == (end.fault != KGB_EXEC_FAULT_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_cpu_plan plan;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t value = UINT64_MAX;
	int fd = -1;

	open_once();
	if (size < 1 || kgb_memfd_of("plan", data + 1, size - 1, &fd, &err) < 0)
		return 0;
	if (kgb_cpu_plan_load(&plan, fd, &value, &err) == 0) {
		if (is_small(&plan))
			try_run(&plan, data[0]);
		kgb_cpu_plan_release(&plan);
	} else {
		KGB_ASSERT(err.msg[0] != '\0' && !plan.sent.bytes);
	}
	close(fd);
	return 0;
}
