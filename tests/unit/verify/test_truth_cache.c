/* SPDX-License-Identifier: MIT */
/* Answers of the reference that outlive a verification: found for the same question only, and then
 * the same. */
#include "verify/lane/truth_cache.h"

#include "base/system/fs.h"
#include "tests/unit/base/support.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SPEC "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

enum { ROWS = 3, COLUMNS = 5, N = ROWS * COLUMNS, NATIVE = N * 4, EXACT = N * 8, GAP = 4 };

/* toy(self float32[3, 5], scale): one result, its float64 result and its magnitude. */
struct fixture {
	struct kgb_param params[2];
	struct kgb_interface interface;
	struct kgb_case kase;
	struct kgb_case_data data;
	char dir[64];
	struct kgb_disk_cache *store;
	struct kgb_wire_reply reply; /* the reference's */
	char out[NATIVE + GAP + 2 * EXACT];
};

static const struct kgb_truth_place here = {
	.identity = IDENTITY, .device = "cpu", .spec_sha256 = SPEC};

static struct kgb_wire_output output(enum kgb_dtype dtype, int64_t offset, int64_t n_bytes)
{
	return (struct kgb_wire_output){.kind = KGB_WIRE_TENSOR,
					.dtype = (uint8_t)dtype,
					.ndim = 2,
					.where = KGB_WIRE_FRESH,
					.sizes = {ROWS, COLUMNS},
					.strides = {1, ROWS},
					.offset = offset,
					.n_bytes = n_bytes,
					.type = "Tensor"};
}

static struct fixture *new_fixture(void)
{
	struct fixture *f = kgb_xcalloc(1, sizeof(*f));
	const struct kgb_seed seed = {{1, 2, 3}};
	const int64_t sizes[] = {ROWS, COLUMNS};
	struct kgb_err err = KGB_ERR_INIT;

	f->params[0] = (struct kgb_param){.name = "self", .kind = KGB_PARAM_TENSOR, .result = -1};
	f->params[1] = (struct kgb_param){.name = "scale", .kind = KGB_PARAM_VALUE, .result = -1};
	f->interface = (struct kgb_interface){.entry = "toy",
					      .params = f->params,
					      .n_params = 2,
					      .n_results = 1,
					      .target = "aten:toy.Tensor",
					      .magnitude = "abs"};
	f->kase = (struct kgb_case){
		.name = "toy/float32/one/standard", .interface = &f->interface, .n_args = 2};
	f->kase.args[0] = (struct kgb_arg){.param = &f->params[0], .layout = "contiguous"};
	f->kase.args[1] = (struct kgb_arg){.param = &f->params[1],
					   .value = {.kind = KGB_CASE_VALUE_FLOAT, .number = 0.5}};
	assert_ok(kgb_tensor_view_layout(&f->kase.args[0].view, KGB_DTYPE_FLOAT32, sizes, 2,
					 "contiguous", &err),
		  err);
	kgb_case_data_fill(&f->data, &f->kase, &seed, 0);
	f->reply = (struct kgb_wire_reply){
		.n_outputs = 3,
		.value = sizeof(f->out),
		.outputs = {output(KGB_DTYPE_FLOAT32, 0, NATIVE),
			    output(KGB_DTYPE_FLOAT64, NATIVE + GAP, EXACT),
			    output(KGB_DTYPE_FLOAT64, NATIVE + GAP + EXACT, EXACT)}};
	for (size_t i = 0; i < sizeof(f->out); i++)
		f->out[i] = (char)(i * 7);
	snprintf(f->dir, sizeof(f->dir), "/tmp/kgb-truths-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_ok(kgb_disk_cache_new(&f->store, f->dir, KGB_TRUTH_CACHE_ENTRY_MAX,
				     KGB_TRUTH_CACHE_TOTAL_MAX, &err),
		  err);
	return f;
}

static void free_fixture(struct fixture *f)
{
	struct kgb_err err = KGB_ERR_INIT;

	kgb_case_data_release(&f->data);
	kgb_disk_cache_free(f->store);
	assert_ok(kgb_fs_remove_tree(AT_FDCWD, f->dir, &err), err);
	kgb_free(f);
}

static void test_an_answer_comes_back_as_it_was(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture();
	const struct kgb_truth *truth = &f->data.results[0];
	char key[KGB_SHA256_HEX_LEN];

	assert_true(kgb_truth_key(&here, &f->data, key));
	assert_false(kgb_truth_recall(f->store, key, &f->data));
	kgb_truth_keep(f->store, key, &f->reply, f->out);
	assert_true(kgb_truth_recall(f->store, key, &f->data));
	assert_int_equal(truth->view.dtype, KGB_DTYPE_FLOAT32);
	assert_int_equal(truth->view.ndim, 2);
	assert_int_equal(truth->view.sizes[1], COLUMNS);
	assert_true(kgb_tensor_view_is_contiguous(&truth->view));
	assert_int_equal(truth->strides[1], ROWS);
	assert_false(truth->is_alias);
	assert_memory_equal(truth->native, f->out, NATIVE);
	assert_memory_equal(truth->exact, f->out + NATIVE + GAP, EXACT);
	assert_memory_equal(truth->magnitude, f->out + NATIVE + GAP + EXACT, EXACT);
	/* A second time over the first. */
	assert_true(kgb_truth_recall(f->store, key, &f->data));
	free_fixture(f);
}

static void test_a_result_within_an_argument_comes_back_as_one(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture();
	char key[KGB_SHA256_HEX_LEN];

	f->reply.outputs[0].where = KGB_WIRE_ARENA;
	f->reply.outputs[0].address = 8;
	assert_true(kgb_truth_key(&here, &f->data, key));
	kgb_truth_keep(f->store, key, &f->reply, f->out);
	assert_true(kgb_truth_recall(f->store, key, &f->data));
	assert_true(f->data.results[0].is_alias);
	assert_int_equal(f->data.results[0].alias_arg, 0);
	assert_int_equal(f->data.results[0].alias_at, 8);
	free_fixture(f);
}

/* Everything that an answer depends on. */
static void test_another_question_has_another_key(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture();
	char first[KGB_SHA256_HEX_LEN];
	char key[KGB_SHA256_HEX_LEN];
	float *input = f->data.storages[0];
	struct kgb_truth_place place = here;

#define assert_differs(change, undo)                                 \
	do {                                                         \
		change;                                              \
		assert_true(kgb_truth_key(&place, &f->data, key));   \
		undo;                                                \
		if (strcmp(key, first) == 0)                         \
			fail_msg("%s makes no difference", #change); \
	} while (0)

	assert_true(kgb_truth_key(&here, &f->data, first));
	assert_differs(input[N - 1] = -input[N - 1], input[N - 1] = -input[N - 1]);
	assert_differs(f->kase.args[1].value.number = 0.25, f->kase.args[1].value.number = 0.5);
	assert_differs(f->kase.args[0].view.sizes[0] = 2, f->kase.args[0].view.sizes[0] = ROWS);
	assert_differs(f->kase.args[0].view.dtype = KGB_DTYPE_INT32,
		       f->kase.args[0].view.dtype = KGB_DTYPE_FLOAT32);
	assert_differs(f->interface.target = "aten:toy.Scalar",
		       f->interface.target = "aten:toy.Tensor");
	assert_differs(f->interface.magnitude = NULL, f->interface.magnitude = "abs");
	assert_differs(place.identity = SPEC, place.identity = IDENTITY);
	assert_differs(place.device = "NVIDIA H200", place.device = "cpu");
	assert_differs(place.spec_sha256 = IDENTITY, place.spec_sha256 = SPEC);
	assert_true(kgb_truth_key(&here, &f->data, key));
	assert_string_equal(key, first);
	free_fixture(f);
}

static void test_without_knowing_who_answers_nothing_is_kept(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture();
	struct kgb_truth_place place = here;
	char key[KGB_SHA256_HEX_LEN];

	place.identity = "";
	assert_false(kgb_truth_key(&place, &f->data, key));
	place = here;
	place.device = "";
	assert_false(kgb_truth_key(&place, &f->data, key));
	f->data.storage_bytes[0] = KGB_TRUTH_CACHE_INPUT_MAX + 1;
	assert_false(kgb_truth_key(&here, &f->data, key));
	f->data.storage_bytes[0] = NATIVE;
	assert_true(kgb_truth_key(&here, &f->data, key));
	free_fixture(f);
}

/* The digest is right, the answer is not: another format, or a mistake of ours. */
static void test_an_answer_that_makes_no_sense_is_none(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture();
	KGB_AUTO(buf) struct kgb_buf entry = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf bad = KGB_BUF_INIT(0);
	char key[KGB_SHA256_HEX_LEN];

	assert_true(kgb_truth_key(&here, &f->data, key));
	kgb_truth_keep(f->store, key, &f->reply, f->out);
	assert_true(kgb_disk_cache_get(f->store, key, &entry));
	for (size_t len = 0; len < entry.len; len++) {
		kgb_disk_cache_put(f->store, key, entry.ptr, len);
		if (kgb_truth_recall(f->store, key, &f->data))
			fail_msg("%zu of %zu bytes are enough", len, entry.len);
	}
	/* Head and descriptions: whatever is in them, nothing outside of the entry is read. */
	for (size_t i = 0; i < entry.len - sizeof(f->out); i++) {
		kgb_buf_clear(&bad);
		kgb_buf_add(&bad, entry.ptr, entry.len);
		bad.ptr[i] = (char)(bad.ptr[i] ^ 0xff);
		kgb_disk_cache_put(f->store, key, bad.ptr, bad.len);
		(void)kgb_truth_recall(f->store, key, &f->data);
	}
	f->reply.outputs[1].offset += 8;
	f->reply.outputs[2].offset = NATIVE + GAP + EXACT + 8;
	kgb_truth_keep(f->store, key, &f->reply, f->out);
	assert_false(kgb_truth_recall(f->store, key, &f->data));
	f->reply.n_outputs = 2;
	kgb_truth_keep(f->store, key, &f->reply, f->out);
	assert_false(kgb_truth_recall(f->store, key, &f->data));
	kgb_disk_cache_put(f->store, key, entry.ptr, entry.len);
	assert_true(kgb_truth_recall(f->store, key, &f->data));
	free_fixture(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_comes_back_as_it_was),
		cmocka_unit_test(test_a_result_within_an_argument_comes_back_as_one),
		cmocka_unit_test(test_another_question_has_another_key),
		cmocka_unit_test(test_without_knowing_who_answers_nothing_is_kept),
		cmocka_unit_test(test_an_answer_that_makes_no_sense_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
