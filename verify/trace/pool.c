/* SPDX-License-Identifier: MIT */
#include "verify/trace/pool.h"

#include <stdlib.h>

#include "base/vec.h"

#define POOL_END (KGB_POOL_ADDRESS + KGB_POOL_BYTES)

static int cuda_failed(const struct kgb_cuda *cu, CUresult result, const char *what,
		       struct kgb_err *err)
{
	return kgb_fail(err, result == CUDA_ERROR_OUT_OF_MEMORY ? KGB_ERR_LIMIT : KGB_ERR_FAILED,
			"%s: %s", what, kgb_cuda_error_name(cu, result));
}

void kgb_pool_init(struct kgb_pool *pool, const struct kgb_cuda *cu)
{
	*pool = (struct kgb_pool){.cu = cu, .next = KGB_POOL_ADDRESS, .poison = -1};
}

/* ---- Mapping ---- */

static CUmemAllocationProp properties(int device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
	};
}

/* The driver rounds a wanted address up to 32 MiB; ours are multiples of that. */
static int reserve(const struct kgb_cuda *cu, uint64_t address, uint64_t bytes, const char *what,
		   struct kgb_err *err)
{
	CUdeviceptr got = 0;
	const CUresult result = cu->cuMemAddressReserve(&got, bytes, 0, address, 0);

	if (result != CUDA_SUCCESS)
		return cuda_failed(cu, result, what, err);
	if (got == address)
		return 0;
	cu->cuMemAddressFree(got, bytes);
	return kgb_fail(err, KGB_ERR_BUSY, "%s: the addresses from 0x%llx are taken", what,
			(unsigned long long)address);
}

static int check_granularity(const struct kgb_cuda *cu, int device, struct kgb_err *err)
{
	const CUmemAllocationProp prop = properties(device);
	size_t page = 0;
	const CUresult result =
		cu->cuMemGetAllocationGranularity(&page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (result != CUDA_SUCCESS)
		return cuda_failed(cu, result, "page size of the GPU", err);
	if (page == 0 || KGB_GPU_PAGE % page)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"pages of the GPU have %zu bytes, not %llu", page,
				(unsigned long long)KGB_GPU_PAGE);
	return 0;
}

static int map_handle(const struct kgb_cuda *cu, CUmemGenericAllocationHandle handle,
		      uint64_t address, uint64_t bytes, int device, struct kgb_err *err)
{
	const CUmemAccessDesc access = {
		.location = properties(device).location,
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	CUresult result = cu->cuMemMap(address, bytes, 0, handle, 0);

	if (result != CUDA_SUCCESS)
		return cuda_failed(cu, result, "map memory of the GPU", err);
	result = cu->cuMemSetAccess(address, bytes, &access, 1);
	if (result != CUDA_SUCCESS) {
		cu->cuMemUnmap(address, bytes);
		return cuda_failed(cu, result, "access to memory of the GPU", err);
	}
	return 0;
}

/* Map new memory in the first n windows from an address on. */
static int map(const struct kgb_cuda *cu, uint64_t address, uint64_t bytes, uint32_t n, int device,
	       struct kgb_err *err)
{
	const CUmemAllocationProp prop = properties(device);
	CUmemGenericAllocationHandle handle;
	const CUresult result = cu->cuMemCreate(&handle, bytes, &prop, 0);
	uint32_t n_mapped = 0;

	if (result != CUDA_SUCCESS)
		return cuda_failed(cu, result, "memory of the GPU", err);
	while (n_mapped < n && map_handle(cu, handle, address + n_mapped * KGB_ARENA_STRIDE, bytes,
					  device, err) == 0)
		n_mapped++;
	/* The mappings keep the memory from here on. */
	cu->cuMemRelease(handle);
	if (n_mapped == n)
		return 0;
	while (n_mapped > 0)
		cu->cuMemUnmap(address + --n_mapped * KGB_ARENA_STRIDE, bytes);
	return -1;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + KGB_GPU_PAGE - 1) / KGB_GPU_PAGE * KGB_GPU_PAGE;
}

/* ---- Pieces of the pool ---- */

/* Unmap all pieces that are kept without being in use. */
static int trim(struct kgb_pool *pool, struct kgb_err *err)
{
	CUresult result;

	if (pool->n_spare == 0)
		return 0;
	/* Work that still runs may use blocks that were freed after its launch. */
	result = pool->cu->cuCtxSynchronize();
	if (result != CUDA_SUCCESS)
		return cuda_failed(pool->cu, result, "wait for the GPU", err);
	for (size_t i = 0; i < pool->pieces.n; i++) {
		struct kgb_piece *piece = &pool->pieces.items[i];

		if (piece->state != KGB_PIECE_SPARE)
			continue;
		result = pool->cu->cuMemUnmap(piece->address, piece->mapped_bytes);
		if (result != CUDA_SUCCESS)
			return cuda_failed(pool->cu, result, "unmap memory of the GPU", err);
		piece->state = KGB_PIECE_VACANT;
		pool->n_spare--;
		pool->spare_bytes -= piece->mapped_bytes;
	}
	return 0;
}

/* The first piece in that state that fits exactly; one of the same stream is best. */
static struct kgb_piece *find_piece(struct kgb_pool *pool, int state, uint64_t mapped_bytes,
				    int device, CUstream stream)
{
	struct kgb_piece *found = NULL;

	for (size_t i = 0; i < pool->pieces.n; i++) {
		struct kgb_piece *piece = &pool->pieces.items[i];

		if ((int)piece->state != state || piece->mapped_bytes != mapped_bytes)
			continue;
		if (state == KGB_PIECE_SPARE && pool->keeps_apart && piece->freed_in == pool->call)
			continue;
		if (state == KGB_PIECE_VACANT)
			return piece;
		if (piece->device != device)
			continue;
		if (piece->stream == stream)
			return piece;
		if (!found)
			found = piece;
	}
	return found;
}

/* A freed piece, safe to use on `stream`; NULL when there is none. */
static struct kgb_piece *reuse(struct kgb_pool *pool, uint64_t mapped_bytes, int device,
			       CUstream stream)
{
	struct kgb_piece *piece;

	if (pool->n_spare == 0)
		return NULL;
	piece = find_piece(pool, KGB_PIECE_SPARE, mapped_bytes, device, stream);
	if (!piece)
		return NULL;
	/* Work of another stream may still use it; that stream may be gone, so wait for all. */
	if (piece->stream != stream && pool->cu->cuCtxSynchronize() != CUDA_SUCCESS)
		return NULL;
	pool->n_spare--;
	pool->spare_bytes -= mapped_bytes;
	return piece;
}

/* Addresses that were never used; when there are none, addresses that are not in use. */
static struct kgb_piece *new_piece(struct kgb_pool *pool, uint64_t mapped_bytes,
				   struct kgb_err *err)
{
	struct kgb_piece *piece;

	if (mapped_bytes + KGB_GPU_PAGE > POOL_END - pool->next) {
		piece = find_piece(pool, KGB_PIECE_VACANT, mapped_bytes, 0, NULL);
		if (!piece)
			kgb_fail(err, KGB_ERR_LIMIT, "pool: no addresses left for %llu bytes",
				 (unsigned long long)mapped_bytes);
		return piece;
	}
	KGB_VEC_ADD(&pool->pieces, (struct kgb_piece){
					   .address = pool->next,
					   .mapped_bytes = mapped_bytes,
					   .state = KGB_PIECE_VACANT,
				   });
	pool->next += mapped_bytes + KGB_GPU_PAGE;
	return &pool->pieces.items[pool->pieces.n - 1];
}

static struct kgb_piece *make(struct kgb_pool *pool, uint64_t mapped_bytes, int device,
			      struct kgb_err *err)
{
	struct kgb_err first = KGB_ERR_INIT;
	struct kgb_piece *piece;

	if (!pool->reserved) {
		if (check_granularity(pool->cu, device, err) ||
		    reserve(pool->cu, KGB_POOL_ADDRESS, KGB_POOL_BYTES, "pool", err))
			return NULL;
		pool->reserved = true;
	}
	piece = new_piece(pool, mapped_bytes, err);
	if (!piece)
		return NULL;
	if (map(pool->cu, piece->address, mapped_bytes, 1, device, &first)) {
		if (first.kind != KGB_ERR_LIMIT || pool->n_spare == 0) {
			*err = first;
			return NULL;
		}
		/* Out of memory: give back what is only kept. */
		if (trim(pool, err) || map(pool->cu, piece->address, mapped_bytes, 1, device, err))
			return NULL;
	}
	return piece;
}

static int fill(struct kgb_pool *pool, const struct kgb_piece *piece, struct kgb_err *err)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result;

	if (pool->poison < 0)
		return 0;
	/* On a stream that captures it would become part of the graph. */
	if (piece->for_graph &&
	    (pool->cu->cuStreamIsCapturing(piece->stream, &status) != CUDA_SUCCESS ||
	     status != CU_STREAM_CAPTURE_STATUS_NONE))
		return 0;
	result = pool->cu->cuMemsetD8Async(piece->address, (unsigned char)pool->poison,
					   piece->mapped_bytes, piece->stream);
	return result == CUDA_SUCCESS ? 0 : cuda_failed(pool->cu, result, "poison a block", err);
}

int kgb_pool_alloc(struct kgb_pool *pool, uint64_t bytes, int device, CUstream stream,
		   bool in_capture, uint64_t *address, struct kgb_err *err)
{
	struct kgb_piece *piece = NULL;

	if (bytes == 0 || bytes > KGB_POOL_BYTES)
		return kgb_fail(err, KGB_ERR_INVALID, "pool: a block of %llu bytes",
				(unsigned long long)bytes);
	if (!in_capture)
		piece = reuse(pool, whole_pages(bytes), device, stream);
	if (!piece)
		piece = make(pool, whole_pages(bytes), device, err);
	if (!piece)
		return kgb_ctx(err, "pool: %llu bytes", (unsigned long long)bytes);
	piece->stream = stream;
	piece->device = device;
	piece->state = KGB_PIECE_LIVE;
	piece->for_graph = in_capture;
	if (fill(pool, piece, err))
		return -1;
	*address = piece->address;
	return 0;
}

static int compare_addresses(const void *address, const void *piece)
{
	const uint64_t a = *(const uint64_t *)address,
		       b = ((const struct kgb_piece *)piece)->address;

	return a < b ? -1 : a > b;
}

int kgb_pool_free(struct kgb_pool *pool, uint64_t address, CUstream stream, bool *gone,
		  struct kgb_err *err)
{
	struct kgb_piece *piece = NULL;

	if (pool->pieces.n)
		piece = bsearch(&address, pool->pieces.items, pool->pieces.n, sizeof(*piece),
				compare_addresses);
	if (!piece || piece->state != KGB_PIECE_LIVE)
		return kgb_fail(err, KGB_ERR_INVALID, "pool: no block at 0x%llx",
				(unsigned long long)address);
	piece->stream = stream;
	*gone = !piece->for_graph;
	if (piece->for_graph) {
		piece->state = KGB_PIECE_GRAPH;
		return 0;
	}
	piece->state = KGB_PIECE_SPARE;
	piece->freed_in = pool->call;
	pool->n_spare++;
	pool->spare_bytes += piece->mapped_bytes;
	if (pool->n_spare <= KGB_POOL_SPARE_MAX && pool->spare_bytes <= KGB_POOL_SPARE_BYTES)
		return 0;
	return trim(pool, err);
}

/* ---- The arena ---- */

static int unmap_arena(struct kgb_pool *pool, struct kgb_err *err)
{
	CUresult result;

	if (pool->arena_bytes == 0)
		return 0;
	result = pool->cu->cuCtxSynchronize();
	if (result != CUDA_SUCCESS)
		return cuda_failed(pool->cu, result, "arena: wait for the GPU", err);
	for (uint64_t i = 0; i < KGB_ARENA_WINDOWS && result == CUDA_SUCCESS; i++)
		result = pool->cu->cuMemUnmap(kgb_arena_window_at(i), pool->arena_bytes);
	if (result != CUDA_SUCCESS)
		return cuda_failed(pool->cu, result, "arena: unmap", err);
	pool->arena_bytes = 0;
	return 0;
}

int kgb_pool_arena_map(struct kgb_pool *pool, uint64_t bytes, int device, struct kgb_err *err)
{
	if (bytes == 0 || bytes > KGB_ARENA_BYTES_MAX)
		return kgb_fail(err, KGB_ERR_INVALID, "arena: %llu bytes are not from 1 to %llu",
				(unsigned long long)bytes, (unsigned long long)KGB_ARENA_BYTES_MAX);
	if (unmap_arena(pool, err))
		return -1;
	if (!pool->arena_reserved) {
		if (check_granularity(pool->cu, device, err) ||
		    reserve(pool->cu, KGB_ARENA_ADDRESS, KGB_ARENA_SPAN, "arena", err))
			return -1;
		pool->arena_reserved = true;
	}
	if (map(pool->cu, KGB_ARENA_ADDRESS, whole_pages(bytes), KGB_ARENA_WINDOWS, device, err))
		return kgb_ctx(err, "arena");
	pool->arena_bytes = whole_pages(bytes);
	return 0;
}
