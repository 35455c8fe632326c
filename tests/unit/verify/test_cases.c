/* SPDX-License-Identifier: MIT */
#include "verify/cases/cases.h"

#include "base/limits.h"
#include "tests/unit/verify/spec_files.h"

/* ---- views ---- */

struct layout_row {
	const char *layout;
	int64_t sizes[5];
	int ndim;
	int64_t strides[5];
	int64_t offset, storage;
	const char *described;
};

static const struct layout_row layout_rows[] = {
	{"contiguous", {0}, 0, {0}, 0, 1, "float32[]"},
	{"contiguous", {1000}, 1, {1}, 0, 1000, "float32[1000]"},
	{"contiguous", {2, 3, 4}, 3, {12, 4, 1}, 0, 24, "float32[2, 3, 4]"},
	{"contiguous", {3, 0, 4}, 3, {4, 4, 1}, 0, 0, "float32[3, 0, 4]"},
	{"transposed", {33, 17}, 2, {1, 33}, 0, 561, "float32[33, 17] strides (1, 33)"},
	{"transposed", {2, 3, 4}, 3, {12, 1, 3}, 0, 24, "float32[2, 3, 4] strides (12, 1, 3)"},
	{"transposed", {1, 5}, 2, {1, 1}, 0, 5, "float32[1, 5] strides (1, 1)"},
	{"strided", {5}, 1, {2}, 0, 9, "float32[5] strides (2)"},
	{"strided", {4, 5}, 2, {10, 2}, 0, 39, "float32[4, 5] strides (10, 2)"},
	{"row_strided", {4, 5}, 2, {12, 1}, 0, 41, "float32[4, 5] strides (12, 1)"},
	{"row_strided", {2, 3, 5}, 3, {36, 12, 1}, 0, 65, "float32[2, 3, 5] strides (36, 12, 1)"},
	{"sliced", {2, 3, 5}, 3, {50, 5, 1}, 0, 65, "float32[2, 3, 5] strides (50, 5, 1)"},
	{"sliced",
	 {2, 3, 4, 5},
	 4,
	 {550, 55, 5, 1},
	 0,
	 680,
	 "float32[2, 3, 4, 5] strides (550, 55, 5, 1)"},
	{"permuted", {2, 3, 5}, 3, {5, 10, 1}, 0, 30, "float32[2, 3, 5] strides (5, 10, 1)"},
	{"permuted",
	 {2, 3, 4, 5},
	 4,
	 {5, 10, 30, 1},
	 0,
	 120,
	 "float32[2, 3, 4, 5] strides (5, 10, 30, 1)"},
	{"offset", {7}, 1, {1}, 3, 10, "float32[7] storage_offset 3"},
	{"offset", {0}, 0, {0}, 3, 4, "float32[] storage_offset 3"},
	{"offset", {0}, 1, {1}, 3, 3, "float32[0] storage_offset 3"},
	{"expanded", {6, 5}, 2, {0, 1}, 0, 5, "float32[6, 5] strides (0, 1)"},
	{"expanded_last", {4, 6}, 2, {1, 0}, 0, 4, "float32[4, 6] strides (1, 0)"},
	{"expanded_last", {2, 3, 5}, 3, {3, 1, 0}, 0, 6, "float32[2, 3, 5] strides (3, 1, 0)"},
	{"rotated", {2, 3, 5}, 3, {1, 10, 2}, 0, 30, "float32[2, 3, 5] strides (1, 10, 2)"},
	{"cropped", {4, 5}, 2, {1, 11}, 0, 48, "float32[4, 5] strides (1, 11)"},
	{"cropped", {2, 3, 4}, 3, {110, 1, 10}, 0, 143, "float32[2, 3, 4] strides (110, 1, 10)"},
	{"stepped", {5}, 1, {2}, 0, 9, "float32[5] strides (2)"},
	{"stepped", {4, 5}, 2, {17, 2}, 0, 60, "float32[4, 5] strides (17, 2)"},
	{"column",
	 {2, 3},
	 2,
	 {393, 131},
	 3,
	 659,
	 "float32[2, 3] strides (393, 131) storage_offset 3"},
	{"expanded_middle", {2, 3, 4}, 3, {4, 0, 1}, 0, 8, "float32[2, 3, 4] strides (4, 0, 1)"},
	{"windows", {3, 5}, 2, {1, 1}, 0, 7, "float32[3, 5] strides (1, 1)"},
	{"windows", {2, 3, 5}, 3, {7, 1, 1}, 0, 14, "float32[2, 3, 5] strides (7, 1, 1)"},
	{"channels_last",
	 {2, 3, 5, 7},
	 4,
	 {105, 1, 21, 3},
	 0,
	 210,
	 "float32[2, 3, 5, 7] strides (105, 1, 21, 3)"},
	{"channels_last_3d",
	 {2, 3, 1, 5, 7},
	 5,
	 {105, 1, 105, 21, 3},
	 0,
	 210,
	 "float32[2, 3, 1, 5, 7] strides (105, 1, 105, 21, 3)"},
	{"expanded_all", {4, 6}, 2, {0, 0}, 0, 1, "float32[4, 6] strides (0, 0)"},
	{"crowded", {3, 3}, 2, {2, 2}, 0, 9, "float32[3, 3] strides (2, 2)"},
	{"crowded", {2, 3, 5}, 3, {11, 5, 2}, 0, 30, "float32[2, 3, 5] strides (11, 5, 2)"},
};

static void test_layouts_have_the_strides_of_torch(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(layout_rows); i++) {
		const struct layout_row *row = &layout_rows[i];
		struct kgb_tensor_view view;
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_FLOAT32, row->sizes, row->ndim,
						 row->layout, &err),
			  err);
		assert_memory_equal(view.strides, row->strides,
				    (size_t)row->ndim * sizeof(int64_t));
		assert_int_equal(view.offset, row->offset);
		assert_int_equal(view.storage_elements, row->storage);
		kgb_tensor_view_describe(&view, &text);
		assert_string_equal(text.ptr, row->described);
	}
}

static void test_elements_stay_in_the_storage_and_walk_in_row_major_order(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(layout_rows); i++) {
		const struct layout_row *row = &layout_rows[i];
		struct kgb_tensor_view view;
		struct kgb_tensor_view_walk walk;
		struct kgb_err err = KGB_ERR_INIT;
		assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_INT8, row->sizes, row->ndim,
						 row->layout, &err),
			  err);
		kgb_tensor_view_walk_init(&walk, &view);
		int64_t highest = view.offset - 1, n = kgb_tensor_view_numel(&view);
		for (int64_t k = 0; k < n; k++, kgb_tensor_view_walk_next(&walk)) {
			int64_t at = kgb_tensor_view_element(&view, k);
			assert_int_equal(walk.at, at);
			assert_true(at >= 0 && at < view.storage_elements);
			highest = at > highest ? at : highest;
		}
		assert_int_equal(highest + 1, view.storage_elements);
	}
}

/* Is some place of the storage that of two elements? */
static bool overlaps(const struct kgb_tensor_view *view)
{
	KGB_AUTO(free) bool *taken = kgb_xcalloc((size_t)view->storage_elements, sizeof(*taken));

	for (int64_t k = 0; k < kgb_tensor_view_numel(view); k++) {
		const int64_t at = kgb_tensor_view_element(view, k);
		assert_true(at >= 0 && at < view->storage_elements);
		if (taken[at])
			return true;
		taken[at] = true;
	}
	return false;
}

/* Each number is a view of its own kind: all orders in memory, steps, gaps and offsets appear. */
static void test_numbered_layouts_are_all_kinds_of_views(KGB_UNUSED void **state)
{
	static const int64_t sizes[] = {2, 3, 5};
	enum { NUMBERS = 400 };
	bool orders[3][3] = {{false}};
	int n_offset = 0, n_contiguous = 0, n_gapped = 0, n_zero = 0;

	for (int number = 0; number < NUMBERS; number++) {
		struct kgb_tensor_view view, shared;
		struct kgb_err err = KGB_ERR_INIT;
		KGB_AUTO(free) char *name = kgb_xasprintf("view(%d)", number);
		KGB_AUTO(free) char *shared_name = kgb_xasprintf("overlapping(%d)", number);
		assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_INT8, sizes, 3, name, &err), err);
		assert_ok(kgb_tensor_view_layout(&shared, KGB_DTYPE_INT8, sizes, 3, shared_name,
						 &err),
			  err);
		assert_false(overlaps(&view));
		assert_true(overlaps(&shared));
		const int64_t *s = view.strides;
		const int outer = s[0] > s[1] && s[0] > s[2] ? 0 : s[1] > s[2] ? 1 : 2;
		const int inner = s[0] < s[1] && s[0] < s[2] ? 0 : s[1] < s[2] ? 1 : 2;
		orders[outer][inner] = true;
		n_offset += view.offset > 0;
		n_contiguous += kgb_tensor_view_is_contiguous(&view);
		n_gapped += view.storage_elements > 30;
		n_zero +=
			shared.strides[0] == 0 || shared.strides[1] == 0 || shared.strides[2] == 0;
	}
	for (int k = 0; k < 9; k++)
		assert_int_equal(orders[k / 3][k % 3], k / 3 != k % 3);
	assert_in_range(n_offset, NUMBERS / 4, NUMBERS / 2);
	assert_in_range(n_contiguous, 1, NUMBERS / 8);
	assert_in_range(n_gapped, NUMBERS / 2, NUMBERS - 1);
	assert_in_range(n_zero, NUMBERS / 2, NUMBERS * 3 / 4);
}

static void test_contiguity_ignores_dims_of_one_and_offsets(KGB_UNUSED void **state)
{
	struct kgb_tensor_view view = {.ndim = 2, .sizes = {1, 5}, .strides = {99, 1}, .offset = 4};
	assert_true(kgb_tensor_view_is_contiguous(&view));
	view.sizes[0] = 2;
	assert_false(kgb_tensor_view_is_contiguous(&view));
}

/* Such a view is contiguous and row-major, but in dims of size 1; these get all of the strides. */
static void test_dims_of_one_have_any_stride(KGB_UNUSED void **state)
{
	static const struct {
		int64_t sizes[3], strides[3]; /* -1: any of these: 0, 1, the next size, large */
	} rows[] = {
		{{4, 1, 6}, {6, -1, 1}},
		{{1, 5, 1}, {-1, 1, -1}},
		{{2, 3, 4}, {12, 4, 1}},
	};

	enum { NUMBERS = 100 };

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		unsigned seen = 0;
		for (int number = 0; number < NUMBERS; number++) {
			struct kgb_tensor_view view;
			struct kgb_err err = KGB_ERR_INIT;
			KGB_AUTO(free) char *name = kgb_xasprintf("ones(%d)", number);
			assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_INT8, rows[i].sizes, 3,
							 name, &err),
				  err);
			assert_true(kgb_tensor_view_is_contiguous(&view));
			assert_int_equal(view.storage_elements, kgb_tensor_view_numel(&view));
			for (int k = 0; k < 3; k++) {
				const int64_t stride = view.strides[k];
				if (rows[i].strides[k] >= 0)
					assert_int_equal(stride, rows[i].strides[k]);
				else
					seen |= 1U << (stride > 1 ? 2 + (stride > 9) : stride);
			}
		}
		assert_int_equal(seen, rows[i].sizes[0] == 2 ? 0 : 15);
	}
}

static void test_views_expand_as_those_of_torch(KGB_UNUSED void **state)
{
	static const struct {
		int ndim, like_ndim;
		int64_t sizes[3], like[3];
		bool repeats;
		int64_t strides[3];
	} rows[] = {
		{1, 2, {3}, {2, 3}, true, {0, 1}}, {2, 2, {2, 1}, {2, 5}, true, {1, 0}},
		{0, 2, {0}, {4, 5}, true, {0, 0}}, {2, 2, {2, 3}, {2, 3}, false, {0}},
		{1, 2, {2}, {2, 3}, false, {0}},   {3, 2, {1, 2, 3}, {2, 3}, false, {0}},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_tensor_view view, like, out;
		assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_INT8, rows[i].sizes, rows[i].ndim,
						 "contiguous", &err),
			  err);
		assert_ok(kgb_tensor_view_layout(&like, KGB_DTYPE_INT8, rows[i].like,
						 rows[i].like_ndim, "contiguous", &err),
			  err);
		assert_true(kgb_tensor_view_expand(&view, &like, &out) == rows[i].repeats);
		for (int k = 0; rows[i].repeats && k < like.ndim; k++) {
			assert_int_equal(out.sizes[k], like.sizes[k]);
			assert_int_equal(out.strides[k], rows[i].strides[k]);
		}
	}
}

static void test_impossible_views_are_refused(KGB_UNUSED void **state)
{
	static const struct {
		const char *layout;
		int64_t sizes[9];
		int ndim;
		enum kgb_err_kind kind;
		const char *message;
	} rows[] = {
		{"transposed",
		 {4},
		 1,
		 KGB_ERR_INVALID,
		 "layout 'transposed' does not apply to 1 dims"},
		{"strided", {0}, 0, KGB_ERR_INVALID, "layout 'strided' does not apply to 0 dims"},
		{"row_strided",
		 {3},
		 1,
		 KGB_ERR_INVALID,
		 "layout 'row_strided' does not apply to 1 dims"},
		{"expanded", {0}, 0, KGB_ERR_INVALID, "layout 'expanded' does not apply to 0 dims"},
		{"sliced", {2, 3}, 2, KGB_ERR_INVALID, "layout 'sliced' does not apply to 2 dims"},
		{"permuted",
		 {2, 3},
		 2,
		 KGB_ERR_INVALID,
		 "layout 'permuted' does not apply to 2 dims"},
		{"expanded_last",
		 {2},
		 1,
		 KGB_ERR_INVALID,
		 "layout 'expanded_last' does not apply to 1 dims"},
		{"channels_last",
		 {2, 3, 4},
		 3,
		 KGB_ERR_INVALID,
		 "layout 'channels_last' does not apply to 3 dims"},
		{"transpose",
		 {2, 3},
		 2,
		 KGB_ERR_INVALID,
		 "unknown layout 'transpose'; did you mean 'transposed'?"},
		{"contiguous", {3, -1}, 2, KGB_ERR_INVALID, "dim 1 has the negative size -1"},
		{"contiguous",
		 {1, 1, 1, 1, 1, 1, 1, 1, 1},
		 9,
		 KGB_ERR_LIMIT,
		 "9 dims, at most 8 are possible"},
		{"contiguous",
		 {1 << 20, 1 << 9},
		 2,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
		{"strided",
		 {1 << 20, 1 << 8},
		 2,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
		{"expanded",
		 {1 << 20, 1 << 9},
		 2,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
		{"contiguous",
		 {INT64_MAX, 2},
		 2,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
		{"strided",
		 {INT64_MAX, 0, INT64_MAX},
		 3,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
		{"view(5)",
		 {INT64_MAX, 0, INT64_MAX},
		 3,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
		{"row_strided",
		 {0, INT64_MAX},
		 2,
		 KGB_ERR_LIMIT,
		 "tensor is larger than 1073741824 bytes"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_tensor_view view = {.ndim = 77};
		struct kgb_err err;
		assert_fails(kgb_tensor_view_layout(&view, KGB_DTYPE_FLOAT32, rows[i].sizes,
						    rows[i].ndim, rows[i].layout, &err),
			     err, rows[i].message);
		assert_int_equal(err.kind, rows[i].kind);
		assert_int_equal(view.ndim, 77);
	}
}

static void test_the_largest_tensor_is_accepted(KGB_UNUSED void **state)
{
	const int64_t sizes[] = {KGB_LIMIT_TENSOR_BYTES / 4};
	struct kgb_tensor_view view;
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_FLOAT32, sizes, 1, "contiguous", &err),
		  err);
}

static void test_results_cannot_overlap(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	assert_ok(kgb_layout_check("expanded", false, &err), err);
	assert_ok(kgb_layout_check("transposed", true, &err), err);
	assert_fails(
		kgb_layout_check("expanded_last", true, &err), err,
		"layout 'expanded_last' lets elements overlap: a result cannot be written there");
	assert_ok(kgb_layout_check("sliced", true, &err), err);
	assert_ok(kgb_layout_check("view(4294967295)", true, &err), err);
	assert_fails(
		kgb_layout_check("overlapping(0)", true, &err), err,
		"layout 'overlapping(0)' lets elements overlap: a result cannot be written there");
	assert_fails(kgb_layout_check("view", false, &err), err, "unknown layout 'view'");
	assert_fails(kgb_layout_check("view()", false, &err), err, "unknown layout 'view()'");
	assert_fails(kgb_layout_check("view(1)2", false, &err), err, "unknown layout 'view(1)2'");
	assert_ok(kgb_layout_check("permuted", true, &err), err);
	assert_fails(kgb_layout_check("expanded", true, &err), err,
		     "layout 'expanded' lets elements overlap: a result cannot be written there");
}

/* ---- expansion ---- */

static void expand_toy(struct spec_change change, struct kgb_spec *spec, struct kgb_cases *cases)
{
	struct kgb_err err = KGB_ERR_INIT;
	load_toy(change, spec);
	assert_ok(kgb_cases_expand(spec, NULL, cases, &err), err);
}

static void test_cases_come_by_interface_line_and_dtype(KGB_UNUSED void **state)
{
	static const char *const described[] = {
		"toy_Tensor/float32/scalar/standard: self=float32[], other=float32[1], alpha=1",
		"toy_Tensor/float16/scalar/standard: self=float16[], other=float16[1], alpha=1",
		"toy_Tensor/float32/tail_1000/standard: self=float32[1000], other=float32[4, 1000], alpha=-0.5",
		"toy_Tensor/float16/tail_1000/standard: self=float16[1000], other=float16[4, 1000], alpha=-0.5",
		"toy_Tensor/int64/outlier/outlier: self=int64[5, 7] strides (1, 5), other=int64[7], alpha=1",
		"toy_out/float32/scalar/standard: self=float32[] (in place), out=<contiguous output buffer>",
		"toy_out/float16/scalar/standard: self=float16[] (in place), out=<contiguous output buffer>",
		"toy_out/float32/tail_1000/standard: self=float32[1000] (in place), out=<contiguous output buffer>",
		"toy_out/float16/tail_1000/standard: self=float16[1000] (in place), out=<contiguous output buffer>",
		"toy_out/int64/outlier/outlier: self=int64[5, 7] (in place), out=<contiguous output buffer>",
	};
	struct kgb_spec spec;
	struct kgb_cases cases;
	expand_toy((struct spec_change){0}, &spec, &cases);

	assert_int_equal(cases.n, KGB_ARRAY_LEN(described));
	for (size_t i = 0; i < cases.n; i++) {
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		kgb_buf_addf(&text, "%s: ", cases.items[i].name);
		kgb_case_describe(&cases.items[i], &text);
		assert_string_equal(text.ptr, described[i]);
	}
	assert_int_equal(cases.items[4].mode, KGB_MODE_OUTLIER);
	assert_int_equal(cases.items[4].dtype, KGB_DTYPE_INT64);
	assert_ptr_equal(cases.items[5].interface, &spec.interfaces[1]);
	assert_ptr_equal(cases.items[5].args[1].param, &spec.interfaces[1].params[1]);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

static void test_values_keep_their_kind(KGB_UNUSED void **state)
{
	static const struct {
		const char *param, *described;
		enum kgb_case_value_kind kind;
	} rows[] = {
		{"value: 1", "1", KGB_CASE_VALUE_INT},
		{"value: 1.0", "1.0", KGB_CASE_VALUE_FLOAT},
		{"value: 1, as: float", "1.0", KGB_CASE_VALUE_FLOAT},
		{"value: 9007199254740993", "9007199254740993", KGB_CASE_VALUE_INT},
		{"value: [0.5, -1], as: complex", "complex(0.5, -1.0)", KGB_CASE_VALUE_COMPLEX},
		{"value: 2, as: complex", "complex(2.0, 0.0)", KGB_CASE_VALUE_COMPLEX},
		{"value: null, as: complex", "None", KGB_CASE_VALUE_NONE},
		{"value: 0.1", "0.1", KGB_CASE_VALUE_FLOAT},
		{"value: -111.999", "-111.999", KGB_CASE_VALUE_FLOAT},
		{"value: 1.0e-6", "1e-06", KGB_CASE_VALUE_FLOAT},
		{"value: 0.30000000000000004", "0.30000000000000004", KGB_CASE_VALUE_FLOAT},
		{"value: .inf", "inf", KGB_CASE_VALUE_FLOAT},
		{"value: -.inf, as: float", "-inf", KGB_CASE_VALUE_FLOAT},
		{"value: .nan", "nan", KGB_CASE_VALUE_FLOAT},
		{"value: '$x|.inf'", "inf", KGB_CASE_VALUE_FLOAT},
		{"value: null", "None", KGB_CASE_VALUE_NONE},
		{"value: true", "True", KGB_CASE_VALUE_BOOL},
		{"value: false", "False", KGB_CASE_VALUE_BOOL},
		{"value: [0, -1]", "[0, -1]", KGB_CASE_VALUE_INTS},
		{"value: []", "[]", KGB_CASE_VALUE_INTS},
		{"value: mean", "'mean'", KGB_CASE_VALUE_STR},
		{"value: float16", "'float16'", KGB_CASE_VALUE_STR},
		{"value: float16, as: dtype", "torch.float16", KGB_CASE_VALUE_DTYPE},
		{"value: null, as: dtype", "None", KGB_CASE_VALUE_NONE},
		{"value: null, as: float", "None", KGB_CASE_VALUE_NONE},
		{"value: $dtype, as: dtype", "torch.float32", KGB_CASE_VALUE_DTYPE},
		{"value: '$acc|$dtype', as: dtype", "torch.float32", KGB_CASE_VALUE_DTYPE},
		{"value: here, as: device", "<the device>", KGB_CASE_VALUE_DEVICE},
		{"value: null, as: device", "None", KGB_CASE_VALUE_NONE},
		{"value: '$alhpa|7'", "7", KGB_CASE_VALUE_INT},
		{"value: '$x|'", "None", KGB_CASE_VALUE_NONE},
		{"value: '$x|[3, 4]'", "[3, 4]", KGB_CASE_VALUE_INTS},
		{"value: '$x|1.5'", "1.5", KGB_CASE_VALUE_FLOAT},
		{"value: '$x|$y|2'", "2", KGB_CASE_VALUE_INT},
		{"value: '$x|$b'", "[1]", KGB_CASE_VALUE_INTS},
		{"value: $a", "[]", KGB_CASE_VALUE_INTS},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_spec spec;
		struct kgb_cases cases;
		KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
		expand_toy((struct spec_change){SPEC_PATH, "value: $alpha|1", rows[i].param}, &spec,
			   &cases);
		assert_int_equal(cases.items[0].args[2].value.kind, rows[i].kind);
		kgb_case_value_describe(&cases.items[0].args[2].value, &text);
		assert_string_equal(text.ptr, rows[i].described);
		kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
}

static void test_a_tensor_of_null_is_none(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct kgb_cases cases;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	expand_toy((struct spec_change){SPEC_PATH, "tensor: $b,", "tensor: $weight|null,"}, &spec,
		   &cases);
	const struct kgb_arg *arg = &cases.items[0].args[1];
	assert_true(arg->is_absent);
	assert_int_equal(kgb_tensor_view_numel(&arg->view), 0);
	assert_int_equal(arg->value.kind, KGB_CASE_VALUE_NONE);
	assert_false(cases.items[0].args[0].is_absent);
	kgb_case_describe(&cases.items[0], &text);
	assert_string_equal(text.ptr, "self=float32[], other=None, alpha=1");
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

static void test_fills_are_fitted_to_the_dtype(KGB_UNUSED void **state)
{
	static const struct {
		const char *param;
		enum kgb_dtype dtype;
		enum kgb_fill_kind fill;
		double lo, hi;
		bool bounded;
	} rows[] = {
		{"", KGB_DTYPE_FLOAT32, KGB_FILL_NORMAL, 0, 0, false},
		{", dtype: int64", KGB_DTYPE_INT64, KGB_FILL_INT, -100, 100, false},
		{", dtype: uint8", KGB_DTYPE_UINT8, KGB_FILL_INT, 0, 100, false},
		{", dtype: int8, fill: 'uniform(-1.5, 2.5)'", KGB_DTYPE_INT8, KGB_FILL_INT, -1, 2,
		 true},
		{", fill: 'uniform(-1.5,2.5)'", KGB_DTYPE_FLOAT32, KGB_FILL_UNIFORM, -1.5, 2.5,
		 true},
		{", fill: 'int(-5,5)'", KGB_DTYPE_FLOAT32, KGB_FILL_INT, -5, 5, true},
		{", dtype: int32, fill: 'int(0,9)'", KGB_DTYPE_INT32, KGB_FILL_INT, 0, 9, true},
		{", dtype: bool", KGB_DTYPE_BOOL, KGB_FILL_BOOL, 0, 0, false},
		{", dtype: bool, fill: ones", KGB_DTYPE_BOOL, KGB_FILL_ONES, 0, 0, true},
		{", fill: bool", KGB_DTYPE_FLOAT32, KGB_FILL_BOOL, 0, 0, true},
		{", fill: positive", KGB_DTYPE_FLOAT32, KGB_FILL_POSITIVE, 0, 0, false},
		{", dtype: int16, fill: positive", KGB_DTYPE_INT16, KGB_FILL_INT, 1, 100, false},
		{", fill: ones", KGB_DTYPE_FLOAT32, KGB_FILL_ONES, 0, 0, true},
		{", fill: signs", KGB_DTYPE_FLOAT32, KGB_FILL_SIGNS, 0, 0, true},
		{", dtype: int64, fill: signs", KGB_DTYPE_INT64, KGB_FILL_INT, -1, 1, true},
		{", dtype: uint8, fill: signs", KGB_DTYPE_UINT8, KGB_FILL_INT, 0, 1, true},
		{", dtype: bool, fill: signs", KGB_DTYPE_BOOL, KGB_FILL_BOOL, 0, 0, true},
		{", dtype: float32, fill: nan", KGB_DTYPE_FLOAT32, KGB_FILL_NAN, 0, 0, true},
		{", dtype: float64, fill: triangle(12)", KGB_DTYPE_FLOAT64, KGB_FILL_TRIANGLE, 12,
		 12, true},
		{", dtype: complex64, fill: nan", KGB_DTYPE_COMPLEX64, KGB_FILL_NAN, 0, 0, true},
		{", dtype: complex128", KGB_DTYPE_COMPLEX128, KGB_FILL_NORMAL, 0, 0, false},
		{", fill: $fill", KGB_DTYPE_FLOAT32, KGB_FILL_NORMAL, 0, 0, false},
		{", fill: '$fill|ones'", KGB_DTYPE_FLOAT32, KGB_FILL_ONES, 0, 0, true},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_spec spec;
		struct kgb_cases cases;
		KGB_AUTO(free) char *param = kgb_xasprintf("layout: $a_layout%s", rows[i].param);
		expand_toy((struct spec_change){SPEC_PATH, "layout: $a_layout", param}, &spec,
			   &cases);
		const struct kgb_arg *arg = &cases.items[0].args[0];
		assert_int_equal(arg->view.dtype, rows[i].dtype);
		assert_int_equal(arg->fill, rows[i].fill);
		assert_int_equal(arg->bounded, rows[i].bounded);
		if (rows[i].fill == KGB_FILL_INT || rows[i].fill == KGB_FILL_UNIFORM)
			assert_true(arg->lo == rows[i].lo && arg->hi == rows[i].hi);
		kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
}

static void test_addresses_lead_to_rows_that_are_there(KGB_UNUSED void **state)
{
	static const struct {
		const char *params, *message;
	} rows[] = {
		{"dtype: int64, fill: 'distinct(0,2)', into: rows}\n      - {name: rows, tensor: [3, 5]",
		 NULL},
		{"dtype: int64, fill: 'int(1,1)', into: rows}\n      - {name: rows, tensor: [2, 5]",
		 NULL},
		{"dtype: int64, fill: 'int(0,3)', into: rows}\n      - {name: rows, tensor: [3, 5]",
		 "into: 'rows' must be a contiguous matrix with a row for each number"},
		{"dtype: int64, fill: 'int(0,1)', into: rows}\n      - {name: rows, tensor: [15]",
		 "into: 'rows' must be a contiguous matrix with a row for each number"},
		{"dtype: int64, fill: 'int(0,1)', into: rows}\n      - {name: rows, tensor: [3, 5], layout: strided",
		 "into: 'rows' must be a contiguous matrix with a row for each number"},
		{"dtype: int32, fill: 'int(0,1)', into: rows}\n      - {name: rows, tensor: [3, 5]",
		 "into: expected contiguous int64 numbers, int or distinct"},
		{"dtype: int64, into: rows}\n      - {name: rows, tensor: [300, 5]",
		 "into: expected contiguous int64 numbers, int or distinct"},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free)
		char *text = kgb_xasprintf(
			"      - {name: at, tensor: [2], %s}\n    cases: [toy]\n", rows[i].params);
		struct spec_change change = {
			SPEC_PATH,
			"      - {name: alpha, value: $alpha|1, keyword: true}\n"
			"    cases: [toy]\n",
			text};
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_spec spec;
		struct kgb_cases cases;
		assert_ok(kgb_spec_load_with(SPEC_PATH, read_spec_file, &change, &spec, &err), err);
		int rc = kgb_cases_expand(&spec, NULL, &cases, &err);
		assert_int_equal(rc, rows[i].message ? -1 : 0);
		if (rows[i].message)
			assert_contains(err.msg, rows[i].message);
		else
			assert_int_equal(cases.items[0].args[2].behind, 3);
		if (rc == 0)
			kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
}

#define LINE_1 SET_PATH ":4:5: case 'scalar' of 'toy': "
#define SELF LINE_1 "self of aten::toy toy_Tensor: "
#define ALPHA LINE_1 "alpha of aten::toy toy_Tensor: "

static void test_what_is_described_is_what_is_passed(KGB_UNUSED void **state)
{
	const struct spec_change change = {
		SPEC_PATH,
		"      - {name: alpha, value: $alpha|1, keyword: true}\n"
		"    cases: [toy]\n",
		"      - {name: p, tensor: [2], list: parts}\n"
		"      - {name: q, tensor: $none|null, list: parts}\n"
		"      - {name: r, tensor: [3], list: parts}\n"
		"      - {name: at, tensor: [2], dtype: int64, fill: 'distinct(0,2)', into: rows}\n"
		"      - {name: rows, tensor: [3, 5]}\n"
		"    cases: [toy]\n"};
	struct kgb_spec spec;
	struct kgb_cases cases;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	expand_toy(change, &spec, &cases);
	kgb_case_describe(&cases.items[0], &text);
	assert_string_equal(text.ptr,
			    "self=float32[], other=float32[1], parts=[float32[2], float32[3]], "
			    "at=int64[2] (addresses of rows of float32[3, 5])");
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

static void test_every_fault_names_set_case_and_variable(KGB_UNUSED void **state)
{
	static const struct {
		struct spec_change change;
		const char *message;
	} rows[] = {
		{{SPEC_PATH, "tensor: $a,", "tensor: $c,"},
		 SELF "variable 'c' is not set and has no default"},
		{{SPEC_PATH, "value: $alpha|1", "value: $alpha"},
		 ALPHA "variable 'alpha' is not set and has no default"},
		{{SPEC_PATH, "tensor: $a,", "tensor: $id,"}, SELF "expected a list of sizes"},
		{{SPEC_PATH, "tensor: $a,", "tensor: [2, -3],"},
		 SELF "dim 1: expected a size, a whole number >= 0"},
		{{SPEC_PATH, "tensor: $a,", "tensor: [1.5],"},
		 SELF "dim 0: expected a size, a whole number >= 0"},
		{{SPEC_PATH, "tensor: $a,", "tensor: [x],"},
		 SELF "dim 0: expected a size, a whole number >= 0"},
		{{SPEC_PATH, "tensor: $a,", "tensor: [1, 1, 1, 1, 1, 1, 1, 1, 1],"},
		 SELF "9 dims, at most 8 are possible"},
		{{SPEC_PATH, "tensor: $a,", "tensor: [1000000, 1000000],"},
		 SELF "tensor is larger than 1073741824 bytes"},
		{{SPEC_PATH, "layout: $a_layout", "layout: diagonal"},
		 SELF "unknown layout 'diagonal'"},
		{{SPEC_PATH, "layout: $a_layout", "layout: transposed"},
		 SELF "layout 'transposed' does not apply to 0 dims"},
		{{SPEC_PATH, "layout: $a_layout", "layout: $a"}, SELF "'$a' must be text"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: float80"},
		 SELF "unknown dtype 'float80'"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: $a_dtype"},
		 SELF "variable 'a_dtype' is not set and has no default"},
		{{SPEC_PATH, "tensor: $a, result: 1", "tensor: $weight|null, result: 1"},
		 LINE_1 "self of aten::toy toy_out: a tensor that holds a result cannot be null"},
		{{SPEC_PATH, "layout: $a_layout", "fill: gauss"},
		 SELF
		 "fill 'gauss' is none of: normal, positive, uniform(low,high), int(low,high), bool, ones"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'normal(0,1)'"},
		 SELF "fill 'normal(0,1)' must read normal"},
		{{SPEC_PATH, "layout: $a_layout", "fill: uniform"},
		 SELF "fill 'uniform' must read uniform(low,high) with low <= high"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'beside(1)'"},
		 SELF "fill 'beside(1)' must read beside(point,step)"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'int(5,4)'"},
		 SELF "fill 'int(5,4)' must read int(low,high) with low <= high"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'int(a,4)'"},
		 SELF "fill 'int(a,4)' must read int(low,high) with low <= high"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'int(0,1e30)'"},
		 SELF "fill: the bounds must be within 2^53"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int8, fill: 'int(0,300)'"},
		 SELF "fill: no whole numbers of int8 within the bounds, or bounds outside of it"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int8, fill: 'uniform(0.2,0.8)'"},
		 SELF "fill: no whole numbers of int8 within the bounds, or bounds outside of it"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int8, fill: nan"},
		 SELF "fill: 'nan' needs a floating-point tensor"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int32, fill: 'distinct(0,-1)'"},
		 SELF "fill 'distinct(0,-1)' must read distinct(low,high) with low <= high"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int32, fill: 'slots(-1,5)'"},
		 SELF "fill: its numbers do not suit the tensor's type and sizes"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int32, fill: 'offsets(1,2)'"},
		 SELF "fill 'offsets(1,2)' must read offsets(total)"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int32, fill: 'blocks(34)'"},
		 SELF "fill: its numbers do not suit the tensor's type and sizes"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int32, fill: 'steps(0)'"},
		 SELF "fill: its numbers do not suit the tensor's type and sizes"},
		{{SPEC_PATH, "layout: $a_layout", "dtype: int32, fill: 'owners(other)'"},
		 SELF
		 "fill 'owners(other)' must read owners(name of an earlier tensor of offsets)"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'distinct(0,5)'"},
		 SELF "fill: its numbers do not suit the tensor's type and sizes"},
		{{SPEC_PATH, "layout: $a_layout", "fill: triangle(2.5)"},
		 SELF "fill: a matrix has a whole number of rows"},
		{{SPEC_PATH, "layout: $a_layout", "fill: 'triangle(0)'"},
		 SELF "fill: a matrix has a whole number of rows"},
		{{SPEC_PATH, "layout: $a_layout", "read: 'lower(2,2)'"},
		 SELF "read: the tensor must be contiguous, have elements, and not be bool"},
		{{SPEC_PATH, "layout: $a_layout", "read: $a"}, SELF "'$a' must be text"},
		{{SPEC_PATH, "value: $alpha|1", "value: [1, 2, 3], as: complex"},
		 ALPHA "expected a number or [real part, imaginary part]"},
		{{SPEC_PATH, "value: $alpha|1", "value: [1, x], as: complex"},
		 ALPHA "expected a number or [real part, imaginary part]"},
		{{SPEC_PATH, "value: $alpha|1", "value: [1, 2.5]"},
		 ALPHA "a list may hold whole numbers only"},
		{{SPEC_PATH, "value: $alpha|1", "value: {x: 1}"},
		 ALPHA "expected a number, true, false, null, text or a list of whole numbers"},
		{{SPEC_PATH, "value: $alpha|1", "value: high, as: float"},
		 ALPHA "expected a number"},
		{{SPEC_PATH, "value: $alpha|1", "value: 7, as: dtype"},
		 ALPHA "expected the name of a dtype"},
		{{SPEC_PATH, "value: $alpha|1", "value: int63, as: dtype"},
		 ALPHA "unknown dtype 'int63'"},
		{{SPEC_PATH, "value: $alpha|1", "value: '$x|[1'"}, ALPHA "'$x|[1': default:2:1: "},
		{{SPEC_PATH, "layout: $out_layout", "layout: expanded"},
		 LINE_1
		 "out of aten::toy toy_out: layout 'expanded' lets elements overlap: a result cannot be written there"},
		{{SPEC_PATH, "tensor: $a, result", "tensor: $a, layout: expanded, result"},
		 LINE_1
		 "self of aten::toy toy_out: layout 'expanded' lets elements overlap: a result cannot be written there"},
		{{SET_PATH, "id: tail_1000", "id: scalar"},
		 SPEC_PATH
		 ": two cases are named 'toy_Tensor/float16/scalar/standard': give them different ids"},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_spec spec;
		struct kgb_cases cases = {.n = 77};
		struct kgb_err err = KGB_ERR_INIT;
		load_toy(rows[i].change, &spec);
		assert_int_equal(kgb_cases_expand(&spec, NULL, &cases, &err), -1);
		assert_contains(err.msg, rows[i].message);
		assert_int_equal(cases.n, 77);
		kgb_spec_release(&spec);
	}
}

static void test_too_many_cases_are_refused(KGB_UNUSED void **state)
{
	KGB_AUTO(buf) struct kgb_buf many = KGB_BUF_INIT(0);
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_err err = KGB_ERR_INIT;

	for (int i = 0; i <= KGB_MAX_CASES / 2; i++)
		kgb_buf_addf(&many, "  - {id: n%d, a: [1], b: [1]}\n", i);
	kgb_buf_adds(&many, "  - {id: scalar");
	load_toy((struct spec_change){SET_PATH, "  - {id: scalar", many.ptr}, &spec);
	assert_int_equal(kgb_cases_expand(&spec, NULL, &cases, &err), -1);
	assert_contains(err.msg, SPEC_PATH ":8:5: aten::toy has more than 4096 cases");
	kgb_spec_release(&spec);
}

/* ---- tiers ---- */

static void test_a_tier_follows_from_the_case_or_is_named(KGB_UNUSED void **state)
{
	/* In place of the line with the id tail_1000, of whose first case the tier is. */
	static const struct {
		const char *line;
		enum kgb_tier tier;
	} rows[] = {
		{"a: [1000], b: [4, 1000], alpha: -0.5", KGB_TIER_CORE},
		{"mode: outlier, a: [1000], b: [1000]", KGB_TIER_CORE},
		{"a: [1000], b: [1000], b_dtype: float16", KGB_TIER_CORE},
		{"a: [2, 3, 4, 5, 6], b: [6]", KGB_TIER_CORE},
		{"a: [1000], b: [1000], alpha: -0.5, tier: edge", KGB_TIER_EDGE},
		{"a: [], b: []", KGB_TIER_CORE},
		{"a: [], b: [1]", KGB_TIER_EDGE},
		{"a: [1000], b: [1000], dtypes: [float64]", KGB_TIER_CORE},
		{"a: [1000], b: [1000], dtypes: [int32]", KGB_TIER_EDGE},
		{"a: [], b: [1], tier: core", KGB_TIER_CORE},
		{"a: [0], b: [1]", KGB_TIER_EDGE},
		{"a: [2, 3, 4, 5, 6, 7], b: [7]", KGB_TIER_EDGE},
		{"a: [5, 7], b: [7], a_layout: transposed", KGB_TIER_EDGE},
		{"mode: special, a: [1000], b: [1000]", KGB_TIER_EDGE},
		{"a: [1000], b: [1000], b_dtype: int64", KGB_TIER_EDGE},
		{"a: [1000], b: [1000], alpha: 4294967296", KGB_TIER_EDGE},
		{"a: [1000], b: [1000], alpha: 0.5, dtypes: [int64]", KGB_TIER_EDGE},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		KGB_AUTO(free) char *line = kgb_xasprintf("{id: row, %s}", rows[i].line);
		const struct spec_change change = {
			SET_PATH,
			"{id: outlier, mode: outlier, a: [5, 7], b: [7], a_layout: "
			"transposed, dtypes: [int64]}",
			line};
		struct kgb_spec spec;
		struct kgb_cases cases;
		expand_toy(change, &spec, &cases);
		size_t k = 0;
		while (!kgb_str_eq(cases.items[k].line->id, "row"))
			k++;
		if (cases.items[k].tier != rows[i].tier)
			fail_msg("%s: %s", rows[i].line, kgb_tier_name(cases.items[k].tier));
		kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
}

/* ---- the data of this project ---- */

static void test_every_operator_of_the_datasets_expands(KGB_UNUSED void **state)
{
	struct kgb_spec_index index;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_spec_index_load(KGB_TEST_SOURCE_DIR, "KernelGenBench", &index, &err), err);
	for (size_t i = 0; i < index.names.n; i++) {
		struct kgb_spec spec;
		struct kgb_cases cases;
		assert_ok(kgb_spec_load(index.paths.items[i], &spec, &err), err);
		assert_string_equal(spec.name, index.names.items[i]);
		assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
		assert_true(cases.n >= spec.n_interfaces);
		size_t n_core = 0;
		for (size_t k = 0; k < cases.n; k++)
			n_core += cases.items[k].tier == KGB_TIER_CORE;
		if (n_core == 0)
			fail_msg("%s has no core case", spec.name);
		kgb_cases_release(&cases);
		kgb_spec_release(&spec);
	}
	kgb_spec_index_release(&index);
}

static void test_benchmarks_come_behind_and_are_counted_apart(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_err err = KGB_ERR_INIT;

	load_toy(
		(struct spec_change){SET_PATH, "{id: scalar, a", "{id: scalar, mode: benchmark, a"},
		&spec);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	/* Two interfaces: three lines, of which one has one dtype and two have two. */
	assert_int_equal(cases.n, 6);
	assert_int_equal(cases.n_benchmarks, 4);
	for (size_t i = 0; i < cases.n + cases.n_benchmarks; i++)
		assert_int_equal(cases.items[i].mode == KGB_MODE_BENCHMARK, i >= cases.n);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

/* The toy with a line that is timed, and then changed. */
static int read_timed(void *payload, const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	static struct spec_change none;
	const struct spec_change *change = payload;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);

	if (read_spec_file(&none, path, &text, err) < 0)
		return -1;
	if (kgb_str_eq(path, SET_PATH))
		kgb_buf_adds(&text,
			     "  - {id: big, mode: benchmark, a: [9, 8], b: [8], alpha: 3}\n");
	const char *at = change->old && kgb_str_eq(path, change->path)
				 ? strstr(text.ptr, change->old)
				 : NULL;
	if (!at)
		return kgb_buf_adds(out, text.ptr);
	kgb_buf_add(out, text.ptr, (size_t)(at - text.ptr));
	kgb_buf_adds(out, change->fresh);
	return kgb_buf_adds(out, at + strlen(change->old));
}

static void hash_timed(struct spec_change change, char out[KGB_SHA256_HEX_LEN])
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_cases cases;
	struct kgb_spec spec;

	assert_ok(kgb_spec_load_with(SPEC_PATH, read_timed, &change, &spec, &err), err);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	kgb_cases_hash_benchmarks(&cases, out);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

static void test_figures_hold_until_what_is_timed_changes(KGB_UNUSED void **state)
{
	static const struct spec_change kept[] = {
		{SPEC_PATH, "adds", "ads"},
		{SPEC_PATH, "self + alpha", "self plus alpha"},
		{SPEC_PATH, "magnitude: abs", "magnitude: none"},
		{SPEC_PATH, "{accumulate: result}", "{exact: true}"},
		{SPEC_PATH, "{name: self, tensor: $a, layout: $a_layout}",
		 "{name: self, tensor: $a, layout: $a_layout, fill: $a_fill}"},
		{SET_PATH, "two tensors", "two"},
		{SET_PATH, "alpha: -0.5", "alpha: -0.25"},
		{SET_PATH, "{id: scalar, a: [], b: [1]}", "{id: scalar, a: [2], b: [2]}"},
	};
	static const struct spec_change lost[] = {
		{SPEC_PATH, "[float32, float16]", "[float32, float16, bfloat16]"},
		{SPEC_PATH, "entry: toy_out", "entry: toy_too"},
		{SPEC_PATH, "{aten: toy.Tensor}", "{aten: toy.Other}"},
		{SPEC_PATH, "'uniform(-2, 2)'", "'uniform(-1, 2)'"},
		{SPEC_PATH, "'uniform(-2, 2)'", "'int(-2, 2)'"},
		{SPEC_PATH, "layout: $a_layout", "layout: offset"},
		{SPEC_PATH, "layout: $out_layout", "layout: transposed"},
		{SPEC_PATH, "toy.py:toy", "toy.py:fast"},
		{REFERENCE_PATH, "self, self", "self, out"},
		{SET_PATH, "alpha: 3", "alpha: 4"},
		{SET_PATH, "a: [9, 8]", "a: [7, 8]"},
		{SET_PATH, "a: [9, 8]", "a: [9, 8], a_layout: transposed"},
	};
	char digests[KGB_ARRAY_LEN(lost) + 1][KGB_SHA256_HEX_LEN], other[KGB_SHA256_HEX_LEN];

	hash_timed((struct spec_change){0}, digests[0]);
	for (size_t i = 0; i < KGB_ARRAY_LEN(kept); i++) {
		hash_timed(kept[i], other);
		assert_string_equal(other, digests[0]);
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(lost); i++) {
		hash_timed(lost[i], digests[i + 1]);
		for (size_t j = 0; j <= i; j++)
			assert_string_not_equal(digests[i + 1], digests[j]);
	}
}

static int read_with_more(void *payload, const char *path, struct kgb_buf *out, struct kgb_err *err)
{
	if (kgb_str_eq(path, "kgb/cases/more.yaml"))
		return kgb_buf_adds(out, "name: more\n"
					 "doc: another\n"
					 "cases:\n"
					 "  - {id: pair, a: [2], b: [2]}\n");
	return read_spec_file(payload, path, out, err);
}

static void test_every_case_set_of_an_interface_is_used(KGB_UNUSED void **state)
{
	struct spec_change change = {SPEC_PATH, "cases: [toy]", "cases: [toy, more]"};
	struct kgb_spec spec;
	struct kgb_cases cases;
	struct kgb_err err = KGB_ERR_INIT;
	int n_pairs = 0;

	assert_ok(kgb_spec_load_with(SPEC_PATH, read_with_more, &change, &spec, &err), err);
	assert_ok(kgb_cases_expand(&spec, NULL, &cases, &err), err);
	assert_int_equal(cases.n, 12);
	for (size_t i = 0; i < cases.n; i++)
		n_pairs += strstr(cases.items[i].name, "/pair/") != NULL;
	assert_int_equal(n_pairs, 2);
	kgb_cases_release(&cases);
	kgb_spec_release(&spec);
}

/* Under no_grad nothing keeps a call from changing a leaf; gradients of others are only read. */
static void test_leaves_may_change_under_no_grad(KGB_UNUSED void **state)
{
	static const struct kgb_param held = {.kind = KGB_PARAM_TENSOR, .result = 0};
	struct kgb_case c = {.n_args = 1, .args = {{.param = &held}}};

	c.args[0].view.dtype = KGB_DTYPE_FLOAT32;
	for (int gradient = KGB_GRADIENT_NONE; gradient <= KGB_GRADIENT_RESULT; gradient++)
		for (int mode = KGB_GRAD_ENABLED; mode <= KGB_GRAD_INFERENCE; mode++) {
			c.style.gradient = (enum kgb_gradient)gradient;
			c.style.grad_mode = (enum kgb_grad_mode)mode;
			assert_int_equal(kgb_case_has_gradient(&c, 0),
					 gradient == KGB_GRADIENT_LEAF &&
						 mode == KGB_GRAD_DISABLED);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves_may_change_under_no_grad),
		cmocka_unit_test(test_layouts_have_the_strides_of_torch),
		cmocka_unit_test(test_elements_stay_in_the_storage_and_walk_in_row_major_order),
		cmocka_unit_test(test_numbered_layouts_are_all_kinds_of_views),
		cmocka_unit_test(test_contiguity_ignores_dims_of_one_and_offsets),
		cmocka_unit_test(test_dims_of_one_have_any_stride),
		cmocka_unit_test(test_views_expand_as_those_of_torch),
		cmocka_unit_test(test_impossible_views_are_refused),
		cmocka_unit_test(test_the_largest_tensor_is_accepted),
		cmocka_unit_test(test_results_cannot_overlap),
		cmocka_unit_test(test_cases_come_by_interface_line_and_dtype),
		cmocka_unit_test(test_values_keep_their_kind),
		cmocka_unit_test(test_a_tensor_of_null_is_none),
		cmocka_unit_test(test_fills_are_fitted_to_the_dtype),
		cmocka_unit_test(test_addresses_lead_to_rows_that_are_there),
		cmocka_unit_test(test_what_is_described_is_what_is_passed),
		cmocka_unit_test(test_every_fault_names_set_case_and_variable),
		cmocka_unit_test(test_too_many_cases_are_refused),
		cmocka_unit_test(test_a_tier_follows_from_the_case_or_is_named),
		cmocka_unit_test(test_every_operator_of_the_datasets_expands),
		cmocka_unit_test(test_benchmarks_come_behind_and_are_counted_apart),
		cmocka_unit_test(test_every_case_set_of_an_interface_is_used),
		cmocka_unit_test(test_figures_hold_until_what_is_timed_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
