/* SPDX-License-Identifier: MIT */
#include "verify/cases/read_mask.h"

#include "tests/unit/base/support.h"
#include "verify/lane/case_data.h"

enum { SELF, TABLE, LENS, N_PARAMS, MEMORY = 64 };

/* A case of one tensor whose elements are drawn, and two others that tell of it. */
struct fixture {
	struct kgb_param params[N_PARAMS];
	struct kgb_interface interface;
	struct kgb_case kase;
	uint8_t self[MEMORY];
	int32_t table[MEMORY], lens[MEMORY];
	void *storages[KGB_MAX_ARGS];
};

static void lay_out(struct fixture *f, size_t i, enum kgb_dtype dtype, const int64_t *sizes,
		    int ndim)
{
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_tensor_view_layout(&f->kase.args[i].view, dtype, sizes, ndim, "contiguous",
					 &err),
		  err);
	assert_true(kgb_tensor_view_numel(&f->kase.args[i].view) <= MEMORY);
}

/* The table names the blocks 2, 0 and 1, 3; the sequences have 3 and 1 tokens. */
static void init_fixture(struct fixture *f)
{
	static const char *const names[] = {"self", "table", "lens"};
	static const int32_t table[] = {2, 0, 1, 3}, lens[] = {3, 1};

	*f = (struct fixture){.kase = {.n_args = N_PARAMS}};
	for (size_t i = 0; i < N_PARAMS; i++) {
		f->params[i] = (struct kgb_param){
			.name = names[i], .kind = KGB_PARAM_TENSOR, .result = -1};
		f->kase.args[i].param = &f->params[i];
	}
	f->kase.interface = &f->interface;
	memcpy(f->table, table, sizeof(table));
	memcpy(f->lens, lens, sizeof(lens));
	lay_out(f, TABLE, KGB_DTYPE_INT32, (const int64_t[]){2, 2}, 2);
	lay_out(f, LENS, KGB_DTYPE_INT32, (const int64_t[]){2}, 1);
	f->storages[SELF] = f->self;
	f->storages[TABLE] = f->table;
	f->storages[LENS] = f->lens;
}

static void test_each_form_leaves_what_is_read_and_sets_the_rest(KGB_UNUSED void **state)
{
	static const struct {
		const char *read;
		int64_t sizes[3];
		int ndim;
		const char *kept; /* a letter for each element; '.': it is not read */
	} rows[] = {
		{"vector(4,2)", {7}, 1, "x.x.x.x"},
		{"vector(3,1)", {5}, 1, "xxx.."},
		{"vector(2,2,5)", {8}, 1, "x.x..x.x"},
		{"matrix(2,3,4)", {10}, 1, "xx..xx..xx"},
		{"matrix(2,2,3,7)", {12}, 1, "xx.xx..xx.xx"},
		{"matrix(1,2,2)", {2, 4}, 2, "x.x.x.x."},
		{"lower(3,4)", {11}, 1, "xxx..xx...x"},
		{"upper(3,4)", {11}, 1, "x...xx..xxx"},
		{"unit_lower(3,3)", {9}, 1, ".xx..x..."},
		{"unit_upper(3,3)", {9}, 1, "...x..xx."},
		{"lower_band(3,1,3)", {9}, 1, "xx.xx.x.."},
		{"upper_band(3,1,3)", {9}, 1, ".x.xx.xx."},
		{"unit_lower_band(3,1,2)", {6}, 1, ".x.x.."},
		{"unit_upper_band(3,1,2)", {6}, 1, "..x.x."},
		{"named(lens)", {4, 2}, 2, "..xx..xx"},
		{"named(table)", {6}, 1, "xxxx.."},
		{"pages(table,lens,1)", {4, 2}, 2, "x.x.xx.."},
		{"pages(table,lens,2)", {4, 1, 2}, 3, "x.x.xx.."},
		{"entries(lens,2)", {2, 3}, 2, "xx.x.."},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct kgb_err err = KGB_ERR_INIT;
		char seen[MEMORY + 1] = "";
		init_fixture(&f);
		lay_out(&f, SELF, KGB_DTYPE_UINT8, rows[i].sizes, rows[i].ndim);
		assert_ok(kgb_read_parse(&f.kase, SELF, rows[i].read, &err), err);
		memset(f.self, 7, sizeof(f.self));
		kgb_read_mask_fill(&f.kase, f.storages, UINT8_MAX);
		size_t n = (size_t)kgb_tensor_view_numel(&f.kase.args[SELF].view);
		for (size_t k = 0; k < n; k++) {
			assert_true(f.self[k] == 7 || f.self[k] == UINT8_MAX);
			seen[k] = f.self[k] == 7 ? 'x' : '.';
		}
		assert_string_equal(seen, rows[i].kept);
		assert_int_equal(f.self[n], 7);
	}
}

static void test_every_bit_set_is_no_number(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT16, KGB_DTYPE_BFLOAT16,
						KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT64,
						KGB_DTYPE_FLOAT8_E4M3FN};

	for (size_t i = 0; i < KGB_ARRAY_LEN(dtypes); i++) {
		struct fixture f;
		struct kgb_err err = KGB_ERR_INIT;
		init_fixture(&f);
		lay_out(&f, SELF, dtypes[i], (const int64_t[]){2}, 1);
		assert_ok(kgb_read_parse(&f.kase, SELF, "vector(1,1)", &err), err);
		kgb_read_mask_fill(&f.kase, f.storages, UINT8_MAX);
		assert_true(kgb_dtype_load(dtypes[i], f.self) == 0);
		double value = kgb_dtype_load(dtypes[i], f.self + kgb_dtype_size(dtypes[i]));
		assert_true(value != value);
	}
}

/* What a kernel makes of NaN is NaN, and differs from what lay there before. */
static void test_what_stays_in_a_changed_matrix_is_finite(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT16, KGB_DTYPE_BFLOAT16,
						KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT64};

	for (size_t i = 0; i < KGB_ARRAY_LEN(dtypes); i++)
		for (int is_other = 0; is_other < 2; is_other++) {
			struct fixture f;
			struct kgb_err err = KGB_ERR_INIT;
			init_fixture(&f);
			lay_out(&f, SELF, dtypes[i], (const int64_t[]){2}, 1);
			assert_ok(kgb_read_parse(&f.kase, SELF, "vector(1,1)", &err), err);
			/* Another argument in the same memory may be the one that changes. */
			f.params[is_other ? TABLE : SELF].result = 0;
			f.kase.args[TABLE].is_repeated = is_other;
			kgb_read_mask_fill(&f.kase, f.storages, UINT8_MAX);
			double value =
				kgb_dtype_load(dtypes[i], f.self + kgb_dtype_size(dtypes[i]));
			assert_true(value > 1 && value < 1e7);
			kgb_read_mask_fill(&f.kase, f.storages, 0);
			assert_true(kgb_dtype_load(dtypes[i], f.self + kgb_dtype_size(dtypes[i])) ==
				    0);
		}
}

static void test_numbers_that_are_not_read_or_not_marked_name_nothing(KGB_UNUSED void **state)
{
	struct fixture f;
	struct kgb_err err = KGB_ERR_INIT;

	init_fixture(&f);
	lay_out(&f, SELF, KGB_DTYPE_UINT8, (const int64_t[]){4}, 1);
	lay_out(&f, LENS, KGB_DTYPE_INT32, (const int64_t[]){2, 2}, 2);
	memcpy(f.lens, (const int32_t[]){1, 1, 0, 1}, 4 * sizeof(int32_t));
	assert_ok(kgb_read_parse(&f.kase, SELF, "named(table,lens)", &err), err);
	assert_ok(kgb_read_parse(&f.kase, TABLE, "vector(1,1)", &err), err);
	kgb_read_mask_fill(&f.kase, f.storages, UINT8_MAX);
	assert_int_equal(f.table[0], 2);
	assert_int_equal(f.table[1], -1);
	assert_int_equal(f.table[2], 1);
	assert_int_equal(f.table[3], -1);
	assert_memory_equal(f.self, ((const uint8_t[]){255, 255, 0, 255}), 4);
}

static void test_what_does_not_fit_is_refused(KGB_UNUSED void **state)
{
	static const struct {
		const char *read, *message;
	} rows[] = {
		{"triangle(3)", "'triangle(3)' is none of the forms"},
		{"lower", "'lower' must read lower(n,ld)"},
		{"lower(3)", "'lower(3)' must read lower(n,ld)"},
		{"lower(3,4,5)", "must read lower(n,ld)"},
		{"lower(4,3)", "must read lower(n,ld)"},
		{"lower(x,3)", "must read lower(n,ld)"},
		{"vector(3,0)", "must read vector(n,increment[,stride])"},
		{"matrix(-1,2,3)", "must read matrix(rows,columns,ld[,stride])"},
		{"upper_band(3,4,4)", "must read upper_band(n,k,ld)"},
		{"named(nobody)", "must read named(numbers[,mask])"},
		{"named(table,lens)", "must read named(numbers[,mask])"},
		{"pages(lens,table,1)", "must read pages(table,lengths,dim)"},
		{"pages(table,lens,2)", "must read pages(table,lengths,dim)"},
		{"entries(lens,0)", "must read entries(lengths,block_size)"},
		{"matrix(2,4,2)", "'matrix(2,4,2)' covers the whole tensor"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct fixture f;
		struct kgb_err err = KGB_ERR_INIT;
		init_fixture(&f);
		lay_out(&f, SELF, KGB_DTYPE_INT32, (const int64_t[]){2, 8}, 2);
		assert_int_equal(kgb_read_parse(&f.kase, SELF, rows[i].read, &err), -1);
		assert_contains(err.msg, rows[i].message);
	}
}

static void test_tensors_that_cannot_be_marked_are_refused(KGB_UNUSED void **state)
{
	struct fixture f;
	struct kgb_err err = KGB_ERR_INIT;

	init_fixture(&f);
	lay_out(&f, SELF, KGB_DTYPE_BOOL, (const int64_t[]){8}, 1);
	assert_fails(kgb_read_parse(&f.kase, SELF, "vector(3,2)", &err), err,
		     "the tensor must be contiguous, have elements, and not be bool");
	lay_out(&f, SELF, KGB_DTYPE_INT32, (const int64_t[]){0}, 1);
	assert_fails(kgb_read_parse(&f.kase, SELF, "vector(3,2)", &err), err,
		     "the tensor must be contiguous, have elements, and not be bool");
}

static void test_inputs_are_made_so(KGB_UNUSED void **state)
{
	const struct kgb_seed seed = {{1}};
	struct fixture f;
	struct kgb_case_data data;
	struct kgb_err err = KGB_ERR_INIT;

	init_fixture(&f);
	f.kase.n_args = 1;
	f.kase.name = "toy";
	lay_out(&f, SELF, KGB_DTYPE_FLOAT64, (const int64_t[]){7}, 1);
	assert_ok(kgb_read_parse(&f.kase, SELF, "vector(3,3)", &err), err);
	kgb_case_data_fill(&data, &f.kase, &seed, 0);
	for (int i = 0; i < 7; i++) {
		double value = ((const double *)data.storages[SELF])[i];
		assert_int_equal(value != value, i % 3 != 0);
	}
	kgb_case_data_release(&data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_form_leaves_what_is_read_and_sets_the_rest),
		cmocka_unit_test(test_every_bit_set_is_no_number),
		cmocka_unit_test(test_what_stays_in_a_changed_matrix_is_finite),
		cmocka_unit_test(test_numbers_that_are_not_read_or_not_marked_name_nothing),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
		cmocka_unit_test(test_tensors_that_cannot_be_marked_are_refused),
		cmocka_unit_test(test_inputs_are_made_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
