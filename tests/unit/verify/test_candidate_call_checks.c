/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "verify/lane/candidate_check.h"
#include "verify/protocol/exec_request.h"

#include "tests/unit/base/support.h"
#include "verify/ablation/ablation.h"
#include "verify/lane/case_judge.h"

/* One call without any process: what a runner would have left is written here. The result is
 * self * 2, self is float32[4, 5] with strides, and lies in none, one or both kinds of memory. */
enum { ROWS = 4, COLUMNS = 5, N = ROWS * COLUMNS, N_OTHER = 3 };
enum kind { FRESH, IN_PLACE, BUFFER };
enum { SELF, OTHER, OUT };

struct fixture {
	struct kgb_param params[3];
	struct kgb_interface interface;
	struct kgb_case kase;
	struct kgb_case_data data;
	struct kgb_judge judge;
	struct kgb_lane lane;
	struct kgb_candidate_call call;
};

static void set_param(struct fixture *f, size_t i, const char *name, enum kgb_param_kind kind,
		      int result)
{
	f->params[i] = (struct kgb_param){.name = name, .kind = kind, .result = result};
	f->kase.args[i] = (struct kgb_arg){.param = &f->params[i], .layout = "strided"};
}

static void lay_out(struct kgb_tensor_view *view, int64_t rows, int64_t columns, const char *layout)
{
	const int64_t sizes[] = {rows, columns};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_tensor_view_layout(view, KGB_DTYPE_FLOAT32, sizes, 2, layout, &err), err);
}

static void set_truth(struct kgb_truth *truth, float factor)
{
	lay_out(&truth->view, ROWS, COLUMNS, "contiguous");
	float *native = kgb_xcalloc(N, sizeof(*native));
	truth->exact = kgb_xcalloc(N, sizeof(*truth->exact));
	for (int i = 0; i < N; i++) {
		native[i] = factor * (float)(i + 1);
		truth->exact[i] = (double)native[i];
	}
	truth->native = native;
}

static struct fixture *new_fixture(enum kind kind, size_t n_results)
{
	struct fixture *f = kgb_xcalloc(1, sizeof(*f));
	const struct kgb_seed seed = {{1, 2, 3}};

	set_param(f, SELF, "self", KGB_PARAM_TENSOR, kind == IN_PLACE ? 0 : -1);
	set_param(f, OTHER, "other", KGB_PARAM_TENSOR, -1);
	set_param(f, OUT, "out", KGB_PARAM_OUT, 0);
	lay_out(&f->kase.args[SELF].view, ROWS, COLUMNS, "strided");
	lay_out(&f->kase.args[OTHER].view, 1, N_OTHER, "contiguous");
	f->interface = (struct kgb_interface){.entry = "toy",
					      .params = f->params,
					      .n_results = n_results,
					      .n_returned = n_results,
					      .tolerance = {.factor = 2, .ulps = 2}};
	f->kase.name = "toy/float32/one/standard";
	f->kase.interface = &f->interface;
	f->kase.n_args = f->interface.n_params = kind == BUFFER ? 3 : 2;
	kgb_case_data_fill(&f->data, &f->kase, &seed, 0);
	for (size_t i = 0; i < n_results; i++)
		set_truth(&f->data.results[i], i == 0 ? 2 : 3);
	kgb_lane_init(&f->lane, &f->judge, kgb_xcalloc(1, sizeof(struct kgb_verdict)));
	f->lane.verdict->seed = seed;
	f->judge.noise = kgb_xmalloc(KGB_NOISE_BYTES);
	for (size_t i = 0; i < KGB_NOISE_BYTES; i++)
		f->judge.noise[i] = (char)(i * i >> 3);
	return f;
}

static void prepare(struct fixture *f, int repetition, int places)
{
	const struct kgb_candidate_call_spec spec = {.repetition = repetition, .places = places};
	struct kgb_err err = KGB_ERR_INIT;

	kgb_candidate_call_release(&f->call);
	assert_ok(kgb_candidate_call_prepare(&f->lane, &f->data, &spec, &f->call, &err), err);
	kgb_candidate_call_resize(&f->lane.after, f->call.arena_bytes);
	memcpy(f->lane.after.ptr, f->lane.image.ptr, f->call.arena_bytes);
}

static void free_fixture(struct fixture *f)
{
	kgb_candidate_call_release(&f->call);
	kgb_case_data_release(&f->data);
	kgb_buf_release(&f->lane.image);
	kgb_buf_release(&f->lane.after);
	kgb_free(f->judge.noise);
	kgb_arena_release(&f->lane.verdict->arena);
	kgb_free(f->lane.verdict);
	kgb_free(f);
}

/* The argument that holds the result gets it, element by element. */
static void write_held(struct fixture *f, size_t arg)
{
	const struct kgb_tensor_view *view = &f->call.views[arg];
	const float *native = f->data.results[0].native;
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int i = 0; i < N; i++, kgb_tensor_view_walk_next(&walk))
		memcpy(f->lane.after.ptr + f->call.at[arg] + (size_t)walk.at * 4, &native[i], 4);
}

/* A reply with the right results. */
static void answer(struct fixture *f, enum kind kind)
{
	const size_t arg = kind == IN_PLACE ? SELF : OUT;
	struct kgb_wire_reply *reply = &f->call.reply;

	reply->value = f->data.n_results == 1 ? KGB_WIRE_FORM_SINGLE : KGB_WIRE_FORM_SEQUENCE;
	reply->n_outputs = (uint32_t)f->data.n_results;
	for (size_t i = 0; i < f->data.n_results; i++) {
		struct kgb_wire_output *output = &reply->outputs[i];
		*output = (struct kgb_wire_output){.kind = KGB_WIRE_TENSOR,
						   .dtype = KGB_DTYPE_FLOAT32,
						   .ndim = 2,
						   .where = KGB_WIRE_FRESH,
						   .sizes = {ROWS, COLUMNS},
						   .strides = {COLUMNS, 1},
						   .address = 0x1000 + 0x1000 * i,
						   .n_bytes = 4 * (int64_t)N};
		if (kind == FRESH) {
			f->call.values[i] = kgb_xmalloc(4 * (size_t)N);
			memcpy(f->call.values[i], f->data.results[i].native, 4 * (size_t)N);
			continue;
		}
		output->where = KGB_WIRE_ARENA;
		output->address = f->call.at[arg];
		memcpy(output->strides, f->call.views[arg].strides, sizeof(output->strides));
		write_held(f, arg);
		kgb_candidate_call_take_held(&f->lane, &f->data, &f->call);
	}
}

static struct fixture *answered(enum kind kind, size_t n_results)
{
	struct fixture *f = new_fixture(kind, n_results);

	prepare(f, 0, 0);
	answer(f, kind);
	return f;
}

/* NULL: all is well; else the code of the failure. */
static const char *checked(struct fixture *f)
{
	struct kgb_failure failure = {0};
	bool good = kgb_candidate_call_check(&f->lane, &f->data, &f->call, &failure);

	assert_true(good == (failure.code == KGB_CODE_NONE));
	return kgb_code_name(failure.code);
}

static void assert_refused(struct fixture *f, const char *code)
{
	const char *got = checked(f);

	if (!got || strcmp(got, code) != 0)
		fail_msg("expected %s, got %s", code, got ? got : "nothing wrong");
}

static void test_what_is_right_passes_wherever_the_result_lies(KGB_UNUSED void **state)
{
	for (int kind = FRESH; kind <= BUFFER; kind++) {
		struct fixture *f = answered((enum kind)kind, 1);
		struct kgb_failure failure = {0};
		assert_null(checked(f));
		assert_true(
			kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
		free_fixture(f);
	}
}

/* ---- what is returned ---- */

static void return_nothing(struct fixture *f)
{
	f->call.reply.value = KGB_WIRE_FORM_NONE;
	f->call.reply.n_outputs = 0;
}

static void return_tuple(struct fixture *f)
{
	f->call.reply.value = KGB_WIRE_FORM_SEQUENCE;
}

static void return_two(struct fixture *f)
{
	f->call.reply.value = KGB_WIRE_FORM_SEQUENCE;
	f->call.reply.n_outputs = 2;
}

static void contradict(struct fixture *f)
{
	f->call.reply.n_outputs = 2;
}

static void return_number(struct fixture *f)
{
	f->call.reply.outputs[0].kind = KGB_WIRE_OTHER;
}

static void change_dtype(struct fixture *f)
{
	f->call.reply.outputs[0].dtype = KGB_DTYPE_INT32;
}

static void swap_sizes(struct fixture *f)
{
	f->call.reply.outputs[0].sizes[0] = COLUMNS;
	f->call.reply.outputs[0].sizes[1] = ROWS;
}

static void flatten(struct fixture *f)
{
	f->call.reply.outputs[0].ndim = 1;
	f->call.reply.outputs[0].sizes[0] = N;
}

static void drop_dimension(struct fixture *f)
{
	f->call.reply.outputs[0].ndim = 1;
}

static void return_argument(struct fixture *f)
{
	f->call.reply.outputs[0].where = KGB_WIRE_ARENA;
	f->call.reply.outputs[0].address = f->call.at[SELF];
}

static void overlap_elements(struct fixture *f)
{
	f->call.reply.outputs[0].strides[0] = 0;
}

static void deliver_nothing(struct fixture *f)
{
	kgb_candidate_call_release(&f->call);
}

static void return_copy(struct fixture *f)
{
	f->call.reply.outputs[0].where = KGB_WIRE_FRESH;
}

static void return_elsewhere(struct fixture *f)
{
	f->call.reply.outputs[0].address += 4;
}

static void return_other_strides(struct fixture *f)
{
	f->call.reply.outputs[0].strides[1] += 1;
}

static const struct {
	enum kind kind;
	void (*spoil)(struct fixture *f);
	const char *code;
} returns[] = {
	{FRESH, return_nothing, "verify.return"},
	{FRESH, return_tuple, "verify.return"},
	{FRESH, return_two, "verify.return"},
	{FRESH, contradict, "verify.protocol"},
	{FRESH, return_number, "verify.type"},
	{FRESH, change_dtype, "verify.dtype"},
	{FRESH, swap_sizes, "verify.shape"},
	{FRESH, flatten, "verify.shape"},
	{FRESH, drop_dimension, "verify.shape"},
	{FRESH, return_argument, "verify.alias"},
	{FRESH, overlap_elements, "verify.layout"},
	{FRESH, deliver_nothing, "verify.protocol"},
	{IN_PLACE, return_nothing, "verify.return"},
	{IN_PLACE, return_copy, "verify.alias"},
	{IN_PLACE, return_elsewhere, "verify.alias"},
	{IN_PLACE, return_other_strides, "verify.alias"},
	{IN_PLACE, swap_sizes, "verify.alias"},
	{IN_PLACE, change_dtype, "verify.alias"},
	{BUFFER, return_copy, "verify.alias"},
	{BUFFER, return_elsewhere, "verify.alias"},
};

static void test_what_is_returned_must_be_what_pytorch_returns(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(returns); i++) {
		struct fixture *f = answered(returns[i].kind, 1);
		returns[i].spoil(f);
		assert_refused(f, returns[i].code);
		free_fixture(f);
	}
}

static void test_results_of_one_call_and_of_two_do_not_share_memory(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 2);
	struct kgb_candidate_call later = f->call;

	assert_null(checked(f));
	assert_true(kgb_candidate_call_shares_memory(&f->data, &f->call, &later));
	/* Elements that stay in the runner have a place, too. */
	for (int i = 0; i < 2; i++)
		later.reply.outputs[i].n_bytes = 0;
	assert_true(kgb_candidate_call_shares_memory(&f->data, &f->call, &later));
	for (int i = 0; i < 2; i++)
		later.reply.outputs[i].address += 0x10000;
	assert_false(kgb_candidate_call_shares_memory(&f->data, &f->call, &later));
	later.reply.outputs[1].address = f->call.reply.outputs[0].address + 4 * N - 1;
	assert_true(kgb_candidate_call_shares_memory(&f->data, &f->call, &later));
	later.reply.outputs[1].address += 1;
	assert_false(kgb_candidate_call_shares_memory(&f->data, &f->call, &later));
	f->call.reply.outputs[1].address = f->call.reply.outputs[0].address + 4 * N - 1;
	assert_refused(f, "verify.alias");
	f->call.reply.outputs[1].address += 1;
	assert_null(checked(f));
	free_fixture(f);
}

static void
test_an_operator_without_kernels_returns_the_view_that_pytorch_does(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	struct kgb_truth *truth = &f->data.results[0];
	struct kgb_wire_output *output = &f->call.reply.outputs[0];

	f->judge.spec.triton = KGB_TRITON_NONE;
	truth->is_alias = true;
	truth->alias_arg = SELF;
	truth->alias_at = 8;
	truth->strides[0] = 1;
	truth->strides[1] = ROWS;
	assert_refused(f, "verify.alias");
	output->where = KGB_WIRE_ARENA;
	output->address = f->call.at[SELF];
	assert_refused(f, "verify.alias");
	output->address = f->call.at[OTHER] + 8;
	assert_refused(f, "verify.alias");
	output->address = f->call.at[SELF] + 8;
	assert_refused(f, "verify.strides");
	output->strides[0] = 1;
	output->strides[1] = ROWS;
	assert_null(checked(f));
	free_fixture(f);
}

/* ---- memory ---- */

static void change(struct fixture *f, size_t at)
{
	f->lane.after.ptr[at] ^= 1;
}

static void test_every_byte_that_holds_no_result_stays(KGB_UNUSED void **state)
{
	struct fixture *f = answered(IN_PLACE, 1);
	const size_t self = f->call.at[SELF], other = f->call.at[OTHER];
	const size_t self_end = self + f->data.storage_bytes[SELF];
	const struct {
		size_t at;
		const char *code; /* NULL: an element of the result */
	} rows[] = {
		{0, "verify.out_of_bounds"},
		{f->call.arena_bytes - 1, "verify.out_of_bounds"},
		{self - 1, "verify.out_of_bounds"},
		{self_end, "verify.out_of_bounds"},
		{self_end + 4096, "verify.out_of_bounds"},
		{other, "verify.mutation"},
		{other + 4 * N_OTHER - 1, "verify.mutation"},
		{other + 4 * N_OTHER, "verify.out_of_bounds"},
		{self + 4, "verify.stray_write"},
		{self, NULL},
		{self_end - 1, NULL},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		prepare(f, 0, 0);
		answer(f, IN_PLACE);
		change(f, rows[i].at);
		if (rows[i].code)
			assert_refused(f, rows[i].code);
		else
			assert_null(checked(f));
	}
	free_fixture(f);
}

/* Where only parts of the arena exist, what lies between them cannot be looked at. */
static void test_every_part_of_an_arena_is_looked_at(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	const size_t end = f->call.arena_bytes, third = end / 3;

	for (int i = 0; i < 3; i++) {
		prepare(f, 0, 0);
		answer(f, FRESH);
		f->call.parts[0] = (struct kgb_part){.at = 0, .bytes = third};
		f->call.parts[1] = (struct kgb_part){.at = 2 * third, .bytes = end - 2 * third};
		f->call.n_parts = 2;
		change(f, i == 0 ? 0 : i == 1 ? third : end - 1);
		if (i == 1)
			assert_null(checked(f));
		else
			assert_refused(f, "verify.out_of_bounds");
	}
	free_fixture(f);
}

static void test_storages_lie_apart_and_elsewhere_each_time(KGB_UNUSED void **state)
{
	enum { GUARD = 64 << 10 };
	struct fixture *f = new_fixture(BUFFER, 1);
	size_t first[3];
	bool moved[3] = {false}, swapped = false;

	prepare(f, 0, 0);
	memcpy(first, f->call.at, sizeof(first));
	prepare(f, 1, 0);
	assert_memory_equal(first, f->call.at, sizeof(first));
	for (int places = 1; places < 20; places++) {
		prepare(f, 0, places);
		swapped |= (f->call.at[SELF] < f->call.at[OTHER]) != (first[SELF] < first[OTHER]);
		for (size_t i = 0; i < 3; i++) {
			size_t bytes = (size_t)f->call.views[i].storage_elements * 4;
			moved[i] |= f->call.at[i] != first[i];
			assert_int_equal(f->call.at[i] % 64, 0);
			assert_true(f->call.at[i] >= GUARD);
			assert_true(f->call.at[i] + bytes + GUARD <= f->call.arena_bytes);
			for (size_t k = 0; k < 3; k++)
				assert_true(k == i || f->call.at[k] < f->call.at[i] ||
					    f->call.at[k] >= f->call.at[i] + bytes + GUARD);
		}
	}
	assert_true(moved[SELF] && moved[OTHER] && moved[OUT] && swapped);
	free_fixture(f);
}

static bool is_all(const char *bytes, size_t n, int value)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)bytes[i] != value)
			return false;
	return true;
}

static void test_buffers_and_guards_hold_nothing_that_looks_right(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture(BUFFER, 1);
	const size_t bytes = 4 * (size_t)N;
	KGB_AUTO(free) char *before = NULL;

	prepare(f, 0, 0);
	assert_true(is_all(f->lane.image.ptr + f->call.at[OUT], bytes, 0xff));
	assert_memory_equal(f->lane.image.ptr + f->call.at[SELF], f->data.storages[SELF],
			    f->data.storage_bytes[SELF]);
	assert_memory_equal(f->lane.image.ptr + f->call.at[OTHER], f->data.storages[OTHER],
			    f->data.storage_bytes[OTHER]);
	before = kgb_xmalloc(f->call.arena_bytes);
	memcpy(before, f->lane.image.ptr, f->call.arena_bytes);
	prepare(f, 1, 0);
	assert_false(is_all(f->lane.image.ptr + f->call.at[OUT], bytes, 0xff));
	assert_false(is_all(f->lane.image.ptr + f->call.at[OUT], bytes, 0));
	/* The guards differ from call to call. */
	assert_memory_not_equal(before, f->lane.image.ptr, 4096);
	assert_false(is_all(before, 4096, 0));
	free_fixture(f);
}

/* ---- values ---- */

static void test_one_wrong_element_of_any_result_is_told(KGB_UNUSED void **state)
{
	for (size_t result = 0; result < 2; result++) {
		struct fixture *f = answered(FRESH, 2);
		struct kgb_failure failure = {0};
		float *values = f->call.values[result];
		values[7] += 1;
		assert_false(
			kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
		assert_int_equal(failure.code, KGB_CODE_VERIFY_MISMATCH);
		assert_int_equal(failure.n_wrong, 1);
		assert_int_equal(failure.n_elements, N);
		assert_true(failure.has_values && failure.index_is_first);
		assert_int_equal(failure.index[0], 1);
		assert_int_equal(failure.index[1], 2);
		assert_true(failure.expected == (result == 0 ? 16 : 24));
		assert_true(failure.got == failure.expected + 1);
		free_fixture(f);
	}
}

static void
test_a_zero_of_the_wrong_sign_and_an_inexact_copy_are_told_as_such(KGB_UNUSED void **state)
{
	for (int is_zero = 0; is_zero < 2; is_zero++) {
		struct fixture *f = answered(FRESH, 1);
		struct kgb_failure failure = {0};
		struct kgb_truth *truth = &f->data.results[0];
		float *values = f->call.values[0], *native = truth->native;
		f->interface.tolerance.is_exact = true;
		f->interface.tolerance.zeros = KGB_ZEROS_SIGNED;
		native[7] = is_zero ? -0.0F : 1;
		truth->exact[7] = (double)native[7];
		values[7] = is_zero ? 0.0F : 1 + 0x1p-23F;
		assert_false(
			kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
		assert_int_equal(failure.n_wrong, 1);
		assert_int_equal(failure.index[0] * COLUMNS + failure.index[1], 7);
		assert_contains(failure.hint,
				is_zero ? "Keep the sign of zeros" : "convert exactly");
		free_fixture(f);
	}
}

static void test_bits_of_nan_count_unless_an_argument_is_converted(KGB_UNUSED void **state)
{
	for (int is_converted = 0; is_converted < 2; is_converted++) {
		struct fixture *f = answered(FRESH, 1);
		struct kgb_failure failure = {0};
		const uint32_t bits = 0xffc00003;
		f->interface.tolerance.is_exact = f->interface.tolerance.has_nan_bits = true;
		if (is_converted)
			f->kase.args[0].view.dtype = KGB_DTYPE_FLOAT16;
		memcpy((float *)f->call.values[0] + 7, &bits, sizeof(bits));
		((float *)f->data.results[0].native)[7] = NAN;
		f->data.results[0].exact[7] = (double)NAN;
		assert_int_equal(
			kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure),
			is_converted);
		if (!is_converted)
			assert_contains(failure.hint, "a NaN keeps its sign");
		free_fixture(f);
	}
}

/* A result that no kernel wrote holds what fresh memory held; any other NaN was computed. */
static void test_a_computed_nan_is_not_taken_for_fresh_memory(KGB_UNUSED void **state)
{
	static const struct {
		bool fresh_is_ones;
		uint64_t seed;
		uint32_t bits; /* of the element; 0: those that the seed gives */
		bool unwritten;
	} rows[] = {
		{true, 0, 0xffffffff, true},   {true, 0, 0x7fc00000, false},
		{false, 9, 0, true},           {false, 9, 0xffffffff, false},
		{false, 0, 0xffffffff, false}, {false, 9, 0x7fc00000, false},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct fixture *f = answered(FRESH, 1);
		struct kgb_failure failure = {0};
		const uint64_t address = f->call.reply.outputs[0].address + 4 * 7;
		uint32_t bits = rows[i].bits;
		if (!bits)
			bits = (uint32_t)(kgb_exec_poison_word(rows[i].seed, address & ~7ULL) >>
					  (address % 8 * 8));
		f->call.fresh_is_ones = rows[i].fresh_is_ones;
		f->call.fresh_seed = rows[i].seed;
		memcpy((char *)f->call.values[0] + 4 * 7, &bits, sizeof(bits));
		assert_false(
			kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
		if ((strstr(failure.hint, "No kernel wrote this element") != NULL) !=
		    rows[i].unwritten)
			fail_msg("row %zu: %s", i, failure.hint);
		if (bits == 0x7fc00000)
			assert_contains(failure.hint, "computed NaN");
		free_fixture(f);
	}
}

static void test_a_buffer_that_nobody_wrote_is_told_as_such(KGB_UNUSED void **state)
{
	struct fixture *f = answered(BUFFER, 1);
	struct kgb_failure failure = {0};

	f->lane.after.len = 0;
	kgb_buf_add(&f->lane.after, f->lane.image.ptr, f->lane.image.len);
	kgb_free(f->call.values[0]);
	kgb_candidate_call_take_held(&f->lane, &f->data, &f->call);
	assert_false(kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
	assert_contains(failure.hint, "No kernel wrote this element");
	free_fixture(f);
}

static void test_results_that_were_not_delivered_are_wrong(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	struct kgb_compare compare;

	assert_true(kgb_candidate_call_compare(&f->data, &f->call, 0, &compare));
	kgb_candidate_call_release(&f->call);
	assert_false(kgb_candidate_call_compare(&f->data, &f->call, 0, &compare));
	free_fixture(f);
}

static void test_results_that_are_held_are_read_from_their_strided_elements(KGB_UNUSED void **state)
{
	struct fixture *f = answered(BUFFER, 1);
	struct kgb_failure failure = {0};

	/* The last element, past a gap. */
	f->lane.after
		.ptr[f->call.at[OUT] + ((size_t)f->call.views[OUT].storage_elements - 1) * 4 + 3] ^=
		1;
	kgb_candidate_call_release(&f->call);
	kgb_candidate_call_take_held(&f->lane, &f->data, &f->call);
	assert_false(kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
	assert_int_equal(failure.n_wrong, 1);
	assert_int_equal(failure.index[0], ROWS - 1);
	assert_int_equal(failure.index[1], COLUMNS - 1);
	free_fixture(f);
}

static void test_calls_with_other_bits_are_told_apart(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 2);
	struct kgb_candidate_call later = {0};

	for (size_t i = 0; i < 2; i++) {
		later.values[i] = kgb_xmalloc(4 * (size_t)N);
		memcpy(later.values[i], f->call.values[i], 4 * (size_t)N);
	}
	assert_true(kgb_candidate_call_same_bits(&f->data, &f->call, &later));
	((char *)later.values[1])[4 * N - 1] ^= 1;
	assert_false(kgb_candidate_call_same_bits(&f->data, &f->call, &later));
	kgb_candidate_call_release(&later);
	free_fixture(f);
}

/* ---- which cases tell whether kernels compute ---- */

static bool tells(struct fixture *f)
{
	unsigned char wants = 1;
	struct kgb_ablation_tally tally = {0};

	f->judge.cases.items = &f->kase;
	f->judge.cases.n = 1;
	f->judge.spec.interfaces = &f->interface;
	f->judge.may_be_sensitive = &wants;
	f->judge.tallies = &tally;
	return kgb_ablation_is_sensitive(&f->judge, &f->data) &&
	       kgb_ablation_wants(&f->judge, &f->data);
}

static void test_results_that_are_right_without_any_kernel_tell_nothing(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture(FRESH, 2);
	float *native = f->data.results[1].native, *other = f->data.results[0].native;
	const struct kgb_tensor_view *view = &f->kase.args[SELF].view;
	struct kgb_tensor_view_walk walk;

	assert_true(tells(f));
	/* One that tells is enough. */
	for (int i = 0; i < N; i++)
		other[i] = 3;

	assert_true(tells(f));
	/* A constant, but for the last element. */
	for (int i = 0; i < N - 1; i++)
		native[i] = 3;
	native[N - 1] = 4;
	assert_true(tells(f));
	native[N - 1] = 3;
	assert_false(tells(f));
	/* An input, but for the last element. */
	kgb_tensor_view_walk_init(&walk, view);
	for (int i = 0; i < N; i++, kgb_tensor_view_walk_next(&walk))
		memcpy(&native[i], (const char *)f->data.storages[SELF] + 4 * walk.at, 4);
	assert_false(tells(f));
	native[N - 1] += 1;
	assert_true(tells(f));
	/* Fresh memory may hold NaN. */
	lay_out(&f->data.results[1].view, 1, 1, "contiguous");
	native[0] = 5;
	assert_true(tells(f));
	native[0] = NAN;
	assert_false(tells(f));
	kgb_free(native);
	f->data.results[1].native = NULL;
	assert_false(tells(f));
	free_fixture(f);
}

/* Where the operator itself is a fill or a copy, constants and inputs tell as well. */
static void test_a_fill_must_be_made_by_kernels_alone(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	float *native = f->data.results[0].native;

	f->kase.mode = KGB_MODE_STANDARD;
	for (int i = 0; i < N; i++)
		native[i] = 0;
	assert_false(kgb_ablation_is_sensitive(&f->judge, &f->data));
	f->judge.spec.triton = KGB_TRITON_ALONE;
	assert_true(kgb_ablation_is_sensitive(&f->judge, &f->data));
	f->kase.mode = KGB_MODE_SPECIAL;
	assert_true(kgb_ablation_is_sensitive(&f->judge, &f->data));
	/* Random bytes are true almost always, but others than 1. */
	f->data.results[0].view.dtype = KGB_DTYPE_BOOL;
	memset(native, 1, sizeof(*native) * N);
	assert_true(kgb_ablation_is_sensitive(&f->judge, &f->data));
	assert_true(kgb_ablation_values_are_sensitive(&f->judge, &f->data, 0, native));
	*(char *)native = 2;
	assert_false(kgb_ablation_values_are_sensitive(&f->judge, &f->data, 0, native));
	f->data.results[0].view.dtype = KGB_DTYPE_FLOAT32;
	free_fixture(f);
}

/* An empty input excuses only what a fill or a copy makes. */
static void test_an_empty_input_does_not_excuse_from_launching(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture(FRESH, 2);
	float *native[] = {f->data.results[0].native, f->data.results[1].native};
	struct kgb_tensor_view_walk walk;

	for (int i = 0; i < N; i++)
		native[0][i] = NAN;
	kgb_tensor_view_walk_init(&walk, &f->kase.args[SELF].view);
	for (int i = 0; i < N; i++, kgb_tensor_view_walk_next(&walk))
		memcpy(&native[1][i], (const char *)f->data.storages[SELF] + 4 * walk.at, 4);
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	lay_out(&f->kase.args[OTHER].view, 1, 0, "contiguous");
	assert_false(kgb_case_needs_launch(&f->judge, &f->data));
	f->judge.spec.triton = KGB_TRITON_ALONE;
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	f->judge.spec.triton = KGB_TRITON_REQUIRED;
	/* One element of either is another one. */
	for (int i = 0; i < 2; i++) {
		float last = native[i][N - 1];
		native[i][N - 1] = 7;
		assert_true(kgb_case_needs_launch(&f->judge, &f->data));
		native[i][N - 1] = last;
	}
	/* The bits of an argument are no copy of it in another type. */
	f->kase.args[SELF].view.dtype = KGB_DTYPE_INT32;
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	f->kase.args[SELF].view.dtype = KGB_DTYPE_FLOAT32;
	assert_false(kgb_case_needs_launch(&f->judge, &f->data));
	/* What is not known excuses nothing. */
	kgb_free(native[0]);
	f->data.results[0].native = NULL;
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	lay_out(&f->data.results[0].view, 0, COLUMNS, "contiguous");
	assert_false(kgb_case_needs_launch(&f->judge, &f->data));
	free_fixture(f);
}

/* A case whose results are arguments may do with copies, but no operator that is one, no benchmark,
 * and no constant. */
static void test_a_copy_of_an_argument_needs_no_launch(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture(FRESH, 2);
	float *native[] = {f->data.results[0].native, f->data.results[1].native};

	for (int k = 0; k < 2; k++) {
		struct kgb_tensor_view_walk walk;
		kgb_tensor_view_walk_init(&walk, &f->kase.args[SELF].view);
		for (int i = 0; i < N; i++, kgb_tensor_view_walk_next(&walk))
			memcpy(&native[k][i], (const char *)f->data.storages[SELF] + 4 * walk.at,
			       4);
	}
	assert_false(kgb_case_needs_launch(&f->judge, &f->data));
	f->kase.mode = KGB_MODE_BENCHMARK;
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	f->kase.mode = KGB_MODE_SPECIAL;
	assert_false(kgb_case_needs_launch(&f->judge, &f->data));
	f->judge.spec.triton = KGB_TRITON_ALONE;
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	f->judge.spec.triton = KGB_TRITON_REQUIRED;
	/* One of two results has to be computed. */
	native[1][0] = nextafterf(native[1][0], 9);
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	for (int i = 0; i < N; i++)
		native[1][i] = 1;
	assert_true(kgb_case_needs_launch(&f->judge, &f->data));
	free_fixture(f);
}

static void test_a_number_is_no_tensor(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	struct kgb_wire_output *output = &f->call.reply.outputs[0];
	struct kgb_truth *truth = &f->data.results[0];
	struct kgb_err err = KGB_ERR_INIT;

	f->interface.is_number = true;
	assert_ok(
		kgb_tensor_view_layout(&truth->view, KGB_DTYPE_INT64, NULL, 0, "contiguous", &err),
		err);
	assert_refused(f, "verify.type");
	*output = (struct kgb_wire_output){.kind = KGB_WIRE_NUMBER, .dtype = KGB_DTYPE_FLOAT64};
	assert_refused(f, "verify.type");
	output->dtype = KGB_DTYPE_INT64;
	assert_null(checked(f));
	f->interface.is_number = false;
	assert_refused(f, "verify.type");
	free_fixture(f);
}

static void test_a_result_that_is_laid_out_has_the_references_strides(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	struct kgb_wire_output *output = &f->call.reply.outputs[0];
	struct kgb_truth *truth = &f->data.results[0];

	truth->strides[0] = 1;
	truth->strides[1] = ROWS;
	assert_null(checked(f));
	f->interface.is_laid_out[0] = true;
	assert_refused(f, "verify.strides");
	output->strides[0] = 1;
	output->strides[1] = ROWS;
	assert_null(checked(f));
	free_fixture(f);
}

static void test_memory_that_nobody_has_written_has_strides_only(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 1);
	struct kgb_wire_output *output = &f->call.reply.outputs[0];
	struct kgb_truth *truth = &f->data.results[0];
	struct kgb_compare compare;

	f->interface.is_unwritten = true;
	truth->strides[0] = 0;
	truth->strides[1] = 1;
	kgb_free(truth->native);
	truth->native = NULL;
	assert_refused(f, "verify.strides");
	output->strides[0] = 0;
	assert_null(checked(f));
	assert_true(kgb_candidate_call_compare(&f->data, &f->call, 0, &compare));
	output->where = KGB_WIRE_ARENA;
	assert_refused(f, "verify.alias");
	output->where = KGB_WIRE_FRESH;
	output->sizes[0]++;
	assert_refused(f, "verify.shape");
	free_fixture(f);
}

/* Results behind the returned ones are in parameters, None may stand behind them. */
static void test_some_results_may_be_returned_with_none_behind(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 2);
	struct kgb_failure failure;

	f->interface.n_nones = 1;
	assert_false(kgb_candidate_call_check(&f->lane, &f->data, &f->call, &failure));
	assert_int_equal(failure.code, KGB_CODE_VERIFY_RETURN);
	f->call.reply.n_outputs = 3;
	f->call.reply.outputs[2] = (struct kgb_wire_output){.kind = KGB_WIRE_NONE};
	assert_true(kgb_candidate_call_check(&f->lane, &f->data, &f->call, &failure));
	f->call.reply.outputs[2].kind = KGB_WIRE_OTHER;
	assert_false(kgb_candidate_call_check(&f->lane, &f->data, &f->call, &failure));
	assert_int_equal(failure.code, KGB_CODE_VERIFY_RETURN);
	free_fixture(f);
}

/* ---- inputs ---- */

static void test_each_argument_case_variant_and_seed_has_data_of_its_own(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture(FRESH, 1);
	struct kgb_case renamed = f->kase;
	struct {
		const struct kgb_case *kase;
		struct kgb_seed seed;
		uint32_t variant;
		struct kgb_case_data data;
	} rows[] = {
		{&f->kase, {{1}}, 0, {0}}, {&f->kase, {{1}}, 1, {0}}, {&f->kase, {{1}}, 2, {0}},
		{&renamed, {{1}}, 0, {0}}, {&f->kase, {{2}}, 0, {0}}, {&f->kase, {{1}}, 0, {0}},
	};

	renamed.name = "toy/float32/two/standard";
	renamed.args[OTHER] = renamed.args[SELF];
	renamed.args[OTHER].param = &f->params[OTHER];
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		kgb_case_data_fill(&rows[i].data, rows[i].kase, &rows[i].seed, rows[i].variant);
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		for (size_t k = 0; k < i; k++) {
			const void *a = rows[i].data.storages[SELF],
				   *b = rows[k].data.storages[SELF];
			bool same = memcmp(a, b, rows[i].data.storage_bytes[SELF]) == 0;
			assert_true(same == (i == KGB_ARRAY_LEN(rows) - 1 && k == 0));
		}
	assert_memory_not_equal(rows[3].data.storages[SELF], rows[3].data.storages[OTHER],
				rows[3].data.storage_bytes[SELF]);
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		kgb_case_data_release(&rows[i].data);
	free_fixture(f);
}

static void test_a_shape_has_no_values(KGB_UNUSED void **state)
{
	struct fixture *f = answered(FRESH, 2);
	struct kgb_case_data shape = {0};

	kgb_case_data_shape(&shape, &f->data);
	assert_int_equal(shape.n_results, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_null(shape.results[i].native);
		assert_null(shape.results[i].exact);
		assert_null(shape.results[i].magnitude);
		assert_memory_equal(&shape.results[i].view, &f->data.results[i].view,
				    sizeof(shape.results[i].view));
	}
	free_fixture(f);
}

/* Most elements of each tensor are about equal to the first of their line along some dimension. */
static void test_flat_tensors_are_told_from_others(KGB_UNUSED void **state)
{
	static const struct {
		float row_step, column_step, other_step; /* from one to the next, relative */
		int64_t n_odd; /* other numbers, at every second place from the end */
		bool is_flat;
	} rows[] = {
		{0, 0, 0, 0, true},       {1e-6F, 1e-6F, 1e-5F, 0, true},
		{1, 0, 0, 0, true},       {0, 1, 0, 0, true},
		{1, 1, 0, 0, false},      {1e-2F, 1e-2F, 0, 0, false},
		{0, 0, 1, 0, false},      {1e-6F, 1e-6F, 0, 2, true},
		{1e-6F, 0, 0, 10, false},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct fixture *f = new_fixture(FRESH, 1);
		const struct kgb_tensor_view *view = &f->kase.args[SELF].view;
		float *self = f->data.storages[SELF], *other = f->data.storages[OTHER];
		for (int64_t k = 0; k < N; k++) {
			const int64_t row = k / COLUMNS, column = k % COLUMNS;
			self[kgb_tensor_view_element(view, k)] =
				-3 * (1 + rows[i].row_step * (float)row +
				      rows[i].column_step * (float)column);
		}
		for (int64_t k = 0; k < rows[i].n_odd; k++)
			self[kgb_tensor_view_element(view, N - 1 - 2 * k)] = 5 + (float)k;
		for (int k = 0; k < N_OTHER; k++)
			other[k] = 7 + 7 * rows[i].other_step * (float)k;
		if (kgb_case_data_is_flat(&f->data) != rows[i].is_flat)
			fail_msg("row %zu", i);
		free_fixture(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_right_passes_wherever_the_result_lies),
		cmocka_unit_test(test_what_is_returned_must_be_what_pytorch_returns),
		cmocka_unit_test(test_results_of_one_call_and_of_two_do_not_share_memory),
		cmocka_unit_test(
			test_an_operator_without_kernels_returns_the_view_that_pytorch_does),
		cmocka_unit_test(test_every_byte_that_holds_no_result_stays),
		cmocka_unit_test(test_every_part_of_an_arena_is_looked_at),
		cmocka_unit_test(test_storages_lie_apart_and_elsewhere_each_time),
		cmocka_unit_test(test_buffers_and_guards_hold_nothing_that_looks_right),
		cmocka_unit_test(test_one_wrong_element_of_any_result_is_told),
		cmocka_unit_test(
			test_a_zero_of_the_wrong_sign_and_an_inexact_copy_are_told_as_such),
		cmocka_unit_test(test_bits_of_nan_count_unless_an_argument_is_converted),
		cmocka_unit_test(test_a_computed_nan_is_not_taken_for_fresh_memory),
		cmocka_unit_test(test_a_buffer_that_nobody_wrote_is_told_as_such),
		cmocka_unit_test(test_results_that_were_not_delivered_are_wrong),
		cmocka_unit_test(test_results_that_are_held_are_read_from_their_strided_elements),
		cmocka_unit_test(test_calls_with_other_bits_are_told_apart),
		cmocka_unit_test(test_each_argument_case_variant_and_seed_has_data_of_its_own),
		cmocka_unit_test(test_a_shape_has_no_values),
		cmocka_unit_test(test_results_that_are_right_without_any_kernel_tell_nothing),
		cmocka_unit_test(test_a_fill_must_be_made_by_kernels_alone),
		cmocka_unit_test(test_an_empty_input_does_not_excuse_from_launching),
		cmocka_unit_test(test_a_copy_of_an_argument_needs_no_launch),
		cmocka_unit_test(test_a_number_is_no_tensor),
		cmocka_unit_test(test_a_result_that_is_laid_out_has_the_references_strides),
		cmocka_unit_test(test_memory_that_nobody_has_written_has_strides_only),
		cmocka_unit_test(test_flat_tensors_are_told_from_others),
		cmocka_unit_test(test_some_results_may_be_returned_with_none_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
