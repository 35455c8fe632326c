/* SPDX-License-Identifier: MIT */
/* What is compared of a timed call's results, and which inputs are turned to make others. */
#include "tests/unit/base/support.h"
#include "verify/stages/timed_results.h"

enum { N = 1 << 20, SMALL = 100, SLOT = 3 }; /* elements of float32: 4 MiB, and few */

static const struct kgb_interface interface;
static const struct kgb_case kase = {.interface = &interface};

struct fixture {
	struct kgb_benchmark b;
	float *results[KGB_MAX_RESULTS];
	char *output;
	struct kgb_window_draw draw;
	struct kgb_exec_layout layout;
};

/* A benchmark whose results have these sizes, one behind the other at the start of the pool. */
static struct fixture *new_fixture(const int64_t *sizes, size_t n_results, int64_t stride)
{
	struct fixture *f = kgb_xcalloc(1, sizeof(*f));
	uint64_t address = KGB_POOL_ADDRESS;

	f->b.kase = &kase;
	f->b.data.n_results = n_results;
	for (size_t i = 0; i < n_results; i++) {
		struct kgb_wire_output *output = &f->b.rcase.call.reply.outputs[i];
		struct kgb_tensor_view *view = &f->b.data.results[i].view;
		*view = (struct kgb_tensor_view){.dtype = KGB_DTYPE_FLOAT32,
						 .ndim = 1,
						 .sizes = {sizes[i]},
						 .strides = {1},
						 .storage_elements = sizes[i]};
		output->dtype = KGB_DTYPE_FLOAT32;
		output->ndim = 1;
		output->sizes[0] = sizes[i];
		output->strides[0] = stride;
		f->b.rcase.ranges[i] = (struct kgb_exec_range){
			address, (uint64_t)((sizes[i] - 1) * stride + 1) * sizeof(float)};
		address += f->b.rcase.ranges[i].bytes;
		f->results[i] = kgb_xmalloc((size_t)sizes[i] * sizeof(float));
		for (int64_t k = 0; k < sizes[i]; k++)
			f->results[i][k] = (float)(k + (int64_t)i);
	}
	f->output = kgb_xcalloc(1, (size_t)(address - KGB_POOL_ADDRESS) + 64);
	return f;
}

static void free_fixture(struct fixture *f)
{
	for (size_t i = 0; i < f->b.data.n_results; i++) {
		kgb_free(f->b.right[SLOT][i]);
		kgb_free(f->results[i]);
	}
	kgb_free(f->output);
	kgb_free(f);
}

/* Bring the memory back as kgb-exec does; element `wrong` of result 0 is another one. */
static void bring(struct fixture *f, int64_t stride, int64_t wrong)
{
	const struct kgb_result_windows *windows = &f->b.windows[SLOT];
	uint64_t used = 0;

	for (uint32_t k = 0; k < f->draw.n; k++) {
		const size_t i = windows->items[f->draw.items[k]].result;
		const struct kgb_exec_range *range = &f->draw.ranges[k];
		const struct kgb_exec_range *all = &f->b.rcase.ranges[i];
		assert_true(range->address >= all->address);
		assert_true(range->address + range->bytes <= all->address + all->bytes);
		f->layout.ranges[k] = used;
		for (uint64_t at = 0; at < range->bytes; at++) {
			const uint64_t byte = range->address - all->address + at;
			const uint64_t element = byte / sizeof(float) / (uint64_t)stride;
			const char *result = (const char *)f->results[i];
			char value = result[element * sizeof(float) + byte % sizeof(float)];
			value = (char)(value + (i == 0 && (int64_t)element == wrong));
			f->output[used + at] = value;
		}
		used += range->bytes;
	}
}

/* Choose windows and keep the right results. */
static void keep(struct fixture *f, uint64_t random, int64_t stride)
{
	struct kgb_result_windows *windows = &f->b.windows[SLOT];

	kgb_result_windows_choose(&f->b, random, windows);
	for (uint32_t first = 0; first < windows->n; first += f->draw.n) {
		kgb_result_windows_from(windows, first, &f->draw);
		assert_true(f->draw.n > 0);
		bring(f, stride, -1);
		kgb_result_windows_keep(&f->b, SLOT, &f->draw, f->output, &f->layout);
	}
}

/* Draw windows, bring the results back, and compare. */
static bool compare(struct fixture *f, uint64_t random, int64_t stride, int64_t wrong)
{
	kgb_result_windows_draw(&f->b.windows[SLOT], random, &f->draw);
	bring(f, stride, wrong);
	return kgb_result_windows_are_right(&f->b, SLOT, &f->draw, f->output, &f->layout);
}

/* An element in the middle of a kept window of result 0. */
static int64_t inside(const struct fixture *f, uint32_t item)
{
	const struct kgb_exec_range *range = &f->b.windows[SLOT].items[item].range;

	return (int64_t)((range->address - f->b.rcase.ranges[0].address + range->bytes / 2) /
			 sizeof(float));
}

static void test_a_large_result_is_compared_in_windows(KGB_UNUSED void **state)
{
	static const int64_t sizes[] = {N, SMALL};
	struct fixture *f = new_fixture(sizes, 2, 1);
	const struct kgb_result_windows *windows = &f->b.windows[SLOT];
	bool drawn[KGB_MAX_RESULTS + KGB_KEPT_WINDOWS] = {false};

	keep(f, 1, 1);
	assert_int_equal(windows->n_whole, 1);
	assert_int_equal(windows->n, 1 + KGB_KEPT_WINDOWS / 2);
	for (uint64_t random = 1; random <= 100; random++) {
		assert_true(compare(f, random, 1, -1));
		assert_int_equal(f->draw.n, KGB_EXEC_RANGES);
		assert_int_equal(f->draw.items[0], 0); /* the small one, each time */
		for (uint32_t k = 0; k < f->draw.n; k++) {
			assert_true(k == 0 || f->draw.items[k] > f->draw.items[k - 1]);
			drawn[f->draw.items[k]] = true;
		}
		/* An error in a window that was drawn is found. */
		const int64_t wrong = inside(f, f->draw.items[1 + random % (f->draw.n - 1)]);
		assert_false(compare(f, random, 1, wrong));
	}
	for (uint32_t i = 0; i < windows->n; i++)
		assert_true(drawn[i]);
	free_fixture(f);
}

/* The windows lie elsewhere for each slot. */
static void test_windows_cover_a_result(KGB_UNUSED void **state)
{
	static const int64_t sizes[] = {N};
	struct fixture *f = new_fixture(sizes, 1, 1);
	bool covered[64] = {false};

	for (uint64_t random = 1; random <= 8; random++) {
		kgb_result_windows_choose(&f->b, random, &f->b.windows[SLOT]);
		for (uint32_t i = 0; i < KGB_KEPT_WINDOWS; i++)
			covered[inside(f, i) * 64 / N] = true;
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(covered); i++)
		assert_true(covered[i]);
	free_fixture(f);
}

static void test_small_results_and_those_with_gaps_are_compared_whole(KGB_UNUSED void **state)
{
	static const int64_t few[] = {SMALL}, many[] = {N};
	struct fixture *f = new_fixture(few, 1, 1);

	keep(f, 1, 1);
	assert_int_equal(f->b.windows[SLOT].n, 1);
	assert_int_equal(f->b.windows[SLOT].n_whole, 1);
	assert_true(compare(f, 1, 1, -1));
	assert_false(compare(f, 1, 1, SMALL - 1));
	free_fixture(f);
	f = new_fixture(many, 1, 2);
	keep(f, 1, 2);
	assert_int_equal(f->b.windows[SLOT].n_whole, 1);
	assert_true(compare(f, 1, 2, -1));
	assert_false(compare(f, 1, 2, N - 1));
	free_fixture(f);
}

/* A result that a parameter holds lies in the arena, behind other elements of its storage. */
static void test_a_result_in_the_arena_is_found_there(KGB_UNUSED void **state)
{
	static const struct kgb_param out = {.kind = KGB_PARAM_OUT, .result = 0};
	static const struct kgb_case held = {
		.interface = &interface, .n_args = 1, .args = {{.param = &out}}};
	static const uint64_t offset = 6;
	static const int64_t sizes[] = {N, SMALL};

	for (size_t s = 0; s < KGB_ARRAY_LEN(sizes); s++) {
		struct fixture *f = new_fixture(&sizes[s], 1, 1);
		struct kgb_candidate_call *call = &f->b.rcase.call;
		const uint64_t elements = KGB_ARENA_ADDRESS + 4096 + offset * sizeof(float);
		const uint64_t bytes = (uint64_t)sizes[s] * sizeof(float);
		f->b.kase = &held;
		f->b.rcase.ranges[0].bytes = 0;
		call->addresses[0] = KGB_ARENA_ADDRESS + 4096;
		call->views[0] = f->b.data.results[0].view;
		call->views[0].offset = (int64_t)offset;
		call->views[0].storage_elements += (int64_t)offset + 1;
		kgb_result_windows_choose(&f->b, 7, &f->b.windows[SLOT]);
		const struct kgb_exec_range *range = &f->b.windows[SLOT].items[0].range;
		if (sizes[s] == SMALL) { /* the storage */
			assert_int_equal(range->address, KGB_ARENA_ADDRESS + 4096);
			assert_int_equal(range->bytes, bytes + (offset + 1) * sizeof(float));
		}
		for (uint32_t i = 0; i < KGB_KEPT_WINDOWS && sizes[s] == N; i++) {
			range = &f->b.windows[SLOT].items[i].range;
			assert_true(range->address >= elements &&
				    range->address + range->bytes <= elements + bytes);
		}
		free_fixture(f);
	}
}

static void test_a_result_without_a_right_one_is_wrong(KGB_UNUSED void **state)
{
	static const int64_t few[] = {SMALL};
	struct fixture *f = new_fixture(few, 1, 1);

	keep(f, 1, 1);
	assert_true(compare(f, 1, 1, -1));
	f->b.windows[SLOT - 1] = f->b.windows[SLOT];
	assert_false(
		kgb_result_windows_are_right(&f->b, SLOT - 1, &f->draw, f->output, &f->layout));
	free_fixture(f);
}

static void test_many_results_have_fewer_windows_each(KGB_UNUSED void **state)
{
	static const int64_t many[] = {N, N, N, N, N};
	struct fixture *f = new_fixture(many, KGB_ARRAY_LEN(many), 1);
	const struct kgb_result_windows *windows = &f->b.windows[SLOT];

	keep(f, 1, 1);
	assert_true(compare(f, 1, 1, -1));
	assert_int_equal(windows->n, KGB_KEPT_WINDOWS / 5 * 5);
	for (uint32_t i = 0; i < windows->n; i++)
		assert_int_equal(windows->items[i].result, i / (KGB_KEPT_WINDOWS / 5));
	free_fixture(f);
}

static void test_only_independent_elements_may_turn(KGB_UNUSED void **state)
{
	static const struct kgb_param tensor = {.kind = KGB_PARAM_TENSOR};
	static const struct kgb_param addresses = {.kind = KGB_PARAM_TENSOR, .into = "rows"};
	static const struct {
		enum kgb_mode mode;
		struct kgb_arg arg;
		bool may;
	} rows[] = {
		{KGB_MODE_BENCHMARK, {.param = &tensor, .fill = KGB_FILL_NORMAL}, true},
		{KGB_MODE_BENCHMARK, {.param = &tensor, .fill = KGB_FILL_INT, .hi = 9}, true},
		{KGB_MODE_STANDARD, {.param = &tensor, .fill = KGB_FILL_NORMAL}, false},
		{KGB_MODE_BENCHMARK, {.param = &tensor, .fill = KGB_FILL_TRIANGLE}, false},
		{KGB_MODE_BENCHMARK, {.param = &tensor, .fill = KGB_FILL_SORTED}, false},
		{KGB_MODE_BENCHMARK, {.param = &tensor, .fill = KGB_FILL_OWNERS}, false},
		{KGB_MODE_BENCHMARK, {.param = &addresses, .fill = KGB_FILL_INT}, false},
		{KGB_MODE_BENCHMARK, {.param = &tensor, .read.shape = KGB_READ_ENTRIES}, false},
		{KGB_MODE_BENCHMARK, {.param = &tensor, .values.has_neighbours = true}, false},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_case c = {
			.mode = rows[i].mode, .n_args = 2, .args = {rows[i].arg, rows[i].arg}};
		assert_true(kgb_benchmark_may_turn(&c, 0) == rows[i].may);
		c.args[1].is_repeated = true; /* same_as argument 0 */
		assert_false(kgb_benchmark_may_turn(&c, 0));
		assert_false(kgb_benchmark_may_turn(&c, 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_large_result_is_compared_in_windows),
		cmocka_unit_test(test_windows_cover_a_result),
		cmocka_unit_test(test_small_results_and_those_with_gaps_are_compared_whole),
		cmocka_unit_test(test_a_result_in_the_arena_is_found_there),
		cmocka_unit_test(test_a_result_without_a_right_one_is_wrong),
		cmocka_unit_test(test_only_independent_elements_may_turn),
		cmocka_unit_test(test_many_results_have_fewer_windows_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
