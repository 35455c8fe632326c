/* SPDX-License-Identifier: MIT */
/** \file
 * Memory outside of plans: poison, the check of it, the flush of the caches. */
#include "base/mem.h"
#include "verify/exec/cuda/kernels.h"
#include "verify/exec/cuda/memory.h"

enum { GRID_Y_MAX = 65535, BLOCKS_PER_SM = 8 };

/* Copies to the device on the main stream; `from` may change afterwards: it is not pinned memory.
 */
static int upload(struct kgb_device_memory *memory, CUdeviceptr to, const void *from, size_t bytes,
		  struct kgb_err *err)
{
	return kgb_gpu_check(
		memory->gpu,
		memory->gpu->cu->cuMemcpyHtoDAsync(to, from, bytes, memory->gpu->stream),
		KGB_EXEC_UNAVAILABLE, err, "copy %zu bytes to the GPU", bytes);
}

static int put_table(struct kgb_device_memory *memory, struct kgb_span_table *table,
		     const struct kgb_spans *spans, struct kgb_err *err)
{
	const size_t bytes = spans->n * sizeof(spans->items[0]);

	table->n = spans->n;
	if (bytes == 0)
		return 0;
	if (kgb_gpu_buffer_reserve(memory->gpu, &table->buffer, bytes, err))
		return -1;
	return upload(memory, table->buffer.address, spans->items, bytes, err);
}

/* Run one of our kernels over all spans of a table. The blocks of a whole GPU are divided among the
 * spans; each span gets at least one. */
static int over_table(struct kgb_device_memory *memory, CUfunction function,
		      const struct kgb_span_table *table, uint64_t seed, struct kgb_err *err)
{
	const unsigned int all = (unsigned int)memory->gpu->n_sms * BLOCKS_PER_SM;

	for (size_t done = 0; done < table->n; done += GRID_Y_MAX) {
		const size_t left = table->n - done;
		const unsigned int rows = left < GRID_Y_MAX ? (unsigned int)left : GRID_Y_MAX;
		CUdeviceptr spans = table->buffer.address + done * sizeof(struct kgb_span);
		void *params[] = {&spans, &seed, &memory->found.address}; /* fill has no third */
		if (kgb_gpu_launch(memory->gpu, function, (all + rows - 1) / rows + 1, rows, 0,
				   params, err))
			return -1;
	}
	return 0;
}

/* The parts of the arena, without pieces of 16 bytes at their ends that they share with other
 * memory. Poison fills such pieces, and images are loaded afterwards. */
static void inner_parts(const struct kgb_device_memory *memory, struct kgb_spans *out)
{
	for (size_t i = 0; i < memory->set->given.parts.n; i++) {
		const struct kgb_span *part = &memory->set->given.parts.items[i];
		const uint64_t start = (part->start + 15) & ~UINT64_C(15);
		const uint64_t end = (part->start + part->bytes) & ~UINT64_C(15);
		if (end > start)
			kgb_spans_put(out, start, end - start);
	}
	kgb_spans_normalize(out);
}

static int make_poisoned_table(struct kgb_device_memory *memory, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans inner = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;

	if (memory->poisoned_valid)
		return 0;
	inner_parts(memory, &inner);
	kgb_spans_subtract(&memory->arena.pages, &inner, &spans);
	kgb_spans_put_all(&spans, &memory->blocks.pages);
	kgb_spans_normalize(&spans);
	if (put_table(memory, &memory->poisoned, &spans, err))
		return -1;
	memory->poisoned_valid = true;
	return 0;
}

int kgb_device_memory_poison(struct kgb_device_memory *memory, uint64_t seed, struct kgb_err *err)
{
	struct kgb_gpu *gpu = memory->gpu;
	unsigned int shared_bytes = (unsigned int)gpu->shared_bytes_max;
	void *params[] = {&seed, &shared_bytes};

	if (make_poisoned_table(memory, err))
		return -1;
	/* A block that takes all shared memory has a multiprocessor to itself: launch one for each.
	 */
	if (kgb_gpu_launch(gpu, gpu->scrub, (unsigned int)gpu->n_sms, 1, shared_bytes, params, err))
		return -1;
	return over_table(memory, gpu->fill, &memory->poisoned, seed, err);
}

int kgb_device_memory_flush(struct kgb_device_memory *memory, uint64_t bytes, uint64_t seed,
			    struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;

	if (bytes == 0)
		return 0;
	bytes = (bytes + KGB_GPU_PAGE - 1) & ~(KGB_GPU_PAGE - 1);
	if (memory->flush_bytes != bytes) {
		memory->flush_bytes = 0;
		if (kgb_gpu_buffer_reserve(memory->gpu, &memory->flushed, bytes, err))
			return -1;
		kgb_spans_put(&spans, memory->flushed.address, bytes);
		if (put_table(memory, &memory->flush, &spans, err))
			return -1;
		memory->flush_bytes = bytes;
	}
	if (over_table(memory, memory->gpu->fill, &memory->flush, seed, err))
		return -1;
	return over_table(memory, memory->gpu->check, &memory->flush, seed, err);
}

int kgb_device_memory_set_slack(struct kgb_device_memory *memory, const struct kgb_spans *blocks,
				struct kgb_err *err)
{
	const struct kgb_found nothing = {.lowest = UINT64_MAX};
	KGB_AUTO(spans) struct kgb_spans all = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans used = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans slack = KGB_SPANS_INIT;

	kgb_spans_put_all(&all, &memory->blocks.pages);
	kgb_spans_put_all(&all, &memory->arena.pages);
	kgb_spans_normalize(&all);
	kgb_spans_put_all(&used, blocks);
	kgb_spans_put_all(&used, &memory->set->given.parts);
	kgb_spans_normalize(&used);
	kgb_spans_subtract(&all, &used, &slack);
	if (put_table(memory, &memory->slack, &slack, err))
		return -1;
	return upload(memory, memory->found.address, &nothing, sizeof(nothing), err);
}

int kgb_device_memory_check_slack(struct kgb_device_memory *memory, uint64_t seed,
				  struct kgb_err *err)
{
	return over_table(memory, memory->gpu->check, &memory->slack, seed, err);
}

int kgb_device_memory_slack_found(struct kgb_device_memory *memory, uint64_t *out_address,
				  struct kgb_err *err)
{
	const struct kgb_cuda *cu = memory->gpu->cu;
	struct kgb_found found = {0};

	if (kgb_gpu_check(memory->gpu, cu->cuStreamSynchronize(memory->gpu->stream),
			  KGB_EXEC_GPU_FAULT, err, "check of slack") ||
	    kgb_gpu_check(memory->gpu,
			  cu->cuMemcpyDtoH(&found, memory->found.address, sizeof(found)),
			  KGB_EXEC_GPU_FAULT, err, "read the count"))
		return -1;
	if (found.n_words == 0)
		return 0;
	*out_address = found.lowest;
	return kgb_exec_fail(err, KGB_EXEC_SLACK,
			     "%llu words outside of all blocks were written, the first at 0x%llx",
			     (unsigned long long)found.n_words, (unsigned long long)found.lowest);
}
