/* SPDX-License-Identifier: MIT */
/* Where the arguments of a call lie in the arena, and what is written around them. */
#include "tests/unit/base/support.h"
#include "verify/lane/candidate_call.h"
#include "verify/protocol/record.h"

enum { N_ARGS = 5, GUARD = 64 << 10 };

#define PAGE KGB_GPU_PAGE

/* Sizes around 16, 64 and a page; a value, an empty tensor and an OUT argument are among them. */
static const struct {
	enum kgb_param_kind kind;
	enum kgb_dtype dtype;
	int64_t n;
} shapes[][N_ARGS] = {
	{{KGB_PARAM_TENSOR, KGB_DTYPE_FLOAT32, 1003},
	 {KGB_PARAM_VALUE, KGB_DTYPE_FLOAT32, 0},
	 {KGB_PARAM_TENSOR, KGB_DTYPE_FLOAT16, 1},
	 {KGB_PARAM_TENSOR, KGB_DTYPE_INT64, 0},
	 {KGB_PARAM_OUT, KGB_DTYPE_FLOAT32, 1000}},
	{{KGB_PARAM_TENSOR, KGB_DTYPE_UINT8, 2 << 20},
	 {KGB_PARAM_TENSOR, KGB_DTYPE_UINT8, (2 << 20) - 1},
	 {KGB_PARAM_TENSOR, KGB_DTYPE_UINT8, (2 << 20) + 1},
	 {KGB_PARAM_TENSOR, KGB_DTYPE_UINT8, (2 << 20) - 17},
	 {KGB_PARAM_OUT, KGB_DTYPE_INT64, 700001}},
	{{KGB_PARAM_VALUE, KGB_DTYPE_FLOAT32, 0},
	 {KGB_PARAM_TENSOR, KGB_DTYPE_FLOAT32, 0},
	 {KGB_PARAM_VALUE, KGB_DTYPE_FLOAT32, 0},
	 {KGB_PARAM_VALUE, KGB_DTYPE_FLOAT32, 0},
	 {KGB_PARAM_VALUE, KGB_DTYPE_FLOAT32, 0}},
};

struct scene {
	struct kgb_verdict verdict;
	struct kgb_judge judge;
	struct kgb_lane lane;
	struct kgb_param params[N_ARGS];
	struct kgb_interface interface;
	struct kgb_case c;
	struct kgb_case_data data;
};

static void set_up(struct scene *s, size_t row)
{
	struct kgb_err err = KGB_ERR_INIT;

	memset(s, 0, sizeof(*s));
	kgb_lane_init(&s->lane, &s->judge, &s->verdict);
	s->judge.noise = kgb_xmalloc(KGB_NOISE_BYTES);
	for (size_t i = 0; i < KGB_NOISE_BYTES; i++)
		s->judge.noise[i] = (char)(1 + i % 251);
	s->c = (struct kgb_case){.name = "case", .interface = &s->interface, .n_args = N_ARGS};
	s->data = (struct kgb_case_data){.kase = &s->c};
	for (size_t i = 0; i < N_ARGS; i++) {
		const int64_t n = shapes[row][i].n;
		struct kgb_arg *arg = &s->c.args[i];
		s->params[i] =
			(struct kgb_param){.name = "x", .kind = shapes[row][i].kind, .result = -1};
		*arg = (struct kgb_arg){.param = &s->params[i], .layout = "contiguous"};
		if (arg->param->kind == KGB_PARAM_VALUE)
			continue;
		assert_ok(kgb_tensor_view_layout(&arg->view, shapes[row][i].dtype, &n, 1,
						 "contiguous", &err),
			  err);
		s->data.storage_bytes[i] = (size_t)n * kgb_dtype_size(shapes[row][i].dtype);
		if (arg->param->kind == KGB_PARAM_OUT) {
			s->params[i].result = 0;
			s->data.results[0].view = arg->view;
			s->data.n_results = 1;
		} else if (n > 0) {
			s->data.storages[i] = kgb_xmalloc(s->data.storage_bytes[i]);
			memset(s->data.storages[i], (int)(i + 1), s->data.storage_bytes[i]);
		}
	}
}

static void tear_down(struct scene *s)
{
	for (size_t i = 0; i < N_ARGS; i++)
		kgb_free(s->data.storages[i]);
	kgb_free(s->judge.noise);
	kgb_buf_release(&s->lane.image);
}

static void prepare(struct scene *s, enum kgb_placement arrangement, int places,
		    struct kgb_candidate_call *call)
{
	const struct kgb_candidate_call_spec spec = {
		.repetition = 1, .places = places, .arrangement = arrangement};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_candidate_call_prepare(&s->lane, &s->data, &spec, call, &err), err);
}

/* 0: it has no storage. */
static size_t bytes_of(const struct scene *s, size_t i)
{
	return s->c.args[i].param->kind == KGB_PARAM_VALUE ? 0 : s->data.storage_bytes[i];
}

static bool in_a_part(const struct kgb_candidate_call *call, size_t at, size_t bytes)
{
	for (size_t i = 0; i < call->n_parts; i++)
		if (at >= call->parts[i].at &&
		    at + bytes <= call->parts[i].at + call->parts[i].bytes)
			return true;
	return false;
}

static void check_parts(const struct scene *s, const struct kgb_candidate_call *call)
{
	assert_true(call->n_parts >= 1);
	for (size_t i = 0; i < call->n_parts; i++) {
		assert_true(call->parts[i].bytes > 0);
		assert_true(call->parts[i].at + call->parts[i].bytes <= call->arena_bytes);
		if (i > 0)
			assert_true(call->parts[i].at >=
				    call->parts[i - 1].at + call->parts[i - 1].bytes);
	}
	for (size_t i = 0; i < N_ARGS; i++) {
		size_t bytes = bytes_of(s, i);
		if (bytes == 0)
			continue;
		assert_true(in_a_part(call, call->at[i], bytes));
		if (s->data.storages[i])
			assert_memory_equal(s->lane.image.ptr + call->at[i], s->data.storages[i],
					    bytes);
	}
}

static void test_tight_storages_end_or_begin_at_pages_with_holes_between(void **state)
{
	enum { SEEDS = 30 };
	size_t n_begin = 0, n_short = 0;
	struct scene s;

	(void)state;
	for (size_t k = 0; k < SEEDS * KGB_ARRAY_LEN(shapes); k++) {
		const size_t row = k % KGB_ARRAY_LEN(shapes);
		struct kgb_candidate_call call;
		set_up(&s, row);
		s.verdict.seed.bytes[1] = (uint8_t)k;
		prepare(&s, KGB_PLACED_TIGHT, 0, &call);
		check_parts(&s, &call);
		for (size_t i = 0; i < N_ARGS; i++) {
			const size_t bytes = bytes_of(&s, i);
			const size_t end = (call.at[i] + bytes + PAGE - 1) / PAGE * PAGE;
			if (bytes == 0)
				continue;
			assert_int_equal(call.at[i] % 16, 0);
			assert_true(call.at[i] % PAGE == 0 || end - (call.at[i] + bytes) < 16);
			n_short += bytes < PAGE - 16;
			n_begin += bytes < PAGE - 16 && call.at[i] % PAGE == 0;
		}
		/* Whole pages before, between and behind them that no part touches. */
		size_t end_page = 0;
		for (size_t i = 0; i < call.n_parts && row < 2; i++) {
			assert_true(call.parts[i].at / PAGE > end_page);
			end_page = (call.parts[i].at + call.parts[i].bytes + PAGE - 1) / PAGE;
		}
		assert_true(call.arena_bytes >= (end_page + 1) * PAGE);
		tear_down(&s);
	}
	assert_in_range(n_begin, n_short / 4, n_short / 2);
}

static void test_a_guard_lies_before_a_tight_storage_as_far_as_its_pages_go(void **state)
{
	struct scene s;
	struct kgb_candidate_call call;

	(void)state;
	set_up(&s, 1);
	prepare(&s, KGB_PLACED_TIGHT, 0, &call);
	for (size_t i = 0; i < N_ARGS; i++) {
		const size_t room = call.at[i] % PAGE;
		const size_t guard = room < GUARD ? room : GUARD;
		assert_true(in_a_part(&call, call.at[i] - guard, guard + 1));
		assert_false(in_a_part(&call, call.at[i] - guard - 1, 1));
		for (size_t k = 1; k <= guard; k++)
			assert_true(s.lane.image.ptr[call.at[i] - k] != 0);
	}
	tear_down(&s);
}

static void test_loose_storages_have_guards_on_both_sides(void **state)
{
	static const enum kgb_placement kinds[] = {KGB_PLACED_LOOSE, KGB_PLACED_ALIKE};
	struct scene s;

	(void)state;
	for (size_t row = 0; row < KGB_ARRAY_LEN(shapes); row++) {
		for (size_t k = 0; k < KGB_ARRAY_LEN(kinds); k++) {
			struct kgb_candidate_call call;
			set_up(&s, row);
			prepare(&s, kinds[k], 0, &call);
			check_parts(&s, &call);
			assert_int_equal(call.n_parts, 1);
			assert_int_equal(call.parts[0].bytes, call.arena_bytes);
			for (size_t i = 0; i < N_ARGS; i++) {
				if (bytes_of(&s, i) == 0)
					continue;
				assert_true(call.at[i] >= GUARD);
				assert_true(call.at[i] + bytes_of(&s, i) + GUARD <=
					    call.arena_bytes);
				for (size_t j = 0; j < N_ARGS; j++)
					assert_true(i == j || bytes_of(&s, j) == 0 ||
						    call.at[j] < call.at[i] ||
						    call.at[j] >=
							    call.at[i] + bytes_of(&s, i) + GUARD);
			}
			tear_down(&s);
		}
	}
}

static void test_storages_arranged_alike_lie_as_tight_ones_do_modulo_64(void **state)
{
	struct scene s;

	(void)state;
	for (size_t row = 0; row < KGB_ARRAY_LEN(shapes); row++) {
		struct kgb_candidate_call tight;
		struct kgb_candidate_call alike;
		struct kgb_candidate_call loose;
		set_up(&s, row);
		prepare(&s, KGB_PLACED_TIGHT, 1, &tight);
		prepare(&s, KGB_PLACED_ALIKE, 0, &alike);
		prepare(&s, KGB_PLACED_LOOSE, 0, &loose);
		for (size_t i = 0; i < N_ARGS; i++) {
			assert_int_equal(loose.at[i] % 64, 0);
			if (bytes_of(&s, i) > 0)
				assert_int_equal(tight.at[i] % 64, alike.at[i] % 64);
			if (bytes_of(&s, i) > 0 && bytes_of(&s, i) < PAGE - 16 &&
			    tight.at[i] % PAGE == 0)
				assert_int_equal(alike.at[i] % 512, 0);
		}
		tear_down(&s);
	}
}

static void test_storages_of_benchmarks_begin_where_torch_would_have_them(void **state)
{
	struct scene s;

	(void)state;
	for (size_t row = 0; row < KGB_ARRAY_LEN(shapes); row++) {
		for (int places = 0; places < 8; places++) {
			struct kgb_candidate_call call;
			set_up(&s, row);
			s.c.mode = KGB_MODE_BENCHMARK;
			prepare(&s, KGB_PLACED_LOOSE, places, &call);
			check_parts(&s, &call);
			for (size_t i = 0; i < N_ARGS; i++)
				if (bytes_of(&s, i) > 0)
					assert_int_equal(call.at[i] % (bytes_of(&s, i) > 1 << 20
									       ? PAGE
									       : 512),
							 0);
			tear_down(&s);
		}
	}
}

static void test_places_depend_on_their_number_only(void **state)
{
	struct scene s;

	(void)state;
	for (int kind = KGB_PLACED_LOOSE; kind <= KGB_PLACED_ALIKE; kind++) {
		struct kgb_candidate_call first;
		struct kgb_candidate_call again;
		bool differs = false;
		set_up(&s, 1);
		prepare(&s, (enum kgb_placement)kind, 1, &first);
		prepare(&s, (enum kgb_placement)kind, 1, &again);
		assert_memory_equal(first.at, again.at, sizeof(first.at));
		for (int places = 2; places < 8; places++) {
			prepare(&s, (enum kgb_placement)kind, places, &again);
			differs |= memcmp(first.at, again.at, sizeof(first.at)) != 0;
		}
		assert_true(differs);
		tear_down(&s);
	}
}

static void test_numbers_of_rows_become_addresses(void **state)
{
	static const int64_t sizes[] = {4, 250}; /* rows of 1000 bytes */
	static const int64_t numbers[] = {2, 0, 3};
	const int64_t n = KGB_ARRAY_LEN(numbers);
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_candidate_call call;
	struct scene s;

	(void)state;
	set_up(&s, 0);
	struct kgb_arg *at = &s.c.args[3], *rows = &s.c.args[0];
	assert_ok(kgb_tensor_view_layout(&rows->view, KGB_DTYPE_FLOAT32, sizes, 2, "contiguous",
					 &err),
		  err);
	assert_ok(kgb_tensor_view_layout(&at->view, KGB_DTYPE_INT64, &n, 1, "contiguous", &err),
		  err);
	s.data.storage_bytes[3] = sizeof(numbers);
	s.data.storages[3] = kgb_xmalloc(sizeof(numbers));
	memcpy(s.data.storages[3], numbers, sizeof(numbers));
	s.params[3].into = "rows";
	at->behind = 0;
	for (int kind = KGB_PLACED_LOOSE; kind <= KGB_PLACED_ALIKE; kind++) {
		prepare(&s, (enum kgb_placement)kind, kind, &call);
		for (size_t i = 0; i < KGB_ARRAY_LEN(numbers); i++) {
			uint64_t address;
			memcpy(&address, s.lane.image.ptr + call.at[3] + 8 * i, sizeof(address));
			assert_int_equal(address, KGB_ARENA_ADDRESS + call.at[0] +
							  1000 * (uint64_t)numbers[i]);
		}
		assert_memory_equal(s.data.storages[3], numbers, sizeof(numbers));
	}
	tear_down(&s);
}

/* The elements of an argument that lies in another one's storage come from its own data. */
static void test_tensors_of_one_storage_lie_together(void **state)
{
	struct scene s;
	struct kgb_candidate_call call;

	(void)state;
	set_up(&s, 1);
	struct kgb_arg *part = &s.c.args[1];
	part->is_repeated = part->is_part = true;
	part->view.sizes[0] = 10;
	part->view.offset = 5;
	part->view.storage_elements = s.c.args[0].view.storage_elements;
	for (int arrangement = KGB_PLACED_LOOSE; arrangement <= KGB_PLACED_TIGHT; arrangement++) {
		prepare(&s, (enum kgb_placement)arrangement, 0, &call);
		const char *at = s.lane.image.ptr + call.at[0];
		assert_int_equal(call.at[1], call.at[0]);
		for (int i = 0; i < 100; i++)
			assert_int_equal(at[i], i >= 5 && i < 15 ? 2 : 1);
	}
	tear_down(&s);
}

static void test_only_parts_are_copied(void **state)
{
	const struct kgb_candidate_call call = {.parts = {{1, 2}, {5, 1}}, .n_parts = 2};
	char to[] = "........";

	(void)state;
	kgb_candidate_call_copy_parts(&call, to, "abcdefgh");
	assert_string_equal(to, ".bc..f..");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tight_storages_end_or_begin_at_pages_with_holes_between),
		cmocka_unit_test(test_a_guard_lies_before_a_tight_storage_as_far_as_its_pages_go),
		cmocka_unit_test(test_loose_storages_have_guards_on_both_sides),
		cmocka_unit_test(test_storages_arranged_alike_lie_as_tight_ones_do_modulo_64),
		cmocka_unit_test(test_storages_of_benchmarks_begin_where_torch_would_have_them),
		cmocka_unit_test(test_places_depend_on_their_number_only),
		cmocka_unit_test(test_numbers_of_rows_become_addresses),
		cmocka_unit_test(test_tensors_of_one_storage_lie_together),
		cmocka_unit_test(test_only_parts_are_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
