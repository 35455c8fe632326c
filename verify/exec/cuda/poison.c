/* SPDX-License-Identifier: MIT */
/** \file
 * Memory that no plan should read or write: poison, the check of it, the flush of the caches.
 */
#include "base/mem.h"
#include "verify/exec/cuda/kernels.h"
#include "verify/exec/cuda/memory.h"

enum { GRID_Y_MAX = 65535, BLOCKS_PER_SM = 8 };

/* The bytes are copied away before this returns: they are not in pinned memory. */
static enum kgb_exec_status put_table(struct kgb_memory *memory, struct kgb_span_table *table,
				      const struct kgb_spans *spans, struct kgb_err *err)
{
	const size_t bytes = spans->n * sizeof(spans->items[0]);
	enum kgb_exec_status status;

	table->n = spans->n;
	if (bytes == 0)
		return KGB_EXEC_OK;
	status = kgb_gpu_buffer_reserve(memory->gpu, &table->buffer, bytes, err);
	return status ? status
		      : kgb_gpu_check(memory->gpu,
				      memory->gpu->cu->cuMemcpyHtoDAsync(table->buffer.address,
									 spans->items, bytes,
									 memory->gpu->stream),
				      KGB_EXEC_BAD_PLAN, err, "table of %zu spans", spans->n);
}

static enum kgb_exec_status launch(struct kgb_gpu *gpu, CUfunction function, unsigned int grid_x,
				   unsigned int grid_y, unsigned int shared_bytes, void **params,
				   struct kgb_err *err)
{
	const CUlaunchConfig config = {
		.gridDimX = grid_x,
		.gridDimY = grid_y,
		.gridDimZ = 1,
		.blockDimX = KGB_KERNEL_THREADS,
		.blockDimY = 1,
		.blockDimZ = 1,
		.sharedMemBytes = shared_bytes,
		.hStream = gpu->stream,
	};

	return kgb_gpu_check(gpu, gpu->cu->cuLaunchKernelEx(&config, function, params, NULL),
			     KGB_EXEC_UNAVAILABLE, err, "launch our own kernel");
}

/* One of our kernels over all spans of a table; few spans share the whole GPU, many get a block or
 * more each. */
static enum kgb_exec_status over_table(struct kgb_gpu *gpu, CUfunction function,
				       const struct kgb_span_table *table, uint64_t seed,
				       CUdeviceptr found, struct kgb_err *err)
{
	const unsigned int all = (unsigned int)gpu->n_sms * BLOCKS_PER_SM;

	for (size_t done = 0; done < table->n; done += GRID_Y_MAX) {
		const size_t left = table->n - done;
		const unsigned int rows = left < GRID_Y_MAX ? (unsigned int)left : GRID_Y_MAX;
		CUdeviceptr spans = table->buffer.address + done * sizeof(struct kgb_span);
		void *params[] = {&spans, &seed, &found};
		enum kgb_exec_status status =
			launch(gpu, function, (all + rows - 1) / rows + 1, rows, 0, params, err);
		if (status)
			return status;
	}
	return KGB_EXEC_OK;
}

/* Parts of the arena without the pieces of 16 bytes at both ends that others share: poison goes
 * there too, and images are loaded afterwards. */
static void inner_parts(const struct kgb_memory *memory, struct kgb_spans *out)
{
	for (size_t i = 0; i < memory->parts.n; i++) {
		const struct kgb_span *part = &memory->parts.items[i];
		const uint64_t start = (part->start + 15) & ~UINT64_C(15);
		const uint64_t end = (part->start + part->bytes) & ~UINT64_C(15);
		if (end > start)
			kgb_spans_put(out, start, end - start);
	}
	kgb_spans_normalize(out);
}

static enum kgb_exec_status make_poisoned_table(struct kgb_memory *memory, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans inner = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;

	if (memory->poisoned_valid)
		return KGB_EXEC_OK;
	inner_parts(memory, &inner);
	kgb_spans_subtract(&memory->arena.pages, &inner, &spans);
	kgb_spans_put_all(&spans, &memory->blocks.pages);
	kgb_spans_normalize(&spans);
	enum kgb_exec_status status = put_table(memory, &memory->poisoned, &spans, err);
	memory->poisoned_valid = status == KGB_EXEC_OK;
	return status;
}

enum kgb_exec_status kgb_memory_poison(struct kgb_memory *memory, uint64_t seed,
				       struct kgb_err *err)
{
	struct kgb_gpu *gpu = memory->gpu;
	unsigned int shared_bytes = (unsigned int)gpu->shared_bytes_max;
	void *params[] = {&seed, &shared_bytes};
	enum kgb_exec_status status = make_poisoned_table(memory, err);

	/* A block that takes all shared memory is alone on its multiprocessor: one for each. */
	if (!status)
		status = launch(gpu, gpu->scrub, (unsigned int)gpu->n_sms, 1, shared_bytes, params,
				err);
	return status ? status : over_table(gpu, gpu->fill, &memory->poisoned, seed, 0, err);
}

enum kgb_exec_status kgb_memory_flush(struct kgb_memory *memory, uint64_t bytes, uint64_t seed,
				      struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;
	enum kgb_exec_status status = KGB_EXEC_OK;

	if (bytes == 0)
		return KGB_EXEC_OK;
	bytes = (bytes + KGB_GPU_PAGE - 1) & ~(KGB_GPU_PAGE - 1);
	if (memory->flush_bytes != bytes) {
		memory->flush_bytes = 0;
		status = kgb_gpu_buffer_reserve(memory->gpu, &memory->flushed, bytes, err);
		if (status)
			return status;
		kgb_spans_put(&spans, memory->flushed.address, bytes);
		status = put_table(memory, &memory->flush, &spans, err);
		if (status)
			return status;
		memory->flush_bytes = bytes;
	}
	status = over_table(memory->gpu, memory->gpu->fill, &memory->flush, seed, 0, err);
	return status ? status
		      : over_table(memory->gpu, memory->gpu->check, &memory->flush, seed,
				   memory->found.address, err);
}

enum kgb_exec_status kgb_memory_set_slack(struct kgb_memory *memory, const struct kgb_spans *blocks,
					  struct kgb_err *err)
{
	const struct kgb_found nothing = {.lowest = UINT64_MAX};
	KGB_AUTO(spans) struct kgb_spans all = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans used = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans slack = KGB_SPANS_INIT;
	enum kgb_exec_status status;

	kgb_spans_put_all(&all, &memory->blocks.pages);
	kgb_spans_put_all(&all, &memory->arena.pages);
	kgb_spans_normalize(&all);
	kgb_spans_put_all(&used, blocks);
	kgb_spans_put_all(&used, &memory->parts);
	kgb_spans_normalize(&used);
	kgb_spans_subtract(&all, &used, &slack);
	status = put_table(memory, &memory->slack, &slack, err);
	return status ? status
		      : kgb_gpu_check(memory->gpu,
				      memory->gpu->cu->cuMemcpyHtoDAsync(memory->found.address,
									 &nothing, sizeof(nothing),
									 memory->gpu->stream),
				      KGB_EXEC_UNAVAILABLE, err, "clear the count");
}

enum kgb_exec_status kgb_memory_check_slack(struct kgb_memory *memory, uint64_t seed,
					    struct kgb_err *err)
{
	return over_table(memory->gpu, memory->gpu->check, &memory->slack, seed,
			  memory->found.address, err);
}

enum kgb_exec_status kgb_memory_slack_found(struct kgb_memory *memory, uint64_t *out_address,
					    struct kgb_err *err)
{
	const struct kgb_cuda *cu = memory->gpu->cu;
	struct kgb_found found = {0};
	enum kgb_exec_status status;

	status = kgb_gpu_check(memory->gpu, cu->cuStreamSynchronize(memory->gpu->stream),
			       KGB_EXEC_GPU_FAULT, err, "check of slack");
	if (!status)
		status = kgb_gpu_check(
			memory->gpu, cu->cuMemcpyDtoH(&found, memory->found.address, sizeof(found)),
			KGB_EXEC_GPU_FAULT, err, "read the count");
	if (status || found.n_words == 0)
		return status;
	*out_address = found.lowest;
	return kgb_exec_fail(err, KGB_EXEC_SLACK,
			     "%llu words outside of all blocks were written, the first at 0x%llx",
			     (unsigned long long)found.n_words, (unsigned long long)found.lowest);
}
