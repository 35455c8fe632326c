/* SPDX-License-Identifier: MIT */
#include "verify/exec/cpu/device.h"

#include "base/mem.h"
#include "verify/exec/cpu/run.h"
#include "verify/exec/serve.h"

#define NAME "the machine for Triton's IR"

struct device {
	struct kgb_cpu_run run;
	struct kgb_cpu_plan plans[KGB_EXEC_PLANS_MAX];
	struct kgb_conditions conditions; /* of plans that are gone, too */
};

static void release_plan(struct device *device, struct kgb_cpu_plan *plan)
{
	kgb_cpu_plan_add_conditions(plan, &device->conditions);
	kgb_cpu_plan_release(plan);
}

static int forget(struct device *device)
{
	for (size_t i = 0; i < KGB_EXEC_PLANS_MAX; i++)
		release_plan(device, &device->plans[i]);
	kgb_cpu_memory_forget(&device->run.memory);
	return 0;
}

static void reset(struct device *device)
{
	(void)forget(device);
	kgb_conditions_release(&device->conditions);
	kgb_cpu_memory_release(&device->run.memory);
	kgb_exec_arena_release(&device->run.arena);
}

static int open_device(struct device *device, const struct kgb_exec_request *request,
		       struct kgb_exec_reply *reply, struct kgb_err *err)
{
	if (request->device != 0)
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "no CPU %u", request->device);
	reset(device);
	kgb_cpu_memory_init(&device->run.memory);
	(void)snprintf(reply->machine.name, sizeof(reply->machine.name), NAME);
	reply->machine.memory_bytes = device->run.memory.limit_bytes;
	(void)snprintf(err->msg, sizeof(err->msg), NAME);
	return 0;
}

static int make_plan(struct device *device, const struct kgb_exec_request *request, int fd,
		     struct kgb_exec_reply *reply, struct kgb_err *err)
{
	struct kgb_cpu_plan *plan = &device->plans[request->plan];
	uint64_t op = UINT64_MAX;

	release_plan(device, plan);
	if (kgb_cpu_plan_load(plan, fd, &op, err) < 0) {
		reply->value = op;
		return -1;
	}
	reply->value = kgb_spans_total(&plan->sent.blocks);
	return 0;
}

/* The plan of that number; NULL with *err when there is none. */
static const struct kgb_cpu_plan *find_plan(const struct device *device, uint32_t number,
					    struct kgb_err *err)
{
	if (device->plans[number].sent.bytes)
		return &device->plans[number];
	(void)kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "no plan %u", number);
	return NULL;
}

static int run(struct device *device, const struct kgb_exec_request *request,
	       struct kgb_exec_reply *reply, struct kgb_err *err)
{
	const struct kgb_cpu_plan *plan = find_plan(device, request->plan, err);
	const struct kgb_cpu_plan *prologue = NULL;
	struct kgb_cpu_end end = {.op = UINT64_MAX};

	if (!plan)
		return -1;
	if (request->prologue != KGB_EXEC_NO_PLAN) {
		prologue = find_plan(device, request->prologue, err);
		if (!prologue)
			return -1;
	}
	if (kgb_cpu_run_once(&device->run, request, plan, prologue, &end, err) == 0)
		return 0;
	reply->value = end.op;
	reply->device_error = (uint32_t)end.fault;
	return -1;
}

static int give_conditions(struct device *device, struct kgb_exec_reply *reply, struct kgb_err *err)
{
	const struct kgb_exec_arena *arena = &device->run.arena;
	struct kgb_conditions *conditions = &device->conditions;

	if (arena->bytes == 0)
		return kgb_exec_fail(err, KGB_EXEC_BAD_REQUEST, "there is no arena");
	for (size_t i = 0; i < KGB_EXEC_PLANS_MAX; i++)
		kgb_cpu_plan_add_conditions(&device->plans[i], conditions);
	kgb_conditions_unite(conditions);
	const size_t bytes = conditions->n * sizeof(*conditions->items);
	if (conditions->n > KGB_EXEC_CONDITIONS_MAX || bytes > arena->output_bytes)
		return kgb_exec_fail(err, KGB_EXEC_NO_MEMORY, "%zu conditions of kernels",
				     conditions->n);
	if (bytes > 0)
		memcpy(arena->output, conditions->items, bytes);
	for (size_t i = 0; i < conditions->n; i++)
		conditions->items[i].lanes = 0;
	reply->value = conditions->n;
	return 0;
}

static int carry_out(void *payload, const struct kgb_exec_request *request, const int *fds,
		     struct kgb_exec_reply *reply, struct kgb_err *err)
{
	struct device *device = payload;

	switch ((enum kgb_exec_op)request->op) {
	case KGB_EXEC_OPEN:
		return open_device(device, request, reply, err);
	case KGB_EXEC_ARENA:
		if (request->n_turned > 0)
			return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "only a GPU turns images");
		return kgb_exec_arena_set(&device->run.arena, request, fds, err);
	case KGB_EXEC_PLAN:
		return make_plan(device, request, fds[0], reply, err);
	case KGB_EXEC_RUN:
		return run(device, request, reply, err);
	case KGB_EXEC_CONDITIONS:
		return give_conditions(device, reply, err);
	case KGB_EXEC_FORGET:
		return forget(device);
	case KGB_EXEC_SELECT:
	case KGB_EXEC_PLACE:
	case KGB_EXEC_LOAD:
	case KGB_EXEC_TIME:
	case KGB_EXEC_MEASURE:
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE,
				     "the machine for Triton's IR measures no times");
	case KGB_EXEC_N_OPS:
		break;
	}
	KGB_UNREACHABLE();
}

int kgb_exec_serve_cpu(int n_threads)
{
	KGB_AUTO(free) struct device *device = kgb_xcalloc(1, sizeof(*device));

	device->run.n_threads = n_threads;
	const int status = kgb_exec_serve("kgb-exec-cpu", carry_out, device);
	reset(device);
	return status;
}
