/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/mappings.h"

#include "base/time.h"
#include "base/vec.h"
#include "verify/protocol/exec_request.h"
#include "verify/protocol/record.h"

/* Each spacer, a block that is held while memory is replaced, is smaller than SPACER_BYTES_MAX; all
 * spacers together are smaller than 1 / SPACERS_DIVISOR of the free memory. */
#define SPACER_BYTES_MAX (UINT64_C(32) << 20)

enum { SPACERS_DIVISOR = 4 };

/* To give memory back costs a wait of some ms, most often while the GPU is taken alone. So what is
 * retired is held up to this part of what is free besides; all four processes that time a benchmark
 * hold half of the free memory then. */
enum { RETIRED_DIVISOR = 4 };

/* The driver clears released memory in the background: 450 GB/s on an H200, where a kernel bound by
 * memory takes 10 to 16 % longer meanwhile (docs/timing.md). The driver does not report the end, so
 * we wait as if it cleared 200 GB/s. For a slower GPU the wait is too short. */
#define CLEARED_BYTES_PER_NS 200
#define CLEARING_STARTS_NS UINT64_C(500000)

/* Making and giving back memory costs as much as mapping it: small pieces are kept. */
#define SPARE_BYTES_MAX (UINT64_C(16) << 20)
#define SPARES_BYTES_MAX (UINT64_C(64) << 20)

/* ---- spares ---- */

static void put_spare(struct kgb_mappings *mappings, const struct kgb_mapping *mapping)
{
	struct kgb_spares *spares = mappings->spares;

	if (mapping->bytes > SPARE_BYTES_MAX || spares->n == KGB_SPARES_MAX ||
	    spares->bytes + mapping->bytes > SPARES_BYTES_MAX) {
		(void)mappings->gpu->cu->cuMemRelease(mapping->handle);
		return;
	}
	spares->items[spares->n++] =
		(struct kgb_mapping){.bytes = mapping->bytes, .handle = mapping->handle};
	spares->bytes += mapping->bytes;
}

/* Sets the handle of `mapping` to a spare of the same size, if there is one. */
static void take_spare(struct kgb_spares *spares, struct kgb_mapping *mapping)
{
	for (size_t i = 0; i < spares->n; i++) {
		if (spares->items[i].bytes != mapping->bytes)
			continue;
		mapping->handle = spares->items[i].handle;
		spares->bytes -= mapping->bytes;
		spares->items[i] = spares->items[--spares->n];
		return;
	}
}

static void release_retired(struct kgb_spares *spares, struct kgb_gpu *gpu)
{
	for (size_t i = 0; i < spares->retired.n; i++)
		(void)gpu->cu->cuMemRelease(spares->retired.items[i]);
	KGB_VEC_RELEASE(&spares->retired);
	spares->retired.bytes = 0;
}

void kgb_spares_clear(struct kgb_spares *spares, struct kgb_gpu *gpu)
{
	for (size_t i = 0; i < spares->n; i++)
		(void)gpu->cu->cuMemRelease(spares->items[i].handle);
	release_retired(spares, gpu);
	*spares = (struct kgb_spares){0};
}

/* ---- mappings ---- */

int kgb_mappings_add(struct kgb_mappings *mappings, const struct kgb_spans *pages,
		     struct kgb_err *err)
{
	KGB_AUTO(spans) struct kgb_spans missing = KGB_SPANS_INIT;
	int status = 0;

	kgb_spans_subtract(pages, &mappings->pages, &missing);
	for (size_t i = 0; i < missing.n; i++) {
		struct kgb_mapping made = {.address = missing.items[i].start,
					   .bytes = missing.items[i].bytes};

		take_spare(mappings->spares, &made);
		status = kgb_gpu_map_new(mappings->gpu, &made, err);
		if (status)
			break;
		KGB_VEC_ADD(mappings, made);
		kgb_spans_put(&mappings->pages, made.address, made.bytes);
	}
	kgb_spans_normalize(&mappings->pages);
	return status;
}

void kgb_mappings_keep(struct kgb_mappings *mappings, const struct kgb_spans *pages)
{
	size_t n = 0;

	kgb_spans_clear(&mappings->pages);
	for (size_t i = 0; i < mappings->n; i++) {
		struct kgb_mapping *mapping = &mappings->items[i];
		if (!kgb_spans_hold(pages, mapping->address, mapping->bytes)) {
			(void)mappings->gpu->cu->cuMemUnmap(mapping->address, mapping->bytes);
			put_spare(mappings, mapping);
			continue;
		}
		kgb_spans_put(&mappings->pages, mapping->address, mapping->bytes);
		mappings->items[n++] = *mapping;
	}
	mappings->n = n;
	kgb_spans_normalize(&mappings->pages);
}

/* ---- other memory ---- */

void kgb_await_clearing(uint64_t bytes)
{
	if (bytes > 0)
		kgb_sleep_ns(CLEARING_STARTS_NS + bytes / CLEARED_BYTES_PER_NS);
}

/* New memory for a mapping, and a spacer, which separates it from the memory that was made before.
 */
struct replacement {
	struct kgb_mapping *mapping; /* borrowed */
	CUmemGenericAllocationHandle handle, spacer; /* 0: none */
	uint64_t spacer_bytes;
};

static void retire(struct kgb_spares *spares, CUmemGenericAllocationHandle handle, uint64_t bytes)
{
	if (!handle)
		return;
	KGB_VEC_ADD(&spares->retired, handle);
	spares->retired.bytes += bytes;
}

static void retire_replacements(struct kgb_spares *spares, struct kgb_gpu *gpu,
				const struct replacement *made, size_t n, uint64_t limit)
{
	for (size_t i = 0; i < n; i++) {
		retire(spares, made[i].handle, made[i].mapping->bytes);
		retire(spares, made[i].spacer, made[i].spacer_bytes);
	}
	const uint64_t bytes = spares->retired.bytes;
	if (bytes > limit) {
		release_retired(spares, gpu);
		kgb_await_clearing(bytes);
	}
}

static uint64_t spacer_bytes(uint64_t seed, size_t i, uint64_t limit)
{
	const uint64_t pages = (limit < SPACER_BYTES_MAX ? limit : SPACER_BYTES_MAX) / KGB_GPU_PAGE;

	return pages > 0 ? kgb_exec_poison_word(seed, 8 * i) % pages * KGB_GPU_PAGE : 0;
}

/* Go on without a spacer if there is no memory for it. */
static int make_replacements(struct kgb_gpu *gpu, struct replacement *made, size_t n, uint64_t seed,
			     uint64_t spare_bytes, struct kgb_err *err)
{
	struct kgb_err ignored = KGB_ERR_INIT;

	for (size_t i = 0; i < n; i++) {
		const uint64_t bytes = spacer_bytes(seed, i, spare_bytes / n);
		if (bytes > 0 && !kgb_gpu_memory_new(gpu, bytes, &made[i].spacer, &ignored))
			made[i].spacer_bytes = bytes;
		if (kgb_gpu_memory_new(gpu, made[i].mapping->bytes, &made[i].handle, err))
			return -1;
	}
	return 0;
}

/* Maps the new memory in place of the old. *made gets the old handle. */
static int exchange(struct kgb_gpu *gpu, struct replacement *made, struct kgb_err *err)
{
	struct kgb_mapping *mapping = made->mapping;
	const CUmemGenericAllocationHandle old = mapping->handle;

	if (kgb_gpu_check(gpu, gpu->cu->cuMemUnmap(mapping->address, mapping->bytes),
			  KGB_EXEC_UNAVAILABLE, err, "unmap %llu bytes at 0x%llx",
			  (unsigned long long)mapping->bytes, mapping->address))
		return -1;
	mapping->handle = made->handle;
	made->handle = old;
	return kgb_gpu_map(gpu, mapping, err) ? kgb_exec_refuse(err, KGB_EXEC_UNAVAILABLE) : 0;
}

int kgb_mappings_replace(struct kgb_mappings *const *sets, size_t n_sets, uint64_t seed,
			 struct kgb_err *err)
{
	struct kgb_gpu *gpu = sets[0]->gpu;
	KGB_AUTO(free) struct replacement *made = NULL;
	uint64_t wanted = 0;
	uint64_t free_bytes;
	size_t n = 0;

	if (kgb_gpu_free_bytes(gpu, &free_bytes, err))
		return -1;
	for (size_t i = 0; i < n_sets; i++)
		n += sets[i]->n;
	if (n == 0)
		return 0;
	made = kgb_xcalloc(n, sizeof(made[0]));
	n = 0;
	for (size_t i = 0; i < n_sets; i++) {
		for (size_t k = 0; k < sets[i]->n; k++)
			made[n++].mapping = &sets[i]->items[k];
		wanted += kgb_spans_total(&sets[i]->pages);
	}
	if (wanted > free_bytes)
		return kgb_exec_fail(
			err, KGB_EXEC_NO_MEMORY,
			"another %llu bytes of GPU memory to replace as many, %llu are free",
			(unsigned long long)wanted, (unsigned long long)free_bytes);
	int status =
		make_replacements(gpu, made, n, seed, (free_bytes - wanted) / SPACERS_DIVISOR, err);
	for (size_t i = 0; !status && i < n; i++)
		status = exchange(gpu, &made[i], err);
	retire_replacements(sets[0]->spares, gpu, made, n,
			    status ? 0 : free_bytes / RETIRED_DIVISOR);
	return status;
}
