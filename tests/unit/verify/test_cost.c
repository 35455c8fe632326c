/* SPDX-License-Identifier: MIT */
#include "verify/cost/cost.h"

#include "tests/unit/verify/spec_files.h"

/* The toy operator with these lines in its first interface, and the cost of its case number
 * `i` with a float32 result of 4 x 1000. */
static int toy_cost(const char *lines, size_t i, struct kgb_cost *out, struct kgb_err *err)
{
	KGB_AUTO(free) char *fresh = kgb_xasprintf("%s    magnitude: abs\n", lines);
	const int64_t sizes[] = {4, 1000};
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_tensor_view result;

	load_toy((struct spec_change){SPEC_PATH, "    magnitude: abs\n", fresh}, &spec);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, err), *err);
	assert_ok(kgb_tensor_view_layout(&result, KGB_DTYPE_FLOAT32, sizes, 2, "contiguous", err),
		  *err);
	int rc = kgb_case_cost(&spec, &cases.items[i], &result, 1, out, err);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
	return rc;
}

static void test_costs_are_counted_from_the_case(KGB_UNUSED void **state)
{
	/* Case 2: a float32[1000], b float32[4, 1000]; case 4: int64 [5, 7] transposed and [7]. */
	static const struct {
		const char *lines;
		size_t i;
		struct kgb_cost cost;
	} rows[] = {
		{"", 2, {0, 0, 0, 0}},
		{"    bytes: bytes(self) + bytes(other) + bytes(result)\n",
		 2,
		 {4000 + 16000 + 16000, 16000, 0, 36000}},
		{"    bytes: '1000'\n    flops: 2 * numel(result)\n", 2, {1000, 1000, 8000, 1000}},
		{"    flops: dim(self, 0) * dim(other, -1) * ndim(self)\n", 4, {0, 0, 70, 0}},
		{"    flops: size(self) + 10 * size(result)\n", 4, {0, 0, 48, 0}},
		{"    flops: alpha\n", 0, {0, 0, 1, 0}},
	};

	for (size_t k = 0; k < KGB_ARRAY_LEN(rows); k++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_cost cost = {0};
		assert_ok(toy_cost(rows[k].lines, rows[k].i, &cost, &err), err);
		assert_int_equal(cost.bytes, rows[k].cost.bytes);
		assert_int_equal(cost.written_bytes, rows[k].cost.written_bytes);
		assert_int_equal(cost.flops, rows[k].cost.flops);
		assert_int_equal(cost.traffic, rows[k].cost.traffic);
	}
}

static void test_a_cost_that_cannot_be_counted_names_line_and_case(KGB_UNUSED void **state)
{
	static const struct {
		const char *lines, *message;
	} rows[] = {
		{"    bytes: dim(self, 1)\n",
		 SPEC_PATH ":11:12: case toy_Tensor/float32/tail_1000/standard: bytes: column 1: "
			   "'self' has 1 dims, no dim 1"},
		{"    flops: alpha\n", "flops: column 1: 'alpha' is no whole number"},
		{"    flops: 1 - numel(self)\n", "flops: -999 is below 0"},
		{"    flops: $missing\n", "flops: column 1: variable 'missing' is no whole number"},
		{"    flops: $alpha\n", "flops: column 1: variable 'alpha' is no whole number"},
	};

	for (size_t k = 0; k < KGB_ARRAY_LEN(rows); k++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_cost cost = {.bytes = 77};
		assert_int_equal(toy_cost(rows[k].lines, 2, &cost, &err), -1);
		assert_contains(err.msg, rows[k].message);
		assert_int_equal(cost.bytes, 77);
	}
}

static void test_traffic_is_what_the_spec_says_or_its_bytes(KGB_UNUSED void **state)
{
	static const struct {
		const char *lines;
		int64_t traffic; /* of case 2, -1: it cannot be counted */
	} rows[] = {
		{"", 0},
		{"    bytes: bytes(self)\n", 4000},
		{"    bytes: bytes(self)\n    traffic: 2 * bytes(other)\n", 32000},
		{"    bytes: bytes(self)\n    traffic: dim(self, 1)\n", -1},
	};

	for (size_t k = 0; k < KGB_ARRAY_LEN(rows); k++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_cost cost = {.traffic = -1};
		assert_int_equal(toy_cost(rows[k].lines, 2, &cost, &err),
				 rows[k].traffic < 0 ? -1 : 0);
		assert_int_equal(cost.traffic, rows[k].traffic);
	}
}

static double toy_terms(const char *lines)
{
	const int64_t sizes[] = {4, 1000};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_tensor_view result;

	load_toy((struct spec_change){SPEC_PATH, "    magnitude: abs\n", lines}, &spec);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	assert_ok(kgb_tensor_view_layout(&result, KGB_DTYPE_FLOAT32, sizes, 2, "contiguous", &err),
		  err);
	const double terms = kgb_case_terms(&cases.items[2], &result, 1, 0);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
	return terms;
}

static void test_terms_are_what_the_spec_says_or_come_from_flops(KGB_UNUSED void **state)
{
	static const struct {
		const char *lines;
		double terms; /* of case 2; 0: they cannot be counted */
	} rows[] = {
		{"", 0},
		{"    flops: 3 * numel(result)\n", 3},
		{"    flops: 3 * numel(result)\n    terms: dim(other, -1)\n", 1000},
		{"    flops: 3 * numel(result)\n    terms: dim(self, 1)\n", 0},
	};

	for (size_t k = 0; k < KGB_ARRAY_LEN(rows); k++)
		assert_true(toy_terms(rows[k].lines) == rows[k].terms);
}

static void test_repeated_memory_counts_once(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_cost cost;

	load_toy(
		(struct spec_change){
			SPEC_PATH,
			"    params:\n      - {name: self, tensor: $a, layout: $a_layout}",
			"    bytes: bytes(self)\n    flops: numel(self)\n"
			"    params:\n      - {name: self, tensor: $b, layout: expanded}"},
		&spec);
	/* A tensor of 4 x 1000 whose rows are all the same one. */
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	assert_ok(kgb_case_cost(&spec, &cases.items[2], NULL, 0, &cost, &err), err);
	assert_int_equal(cost.bytes, 4000);
	assert_int_equal(cost.flops, 4000);
	assert_int_equal(cost.written_bytes, 0);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

/* ---- the specs of the dataset ---- */

static const char *const costed[] = {"aten/aten__add",  "aten/aten__mm",
				     "aten/aten__silu", "aten/aten__softmax",
				     "aten/aten__sum",  "vllm/vllm13__rms_norm"};

static void test_every_case_of_the_dataset_that_has_costs_can_be_counted(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(costed); i++) {
		KGB_AUTO(free)
		char *path = kgb_xasprintf("%s/datasets/kernelgenbench/%s.yaml",
					   KGB_TEST_SOURCE_DIR, costed[i]);
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_spec spec;
		struct kgb_cases cases;
		assert_ok(kgb_spec_load(path, &spec, &err), err);
		assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
		for (size_t k = 0; k < cases.n; k++) {
			const struct kgb_case *c = &cases.items[k];
			struct kgb_tensor_view result;
			struct kgb_cost cost;
			size_t tensor = 0;
			while (c->args[tensor].param->kind != KGB_PARAM_TENSOR)
				tensor++;
			/* Of the shape of the first tensor; what is real is known to a reference.
			 */
			result = c->args[tensor].view;
			assert_non_null(c->interface->bytes);
			assert_ok(kgb_case_cost(&spec, c, &result, 1, &cost, &err), err);
			assert_true(cost.bytes >= cost.written_bytes);
		}
		kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
}

static void test_a_matrix_product_costs_what_it_must(KGB_UNUSED void **state)
{
	const int64_t sizes[] = {30, 70};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_tensor_view result;
	struct kgb_cost cost;

	assert_ok(kgb_spec_load(KGB_TEST_SOURCE_DIR "/datasets/kernelgenbench/aten/aten__mm.yaml",
				&spec, &err),
		  err);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	const struct kgb_case *c = &cases.items[0];
	for (size_t k = 0; k < cases.n; k++)
		if (strcmp(cases.items[k].name, "mm/float16/odd/standard") == 0)
			c = &cases.items[k];
	const int64_t *a = c->args[0].view.sizes, *b = c->args[1].view.sizes;
	assert_ok(kgb_tensor_view_layout(&result, KGB_DTYPE_FLOAT16, sizes, 2, "contiguous", &err),
		  err);
	assert_ok(kgb_case_cost(&spec, c, &result, 1, &cost, &err), err);
	assert_int_equal(cost.bytes, 2 * (a[0] * a[1] + b[0] * b[1] + 30 * 70));
	assert_int_equal(cost.written_bytes, 2 * 30 * 70);
	assert_int_equal(cost.flops, 2 * a[0] * a[1] * b[1]);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costs_are_counted_from_the_case),
		cmocka_unit_test(test_a_cost_that_cannot_be_counted_names_line_and_case),
		cmocka_unit_test(test_traffic_is_what_the_spec_says_or_its_bytes),
		cmocka_unit_test(test_terms_are_what_the_spec_says_or_come_from_flops),
		cmocka_unit_test(test_repeated_memory_counts_once),
		cmocka_unit_test(test_every_case_of_the_dataset_that_has_costs_can_be_counted),
		cmocka_unit_test(test_a_matrix_product_costs_what_it_must),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
