/* SPDX-License-Identifier: MIT */
#include "verify/exec/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "verify/exec/kernels.h"

#define RESERVE_GRANULE (UINT64_C(32) << 20)
#define RESERVE_LEAST (UINT64_C(8) << 30)
/* Left to the driver when copies of the images are made. */
#define SPARE_BYTES (UINT64_C(2) << 30)

enum { GRID_Y_MAX = 65535, BLOCKS_PER_SM = 8 };

static uint64_t round_up(uint64_t value, uint64_t granule)
{
	return (value + granule - 1) & ~(granule - 1);
}

static enum kgb_exec_status reserve(struct kgb_memory *memory, uint64_t address, uint64_t bytes,
				    struct kgb_err *err)
{
	enum kgb_exec_status status = kgb_gpu_reserve(memory->gpu, address, bytes, err);

	if (status)
		return status;
	kgb_spans_put(&memory->reserved, address, bytes);
	kgb_spans_normalize(&memory->reserved);
	return KGB_EXEC_OK;
}

/* All of a range, or as much from its start as the driver gives: it is more than plans use, and
 * what is missing can still be had when it is needed. */
static enum kgb_exec_status reserve_most(struct kgb_memory *memory, uint64_t address,
					 uint64_t bytes, struct kgb_err *err)
{
	enum kgb_exec_status status;

	for (;;) {
		status = reserve(memory, address, bytes, err);
		if (!status || bytes / 2 < RESERVE_LEAST)
			return status;
		bytes /= 2;
	}
}

enum kgb_exec_status kgb_memory_open(struct kgb_memory *memory, struct kgb_gpu *gpu,
				     struct kgb_err *err)
{
	enum kgb_exec_status status;

	memory->gpu = gpu;
	status = reserve_most(memory, KGB_ARENA_ADDRESS, KGB_ARENA_BYTES_MAX, err);
	if (!status)
		status = reserve_most(memory, KGB_POOL_ADDRESS, KGB_POOL_BYTES, err);
	return status ? status
		      : kgb_gpu_buffer_reserve(gpu, &memory->found, sizeof(struct kgb_found), err);
}

static void unmap_host(struct kgb_memory *memory)
{
	if (memory->input)
		munmap((void *)(uintptr_t)memory->input, memory->input_bytes);
	if (memory->output)
		munmap(memory->output, memory->output_bytes);
	memory->input = NULL;
	memory->output = NULL;
}

/* A file that could shrink would end us by SIGBUS, in the middle of a copy of the driver. */
static void *map_file(int fd, uint64_t bytes, int protection, const char *what, struct kgb_err *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (fstat(fd, &st) < 0 || seals < 0 || !(seals & F_SEAL_SHRINK)) {
		(void)kgb_fail(err, KGB_ERR_INVALID, "%s: not a memfd of sealed size", what);
		return NULL;
	}
	if ((uint64_t)st.st_size < bytes) {
		(void)kgb_fail(err, KGB_ERR_INVALID, "%s: %lld bytes, not %llu", what,
			       (long long)st.st_size, (unsigned long long)bytes);
		return NULL;
	}
	void *mapped = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED) {
		(void)kgb_fail_errno(err, errno, "%s: map %llu bytes", what,
				     (unsigned long long)bytes);
		return NULL;
	}
	return mapped;
}

static enum kgb_exec_status map_arena(struct kgb_memory *memory, uint64_t bytes,
				      struct kgb_err *err)
{
	const uint64_t pages = round_up(bytes, KGB_GPU_PAGE);
	enum kgb_exec_status status;

	memory->poisoned_valid = false;
	if (memory->arena.bytes != pages) {
		if (memory->arena.bytes > 0)
			kgb_gpu_unmap(memory->gpu, memory->arena.address, memory->arena.bytes,
				      memory->arena.handle);
		memory->arena = (struct kgb_mapping){0};
		struct kgb_mapping made = {.address = KGB_ARENA_ADDRESS, .bytes = pages};
		if (!kgb_spans_hold(&memory->reserved, made.address, made.bytes)) {
			(void)kgb_fail(err, KGB_ERR_BUSY, "no addresses for an arena of %llu bytes",
				       (unsigned long long)bytes);
			return KGB_EXEC_RESERVATION;
		}
		status = kgb_gpu_map(memory->gpu, made.address, made.bytes, &made.handle, err);
		if (status)
			return status;
		memory->arena = made;
	}
	memory->arena_bytes = bytes;
	return KGB_EXEC_OK;
}

enum kgb_exec_status kgb_memory_set_arena(struct kgb_memory *memory,
					  const struct kgb_exec_request *request, const int fds[2],
					  struct kgb_err *err)
{
	unmap_host(memory);
	memory->arena_bytes = 0;
	memory->n_images = 0;
	memory->n_slots = request->n_slots;
	/* At most KGB_ARENA_BYTES_MAX * KGB_EXEC_SLOTS_MAX: no overflow. */
	memory->input_bytes = request->arena_bytes * request->n_slots;
	memory->output_bytes = request->output_bytes;
	memory->input = map_file(fds[0], memory->input_bytes, PROT_READ, "input memory", err);
	if (!memory->input)
		return KGB_EXEC_BAD_REQUEST;
	memory->output = map_file(fds[1], memory->output_bytes, PROT_READ | PROT_WRITE,
				  "output memory", err);
	if (!memory->output)
		return KGB_EXEC_BAD_REQUEST;
	return map_arena(memory, request->arena_bytes, err);
}

static bool is_in_pool(const struct kgb_span *span)
{
	return span->start >= KGB_POOL_ADDRESS && span->start < KGB_POOL_ADDRESS + KGB_POOL_BYTES;
}

/* Addresses that are not ours yet, for blocks that the candidate's process got elsewhere. The
 * driver gives places in multiples of RESERVE_GRANULE only. */
static enum kgb_exec_status reserve_missing(struct kgb_memory *memory,
					    const struct kgb_spans *pages, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans wanted = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans missing = KGB_SPANS_INIT;

	kgb_spans_put_all(&wanted, pages);
	kgb_spans_round(&wanted, RESERVE_GRANULE);
	kgb_spans_subtract(&wanted, &memory->reserved, &missing);
	for (size_t i = 0; i < missing.n; i++) {
		enum kgb_exec_status status =
			reserve(memory, missing.items[i].start, missing.items[i].bytes, err);
		if (!status)
			continue;
		if (is_in_pool(&missing.items[i]))
			return status;
		(void)kgb_ctx(err, "memory that did not come from the pool, at 0x%llx",
			      (unsigned long long)missing.items[i].start);
		return KGB_EXEC_BAD_PLAN;
	}
	return KGB_EXEC_OK;
}

static void add_mapping(struct kgb_memory *memory, const struct kgb_mapping *mapping)
{
	if (memory->n_mappings == memory->cap_mappings) {
		memory->cap_mappings = memory->cap_mappings ? 2 * memory->cap_mappings : 64;
		memory->mappings = kgb_xreallocarray(memory->mappings, memory->cap_mappings,
						     sizeof(memory->mappings[0]));
	}
	memory->mappings[memory->n_mappings++] = *mapping;
	memory->poisoned_valid = false;
}

/* The copies of the images go before a plan goes without. */
static enum kgb_exec_status make_room(struct kgb_memory *memory, uint64_t bytes,
				      struct kgb_err *err)
{
	const struct kgb_cuda *cu = memory->gpu->cu;
	size_t free_bytes = 0;
	size_t total_bytes = 0;
	CUresult result = cu->cuMemGetInfo(&free_bytes, &total_bytes);

	if (result == CUDA_SUCCESS && bytes > free_bytes && memory->images.bytes > 0) {
		kgb_gpu_buffer_release(memory->gpu, &memory->images);
		memory->n_images = 0;
		result = cu->cuMemGetInfo(&free_bytes, &total_bytes);
	}
	enum kgb_exec_status status =
		kgb_gpu_check(memory->gpu, result, KGB_EXEC_NO_MEMORY, err, "free GPU memory");
	if (!status && bytes > free_bytes) {
		(void)kgb_fail(err, KGB_ERR_LIMIT, "%llu bytes of GPU memory, %zu are free",
			       (unsigned long long)bytes, free_bytes);
		return KGB_EXEC_NO_MEMORY;
	}
	return status;
}

enum kgb_exec_status kgb_memory_map_blocks(struct kgb_memory *memory,
					   const struct kgb_spans *blocks, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans pages = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans missing = KGB_SPANS_INIT;
	enum kgb_exec_status status;

	kgb_spans_put_all(&pages, blocks);
	kgb_spans_round(&pages, KGB_GPU_PAGE);
	kgb_spans_subtract(&pages, &memory->blocks_mapped, &missing);
	status = make_room(memory, kgb_spans_total(&missing), err);
	if (!status)
		status = reserve_missing(memory, &pages, err);
	for (size_t i = 0; !status && i < missing.n; i++) {
		struct kgb_mapping made = {.address = missing.items[i].start,
					   .bytes = missing.items[i].bytes};
		status = kgb_gpu_map(memory->gpu, made.address, made.bytes, &made.handle, err);
		if (status)
			break;
		add_mapping(memory, &made);
		kgb_spans_put(&memory->blocks_mapped, made.address, made.bytes);
	}
	kgb_spans_normalize(&memory->blocks_mapped);
	return status;
}

void kgb_memory_forget(struct kgb_memory *memory)
{
	for (size_t i = 0; i < memory->n_mappings; i++)
		kgb_gpu_unmap(memory->gpu, memory->mappings[i].address, memory->mappings[i].bytes,
			      memory->mappings[i].handle);
	memory->n_mappings = 0;
	memory->poisoned_valid = false;
	kgb_spans_clear(&memory->blocks_mapped);
}

void kgb_memory_spans(const struct kgb_memory *memory, struct kgb_spans *out)
{
	kgb_spans_clear(out);
	kgb_spans_put_all(out, &memory->blocks_mapped);
	kgb_spans_put(out, memory->arena.address, memory->arena.bytes);
	kgb_spans_normalize(out);
}

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

static enum kgb_exec_status make_poisoned_table(struct kgb_memory *memory, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;
	const uint64_t tail = memory->arena_bytes & ~UINT64_C(15);

	if (memory->poisoned_valid)
		return KGB_EXEC_OK;
	kgb_spans_put_all(&spans, &memory->blocks_mapped);
	/* From the last whole 16 bytes of the image on: the image is loaded afterwards. */
	if (memory->arena.bytes > 0)
		kgb_spans_put(&spans, memory->arena.address + tail, memory->arena.bytes - tail);
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

enum kgb_exec_status kgb_memory_load(struct kgb_memory *memory, uint32_t slot, struct kgb_err *err)
{
	const char *image = memory->input + slot * memory->arena_bytes;

	return kgb_gpu_check(memory->gpu,
			     memory->gpu->cu->cuMemcpyHtoDAsync(memory->arena.address, image,
								memory->arena_bytes,
								memory->gpu->stream),
			     KGB_EXEC_UNAVAILABLE, err, "load image %u", slot);
}

/* Copies of the first n_slots images; false when there is no room, which is no error. */
static bool have_images(struct kgb_memory *memory, uint32_t n_slots)
{
	const struct kgb_cuda *cu = memory->gpu->cu;
	const uint64_t bytes = memory->arena_bytes * n_slots;
	struct kgb_err ignored = KGB_ERR_INIT;
	size_t free_bytes = 0;
	size_t total_bytes = 0;

	if (memory->n_images >= n_slots)
		return true;
	memory->n_images = 0;
	if (memory->images.bytes < bytes) {
		if (cu->cuMemGetInfo(&free_bytes, &total_bytes) != CUDA_SUCCESS ||
		    free_bytes < SPARE_BYTES || free_bytes - SPARE_BYTES < bytes ||
		    kgb_gpu_buffer_reserve(memory->gpu, &memory->images, bytes, &ignored))
			return false;
	}
	if (cu->cuMemcpyHtoDAsync(memory->images.address, memory->input, bytes,
				  memory->gpu->stream) != CUDA_SUCCESS)
		return false;
	memory->n_images = n_slots;
	return true;
}

enum kgb_exec_status kgb_memory_load_fast(struct kgb_memory *memory, uint32_t slot,
					  uint32_t n_slots, struct kgb_err *err)
{
	if (!have_images(memory, n_slots))
		return kgb_memory_load(memory, slot, err);
	return kgb_gpu_check(memory->gpu,
			     memory->gpu->cu->cuMemcpyDtoDAsync(
				     memory->arena.address,
				     memory->images.address + slot * memory->arena_bytes,
				     memory->arena_bytes, memory->gpu->stream),
			     KGB_EXEC_UNAVAILABLE, err, "load image %u", slot);
}

enum kgb_exec_status kgb_memory_flush(struct kgb_memory *memory, uint64_t bytes, uint64_t seed,
				      struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans spans = KGB_SPANS_INIT;
	enum kgb_exec_status status = KGB_EXEC_OK;

	if (bytes == 0)
		return KGB_EXEC_OK;
	bytes = round_up(bytes, KGB_GPU_PAGE);
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
	return over_table(memory->gpu, memory->gpu->fill, &memory->flush, seed, 0, err);
}

enum kgb_exec_status kgb_memory_set_slack(struct kgb_memory *memory, const struct kgb_spans *blocks,
					  struct kgb_err *err)
{
	const struct kgb_found nothing = {.lowest = UINT64_MAX};
	KGB_AUTO(spans) struct kgb_spans all = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans used = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans slack = KGB_SPANS_INIT;
	enum kgb_exec_status status;

	kgb_memory_spans(memory, &all);
	kgb_spans_put_all(&used, blocks);
	kgb_spans_put(&used, memory->arena.address, memory->arena_bytes);
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
	(void)kgb_fail(err, KGB_ERR_FAILED,
		       "%llu words outside of all blocks were written, the first at 0x%llx",
		       (unsigned long long)found.n_words, (unsigned long long)found.lowest);
	return KGB_EXEC_SLACK;
}

enum kgb_exec_status kgb_memory_bring_back(struct kgb_memory *memory,
					   const struct kgb_exec_request *request,
					   const uint64_t *offsets, struct kgb_err *err)
{
	struct kgb_gpu *gpu = memory->gpu;
	enum kgb_exec_status status;

	status = kgb_gpu_check(
		gpu,
		gpu->cu->cuMemcpyDtoH(memory->output, memory->arena.address, memory->arena_bytes),
		KGB_EXEC_GPU_FAULT, err, "bring the arena back");
	for (uint32_t i = 0; !status && i < request->n_ranges; i++) {
		const struct kgb_exec_range *range = &request->ranges[i];
		if (range->bytes > 0)
			status = kgb_gpu_check(gpu,
					       gpu->cu->cuMemcpyDtoH(memory->output + offsets[i],
								     range->address, range->bytes),
					       KGB_EXEC_GPU_FAULT, err, "bring range %u back", i);
	}
	return status;
}
