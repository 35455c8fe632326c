/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's fast loops against slow ones: the same bits on random data of every kind, whatever
 * the number of threads.
 */
#include <math.h>
#include <sched.h>

#include "base/hash.h"
#include "tests/unit/base/support.h"
#include "tests/unit/verify/compute_oracle.h"

static const struct kgb_seed seed = {{42}};

/* ---- a machine with as many cores as a test wants ---- */

static int cores = 1;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);

int __wrap_sched_getaffinity(KGB_UNUSED pid_t pid, KGB_UNUSED size_t size, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (size_t i = 0; i < (size_t)cores; i++)
		CPU_SET(i, set);
	return 0;
}

static const int machines[] = {1, 2, 7, 64};

/* ---- conversions ---- */

/* Bits of doubles that lie on and around every border of the narrower types. */
static double odd_double(struct kgb_rng *rng)
{
	static const int exponents[] = {-1074, -1073, -1022, -200, -150, -149, -134, -133,
					-127,  -126,  -26,   -25,  -24,  -16,  -15,  -14,
					-2,    -1,    0,     1,    9,    10,   11,   15,
					16,    31,    62,    63,   127,  128,  1023, 1024};
	double sign = kgb_rng_u32(rng) & 1 ? -1 : 1;
	double step = ldexp(1, -(int)kgb_rng_int(rng, 0, 53));
	uint64_t bits = (uint64_t)kgb_rng_u32(rng) << 32 | kgb_rng_u32(rng);
	double value;

	switch (kgb_rng_int(rng, 0, 4)) {
	case 0:
		memcpy(&value, &bits, sizeof(value));
		return value;
	case 1:
		return sign * (double)kgb_rng_int(rng, -70000, 70000) / 2;
	case 2:
		return sign * kgb_rng_normal(rng);
	default:
		value = ldexp(1 + (double)kgb_rng_int(rng, -2, 2) * step / 2,
			      exponents[kgb_rng_u32(rng) % KGB_ARRAY_LEN(exponents)]);
		return sign * value;
	}
}

static void test_arrays_are_stored_as_single_elements(KGB_UNUSED void **state)
{
	enum { N = 1 << 16 };
	KGB_AUTO(free) double *values = kgb_xcalloc(N, sizeof(*values));
	KGB_AUTO(free) char *got = kgb_xcalloc(N, 16), *want = kgb_xcalloc(N, 16);
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "stores", 0);
	for (int i = 0; i < N; i++)
		values[i] = odd_double(&rng);
	for (int d = 0; d < KGB_N_DTYPES; d++) {
		size_t size = kgb_dtype_size((enum kgb_dtype)d);
		kgb_dtype_store_array((enum kgb_dtype)d, values, N, got);
		for (size_t i = 0; i < N; i++) {
			kgb_dtype_store((enum kgb_dtype)d, want + i * size, values[i]);
			if (memcmp(got + i * size, want + i * size, size) != 0)
				fail_msg("%s of %a differs", kgb_dtype_name((enum kgb_dtype)d),
					 values[i]);
		}
	}
}

static void test_arrays_are_loaded_as_single_elements(KGB_UNUSED void **state)
{
	enum { N = 1 << 16 };
	KGB_AUTO(free) char *bytes = kgb_xcalloc(N, 16);
	KGB_AUTO(free) double *got = kgb_xcalloc(N, sizeof(*got));
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "loads", 0);
	for (int d = 0; d < KGB_N_DTYPES; d++) {
		size_t size = kgb_dtype_size((enum kgb_dtype)d);
		kgb_rng_bytes(&rng, bytes, N * size);
		for (size_t i = 0; size == 2 && i < N; i++)
			memcpy(bytes + 2 * i, &(uint16_t){(uint16_t)i}, 2);
		kgb_dtype_load_array((enum kgb_dtype)d, bytes, N, got);
		for (size_t i = 0; i < N; i++) {
			double want = kgb_dtype_load((enum kgb_dtype)d, bytes + i * size);
			uint64_t bits[2];
			memcpy(&bits[0], &want, sizeof(want));
			memcpy(&bits[1], &got[i], sizeof(want));
			if (bits[0] != bits[1])
				fail_msg("%s: %a instead of %a", kgb_dtype_name((enum kgb_dtype)d),
					 got[i], want);
		}
	}
}

/* ---- views ---- */

static const char *const layouts[] = {"contiguous",    "transposed",   "strided", "row_strided",
				      "sliced",        "permuted",     "offset",  "expanded",
				      "expanded_last", "channels_last"};

/* Any sizes, any layout; about as many elements as asked for. */
static void random_view(struct kgb_rng *rng, enum kgb_dtype dtype, int64_t about,
			struct kgb_tensor_view *view)
{
	struct kgb_err err = KGB_ERR_INIT;
	const char *layout;
	int64_t sizes[4];
	int ndim;

	do {
		ndim = (int)kgb_rng_int(rng, 0, 4);
		layout = layouts[kgb_rng_int(rng, 0, KGB_ARRAY_LEN(layouts) - 1)];
		for (int k = 0; k < ndim; k++)
			sizes[k] = kgb_rng_int(rng, kgb_rng_u32(rng) % 16 ? 1 : 0,
					       (int64_t)pow((double)about, 1.0 / ndim) * 3 / 2 + 1);
		err = (struct kgb_err)KGB_ERR_INIT;
	} while (kgb_tensor_view_layout(view, dtype, sizes, ndim, layout, &err) < 0);
}

static void test_parts_of_views_are_gathered_and_scattered(KGB_UNUSED void **state)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "views", 0);
	for (int round = 0; round < 1000; round++) {
		enum kgb_dtype dtype = (enum kgb_dtype)(kgb_rng_u32(&rng) % KGB_N_DTYPES);
		size_t item = kgb_dtype_size(dtype);
		struct kgb_tensor_view view;
		random_view(&rng, dtype, 60, &view);
		size_t bytes = (size_t)view.storage_elements * item;
		int64_t n = kgb_tensor_view_numel(&view),
			first = n ? kgb_rng_int(&rng, 0, n - 1) : 0,
			count = kgb_rng_int(&rng, 0, n - first);
		KGB_AUTO(free) char *storage = kgb_xmalloc(bytes + 1);
		KGB_AUTO(free) char *before = kgb_xmalloc(bytes + 1);
		KGB_AUTO(free) char *part = kgb_xcalloc((size_t)n + 1, item);

		kgb_rng_bytes(&rng, storage, bytes);
		kgb_tensor_view_gather_part(&view, storage, first, count, part);
		for (int64_t i = 0; i < count; i++)
			assert_memory_equal(
				part + (size_t)i * item,
				storage + (size_t)kgb_tensor_view_element(&view, first + i) * item,
				item);
		/* New bytes there, the old ones everywhere else. */
		memcpy(before, storage, bytes);
		kgb_rng_bytes(&rng, part, (size_t)count * item);
		kgb_tensor_view_scatter_part(&view, part, first, count, storage);
		for (int64_t i = 0; i < count; i++)
			memcpy(before + (size_t)kgb_tensor_view_element(&view, first + i) * item,
			       part + (size_t)i * item, item);
		assert_memory_equal(before, storage, bytes);
	}
}

static void test_whole_views_are_gathered_copied_and_compared(KGB_UNUSED void **state)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "whole views", 0);
	for (int round = 0; round < 12; round++) {
		struct kgb_tensor_view view;
		cores = machines[round % 4];
		random_view(&rng, round % 2 ? KGB_DTYPE_FLOAT16 : KGB_DTYPE_INT64, 700000, &view);
		size_t item = kgb_dtype_size(view.dtype);
		size_t bytes = (size_t)view.storage_elements * item;
		int64_t n = kgb_tensor_view_numel(&view);
		KGB_AUTO(free) char *from = kgb_xmalloc(bytes + 1), *to = kgb_xmalloc(bytes + 1);
		KGB_AUTO(free) char *want = kgb_xmalloc(bytes + 1);
		KGB_AUTO(free) char *all = kgb_xcalloc((size_t)n + 1, item);

		kgb_rng_bytes(&rng, from, bytes);
		kgb_rng_bytes(&rng, to, bytes);
		memcpy(want, to, bytes);
		kgb_tensor_view_gather(&view, from, all);
		kgb_tensor_view_copy(&view, from, to);
		for (int64_t i = 0; i < n; i++) {
			size_t at = (size_t)kgb_tensor_view_element(&view, i) * item;
			if (memcmp(all + (size_t)i * item, from + at, item) != 0)
				fail_msg("element %lld", (long long)i);
			memcpy(want + at, from + at, item);
		}
		assert_memory_equal(want, to, bytes);
		/* What lies between the elements does not count, one bit of an element does. */
		assert_true(kgb_tensor_view_equal(&view, from, all));
		assert_true(kgb_tensor_view_equal(&view, to, all));
		if (n > 0) {
			all[kgb_rng_int(&rng, 0, n * (int64_t)item - 1)] ^= 4;
			assert_false(kgb_tensor_view_equal(&view, to, all));
		}
	}
}

static void test_views_whose_elements_overlap_are_known(KGB_UNUSED void **state)
{
	static const struct {
		struct kgb_tensor_view view;
		bool overlaps;
	} rows[] = {
		{{.ndim = 0}, false},
		{{.ndim = 1, .sizes = {5}, .strides = {0}}, true},
		{{.ndim = 1, .sizes = {1}, .strides = {0}}, false},
		{{.ndim = 1, .sizes = {5}, .strides = {3}}, false},
		{{.ndim = 2, .sizes = {3, 4}, .strides = {4, 1}}, false},
		{{.ndim = 2, .sizes = {3, 4}, .strides = {3, 1}}, true},
		{{.ndim = 2, .sizes = {3, 4}, .strides = {1, 3}}, false},
		{{.ndim = 2, .sizes = {3, 4}, .strides = {1, 2}}, true},
		{{.ndim = 2, .sizes = {3, 4}, .strides = {0, 1}}, true},
		{{.ndim = 3, .sizes = {2, 1, 4}, .strides = {4, 0, 1}}, false},
		{{.ndim = 3, .sizes = {2, 3, 4}, .strides = {12, 1, 3}}, false},
		{{.ndim = 3, .sizes = {2, 3, 4}, .strides = {11, 1, 3}}, true},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++)
		if (kgb_tensor_view_may_overlap(&rows[i].view) != rows[i].overlaps)
			fail_msg("row %zu", i);
}

/* ---- random numbers ---- */

static void test_streams_can_be_entered_anywhere(KGB_UNUSED void **state)
{
	enum { N = 400 };
	uint32_t words[N], some[N];
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "words", 0);
	rng.counter[0] = 0xffffffff - 30; /* the counter carries on the way */
	const struct kgb_rng start = rng;
	for (int i = 0; i < N; i++)
		words[i] = kgb_rng_u32(&rng);
	for (size_t skip = 0; skip < 11; skip++)
		for (size_t drawn = 0; drawn < 11; drawn++)
			for (size_t n = 0; n < N - 40; n += n < 10 ? 1 : 61) {
				rng = start;
				for (size_t i = 0; i < drawn; i++)
					kgb_rng_u32(&rng);
				kgb_rng_skip(&rng, skip);
				kgb_rng_words(&rng, some, n);
				assert_memory_equal(some, words + drawn + skip, n * sizeof(*some));
				assert_int_equal(kgb_rng_u32(&rng), words[drawn + skip + n]);
			}
	rng = start;
	kgb_rng_skip(&rng, UINT64_C(4) << 32);
	assert_int_equal(rng.counter[0], start.counter[0]);
	assert_int_equal(rng.counter[1], start.counter[1] + 1);
}

static void test_many_numbers_are_the_same_as_one_by_one(KGB_UNUSED void **state)
{
	enum { N = 1500 };
	double got[N], want[N];
	struct kgb_rng one, many;

	for (size_t n = 0; n <= N; n += n < 5 ? 1 : 299) {
		kgb_rng_init(&one, &seed, "numbers", 0);
		many = one;
		for (size_t i = 0; i < n; i++)
			want[i] = kgb_rng_uniform(&one);
		kgb_rng_uniforms(&many, got, n);
		assert_memory_equal(got, want, n * sizeof(*got));
		for (int half = 0; half < 2; half++) { /* then with a spare, maybe */
			for (size_t i = 0; i < n; i++)
				want[i] = kgb_rng_normal(&one);
			kgb_rng_normals(&many, got, n);
			assert_memory_equal(got, want, n * sizeof(*got));
		}
		assert_int_equal(kgb_rng_u32(&one), kgb_rng_u32(&many));
	}
}

/* The judge's logarithm, sine and cosine against those of the C library. */
static void test_normals_are_those_of_box_and_muller(KGB_UNUSED void **state)
{
	struct kgb_rng rng, words;

	kgb_rng_init(&rng, &seed, "box", 0);
	words = rng;
	for (int i = 0; i < 200000; i++) {
		double u = kgb_rng_uniform(&words), v = kgb_rng_uniform(&words);
		double radius = sqrt(-2 * log(1 - u));
		assert_true(fabs(kgb_rng_normal(&rng) - radius * cos(2 * M_PI * v)) <=
			    radius * 0x1p-50);
		assert_true(fabs(kgb_rng_normal(&rng) - radius * sin(2 * M_PI * v)) <=
			    radius * 0x1p-50);
	}
}

/* ---- fills ---- */

static struct kgb_arg random_arg(struct kgb_rng *rng, int64_t about)
{
	struct kgb_arg arg = {.fill = (enum kgb_fill_kind)kgb_rng_int(rng, 0, KGB_FILL_ONES),
			      .lo = -100,
			      .hi = 27.5,
			      .specials = KGB_SPECIALS_LISTED,
			      .bounded = kgb_rng_u32(rng) % 4 == 0};

	random_view(rng, (enum kgb_dtype)(kgb_rng_u32(rng) % KGB_DTYPE_COMPLEX64), about,
		    &arg.view);
	if (arg.fill == KGB_FILL_INT && kgb_rng_u32(rng) % 4 == 0) {
		arg.lo = -0x1p63; /* a quarter of the draws is repeated */
		arg.hi = 0x1p62;
	}
	return arg;
}

static void check_fill(const struct kgb_arg *arg, enum kgb_mode mode, uint32_t stream,
		       uint64_t drawn)
{
	size_t bytes = (size_t)arg->view.storage_elements * kgb_dtype_size(arg->view.dtype);
	KGB_AUTO(free) char *want = kgb_xcalloc(bytes + 1, 1);
	struct kgb_rng start, rng;

	kgb_rng_init(&start, &seed, "fill", stream);
	kgb_rng_skip(&start, drawn);
	rng = start;
	oracle_fill(arg, mode, &rng, want);
	uint32_t next = kgb_rng_u32(&rng);
	for (size_t m = 0; m < KGB_ARRAY_LEN(machines); m++) {
		/* exact: AddressSanitizer sees one element too many */
		KGB_AUTO(free) char *got = kgb_xcalloc(bytes + 1, 1);
		cores = machines[m];
		rng = start;
		kgb_fill(arg, mode, &rng, got);
		if (memcmp(got, want, bytes + 1) != 0)
			fail_msg("fill %d, mode %d, %s, stream %u, %d cores", (int)arg->fill,
				 (int)mode, kgb_dtype_name(arg->view.dtype), stream, cores);
		assert_int_equal(kgb_rng_u32(&rng), next);
	}
}

static void test_small_fills_give_the_oracle_s_bytes(KGB_UNUSED void **state)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "small fills", 0);
	for (uint32_t round = 0; round < 600; round++) {
		struct kgb_arg arg = random_arg(&rng, kgb_rng_int(&rng, 1, 3000));
		/* A benchmark's table alone takes 65,536 draws. */
		enum kgb_mode mode = round % 20 == 0 ? KGB_MODE_BENCHMARK
						     : (enum kgb_mode)(kgb_rng_u32(&rng) % 3);
		check_fill(&arg, mode, round, kgb_rng_u32(&rng) % 9);
	}
}

static void test_large_fills_are_the_same_with_any_number_of_threads(KGB_UNUSED void **state)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "large fills", 0);
	for (uint32_t round = 0; round < 8; round++) {
		struct kgb_arg arg = random_arg(&rng, 150000);
		check_fill(&arg, (enum kgb_mode)(round % 4), round, round % 5);
	}
}

/* A seed in an old verdict still tells what its inputs were, on every machine. */
static void test_a_seed_gives_the_bytes_that_it_always_gave(KGB_UNUSED void **state)
{
	static const struct {
		struct kgb_arg arg;
		enum kgb_dtype dtype;
		enum kgb_mode mode;
		const char *digest; /* its first letters */
	} rows[] = {
		{{.fill = KGB_FILL_NORMAL},
		 KGB_DTYPE_FLOAT64,
		 KGB_MODE_STANDARD,
		 "f839631904fc0373"},
		{{.fill = KGB_FILL_NORMAL},
		 KGB_DTYPE_FLOAT16,
		 KGB_MODE_OUTLIER,
		 "2ea632fbbda75c34"},
		{{.fill = KGB_FILL_NORMAL},
		 KGB_DTYPE_BFLOAT16,
		 KGB_MODE_SPECIAL,
		 "7172d98f0354135a"},
		{{.fill = KGB_FILL_POSITIVE},
		 KGB_DTYPE_FLOAT32,
		 KGB_MODE_BENCHMARK,
		 "fabe52919ea2ac1a"},
		{{.fill = KGB_FILL_UNIFORM, .lo = 0, .hi = 3},
		 KGB_DTYPE_FLOAT32,
		 KGB_MODE_STANDARD,
		 "228d511b728cc630"},
		{{.fill = KGB_FILL_INT, .lo = -9, .hi = 9},
		 KGB_DTYPE_INT32,
		 KGB_MODE_SPECIAL,
		 "59513e677982a909"},
	};
	const int64_t sizes[] = {70, 1001};

	cores = 4;
	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct kgb_arg arg = rows[i].arg;
		struct kgb_err err = KGB_ERR_INIT;
		arg.specials = KGB_SPECIALS_LISTED;
		char digest[KGB_SHA256_HEX_LEN];
		struct kgb_rng rng;
		assert_ok(kgb_tensor_view_layout(&arg.view, rows[i].dtype, sizes, 2, "row_strided",
						 &err),
			  err);
		size_t bytes = (size_t)arg.view.storage_elements * kgb_dtype_size(rows[i].dtype);
		KGB_AUTO(free) char *storage = kgb_xmalloc(bytes);
		kgb_rng_init(&rng, &seed, "always", (uint32_t)i);
		kgb_fill(&arg, rows[i].mode, &rng, storage);
		kgb_sha256_hex(storage, bytes, digest);
		digest[strlen(rows[i].digest)] = '\0';
		assert_string_equal(digest, rows[i].digest);
	}
}

/* ---- comparisons ---- */

static bool same_double(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool nearly(double a, double b)
{
	return same_double(a, b) || fabs(a - b) <= 1e-12 * fabs(b);
}

static void assert_same(const struct kgb_compare *got, const struct kgb_compare *want,
			const char *what)
{
	bool same = got->ok == want->ok && got->n_elements == want->n_elements &&
		    got->n_wrong == want->n_wrong && got->first_wrong == want->first_wrong &&
		    got->reported == want->reported && same_double(got->expected, want->expected) &&
		    same_double(got->got, want->got) && got->max_abs_err == want->max_abs_err &&
		    same_double(got->allowed_abs_err, want->allowed_abs_err) &&
		    nearly(got->rms_err, want->rms_err) &&
		    nearly(got->allowed_rms_err, want->allowed_rms_err) &&
		    got->rms_failed == want->rms_failed;

	if (!same)
		fail_msg(
			"%s: wrong %lld/%lld, first %lld/%lld, reported %lld/%lld, expected %a/%a, "
			"got %a/%a, largest error %a/%a, allowed %a/%a, rms %a/%a, allowed %a/%a",
			what, (long long)got->n_wrong, (long long)want->n_wrong,
			(long long)got->first_wrong, (long long)want->first_wrong,
			(long long)got->reported, (long long)want->reported, got->expected,
			want->expected, got->got, want->got, got->max_abs_err, want->max_abs_err,
			got->allowed_abs_err, want->allowed_abs_err, got->rms_err, want->rms_err,
			got->allowed_rms_err, want->allowed_rms_err);
}

struct result {
	struct kgb_tensor_view view;
	char *candidate, *native;
	double *ref64, *magnitude;
	struct kgb_tolerance tolerance;
};

/* How often an element is out of the ordinary, in 65536. */
struct oddity {
	uint32_t reference, native, candidate;
};

static bool happens(struct kgb_rng *rng, uint32_t often)
{
	return (kgb_rng_u32(rng) & 0xffff) < often;
}

static void make_result(struct kgb_rng *rng, enum kgb_dtype dtype, int64_t about, struct oddity odd,
			struct result *out)
{
	static const double scales[] = {1, 1, 1, 1e-3, 1e4, 1e-38, 1e-300, 0x1p1000};
	double scale = scales[kgb_rng_u32(rng) % KGB_ARRAY_LEN(scales)];
	size_t item = kgb_dtype_size(dtype);
	bool exact = kgb_rng_u32(rng) % 4 == 0; /* the native result is right to the last bit */

	random_view(rng, dtype, about, &out->view);
	int64_t n = kgb_tensor_view_numel(&out->view);
	out->candidate = kgb_xcalloc((size_t)out->view.storage_elements + 1, item);
	out->native = kgb_xcalloc((size_t)n + 1, item);
	out->ref64 = kgb_xcalloc((size_t)n + 1, sizeof(double));
	out->magnitude = kgb_rng_u32(rng) % 2 ? kgb_xcalloc((size_t)n + 1, sizeof(double)) : NULL;
	out->tolerance = (struct kgb_tolerance){
		.factor = (double)kgb_rng_int(rng, 0, 8),
		.ulps = (double)kgb_rng_int(rng, 0, 3),
		.accumulate = kgb_rng_u32(rng) % 2 ? KGB_ACCUMULATE_FLOAT32 : KGB_ACCUMULATE_RESULT,
		.zeros = (enum kgb_zeros)(kgb_rng_u32(rng) % 2),
		.is_exact = kgb_rng_u32(rng) % 4 == 0};
	kgb_rng_bytes(rng, out->candidate, (size_t)out->view.storage_elements * item);
	for (int64_t i = 0; i < n; i++) {
		double r =
			happens(rng, odd.reference) ? odd_double(rng) : scale * kgb_rng_normal(rng);
		double native = happens(rng, odd.native) ? odd_double(rng) : r;
		if (kgb_rng_u32(rng) % 8 == 0)
			native *= 1 + kgb_dtype_eps(dtype);
		double c = happens(rng, odd.candidate) ? odd_double(rng) : native;
		out->ref64[i] = exact ? kgb_dtype_round(dtype, r) : r;
		if (out->magnitude)
			out->magnitude[i] =
				happens(rng, odd.reference) ? odd_double(rng) : 3 * fabs(r);
		kgb_dtype_store(dtype, out->native + (size_t)i * item, native);
		kgb_dtype_store(
			dtype,
			out->candidate + (size_t)kgb_tensor_view_element(&out->view, i) * item, c);
	}
}

static void check_compare(struct kgb_rng *rng, enum kgb_dtype dtype, int64_t about,
			  struct oddity odd, int round)
{
	struct result r;
	struct kgb_compare want;
	char what[64];

	make_result(rng, dtype, about, odd, &r);
	oracle_compare(&r.view, r.candidate, r.native, r.ref64, r.magnitude, &r.tolerance, &want);
	struct kgb_compare first = want;
	for (size_t m = 0; m < KGB_ARRAY_LEN(machines); m++) {
		struct kgb_compare got;
		cores = machines[m];
		kgb_compare(&r.view, r.candidate, r.native, r.ref64, r.magnitude, &r.tolerance,
			    &got);
		snprintf(what, sizeof(what), "round %d, %s, %d cores", round, kgb_dtype_name(dtype),
			 cores);
		assert_same(&got, &want, what);
		if (m == 0)
			first = got;
		/* Not only nearly so among themselves. */
		assert_true(same_double(got.rms_err, first.rms_err) &&
			    same_double(got.allowed_rms_err, first.allowed_rms_err));
	}
	kgb_free(r.candidate);
	kgb_free(r.native);
	kgb_free(r.ref64);
	kgb_free(r.magnitude);
}

static const struct oddity oddities[] = {
	{0, 0, 0},      {20, 20, 20},    {0, 0, 200},        {6000, 0, 0},
	{0, 3000, 300}, {300, 300, 300}, {8000, 8000, 8000}, {65536, 65536, 65536},
};

static void test_small_results_are_compared_as_by_the_oracle(KGB_UNUSED void **state)
{
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "small results", 0);
	for (int round = 0; round < 1500; round++)
		check_compare(&rng, (enum kgb_dtype)(round % KGB_DTYPE_COMPLEX64),
			      kgb_rng_int(&rng, 1, 2000),
			      oddities[kgb_rng_u32(&rng) % KGB_ARRAY_LEN(oddities)], round);
}

static void test_large_results_are_the_same_with_any_number_of_threads(KGB_UNUSED void **state)
{
	static const enum kgb_dtype dtypes[] = {KGB_DTYPE_FLOAT32, KGB_DTYPE_FLOAT16,
						KGB_DTYPE_INT64, KGB_DTYPE_BFLOAT16,
						KGB_DTYPE_FLOAT64};
	struct kgb_rng rng;

	kgb_rng_init(&rng, &seed, "large results", 0);
	for (int round = 0; round < 8; round++)
		check_compare(&rng, dtypes[round % 5], 150000, oddities[round], round);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrays_are_stored_as_single_elements),
		cmocka_unit_test(test_arrays_are_loaded_as_single_elements),
		cmocka_unit_test(test_parts_of_views_are_gathered_and_scattered),
		cmocka_unit_test(test_whole_views_are_gathered_copied_and_compared),
		cmocka_unit_test(test_views_whose_elements_overlap_are_known),
		cmocka_unit_test(test_streams_can_be_entered_anywhere),
		cmocka_unit_test(test_many_numbers_are_the_same_as_one_by_one),
		cmocka_unit_test(test_normals_are_those_of_box_and_muller),
		cmocka_unit_test(test_small_fills_give_the_oracle_s_bytes),
		cmocka_unit_test(test_large_fills_are_the_same_with_any_number_of_threads),
		cmocka_unit_test(test_a_seed_gives_the_bytes_that_it_always_gave),
		cmocka_unit_test(test_small_results_are_compared_as_by_the_oracle),
		cmocka_unit_test(test_large_results_are_the_same_with_any_number_of_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
