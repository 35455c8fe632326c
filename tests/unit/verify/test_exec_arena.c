/* SPDX-License-Identifier: MIT */
/* The memfds that kgb-exec maps for an arena. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/memfd.h"
#include "tests/unit/base/support.h"
#include "verify/exec/exec_arena.h"

enum { BYTES = 8192 };

static const struct kgb_exec_request whole = {
	.arena_bytes = BYTES, .output_bytes = BYTES, .n_slots = 1};

/* A memfd whose first byte is `first`. */
static int make_file(char first)
{
	struct kgb_err err = KGB_ERR_INIT;
	int fd = -1;

	assert_ok(kgb_memfd_sized("test", BYTES, 0, &fd, &err), err);
	assert_int_equal(pwrite(fd, &first, 1, 0), 1);
	return fd;
}

static int set(struct kgb_exec_arena *arena, int input, int output)
{
	const int fds[2] = {input, output};
	struct kgb_err err = KGB_ERR_INIT;

	return kgb_exec_arena_set(arena, &whole, fds, &err);
}

static void test_files_that_are_mapped_stay_and_others_take_their_place(void **state)
{
	struct kgb_exec_arena arena = {0};
	const int first = make_file('a'), other = make_file('b'), output = make_file('o');

	(void)state;
	assert_int_equal(set(&arena, first, output), 0);
	const char *input = arena.input;
	assert_int_equal(*input, 'a');
	assert_int_equal(*arena.output, 'o');
	assert_int_equal(pwrite(first, "c", 1, 0), 1);
	assert_int_equal(set(&arena, first, output), 0);
	assert_ptr_equal(arena.input, input);
	assert_int_equal(*arena.input, 'c');
	/* Of the same size, and perhaps at the same address. */
	assert_int_equal(set(&arena, other, output), 0);
	assert_int_equal(*arena.input, 'b');
	assert_int_equal(set(&arena, first, output), 0);
	assert_int_equal(*arena.input, 'c');
	kgb_exec_arena_release(&arena);
	assert_null(arena.input_file.at);
	close(first);
	close(other);
	close(output);
}

static void test_after_a_bad_request_there_is_no_arena(void **state)
{
	struct kgb_exec_request large = whole;
	struct kgb_exec_arena arena = {0};
	struct kgb_err err = KGB_ERR_INIT;
	const int input = make_file('a'), output = make_file('o');
	const int fds[2] = {input, output};

	(void)state;
	large.arena_bytes = BYTES + 1;
	assert_int_equal(set(&arena, input, output), 0);
	assert_int_equal(arena.bytes, BYTES);
	assert_int_equal(kgb_exec_arena_set(&arena, &large, fds, &err), -1);
	assert_contains(err.msg, "input memory: 8192 bytes, not 8193");
	assert_int_equal(arena.bytes, 0);
	assert_int_equal(set(&arena, input, output), 0);
	assert_int_equal(arena.bytes, BYTES);
	const int shrinks = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(shrinks, BYTES), 0);
	assert_int_equal(set(&arena, input, shrinks), -1);
	assert_int_equal(arena.bytes, 0);
	kgb_exec_arena_release(&arena);
	close(input);
	close(output);
	close(shrinks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_that_are_mapped_stay_and_others_take_their_place),
		cmocka_unit_test(test_after_a_bad_request_there_is_no_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
