/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <malloc.h>

#include "tests/unit/base/support.h"

static void test_strings_are_copied(void **state)
{
	(void)state;
	KGB_AUTO(free) char *a = kgb_xstrdup("abc");
	KGB_AUTO(free) char *b = kgb_xstrndup("abcdef", 3);
	KGB_AUTO(free) char *empty = kgb_xstrndup(NULL, 0);
	assert_string_equal(a, "abc");
	assert_string_equal(b, "abc");
	assert_string_equal(empty, "");
}

static void test_formats_of_any_length(void **state)
{
	(void)state;
	for (int width = 0; width < 2000; width += 111) {
		KGB_AUTO(free) char *s = kgb_xasprintf("%*s|", width, "");
		assert_int_equal(strlen(s), width + 1);
	}
}

static void test_zero_sizes_yield_memory(void **state)
{
	(void)state;
	KGB_AUTO(free) void *a = kgb_xmalloc(0);
	KGB_AUTO(free) void *b = kgb_xcalloc(0, 8);
	KGB_AUTO(free) void *c = kgb_xreallocarray(NULL, 0, 0);
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
}

#ifndef __SANITIZE_ADDRESS__
/* The address of a new block, which is written and freed. */
static uintptr_t visit(size_t bytes)
{
	char *block = kgb_xmalloc(bytes);
	const uintptr_t at = (uintptr_t)block;

	memset(block, 1, bytes);
	kgb_free(block);
	return at;
}

static void test_large_blocks_are_used_again(void **state)
{
	const size_t mib = (size_t)1 << 20;

	(void)state;
	const uintptr_t at = visit(64 * mib);
	assert_int_equal(visit(64 * mib), at);
	assert_int_equal(visit(17 * mib), at);
	const uintptr_t small = visit(15 * mib); /* it would waste more than three quarters */
	assert_int_not_equal(small, at);
	assert_int_equal(visit(12 * mib), small); /* not the first that is large enough */
	assert_int_not_equal(visit(80 * mib), at);
	char *taken = kgb_xmalloc(64 * mib);
	assert_int_equal((uintptr_t)taken, at);
	assert_int_not_equal(visit(64 * mib), at);
	kgb_free(taken);
}

static void test_blocks_that_are_kept_have_a_limit(void **state)
{
	char *blocks[40];

	(void)state;
	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++)
		blocks[i] = kgb_xmalloc((size_t)256 << 20); /* 10 GiB that nobody touches */
	for (size_t i = 0; i < KGB_ARRAY_LEN(blocks); i++)
		kgb_free(blocks[i]);
	assert_true(mallinfo2().hblkhd <= (size_t)5 << 30); /* on the largest machines */
}
#endif

/* Sizes that the compiler cannot see, or it warns about them. */
static volatile size_t huge = SIZE_MAX / 2;

static void overflow_realloc(void *payload)
{
	(void)payload;
	KGB_AUTO(free) void *p = kgb_xreallocarray(NULL, huge, 4);
	(void)p;
}

static void overflow_arena(void *payload)
{
	struct kgb_arena arena = KGB_ARENA_INIT;

	(void)payload;
	kgb_arena_array(&arena, huge, 4);
}

static void oversized_arena(void *payload)
{
	struct kgb_arena arena = KGB_ARENA_INIT;

	(void)payload;
	kgb_arena_alloc(&arena, huge + 1);
}

static void test_sizes_that_overflow_abort(void **state)
{
	(void)state;
	assert_aborts(overflow_realloc, NULL);
	assert_aborts(overflow_arena, NULL);
	assert_aborts(oversized_arena, NULL);
}

static void test_take_empties_the_variable(void **state)
{
	char *p = kgb_xstrdup("x");
	int fd = 42;

	(void)state;
	char *taken = KGB_TAKE(p);
	assert_null(p);
	assert_string_equal(taken, "x");
	kgb_free(taken);
	assert_int_equal(kgb_take_fd(&fd), 42);
	assert_int_equal(fd, -1);
}

static void test_close_keeps_errno(void **state)
{
	(void)state;
	errno = ENOSPC;
	kgb_close(-1);
	kgb_close(1 << 20); /* EBADF inside */
	assert_int_equal(errno, ENOSPC);
}

static void test_auto_fd_closes(void **state)
{
	int seen;

	(void)state;
	{
		KGB_AUTO(fd) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		seen = fd;
		assert_true(fd >= 0);
	}
	assert_int_equal(fcntl(seen, F_GETFD), -1);
}

static void test_arena_memory_is_zeroed_aligned_and_distinct(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;
	unsigned char *before = NULL;
	size_t before_size = 0;

	(void)state;
	for (size_t size = 0; size < 30000; size = size * 2 + 1) {
		unsigned char *p = kgb_arena_alloc(&arena, size);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xaa, size);
		for (size_t i = 0; i < before_size; i++)
			assert_int_equal(before[i], 0xaa);
		before = p;
		before_size = size;
	}
}

static void test_arena_keeps_using_a_block_behind_a_large_allocation(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;

	(void)state;
	char *a = kgb_arena_alloc(&arena, 16);
	kgb_arena_alloc(&arena, 100000);
	char *b = kgb_arena_alloc(&arena, 16);
	assert_ptr_equal(b, a + 16);
}

static void test_arena_strings(void **state)
{
	KGB_AUTO(arena) struct kgb_arena arena = KGB_ARENA_INIT;

	(void)state;
	assert_string_equal(kgb_arena_strdup(&arena, "abc"), "abc");
	assert_string_equal(kgb_arena_strndup(&arena, "abcdef", 2), "ab");
	assert_string_equal(kgb_arena_printf(&arena, "%s-%d", "x", 5), "x-5");
	kgb_arena_release(&arena);
	assert_null(arena.head);
}

static void test_arenas_that_are_joined_are_freed_together(void **state)
{
	KGB_AUTO(arena) struct kgb_arena to = KGB_ARENA_INIT;
	struct kgb_arena from = KGB_ARENA_INIT, empty = KGB_ARENA_INIT;
	const char *kept, *joined;

	(void)state;
	kept = kgb_arena_strdup(&to, "kept");
	joined = kgb_arena_strdup(&from, "joined");
	kgb_arena_join(&to, &from);
	assert_null(from.head);
	kgb_arena_join(&to, &empty);
	assert_string_equal(kgb_arena_strdup(&to, "after"), "after");
	kgb_arena_release(&from);
	assert_string_equal(kept, "kept");
	assert_string_equal(joined, "joined");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings_are_copied),
		cmocka_unit_test(test_formats_of_any_length),
		cmocka_unit_test(test_zero_sizes_yield_memory),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_large_blocks_are_used_again),
		cmocka_unit_test(test_blocks_that_are_kept_have_a_limit),
#endif
		cmocka_unit_test(test_sizes_that_overflow_abort),
		cmocka_unit_test(test_take_empties_the_variable),
		cmocka_unit_test(test_close_keeps_errno),
		cmocka_unit_test(test_auto_fd_closes),
		cmocka_unit_test(test_arena_memory_is_zeroed_aligned_and_distinct),
		cmocka_unit_test(test_arena_keeps_using_a_block_behind_a_large_allocation),
		cmocka_unit_test(test_arena_strings),
		cmocka_unit_test(test_arenas_that_are_joined_are_freed_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
