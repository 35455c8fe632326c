/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/run.h"

#include "base/mem.h"

/* The number of ops with a progress word: a fault in a later op is not traced to its op. */
#define PROGRESS_OPS 4095u

/* Not all GPUs have streams that wait for memory. On some virtual GPUs only a failed attempt shows
 * it. */
static bool can_wait_value(struct kgb_run *run)
{
	const struct kgb_cuda *cu = run->gpu->cu;
	const CUstream stream = run->gpu->stream;

	run->words[0] = 1;
	return cu->cuStreamWaitValue32(stream, run->words_address, 1, CU_STREAM_WAIT_VALUE_GEQ) ==
		       CUDA_SUCCESS &&
	       cu->cuStreamWriteValue32(stream, run->words_address, 2,
					CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS &&
	       cu->cuStreamSynchronize(stream) == CUDA_SUCCESS && run->words[0] == 2;
}

int kgb_run_open(struct kgb_run *run, struct kgb_gpu *gpu, struct kgb_device_memory *memory,
		 const char *cupti, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	char bus_id[32] = "";
	void *words = NULL;

	*run = (struct kgb_run){.gpu = gpu, .memory = memory, .cupti = cupti};
	if (kgb_gpu_check(gpu,
			  cu->cuMemHostAlloc(&words, (1 + PROGRESS_OPS) * sizeof(uint32_t),
					     CU_MEMHOSTALLOC_DEVICEMAP),
			  KGB_EXEC_NO_MEMORY, err, "pinned memory"))
		return -1;
	run->words = words;
	if (kgb_gpu_check(gpu, cu->cuMemHostGetDevicePointer(&run->words_address, words, 0),
			  KGB_EXEC_UNAVAILABLE, err, "device address of pinned memory") ||
	    kgb_gpu_check(gpu, cu->cuEventCreate(&run->begin, CU_EVENT_DEFAULT), KGB_EXEC_NO_MEMORY,
			  err, "make an event") ||
	    kgb_gpu_check(gpu, cu->cuEventCreate(&run->end, CU_EVENT_DEFAULT), KGB_EXEC_NO_MEMORY,
			  err, "make an event"))
		return -1;
	gpu->can_wait_value = can_wait_value(run);
	if (cu->cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), gpu->device) == CUDA_SUCCESS)
		kgb_clock_open(&run->clock, bus_id);
	return 0;
}

/* The other streams of a plan wait for the work that is on the main stream now. */
static CUresult fork_streams(struct kgb_gpu_plan *plan)
{
	const struct kgb_cuda *cu = plan->gpu->cu;
	CUresult result = CUDA_SUCCESS;

	if (plan->n_streams > 1)
		result = cu->cuEventRecord(plan->joins[0], plan->streams[0]);
	for (size_t i = 1; result == CUDA_SUCCESS && i < plan->n_streams; i++)
		result = cu->cuStreamWaitEvent(plan->streams[i], plan->joins[0], 0);
	return result;
}

/* The main stream waits for all others. */
static CUresult join_streams(struct kgb_gpu_plan *plan)
{
	const struct kgb_cuda *cu = plan->gpu->cu;
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 1; result == CUDA_SUCCESS && i < plan->n_streams; i++) {
		result = cu->cuEventRecord(plan->joins[i], plan->streams[i]);
		if (result == CUDA_SUCCESS)
			result = cu->cuStreamWaitEvent(plan->streams[0], plan->joins[i], 0);
	}
	return result;
}

static CUresult issue_launch(struct kgb_gpu_plan *plan, size_t i, CUstream stream)
{
	const struct kgb_launch *launch = &plan->window->ops[i].launch;
	const struct kgb_gpu_plan_launch *made = &plan->ops[i].launch;
	const CUlaunchConfig config = {
		.gridDimX = launch->grid[0],
		.gridDimY = launch->grid[1],
		.gridDimZ = launch->grid[2],
		.blockDimX = launch->block[0],
		.blockDimY = launch->block[1],
		.blockDimZ = launch->block[2],
		.sharedMemBytes = launch->shared_bytes,
		.hStream = stream,
		.attrs = launch->n_attrs > 0 ? made->attrs : NULL,
		.numAttrs = launch->n_attrs,
	};
	CUresult result = kgb_code_cache_set_carveout(plan->code, made->kernel, launch->carveout);

	return result == CUDA_SUCCESS
		       ? plan->gpu->cu->cuLaunchKernelEx(&config, made->kernel->function,
							 made->pointers, NULL)
		       : result;
}

static CUresult issue_memset(const struct kgb_cuda *cu, const struct kgb_op *op, CUstream stream)
{
	const uint64_t dst = op->memset.dst;
	const uint32_t value = op->memset.value;
	const size_t width = op->memset.width;
	const size_t height = op->memset.height;
	const size_t pitch = op->memset.pitch;
	const bool flat = height == 1;

	switch (op->memset.element_bytes) {
	case 1:
		return flat ? cu->cuMemsetD8Async(dst, (unsigned char)value, width, stream)
			    : cu->cuMemsetD2D8Async(dst, pitch, (unsigned char)value, width, height,
						    stream);
	case 2:
		return flat ? cu->cuMemsetD16Async(dst, (unsigned short)value, width, stream)
			    : cu->cuMemsetD2D16Async(dst, pitch, (unsigned short)value, width,
						     height, stream);
	default:
		return flat ? cu->cuMemsetD32Async(dst, value, width, stream)
			    : cu->cuMemsetD2D32Async(dst, pitch, value, width, height, stream);
	}
}

static CUresult issue_op(struct kgb_gpu_plan *plan, size_t i)
{
	const struct kgb_cuda *cu = plan->gpu->cu;
	const struct kgb_op *op = &plan->window->ops[i];
	const struct kgb_gpu_plan_op *made = &plan->ops[i];
	const CUstream stream = plan->streams[made->stream];
	CUresult result;

	switch (op->kind) {
	case KGB_OP_LAUNCH:
		return issue_launch(plan, i, stream);
	case KGB_OP_MEMSET:
		return issue_memset(cu, op, stream);
	case KGB_OP_COPY:
		return cu->cuMemcpyDtoDAsync(op->copy.dst, op->copy.src, op->copy.bytes, stream);
	case KGB_OP_UPLOAD:
		return made->upload ? cu->cuMemcpyHtoDAsync(op->upload.dst, made->upload,
							    op->upload.bytes, stream)
				    : CUDA_SUCCESS;
	case KGB_OP_DOWNLOAD:
		return cu->cuMemcpyDtoHAsync(plan->pinned + plan->upload_bytes, op->download.src,
					     op->download.bytes, stream);
	case KGB_OP_EVENT_RECORD:
		return cu->cuEventRecord(plan->events.items[made->event].event, stream);
	case KGB_OP_EVENT_WAIT:
		return made->waits ? cu->cuStreamWaitEvent(stream,
							   plan->events.items[made->event].event, 0)
				   : CUDA_SUCCESS;
	case KGB_OP_SYNC:
		/* The candidate's host issued later work only after this wait had ended. */
		result = join_streams(plan);
		return result == CUDA_SUCCESS ? fork_streams(plan) : result;
	case KGB_OP_UNSUPPORTED:
	case KGB_OP_REPLACES:
	case KGB_N_OP_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

/* Put no mark between two launches with programmatic serialization: it would prevent their
 * overlap. */
static CUresult mark(struct kgb_run *run, struct kgb_gpu_plan *plan, size_t i)
{
	const struct kgb_window *window = plan->window;
	const struct kgb_op *next = i + 1 < window->n_ops ? &window->ops[i + 1] : NULL;

	if (i >= PROGRESS_OPS || !run->gpu->can_wait_value ||
	    (next && next->kind == KGB_OP_LAUNCH &&
	     kgb_launch_has(&next->launch, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)))
		return CUDA_SUCCESS;
	return run->gpu->cu->cuStreamWriteValue32(plan->streams[plan->ops[i].stream],
						  run->words_address + (1 + i) * sizeof(uint32_t),
						  1, CU_STREAM_WRITE_VALUE_DEFAULT);
}

int kgb_run_issue(struct kgb_run *run, struct kgb_gpu_plan *plan, int32_t skip, bool progress,
		  struct kgb_err *err)
{
	CUresult result = fork_streams(plan);

	for (size_t i = 0; result == CUDA_SUCCESS && i < plan->window->n_ops; i++) {
		if (skip >= 0 && i == (size_t)skip)
			continue;
		result = issue_op(plan, i);
		if (result == CUDA_SUCCESS && progress)
			result = mark(run, plan, i);
		if (kgb_gpu_check(run->gpu, result, KGB_EXEC_BAD_PLAN, err, "op %zu (%s)", i,
				  kgb_op_kind_name(plan->window->ops[i].kind)))
			return -1;
	}
	if (result == CUDA_SUCCESS)
		result = join_streams(plan);
	return kgb_gpu_check(run->gpu, result, KGB_EXEC_BAD_PLAN, err, "streams of a plan");
}

int kgb_run_prologue(struct kgb_run *run, struct kgb_gpu_plan *prologue, struct kgb_err *err)
{
	if (kgb_device_memory_clear(run->memory, err))
		return -1;
	return kgb_run_issue(run, prologue, -1, false, err);
}

int kgb_run_begin(struct kgb_run *run, const struct kgb_exec_request *request,
		  const struct kgb_gpu_plan *plan, const struct kgb_gpu_plan *prologue,
		  struct kgb_exec_layout *out, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans blocks = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans memory = KGB_SPANS_INIT;
	const struct kgb_exec_run_names names = {.arena = &run->memory->set->given,
						 .plan = &plan->sent,
						 .prologue = prologue ? &prologue->sent : NULL,
						 .memory = &memory};

	kgb_device_memory_spans(run->memory, &memory);
	if (kgb_exec_check_run(request, &names, out, err))
		return -1;
	kgb_spans_put_all(&blocks, &plan->sent.blocks);
	if (prologue)
		kgb_spans_put_all(&blocks, &prologue->sent.blocks);
	kgb_spans_normalize(&blocks);
	return kgb_device_memory_set_slack(run->memory, &blocks, err);
}

static int wait_stream(struct kgb_run *run, const char *what, struct kgb_err *err)
{
	return kgb_gpu_check(run->gpu, run->gpu->cu->cuStreamSynchronize(run->gpu->stream),
			     KGB_EXEC_GPU_FAULT, err, "%s", what);
}

/* Names the first op without a mark of its end, and its kernel, in *err. */
static void blame(struct kgb_run *run, const struct kgb_gpu_plan *plan, int32_t skip,
		  uint64_t *value, struct kgb_err *err)
{
	size_t i = 0;

	if (!run->gpu->can_wait_value)
		return;
	/* A mark that was left out counts as set if a later one of the same stream is set. */
	for (size_t k = 0; k < plan->window->n_ops && k < PROGRESS_OPS; k++)
		if (run->words[1 + k])
			i = k + 1;
	if (i < plan->window->n_ops && skip >= 0 && i == (size_t)skip)
		i++;
	if (i >= plan->window->n_ops || i >= PROGRESS_OPS)
		return;
	*value = i;
	const struct kgb_op *op = &plan->window->ops[i];
	if (op->kind == KGB_OP_LAUNCH)
		(void)kgb_ctx(err, "op %zu (launch of '%.100s')", i, op->launch.kernel);
	else
		(void)kgb_ctx(err, "op %zu (%s)", i, kgb_op_kind_name(op->kind));
}

/* Poison, prologue, input, the plan itself. */
static int run_ops(struct kgb_run *run, const struct kgb_exec_request *request,
		   struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue, uint64_t *value,
		   struct kgb_err *err)
{
	if (kgb_device_memory_poison(run->memory, request->poison, err))
		return -1;
	if (prologue && (kgb_run_prologue(run, prologue, err) || wait_stream(run, "prologue", err)))
		return -1;
	if (kgb_device_memory_load_once(run->memory, request->slot, err) ||
	    wait_stream(run, "input", err))
		return -1;
	for (size_t i = 0; i <= PROGRESS_OPS; i++)
		run->words[i] = 0;
	if (kgb_run_issue(run, plan, request->skip, true, err) == 0 &&
	    wait_stream(run, "run", err) == 0)
		return 0;
	if (err->code == KGB_EXEC_GPU_FAULT)
		blame(run, plan, request->skip, value, err);
	return -1;
}

int kgb_run_end(struct kgb_run *run, const struct kgb_exec_request *request,
		const struct kgb_exec_layout *layout, uint64_t *value, struct kgb_err *err)
{
	struct kgb_err ignored = KGB_ERR_INIT;
	const int status = kgb_device_memory_slack_found(run->memory, value, err);

	if (status && err->code != KGB_EXEC_SLACK)
		return -1;
	if (kgb_device_memory_bring_back(run->memory, request, layout->ranges,
					 status ? &ignored : err))
		return -1;
	return status;
}

int kgb_run_once(struct kgb_run *run, const struct kgb_exec_request *request,
		 struct kgb_gpu_plan *plan, struct kgb_gpu_plan *prologue, uint64_t *value,
		 struct kgb_err *err)
{
	struct kgb_exec_layout layout;

	if (kgb_run_begin(run, request, plan, prologue, &layout, err) ||
	    run_ops(run, request, plan, prologue, value, err) ||
	    kgb_device_memory_check_slack(run->memory, request->poison, err))
		return -1;
	return kgb_run_end(run, request, &layout, value, err);
}
