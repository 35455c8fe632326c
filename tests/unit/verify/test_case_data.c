/* SPDX-License-Identifier: MIT */
#include "verify/lane/case_data.h"

#include "tests/unit/base/support.h"

static void test_runs_of_equal_numbers_are_flat_and_zeros_are_not(KGB_UNUSED void **state)
{
	enum { RUNS = 4, RUN = 16, N = RUNS * RUN };
	static const struct kgb_param param = {.name = "self", .kind = KGB_PARAM_TENSOR};
	struct kgb_case *c = kgb_xcalloc(1, sizeof(*c));
	float runs[N], zeros[N];
	struct kgb_case_data data = {.kase = c};

	c->n_args = 1;
	c->args[0].param = &param;
	c->args[0].view = (struct kgb_tensor_view){.dtype = KGB_DTYPE_FLOAT32,
						   .ndim = 1,
						   .sizes = {N},
						   .strides = {1},
						   .storage_elements = N};
	for (int run = 0; run < RUNS; run++)
		for (int i = 0; i < RUN; i++) {
			runs[run * RUN + i] = (float)(run + 1);
			zeros[run * RUN + i] = i == 0 ? (float)(run + 1) : 0;
		}
	data.storages[0] = (char *)runs;
	assert_true(kgb_case_data_is_flat(&data));
	data.storages[0] = (char *)zeros;
	assert_false(kgb_case_data_is_flat(&data));
	kgb_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs_of_equal_numbers_are_flat_and_zeros_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
