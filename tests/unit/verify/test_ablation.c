/* SPDX-License-Identifier: MIT */
#include "verify/ablation/ablation.h"

#include "tests/unit/base/support.h"

/* Of a case with one argument. */
static bool is_sensitive(const struct kgb_tensor_view *x_view, void *x,
			 const struct kgb_tensor_view *view, void *result)
{
	const struct kgb_judge judge = {.spec.triton = KGB_TRITON_REQUIRED};
	const struct kgb_param param = {.name = "x", .kind = KGB_PARAM_TENSOR};
	struct kgb_case kase = {.n_args = 1, .args = {{.param = &param, .view = *x_view}}};
	struct kgb_case_data data = {.kase = &kase,
				     .n_results = 1,
				     .storages = {x},
				     .results = {{.view = *view, .native = result}}};

	return kgb_ablation_result_is_sensitive(&judge, &data, 0);
}

/* Which results show that a kernel computed them: of an argument x of 2 x 3 float32. */
static void test_results_that_a_copy_could_be_do_not_tell(KGB_UNUSED void **state)
{
	static const struct {
		float x[6];
		int64_t strides[2];
		float result[6];
		int64_t n;
		bool tells;
	} rows[] = {
		{{1, 2, 3, 4, 5, 6}, {3, 1}, {2, 3, 4, 5, 6, 7}, 6, true},
		{{1, 2, 3, 4, 5, 6}, {3, 1}, {1, 2, 3, 4, 5, 6}, 6, false},
		{{1, 2, 3, 4, 5, 6}, {3, 1}, {7, 7, 7, 7, 7, 7}, 6, false},
		/* sums, minima */
		{{1, 2, 3, 4, 5, 6}, {3, 1}, {5, 7, 9}, 3, true},
		{{4, 2, 6, 1, 5, 3}, {3, 1}, {1, 2, 3}, 3, true},
		{{4, 2, 6, 1, 5, 3}, {3, 1}, {21}, 1, true},
		/* minima over what is expanded: the first elements of a copy */
		{{4, 2, 6}, {0, 1}, {4, 2, 6}, 3, false},
		{{4}, {0, 0}, {4}, 1, false},
	};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		const struct kgb_tensor_view x_view = {
			.dtype = KGB_DTYPE_FLOAT32,
			.ndim = 2,
			.sizes = {2, 3},
			.strides = {rows[r].strides[0], rows[r].strides[1]},
			.storage_elements = 6};
		const struct kgb_tensor_view view = {.dtype = KGB_DTYPE_FLOAT32,
						     .ndim = 1,
						     .sizes = {rows[r].n},
						     .strides = {1},
						     .storage_elements = rows[r].n};
		float x[6], result[6];
		memcpy(x, rows[r].x, sizeof(x));
		memcpy(result, rows[r].result, sizeof(result));
		if (is_sensitive(&x_view, x, &view, result) != rows[r].tells)
			fail_msg("row %zu", r);
	}
}

/* A copy to another integer type keeps the lowest bits. */
static void test_a_conversion_of_integers_is_a_copy(KGB_UNUSED void **state)
{
	static const struct {
		int64_t x[3];
		enum kgb_dtype dtype;
		int32_t result[3]; /* of bool: a byte each */
		bool tells;
	} rows[] = {
		{{1, (INT64_C(5) << 32) + 7, -9}, KGB_DTYPE_INT32, {1, 7, -9}, false},
		{{1, (INT64_C(5) << 32) + 7, -9}, KGB_DTYPE_INT32, {1, INT32_MAX, -9}, true},
		{{0, 256, -9}, KGB_DTYPE_BOOL, {0x010100}, false},
		{{0, 256, -9}, KGB_DTYPE_BOOL, {0x010000}, true},
	};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		const struct kgb_tensor_view x_view = {.dtype = KGB_DTYPE_INT64,
						       .ndim = 1,
						       .sizes = {3},
						       .strides = {1},
						       .storage_elements = 3};
		struct kgb_tensor_view view = x_view;
		int64_t x[3];
		int32_t result[3];
		view.dtype = rows[r].dtype;
		memcpy(x, rows[r].x, sizeof(x));
		memcpy(result, rows[r].result, sizeof(result));
		if (is_sensitive(&x_view, x, &view, result) != rows[r].tells)
			fail_msg("row %zu", r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results_that_a_copy_could_be_do_not_tell),
		cmocka_unit_test(test_a_conversion_of_integers_is_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
