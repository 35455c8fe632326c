/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/memory.h"

#include "base/mem.h"
#include "verify/exec/cuda/kernels.h"

#define RESERVE_GRANULE (UINT64_C(32) << 20)
#define RESERVE_LEAST (UINT64_C(8) << 30)
/* Bytes of GPU memory that copies of the images leave to the driver. */
#define SPARE_BYTES (UINT64_C(2) << 30)

/* Bytes that stay mapped for blocks of later plans. */
#define IDLE_BYTES_MAX (UINT64_C(64) << 20)
#define IDLE_BLOCK_BYTES_MAX (UINT64_C(16) << 20)

/* Parts of an image in its copy on the device start at multiples of this. */
#define PACKED_ALIGN UINT64_C(256)

static uint64_t round_up(uint64_t value, uint64_t granule)
{
	return (value + granule - 1) & ~(granule - 1);
}

static int reserve(struct kgb_device_memory *memory, uint64_t address, uint64_t bytes,
		   struct kgb_err *err)
{
	if (kgb_gpu_reserve(memory->gpu, address, bytes, err))
		return -1;
	kgb_spans_put(&memory->reserved, address, bytes);
	kgb_spans_normalize(&memory->reserved);
	return 0;
}

/* Reserve all of a range, or as much from its start as the driver grants. That is more than plans
 * use; the rest can be reserved later. */
static int reserve_most(struct kgb_device_memory *memory, uint64_t address, uint64_t bytes,
			struct kgb_err *err)
{
	while (reserve(memory, address, bytes, err)) {
		if (bytes / 2 < RESERVE_LEAST)
			return -1;
		bytes /= 2;
	}
	return 0;
}

int kgb_device_memory_open(struct kgb_device_memory *memory, struct kgb_gpu *gpu,
			   struct kgb_err *err)
{
	memory->gpu = memory->blocks.gpu = memory->arena.gpu = gpu;
	memory->set = &memory->sets[0];
	memory->blocks.spares = memory->arena.spares = &memory->spares;
	for (uint64_t i = 0; i < KGB_ARENA_WINDOWS; i++)
		if (reserve_most(memory, kgb_arena_window_at(i), KGB_ARENA_BYTES_MAX, err))
			return -1;
	if (reserve_most(memory, KGB_POOL_ADDRESS, KGB_POOL_BYTES, err))
		return -1;
	return kgb_gpu_buffer_reserve(gpu, &memory->found, sizeof(struct kgb_found), err);
}

static bool is_in_pool(const struct kgb_span *span)
{
	return span->start >= KGB_POOL_ADDRESS && span->start < KGB_POOL_ADDRESS + KGB_POOL_BYTES;
}

/* Reserve those of the addresses that are not reserved yet. The driver reserves multiples of
 * RESERVE_GRANULE only. */
static int reserve_missing(struct kgb_device_memory *memory, const struct kgb_spans *pages,
			   struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans wanted = KGB_SPANS_INIT;
	KGB_AUTO(spans) struct kgb_spans missing = KGB_SPANS_INIT;

	kgb_spans_put_all(&wanted, pages);
	kgb_spans_round(&wanted, RESERVE_GRANULE);
	kgb_spans_subtract(&wanted, &memory->reserved, &missing);
	for (size_t i = 0; i < missing.n; i++) {
		if (reserve(memory, missing.items[i].start, missing.items[i].bytes, err) == 0)
			continue;
		if (is_in_pool(&missing.items[i]))
			return -1;
		(void)kgb_ctx(err, "memory that did not come from the pool, at 0x%llx",
			      (unsigned long long)missing.items[i].start);
		return kgb_exec_refuse(err, KGB_EXEC_BAD_PLAN);
	}
	return 0;
}

static void drop_idle(struct kgb_device_memory *memory)
{
	KGB_AUTO(spans) struct kgb_spans kept = KGB_SPANS_INIT;

	for (size_t i = 0; i < memory->blocks.n; i++) {
		const struct kgb_mapping *mapping = &memory->blocks.items[i];
		if (kgb_spans_touch(&memory->set->wanted, mapping->address, mapping->bytes))
			kgb_spans_put(&kept, mapping->address, mapping->bytes);
	}
	kgb_spans_normalize(&kept);
	kgb_mappings_keep(&memory->blocks, &kept);
	memory->poisoned_valid = false;
}

static void release_images_of(struct kgb_device_memory *memory, struct kgb_memory_set *set)
{
	kgb_gpu_buffer_release(memory->gpu, &set->images);
	set->n_images = 0;
}

static void release_images(struct kgb_device_memory *memory)
{
	for (size_t i = 0; i < KGB_EXEC_SETS_MAX; i++)
		release_images_of(memory, &memory->sets[i]);
}

/* Bytes of all memory but kernels' code. */
static uint64_t held_bytes(const struct kgb_device_memory *memory)
{
	uint64_t bytes = kgb_spans_total(&memory->arena.pages) +
			 kgb_spans_total(&memory->blocks.pages) + memory->spares.bytes +
			 memory->spares.retired.bytes;

	for (size_t i = 0; i < KGB_EXEC_SETS_MAX; i++)
		bytes += memory->sets[i].images.bytes;
	return bytes;
}

/* When memory is short, release idle memory and all copies of images. */
static int make_room(struct kgb_device_memory *memory, uint64_t bytes, struct kgb_err *err)
{
	uint64_t free_bytes = 0;

	if (kgb_gpu_free_bytes(memory->gpu, &free_bytes, err))
		return -1;
	if (bytes > free_bytes) {
		const uint64_t before = held_bytes(memory);
		drop_idle(memory);
		kgb_spares_clear(&memory->spares, memory->gpu);
		release_images(memory);
		kgb_await_clearing(before - held_bytes(memory));
		if (kgb_gpu_free_bytes(memory->gpu, &free_bytes, err))
			return -1;
	}
	if (bytes > free_bytes)
		return kgb_exec_fail(err, KGB_EXEC_NO_MEMORY,
				     "%llu bytes of GPU memory, %llu are free",
				     (unsigned long long)bytes, (unsigned long long)free_bytes);
	return 0;
}

/* Make room for those of the pages that are not mapped yet. */
static int make_room_for(struct kgb_device_memory *memory, const struct kgb_mappings *mapped,
			 const struct kgb_spans *pages, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans missing = KGB_SPANS_INIT;

	kgb_spans_subtract(pages, &mapped->pages, &missing);
	if (missing.n == 0)
		return 0;
	memory->poisoned_valid = false;
	return make_room(memory, kgb_spans_total(&missing), err);
}

static int map_arena(struct kgb_device_memory *memory, struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans pages = KGB_SPANS_INIT;

	memory->poisoned_valid = false;
	kgb_spans_put_all(&pages, &memory->set->given.parts);
	kgb_spans_round(&pages, KGB_GPU_PAGE);
	kgb_mappings_keep(&memory->arena, &pages);
	for (size_t i = 0; i < pages.n; i++) {
		if (kgb_spans_hold(&memory->reserved, pages.items[i].start, pages.items[i].bytes))
			continue;
		return kgb_exec_fail(err, KGB_EXEC_RESERVATION,
				     "no addresses for %llu bytes at 0x%llx of arena",
				     (unsigned long long)pages.items[i].bytes,
				     (unsigned long long)pages.items[i].start);
	}
	if (make_room_for(memory, &memory->arena, &pages, err))
		return -1;
	return kgb_mappings_add(&memory->arena, &pages, err);
}

int kgb_device_memory_set_arena(struct kgb_device_memory *memory,
				const struct kgb_exec_request *request, const int fds[2],
				struct kgb_err *err)
{
	memory->set->n_images = 0;
	if (kgb_exec_arena_set(&memory->set->given, request, fds, err))
		return -1;
	memory->set->packed_bytes = 0;
	for (size_t i = 0; i < memory->set->given.parts.n; i++)
		memory->set->packed_bytes +=
			round_up(memory->set->given.parts.items[i].bytes, PACKED_ALIGN);
	if (map_arena(memory, err) == 0)
		return 0;
	memory->set->given.bytes = 0;
	return -1;
}

int kgb_device_memory_map_blocks(struct kgb_device_memory *memory, const struct kgb_spans *blocks,
				 struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans pages = KGB_SPANS_INIT;

	kgb_spans_put_all(&pages, blocks);
	kgb_spans_round(&pages, KGB_GPU_PAGE);
	kgb_spans_put_all(&memory->set->wanted, &pages);
	kgb_spans_normalize(&memory->set->wanted);
	if (make_room_for(memory, &memory->blocks, &pages, err) ||
	    reserve_missing(memory, &pages, err))
		return -1;
	return kgb_mappings_add(&memory->blocks, &pages, err);
}

/* No block is wanted any more. Later plans most likely use the latest ones again: keep those. */
static void release_blocks(struct kgb_device_memory *memory)
{
	KGB_AUTO(spans) struct kgb_spans idle = KGB_SPANS_INIT;
	uint64_t bytes = 0;

	for (size_t i = memory->blocks.n; i > 0; i--) {
		const struct kgb_mapping *mapping = &memory->blocks.items[i - 1];
		if (mapping->bytes > IDLE_BLOCK_BYTES_MAX ||
		    bytes + mapping->bytes > IDLE_BYTES_MAX)
			continue;
		bytes += mapping->bytes;
		kgb_spans_put(&idle, mapping->address, mapping->bytes);
	}
	kgb_spans_normalize(&idle);
	kgb_mappings_keep(&memory->blocks, &idle);
	memory->poisoned_valid = false;
}

void kgb_device_memory_forget(struct kgb_device_memory *memory)
{
	const uint64_t before = kgb_spans_total(&memory->blocks.pages) + memory->set->images.bytes;

	release_blocks(memory);
	kgb_spans_clear(&memory->set->wanted);
	release_images_of(memory, memory->set);
	kgb_await_clearing(before - kgb_spans_total(&memory->blocks.pages));
}

int kgb_device_memory_select(struct kgb_device_memory *memory, uint32_t set, struct kgb_err *err)
{
	release_blocks(memory);
	memory->set = &memory->sets[set];
	memory->placement = KGB_EXEC_NO_PLACEMENT;
	if (map_arena(memory, err))
		return -1;
	return kgb_device_memory_map_blocks(memory, &memory->set->wanted, err);
}

void kgb_device_memory_reset(struct kgb_device_memory *memory)
{
	const struct kgb_spans none = KGB_SPANS_INIT;
	const uint64_t before = held_bytes(memory);

	release_blocks(memory);
	kgb_mappings_keep(&memory->arena, &none);
	release_images(memory);
	kgb_spares_clear(&memory->spares, memory->gpu);
	for (size_t i = 0; i < KGB_EXEC_SETS_MAX; i++) {
		kgb_exec_arena_release(&memory->sets[i].given);
		kgb_spans_clear(&memory->sets[i].wanted);
	}
	memory->set = &memory->sets[0];
	memory->placement = 0;
	kgb_await_clearing(before - held_bytes(memory));
}

int kgb_device_memory_place(struct kgb_device_memory *memory, uint32_t placement,
			    struct kgb_err *err)
{
	struct kgb_mappings *const sets[] = {&memory->arena, &memory->blocks};

	drop_idle(memory);
	const uint64_t bytes =
		kgb_spans_total(&memory->arena.pages) + kgb_spans_total(&memory->blocks.pages);
	if (make_room(memory, bytes, err) ||
	    kgb_mappings_replace(sets, KGB_ARRAY_LEN(sets), placement, err))
		return -1;
	memory->placement = placement;
	return 0;
}

void kgb_device_memory_spans(const struct kgb_device_memory *memory, struct kgb_spans *out)
{
	KGB_AUTO(spans) struct kgb_spans idle = KGB_SPANS_INIT;

	kgb_spans_subtract(&memory->blocks.pages, &memory->set->wanted, &idle);
	kgb_spans_subtract(&memory->blocks.pages, &idle, out);
	kgb_spans_put_all(out, &memory->arena.pages);
	kgb_spans_normalize(out);
}

int kgb_device_memory_clear(struct kgb_device_memory *memory, struct kgb_err *err)
{
	struct kgb_gpu *gpu = memory->gpu;
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; result == CUDA_SUCCESS && i < memory->set->given.parts.n; i++)
		result = gpu->cu->cuMemsetD8Async(memory->set->given.parts.items[i].start, 0,
						  memory->set->given.parts.items[i].bytes,
						  gpu->stream);
	return kgb_gpu_check(gpu, result, KGB_EXEC_UNAVAILABLE, err, "clear the arena");
}

enum route { FROM_HOST_TO_COPY, FROM_HOST_TO_ARENA, FROM_COPY_TO_ARENA };

/* Copy a piece of an image from the judge's memory. */
static int upload(struct kgb_device_memory *memory, CUdeviceptr to, uint64_t at_in_file,
		  uint64_t bytes, struct kgb_err *err)
{
	const struct kgb_exec_arena *given = &memory->set->given;
	struct kgb_gpu *gpu = memory->gpu;

	if (bytes >= KGB_STAGED_LEAST)
		return kgb_staging_upload(&memory->staging, gpu, to, given->input_file.fd,
					  at_in_file, bytes, err);
	return kgb_gpu_check(
		gpu, gpu->cu->cuMemcpyHtoDAsync(to, given->input + at_in_file, bytes, gpu->stream),
		KGB_EXEC_UNAVAILABLE, err, "load an image");
}

/* Moves the image of a slot, turned if the slot is. A copy holds the parts of an image that is not
 * turned, one behind the other. */
static int move_image(struct kgb_device_memory *memory, uint32_t slot, enum route route,
		      struct kgb_err *err)
{
	const struct kgb_memory_set *set = memory->set;
	const struct kgb_exec_arena *given = &set->given;
	const uint32_t image = kgb_exec_arena_image_of(given, slot);
	CUdeviceptr copy = set->images.address + image * set->packed_bytes;
	struct kgb_gpu *gpu = memory->gpu;
	int status = 0;

	for (size_t i = 0; status == 0 && i < given->parts.n; i++) {
		const struct kgb_span *part = &given->parts.items[i];
		const CUdeviceptr copied = copy - kgb_arena_offset(part->start);
		const CUdeviceptr to =
			route == FROM_HOST_TO_COPY ? copied : kgb_arena_window(part->start);
		struct kgb_exec_pieces pieces;
		kgb_exec_arena_pieces(given, part, slot, &pieces);
		for (size_t k = 0; status == 0 && k < pieces.n; k++) {
			const struct kgb_exec_piece *piece = &pieces.items[k];
			status = route == FROM_COPY_TO_ARENA
					 ? kgb_gpu_check(gpu,
							 gpu->cu->cuMemcpyDtoDAsync(
								 to + piece->to,
								 copied + piece->from, piece->bytes,
								 gpu->stream),
							 KGB_EXEC_UNAVAILABLE, err, "load a copy")
					 : upload(memory, to + piece->to,
						  image * given->bytes + piece->from, piece->bytes,
						  err);
		}
		kgb_free(pieces.items);
		copy += round_up(part->bytes, PACKED_ALIGN);
	}
	return status;
}

static bool have_room_for_images(struct kgb_device_memory *memory, uint32_t n_all)
{
	const uint64_t bytes = memory->set->packed_bytes * n_all;
	struct kgb_err ignored = KGB_ERR_INIT;
	uint64_t free_bytes = 0;

	if (memory->set->images.bytes >= bytes)
		return true;
	memory->set->n_images = 0;
	return !kgb_gpu_free_bytes(memory->gpu, &free_bytes, &ignored) &&
	       free_bytes >= SPARE_BYTES && free_bytes - SPARE_BYTES >= bytes &&
	       !kgb_gpu_buffer_reserve(memory->gpu, &memory->set->images, bytes, &ignored);
}

/* Make copies of the images of the first n_slots slots. false: there is no room, which is no error.
 * Later samples of a timing may need more copies than earlier ones. */
static bool have_images(struct kgb_device_memory *memory, uint32_t n_slots)
{
	struct kgb_memory_set *set = memory->set;
	const uint32_t n_all = set->given.n_slots - set->given.n_turned;
	const uint32_t n = n_slots < n_all ? n_slots : n_all;
	struct kgb_err ignored = KGB_ERR_INIT;

	if (set->n_images < n && !have_room_for_images(memory, n_all))
		return false;
	for (; set->n_images < n; set->n_images++)
		if (move_image(memory, set->n_images, FROM_HOST_TO_COPY, &ignored))
			return false;
	return true;
}

static int load(struct kgb_device_memory *memory, uint32_t slot, enum route route,
		struct kgb_err *err)
{
	return move_image(memory, slot, route, err) ? kgb_ctx(err, "image %u", slot) : 0;
}

int kgb_device_memory_load_fast(struct kgb_device_memory *memory, uint32_t slot, uint32_t n_slots,
				struct kgb_err *err)
{
	const bool copied = have_images(memory, n_slots);

	return load(memory, slot, copied ? FROM_COPY_TO_ARENA : FROM_HOST_TO_ARENA, err);
}

int kgb_device_memory_load_once(struct kgb_device_memory *memory, uint32_t slot,
				struct kgb_err *err)
{
	const uint32_t n_slots = memory->set->given.n_slots;

	return memory->set->given.n_turned > 0
		       ? kgb_device_memory_load_fast(memory, slot, n_slots, err)
		       : load(memory, slot, FROM_HOST_TO_ARENA, err);
}

/* Copy memory of the GPU to the output, after the running work. */
static int bring(struct kgb_device_memory *memory, uint64_t offset, CUdeviceptr from,
		 uint64_t bytes, struct kgb_err *err)
{
	const struct kgb_exec_arena *given = &memory->set->given;

	if (bytes == 0)
		return 0;
	if (bytes >= KGB_STAGED_LEAST)
		return kgb_staging_download(&memory->staging, memory->gpu, given->output_file.fd,
					    offset, from, bytes, err);
	return kgb_gpu_check(memory->gpu,
			     memory->gpu->cu->cuMemcpyDtoH(given->output + offset, from, bytes),
			     KGB_EXEC_GPU_FAULT, err, "bring %llu bytes back from 0x%llx",
			     (unsigned long long)bytes, from);
}

int kgb_device_memory_bring_back(struct kgb_device_memory *memory,
				 const struct kgb_exec_request *request, const uint64_t *offsets,
				 struct kgb_err *err)
{
	const bool whole = !(request->flags & KGB_EXEC_WITHOUT_ARENA);

	for (size_t i = 0; whole && i < memory->set->given.parts.n; i++) {
		const struct kgb_span *part = &memory->set->given.parts.items[i];
		if (bring(memory, kgb_arena_offset(part->start), part->start, part->bytes, err))
			return -1;
	}
	for (uint32_t i = 0; i < request->n_ranges; i++) {
		const struct kgb_exec_range *range = &request->ranges[i];
		if (bring(memory, offsets[i], range->address, range->bytes, err))
			return -1;
	}
	return 0;
}
