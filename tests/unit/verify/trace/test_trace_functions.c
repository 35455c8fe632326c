/* SPDX-License-Identifier: MIT */
#include "tests/unit/base/support.h"
#include "verify/protocol/record.h"
#include "verify/trace/functions.h"

static struct kgb_kernel_param layout[] = {{0, 8}, {8, 4}, {16, 8}, {24, 1}};
static const struct kgb_function fn = {
	.params = {.items = layout, .n = KGB_ARRAY_LEN(layout)},
	.params_bytes = 25,
};

static void test_arguments_go_where_the_kernel_has_them_and_gaps_are_zero(void **state)
{
	const uint64_t a = 0x1111111111111111, b = 0x2222222222222222;
	const uint32_t n = 0x33333333;
	const unsigned char flag = 0x44;
	void *values[] = {(void *)(uintptr_t)&a, (void *)(uintptr_t)&n, (void *)(uintptr_t)&b,
			  (void *)(uintptr_t)&flag};
	static const unsigned char want[25] = {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x33,
					       0x33, 0x33, 0x33, 0,    0,    0,    0,    0x22, 0x22,
					       0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x44};
	unsigned char out[32];

	(void)state;
	memset(out, 0xee, sizeof(out));
	assert_true(kgb_function_pack(&fn, values, NULL, out));
	assert_memory_equal(out, want, 25);
	assert_int_equal(out[25], 0xee);
}

static void test_a_kernel_without_parameters_needs_none(void **state)
{
	static const struct kgb_function none = {0};
	void *extra[] = {CU_LAUNCH_PARAM_END};
	unsigned char out[1];

	(void)state;
	assert_true(kgb_function_pack(&none, NULL, NULL, out));
	assert_true(kgb_function_pack(&none, NULL, extra, out));
}

static void test_missing_arguments_are_refused(void **state)
{
	uint64_t a = 0;
	void *values[] = {&a, NULL, &a, &a};
	unsigned char out[25];

	(void)state;
	assert_false(kgb_function_pack(&fn, values, NULL, out));
	assert_false(kgb_function_pack(&fn, NULL, NULL, out));
}

static void test_packed_parameters_are_taken_without_what_lies_in_gaps(void **state)
{
	unsigned char from[25], out[32];
	size_t from_bytes = sizeof(from);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &from_bytes, CU_LAUNCH_PARAM_BUFFER_POINTER,
			 from, CU_LAUNCH_PARAM_END};

	(void)state;
	memset(from, 0x55, sizeof(from));
	assert_true(kgb_function_pack(&fn, NULL, extra, out));
	for (unsigned i = 0; i < 25; i++)
		assert_int_equal(out[i], i >= 12 && i < 16 ? 0 : 0x55);
	from_bytes = 24;
	assert_false(kgb_function_pack(&fn, NULL, extra, out));
	from_bytes = KGB_LAUNCH_PARAMS_MAX + 1;
	assert_false(kgb_function_pack(&fn, NULL, extra, out));
	from_bytes = 25;
	extra[2] = (void *)7; /* no known option */
	assert_false(kgb_function_pack(&fn, NULL, extra, out));
	extra[0] = CU_LAUNCH_PARAM_END;
	assert_false(kgb_function_pack(&fn, NULL, extra, out));
}

static void test_launch_options_that_do_not_end_are_refused(void **state)
{
	unsigned char from[25] = {0}, out[25];
	size_t from_bytes = sizeof(from);
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_SIZE, &from_bytes, CU_LAUNCH_PARAM_BUFFER_POINTER, from,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &from_bytes, CU_LAUNCH_PARAM_BUFFER_SIZE};

	(void)state;
	assert_false(kgb_function_pack(&fn, NULL, extra, out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_go_where_the_kernel_has_them_and_gaps_are_zero),
		cmocka_unit_test(test_a_kernel_without_parameters_needs_none),
		cmocka_unit_test(test_missing_arguments_are_refused),
		cmocka_unit_test(test_packed_parameters_are_taken_without_what_lies_in_gaps),
		cmocka_unit_test(test_launch_options_that_do_not_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
