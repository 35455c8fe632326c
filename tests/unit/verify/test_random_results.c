/* SPDX-License-Identifier: MIT */
#include "verify/lane/candidate_check.h"
#include "verify/lane/random_results.h"

#include <math.h>

#include "base/hash.h"
#include "base/str.h"
#include "tests/unit/base/support.h"

/* A result of N draws whose law has one or three parameters: p[N] (or a row of it) or a number. The
 * draws are made here, by other formulas than those that judge them. Seeds are fresh in every run.
 */
enum { SEEDS = 600 };
enum { ROWS = 64, COLUMNS = 257, N = ROWS * COLUMNS };
enum { SELF, LOW, HIGH, DRAWS, N_PARAMS };

struct fixture {
	struct kgb_param params[N_PARAMS];
	struct kgb_interface interface;
	struct kgb_case kase;
	struct kgb_case_data data;
	struct kgb_judge judge;
	struct kgb_lane lane;
	struct kgb_candidate_call call;
	struct kgb_rng rng;
};

static void lay_out(struct kgb_tensor_view *view, enum kgb_dtype dtype, int64_t rows)
{
	const int64_t sizes[] = {rows, COLUMNS};
	struct kgb_err err = KGB_ERR_INIT;

	assert_ok(kgb_tensor_view_layout(view, dtype, sizes, 2, "contiguous", &err), err);
}

static void set_number(struct fixture *f, size_t param, double value)
{
	f->params[param].kind = KGB_PARAM_VALUE;
	f->kase.args[param].value =
		(struct kgb_case_value){.kind = KGB_CASE_VALUE_FLOAT, .number = value};
}

static struct fixture *new_fixture(enum kgb_random_kind kind, enum kgb_dtype dtype, int64_t rows,
				   double low, double high)
{
	struct fixture *f = kgb_xcalloc(1, sizeof(*f));
	struct kgb_seed seed;

	kgb_random(seed.bytes, sizeof(seed.bytes));
	kgb_rng_init(&f->rng, &seed, "test", 0);
	for (size_t i = 0; i < N_PARAMS; i++) {
		f->params[i].result = -1;
		f->kase.args[i].param = &f->params[i];
	}
	f->kase.args[SELF] = (struct kgb_arg){.param = &f->params[SELF],
					      .layout = "contiguous",
					      .fill = KGB_FILL_UNIFORM,
					      .lo = low,
					      .hi = high,
					      .bounded = true};
	lay_out(&f->kase.args[SELF].view, dtype, rows);
	set_number(f, LOW, 0.125);
	set_number(f, HIGH, 0.5);
	f->params[DRAWS].result = 1;
	set_number(f, DRAWS, 0);
	f->interface = (struct kgb_interface){
		.entry = "toy",
		.params = f->params,
		.n_params = N_PARAMS,
		.n_results = 1,
		.n_returned = 1,
		.is_random = true,
		.random_results = {{kind,
				    "toy(self)",
				    {SELF, kind == KGB_RANDOM_PRODUCT ? DRAWS : LOW, HIGH}}},
		.tolerance = {.factor = 4, .ulps = 2}};
	f->kase.name = "toy/float32/one/standard";
	f->kase.interface = &f->interface;
	f->kase.n_args = N_PARAMS;
	kgb_case_data_fill(&f->data, &f->kase, &seed, 0);
	lay_out(&f->data.results[0].view, dtype, ROWS);
	f->call.values[0] = kgb_xcalloc(N, kgb_dtype_size(dtype));
	kgb_lane_init(&f->lane, &f->judge, kgb_xcalloc(1, sizeof(struct kgb_verdict)));
	return f;
}

static void free_fixture(struct fixture *f)
{
	kgb_candidate_call_release(&f->call);
	kgb_case_data_release(&f->data);
	kgb_arena_release(&f->lane.verdict->arena);
	kgb_free(f->lane.verdict);
	kgb_free(f);
}

static double self_at(const struct fixture *f, int64_t i)
{
	const struct kgb_tensor_view *view = &f->kase.args[SELF].view;
	int64_t at = view->sizes[0] == 1 ? i % COLUMNS : i;

	return kgb_dtype_load(view->dtype, (const char *)f->data.storages[SELF] +
						   (size_t)at * kgb_dtype_size(view->dtype));
}

static void put(struct fixture *f, int64_t i, double value)
{
	enum kgb_dtype dtype = f->data.results[0].view.dtype;

	kgb_dtype_store(dtype, (char *)f->call.values[0] + (size_t)i * kgb_dtype_size(dtype),
			value);
}

static double draw_poisson(struct kgb_rng *rng, double rate)
{
	double k = -1, time = 0;

	for (; time < rate; k++)
		time -= log1p(-kgb_rng_uniform(rng));
	return k;
}

/* What an honest kernel draws for an element with the parameter p. */
static double draw(struct fixture *f, double p)
{
	double u = (kgb_rng_u32(&f->rng) + 0.5) * 0x1p-32;

	switch (f->interface.random_results[0].kind) {
	case KGB_RANDOM_BERNOULLI:
		return u < p;
	case KGB_RANDOM_EXPONENTIAL:
		return -log(u) / p;
	case KGB_RANDOM_POISSON:
		return draw_poisson(&f->rng, p);
	case KGB_RANDOM_RRELU:
		return p <= 0 ? 0.125 + u * 0.375 : 1;
	case KGB_RANDOM_NONE:
	case KGB_RANDOM_PRODUCT:
	case KGB_N_RANDOM_KINDS:
		break;
	}
	KGB_UNREACHABLE();
}

static void draw_all(struct fixture *f)
{
	for (int64_t i = 0; i < N; i++)
		put(f, i, draw(f, self_at(f, i)));
}

static bool is_right(const struct fixture *f, struct kgb_compare *out)
{
	return kgb_candidate_call_compare(&f->data, &f->call, 0, out);
}

static const struct row {
	enum kgb_random_kind kind;
	double low, high; /* of the parameter */
} laws[] = {
	{KGB_RANDOM_BERNOULLI, 0, 1},     {KGB_RANDOM_BERNOULLI, 0.5, 0.5},
	{KGB_RANDOM_BERNOULLI, 0, 0.01},  {KGB_RANDOM_EXPONENTIAL, 0.5, 4},
	{KGB_RANDOM_EXPONENTIAL, 1, 1},   {KGB_RANDOM_POISSON, 0, 8},
	{KGB_RANDOM_POISSON, 20, 60},     {KGB_RANDOM_RRELU, -1, 1},
	{KGB_RANDOM_RRELU, -1, -1},       {KGB_RANDOM_BERNOULLI, 1e-9, 1e-9},
	{KGB_RANDOM_POISSON, 1e-3, 0.02},
};
static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT16, KGB_DTYPE_BFLOAT16};

static void test_honest_draws_of_every_law_and_type_are_right(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(laws) * KGB_ARRAY_LEN(dtypes); i++) {
		const struct row *row = &laws[i / KGB_ARRAY_LEN(dtypes)];
		struct fixture *f = new_fixture(row->kind, dtypes[i % KGB_ARRAY_LEN(dtypes)],
						i % 2 == 0 ? ROWS : 1, row->low, row->high);
		struct kgb_compare compare;
		draw_all(f);
		if (!is_right(f, &compare))
			fail_msg("law %zu: %s, element %lld is %g", i,
				 compare.unlikely ? compare.unlikely : "impossible",
				 (long long)compare.first_wrong, compare.got);
		free_fixture(f);
	}
}

/* Another element than an honest one for the parameter p. */
typedef double (*wrong_fn)(struct fixture *f, double p);

static double zero(KGB_UNUSED struct fixture *f, KGB_UNUSED double p)
{
	return 0;
}

static double mean(struct fixture *f, double p)
{
	return f->interface.random_results[0].kind == KGB_RANDOM_EXPONENTIAL ? 1 / p
									     : floor(p + 0.5);
}

/* The mean is right, nothing else. */
static double uniform_to_twice_the_mean(struct fixture *f, double p)
{
	double u = kgb_rng_uniform(&f->rng);

	return f->interface.random_results[0].kind == KGB_RANDOM_EXPONENTIAL
		       ? 2 * u / p
		       : floor(u * (2 * p + 1));
}

static double rounded_normal(struct fixture *f, double p)
{
	return fmax(0, floor(p + sqrt(p) * kgb_rng_normal(&f->rng) + 0.5));
}

static double other_parameter(struct fixture *f, double p)
{
	return draw(f, p * 0.8);
}

static double same_parameter_for_all(struct fixture *f, KGB_UNUSED double p)
{
	return draw(f, 0.5 * (f->kase.args[SELF].lo + f->kase.args[SELF].hi));
}

static double the_other_way_round(struct fixture *f, double p)
{
	return 1 - draw(f, p);
}

static double half_the_range(struct fixture *f, double p)
{
	return p <= 0 ? 0.125 + kgb_rng_uniform(&f->rng) * 0.1875 : 1;
}

static double drawn_everywhere(struct fixture *f, KGB_UNUSED double p)
{
	return draw(f, -1);
}

/* Once in 256: that none of N elements has it is an event of 10^-28. */
static bool once(struct fixture *f)
{
	return kgb_rng_u32(&f->rng) % 256 == 0;
}

static double infinite_once(struct fixture *f, double p)
{
	return once(f) ? (double)INFINITY : draw(f, p);
}

static double nan_once(struct fixture *f, double p)
{
	return once(f) ? (double)NAN : draw(f, p);
}

static double negative_once(struct fixture *f, double p)
{
	return once(f) ? -1 : draw(f, p);
}

static double far_out_once(struct fixture *f, double p)
{
	return once(f) ? 3000 : draw(f, p);
}

static double broken_once(struct fixture *f, double p)
{
	return once(f) ? 0.75 : draw(f, p);
}

static double never_for_certain(struct fixture *f, double p)
{
	return p == 1 && once(f) ? 0 : draw(f, p);
}

static double of_16_bits(struct fixture *f, double p)
{
	return -log((kgb_rng_u32(&f->rng) % 65536 + 0.5) / 65536) / p;
}

static void test_wrong_draws_are_refused_at_any_seed(KGB_UNUSED void **state)
{
	static const struct {
		struct row row;
		wrong_fn wrong;
	} rows[] = {
		{{KGB_RANDOM_BERNOULLI, 0, 1}, zero},
		{{KGB_RANDOM_BERNOULLI, 0, 1}, mean},
		{{KGB_RANDOM_BERNOULLI, 0, 1}, other_parameter},
		{{KGB_RANDOM_BERNOULLI, 0, 1}, same_parameter_for_all},
		{{KGB_RANDOM_BERNOULLI, 0, 1}, the_other_way_round},
		{{KGB_RANDOM_BERNOULLI, 0.2, 0.4}, the_other_way_round},
		{{KGB_RANDOM_BERNOULLI, 0, 1}, broken_once},
		{{KGB_RANDOM_BERNOULLI, 0, 1}, nan_once},
		{{KGB_RANDOM_BERNOULLI, 1, 1}, never_for_certain},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, zero},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, mean},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, uniform_to_twice_the_mean},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, other_parameter},
		{{KGB_RANDOM_EXPONENTIAL, 0.1, 10}, same_parameter_for_all},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, infinite_once},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, negative_once},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, far_out_once},
		{{KGB_RANDOM_EXPONENTIAL, 1, 1}, of_16_bits},
		{{KGB_RANDOM_POISSON, 1, 8}, zero},
		{{KGB_RANDOM_POISSON, 1, 8}, mean},
		{{KGB_RANDOM_POISSON, 1, 8}, uniform_to_twice_the_mean},
		{{KGB_RANDOM_POISSON, 1, 2}, rounded_normal},
		{{KGB_RANDOM_POISSON, 1, 8}, other_parameter},
		{{KGB_RANDOM_POISSON, 1, 20}, same_parameter_for_all},
		{{KGB_RANDOM_POISSON, 1, 8}, broken_once},
		{{KGB_RANDOM_POISSON, 1, 8}, negative_once},
		{{KGB_RANDOM_POISSON, 1, 8}, far_out_once},
		{{KGB_RANDOM_POISSON, 1, 8}, infinite_once},
		{{KGB_RANDOM_RRELU, -1, 1}, zero},
		{{KGB_RANDOM_RRELU, -1, 1}, half_the_range},
		{{KGB_RANDOM_RRELU, -1, 1}, drawn_everywhere},
		{{KGB_RANDOM_RRELU, -1, 1}, negative_once},
		{{KGB_RANDOM_RRELU, -1, 1}, broken_once},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct fixture *f = new_fixture(rows[i].row.kind, KGB_DTYPE_FLOAT32, ROWS,
						rows[i].row.low, rows[i].row.high);
		struct kgb_compare compare;
		struct kgb_failure failure = {0};
		for (int64_t k = 0; k < N; k++)
			put(f, k, rows[i].wrong(f, self_at(f, k)));
		if (is_right(f, &compare))
			fail_msg("row %zu is taken for drawn", i);
		assert_false(
			kgb_candidate_call_check_values(&f->lane, &f->data, &f->call, &failure));
		assert_int_equal(failure.code, KGB_CODE_VERIFY_DISTRIBUTION);
		assert_true(strstr(failure.message, "toy(self)") != NULL);
		free_fixture(f);
	}
}

/* What a kernel draws for other inputs: each element from the random numbers of this label. */
static void draw_labelled(struct fixture *f, const struct kgb_case_data *data, const char *label,
			  struct kgb_candidate_call *call)
{
	struct kgb_case_data own = f->data;
	struct kgb_candidate_call own_call = f->call;

	f->data = *data;
	f->call = *call;
	for (uint32_t i = 0; i < N; i++) {
		kgb_rng_init(&f->rng, &data->seed, label, i);
		put(f, i, draw(f, self_at(f, i)));
	}
	f->data = own;
	f->call = own_call;
}

static void test_the_same_random_numbers_for_another_seed_are_refused(KGB_UNUSED void **state)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(laws); i++) {
		const struct row *row = &laws[i];
		struct fixture *f =
			new_fixture(row->kind, KGB_DTYPE_FLOAT32, ROWS, row->low, row->high);
		struct kgb_case_data other;
		struct kgb_candidate_call second = {0};
		struct kgb_failure failure = {0};
		/* Else hardly any draw tells anything. */
		bool tells = row->high > 0.1 || row->low < 0;
		kgb_case_data_fill(&other, &f->kase, &f->data.seed, KGB_VARIANT_OTHER_SEED);
		kgb_case_data_shape(&other, &f->data);
		second.values[0] = kgb_xcalloc(N, sizeof(float));
		draw_labelled(f, &f->data, "a", &f->call);
		draw_labelled(f, &other, "a", &second);
		int rc = kgb_random_result_check_seeds(&f->lane, &f->data, f->call.values, &other,
						       second.values, &failure);
		if ((rc == 1) != tells)
			fail_msg("law %zu: %d", i, rc);
		assert_true(!tells || failure.code == KGB_CODE_VERIFY_SEED);
		draw_labelled(f, &other, "b", &second);
		assert_int_equal(kgb_random_result_check_seeds(&f->lane, &f->data, f->call.values,
							       &other, second.values, &failure),
				 0);
		kgb_candidate_call_release(&second);
		kgb_case_data_release(&other);
		free_fixture(f);
	}
}

/* How often each of the differences is that of two related seeds, of either sign. Both seeds lie
 * from 0 to hi. */
static void count_differences(const struct kgb_dictionary *numbers, double hi,
			      const int64_t *differences, size_t n, size_t *counts)
{
	const struct kgb_param param = {.name = "seed", .result = -1};
	const struct kgb_interface interface = {.entry = "toy"};
	struct kgb_case kase = {.name = "toy", .interface = &interface, .n_args = 1};
	struct kgb_err err = KGB_ERR_INIT;

	kase.args[0] = (struct kgb_arg){.param = &param,
					.layout = "contiguous",
					.fill = KGB_FILL_INT,
					.hi = hi,
					.bounded = true};
	assert_ok(kgb_tensor_view_layout(&kase.args[0].view, KGB_DTYPE_INT64, (int64_t[]){1}, 1,
					 "contiguous", &err),
		  err);
	for (size_t s = 0; s < SEEDS; s++) {
		const struct kgb_seed seed = {{(uint8_t)s, (uint8_t)(s >> 8)}};
		struct kgb_case_data data, other;
		kgb_case_data_fill(&data, &kase, &seed, 0);
		kgb_case_data_fill(&other, &kase, &seed, KGB_VARIANT_OTHER_SEED);
		kgb_random_result_relate_seeds(numbers, &other, &data);
		const int64_t a = *(const int64_t *)(const void *)data.storages[0];
		const int64_t b = *(const int64_t *)(const void *)other.storages[0];
		assert_true(a != b && b >= 0);
		for (size_t i = 0; i < n; i++)
			counts[i] += b - a == differences[i] || a - b == differences[i];
		kgb_case_data_release(&other);
		kgb_case_data_release(&data);
	}
}

static void test_seeds_differ_by_what_kernels_shorten_them_by(KGB_UNUSED void **state)
{
	static const int64_t differences[] = {1, 1LL << 32, INT32_MAX, UINT32_MAX, 1000003, 2, 77};
	static const struct {
		double hi;
		int64_t number; /* 0: no dictionary */
		size_t least[KGB_ARRAY_LEN(differences)]; /* 0: never */
	} rows[] = {
		{0x1p53 - 1, 0, {SEEDS / 4, SEEDS / 8, SEEDS / 8, SEEDS / 8}},
		{0x1p53 - 1, 2, {SEEDS / 4, SEEDS / 8, SEEDS / 8, SEEDS / 8}},
		{0x1p53 - 1, 1000003, {SEEDS / 4, SEEDS / 8, SEEDS / 16, SEEDS / 16, SEEDS / 8}},
		{0x1p53 - 1, 77, {SEEDS / 4, SEEDS / 8, SEEDS / 16, SEEDS / 16, 0, 0, SEEDS / 8}},
		/* No seed has room for these moduli. */
		{0x1p31 - 2, 0x7fffffff, {SEEDS / 2, SEEDS / 8}},
	};

	for (size_t r = 0; r < KGB_ARRAY_LEN(rows); r++) {
		const int64_t number = rows[r].number;
		const struct kgb_dictionary numbers = {
			.items = {{.value = (double)number, .whole = number, .is_whole = true}},
			.n = 1};
		size_t counts[KGB_ARRAY_LEN(differences)] = {0};
		count_differences(number ? &numbers : NULL, rows[r].hi, differences,
				  KGB_ARRAY_LEN(differences), counts);
		for (size_t i = 0; i < KGB_ARRAY_LEN(differences); i++)
			if (rows[r].least[i] ? counts[i] < rows[r].least[i] : counts[i] > 0)
				fail_msg("row %zu, difference %lld: %zu", r,
					 (long long)differences[i], counts[i]);
	}
}

static void test_a_product_is_that_of_the_draws_of_the_same_call(KGB_UNUSED void **state)
{
	struct fixture *f = new_fixture(KGB_RANDOM_PRODUCT, KGB_DTYPE_FLOAT32, ROWS, -2, 2);
	float *draws = kgb_xcalloc(N, sizeof(*draws));
	struct kgb_compare compare;

	lay_out(&f->data.results[1].view, KGB_DTYPE_FLOAT32, ROWS);
	f->call.values[1] = draws;
	for (int64_t i = 0; i < N; i++) {
		draws[i] = (float)kgb_rng_uniform(&f->rng);
		put(f, i, self_at(f, i) * (double)draws[i]);
	}
	assert_true(is_right(f, &compare));
	draws[N - 1] += 0.5f;
	assert_false(is_right(f, &compare));
	assert_int_equal(compare.first_wrong, N - 1);
	free_fixture(f);
}

/* Computed with 60 digits. */
static void test_the_poisson_distribution_is_that_of_the_books(KGB_UNUSED void **state)
{
	static const struct {
		double k, rate, p;
	} rows[] = {
		{0, 1, 0.36787944117144233},
		{2, 1, 0.91969860292860579},
		{3, 2.5, 0.75757613313306596},
		{10, 10, 0.58303975019298551},
		{5, 20, 7.19088405284289e-05},
		{1000, 1000, 0.50840936716850599},
		{-1, 3, 0},
		{0, 0, 1},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		double p = kgb_poisson_cdf(rows[i].k, rows[i].rate);
		if (!(fabs(p - rows[i].p) <= 1e-9 * (rows[i].p + 1e-4)))
			fail_msg("row %zu: %.17g", i, p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_honest_draws_of_every_law_and_type_are_right),
		cmocka_unit_test(test_wrong_draws_are_refused_at_any_seed),
		cmocka_unit_test(test_the_same_random_numbers_for_another_seed_are_refused),
		cmocka_unit_test(test_seeds_differ_by_what_kernels_shorten_them_by),
		cmocka_unit_test(test_a_product_is_that_of_the_draws_of_the_same_call),
		cmocka_unit_test(test_the_poisson_distribution_is_that_of_the_books),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
