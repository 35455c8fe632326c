/* SPDX-License-Identifier: MIT */
/* Torch's memory in a runner on the CPU. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "verify/protocol/record.h"
#include "verify/trace/cpu/cpu_pool.h"

#define N 100

/* The kernel reads the byte for us: a fault would end the test. */
static bool is_mapped(uint64_t address)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	const ssize_t n = write(ends[1], (const void *)(uintptr_t)address, 1);
	const bool mapped = n == 1 || errno != EFAULT;
	close(ends[0]);
	close(ends[1]);
	return mapped;
}

static uint64_t take(struct kgb_cpu_pool *pool, uint64_t bytes)
{
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t address = 0;

	if (kgb_cpu_pool_take(pool, bytes, &address, &err) < 0)
		fail_msg("%s", err.msg);
	return address;
}

static void give(struct kgb_cpu_pool *pool, uint64_t address)
{
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_cpu_pool_give(pool, address, &err) < 0)
		fail_msg("%s", err.msg);
}

static void test_blocks_lie_apart_with_nothing_between(void **state)
{
	struct kgb_cpu_pool pool;

	(void)state;
	kgb_cpu_pool_init(&pool);
	const uint64_t a = take(&pool, N), b = take(&pool, KGB_GPU_PAGE + 1);
	assert_int_equal(a, KGB_POOL_ADDRESS);
	assert_int_equal(b, a + 2 * KGB_GPU_PAGE);
	memset((void *)(uintptr_t)b, 1, KGB_GPU_PAGE + 1);
	assert_true(is_mapped(a));
	assert_false(is_mapped(a - 1));
	assert_false(is_mapped(a + (uint64_t)sysconf(_SC_PAGESIZE)));
	assert_false(is_mapped(b - 1));
	assert_false(is_mapped(b + 2 * KGB_GPU_PAGE));
	assert_int_equal(take(&pool, 1), b + 3 * KGB_GPU_PAGE);
	kgb_cpu_pool_release(&pool);
	assert_false(is_mapped(a));
}

static void test_a_block_is_used_again_for_the_same_pages_only(void **state)
{
	struct kgb_cpu_pool pool;

	(void)state;
	kgb_cpu_pool_init(&pool);
	const uint64_t a = take(&pool, N);
	give(&pool, a);
	assert_int_equal(pool.live.n, 0);
	const uint64_t b = take(&pool, (uint64_t)sysconf(_SC_PAGESIZE) + 1);
	assert_true(b > a);
	assert_int_equal(take(&pool, 2 * N), a);
	assert_int_equal(pool.live.items[0].value, 2 * N);
	assert_true(take(&pool, N) > b);
	kgb_cpu_pool_release(&pool);
}

static void test_a_call_does_not_get_again_what_it_frees(void **state)
{
	struct kgb_cpu_pool pool;

	(void)state;
	kgb_cpu_pool_init(&pool);
	const uint64_t a = take(&pool, N);
	give(&pool, a);
	pool.call++;
	pool.keeps_apart = true;
	assert_int_equal(take(&pool, N), a); /* an earlier call freed it */
	give(&pool, a);
	assert_true(take(&pool, N) != a);
	pool.call++;
	assert_int_equal(take(&pool, N), a);
	kgb_cpu_pool_release(&pool);
}

static void test_every_block_is_poisoned_to_the_end_of_its_page(void **state)
{
	struct kgb_cpu_pool pool;

	(void)state;
	kgb_cpu_pool_init(&pool);
	for (int byte = 0xa5; byte >= 0; byte -= 0xa5) {
		pool.poison = byte;
		const uint64_t a = take(&pool, N);
		const unsigned char *at = (const unsigned char *)(uintptr_t)a;
		assert_int_equal(at[0], byte);
		assert_int_equal(at[sysconf(_SC_PAGESIZE) - 1], byte);
		give(&pool, a);
	}
	kgb_cpu_pool_release(&pool);
}

static void test_much_spare_memory_is_given_back(void **state)
{
	struct kgb_cpu_pool pool;

	(void)state;
	kgb_cpu_pool_init(&pool);
	const uint64_t a = take(&pool, N), b = take(&pool, KGB_CPU_POOL_SPARE_BYTES);
	give(&pool, a);
	assert_true(is_mapped(a));
	give(&pool, b);
	assert_false(is_mapped(a));
	assert_false(is_mapped(b));
	assert_int_equal(pool.spare_bytes, 0);
	kgb_cpu_pool_release(&pool);
}

static void test_what_cannot_be_taken_or_given_is_an_error(void **state)
{
	struct kgb_cpu_pool pool;
	struct kgb_err err = KGB_ERR_INIT;
	uint64_t address = 7;

	(void)state;
	kgb_cpu_pool_init(&pool);
	assert_int_equal(kgb_cpu_pool_take(&pool, 0, &address, &err), -1);
	assert_int_equal(kgb_cpu_pool_take(&pool, KGB_POOL_BYTES, &address, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_LIMIT);
	assert_int_equal(address, 7);
	const uint64_t a = take(&pool, N);
	assert_int_equal(kgb_cpu_pool_give(&pool, a + 1, &err), -1);
	give(&pool, a);
	assert_int_equal(kgb_cpu_pool_give(&pool, a, &err), -1);
	assert_int_equal(err.kind, KGB_ERR_INVALID);
	kgb_cpu_pool_release(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_lie_apart_with_nothing_between),
		cmocka_unit_test(test_a_call_does_not_get_again_what_it_frees),
		cmocka_unit_test(test_a_block_is_used_again_for_the_same_pages_only),
		cmocka_unit_test(test_every_block_is_poisoned_to_the_end_of_its_page),
		cmocka_unit_test(test_much_spare_memory_is_given_back),
		cmocka_unit_test(test_what_cannot_be_taken_or_given_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
