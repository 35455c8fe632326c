/* SPDX-License-Identifier: MIT */
#include "verify/comparator/compare.h"

#include <float.h>
#include <math.h>

#include "tests/unit/base/support.h"

#define NAN_ ((double)NAN)
#define INF_ ((double)INFINITY)

static const struct kgb_tolerance standard = {.factor = 4, .ulps = 2};
static const struct kgb_tolerance by_term = {
	.factor = 4, .ulps = 2, .accumulate = KGB_ACCUMULATE_RESULT};

static struct kgb_tensor_view flat(enum kgb_dtype dtype, int64_t n)
{
	return (struct kgb_tensor_view){
		.dtype = dtype, .ndim = 1, .sizes = {n}, .strides = {1}, .storage_elements = n};
}

static void *stored(enum kgb_dtype dtype, const double *values, int64_t n)
{
	char *bytes = kgb_xcalloc((size_t)n + 1, kgb_dtype_size(dtype));
	for (int64_t i = 0; i < n; i++)
		kgb_dtype_store(dtype, bytes + (size_t)i * kgb_dtype_size(dtype), values[i]);
	return bytes;
}

/* Candidate against reference; the native result is the reference rounded unless it is given. */
static struct kgb_compare compare(enum kgb_dtype dtype, int64_t n, const double *c, const double *r,
				  const double *native)
{
	KGB_AUTO(free) void *candidate = stored(dtype, c, n);
	KGB_AUTO(free) void *trusted = stored(dtype, native ? native : r, n);
	struct kgb_tensor_view view = flat(dtype, n);
	struct kgb_compare out;
	kgb_compare(&view, candidate, trusted, r, NULL, &standard, &out);
	assert_int_equal(kgb_compare_passes(&view, candidate, trusted, r, NULL, &standard), out.ok);
	return out;
}

static void test_equal_results_pass_in_every_dtype(KGB_UNUSED void **state)
{
	static const double r[] = {0, 1, 1, 0, 1};
	for (int d = 0; d < KGB_N_DTYPES; d++) {
		if (kgb_dtype_is_complex((enum kgb_dtype)d))
			continue; /* two numbers each */
		struct kgb_compare out = compare((enum kgb_dtype)d, 5, r, r, NULL);
		assert_true(out.ok);
		assert_int_equal(out.n_elements, 5);
		assert_int_equal(out.n_wrong, 0);
		assert_int_equal(out.first_wrong, -1);
		assert_true(out.max_abs_err == 0);
	}
}

static void test_complex_results_are_compared_by_their_parts(KGB_UNUSED void **state)
{
	static const double r[] = {1, -2, 3, 0.5, 0, 1};
	static const struct {
		size_t part;
		double error;
		int64_t first_wrong;
	} rows[] = {{0, 0, -1},   {0, 1e-9, -1}, {1, 1e-3, 0},
		    {2, 1e-3, 1}, {4, 1e-3, 2},  {5, 1e-3, 2}};
	struct kgb_tensor_view view = flat(KGB_DTYPE_COMPLEX64, 3);

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		float native[6], candidate[6];
		struct kgb_compare out;
		for (size_t k = 0; k < 6; k++)
			native[k] = candidate[k] = (float)r[k];
		candidate[rows[i].part] += (float)rows[i].error;
		kgb_compare(&view, candidate, native, r, NULL, &standard, &out);
		assert_int_equal(out.ok, rows[i].first_wrong < 0);
		assert_int_equal(out.n_wrong, rows[i].first_wrong < 0 ? 0 : 1);
		assert_int_equal(out.first_wrong, rows[i].first_wrong);
		if (rows[i].first_wrong >= 0)
			assert_int_equal(out.reported, rows[i].first_wrong);
		assert_int_equal(out.n_elements, 6);
	}
}

static void test_nothing_to_compare_passes(KGB_UNUSED void **state)
{
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT32, 0, NULL, NULL, NULL);
	assert_true(out.ok);
	assert_int_equal(out.reported, -1);
	assert_true(compare(KGB_DTYPE_INT64, 0, NULL, NULL, NULL).ok);
}

/* One element of four, the others right. */
static void test_special_values_must_stand_where_they_stand(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_dtype dtype;
		double r, native, c;
		bool right;
	} rows[] = {
		{KGB_DTYPE_FLOAT32, NAN_, NAN_, NAN_, true},
		{KGB_DTYPE_FLOAT32, NAN_, NAN_, 0, false},
		{KGB_DTYPE_FLOAT32, NAN_, NAN_, INF_, false},
		{KGB_DTYPE_FLOAT32, 1, 1, NAN_, false},
		{KGB_DTYPE_FLOAT32, 1, 1, INF_, false},
		{KGB_DTYPE_FLOAT32, INF_, INF_, INF_, true},
		{KGB_DTYPE_FLOAT32, INF_, INF_, -INF_, false},
		{KGB_DTYPE_FLOAT32, INF_, INF_, NAN_, false},
		{KGB_DTYPE_FLOAT32, INF_, INF_, 3e38, false},
		{KGB_DTYPE_FLOAT32, -INF_, -INF_, -INF_, true},
		{KGB_DTYPE_FLOAT32, 0, 0, -0.0, true},
		/* only rounding to the dtype overflows */
		{KGB_DTYPE_FLOAT16, 1e5, INF_, INF_, true},
		{KGB_DTYPE_FLOAT16, 1e5, INF_, 65504, true},
		{KGB_DTYPE_FLOAT16, 1e5, INF_, -65504, false},
		{KGB_DTYPE_FLOAT16, 1e5, INF_, -INF_, false},
		{KGB_DTYPE_FLOAT16, 1e5, INF_, 30000, false},
		{KGB_DTYPE_FLOAT16, 1e5, INF_, NAN_, false},
		{KGB_DTYPE_FLOAT32, -1e39, -INF_, -INF_, true},
		{KGB_DTYPE_FLOAT32, -1e39, -INF_, -0x1.fffffep127, true},
		{KGB_DTYPE_FLOAT64, 0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023,
		 0x1.fffffffffffffp1023, true},
		{KGB_DTYPE_FLOAT64, 0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023, 1, false},
		/* an allowed error carries the result past the largest value, or does not */
		{KGB_DTYPE_FLOAT16, 65504, 65504, INF_, true},
		{KGB_DTYPE_FLOAT16, -65504, -65504, INF_, false},
		{KGB_DTYPE_FLOAT16, 60000, 60000, INF_, false},
		/* the native implementation overflowed on the way: either is right */
		{KGB_DTYPE_FLOAT32, 3e38, INF_, INF_, true},
		{KGB_DTYPE_FLOAT32, 3e38, INF_, 3e38, true},
		{KGB_DTYPE_FLOAT32, 3e38, INF_, 1e38, false},
		{KGB_DTYPE_FLOAT32, 5, NAN_, NAN_, true},
		{KGB_DTYPE_FLOAT32, 5, NAN_, 5, true},
		{KGB_DTYPE_FLOAT32, 5, NAN_, 6, false},
		/* or it took a way around the special value */
		{KGB_DTYPE_FLOAT32, NAN_, 7, 7, true},
		{KGB_DTYPE_FLOAT32, NAN_, 7, NAN_, true},
		{KGB_DTYPE_FLOAT32, NAN_, 7, 8, false},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const double r[] = {1, -2, rows[i].r, 0.5};
		const double native[] = {1, -2, rows[i].native, 0.5};
		const double c[] = {1, -2, rows[i].c, 0.5};
		struct kgb_compare out = compare(rows[i].dtype, 4, c, r, native);
		if (out.ok != rows[i].right)
			fail_msg("row %zu: expected %g, native %g, got %g: ok is %d", i, rows[i].r,
				 rows[i].native, rows[i].c, out.ok);
		assert_int_equal(out.n_wrong, !rows[i].right);
		assert_int_equal(out.first_wrong, rows[i].right ? -1 : 2);
		assert_true(rows[i].right || out.reported == 2);
	}
}

static void test_a_misplaced_nan_is_reported_before_large_errors(KGB_UNUSED void **state)
{
	static const double r[] = {1, 2, 3, 4, 5}, c[] = {1, 1000, NAN_, INF_, 5};
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT32, 5, c, r, NULL);

	assert_false(out.ok);
	assert_int_equal(out.n_wrong, 3);
	assert_int_equal(out.first_wrong, 1);
	assert_int_equal(out.reported, 2);
	assert_true(out.expected == 3 && isnan(out.got));
	assert_true(out.max_abs_err == 998);
}

static void test_the_worst_element_is_reported_else(KGB_UNUSED void **state)
{
	static const double r[] = {1, 1000, 3, 4}, c[] = {1.5, 1001, 5, 4};
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT32, 4, c, r, NULL);

	assert_int_equal(out.n_wrong, 3);
	assert_int_equal(out.first_wrong, 0);
	assert_int_equal(out.reported, 2); /* 1 of 1000 is less than 2 of 3 */
	assert_true(out.expected == 3 && out.got == 5);
	assert_true(out.max_abs_err == 2);
	assert_true(out.allowed_abs_err > 0 && out.allowed_abs_err < 1e-4);
}

static void test_a_passing_result_reports_its_nearest_miss(KGB_UNUSED void **state)
{
	static const double r[] = {1, 2, 3}, c[] = {1, 2.0000002, 3};
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT32, 3, c, r, NULL);

	assert_true(out.ok);
	assert_int_equal(out.reported, 1);
	assert_int_equal(out.first_wrong, -1);
}

static void test_integers_are_exact_beyond_doubles(KGB_UNUSED void **state)
{
	const int64_t native[] = {1, (INT64_C(1) << 60) + 1, -3};
	int64_t candidate[] = {1, INT64_C(1) << 60, -3};
	struct kgb_tensor_view view = flat(KGB_DTYPE_INT64, 3);
	struct kgb_compare out;

	kgb_compare(&view, candidate, native, NULL, NULL, &standard, &out);
	assert_false(out.ok);
	assert_int_equal(out.n_wrong, 1);
	assert_int_equal(out.first_wrong, 1);
	candidate[1]++;
	kgb_compare(&view, candidate, native, NULL, NULL, &standard, &out);
	assert_true(out.ok);
}

static void test_off_by_one_integers_and_invalid_bools_are_wrong(KGB_UNUSED void **state)
{
	static const double r[] = {5, 6, 7}, c[] = {5, 7, 7};
	struct kgb_compare out = compare(KGB_DTYPE_INT32, 3, c, r, NULL);
	assert_int_equal(out.n_wrong, 1);
	assert_int_equal(out.reported, 1);
	assert_true(out.expected == 6 && out.got == 7 && out.allowed_abs_err == 0 &&
		    out.max_abs_err == 1);

	struct kgb_tensor_view view = flat(KGB_DTYPE_BOOL, 2);
	kgb_compare(&view, "\x01\x02", "\x01\x01", NULL, NULL, &standard, &out);
	assert_false(out.ok);
	assert_int_equal(out.first_wrong, 1);
}

static void test_candidates_may_be_strided(KGB_UNUSED void **state)
{
	static const char *const layouts[] = {"transposed", "strided", "row_strided", "offset"};
	const int64_t sizes[] = {3, 4};
	float native[12];
	double r[12];

	for (int i = 0; i < 12; i++)
		native[i] = (float)(r[i] = i + 1);
	for (size_t l = 0; l < KGB_ARRAY_LEN(layouts); l++) {
		struct kgb_tensor_view view;
		struct kgb_err err = KGB_ERR_INIT;
		struct kgb_compare out;
		assert_ok(kgb_tensor_view_layout(&view, KGB_DTYPE_FLOAT32, sizes, 2, layouts[l],
						 &err),
			  err);
		KGB_AUTO(free)
		float *storage = kgb_xcalloc((size_t)view.storage_elements, sizeof(*storage));
		for (int64_t i = 0; i < 12; i++)
			storage[kgb_tensor_view_element(&view, i)] = native[i];
		kgb_compare(&view, storage, native, r, NULL, &standard, &out);
		assert_true(out.ok);
		storage[kgb_tensor_view_element(&view, 7)] = 0;
		kgb_compare(&view, storage, native, r, NULL, &standard, &out);
		assert_int_equal(out.n_wrong, 1);
		assert_int_equal(out.first_wrong, 7);
		int64_t index[2];
		kgb_unravel(out.first_wrong, view.sizes, view.ndim, index);
		assert_int_equal(index[0], 1);
		assert_int_equal(index[1], 3);
	}
}

/* The rounding of one large element must not excuse a small one. */
static void test_errors_are_carried_down_in_proportion_only(KGB_UNUSED void **state)
{
	enum { N = 100 };
	double r[N], c[N];

	for (int i = 0; i < N; i++)
		c[i] = r[i] = 1;
	r[0] = 30000.4; /* off by 6.4 in float16 */
	c[0] = kgb_dtype_round(KGB_DTYPE_FLOAT16, r[0]);
	assert_true(compare(KGB_DTYPE_FLOAT16, N, c, r, NULL).ok);
	c[50] = 1.01;
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT16, N, c, r, NULL);
	assert_int_equal(out.n_wrong, 1);
	assert_int_equal(out.reported, 50);
}

static void test_relative_errors_of_large_elements_hold_for_small_ones(KGB_UNUSED void **state)
{
	double r[] = {0.5, 0.5, 0.5, 8, 8}, native[] = {0.5, 0.5, 0.5, 8 * (1 + 1e-4), 8};
	double c[] = {0.5 * (1 + 3e-4), 0.5, 0.5, 8, 8};
	assert_int_equal(compare(KGB_DTYPE_FLOAT32, 5, c, r, native).n_wrong, 0);
	c[0] = 0.5 * (1 + 6e-4);
	assert_int_equal(compare(KGB_DTYPE_FLOAT32, 5, c, r, native).n_wrong, 1);
}

/* The native error of small elements counts for larger ones in full: that is how cancellation
 * shows. */
static void test_errors_of_small_elements_count_for_large_ones(KGB_UNUSED void **state)
{
	double r[] = {1e-3, 1, 1, 1}, native[] = {1e-3 + 1e-4, 1, 1, 1},
	       c[] = {1e-3, 1 + 2e-4, 1, 1};
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT32, 4, c, r, native);
	assert_int_equal(out.n_wrong, 0);
	c[1] = 1 + 5e-4;
	out = compare(KGB_DTYPE_FLOAT32, 4, c, r, native);
	assert_int_equal(out.n_wrong, 1);
}

static void test_a_few_huge_elements_do_not_move_the_floor(KGB_UNUSED void **state)
{
	enum { N = 40 };
	double r[N], c[N];
	for (int i = 0; i < N; i++)
		c[i] = r[i] = i < 10 ? 3e38 : 1;
	assert_true(compare(KGB_DTYPE_FLOAT32, N, c, r, NULL).ok);
	c[20] = 0;
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT32, N, c, r, NULL);
	assert_int_equal(out.n_wrong, 1);
	assert_int_equal(out.first_wrong, 20);
}

static void test_the_bulk_line_sees_what_no_element_shows(KGB_UNUSED void **state)
{
	enum { N = 4096 };
	KGB_AUTO(free) double *r = kgb_xcalloc(N, sizeof(*r)), *c = kgb_xcalloc(N, sizeof(*c));
	double eps = kgb_dtype_eps(KGB_DTYPE_FLOAT16);

	/* Each element two spacings off: allowed for one, not for all. */
	for (int i = 0; i < N; i++) {
		r[i] = 1 + (i % 512) * eps;
		c[i] = r[i] + 2 * eps;
	}
	struct kgb_compare out = compare(KGB_DTYPE_FLOAT16, N, c, r, NULL);
	assert_int_equal(out.n_wrong, 0);
	assert_true(out.rms_failed);
	assert_false(out.ok);
	assert_true(out.rms_err > out.allowed_rms_err && out.reported >= 0);
	assert_int_equal(out.first_wrong, -1);

	/* Nor for all of one value; of some 15 values one may be off so much. */
	for (int i = 0; i < N; i++)
		r[i] = 1 + (i % 16) * eps;
	for (int n_off = 1; n_off <= 16; n_off += 15) {
		for (int i = 0; i < N; i++)
			c[i] = r[i] + (i % 16 < n_off ? 2 * eps : 0);
		assert_true(compare(KGB_DTYPE_FLOAT16, N, c, r, NULL).ok == (n_off == 1));
	}
	for (int i = 0; i < N; i++)
		r[i] = 1, c[i] = 1 + 2 * eps;
	assert_true(compare(KGB_DTYPE_FLOAT16, N, c, r, NULL).ok);

	for (int i = 0; i < N; i++)
		r[i] = 1 + (i % 512) * eps;
	memcpy(c, r, N * sizeof(*c));
	c[7] += 2 * eps;
	assert_true(compare(KGB_DTYPE_FLOAT16, N, c, r, NULL).ok);
}

/* Compared by several threads, of which one finds the wrong element. */
static void test_one_wrong_element_anywhere_ends_a_comparison(KGB_UNUSED void **state)
{
	enum { N = 200000 };
	static const int wrong[] = {0, 255, 256, 70000, N - 1};
	KGB_AUTO(free) double *r = kgb_xcalloc(N, sizeof(*r)), *c = kgb_xcalloc(N, sizeof(*c));

	for (int i = 0; i < N; i++)
		c[i] = r[i] = i % 100;
	assert_true(compare(KGB_DTYPE_FLOAT32, N, c, r, NULL).ok);
	assert_true(compare(KGB_DTYPE_INT16, N, c, r, NULL).ok);
	for (size_t i = 0; i < KGB_ARRAY_LEN(wrong); i++) {
		c[wrong[i]] += 1;
		assert_int_equal(compare(KGB_DTYPE_FLOAT32, N, c, r, NULL).n_wrong, 1);
		assert_int_equal(compare(KGB_DTYPE_INT16, N, c, r, NULL).n_wrong, 1);
		c[wrong[i]] -= 1;
	}
}

static void test_subnormals_may_be_flushed_where_hardware_does(KGB_UNUSED void **state)
{
	static const double float32[] = {1, 1e-39, 1}, float16[] = {1, 3e-5, 1},
			    flushed[] = {1, 0, 1};
	assert_true(compare(KGB_DTYPE_FLOAT32, 3, flushed, float32, NULL).ok);
	static const double small[] = {3e-5, 3e-5, 3e-5}, zero[] = {0, 0, 0};
	assert_false(compare(KGB_DTYPE_FLOAT16, 3, zero, small, NULL).ok);
	assert_true(compare(KGB_DTYPE_FLOAT16, 3, float16, float16, NULL).ok);
}

static void test_magnitudes_tell_cancellation_from_error(KGB_UNUSED void **state)
{
	const double r[] = {1e-3}, magnitude[] = {1000}, overflowed[] = {INF_};
	const float native[] = {(float)1e-3}, candidate[] = {(float)(1e-3 + 5e-4)};
	struct kgb_tensor_view view = flat(KGB_DTYPE_FLOAT32, 1);
	struct kgb_compare out;

	kgb_compare(&view, candidate, native, r, magnitude, &standard, &out);
	assert_true(out.ok);
	kgb_compare(&view, candidate, native, r, NULL, &standard, &out);
	assert_false(out.ok);
	kgb_compare(&view, candidate, native, r, overflowed, &standard, &out);
	assert_false(out.ok);
}

/* 20 eps of a sum: of 3,000 terms in a row, not of 100, and not where terms cancel; but of 100
 * equal terms. 236 eps, as on an H200, of 1,944 products by tensor cores. */
static void test_chains_of_additions_err_with_their_length(KGB_UNUSED void **state)
{
	static const struct {
		double n_terms, r, error;
		bool cuts_off, is_equal, right;
	} rows[] = {
		{3000, 1000, 20, false, false, true},   {3000, 1000, 50, false, false, false},
		{100, 1000, 20, false, false, false},   {0, 1000, 20, false, false, false},
		{3000, 1, 20, false, false, false},     {3888, 1000, 236, true, false, true},
		{3888, 1000, 236, false, false, false}, {3888, 1000, 400, true, false, false},
		{3888, 1, 236, true, false, true},      {3888, 1, 400, true, false, false},
		{1e6, 1000, 3900, true, false, true},   {1e6, 1000, 4100, true, false, false},
		{100, 1000, 20, false, true, true},     {100, 1000, 30, false, true, false},
		{100, 1, 20, false, true, false},
	};
	const double magnitude[] = {1000};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const double r[] = {rows[i].r};
		const float native[] = {(float)r[0]};
		const float candidate[] = {(float)(r[0] + rows[i].error * 1000 * 0x1p-23)};
		struct kgb_tolerance tolerance = standard;
		struct kgb_tensor_view view = flat(KGB_DTYPE_FLOAT32, 1);
		struct kgb_compare out;
		tolerance.n_terms = rows[i].n_terms;
		tolerance.cuts_off = rows[i].cuts_off;
		tolerance.has_equal_terms = rows[i].is_equal;
		kgb_compare(&view, candidate, native, r, magnitude, &tolerance, &out);
		if (out.ok != rows[i].right)
			fail_msg("row %zu: ok is %d, allowed %g", i, out.ok, out.allowed_abs_err);
	}
}

static void test_terms_may_overflow_on_the_way(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_dtype dtype;
		const struct kgb_tolerance *tolerance;
		double r, magnitude, c;
		bool right;
	} rows[] = {
		/* 2 * 3e38 - 3e38, 4e38 - 4e38 + 1 */
		{KGB_DTYPE_FLOAT32, &standard, 3e38, 9e38, INF_, true},
		{KGB_DTYPE_FLOAT32, &standard, 3e38, 9e38, -INF_, false},
		{KGB_DTYPE_FLOAT32, &standard, 3e38, 9e38, NAN_, false},
		{KGB_DTYPE_FLOAT32, &standard, 3e38, 9e38, 1e38, false},
		{KGB_DTYPE_FLOAT32, &standard, 1, 8e38, NAN_, true},
		{KGB_DTYPE_FLOAT32, &standard, 1, 8e38, -INF_, true},
		{KGB_DTYPE_FLOAT32, &standard, 1, 6e38, NAN_, false},
		/* infinity - 4e38, infinity - 1e38 */
		{KGB_DTYPE_FLOAT32, &standard, INF_, 4e38, NAN_, true},
		{KGB_DTYPE_FLOAT32, &standard, INF_, 4e38, -INF_, false},
		{KGB_DTYPE_FLOAT32, &standard, INF_, 1e38, NAN_, false},
		{KGB_DTYPE_FLOAT32, &standard, NAN_, 4e38, INF_, false},
		/* terms of the result's type only where the spec says so */
		{KGB_DTYPE_FLOAT16, &standard, INF_, 1e5, NAN_, false},
		{KGB_DTYPE_FLOAT16, &by_term, INF_, 1e5, NAN_, true},
		{KGB_DTYPE_FLOAT16, &standard, INF_, 4e38, NAN_, true},
		{KGB_DTYPE_FLOAT64, &standard, INF_, 4e38, NAN_, false},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		const double r[] = {1, -2, rows[i].r, 0.5}, c[] = {1, -2, rows[i].c, 0.5};
		const double magnitude[] = {1, 2, rows[i].magnitude, 0.5};
		KGB_AUTO(free) void *candidate = stored(rows[i].dtype, c, 4);
		KGB_AUTO(free) void *native = stored(rows[i].dtype, r, 4);
		struct kgb_tensor_view view = flat(rows[i].dtype, 4);
		struct kgb_compare out;
		kgb_compare(&view, candidate, native, r, magnitude, rows[i].tolerance, &out);
		if (out.ok != rows[i].right)
			fail_msg("row %zu: expected %g of %g, got %g: ok is %d", i, rows[i].r,
				 rows[i].magnitude, rows[i].c, out.ok);
	}
}

static void test_half_terms_need_the_spec_s_leave(KGB_UNUSED void **state)
{
	const double r[] = {0.01}, magnitude[] = {2};
	uint16_t native, candidate;
	struct kgb_tensor_view view = flat(KGB_DTYPE_FLOAT16, 1);
	struct kgb_compare out;

	kgb_dtype_store(KGB_DTYPE_FLOAT16, &native, 0.01);
	kgb_dtype_store(KGB_DTYPE_FLOAT16, &candidate, 0.01 + 0x1p-11);
	kgb_compare(&view, &candidate, &native, r, magnitude, &by_term, &out);
	assert_true(out.ok);
	kgb_compare(&view, &candidate, &native, r, magnitude, &standard, &out);
	assert_false(out.ok);
}

static void test_zero_results_allow_no_visible_error(KGB_UNUSED void **state)
{
	static const double r[] = {0, 0, 0, 0}, c[] = {0, 1e-30, 0, 0};
	assert_true(compare(KGB_DTYPE_FLOAT32, 4, r, r, NULL).ok);
	assert_int_equal(compare(KGB_DTYPE_FLOAT32, 4, c, r, NULL).first_wrong, 1);
}

/* int8 after a division: the value before the rounding is known but for `slack`. */
static bool rounded_ok(enum kgb_dtype dtype, double r, double native, double c, double eps)
{
	char candidate[8], trusted[8];
	struct kgb_tensor_view view = flat(dtype, 1);
	struct kgb_compare out;

	kgb_dtype_store(dtype, candidate, c);
	kgb_dtype_store(dtype, trusted, native);
	kgb_compare_rounded(&view, candidate, trusted, &r, NULL, eps, &standard, &out);
	assert_int_equal(
		kgb_compare_rounded_passes(&view, candidate, trusted, &r, NULL, eps, &standard),
		out.ok);
	assert_int_equal(out.n_wrong, !out.ok);
	return out.ok;
}

static void test_one_wrong_rounding_is_found_anywhere(KGB_UNUSED void **state)
{
	enum { ROWS = 2, COLUMNS = 100000, N = ROWS * COLUMNS };
	static const int wrong[] = {0, 255, 256, 70000, N - 1};
	const struct kgb_tensor_view by_columns = {.dtype = KGB_DTYPE_INT8,
						   .ndim = 2,
						   .sizes = {ROWS, COLUMNS},
						   .strides = {1, ROWS},
						   .storage_elements = N};
	KGB_AUTO(free) double *r = kgb_xcalloc(N, sizeof(*r)), *sizes = kgb_xcalloc(N, sizeof(*r));
	KGB_AUTO(free) signed char *native = kgb_xmalloc(N), *candidate = kgb_xmalloc(N);
	struct kgb_compare out;

	for (int i = 0; i < N; i++) {
		native[i] = (signed char)(i % 200 - 100);
		candidate[i % COLUMNS * ROWS + i / COLUMNS] = native[i];
		r[i] = native[i] + 0.25;
	}
	for (size_t k = 0; k < KGB_ARRAY_LEN(wrong); k++) {
		const int i = wrong[k], at = i % COLUMNS * ROWS + i / COLUMNS;
		candidate[at]++;
		for (int is_allowed = 0; is_allowed < 2; is_allowed++) {
			sizes[i] = is_allowed ? 0x1p20 : 0;
			kgb_compare_rounded(&by_columns, candidate, native, r, sizes, 0x1p-20,
					    &standard, &out);
			assert_int_equal(out.ok, is_allowed);
			assert_int_equal(out.n_wrong, !is_allowed);
			assert_int_equal(out.first_wrong, is_allowed ? -1 : i);
			assert_true(is_allowed || out.reported == i);
			assert_true(out.share == 0 && !out.rms_failed);
			assert_int_equal(kgb_compare_rounded_passes(&by_columns, candidate, native,
								    r, sizes, 0x1p-20, &standard),
					 is_allowed);
		}
		candidate[at]--;
		sizes[i] = 0;
	}
}

static void test_rounded_results_may_fall_to_either_side_of_a_tie(KGB_UNUSED void **state)
{
	const double eps = 0x1p-20;

	assert_true(rounded_ok(KGB_DTYPE_INT8, 41.3, 41, 41, eps));
	assert_false(rounded_ok(KGB_DTYPE_INT8, 41.3, 41, 42, eps));
	assert_false(rounded_ok(KGB_DTYPE_INT8, 41.3, 41, 40, eps));
	assert_true(rounded_ok(KGB_DTYPE_INT8, 41.5 - 0x1p-18, 41, 42, eps));
	assert_false(rounded_ok(KGB_DTYPE_INT8, 41.499, 41, 42, eps));
	assert_true(rounded_ok(KGB_DTYPE_INT8, 41.499, 41, 42, 0x1p-12));
	assert_true(rounded_ok(KGB_DTYPE_INT8, 41.3, 44, 44, eps)); /* the trusted one's bits */
	assert_true(rounded_ok(KGB_DTYPE_INT8, 300, 127, 127, eps));
	assert_false(rounded_ok(KGB_DTYPE_INT8, 300, 127, 126, eps));
	assert_true(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, 1.02, 1, 1, eps));
	assert_false(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, 1.02, 1, 1.125, eps));
	assert_true(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, 1.0625 + 0x1p-20, 1.125, 1, eps));
	assert_true(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, 448, 448, 448, eps));
	assert_false(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, 448, 448, NAN_, eps));
	assert_true(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, NAN_, NAN_, NAN_, eps));
	assert_false(rounded_ok(KGB_DTYPE_FLOAT8_E4M3FN, NAN_, NAN_, 1, eps));
}

/* One element by itself. */
static bool is_right(const struct kgb_tolerance *tolerance, enum kgb_dtype dtype, double c,
		     double r, double native)
{
	char candidate[8], trusted[8];
	struct kgb_tensor_view view = flat(dtype, 1);
	struct kgb_compare out;

	kgb_dtype_store(dtype, candidate, c);
	kgb_dtype_store(dtype, trusted, native);
	kgb_compare(&view, candidate, trusted, &r, NULL, tolerance, &out);
	assert_int_equal(out.n_wrong, !out.ok);
	return out.ok;
}

static const struct kgb_tolerance signed_zeros = {
	.factor = 4, .ulps = 2, .zeros = KGB_ZEROS_SIGNED};
static const struct kgb_tolerance exact = {.factor = 4, .ulps = 2, .is_exact = true};
static const struct kgb_tolerance exact_signed = {
	.factor = 4, .ulps = 2, .is_exact = true, .zeros = KGB_ZEROS_SIGNED};

static void test_the_sign_of_zero_counts_only_where_a_spec_says_so(KGB_UNUSED void **state)
{
	for (int d = KGB_DTYPE_FLOAT16; d <= KGB_DTYPE_FLOAT64; d++) {
		enum kgb_dtype dtype = (enum kgb_dtype)d;
		assert_true(is_right(&standard, dtype, 0.0, -0.0, -0.0));
		assert_false(is_right(&signed_zeros, dtype, 0.0, -0.0, -0.0));
		assert_false(is_right(&signed_zeros, dtype, -0.0, 0.0, 0.0));
		assert_true(is_right(&signed_zeros, dtype, -0.0, -0.0, -0.0));
		/* A number that is nearly zero may be any zero, and a zero nearly any number. */
		assert_true(is_right(&signed_zeros, dtype, 0.0, -1e-300, -0.0));
		assert_true(is_right(&signed_zeros, dtype, 0.0, -0.0, 0.0));
		assert_true(is_right(&signed_zeros, dtype, -0.0, -0.0, 0.0));
		assert_false(is_right(&signed_zeros, dtype, -1.0, -0.0, -0.0));
	}
}

static void test_the_bits_of_nan_count_only_where_a_spec_says_so(KGB_UNUSED void **state)
{
	static const struct kgb_tolerance bits = {
		.factor = 4, .ulps = 2, .is_exact = true, .has_nan_bits = true};
	uint32_t candidate[2] = {0x3f800000, 0x7fc00007}, trusted[2] = {0x3f800000, 0x7fc00007};
	const double r[2] = {1, (double)NAN};
	struct kgb_tensor_view view = flat(KGB_DTYPE_FLOAT32, 2);
	struct kgb_compare out;

	kgb_compare(&view, candidate, trusted, r, NULL, &bits, &out);
	assert_true(out.ok);
	candidate[1] = 0xffc00007;
	kgb_compare(&view, candidate, trusted, r, NULL, &exact, &out);
	assert_true(out.ok);
	kgb_compare(&view, candidate, trusted, r, NULL, &bits, &out);
	assert_int_equal(out.n_wrong, 1);
	assert_int_equal(out.first_wrong, 1);
	assert_int_equal(out.reported, 1);
}

static void test_a_wrong_zero_among_many_elements_is_found_and_reported(KGB_UNUSED void **state)
{
	static const struct kgb_tolerance *const tolerances[] = {&signed_zeros, &exact_signed};
	enum { N = 1000, AT = 777 };
	double r[N], c[N];

	for (size_t t = 0; t < KGB_ARRAY_LEN(tolerances); t++) {
		for (int i = 0; i < N; i++)
			r[i] = c[i] = i % 3 ? i : -0.0;
		c[AT] = 0.0;
		KGB_AUTO(free) void *candidate = stored(KGB_DTYPE_FLOAT32, c, N);
		KGB_AUTO(free) void *trusted = stored(KGB_DTYPE_FLOAT32, r, N);
		struct kgb_tensor_view view = flat(KGB_DTYPE_FLOAT32, N);
		struct kgb_compare out;
		kgb_compare(&view, candidate, trusted, r, NULL, tolerances[t], &out);
		assert_int_equal(out.n_wrong, 1);
		assert_int_equal(out.first_wrong, AT);
		assert_int_equal(out.reported, AT);
		assert_true(signbit(out.expected) && !signbit(out.got));
		kgb_compare(&view, trusted, trusted, r, NULL, tolerances[t], &out);
		assert_true(out.ok);
	}
}

static void test_of_copies_and_conversions_only_the_exact_number_is_right(KGB_UNUSED void **state)
{
	const double next = 1 + (double)FLT_EPSILON;

	assert_true(is_right(&standard, KGB_DTYPE_FLOAT32, next, 1, 1));
	assert_false(is_right(&exact, KGB_DTYPE_FLOAT32, next, 1, 1));
	assert_true(is_right(&exact, KGB_DTYPE_FLOAT32, 1, 1, 1));
	assert_true(is_right(&exact, KGB_DTYPE_FLOAT32, 0.0, -0.0, -0.0));
	assert_false(is_right(&exact_signed, KGB_DTYPE_FLOAT32, 0.0, -0.0, -0.0));
	assert_true(is_right(&exact_signed, KGB_DTYPE_FLOAT32, -0.0, -0.0, -0.0));
	assert_true(is_right(&exact, KGB_DTYPE_FLOAT32, NAN_, NAN_, NAN_));
	assert_false(is_right(&exact, KGB_DTYPE_FLOAT32, 1, NAN_, NAN_));
	assert_false(is_right(&exact, KGB_DTYPE_FLOAT32, INF_, -INF_, -INF_));
	/* bfloat16 between 1 and 1 + 2^-7: cut off, rounded away from even. */
	assert_true(is_right(&standard, KGB_DTYPE_BFLOAT16, 1, 1 + 0x1.8p-8, 1 + 0x1p-7));
	assert_false(is_right(&exact, KGB_DTYPE_BFLOAT16, 1, 1 + 0x1.8p-8, 1 + 0x1p-7));
	assert_true(is_right(&exact, KGB_DTYPE_BFLOAT16, 1 + 0x1p-7, 1 + 0x1.8p-8, 1 + 0x1p-7));
	assert_false(is_right(&exact, KGB_DTYPE_BFLOAT16, 1 + 0x1p-7, 1 + 0x1p-8, 1));
	/* What overflows in the conversion is an infinity, nothing else. */
	assert_true(is_right(&standard, KGB_DTYPE_FLOAT16, 65504, 1e9, INF_));
	assert_false(is_right(&exact, KGB_DTYPE_FLOAT16, 65504, 1e9, INF_));
	/* torch rounds whole numbers twice on their way to float16; once is as good. */
	assert_true(is_right(&exact, KGB_DTYPE_FLOAT16, 2050, 2049.0000001, 2048));
	assert_true(is_right(&exact, KGB_DTYPE_FLOAT16, 2048, 2049.0000001, 2048));
	assert_false(is_right(&exact, KGB_DTYPE_FLOAT16, 2052, 2049.0000001, 2048));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_wrong_element_anywhere_ends_a_comparison),
		cmocka_unit_test(test_one_wrong_rounding_is_found_anywhere),
		cmocka_unit_test(test_equal_results_pass_in_every_dtype),
		cmocka_unit_test(test_complex_results_are_compared_by_their_parts),
		cmocka_unit_test(test_nothing_to_compare_passes),
		cmocka_unit_test(test_special_values_must_stand_where_they_stand),
		cmocka_unit_test(test_a_misplaced_nan_is_reported_before_large_errors),
		cmocka_unit_test(test_the_worst_element_is_reported_else),
		cmocka_unit_test(test_a_passing_result_reports_its_nearest_miss),
		cmocka_unit_test(test_integers_are_exact_beyond_doubles),
		cmocka_unit_test(test_off_by_one_integers_and_invalid_bools_are_wrong),
		cmocka_unit_test(test_candidates_may_be_strided),
		cmocka_unit_test(test_errors_are_carried_down_in_proportion_only),
		cmocka_unit_test(test_relative_errors_of_large_elements_hold_for_small_ones),
		cmocka_unit_test(test_errors_of_small_elements_count_for_large_ones),
		cmocka_unit_test(test_a_few_huge_elements_do_not_move_the_floor),
		cmocka_unit_test(test_the_bulk_line_sees_what_no_element_shows),
		cmocka_unit_test(test_subnormals_may_be_flushed_where_hardware_does),
		cmocka_unit_test(test_magnitudes_tell_cancellation_from_error),
		cmocka_unit_test(test_chains_of_additions_err_with_their_length),
		cmocka_unit_test(test_terms_may_overflow_on_the_way),
		cmocka_unit_test(test_half_terms_need_the_spec_s_leave),
		cmocka_unit_test(test_zero_results_allow_no_visible_error),
		cmocka_unit_test(test_rounded_results_may_fall_to_either_side_of_a_tie),
		cmocka_unit_test(test_the_sign_of_zero_counts_only_where_a_spec_says_so),
		cmocka_unit_test(test_the_bits_of_nan_count_only_where_a_spec_says_so),
		cmocka_unit_test(test_a_wrong_zero_among_many_elements_is_found_and_reported),
		cmocka_unit_test(test_of_copies_and_conversions_only_the_exact_number_is_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
