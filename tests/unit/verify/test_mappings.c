/* SPDX-License-Identifier: MIT */
/* Mappings of GPU memory, on a driver that keeps count and no memory. */
#include "tests/unit/base/support.h"
#include "verify/exec/cuda/mappings.h"
#include "verify/protocol/record.h"

enum { HANDLES = 64, HELD = 3 };

#define PAGE KGB_GPU_PAGE
#define BASE KGB_POOL_ADDRESS

/* What the driver knows: blocks by handle - 1. */
static struct {
	uint64_t asked[HANDLES];
	uint64_t bytes[HANDLES]; /* 0: never made, or given back */
	uint64_t address[HANDLES]; /* 0: not mapped */
	bool released[HANDLES];
	size_t n_made;
	size_t fail_at; /* the so-manieth block cannot be had; 0: all can */
	uint64_t largest; /* and none above this */
	uint64_t free_bytes;
} gpu_memory;

static CUresult memory_create(CUmemGenericAllocationHandle *handle, size_t bytes,
			      const CUmemAllocationProp *prop, unsigned long long flags)
{
	size_t i = gpu_memory.n_made++;

	(void)prop;
	(void)flags;
	assert_true(i < HANDLES);
	if (gpu_memory.n_made == gpu_memory.fail_at || bytes > gpu_memory.largest)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu_memory.asked[i] = gpu_memory.bytes[i] = bytes;
	*handle = i + 1;
	return CUDA_SUCCESS;
}

static CUresult memory_release(CUmemGenericAllocationHandle handle)
{
	size_t i = handle - 1;

	assert_true(i < gpu_memory.n_made && gpu_memory.bytes[i] > 0 && !gpu_memory.released[i]);
	assert_int_equal(gpu_memory.address[i], 0);
	gpu_memory.released[i] = true;
	gpu_memory.bytes[i] = 0;
	return CUDA_SUCCESS;
}

static CUresult memory_map(CUdeviceptr address, size_t bytes, size_t offset,
			   CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	(void)flags;
	assert_int_equal(offset, 0);
	assert_int_equal(gpu_memory.bytes[handle - 1], bytes);
	for (size_t i = 0; i < gpu_memory.n_made; i++)
		assert_true(gpu_memory.address[i] != address);
	gpu_memory.address[handle - 1] = address;
	return CUDA_SUCCESS;
}

static CUresult memory_unmap(CUdeviceptr address, size_t bytes)
{
	for (size_t i = 0; i < gpu_memory.n_made; i++) {
		if (gpu_memory.address[i] != address)
			continue;
		assert_int_equal(gpu_memory.bytes[i], bytes);
		gpu_memory.address[i] = 0;
		return CUDA_SUCCESS;
	}
	fail_msg("nothing is mapped there");
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult memory_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
			      size_t n)
{
	(void)address;
	(void)bytes;
	(void)access;
	assert_int_equal(n, 1);
	return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = gpu_memory.free_bytes;
	*total_bytes = UINT64_C(1) << 37;
	return CUDA_SUCCESS;
}

static CUresult error_name(CUresult error, const char **name)
{
	(void)error;
	*name = "an error";
	return CUDA_SUCCESS;
}

static const struct kgb_cuda driver = {
	.cuMemCreate = memory_create,
	.cuMemRelease = memory_release,
	.cuMemMap = memory_map,
	.cuMemUnmap = memory_unmap,
	.cuMemSetAccess = memory_access,
	.cuMemGetInfo = memory_info,
	.cuGetErrorName = error_name,
};

static struct kgb_gpu gpu = {.cu = &driver};
static struct kgb_spares spares;

/* Handle of the block that is mapped there; 0: none. */
static size_t handle_at(uint64_t address)
{
	for (size_t i = 0; i < gpu_memory.n_made; i++)
		if (gpu_memory.address[i] == address)
			return i + 1;
	return 0;
}

static size_t n_alive(void)
{
	size_t n = 0;

	for (size_t i = 0; i < gpu_memory.n_made; i++)
		n += gpu_memory.bytes[i] > 0;
	return n;
}

static void start(struct kgb_mappings sets[2])
{
	memset(&gpu_memory, 0, sizeof(gpu_memory));
	gpu_memory.largest = UINT64_MAX;
	gpu_memory.free_bytes = UINT64_C(64) << 30;
	for (size_t i = 0; i < 2; i++)
		sets[i] = (struct kgb_mappings){.gpu = &gpu, .spares = &spares};
}

static int add(struct kgb_mappings *mappings, uint64_t start, uint64_t bytes, uint64_t more)
{
	KGB_AUTO(spans) struct kgb_spans pages = KGB_SPANS_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	kgb_spans_put(&pages, start, bytes);
	kgb_spans_put(&pages, more, PAGE);
	kgb_spans_normalize(&pages);
	return kgb_mappings_add(mappings, &pages, &err);
}

static void keep(struct kgb_mappings *mappings, uint64_t start, uint64_t bytes)
{
	KGB_AUTO(spans) struct kgb_spans pages = KGB_SPANS_INIT;

	kgb_spans_put(&pages, start, bytes);
	kgb_mappings_keep(mappings, &pages);
}

/* Two sets with HELD mappings in all. */
static void map_some(struct kgb_mappings sets[2])
{
	start(sets);
	assert_int_equal(add(&sets[0], BASE, 3 * PAGE, BASE + 8 * PAGE), KGB_EXEC_OK);
	assert_int_equal(add(&sets[1], BASE + 9 * PAGE, PAGE, BASE + 9 * PAGE), KGB_EXEC_OK);
	assert_int_equal(kgb_spans_total(&sets[0].pages), 4 * PAGE);
	assert_int_equal(n_alive(), HELD);
}

static const uint64_t places[HELD] = {BASE, BASE + 8 * PAGE, BASE + 9 * PAGE};

static void unmap_all(struct kgb_mappings sets[2])
{
	for (size_t i = 0; i < 2; i++) {
		keep(&sets[i], 0, 0);
		kgb_free(sets[i].items);
		kgb_spans_release(&sets[i].pages);
	}
	kgb_spares_clear(&spares, &gpu);
	assert_int_equal(n_alive(), 0);
}

static enum kgb_exec_status replace(struct kgb_mappings sets[2], uint64_t seed)
{
	struct kgb_mappings *const both[] = {&sets[0], &sets[1]};
	struct kgb_err err = KGB_ERR_INIT;
	const int status = kgb_mappings_replace(both, 2, seed, &err);

	assert_int_equal(status, err.msg[0] ? -1 : 0);
	return status ? (enum kgb_exec_status)err.code : KGB_EXEC_OK;
}

static void test_replaced_memory_is_other_memory_at_the_same_addresses(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	map_some(sets);
	for (uint64_t seed = 1; seed <= 5; seed++) {
		const size_t n_before = gpu_memory.n_made;
		assert_int_equal(replace(sets, seed), KGB_EXEC_OK);
		for (size_t i = 0; i < HELD; i++)
			assert_true(handle_at(places[i]) > n_before);
		assert_int_equal(n_alive(), HELD + spares.retired.n);
		assert_true(spares.retired.bytes >= seed * 5 * PAGE);
		assert_int_equal(kgb_spans_total(&sets[0].pages), 4 * PAGE);
	}
	unmap_all(sets);
}

/* What others may need is not held. */
static void test_replaced_memory_is_given_back_when_it_is_too_much(void **state)
{
	struct kgb_mappings sets[2];
	uint64_t most = 0;

	(void)state;
	map_some(sets);
	gpu_memory.free_bytes = 4 * 20 * PAGE;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		assert_int_equal(replace(sets, seed), KGB_EXEC_OK);
		assert_true(spares.retired.bytes <= 20 * PAGE);
		assert_int_equal(n_alive(), HELD + spares.retired.n);
		most = spares.retired.bytes > most ? spares.retired.bytes : most;
	}
	assert_true(most > 0);
	unmap_all(sets);
}

/* Blocks that were made for a while only: their sizes tell where the others lie. */
static void test_every_seed_holds_other_blocks_meanwhile(void **state)
{
	struct kgb_mappings sets[2];
	uint64_t sums[4] = {0};

	(void)state;
	map_some(sets);
	for (size_t seed = 0; seed < KGB_ARRAY_LEN(sums); seed++) {
		const size_t n_before = gpu_memory.n_made;
		assert_int_equal(replace(sets, seed), KGB_EXEC_OK);
		for (size_t i = n_before; i < gpu_memory.n_made; i++)
			sums[seed] += gpu_memory.asked[i];
		assert_true(sums[seed] > 5 * PAGE);
		for (size_t i = 0; i < seed; i++)
			assert_true(sums[i] != sums[seed]);
	}
	unmap_all(sets);
}

static void test_memory_that_does_not_suffice_leaves_all_as_it_is(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	map_some(sets);
	gpu_memory.free_bytes = 4 * PAGE;
	assert_int_equal(replace(sets, 1), KGB_EXEC_NO_MEMORY);
	/* What the driver says is free may still not be had. */
	gpu_memory.free_bytes = 5 * PAGE;
	for (size_t i = 1; i <= HELD; i++) {
		gpu_memory.fail_at = gpu_memory.n_made + i;
		assert_int_equal(replace(sets, 1), KGB_EXEC_NO_MEMORY);
		assert_int_equal(n_alive(), HELD);
		for (size_t k = 0; k < HELD; k++)
			assert_int_equal(handle_at(places[k]), k + 1);
	}
	gpu_memory.fail_at = 0;
	assert_int_equal(replace(sets, 1), KGB_EXEC_OK);
	unmap_all(sets);
}

static void test_what_is_only_held_is_done_without(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	map_some(sets);
	gpu_memory.largest = 3 * PAGE;
	assert_int_equal(replace(sets, 7), KGB_EXEC_OK);
	assert_int_equal(n_alive(), HELD + spares.retired.n);
	unmap_all(sets);
}

static void test_pages_that_are_mapped_are_not_mapped_again(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	map_some(sets);
	assert_int_equal(add(&sets[0], BASE, 3 * PAGE, BASE + 8 * PAGE), KGB_EXEC_OK);
	assert_int_equal(n_alive(), HELD);
	/* One on each side of what is there. */
	assert_int_equal(add(&sets[0], BASE - PAGE, 5 * PAGE, BASE + 8 * PAGE), KGB_EXEC_OK);
	assert_int_equal(n_alive(), HELD + 2);
	assert_true(handle_at(BASE - PAGE) && handle_at(BASE + 3 * PAGE));
	assert_int_equal(kgb_spans_total(&sets[0].pages), 6 * PAGE);
	unmap_all(sets);
}

static void test_only_what_lies_within_is_kept(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	map_some(sets);
	keep(&sets[0], BASE, 9 * PAGE);
	assert_true(handle_at(BASE) && handle_at(BASE + 8 * PAGE));
	keep(&sets[0], BASE + PAGE, 8 * PAGE);
	assert_false(handle_at(BASE));
	assert_true(handle_at(BASE + 8 * PAGE));
	assert_int_equal(kgb_spans_total(&sets[0].pages), PAGE);
	unmap_all(sets);
}

static void test_small_memory_serves_again_and_large_memory_does_not(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	map_some(sets);
	const size_t handle = handle_at(BASE);
	keep(&sets[0], BASE + 8 * PAGE, PAGE);
	assert_int_equal(n_alive(), HELD); /* one of them is spare */
	assert_int_equal(add(&sets[1], BASE + 20 * PAGE, 3 * PAGE, BASE + 9 * PAGE), KGB_EXEC_OK);
	assert_int_equal(handle_at(BASE + 20 * PAGE), handle);
	assert_int_equal(spares.n, 0);
	assert_int_equal(add(&sets[0], BASE + 40 * PAGE, 9 * PAGE, BASE + 8 * PAGE), KGB_EXEC_OK);
	keep(&sets[0], BASE + 8 * PAGE, PAGE);
	assert_int_equal(n_alive(), HELD);
	unmap_all(sets);
}

static void test_spare_memory_is_bounded(void **state)
{
	struct kgb_mappings sets[2];

	(void)state;
	start(sets);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(
			add(&sets[0], BASE + i * 10 * PAGE, 4 * PAGE, BASE + i * 10 * PAGE),
			KGB_EXEC_OK);
	keep(&sets[0], 0, 0);
	assert_int_equal(spares.bytes, 64 << 20);
	assert_int_equal(n_alive(), 8);
	unmap_all(sets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaced_memory_is_other_memory_at_the_same_addresses),
		cmocka_unit_test(test_replaced_memory_is_given_back_when_it_is_too_much),
		cmocka_unit_test(test_every_seed_holds_other_blocks_meanwhile),
		cmocka_unit_test(test_memory_that_does_not_suffice_leaves_all_as_it_is),
		cmocka_unit_test(test_what_is_only_held_is_done_without),
		cmocka_unit_test(test_pages_that_are_mapped_are_not_mapped_again),
		cmocka_unit_test(test_only_what_lies_within_is_kept),
		cmocka_unit_test(test_small_memory_serves_again_and_large_memory_does_not),
		cmocka_unit_test(test_spare_memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
