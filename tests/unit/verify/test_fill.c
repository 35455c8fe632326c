/* SPDX-License-Identifier: MIT */
#include "verify/fills/fill.h"

#include <math.h>

#include "tests/unit/base/support.h"

static const struct kgb_seed seed = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

/* ---- generator ---- */

static void test_philox_gives_the_published_vectors(KGB_UNUSED void **state)
{
	/* Random123's kat_vectors for philox4x32, 10 rounds. */
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} rows[] = {
		{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
		 {0xffffffff, 0xffffffff},
		 {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
		 {0xa4093822, 0x299f31d0},
		 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		uint32_t out[4];
		kgb_philox(rows[i].counter, rows[i].key, out);
		assert_memory_equal(out, rows[i].out, sizeof(out));
	}
}

static void test_complex_tensors_are_filled_by_their_parts(KGB_UNUSED void **state)
{
	struct kgb_arg arg = {.fill = KGB_FILL_NORMAL};
	struct kgb_err err = KGB_ERR_INIT;
	const int64_t sizes[] = {30, 40};
	float storage[2 * 30 * 47];
	double sums[2] = {0, 0}, squares[2] = {0, 0};
	struct kgb_rng rng;

	assert_ok(kgb_tensor_view_layout(&arg.view, KGB_DTYPE_COMPLEX64, sizes, 2, "row_strided",
					 &err),
		  err);
	const struct kgb_tensor_view parts = kgb_tensor_view_parts(&arg.view);
	assert_int_equal(parts.storage_elements, 2 * arg.view.storage_elements);
	assert_true(parts.storage_elements <= (int64_t)KGB_ARRAY_LEN(storage));
	kgb_rng_init(&rng, &seed, "complex", 0);
	kgb_fill(&arg, KGB_MODE_STANDARD, &rng, storage);
	for (int64_t i = 0; i < kgb_tensor_view_numel(&parts); i++) {
		double value = (double)storage[kgb_tensor_view_element(&parts, i)];
		sums[i % 2] += value / 1200;
		squares[i % 2] += value * value / 1200;
	}
	for (int k = 0; k < 2; k++) {
		assert_true(fabs(sums[k]) < 0.15);
		assert_true(squares[k] > 0.8 && squares[k] < 1.2);
	}
	assert_int_equal(kgb_tensor_view_element(&parts, 1), 1);
	assert_int_equal(kgb_tensor_view_element(&parts, 2), 2);
	assert_int_equal(kgb_tensor_view_element(&parts, 80), 2 * 47);
}

static void test_triangles_can_be_solved(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_COMPLEX64};
	enum { ROWS = 67, COLUMNS = 64, MATRICES = 2 };
	const int64_t sizes[] = {MATRICES, ROWS * COLUMNS};

	for (size_t d = 0; d < KGB_ARRAY_LEN(dtypes); d++) {
		struct kgb_arg arg = {.fill = KGB_FILL_TRIANGLE, .lo = ROWS, .bounded = true};
		struct kgb_err err = KGB_ERR_INIT;
		size_t n_parts = d + 1;
		float storage[2 * MATRICES * ROWS * COLUMNS];
		struct kgb_rng rng;
		assert_ok(
			kgb_tensor_view_layout(&arg.view, dtypes[d], sizes, 2, "contiguous", &err),
			err);
		kgb_rng_init(&rng, &seed, "triangle", 0);
		kgb_fill(&arg, KGB_MODE_OUTLIER, &rng, storage);
		for (size_t i = 0; i < MATRICES * ROWS * COLUMNS * n_parts; i++) {
			size_t at = i / n_parts % (ROWS * COLUMNS);
			double size = fabs((double)storage[i]);
			if (at % ROWS == at / ROWS)
				assert_true(size >= 1 && size <= 2);
			else
				assert_true(size <= 1 / sqrt(ROWS));
		}
	}
}

static void test_chains_have_three_diagonals(KGB_UNUSED void **state)
{
	enum { ROWS = 33, COLUMNS = 31 };
	const int64_t sizes[] = {ROWS * COLUMNS};
	struct kgb_arg arg = {.fill = KGB_FILL_CHAIN, .lo = ROWS, .bounded = true};
	struct kgb_err err = KGB_ERR_INIT;
	float storage[ROWS * COLUMNS];
	struct kgb_rng rng;

	assert_ok(
		kgb_tensor_view_layout(&arg.view, KGB_DTYPE_FLOAT32, sizes, 1, "contiguous", &err),
		err);
	kgb_rng_init(&rng, &seed, "chain", 0);
	kgb_fill(&arg, KGB_MODE_STANDARD, &rng, storage);
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		const int distance = abs(i % ROWS - i / ROWS);
		const double size = fabs((double)storage[i]);
		if (distance > 1)
			assert_true(size == 0);
		else if (distance == 1)
			assert_true(size > 0.79 && size < 0.96);
		else
			assert_true(size >= 1 && size < 1.11);
	}
}

static void test_late_elements_are_the_only_ones(KGB_UNUSED void **state)
{
	enum { N = 100, FIRST = 60 };
	const int64_t sizes[] = {N};
	struct kgb_arg arg = {.fill = KGB_FILL_LATE, .lo = FIRST, .bounded = true};
	struct kgb_err err = KGB_ERR_INIT;
	float storage[N];
	struct kgb_rng rng;

	assert_ok(
		kgb_tensor_view_layout(&arg.view, KGB_DTYPE_FLOAT32, sizes, 1, "contiguous", &err),
		err);
	kgb_rng_init(&rng, &seed, "late", 0);
	kgb_fill(&arg, KGB_MODE_STANDARD, &rng, storage);
	for (int i = 0; i < N; i++)
		assert_int_equal(fabs((double)storage[i]) > 0, i >= FIRST);
}

static void fill_rows_of(enum kgb_fill_kind fill, double first, enum kgb_dtype dtype,
			 const int64_t sizes[2], const char *layout, float *out)
{
	struct kgb_arg arg = {.fill = fill, .lo = first, .bounded = true};
	struct kgb_err err = KGB_ERR_INIT;
	float storage[4096];
	struct kgb_rng rng;

	assert_ok(kgb_tensor_view_layout(&arg.view, dtype, sizes, 2, layout, &err), err);
	const struct kgb_tensor_view parts = kgb_tensor_view_parts(&arg.view);
	assert_true(parts.storage_elements <= (int64_t)KGB_ARRAY_LEN(storage));
	kgb_rng_init(&rng, &seed, "rows", 0);
	kgb_fill(&arg, KGB_MODE_SPECIAL, &rng, storage);
	kgb_tensor_view_gather_part(&parts, storage, 0, kgb_tensor_view_numel(&parts), out);
}

static void test_unit_rows_and_numbers_have_a_norm_of_one(KGB_UNUSED void **state)
{
	enum { ROWS = 7, COLUMNS = 30 };
	static const int64_t sizes[] = {ROWS, COLUMNS};
	float rows[ROWS * COLUMNS], numbers[2 * ROWS * COLUMNS];

	fill_rows_of(KGB_FILL_UNIT, 0, KGB_DTYPE_FLOAT32, sizes, "transposed", rows);
	for (size_t i = 0; i < ROWS; i++) {
		double sum = 0;
		for (size_t j = 0; j < COLUMNS; j++)
			sum += pow((double)rows[i * COLUMNS + j], 2);
		assert_true(fabs(sum - 1) < 1e-6);
	}
	fill_rows_of(KGB_FILL_UNIT, 0, KGB_DTYPE_COMPLEX64, sizes, "contiguous", numbers);
	for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
		assert_true(fabs(hypot((double)numbers[2 * i], (double)numbers[2 * i + 1]) - 1) <
			    1e-6);
}

static void test_identities_have_ones_on_the_diagonal(KGB_UNUSED void **state)
{
	enum { ROWS = 4, COLUMNS = 5 };
	static const int64_t sizes[] = {ROWS, COLUMNS};
	float reals[ROWS * COLUMNS], numbers[2 * ROWS * COLUMNS];

	fill_rows_of(KGB_FILL_IDENTITY, 0, KGB_DTYPE_FLOAT32, sizes, "strided", reals);
	fill_rows_of(KGB_FILL_IDENTITY, 0, KGB_DTYPE_COMPLEX64, sizes, "contiguous", numbers);
	for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
		const double wanted = i / COLUMNS == i % COLUMNS;
		assert_true((double)reals[i] == wanted);
		assert_true((double)numbers[2 * i] == wanted && numbers[2 * i + 1] == 0);
	}
}

static void test_padding_begins_or_ends_each_row(KGB_UNUSED void **state)
{
	enum { ROWS = 3, COLUMNS = 20 };
	static const int64_t sizes[] = {ROWS, COLUMNS};
	static const int numbers[] = {12, -12, 0, 99};
	float rows[ROWS * COLUMNS];

	for (size_t k = 0; k < KGB_ARRAY_LEN(numbers); k++) {
		const int first = numbers[k];
		fill_rows_of(KGB_FILL_PADDED, first, KGB_DTYPE_FLOAT32, sizes, "contiguous", rows);
		for (int i = 0; i < ROWS * COLUMNS; i++) {
			const int j = i % COLUMNS;
			assert_true((isinf(rows[i]) && rows[i] < 0) ==
				    (first < 0 ? j >= COLUMNS + first : j < first));
			assert_true(rows[i] == rows[i]);
		}
	}
}

static void test_most_numbers_beside_points_are_points(KGB_UNUSED void **state)
{
	enum { N = 4000 };
	static const struct {
		enum kgb_dtype dtype;
		struct kgb_points points;
	} rows[] = {
		{KGB_DTYPE_FLOAT32, {1, 0}},    {KGB_DTYPE_FLOAT32, {M_PI_2, M_PI}},
		{KGB_DTYPE_FLOAT64, {0, 1}},    {KGB_DTYPE_FLOAT16, {-0.5, 0}},
		{KGB_DTYPE_BFLOAT16, {0.5, 1}},
	};
	static const int64_t sizes[] = {N};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		const struct kgb_points *points = &rows[r].points;
		struct kgb_arg arg = {.fill = KGB_FILL_BESIDE,
				      .lo = points->first,
				      .hi = points->step,
				      .bounded = true};
		struct kgb_err err = KGB_ERR_INIT;
		char storage[N * sizeof(double)];
		struct kgb_rng rng;
		int exact = 0, near = 0, first = 0;
		assert_ok(kgb_tensor_view_layout(&arg.view, rows[r].dtype, sizes, 1, "contiguous",
						 &err),
			  err);
		kgb_rng_init(&rng, &seed, "beside", (uint32_t)r);
		kgb_fill(&arg, KGB_MODE_SPECIAL, &rng, storage);
		for (size_t i = 0; i < N; i++) {
			const double value = kgb_dtype_load(
				rows[r].dtype, storage + i * kgb_dtype_size(rows[r].dtype));
			const double multiple =
				points->step != 0
					? nearbyint((value - points->first) / points->step)
					: 0;
			const double point = points->first + multiple * points->step;
			exact += value == kgb_dtype_round(rows[r].dtype, point);
			near += fabs(value - point) < 0x1p-5 * fmax(fabs(point), points->step);
			first += multiple == 0;
		}
		assert_in_range(exact, N / 2, N * 7 / 8);
		assert_in_range(near, exact + N / 16, N);
		assert_in_range(first, N / 4, points->step != 0 ? N * 3 / 4 : N);
	}
}

static void test_streams_differ_by_seed_label_and_index_and_repeat(KGB_UNUSED void **state)
{
	struct kgb_seed other = seed;
	other.bytes[15] ^= 1;
	const struct {
		const struct kgb_seed *seed;
		const char *label;
		uint32_t index;
	} rows[] = {
		{&seed, "a", 0}, {&other, "a", 0}, {&seed, "b", 0},
		{&seed, "a", 1}, {&seed, "", 0},   {&seed, "a", 0x61000000},
	};
	uint64_t first[KGB_ARRAY_LEN(rows)];
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_rng rng, again;
		uint64_t repeated;
		kgb_rng_init(&rng, rows[i].seed, rows[i].label, rows[i].index);
		kgb_rng_init(&again, rows[i].seed, rows[i].label, rows[i].index);
		kgb_rng_bytes(&rng, &first[i], sizeof(first[i]));
		kgb_rng_bytes(&again, &repeated, sizeof(repeated));
		assert_true(first[i] == repeated);
		for (size_t j = 0; j < i; j++)
			assert_true(first[i] != first[j]);
	}
}

static void test_the_counter_carries_and_blocks_do_not_repeat(KGB_UNUSED void **state)
{
	struct kgb_rng rng;
	kgb_rng_init(&rng, &seed, "carry", 0);
	rng.counter[0] = 0xffffffff;
	uint32_t before = kgb_rng_u32(&rng);
	assert_int_equal(rng.counter[0], 0);
	assert_int_equal(rng.counter[1], 1);
	for (int i = 0; i < 4; i++)
		assert_true(kgb_rng_u32(&rng) != before);
}

static void test_uniform_and_normal_have_their_moments(KGB_UNUSED void **state)
{
	enum { N = 200000 };
	struct kgb_rng rng;
	double uniform = 0, lowest = 1, highest = 0, m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0,
	       before = 0;

	kgb_rng_init(&rng, &seed, "moments", 0);
	for (int i = 0; i < N; i++) {
		double u = kgb_rng_uniform(&rng), z = kgb_rng_normal(&rng);
		uniform += u;
		lowest = fmin(lowest, u);
		highest = fmax(highest, u);
		m1 += z;
		m2 += z * z;
		m3 += z * z * z;
		m4 += z * z * z * z;
		lag += z * before;
		before = z;
	}
	/* Each within five standard deviations of its own estimate. */
	double sigma = 5 / sqrt(N);
	assert_true(lowest >= 0 && lowest < 1e-4 && highest < 1 && highest > 1 - 1e-4);
	assert_true(fabs(uniform / N - 0.5) < sigma * sqrt(1 / 12.0));
	assert_true(fabs(m1 / N) < sigma);
	assert_true(fabs(m2 / N - 1) < sigma * sqrt(2));
	assert_true(fabs(m3 / N) < sigma * sqrt(15));
	assert_true(fabs(m4 / N - 3) < sigma * sqrt(96));
	assert_true(fabs(lag / N) < sigma);
}

static void test_integers_cover_their_range_evenly(KGB_UNUSED void **state)
{
	enum { N = 60000 };
	int count[6] = {0};
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "integers", 0);
	for (int i = 0; i < N; i++) {
		int64_t v = kgb_rng_int(&rng, -2, 3);
		assert_in_range(v + 2, 0, 5);
		count[v + 2]++;
	}
	for (int i = 0; i < 6; i++)
		assert_in_range(count[i], N / 6 - 500, N / 6 + 500);
	assert_int_equal(kgb_rng_int(&rng, 7, 7), 7);
	assert_int_equal(kgb_rng_int(&rng, INT64_MIN, INT64_MIN), INT64_MIN);
	int64_t a = kgb_rng_int(&rng, INT64_MIN, INT64_MAX),
		b = kgb_rng_int(&rng, INT64_MIN, INT64_MAX);
	assert_true(a != b);
	/* Two thirds of 2^64: by plain remainder the lower half would come twice as often as the
	 * upper. */
	int lower = 0;
	for (int i = 0; i < 3000; i++)
		lower += kgb_rng_int(&rng, 0, INT64_MAX) < INT64_MAX / 2;
	assert_in_range(lower, 1300, 1700);
	int64_t third = INT64_MAX / 3;
	lower = 0;
	for (int i = 0; i < 3000; i++)
		lower += kgb_rng_int(&rng, INT64_MIN, third) < INT64_MIN + 2 * third;
	assert_in_range(lower, 1350, 1650);
}

static void test_odd_lengths_of_bytes_are_filled_exactly(KGB_UNUSED void **state)
{
	struct kgb_rng rng;
	uint8_t bytes[12] = {0};
	kgb_rng_init(&rng, &seed, "bytes", 0);
	kgb_rng_bytes(&rng, bytes, 7);
	int set = 0;
	for (int i = 0; i < 7; i++)
		set += bytes[i] != 0;
	assert_true(set >= 5);
	for (int i = 7; i < 12; i++)
		assert_int_equal(bytes[i], 0);
}

/* ---- tensors ---- */

struct tensor {
	struct kgb_arg arg;
	char *storage;
};

static struct tensor fill(struct kgb_arg arg, enum kgb_dtype dtype, int64_t rows, int64_t columns,
			  const char *layout, enum kgb_mode mode, const char *label)
{
	struct tensor t = {.arg = arg};
	struct kgb_rng rng;
	struct kgb_err err = KGB_ERR_INIT;
	const int64_t sizes[] = {rows, columns};

	if (t.arg.specials == 0)
		t.arg.specials = KGB_SPECIALS_LISTED;
	assert_ok(kgb_tensor_view_layout(&t.arg.view, dtype, sizes, 2, layout, &err), err);
	size_t bytes = (size_t)t.arg.view.storage_elements * kgb_dtype_size(dtype);
	t.storage =
		kgb_xcalloc(bytes + 1, 1); /* exact: AddressSanitizer sees one element too many */
	kgb_rng_init(&rng, &seed, label, 0);
	kgb_fill(&t.arg, mode, &rng, t.storage);
	assert_int_equal(t.storage[bytes], 0);
	return t;
}

static double value_at(const struct tensor *t, int64_t i)
{
	size_t at = (size_t)kgb_tensor_view_element(&t->arg.view, i) *
		    kgb_dtype_size(t->arg.view.dtype);
	return kgb_dtype_load(t->arg.view.dtype, t->storage + at);
}

static const struct kgb_arg normal = {.fill = KGB_FILL_NORMAL};

static void test_each_fill_keeps_its_promise(KGB_UNUSED void **state)
{
	static const struct {
		struct kgb_arg arg;
		enum kgb_dtype dtype;
		double lowest, highest;
		bool whole;
	} rows[] = {
		{{.fill = KGB_FILL_UNIFORM, .lo = 2, .hi = 3, .bounded = true},
		 KGB_DTYPE_FLOAT32,
		 2,
		 3,
		 false},
		{{.fill = KGB_FILL_INT, .lo = -3, .hi = 4}, KGB_DTYPE_INT64, -3, 4, true},
		{{.fill = KGB_FILL_INT, .lo = -3, .hi = 4, .bounded = true},
		 KGB_DTYPE_FLOAT16,
		 -3,
		 4,
		 true},
		{{.fill = KGB_FILL_BOOL}, KGB_DTYPE_BOOL, 0, 1, true},
		{{.fill = KGB_FILL_BOOL, .bounded = true}, KGB_DTYPE_FLOAT32, 0, 1, true},
		{{.fill = KGB_FILL_ONES, .bounded = true}, KGB_DTYPE_BFLOAT16, 1, 1, true},
		{{.fill = KGB_FILL_SIGNS, .bounded = true}, KGB_DTYPE_FLOAT16, -1, 1, true},
		{{.fill = KGB_FILL_NORMAL}, KGB_DTYPE_FLOAT32, -6, 6, false},
		{{.fill = KGB_FILL_POSITIVE}, KGB_DTYPE_FLOAT32, 0, 6, false},
	};
	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		struct tensor t = fill(rows[r].arg, rows[r].dtype, 50, 40, "contiguous",
				       KGB_MODE_STANDARD, "each");
		double lowest = 1e9, highest = -1e9;
		for (int64_t i = 0; i < 2000; i++) {
			double v = value_at(&t, i);
			lowest = fmin(lowest, v);
			highest = fmax(highest, v);
			assert_true(!rows[r].whole || v == nearbyint(v));
		}
		assert_true(lowest >= rows[r].lowest && highest <= rows[r].highest);
		assert_true(rows[r].whole ? lowest == rows[r].lowest && highest == rows[r].highest
					  : highest - lowest > 0.9);
		kgb_free(t.storage);
	}
}

static void test_both_zeros_are_as_frequent_as_other_signs(KGB_UNUSED void **state)
{
	static const struct kgb_arg signs = {.fill = KGB_FILL_SIGNS, .bounded = true};
	struct tensor t = fill(signs, KGB_DTYPE_BFLOAT16, 50, 40, "strided", KGB_MODE_SPECIAL, "s");
	int count[2][2] = {{0}}; /* by sign, by size */

	for (int64_t i = 0; i < 2000; i++) {
		double v = value_at(&t, i);
		count[signbit(v) ? 1 : 0][v != 0]++;
	}
	for (int k = 0; k < 4; k++) /* 500 of each, give or take 20 */
		assert_in_range(count[k / 2][k % 2], 380, 620);
	kgb_free(t.storage);
}

static void test_a_fill_repeats_and_no_two_arguments_share_it(KGB_UNUSED void **state)
{
	struct tensor a = fill(normal, KGB_DTYPE_FLOAT32, 9, 11, "strided", KGB_MODE_STANDARD, "x");
	struct tensor b = fill(normal, KGB_DTYPE_FLOAT32, 9, 11, "strided", KGB_MODE_STANDARD, "x");
	struct tensor c = fill(normal, KGB_DTYPE_FLOAT32, 9, 11, "strided", KGB_MODE_STANDARD, "y");
	size_t bytes = (size_t)a.arg.view.storage_elements * 4;

	assert_memory_equal(a.storage, b.storage, bytes);
	int64_t same = 0;
	for (int64_t i = 0; i < 99; i++)
		same += value_at(&a, i) == value_at(&c, i);
	assert_true(same < 3);
	kgb_free(a.storage);
	kgb_free(b.storage);
	kgb_free(c.storage);
}

static void test_the_gaps_of_a_view_hold_noise(KGB_UNUSED void **state)
{
	static const char *const layouts[] = {"strided", "row_strided", "offset"};
	for (size_t l = 0; l < KGB_ARRAY_LEN(layouts); l++) {
		static const struct kgb_arg ones = {.fill = KGB_FILL_ONES, .bounded = true};
		struct tensor t = fill(ones, KGB_DTYPE_FLOAT32, 13, 17, layouts[l],
				       KGB_MODE_STANDARD, "gaps");
		int64_t n_ones = 0, n_zero = 0;
		for (int64_t i = 0; i < t.arg.view.storage_elements; i++) {
			double v = kgb_dtype_load(KGB_DTYPE_FLOAT32, t.storage + 4 * i);
			n_ones += v == 1;
			n_zero += v == 0;
		}
		assert_int_equal(n_ones, 13 * 17);
		assert_int_equal(n_zero, 0);
		kgb_free(t.storage);
	}
}

static void test_outliers_are_rare_large_and_at_least_one(KGB_UNUSED void **state)
{
	struct tensor t = fill(normal, KGB_DTYPE_FLOAT32, 200, 500, "transposed", KGB_MODE_OUTLIER,
			       "outlier");
	int n_large = 0;
	for (int64_t i = 0; i < 100000; i++)
		n_large += fabs(value_at(&t, i)) > 6;
	assert_in_range(n_large, 50, 150);
	kgb_free(t.storage);

	/* In ten numbers one is expected in a hundred tries, yet one is there each time. */
	for (int k = 0; k < 20; k++) {
		char label[32];
		snprintf(label, sizeof(label), "small %d", k);
		struct tensor plain = fill(normal, KGB_DTYPE_FLOAT32, 2, 5, "contiguous",
					   KGB_MODE_STANDARD, label);
		struct tensor small = fill(normal, KGB_DTYPE_FLOAT32, 2, 5, "contiguous",
					   KGB_MODE_OUTLIER, label);
		int changed = 0;
		for (int64_t i = 0; i < 10; i++)
			changed += value_at(&plain, i) != value_at(&small, i);
		assert_in_range(changed, 1, 2);
		kgb_free(plain.storage);
		kgb_free(small.storage);
	}
}

/* Elements that a view has many times grow more than once. */
static void test_outliers_stay_finite(KGB_UNUSED void **state)
{
	struct tensor t = fill(normal, KGB_DTYPE_FLOAT16, 20, 20000, "expanded_last",
			       KGB_MODE_OUTLIER, "finite");
	int n_large = 0;

	for (int64_t i = 0; i < 20 * 20000; i += 20000) {
		assert_true(isfinite(value_at(&t, i)));
		n_large += fabs(value_at(&t, i)) > 1000;
	}
	assert_in_range(n_large, 15, 20);
	kgb_free(t.storage);
}

static void test_specials_of_each_kind_come_and_stay_few(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT16,
						KGB_DTYPE_BFLOAT16, KGB_DTYPE_FLOAT64};
	for (size_t d = 0; d < KGB_ARRAY_LEN(dtypes); d++) {
		enum kgb_dtype dtype = dtypes[d];
		double tiny = kgb_dtype_tiny(dtype), max = kgb_dtype_max(dtype);
		struct tensor t =
			fill(normal, dtype, 100, 100, "contiguous", KGB_MODE_SPECIAL, "special");
		int nan = 0, inf = 0, zero = 0, largest = 0, normal_edge = 0, subnormal = 0;
		for (int64_t i = 0; i < 10000; i++) {
			double v = value_at(&t, i), a = fabs(v);
			nan += isnan(v);
			inf += isinf(v) != 0;
			zero += v == 0;
			largest += a == max;
			normal_edge += a == tiny;
			subnormal += a > 0 && a < tiny;
		}
		/* Some of them may cover stretches of up to 100; float16 may round a normal number
		 * to 0 or to a subnormal one. */
		assert_true(nan >= 1 && inf >= 2 && zero >= 2 && largest >= 2 && normal_edge >= 2);
		assert_in_range(nan + inf + zero + largest + normal_edge, 9, 9 + 6 + 300);
		if (dtype == KGB_DTYPE_FLOAT16)
			assert_true(subnormal >= 2);
		else
			assert_int_equal(subnormal, 0);
		kgb_free(t.storage);
	}
}

static void test_exact_results_have_subnormals_of_every_type(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_BFLOAT16,
						KGB_DTYPE_FLOAT64, KGB_DTYPE_FLOAT8_E4M3FN};
	struct kgb_arg arg = normal;

	arg.has_subnormals = true;
	for (size_t d = 0; d < KGB_ARRAY_LEN(dtypes); d++) {
		double tiny = kgb_dtype_tiny(dtypes[d]), eps = kgb_dtype_eps(dtypes[d]);
		struct tensor t =
			fill(arg, dtypes[d], 100, 100, "contiguous", KGB_MODE_SPECIAL, "special");
		int smallest = 0, largest = 0;
		for (int64_t i = 0; i < 10000; i++) {
			double v = value_at(&t, i);
			smallest += v == tiny * eps;
			largest += v == tiny * (eps - 1);
		}
		assert_true(smallest >= 1);
		assert_true(largest >= 1);
		kgb_free(t.storage);
	}
}

static void test_nan_have_bits_of_their_own_where_they_count(KGB_UNUSED void **state)
{
	for (int counts = 0; counts < 2; counts++) {
		struct kgb_arg arg = normal;
		arg.has_nan_bits = counts > 0;
		struct tensor t = fill(arg, KGB_DTYPE_FLOAT32, 100, 100, "contiguous",
				       KGB_MODE_SPECIAL, "special");
		int n = 0, usual = 0;
		for (int64_t i = 0; i < 10000; i++) {
			uint32_t bits;
			memcpy(&bits, (const char *)t.storage + i * 4, sizeof(bits));
			n += (bits & 0x7fffffff) > 0x7f800000;
			usual += bits == 0x7fc00000;
			assert_false((bits & 0x7fffffff) > 0x7f800000 && !(bits & 0x400000));
		}
		assert_true(n >= 1);
		assert_int_equal(usual, counts ? 0 : n);
		kgb_free(t.storage);
	}
}

static void test_integers_have_specials_too(KGB_UNUSED void **state)
{
	static const struct kgb_arg arg = {.fill = KGB_FILL_INT, .lo = -100, .hi = 100};
	struct tensor t =
		fill(arg, KGB_DTYPE_INT64, 50, 50, "contiguous", KGB_MODE_SPECIAL, "integers");
	int lowest = 0, highest = 0;
	for (int64_t i = 0; i < 2500; i++) {
		int64_t v = kgb_dtype_load_i64(KGB_DTYPE_INT64, t.storage + 8 * i);
		lowest += v == INT64_MIN;
		highest += v == INT64_MAX;
	}
	assert_true(lowest >= 1 && highest >= 1);
	kgb_free(t.storage);
}

static void test_a_class_alone_brings_no_other(KGB_UNUSED void **state)
{
	for (unsigned class = 0; class < KGB_SPECIAL_WIDE; class ++) {
		const struct kgb_arg arg = {.fill = KGB_FILL_NORMAL,
					    .specials = (kgb_specials)(1U << class)};
		struct tensor t = fill(arg, KGB_DTYPE_FLOAT32, 100, 100, "contiguous",
				       KGB_MODE_SPECIAL, "class");
		const double max = kgb_dtype_max(KGB_DTYPE_FLOAT32);
		int n[KGB_SPECIAL_WIDE] = {0};
		for (int64_t i = 0; i < 10000; i++) {
			const double v = value_at(&t, i), a = fabs(v);
			n[KGB_SPECIAL_NAN] += isnan(v);
			n[KGB_SPECIAL_INFINITY] += isinf(v) && v > 0;
			n[KGB_SPECIAL_NEGATIVE_INFINITY] += isinf(v) && v < 0;
			n[KGB_SPECIAL_ZEROS] += v == 0;
			n[KGB_SPECIAL_LARGEST] += a == max;
			n[KGB_SPECIAL_SMALLEST] += a > 0 && a < 1e-30;
		}
		for (unsigned k = 0; k < KGB_SPECIAL_WIDE; k++)
			assert_in_range(n[k], k == class ? 9 : 0, k == class ? 11 + 300 : 0);
		kgb_free(t.storage);
	}
}

/* The elements from `first` on, `step` apart, that hold the value. */
static int count_value(const struct tensor *t, int64_t first, int64_t step, int64_t n, double value)
{
	int count = 0;

	for (int64_t i = 0; i < n; i++)
		count += value_at(t, first + i * step) == value;
	return count;
}

/* Of a tensor of 20 rows and 30 columns. */
static void test_special_values_cover_stretches_of_each_dimension(KGB_UNUSED void **state)
{
	const struct kgb_arg arg = {.fill = KGB_FILL_NORMAL,
				    .specials = 1U << KGB_SPECIAL_NEGATIVE_INFINITY};
	const double value = -(double)INFINITY;
	int single = 0, part = 0, rows = 0, columns = 0;

	for (int k = 0; k < 64; k++) {
		char label[24];
		snprintf(label, sizeof(label), "stretch %d", k);
		struct tensor t =
			fill(arg, KGB_DTYPE_FLOAT32, 20, 30, "strided", KGB_MODE_SPECIAL, label);
		const int n = count_value(&t, 0, 1, 600, value);
		int n_rows = 0, n_columns = 0;
		for (int64_t i = 0; i < 20; i++)
			n_rows += count_value(&t, 30 * i, 1, 30, value) == 30;
		for (int64_t i = 0; i < 30; i++)
			n_columns += count_value(&t, i, 30, 20, value) == 20;
		assert_in_range(n, 9, 11 + 90);
		assert_true(n_rows + n_columns <= 3);
		rows += n_rows;
		columns += n_columns;
		single += n <= 11;
		part += n > 12 && n_rows + n_columns == 0;
		kgb_free(t.storage);
	}
	assert_true(single > 8 && part > 8 && rows > 8 && columns > 8);
}

static void test_wide_integers_have_any_number_of_bits(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_INT64, KGB_DTYPE_INT32, KGB_DTYPE_INT16,
						KGB_DTYPE_INT8, KGB_DTYPE_UINT8};
	static const struct kgb_arg arg = {
		.fill = KGB_FILL_INT, .lo = 0, .hi = 100, .specials = 1U << KGB_SPECIAL_WIDE};

	for (size_t d = 0; d < KGB_ARRAY_LEN(dtypes); d++) {
		struct tensor t = fill(arg, dtypes[d], 50, 50, "strided", KGB_MODE_SPECIAL, "wide");
		const double lowest = (double)kgb_dtype_min_i64(dtypes[d]);
		const double highest = (double)kgb_dtype_max_i64(dtypes[d]);
		int large = 0, small = 0, negative = 0;
		for (int64_t i = 0; i < 2500; i++) {
			const double v = value_at(&t, i);
			large += v > highest / 4;
			negative += v < lowest / 4 && lowest < 0;
			small += fabs(v) < 16;
		}
		assert_true(large > 10 && small > 50);
		assert_true(lowest == 0 ? negative == 0 : negative > 10);
		kgb_free(t.storage);
	}
}

static void test_bounded_fills_keep_their_range_in_every_mode(KGB_UNUSED void **state)
{
	static const struct kgb_arg indices = {
		.fill = KGB_FILL_INT, .lo = 0, .hi = 6, .bounded = true};
	static const enum kgb_mode modes[] = {KGB_MODE_OUTLIER, KGB_MODE_SPECIAL};
	for (size_t m = 0; m < KGB_ARRAY_LEN(modes); m++) {
		struct tensor t =
			fill(indices, KGB_DTYPE_INT64, 30, 40, "contiguous", modes[m], "bounded");
		for (int64_t i = 0; i < 1200; i++)
			assert_in_range(value_at(&t, i), 0, 6);
		kgb_free(t.storage);
		static const struct kgb_arg mask = {.fill = KGB_FILL_BOOL};
		t = fill(mask, KGB_DTYPE_BOOL, 30, 40, "contiguous", modes[m], "mask");
		for (int64_t i = 0; i < 1200; i++)
			assert_in_range(value_at(&t, i), 0, 1);
		kgb_free(t.storage);
	}
}

static void test_empty_and_tiny_tensors_are_fine_in_every_mode(KGB_UNUSED void **state)
{
	for (int mode = KGB_MODE_STANDARD; mode <= KGB_MODE_SPECIAL; mode++) {
		struct tensor none = fill(normal, KGB_DTYPE_FLOAT32, 0, 3, "offset",
					  (enum kgb_mode)mode, "none");
		struct tensor one = fill(normal, KGB_DTYPE_FLOAT32, 1, 1, "contiguous",
					 (enum kgb_mode)mode, "one");
		kgb_free(none.storage);
		kgb_free(one.storage);
	}
}

static void test_special_zeros_have_both_signs(KGB_UNUSED void **state)
{
	struct tensor t =
		fill(normal, KGB_DTYPE_FLOAT32, 100, 100, "contiguous", KGB_MODE_SPECIAL, "zeros");
	int plus = 0, minus = 0;

	for (int64_t i = 0; i < 10000; i++) {
		double v = value_at(&t, i);
		plus += v == 0 && !signbit(v);
		minus += v == 0 && signbit(v);
	}
	assert_true(plus > 0 && minus > 0);
	kgb_free(t.storage);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Many different numbers of the right distribution, and neighbours that have nothing in common. */
static void test_benchmarks_are_random_too(KGB_UNUSED void **state)
{
	enum { N = 60000 };
	struct tensor t = fill(normal, KGB_DTYPE_FLOAT32, 200, 300, "contiguous",
			       KGB_MODE_BENCHMARK, "benchmark");
	double *values = kgb_xcalloc(N, sizeof(*values));
	double sum = 0, squares = 0;
	int equal_neighbours = 0, different = 1;

	for (int64_t i = 0; i < N; i++) {
		values[i] = value_at(&t, i);
		sum += values[i];
		squares += values[i] * values[i];
		equal_neighbours += i > 0 && values[i] == values[i - 1];
	}
	qsort(values, N, sizeof(*values), compare_doubles);
	for (int i = 1; i < N; i++)
		different += values[i] != values[i - 1];
	assert_true(fabs(sum / N) < 0.05);
	assert_true(fabs(squares / N - 1) < 0.05);
	assert_true(equal_neighbours < 10);
	assert_true(different > N / 2);
	kgb_free(values);
	kgb_free(t.storage);
}

/* ---- structured ---- */

enum { N_PLACES = 4000 };

/* `n` numbers of int32 in rows of `last`. */
static void fill_numbers(enum kgb_fill_kind fill, double lo, double hi, int64_t n, int64_t last,
			 int64_t *out)
{
	struct kgb_arg arg = {.fill = fill, .lo = lo, .hi = hi, .bounded = true};
	const int64_t sizes[] = {n / last, last};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_rng rng;
	int32_t storage[N_PLACES];

	assert_ok(kgb_tensor_view_layout(&arg.view, KGB_DTYPE_INT32, sizes, 2, "contiguous", &err),
		  err);
	kgb_rng_init(&rng, &seed, "structured", 0);
	kgb_fill(&arg, KGB_MODE_BENCHMARK, &rng, storage);
	for (int64_t i = 0; i < n; i++)
		out[i] = storage[i];
}

static void check_different(const int64_t *numbers, int64_t n, int64_t lo, int64_t hi)
{
	bool seen[N_PLACES] = {false};

	for (int64_t i = 0; i < n; i++) {
		assert_in_range(numbers[i], lo, hi);
		assert_false(seen[numbers[i]]);
		seen[numbers[i]] = true;
	}
}

static void test_permutations_have_every_number_once(KGB_UNUSED void **state)
{
	int64_t out[N_PLACES], n_moved = 0;

	fill_numbers(KGB_FILL_DISTINCT, 0, 999, 1000, 1, out);
	check_different(out, 1000, 0, 999);
	for (int64_t i = 0; i < 1000; i++)
		n_moved += out[i] != i;
	assert_true(n_moved > 900);
}

static void test_slots_skip_about_an_eighth(KGB_UNUSED void **state)
{
	int64_t out[N_PLACES], kept[N_PLACES], n_kept = 0;

	fill_numbers(KGB_FILL_SLOTS, 0, 1999, 1600, 1, out);
	for (int64_t i = 0; i < 1600; i++)
		if (out[i] != -1)
			kept[n_kept++] = out[i];
	check_different(kept, n_kept, 0, 1999);
	assert_in_range(1600 - n_kept, 130, 270);
}

static void test_rows_are_chosen_and_sorted_for_themselves(KGB_UNUSED void **state)
{
	int64_t out[N_PLACES];

	fill_numbers(KGB_FILL_CHOICE, 0, 7, 800, 2, out);
	for (int64_t row = 0; row < 400; row++)
		check_different(out + 2 * row, 2, 0, 7);
	fill_numbers(KGB_FILL_SORTED, 3, 40, 100, 10, out);
	for (int64_t i = 0; i < 100; i++)
		assert_true(i % 10 == 0 || out[i - 1] < out[i]);
	fill_numbers(KGB_FILL_SORTED_DOWN, 3, 40, 100, 10, out);
	for (int64_t i = 0; i < 100; i++)
		assert_true(i % 10 == 0 || out[i - 1] > out[i]);
}

static void test_offsets_and_their_owners_agree(KGB_UNUSED void **state)
{
	struct kgb_arg offsets = {.fill = KGB_FILL_OFFSETS, .lo = 50, .hi = 50, .bounded = true};
	struct kgb_arg owners = {.fill = KGB_FILL_OWNERS, .bounded = true};
	struct kgb_err err = KGB_ERR_INIT;
	int64_t sizes[] = {31};
	int32_t cu[31], of[50];
	struct kgb_rng rng;
	bool has_empty = false;

	assert_ok(kgb_tensor_view_layout(&offsets.view, KGB_DTYPE_INT32, sizes, 1, "contiguous",
					 &err),
		  err);
	sizes[0] = 50;
	assert_ok(
		kgb_tensor_view_layout(&owners.view, KGB_DTYPE_INT32, sizes, 1, "contiguous", &err),
		err);
	kgb_rng_init(&rng, &seed, "offsets", 0);
	kgb_fill(&offsets, KGB_MODE_STANDARD, &rng, cu);
	assert_int_equal(cu[0], 0);
	assert_int_equal(cu[30], 50);
	for (int i = 1; i < 31; i++) {
		assert_true(cu[i] >= cu[i - 1]);
		has_empty |= cu[i] == cu[i - 1];
	}
	assert_true(has_empty);
	kgb_fill_owners(&owners, of, &offsets, cu);
	for (int i = 0; i < 50; i++)
		assert_true(cu[of[i]] <= i && i < cu[of[i] + 1]);
}

static void test_steps_blocks_and_pairs_are_what_they_say(KGB_UNUSED void **state)
{
	struct kgb_arg blocks = {.fill = KGB_FILL_BLOCKS, .lo = 34, .hi = 34, .bounded = true};
	const int64_t sizes[] = {6, 34};
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_rng rng;
	uint8_t bytes[6 * 34];
	int64_t out[N_PLACES];

	fill_numbers(KGB_FILL_STEPS, 3, 3, 100, 1, out);
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(out[i], i / 3);
	fill_numbers(KGB_FILL_PAIRS, 0, 0, 100, 1, out);
	for (int64_t i = 0; i < 100; i++)
		for (int k = 0; k < 8; k++) {
			int64_t field = out[i] >> 4 * k & 15;
			assert_true((field & 3) < field >> 2);
		}
	assert_ok(
		kgb_tensor_view_layout(&blocks.view, KGB_DTYPE_UINT8, sizes, 2, "contiguous", &err),
		err);
	kgb_rng_init(&rng, &seed, "blocks", 0);
	kgb_fill(&blocks, KGB_MODE_OUTLIER, &rng, bytes);
	for (int i = 0; i < 6; i++) {
		double scale = fabs(kgb_dtype_load(KGB_DTYPE_FLOAT16, bytes + 34 * i));
		assert_true(scale == 0 || (scale >= 0x1p-14 && scale <= 0x1p-4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permutations_have_every_number_once),
		cmocka_unit_test(test_slots_skip_about_an_eighth),
		cmocka_unit_test(test_rows_are_chosen_and_sorted_for_themselves),
		cmocka_unit_test(test_offsets_and_their_owners_agree),
		cmocka_unit_test(test_steps_blocks_and_pairs_are_what_they_say),
		cmocka_unit_test(test_philox_gives_the_published_vectors),
		cmocka_unit_test(test_complex_tensors_are_filled_by_their_parts),
		cmocka_unit_test(test_triangles_can_be_solved),
		cmocka_unit_test(test_chains_have_three_diagonals),
		cmocka_unit_test(test_late_elements_are_the_only_ones),
		cmocka_unit_test(test_unit_rows_and_numbers_have_a_norm_of_one),
		cmocka_unit_test(test_identities_have_ones_on_the_diagonal),
		cmocka_unit_test(test_padding_begins_or_ends_each_row),
		cmocka_unit_test(test_most_numbers_beside_points_are_points),
		cmocka_unit_test(test_streams_differ_by_seed_label_and_index_and_repeat),
		cmocka_unit_test(test_the_counter_carries_and_blocks_do_not_repeat),
		cmocka_unit_test(test_uniform_and_normal_have_their_moments),
		cmocka_unit_test(test_integers_cover_their_range_evenly),
		cmocka_unit_test(test_odd_lengths_of_bytes_are_filled_exactly),
		cmocka_unit_test(test_each_fill_keeps_its_promise),
		cmocka_unit_test(test_both_zeros_are_as_frequent_as_other_signs),
		cmocka_unit_test(test_a_fill_repeats_and_no_two_arguments_share_it),
		cmocka_unit_test(test_the_gaps_of_a_view_hold_noise),
		cmocka_unit_test(test_outliers_are_rare_large_and_at_least_one),
		cmocka_unit_test(test_outliers_stay_finite),
		cmocka_unit_test(test_specials_of_each_kind_come_and_stay_few),
		cmocka_unit_test(test_exact_results_have_subnormals_of_every_type),
		cmocka_unit_test(test_nan_have_bits_of_their_own_where_they_count),
		cmocka_unit_test(test_integers_have_specials_too),
		cmocka_unit_test(test_special_values_cover_stretches_of_each_dimension),
		cmocka_unit_test(test_a_class_alone_brings_no_other),
		cmocka_unit_test(test_wide_integers_have_any_number_of_bits),
		cmocka_unit_test(test_bounded_fills_keep_their_range_in_every_mode),
		cmocka_unit_test(test_empty_and_tiny_tensors_are_fine_in_every_mode),
		cmocka_unit_test(test_special_zeros_have_both_signs),
		cmocka_unit_test(test_benchmarks_are_random_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
