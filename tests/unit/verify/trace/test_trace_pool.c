/* SPDX-License-Identifier: MIT */
#include "tests/unit/base/support.h"
#include "verify/recorder/address_table.h"
#include "verify/trace/pool.h"

/* ---- A driver that keeps books ---- */

#define FAKE_PAGE (UINT64_C(2) << 20)

static struct {
	struct kgb_address_table reserved, mapped;
	uint64_t memory_bytes, memory_limit;
	uint64_t created_bytes; /* of the handle between create and map */
	unsigned n_syncs, n_memsets;
	uint64_t memset_address, memset_bytes;
	unsigned char memset_value;
	CUstream memset_stream;
	bool capturing, address_taken;
	size_t granularity;
} gpu;

static CUresult fake_reserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
			     unsigned long long flags)
{
	(void)alignment;
	(void)flags;
	assert_int_equal(addr % (UINT64_C(32) << 20), 0);
	*ptr = gpu.address_taken ? addr + FAKE_PAGE : addr;
	kgb_address_table_put(&gpu.reserved, *ptr, size);
	return CUDA_SUCCESS;
}

static CUresult fake_address_free(CUdeviceptr ptr, size_t size)
{
	(void)size;
	assert_true(kgb_address_table_drop(&gpu.reserved, ptr));
	return CUDA_SUCCESS;
}

static CUresult fake_create(CUmemGenericAllocationHandle *handle, size_t size,
			    const CUmemAllocationProp *prop, unsigned long long flags)
{
	(void)flags;
	assert_int_equal(prop->location.type, CU_MEM_LOCATION_TYPE_DEVICE);
	assert_int_equal(size % FAKE_PAGE, 0);
	if (gpu.memory_bytes + size > gpu.memory_limit)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu.memory_bytes += size;
	gpu.created_bytes = size;
	*handle = 1;
	return CUDA_SUCCESS;
}

static CUresult fake_release(CUmemGenericAllocationHandle handle)
{
	(void)handle;
	gpu.created_bytes = 0;
	return CUDA_SUCCESS;
}

static bool inside(const struct kgb_address_table *ranges, uint64_t address, uint64_t bytes)
{
	const struct kgb_entry *range = kgb_address_table_holder(ranges, address);

	return range && address + bytes <= range->key + range->value;
}

static CUresult fake_map(CUdeviceptr ptr, size_t size, size_t offset,
			 CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	(void)offset;
	(void)handle;
	(void)flags;
	assert_int_equal(size, gpu.created_bytes);
	assert_true(inside(&gpu.reserved, ptr, size));
	for (uint64_t at = 0; at < size; at += FAKE_PAGE)
		assert_null(kgb_address_table_holder(&gpu.mapped, ptr + at));
	kgb_address_table_put(&gpu.mapped, ptr, size);
	return CUDA_SUCCESS;
}

static CUresult fake_access(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	(void)count;
	assert_int_equal(desc->flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_true(inside(&gpu.mapped, ptr, size));
	return CUDA_SUCCESS;
}

static CUresult fake_unmap(CUdeviceptr ptr, size_t size)
{
	const struct kgb_entry *range = kgb_address_table_holder(&gpu.mapped, ptr);

	assert_non_null(range);
	assert_int_equal(range->key, ptr);
	assert_int_equal(range->value, size);
	/* The other windows of the arena have the memory of the first. */
	if (ptr - KGB_ARENA_ADDRESS - KGB_ARENA_STRIDE >= KGB_ARENA_SPAN - KGB_ARENA_STRIDE)
		gpu.memory_bytes -= size;
	kgb_address_table_drop(&gpu.mapped, ptr);
	return CUDA_SUCCESS;
}

static CUresult fake_granularity(size_t *granularity, const CUmemAllocationProp *prop,
				 CUmemAllocationGranularity_flags option)
{
	(void)prop;
	(void)option;
	*granularity = gpu.granularity;
	return CUDA_SUCCESS;
}

static CUresult fake_sync(void)
{
	gpu.n_syncs++;
	return CUDA_SUCCESS;
}

static CUresult fake_memset(CUdeviceptr ptr, unsigned char value, size_t n, CUstream stream)
{
	assert_true(inside(&gpu.mapped, ptr, n));
	gpu.n_memsets++;
	gpu.memset_address = ptr;
	gpu.memset_bytes = n;
	gpu.memset_value = value;
	gpu.memset_stream = stream;
	return CUDA_SUCCESS;
}

static CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = gpu.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static const struct kgb_cuda fake = {
	.cuMemAddressReserve = fake_reserve,
	.cuMemAddressFree = fake_address_free,
	.cuMemCreate = fake_create,
	.cuMemRelease = fake_release,
	.cuMemMap = fake_map,
	.cuMemSetAccess = fake_access,
	.cuMemUnmap = fake_unmap,
	.cuMemGetAllocationGranularity = fake_granularity,
	.cuCtxSynchronize = fake_sync,
	.cuMemsetD8Async = fake_memset,
	.cuStreamIsCapturing = fake_capturing,
};

static int setup(void **state)
{
	struct kgb_pool *pool = kgb_xcalloc(1, sizeof(*pool));

	kgb_address_table_release(&gpu.reserved);
	kgb_address_table_release(&gpu.mapped);
	memset(&gpu, 0, sizeof(gpu));
	gpu.memory_limit = UINT64_C(100) << 30;
	gpu.granularity = FAKE_PAGE;
	kgb_pool_init(pool, &fake);
	*state = pool;
	return 0;
}

static int teardown(void **state)
{
	struct kgb_pool *pool = *state;

	KGB_VEC_RELEASE(&pool->pieces);
	kgb_free(pool);
	kgb_address_table_release(&gpu.reserved);
	kgb_address_table_release(&gpu.mapped);
	return 0;
}

#define STREAM(n) ((CUstream)(uintptr_t)(n))

static uint64_t alloc_on(struct kgb_pool *pool, uint64_t bytes, unsigned stream)
{
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t address = 0;

	assert_ok(kgb_pool_alloc(pool, bytes, 0, STREAM(stream), false, &address, &err), err);
	return address;
}

static void free_on(struct kgb_pool *pool, uint64_t address, unsigned stream)
{
	struct kgb_err err = KGB_ERR_INIT;
	bool gone = false;

	assert_ok(kgb_pool_free(pool, address, STREAM(stream), &gone, &err), err);
	assert_true(gone);
}

/* Free more than the pool keeps: it unmaps all that is free. */
static void free_too_much(struct kgb_pool *pool)
{
	free_on(pool, alloc_on(pool, KGB_POOL_SPARE_BYTES + 1, 0), 0);
}

/* ---- Blocks ---- */

static void test_every_block_has_pages_of_its_own_with_an_unmapped_one_behind(void **state)
{
	static const uint64_t sizes[] = {1, FAKE_PAGE - 1, FAKE_PAGE, FAKE_PAGE + 1, 3};
	struct kgb_pool *pool = *state;
	uint64_t next = KGB_POOL_ADDRESS;

	for (size_t i = 0; i < KGB_ARRAY_LEN(sizes); i++) {
		const uint64_t address = alloc_on(pool, sizes[i], 0);
		const uint64_t pages = (sizes[i] + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;

		assert_int_equal(address, next);
		assert_true(inside(&gpu.mapped, address, pages));
		assert_null(kgb_address_table_holder(&gpu.mapped, address + pages));
		next = address + pages + FAKE_PAGE;
	}
	assert_int_equal(gpu.mapped.n, KGB_ARRAY_LEN(sizes));
	assert_int_equal(gpu.memory_bytes, 6 * FAKE_PAGE);
}

static void test_a_freed_block_comes_again_and_only_other_streams_wait(void **state)
{
	struct kgb_pool *pool = *state;
	const uint64_t first = alloc_on(pool, 100, 5);

	free_on(pool, first, 5);
	assert_int_equal(alloc_on(pool, 200, 5), first);
	assert_int_equal(gpu.n_syncs, 0);
	free_on(pool, first, 5);
	assert_int_equal(alloc_on(pool, 300, 6), first);
	assert_int_equal(gpu.n_syncs, 1);
	/* Of another size: not that one. */
	free_on(pool, first, 6);
	assert_int_not_equal(alloc_on(pool, FAKE_PAGE + 1, 6), first);
}

static void test_a_block_of_the_same_stream_is_preferred(void **state)
{
	struct kgb_pool *pool = *state;
	const uint64_t first = alloc_on(pool, 100, 5), second = alloc_on(pool, 100, 6);

	free_on(pool, first, 5);
	free_on(pool, second, 6);
	assert_int_equal(alloc_on(pool, 100, 6), second);
	assert_int_equal(gpu.n_syncs, 0);
}

static void test_only_what_is_free_is_unmapped_and_after_a_wait(void **state)
{
	struct kgb_pool *pool = *state;
	const uint64_t used = alloc_on(pool, 100, 0), spare = alloc_on(pool, 100, 0);

	free_on(pool, spare, 0);
	assert_int_equal(gpu.n_syncs, 0);
	free_too_much(pool);
	assert_int_equal(gpu.n_syncs, 1);
	assert_null(kgb_address_table_holder(&gpu.mapped, spare));
	assert_non_null(kgb_address_table_holder(&gpu.mapped, used));
	assert_int_equal(gpu.memory_bytes, FAKE_PAGE);
}

static void test_only_so_many_freed_blocks_are_kept(void **state)
{
	struct kgb_pool *pool = *state;
	uint64_t blocks[KGB_POOL_SPARE_MAX + 1];

	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++)
		blocks[i] = alloc_on(pool, 100, 0);
	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++)
		free_on(pool, blocks[i], 0);
	assert_int_equal(gpu.mapped.n, 0);
	assert_int_equal(pool->spare_bytes, 0);
	free_on(pool, alloc_on(pool, KGB_POOL_SPARE_BYTES, 0), 0);
	assert_int_equal(gpu.mapped.n, 1);
	free_on(pool, alloc_on(pool, 100, 0), 0);
	assert_int_equal(gpu.mapped.n, 0);
}

static void test_without_memory_freed_blocks_go_first_and_then_it_fails(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t address = 1;

	gpu.memory_limit = 4 * FAKE_PAGE;
	free_on(pool, alloc_on(pool, 3 * FAKE_PAGE, 0), 0);
	alloc_on(pool, 2 * FAKE_PAGE, 0);
	assert_int_equal(gpu.mapped.n, 1);
	assert_int_equal(kgb_pool_alloc(pool, 3 * FAKE_PAGE, 0, NULL, false, &address, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	assert_int_equal(address, 1);
	/* What failed costs nothing: there is still room for this. */
	alloc_on(pool, 2 * FAKE_PAGE, 0);
}

static void test_addresses_that_ran_out_come_again(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const uint64_t first = alloc_on(pool, 100, 0);
	uint64_t address = 0;

	free_on(pool, first, 0);
	free_too_much(pool);
	pool->next = KGB_POOL_ADDRESS + KGB_POOL_BYTES - FAKE_PAGE;
	assert_int_equal(alloc_on(pool, 100, 0), first);
	assert_int_equal(kgb_pool_alloc(pool, 100, 0, NULL, false, &address, &err), -1);
	assert_contains(err.msg, "no addresses left");
}

static void test_blocks_of_a_capture_are_never_given_to_others(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const uint64_t old = alloc_on(pool, 100, 0);
	uint64_t address = 0;
	bool gone = true;

	free_on(pool, old, 0);
	assert_ok(kgb_pool_alloc(pool, 100, 0, NULL, true, &address, &err), err);
	assert_int_not_equal(address, old);
	assert_ok(kgb_pool_free(pool, address, NULL, &gone, &err), err);
	assert_false(gone);
	assert_int_equal(alloc_on(pool, 100, 0), old);
	assert_int_not_equal(alloc_on(pool, 100, 0), address);
	free_too_much(pool);
	assert_non_null(kgb_address_table_holder(&gpu.mapped, address));
}

static void test_poison_fills_whole_pages_on_the_blocks_stream_but_not_in_a_graph(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t address, other = 0;

	alloc_on(pool, 100, 3);
	assert_int_equal(gpu.n_memsets, 0);
	pool->poison = 0xa5;
	address = alloc_on(pool, FAKE_PAGE + 5, 3);
	assert_int_equal(gpu.n_memsets, 1);
	assert_int_equal(gpu.memset_address, address);
	assert_int_equal(gpu.memset_bytes, 2 * FAKE_PAGE);
	assert_int_equal(gpu.memset_value, 0xa5);
	assert_ptr_equal(gpu.memset_stream, STREAM(3));
	free_on(pool, address, 3);
	alloc_on(pool, FAKE_PAGE + 5, 3);
	assert_int_equal(gpu.n_memsets, 2);
	gpu.capturing = true;
	assert_ok(kgb_pool_alloc(pool, 1, 0, STREAM(3), true, &other, &err), err);
	assert_int_equal(gpu.n_memsets, 2);
}

static void test_wrong_frees_and_sizes_are_refused(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;
	const uint64_t address = alloc_on(pool, 100, 0);
	uint64_t out = 0;
	bool gone = false;

	assert_int_equal(kgb_pool_free(pool, address + 1, NULL, &gone, &err), -1);
	assert_contains(err.msg, "pool: no block at 0x");
	free_on(pool, address, 0);
	assert_int_equal(kgb_pool_free(pool, address, NULL, &gone, &err), -1);
	assert_int_equal(kgb_pool_alloc(pool, 0, 0, NULL, false, &out, &err), -1);
	assert_int_equal(kgb_pool_alloc(pool, UINT64_MAX, 0, NULL, false, &out, &err), -1);
	assert_int_equal(kgb_pool_alloc(pool, KGB_POOL_BYTES, 0, NULL, false, &out, &err), -1);
}

static void test_addresses_that_are_taken_or_odd_pages_are_errors(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t out = 0;

	gpu.granularity = 3 << 20;
	assert_int_equal(kgb_pool_alloc(pool, 1, 0, NULL, false, &out, &err), -1);
	assert_contains(err.msg, "pages of the GPU have 3145728 bytes");
	gpu.granularity = FAKE_PAGE;
	gpu.address_taken = true;
	assert_int_equal(kgb_pool_alloc(pool, 1, 0, NULL, false, &out, &err), -1);
	assert_contains(err.msg, "the addresses from 0x2acb00000000 are taken");
	assert_int_equal(gpu.reserved.n, 0);
	gpu.address_taken = false;
	assert_int_equal(alloc_on(pool, 1, 0), KGB_POOL_ADDRESS);
}

/* ---- The arena ---- */

static void test_the_arena_is_mapped_in_all_windows_and_replaced(void **state)
{
	struct kgb_pool *pool = *state;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_pool_arena_map(pool, 5, 0, &err), err);
	assert_true(inside(&gpu.mapped, KGB_ARENA_ADDRESS, FAKE_PAGE));
	assert_true(inside(&gpu.mapped, KGB_ARENA_ADDRESS + KGB_ARENA_STRIDE, FAKE_PAGE));
	assert_ok(kgb_pool_arena_map(pool, FAKE_PAGE + 1, 0, &err), err);
	assert_int_equal(gpu.n_syncs, 1);
	assert_int_equal(gpu.mapped.n, KGB_ARENA_WINDOWS);
	assert_int_equal(pool->arena_bytes, 2 * FAKE_PAGE);
	assert_int_equal(gpu.memory_bytes, 2 * FAKE_PAGE);
	assert_int_equal(kgb_pool_arena_map(pool, 0, 0, &err), -1);
	assert_int_equal(kgb_pool_arena_map(pool, KGB_ARENA_BYTES_MAX + 1, 0, &err), -1);
}

int main(void)
{
#define POOL_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		POOL_TEST(test_every_block_has_pages_of_its_own_with_an_unmapped_one_behind),
		POOL_TEST(test_a_freed_block_comes_again_and_only_other_streams_wait),
		POOL_TEST(test_a_block_of_the_same_stream_is_preferred),
		POOL_TEST(test_only_what_is_free_is_unmapped_and_after_a_wait),
		POOL_TEST(test_only_so_many_freed_blocks_are_kept),
		POOL_TEST(test_without_memory_freed_blocks_go_first_and_then_it_fails),
		POOL_TEST(test_addresses_that_ran_out_come_again),
		POOL_TEST(test_blocks_of_a_capture_are_never_given_to_others),
		POOL_TEST(test_poison_fills_whole_pages_on_the_blocks_stream_but_not_in_a_graph),
		POOL_TEST(test_wrong_frees_and_sizes_are_refused),
		POOL_TEST(test_addresses_that_are_taken_or_odd_pages_are_errors),
		POOL_TEST(test_the_arena_is_mapped_in_all_windows_and_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
