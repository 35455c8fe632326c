/* SPDX-License-Identifier: MIT */
#include "verify/fills/values.h"

#include <math.h>

#include "tests/unit/verify/spec_files.h"
#include "verify/cases/cases.h"
#include "verify/fills/fill.h"
#include "verify/lane/case_data.h"

enum { SEEDS = 64, ROWS = 40, COLUMNS = 60, N = ROWS * COLUMNS };

static const struct kgb_seed seed = {{4, 2}};

struct tensor {
	struct kgb_arg arg;
	char *storage;
};

static struct tensor fill(struct kgb_arg arg, enum kgb_dtype dtype, const char *layout,
			  enum kgb_mode mode, uint32_t number)
{
	static const int64_t sizes[] = {ROWS, COLUMNS};
	struct tensor t = {.arg = arg};
	struct kgb_rng rng;
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_tensor_view_layout(&t.arg.view, dtype, sizes, 2, layout, &err), err);
	t.storage = kgb_xcalloc(kgb_tensor_view_storage_bytes(&t.arg.view) + 1, 1);
	kgb_rng_init(&rng, &seed, "values", number);
	kgb_fill(&t.arg, mode, &rng, t.storage);
	assert_int_equal(t.storage[kgb_tensor_view_storage_bytes(&t.arg.view)], 0);
	return t;
}

static const char *place(const struct tensor *t, int64_t i)
{
	return t->storage +
	       (size_t)kgb_tensor_view_element(&t->arg.view, i) * kgb_dtype_size(t->arg.view.dtype);
}

static double value_at(const struct tensor *t, int64_t i)
{
	return kgb_dtype_load(t->arg.view.dtype, place(t, i));
}

/* Of the pairs of neighbours along the dimension with this step. */
static int count_pairs(const struct tensor *t, int64_t step, bool (*holds)(double a, double b))
{
	int n = 0;

	for (int64_t i = 0; i < N; i++)
		if (step > 1 ? i + step < N : (i + 1) % COLUMNS != 0)
			n += holds(value_at(t, i), value_at(t, i + step));
	return n;
}

static bool are_equal(double a, double b)
{
	return a == b;
}

static bool ascend(double a, double b)
{
	return a <= b;
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

static int count_distinct(const struct tensor *t)
{
	int n = 0;

	for (int64_t i = 0; i < N; i++) {
		bool is_new = true;
		for (int64_t k = 0; k < i && is_new; k++)
			is_new = value_at(t, i) != value_at(t, k);
		n += is_new;
	}
	return n;
}

/* The number of elements that equal one of those up to 64 steps before, at the best distance. */
static int count_period(const struct tensor *t, int64_t step)
{
	int best = 0;

	for (int64_t period = 2; period <= 64; period++) {
		int n = 0;
		for (int64_t i = period * step; i < N; i++)
			n += value_at(t, i) == value_at(t, i - period * step);
		best = max(best, n);
	}
	return best;
}

static int count_zeros(const struct tensor *t)
{
	int n = 0;

	for (int64_t i = 0; i < N; i++)
		n += value_at(t, i) == 0;
	return n;
}

static int count_steps(const struct tensor *t)
{
	int n = 0;

	for (int64_t i = 0; i < N; i++)
		n += 256 * value_at(t, i) == nearbyint(256 * value_at(t, i));
	return n;
}

/* ---- relations of lines ---- */

static bool has_sum_of_one(const double *line, int n, double eps)
{
	double sum = 0, least = 1;

	for (int k = 0; k < n; k++) {
		sum += line[k];
		least = fmin(least, line[k]);
	}
	return fabs(sum - 1) <= 4 * eps && least > 0;
}

static bool has_norm_of_one(const double *line, int n, double eps)
{
	double sum = 0;

	for (int k = 0; k < n; k++)
		sum += line[k] * line[k];
	return fabs(sum - 1) <= 4 * eps;
}

static bool is_mirrored(const double *line, int n, KGB_UNUSED double eps)
{
	bool is = true;

	for (int k = 0; k < n; k++)
		is &= line[k] == line[n - 1 - k];
	return is;
}

static bool is_even(const double *line, int n, double eps)
{
	bool is = true;

	for (int k = 2; k < n; k++)
		is &= fabs(line[k] - 2 * line[k - 1] + line[k - 2]) <= 16 * eps;
	return is;
}

static bool is_peak(const double *line, int n, KGB_UNUSED double eps)
{
	int k = 1;

	while (k < n && line[k] >= line[k - 1])
		k++;
	while (k < n && line[k] <= line[k - 1])
		k++;
	return k == n;
}

static bool is_opposite(const double *line, int n, KGB_UNUSED double eps)
{
	bool is_beside = true, is_apart = true;

	for (int k = 0; k < n / 2; k++) {
		is_beside &= line[2 * k + 1] == -line[2 * k];
		is_apart &= line[k + n / 2] == -line[k];
	}
	return is_beside || is_apart;
}

typedef bool (*relation)(const double *line, int n, double eps);

static bool all_lines_hold(const struct tensor *t, bool is_column, relation holds)
{
	const int n = is_column ? ROWS : COLUMNS;
	double line[COLUMNS];
	bool all = true;

	for (int i = 0; i < N / n; i++) {
		for (int k = 0; k < n; k++)
			line[k] = value_at(t, is_column ? k * COLUMNS + i : i * COLUMNS + k);
		all &= holds(line, n, kgb_dtype_eps(t->arg.view.dtype));
	}
	return all;
}

static void test_lines_have_the_relation_of_their_pattern(KGB_UNUSED void **state)
{
	static const struct {
		enum kgb_pattern pattern;
		relation holds;
		enum kgb_fill_kind fill;
	} rows[] = {
		{KGB_PATTERN_SHARES, has_sum_of_one, KGB_FILL_NORMAL},
		{KGB_PATTERN_SHARES, has_sum_of_one, KGB_FILL_POSITIVE},
		{KGB_PATTERN_UNIT, has_norm_of_one, KGB_FILL_NORMAL},
		{KGB_PATTERN_MIRRORED, is_mirrored, KGB_FILL_NORMAL},
		{KGB_PATTERN_EVEN, is_even, KGB_FILL_NORMAL},
		{KGB_PATTERN_EVEN, is_even, KGB_FILL_INT},
		{KGB_PATTERN_PEAK, is_peak, KGB_FILL_POSITIVE},
		{KGB_PATTERN_PEAK, is_peak, KGB_FILL_INT},
		{KGB_PATTERN_OPPOSITE, is_opposite, KGB_FILL_NORMAL},
	};
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT64,
						KGB_DTYPE_BFLOAT16};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++)
		for (uint32_t k = 0; k < 12; k++) {
			const struct kgb_arg arg = {.fill = rows[r].fill,
						    .lo = -100,
						    .hi = 100,
						    .values = {.pattern = rows[r].pattern,
							       .points = {1, 0},
							       .may_be_zero = true}};
			struct tensor t =
				fill(arg, dtypes[k % KGB_ARRAY_LEN(dtypes)],
				     k % 2 ? "contiguous" : "transposed", KGB_MODE_STANDARD, k);
			assert_true(all_lines_hold(&t, false, rows[r].holds) ||
				    all_lines_hold(&t, true, rows[r].holds));
			kgb_free(t.storage);
		}
}

/* Check the property of the pattern. Returns whether the data shows it. */
static bool check_pattern(const struct tensor *t)
{
	const int pairs = N - N / 20;
	const int equal = max(count_pairs(t, 1, are_equal), count_pairs(t, COLUMNS, are_equal));
	const int up = max(count_pairs(t, 1, ascend), count_pairs(t, COLUMNS, ascend));
	const int down = pairs - (count_pairs(t, 1, ascend) < count_pairs(t, COLUMNS, ascend)
					  ? count_pairs(t, 1, ascend)
					  : count_pairs(t, COLUMNS, ascend));

	switch (t->arg.values.pattern) {
	case KGB_PATTERN_CONSTANT:
		assert_true(equal > pairs / 2 && equal < N);
		break;
	case KGB_PATTERN_TWO_VALUES:
		assert_in_range(count_distinct(t), 1, 2);
		break;
	case KGB_PATTERN_ZEROS:
		assert_in_range(count_zeros(t), N / 8, N - 1);
		break;
	case KGB_PATTERN_ZERO_BLOCKS: /* a block may be the whole tensor, and is kept then */
		assert_true(count_zeros(t) < N);
		return count_zeros(t) > N / 8;
	case KGB_PATTERN_ZERO_REGION: /* that of a band may be outside of the matrix */
		assert_true(count_zeros(t) < N);
		return count_zeros(t) > 0;
	case KGB_PATTERN_SORTED:
		assert_true(max(up, down) > pairs * 3 / 4);
		break;
	case KGB_PATTERN_PERIODIC:
		assert_true(max(count_period(t, 1), count_period(t, COLUMNS)) > N / 4);
		break;
	case KGB_PATTERN_RUNS:
		assert_true(equal > pairs / 3);
		break;
	case KGB_PATTERN_POINTS:
		return !kgb_dtype_is_float(t->arg.view.dtype) || count_steps(t) > N / 16;
	case KGB_PATTERN_SHARES:
	case KGB_PATTERN_UNIT:
	case KGB_PATTERN_MIRRORED:
	case KGB_PATTERN_EVEN:
	case KGB_PATTERN_PEAK:
	case KGB_PATTERN_OPPOSITE:
	case KGB_PATTERN_COARSE:
	case KGB_PATTERN_NONE:
	case KGB_N_PATTERNS:
		break;
	}
	return true;
}

static void test_patterns_keep_the_range_of_every_fill(KGB_UNUSED void **state)
{
	static const struct {
		struct kgb_arg arg;
		enum kgb_dtype dtype;
		double lowest, highest;
	} rows[] = {
		{{.fill = KGB_FILL_NORMAL}, KGB_DTYPE_FLOAT32, -6, 6},
		{{.fill = KGB_FILL_POSITIVE}, KGB_DTYPE_FLOAT16, 0, 6},
		{{.fill = KGB_FILL_UNIFORM, .lo = -0.5, .hi = 0.25, .bounded = true},
		 KGB_DTYPE_FLOAT64,
		 -0.5,
		 0.25},
		{{.fill = KGB_FILL_INT, .lo = 0, .hi = 1000, .bounded = true},
		 KGB_DTYPE_INT64,
		 0,
		 1000},
		{{.fill = KGB_FILL_INT, .lo = -100, .hi = 100}, KGB_DTYPE_INT8, -100, 100},
		{{.fill = KGB_FILL_BOOL, .bounded = true}, KGB_DTYPE_BOOL, 0, 1},
	};
	static const char *const layouts[] = {"contiguous", "transposed", "row_strided"};

	int n = 0, n_shown = 0;

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		for (uint32_t k = 0; k < 8 * (KGB_N_PATTERNS - 1); k++) {
			struct kgb_arg arg = rows[r].arg;
			arg.values.pattern = 1 + k % (KGB_N_PATTERNS - 1);
			arg.values.may_be_zero = true;
			arg.values.points = (struct kgb_points){0, 1.0 / 256};
			if ((arg.values.pattern == KGB_PATTERN_ZEROS ||
			     arg.values.pattern == KGB_PATTERN_ZERO_BLOCKS ||
			     arg.values.pattern == KGB_PATTERN_ZERO_REGION) &&
			    !kgb_values_fit(&arg, 0))
				continue;
			struct tensor t =
				fill(arg, rows[r].dtype, layouts[k % 3], KGB_MODE_STANDARD, k);
			for (int64_t i = 0; i < N; i++) {
				assert_true(value_at(&t, i) >= rows[r].lowest);
				assert_true(value_at(&t, i) <= rows[r].highest);
			}
			n_shown += check_pattern(&t);
			n++;
			kgb_free(t.storage);
		}
	}
	assert_true(n_shown > n * 9 / 10);
}

static void test_coarse_numbers_have_few_bits(KGB_UNUSED void **state)
{
	const struct kgb_arg arg = {.fill = KGB_FILL_NORMAL,
				    .values = {.pattern = KGB_PATTERN_COARSE}};

	for (uint32_t k = 0; k < 20; k++) {
		struct tensor t = fill(arg, KGB_DTYPE_FLOAT32, "contiguous", KGB_MODE_STANDARD, k);
		for (int64_t i = 0; i < N; i++) {
			int exponent = 0;
			const double v = value_at(&t, i), scaled = ldexp(frexp(v, &exponent), 8);
			assert_true(scaled == nearbyint(scaled) || (v != 0 && fabs(v) < 0.25));
			assert_true(v != 0);
		}
		kgb_free(t.storage);
	}
}

static void test_a_scale_multiplies_every_element_once(KGB_UNUSED void **state)
{
	static const char *const layouts[] = {"contiguous", "strided", "expanded", "expanded_last"};

	for (size_t l = 0; l < KGB_ARRAY_LEN(layouts); l++) {
		struct kgb_arg arg = {.fill = KGB_FILL_NORMAL};
		struct tensor plain =
			fill(arg, KGB_DTYPE_FLOAT32, layouts[l], KGB_MODE_STANDARD, 1);
		arg.values.scale = -20;
		struct tensor small =
			fill(arg, KGB_DTYPE_FLOAT32, layouts[l], KGB_MODE_STANDARD, 1);
		for (int64_t i = 0; i < N; i++)
			assert_true(value_at(&small, i) == value_at(&plain, i) * 0x1p-20);
		kgb_free(plain.storage);
		kgb_free(small.storage);
	}
}

static void test_rows_have_scales_of_their_own(KGB_UNUSED void **state)
{
	struct kgb_arg arg = {.fill = KGB_FILL_NORMAL};
	struct tensor plain = fill(arg, KGB_DTYPE_FLOAT32, "contiguous", KGB_MODE_STANDARD, 1);
	int counts[21] = {0}, n_scales = 0;

	arg.values.scale = -20;
	arg.values.scales_rows = true;
	struct tensor small = fill(arg, KGB_DTYPE_FLOAT32, "contiguous", KGB_MODE_STANDARD, 1);
	for (int64_t i = 0; i < N; i++) {
		const double power = log2(value_at(&plain, i) / value_at(&small, i));
		assert_true(power >= 0 && power <= 20 && power == nearbyint(power));
		counts[(int)power]++;
	}
	for (int k = 0; k <= 20; k++)
		n_scales += counts[k] > 0;
	assert_true(n_scales > 5);
	kgb_free(plain.storage);
	kgb_free(small.storage);
}

static void test_sizes_lie_between_the_usual_and_the_last_ones(KGB_UNUSED void **state)
{
	const struct kgb_arg arg = {.fill = KGB_FILL_NORMAL,
				    .specials =
					    1U << KGB_SPECIAL_LARGEST | 1U << KGB_SPECIAL_SMALLEST,
				    .values = {.has_sizes = true}};
	int large = 0, small = 0;

	for (uint32_t k = 0; k < 20; k++) {
		struct tensor t = fill(arg, KGB_DTYPE_FLOAT32, "contiguous", KGB_MODE_SPECIAL, k);
		for (int64_t i = 0; i < N; i++) {
			const double size = fabs(value_at(&t, i));
			large += size > 1e3 && size < 1e37;
			small += size < 1e-6 && size > 1e-36;
		}
		kgb_free(t.storage);
	}
	assert_true(large > 40 && small > 40);
}

static int64_t distance(const struct tensor *t, int64_t i, int64_t k)
{
	int32_t a = 0, b = 0;

	memcpy(&a, place(t, i), sizeof(a));
	memcpy(&b, place(t, k), sizeof(b));
	return llabs((int64_t)a - b);
}

static void test_neighbours_are_a_step_apart(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_INT32};
	const struct kgb_values values = {.has_neighbours = true, .may_repeat = true};

	for (size_t d = 0; d < KGB_ARRAY_LEN(dtypes); d++) {
		const struct kgb_arg arg = {.fill = d ? KGB_FILL_INT : KGB_FILL_NORMAL,
					    .lo = -1000000,
					    .hi = 1000000,
					    .values = values};
		struct tensor t = fill(arg, dtypes[d], "strided", KGB_MODE_STANDARD, 1);
		int same = 0, next = 0;
		for (int64_t i = 0; i < N; i++)
			for (int64_t k = 0; k < i; k++) {
				same += distance(&t, i, k) == 0;
				next += distance(&t, i, k) == 1;
			}
		assert_true(same > 2 && next > 10);
		kgb_free(t.storage);
	}
}

static void
test_wide_integers_have_neighbours_that_doubles_do_not_tell_apart(KGB_UNUSED void **state)
{
	const struct kgb_arg arg = {
		.fill = KGB_FILL_INT,
		.lo = -100,
		.hi = 100,
		.values = {.has_neighbours = true, .may_repeat = true, .is_wide = true}};
	int n = 0;

	for (uint32_t number = 0; number < 8; number++) {
		struct tensor t =
			fill(arg, KGB_DTYPE_INT64, "contiguous", KGB_MODE_STANDARD, number);
		for (int64_t i = 0; i + 1 < N; i++) {
			const int64_t a = kgb_dtype_load_i64(KGB_DTYPE_INT64, place(&t, i));
			const int64_t b = kgb_dtype_load_i64(KGB_DTYPE_INT64, place(&t, i + 1));
			n += a != b && (double)a == (double)b;
		}
		kgb_free(t.storage);
	}
	assert_true(n > 20);
}

/* 8 bits are the narrowest: nothing is shifted by a whole word. */
static void test_wide_integers_of_every_size_stay_within_their_type(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_INT8, KGB_DTYPE_UINT8, KGB_DTYPE_INT16,
						KGB_DTYPE_INT32, KGB_DTYPE_INT64};
	const struct kgb_arg arg = {
		.fill = KGB_FILL_INT,
		.lo = -1,
		.hi = 1,
		.values = {.has_neighbours = true, .may_repeat = true, .is_wide = true}};

	for (size_t k = 0; k < KGB_ARRAY_LEN(dtypes); k++) {
		const int64_t most = kgb_dtype_max_i64(dtypes[k]);
		int n = 0;
		for (uint32_t number = 0; number < SEEDS; number++) {
			struct tensor t =
				fill(arg, dtypes[k], "contiguous", KGB_MODE_STANDARD, number);
			for (int64_t i = 0; i < N; i++) {
				const int64_t value = kgb_dtype_load_i64(dtypes[k], place(&t, i));
				n += value > 8 && value < most - 8;
			}
			kgb_free(t.storage);
		}
		assert_true(n > 20);
	}
}

static void test_wide_integers_are_a_part_of_a_long_line(KGB_UNUSED void **state)
{
	enum { LONG = 5000, LINES = 4, WIDE = 256, NEIGHBOURS = 32 };
	static const int64_t sizes[] = {LONG};
	struct kgb_arg arg = {
		.fill = KGB_FILL_INT,
		.lo = -100,
		.hi = 100,
		.values = {.has_neighbours = true, .may_repeat = true, .is_wide = true}};
	struct kgb_err err = KGB_ERR_INIT;
	int64_t storage[LONG];

	assert_ok(kgb_tensor_view_layout(&arg.view, KGB_DTYPE_INT64, sizes, 1, "contiguous", &err),
		  err);
	for (uint32_t number = 0; number < 8; number++) {
		struct kgb_rng rng;
		int n = 0;
		kgb_rng_init(&rng, &seed, "long", number);
		kgb_fill(&arg, KGB_MODE_STANDARD, &rng, storage);
		for (int i = 0; i < LONG; i++)
			n += llabs(storage[i]) > 1000;
		assert_in_range(n, WIDE, LINES * WIDE + NEIGHBOURS);
	}
}

/* The third argument is the second one again. */
static void test_couples_are_at_the_same_place_and_tensors_stay_the_same(KGB_UNUSED void **state)
{
	static const struct kgb_param param = {.kind = KGB_PARAM_TENSOR};
	static const struct kgb_interface interface = {.n_results = 0};
	const struct kgb_arg arg = {.param = &param,
				    .fill = KGB_FILL_NORMAL,
				    .values = {.has_neighbours = true, .may_repeat = true}};
	struct tensor a = fill(arg, KGB_DTYPE_FLOAT32, "transposed", KGB_MODE_STANDARD, 1);
	struct tensor b = fill(arg, KGB_DTYPE_FLOAT32, "row_strided", KGB_MODE_STANDARD, 2);
	struct kgb_case c = {
		.name = "couples", .interface = &interface, .args = {a.arg, b.arg}, .n_args = 3};
	struct kgb_case_data data;
	int n = 0, n_opposite = 0;

	c.args[2] = b.arg;
	c.args[2].is_repeated = true;
	c.args[2].same_as = 1;
	kgb_free(a.storage);
	kgb_free(b.storage);
	kgb_case_data_fill(&data, &c, &seed, 0);
	a.storage = data.storages[0];
	b.storage = data.storages[1];
	for (int64_t i = 0; i < N; i++) {
		int32_t x = 0, y = 0;
		memcpy(&x, place(&a, i), sizeof(x));
		memcpy(&y, place(&b, i), sizeof(y));
		n += llabs((int64_t)x - y) <= 1;
		n_opposite += value_at(&a, i) == -value_at(&b, i);
	}
	assert_in_range(n, 24, 64);
	assert_in_range(n_opposite, 4, 32);
	assert_memory_equal(data.storages[2], data.storages[1], data.storage_bytes[1]);
	kgb_case_data_release(&data);
}

static double element(const struct tensor *t, int64_t i)
{
	return kgb_dtype_load(t->arg.view.dtype, place(t, i));
}

static bool is_extreme(double value)
{
	return !isfinite(value) || value == 0;
}

static void test_special_values_of_two_tensors_meet(KGB_UNUSED void **state)
{
	static const struct kgb_param param = {.kind = KGB_PARAM_TENSOR};
	static const struct kgb_interface interface = {.n_results = 0};
	const struct kgb_arg arg = {
		.param = &param, .fill = KGB_FILL_NORMAL, .specials = KGB_SPECIALS_LISTED};
	struct tensor a = fill(arg, KGB_DTYPE_FLOAT32, "transposed", KGB_MODE_STANDARD, 1);
	struct tensor b = fill(arg, KGB_DTYPE_FLOAT32, "row_strided", KGB_MODE_STANDARD, 2);
	struct kgb_case c = {.interface = &interface,
			     .mode = KGB_MODE_SPECIAL,
			     .args = {a.arg, b.arg},
			     .n_args = 2};
	int n = 0, n_infinite_over_zero = 0;

	kgb_free(a.storage);
	kgb_free(b.storage);
	for (int k = 0; k < 50; k++) {
		KGB_AUTO(free) char *name = kgb_xasprintf("case %d", k);
		struct kgb_case_data data;
		c.name = name;
		kgb_case_data_fill(&data, &c, &seed, 0);
		a.storage = data.storages[0];
		b.storage = data.storages[1];
		for (int64_t i = 0; i < N; i++) {
			n += is_extreme(element(&a, i)) && is_extreme(element(&b, i));
			n_infinite_over_zero += isinf(element(&a, i)) && element(&b, i) == 0;
		}
		kgb_case_data_release(&data);
	}
	assert_in_range(n, 50, 50 * 32);
	assert_true(n_infinite_over_zero > 5);
}

static void test_excluded_values_lie_beyond_what_the_spec_allows(KGB_UNUSED void **state)
{
	static const struct kgb_param param = {.kind = KGB_PARAM_TENSOR};
	const struct kgb_arg any = {
		.param = &param, .fill = KGB_FILL_NORMAL, .specials = KGB_SPECIALS_LISTED};
	const struct kgb_arg no_nan = {.param = &param,
				       .fill = KGB_FILL_NORMAL,
				       .specials = KGB_SPECIALS_LISTED & ~(1U << KGB_SPECIAL_NAN)};
	const struct kgb_arg index = {
		.param = &param, .fill = KGB_FILL_INT, .lo = 0, .hi = 9, .bounded = true};
	const struct {
		const struct kgb_arg *arg;
		enum kgb_dtype dtype;
		bool changes, has_nan, has_negative;
	} rows[] = {{&any, KGB_DTYPE_FLOAT32, false, false, true},
		    {&no_nan, KGB_DTYPE_FLOAT16, true, true, true},
		    {&index, KGB_DTYPE_INT64, true, false, true},
		    {&index, KGB_DTYPE_UINT8, true, false, false}};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct tensor t =
			fill(*rows[i].arg, rows[i].dtype, "transposed", KGB_MODE_STANDARD, 3);
		const size_t bytes = (size_t)kgb_tensor_view_storage_bytes(&t.arg.view);
		KGB_AUTO(free) char *before = kgb_xmalloc(bytes);
		memcpy(before, t.storage, bytes);
		struct kgb_rng rng;
		bool has_nan = false, has_negative = false;
		kgb_rng_init(&rng, &seed, "excluded", (uint32_t)i);
		kgb_fill_excluded(&t.arg, &rng, t.storage);
		for (int64_t k = 0; k < N; k++) {
			has_nan |= isnan(element(&t, k));
			has_negative |= element(&t, k) < 0;
		}
		assert_int_equal(
			memcmp(before, t.storage, kgb_tensor_view_storage_bytes(&t.arg.view)) != 0,
			rows[i].changes);
		assert_int_equal(has_nan, rows[i].has_nan);
		assert_int_equal(has_negative, rows[i].has_negative);
		kgb_free(t.storage);
	}
}

/* ---- deals ---- */

static void load_template(const char *more, struct kgb_spec *spec)
{
	KGB_AUTO(free)
	char *text = kgb_xasprintf("drawn:\n  - {id: t, a: [40], b: [40]%s}\ncases:\n", more);

	load_toy((struct spec_change){SET_PATH, "cases:\n", text}, spec);
}

struct counts {
	int cases, scaled, pairs, patterns[KGB_N_PATTERNS], zeros_possible, repeats_possible;
	int patterns_in_range[KGB_N_PATTERNS], repeats_in_range; /* of a fill with a range */
};

static void count_values(const struct kgb_spec *spec, struct counts *counts)
{
	struct kgb_err err = KGB_ERR_INIT;

	*counts = (struct counts){0};
	for (int s = 0; s < SEEDS; s++) {
		struct kgb_cases cases;
		assert_ok(kgb_cases_expand(spec, &(struct kgb_seed){{(uint8_t)s}}, &cases, &err),
			  err);
		for (const struct kgb_case *c = cases.items; c < cases.items + cases.n; c++) {
			const struct kgb_values *values = &c->args[0].values;
			if (!c->is_drawn) {
				assert_true(values->pattern == 0 && values->scale == 0 &&
					    !values->has_neighbours && !values->has_sizes);
				continue;
			}
			assert_int_equal(c->args[1].values.scale, 0);
			counts->cases++;
			counts->scaled += values->scale != 0;
			counts->pairs += values->has_neighbours;
			counts->patterns[values->pattern]++;
			counts->zeros_possible += values->may_be_zero;
			counts->repeats_possible += values->may_repeat;
			if (c->args[1].fill != KGB_FILL_UNIFORM)
				continue;
			counts->patterns_in_range[c->args[1].values.pattern]++;
			counts->repeats_in_range += c->args[1].values.may_repeat;
		}
		kgb_cases_release(&cases);
	}
}

static void test_half_of_the_drawn_cases_have_each_style(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct counts counts;

	load_template("", &spec);
	count_values(&spec, &counts);
	assert_in_range(counts.scaled, counts.cases * 2 / 5, counts.cases * 3 / 5);
	assert_in_range(counts.pairs, counts.cases * 2 / 5, counts.cases * 3 / 5);
	/* The tensors have one dimension, so they have no matrix. */
	for (int k = 1; k < KGB_N_PATTERNS; k++)
		assert_int_equal(counts.patterns[k] > counts.cases / 100,
				 k != KGB_PATTERN_ZERO_REGION);
	assert_int_equal(counts.zeros_possible, counts.cases);
	kgb_spec_release(&spec);
}

static void test_points_are_often_numbers_of_the_call(KGB_UNUSED void **state)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_spec spec;
	int n = 0, n_usual = 0, n_numbers = 0;

	load_template(", alpha: 0.3125", &spec);
	for (int s = 0; s < SEEDS; s++) {
		struct kgb_cases cases;
		assert_ok(kgb_cases_expand(&spec, &(struct kgb_seed){{(uint8_t)s}}, &cases, &err),
			  err);
		for (const struct kgb_case *c = cases.items; c < cases.items + cases.n; c++) {
			const struct kgb_values *values = &c->args[0].values;
			if (c->interface != spec.interfaces ||
			    values->pattern != KGB_PATTERN_POINTS)
				continue;
			assert_int_equal(values->scale, 0);
			n++;
			n_numbers += fabs(values->points.first) == 0.3125;
			n_usual += values->points.first == 1 || values->points.step == M_PI;
		}
		kgb_cases_release(&cases);
	}
	assert_true(n > SEEDS / 4 && n_numbers > n / 4 && n_usual > n / 8);
	kgb_spec_release(&spec);
}

static void test_styles_respect_what_the_template_excludes(KGB_UNUSED void **state)
{
	struct kgb_spec spec;
	struct counts counts;

	load_template(", specials: [nan, largest]", &spec);
	count_values(&spec, &counts);
	assert_int_equal(counts.zeros_possible, 0);
	assert_int_equal(counts.repeats_possible, counts.cases);
	assert_int_equal(counts.patterns[KGB_PATTERN_ZEROS], 0);
	assert_int_equal(counts.patterns[KGB_PATTERN_ZERO_BLOCKS], 0);
	assert_true(counts.patterns[KGB_PATTERN_RUNS] > 0);
	kgb_spec_release(&spec);
	load_template(", mode: {pick: [standard, outlier]}", &spec);
	count_values(&spec, &counts);
	assert_int_equal(counts.repeats_possible, 0);
	assert_true(counts.repeats_in_range > 0 && counts.patterns_in_range[KGB_PATTERN_ZEROS] > 0);
	for (enum kgb_pattern k = 1; k < KGB_N_PATTERNS; k++)
		assert_int_equal(counts.patterns[k] > 0,
				 k == KGB_PATTERN_SORTED || k == KGB_PATTERN_COARSE);
	kgb_spec_release(&spec);
	load_template(", mode: {pick: [standard, outlier]}, specials: []", &spec);
	count_values(&spec, &counts);
	assert_int_equal(counts.repeats_in_range, 0);
	for (enum kgb_pattern k = 1; k < KGB_N_PATTERNS; k++)
		assert_int_equal(counts.patterns_in_range[k] > 0,
				 k == KGB_PATTERN_SORTED || k == KGB_PATTERN_COARSE);
	kgb_spec_release(&spec);
}

static void test_multiples_of_a_step_stay_in_a_small_type(KGB_UNUSED void **state)
{
	static const struct kgb_points points = {.first = 0.5, .step = 1};
	const double max = kgb_dtype_max(KGB_DTYPE_FLOAT8_E4M3FN);
	struct kgb_rng rng;
	double most = 0;

	kgb_rng_init(&rng, &seed, "multiples", 1);
	for (int i = 0; i < 10000; i++)
		most = fmax(most,
			    fabs(kgb_values_draw_beside(&points, KGB_DTYPE_FLOAT8_E4M3FN, &rng)));
	assert_true(most > max / 2 && most <= max);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_multiples_of_a_step_stay_in_a_small_type),
		cmocka_unit_test(test_patterns_keep_the_range_of_every_fill),
		cmocka_unit_test(test_lines_have_the_relation_of_their_pattern),
		cmocka_unit_test(test_coarse_numbers_have_few_bits),
		cmocka_unit_test(test_a_scale_multiplies_every_element_once),
		cmocka_unit_test(test_rows_have_scales_of_their_own),
		cmocka_unit_test(test_sizes_lie_between_the_usual_and_the_last_ones),
		cmocka_unit_test(test_neighbours_are_a_step_apart),
		cmocka_unit_test(test_wide_integers_have_neighbours_that_doubles_do_not_tell_apart),
		cmocka_unit_test(test_wide_integers_of_every_size_stay_within_their_type),
		cmocka_unit_test(test_wide_integers_are_a_part_of_a_long_line),
		cmocka_unit_test(test_couples_are_at_the_same_place_and_tensors_stay_the_same),
		cmocka_unit_test(test_special_values_of_two_tensors_meet),
		cmocka_unit_test(test_excluded_values_lie_beyond_what_the_spec_allows),
		cmocka_unit_test(test_half_of_the_drawn_cases_have_each_style),
		cmocka_unit_test(test_points_are_often_numbers_of_the_call),
		cmocka_unit_test(test_styles_respect_what_the_template_excludes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
