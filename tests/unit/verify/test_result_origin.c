/* SPDX-License-Identifier: MIT */
#include "verify/ablation/result_origin.h"

#include "tests/unit/base/support.h"

enum { ROWS = 6, COLS = 5, N = ROWS * COLS };

/* A matrix and its transpose: nothing that lies side by side in one does in the other. */
struct fixture {
	struct kgb_param param;
	struct kgb_case kase;
	struct kgb_case_data data;
	float input[2 * N];
	unsigned char result[8 * N];
	struct kgb_result_origin origin;
};

static void set_truth(struct fixture *f, enum kgb_dtype dtype)
{
	struct kgb_truth *truth = &f->data.results[0];

	f->data.n_results = 1;
	truth->native = f->result;
	truth->view = (struct kgb_tensor_view){.dtype = dtype, .ndim = 2, .sizes = {COLS, ROWS}};
	truth->view.strides[0] = ROWS;
	truth->view.strides[1] = 1;
	truth->view.storage_elements = N;
	for (int64_t i = 0; i < N; i++)
		kgb_dtype_store(dtype, f->result + (size_t)i * kgb_dtype_size(dtype),
				(double)f->input[i % ROWS * COLS + i / ROWS]);
}

static void init_fixture(struct fixture *f, const char *layout)
{
	static const int64_t sizes[] = {ROWS, COLS};
	struct kgb_err err = KGB_ERR_INIT;

	*f = (struct fixture){.param = {.name = "self", .kind = KGB_PARAM_TENSOR}};
	f->kase.n_args = 1;
	f->kase.args[0].param = &f->param;
	assert_ok(kgb_tensor_view_layout(&f->kase.args[0].view, KGB_DTYPE_FLOAT32, sizes, 2, layout,
					 &err),
		  err);
	for (size_t i = 0; i < 2 * N; i++)
		f->input[i] = (float)(i * 37 % 101) + 0.5f;
	f->data.kase = &f->kase;
	f->data.storages[0] = f->input;
	set_truth(f, KGB_DTYPE_FLOAT32);
}

static size_t result_bytes(const struct fixture *f)
{
	return N * kgb_dtype_size(f->data.results[0].view.dtype);
}

static bool is_by_host(struct fixture *f)
{
	const bool by_host = kgb_result_origin_by_host(&f->origin);

	kgb_result_origin_release(&f->origin);
	return by_host;
}

static void
test_who_makes_memory_hold_the_neighbours_first_has_arranged_them(KGB_UNUSED void **state)
{
	struct fixture f;

	init_fixture(&f, "contiguous");
	kgb_result_origin_init(&f.origin, &f.data, false);
	assert_true(kgb_result_origin_suffices(&f.origin));
	assert_int_equal(f.origin.n, N - 3);
	kgb_result_origin_add(&f.origin, f.input, sizeof(f.input), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, 0);
	kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_HOST);
	kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, N - 3);
	assert_true(is_by_host(&f));

	kgb_result_origin_init(&f.origin, &f.data, false);
	kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_KERNEL);
	kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, 0);
	assert_false(is_by_host(&f));
}

static void test_half_of_them_is_enough(KGB_UNUSED void **state)
{
	struct fixture f;

	init_fixture(&f, "contiguous");
	kgb_result_origin_init(&f.origin, &f.data, false);
	/* 13 groups of 27. */
	kgb_result_origin_add(&f.origin, f.result, 16 * sizeof(float), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, 13);
	assert_false(kgb_result_origin_by_host(&f.origin));
	kgb_result_origin_add(&f.origin, f.result, 17 * sizeof(float), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, 14);
	assert_true(is_by_host(&f));
}

/* What memory held when it was seen last counts once, for who was there first. */
static void test_only_changes_of_memory_count(KGB_UNUSED void **state)
{
	enum { PIECES = 6, IN_PIECE = 4096 / sizeof(float), BORDER = 3 * IN_PIECE };
	static float memory[2][PIECES * IN_PIECE];
	struct fixture f;

	init_fixture(&f, "contiguous");
	kgb_result_origin_init(&f.origin, &f.data, false);
	for (size_t i = 0; i < KGB_ARRAY_LEN(memory[0]); i++)
		memory[0][i] = memory[1][i] = -(float)i;
	kgb_result_origin_see(&f.origin, 0, (char *)memory[0], sizeof(memory[0]),
			      KGB_ORIGIN_KERNEL);
	/* 14 of 30 elements before the border of two pieces, then all of them. */
	memcpy(&memory[1][BORDER - 14], f.result, 14 * sizeof(float));
	kgb_result_origin_see(&f.origin, 1, (char *)memory[1], sizeof(memory[1]),
			      KGB_ORIGIN_KERNEL);
	assert_int_equal(f.origin.n_by_host, 0);
	memcpy(&memory[1][BORDER - 14], f.result, result_bytes(&f));
	kgb_result_origin_see(&f.origin, 0, (char *)memory[0], sizeof(memory[0]), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, 0);
	kgb_result_origin_see(&f.origin, 1, (char *)memory[1], sizeof(memory[1]), KGB_ORIGIN_HOST);
	/* Those of the groups that the 14 elements did not complete. */
	assert_int_equal(f.origin.n_by_host, N - 3 - 11);
	kgb_result_origin_see(&f.origin, 1, (char *)memory[1], sizeof(memory[1]), KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, N - 3 - 11);
	kgb_result_origin_release(&f.origin);
}

/* In every second, third, fourth place, backwards, in the input's type: a kernel that collects
 * that has not computed anything. */
static void test_they_may_lie_apart_backwards_or_in_another_type(KGB_UNUSED void **state)
{
	static const int steps[] = {1, 2, 3, 4, -1};
	float spread[4 * N];
	struct fixture f;

	init_fixture(&f, "contiguous");
	for (size_t k = 0; k < KGB_ARRAY_LEN(steps); k++) {
		for (size_t i = 0; i < 4 * N; i++)
			spread[i] = -1;
		for (int i = 0; i < N; i++)
			memcpy(&spread[steps[k] < 0 ? N - 1 - i : i * steps[k]],
			       f.result + sizeof(float) * (size_t)i, sizeof(float));
		kgb_result_origin_init(&f.origin, &f.data, false);
		kgb_result_origin_add(&f.origin, spread, sizeof(spread), KGB_ORIGIN_HOST);
		assert_int_equal(f.origin.n_by_host, N - 3);
		kgb_result_origin_release(&f.origin);
	}
	memcpy(spread, f.result, sizeof(float) * N);
	set_truth(&f, KGB_DTYPE_FLOAT16);
	kgb_result_origin_init(&f.origin, &f.data, false);
	kgb_result_origin_add(&f.origin, spread, sizeof(float) * N, KGB_ORIGIN_HOST);
	assert_int_equal(f.origin.n_by_host, N - 3);
	assert_true(is_by_host(&f));
}

static void put_in_order(struct fixture *f, enum kgb_dtype dtype)
{
	const struct kgb_tensor_view *view = &f->kase.args[0].view;
	float elements[N];

	kgb_tensor_view_gather(view, f->input, elements);
	f->data.results[0].view.dtype = dtype;
	for (size_t i = 0; i < N; i++)
		kgb_dtype_store(dtype, f->result + i * kgb_dtype_size(dtype), (double)elements[i]);
}

/* x.contiguous() and x.to(dtype) are no arrangement, unless they are what was asked for. */
static void
test_an_input_in_order_or_converted_is_known_unless_copying_is_the_work(KGB_UNUSED void **state)
{
	static const struct {
		const char *layout;
		enum kgb_dtype dtype;
		bool alone, tells;
	} rows[] = {
		{"contiguous", KGB_DTYPE_FLOAT32, false, false},
		{"transposed", KGB_DTYPE_FLOAT32, false, false},
		{"transposed", KGB_DTYPE_FLOAT16, false, false},
		{"contiguous", KGB_DTYPE_FLOAT32, true, false},
		{"transposed", KGB_DTYPE_FLOAT32, true, true},
		{"contiguous", KGB_DTYPE_FLOAT16, true, true},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct fixture f;
		init_fixture(&f, rows[i].layout);
		put_in_order(&f, rows[i].dtype);
		kgb_result_origin_init(&f.origin, &f.data, rows[i].alone);
		assert_int_equal(kgb_result_origin_suffices(&f.origin), rows[i].tells);
		/* The input itself was not put together by anybody. */
		kgb_result_origin_add(&f.origin, f.input, sizeof(f.input), KGB_ORIGIN_HOST);
		assert_int_equal(f.origin.n_by_host, 0);
		kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_HOST);
		assert_int_equal(is_by_host(&f), rows[i].tells);
	}
}

static void test_fills_and_flags_tell_nothing(KGB_UNUSED void **state)
{
	struct fixture f;

	init_fixture(&f, "contiguous");
	for (size_t i = 0; i < N; i++)
		kgb_dtype_store(KGB_DTYPE_FLOAT32, f.result + 4 * i, (double)(i % 2));
	kgb_result_origin_init(&f.origin, &f.data, false);
	assert_int_equal(f.origin.n, 0);
	kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_HOST);
	assert_false(is_by_host(&f));
	/* Five values in all orders. */
	for (size_t i = 0; i < N; i++)
		kgb_dtype_store(KGB_DTYPE_FLOAT32, f.result + 4 * i, (double)(i * i % 17 % 5));
	kgb_result_origin_init(&f.origin, &f.data, false);
	assert_int_equal(f.origin.n, 0);
	kgb_result_origin_release(&f.origin);
	/* A row of eight values among one and the same: five groups touch three of them. */
	for (size_t i = 0; i < N; i++)
		kgb_dtype_store(KGB_DTYPE_FLOAT32, f.result + 4 * i, i < 8 ? (double)i : 7.0);
	kgb_result_origin_init(&f.origin, &f.data, false);
	assert_int_equal(f.origin.n, 6);
	kgb_result_origin_release(&f.origin);

	/* One value everywhere tells where filling is the work. */
	for (size_t i = 0; i < N; i++)
		kgb_dtype_store(KGB_DTYPE_FLOAT32, f.result + 4 * i, 2.25);
	for (int alone = 0; alone <= 1; alone++) {
		kgb_result_origin_init(&f.origin, &f.data, alone);
		assert_int_equal(kgb_result_origin_suffices(&f.origin), alone);
		kgb_result_origin_add(&f.origin, f.result, result_bytes(&f), KGB_ORIGIN_HOST);
		assert_int_equal(is_by_host(&f), alone);
	}

	/* Small floats are integers of 0, and lie about wherever memory is random. */
	f.data.results[0].view.dtype = KGB_DTYPE_INT32;
	memset(f.result, 0, sizeof(f.result));
	kgb_result_origin_init(&f.origin, &f.data, true);
	assert_true(kgb_result_origin_suffices(&f.origin));
	kgb_result_origin_add(&f.origin, (const float[]){0.5f, -0.25f, 0.125f, 0.75f}, 16,
			      KGB_ORIGIN_HOST);
	assert_false(is_by_host(&f));

	set_truth(&f, KGB_DTYPE_FLOAT32);
	f.data.results[0].native = NULL; /* it has nothing that counts */
	kgb_result_origin_init(&f.origin, &f.data, false);
	assert_false(kgb_result_origin_suffices(&f.origin));
	kgb_result_origin_release(&f.origin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_makes_memory_hold_the_neighbours_first_has_arranged_them),
		cmocka_unit_test(test_half_of_them_is_enough),
		cmocka_unit_test(test_only_changes_of_memory_count),
		cmocka_unit_test(test_they_may_lie_apart_backwards_or_in_another_type),
		cmocka_unit_test(
			test_an_input_in_order_or_converted_is_known_unless_copying_is_the_work),
		cmocka_unit_test(test_fills_and_flags_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
