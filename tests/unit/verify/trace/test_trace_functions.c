/* SPDX-License-Identifier: MIT */
#include "tests/unit/base/support.h"
#include "verify/trace/functions.h"

static const struct kgb_kernel_param layout[] = {{0, 8}, {8, 4}, {16, 8}, {24, 1}};

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
	struct kgb_err err = KGB_ERR_INIT;
	uint32_t bytes = 0;

	(void)state;
	memset(out, 0xee, sizeof(out));
	assert_ok(kgb_params_pack(layout, 4, values, out, sizeof(out), &bytes, &err), err);
	assert_int_equal(bytes, 25);
	assert_memory_equal(out, want, 25);
	assert_int_equal(out[25], 0xee);
}

static void test_a_kernel_without_parameters_has_an_empty_buffer(void **state)
{
	unsigned char out[1];
	struct kgb_err err = KGB_ERR_INIT;
	uint32_t bytes = 7;

	(void)state;
	assert_ok(kgb_params_pack(NULL, 0, NULL, out, sizeof(out), &bytes, &err), err);
	assert_int_equal(bytes, 0);
}

static void test_missing_arguments_and_layouts_that_do_not_fit_are_refused(void **state)
{
	static const struct kgb_kernel_param far[] = {{UINT32_MAX, UINT32_MAX}};
	uint64_t a = 0;
	void *values[] = {&a, NULL, &a, &a};
	unsigned char out[24];
	struct kgb_err err = KGB_ERR_INIT;
	uint32_t bytes = 0;

	(void)state;
	assert_fails(kgb_params_pack(layout, 4, values, out, sizeof(out), &bytes, &err), err,
		     "parameter 3 ends at byte 25");
	assert_fails(kgb_params_pack(layout, 3, values, out, sizeof(out), &bytes, &err), err,
		     "no argument 1");
	assert_fails(kgb_params_pack(layout, 1, NULL, out, sizeof(out), &bytes, &err), err,
		     "no arguments");
	assert_fails(kgb_params_pack(far, 1, values, out, sizeof(out), &bytes, &err), err,
		     "parameter 0 ends at byte 8589934590");
}

static void test_packed_parameters_are_taken_without_what_lies_in_gaps(void **state)
{
	unsigned char from[25], out[32];
	size_t from_bytes = sizeof(from);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &from_bytes, CU_LAUNCH_PARAM_BUFFER_POINTER,
			 from, CU_LAUNCH_PARAM_END};
	struct kgb_err err = KGB_ERR_INIT;
	uint32_t bytes = 0;

	(void)state;
	memset(from, 0x55, sizeof(from));
	assert_ok(kgb_params_take(layout, 4, extra, out, sizeof(out), &bytes, &err), err);
	assert_int_equal(bytes, 25);
	for (unsigned i = 0; i < 25; i++)
		assert_int_equal(out[i], i >= 12 && i < 16 ? 0 : 0x55);
	from_bytes = 24;
	assert_fails(kgb_params_take(layout, 4, extra, out, sizeof(out), &bytes, &err), err,
		     "packed parameters of 24 bytes where 25 are wanted");
	from_bytes = 33;
	assert_int_equal(kgb_params_take(layout, 4, extra, out, sizeof(out), &bytes, &err), -1);
	extra[2] = (void *)7;
	assert_fails(kgb_params_take(layout, 4, extra, out, sizeof(out), &bytes, &err), err,
		     "unknown launch option");
	extra[0] = CU_LAUNCH_PARAM_END;
	assert_int_equal(kgb_params_take(layout, 4, extra, out, sizeof(out), &bytes, &err), -1);
	assert_ok(kgb_params_take(NULL, 0, extra, out, sizeof(out), &bytes, &err), err);
	assert_int_equal(bytes, 0);
}

static void test_launch_options_that_do_not_end_are_refused(void **state)
{
	unsigned char from[8] = {0}, out[8];
	size_t from_bytes = sizeof(from);
	void *extra[] = {
		CU_LAUNCH_PARAM_BUFFER_SIZE, &from_bytes, CU_LAUNCH_PARAM_BUFFER_POINTER, from,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &from_bytes, CU_LAUNCH_PARAM_BUFFER_SIZE};
	struct kgb_err err = KGB_ERR_INIT;
	uint32_t bytes = 0;

	(void)state;
	assert_fails(kgb_params_take(layout, 1, extra, out, sizeof(out), &bytes, &err), err,
		     "launch options do not end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_go_where_the_kernel_has_them_and_gaps_are_zero),
		cmocka_unit_test(test_a_kernel_without_parameters_has_an_empty_buffer),
		cmocka_unit_test(test_missing_arguments_and_layouts_that_do_not_fit_are_refused),
		cmocka_unit_test(test_packed_parameters_are_taken_without_what_lies_in_gaps),
		cmocka_unit_test(test_launch_options_that_do_not_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
