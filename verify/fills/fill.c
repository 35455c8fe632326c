/* SPDX-License-Identifier: MIT */
#include "verify/fills/fill.h"

#include <math.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "verify/fills/values.h"

#define OUTLIER_PROBABILITY 0.001
#define OUTLIER_FACTOR 50

static void *element_at(const struct kgb_tensor_view *view, void *storage, int64_t at)
{
	return (char *)storage + (size_t)at * kgb_dtype_size(view->dtype);
}

static void *random_element(const struct kgb_tensor_view *view, void *storage, struct kgb_rng *rng)
{
	int64_t i = kgb_rng_int(rng, 0, kgb_tensor_view_numel(view) - 1);
	return element_at(view, storage, kgb_tensor_view_element(view, i));
}

/* ---- every element ---- */

enum {
	CHUNK = 512, /* elements converted at once */
	TABLE = 1 << 16, /* draws of a benchmark */
	RUN = 128, /* of them side by side in a tensor; a divisor of CHUNK */
};
/* Elements that are worth a thread; even, as normals come in pairs. */
#define PIECE ((int64_t)1 << 16)

struct job {
	const struct kgb_arg *arg;
	char *storage;
	struct kgb_rng rng; /* at the first element's words */
	const char *table; /* benchmarks */
	bool is_contiguous;
	_Atomic bool is_biased; /* integers: a draw has to be repeated */
	_Atomic int64_t n_outliers;
};

static bool is_normal(enum kgb_fill_kind fill)
{
	return fill == KGB_FILL_NORMAL || fill == KGB_FILL_POSITIVE || fill == KGB_FILL_LATE ||
	       kgb_fill_is_of_rows(fill);
}

/* Words of the stream for n elements, independent of their values; normals come in pairs. */
static uint64_t words_of(enum kgb_fill_kind fill, int64_t n)
{
	static const unsigned char words_each[] = {
		[KGB_FILL_NORMAL] = 2, [KGB_FILL_POSITIVE] = 2, [KGB_FILL_UNIFORM] = 2,
		[KGB_FILL_INT] = 2,    [KGB_FILL_BOOL] = 1,     [KGB_FILL_ONES] = 0,
		[KGB_FILL_NAN] = 0,    [KGB_FILL_SIGNS] = 1,    [KGB_FILL_TRIANGLE] = 2,
		[KGB_FILL_CHAIN] = 2,  [KGB_FILL_LATE] = 2,     [KGB_FILL_BESIDE] = 6,
		[KGB_FILL_UNIT] = 2,   [KGB_FILL_IDENTITY] = 2, [KGB_FILL_PADDED] = 2,
	};
	const bool in_pairs = is_normal(fill);

	return words_each[fill] * ((uint64_t)n + (in_pairs && n % 2 ? 1 : 0));
}

/* Integers are drawn as integers, so that each value of int64 is possible. False if one of them
 * must be drawn again: then the words of all later elements shift. */
static bool draw_integers(const struct kgb_arg *arg, struct kgb_rng *rng, double *out, size_t n)
{
	uint64_t lo = (uint64_t)(int64_t)ceil(arg->lo), hi = (uint64_t)(int64_t)floor(arg->hi);
	uint64_t span = hi - lo + 1, excess = span ? (UINT64_MAX % span + 1) % span : 0;
	uint32_t words[2 * CHUNK];
	bool is_fair = true;

	kgb_rng_words(rng, words, 2 * n);
	for (size_t i = 0; i < n; i++) {
		uint64_t draw = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
		is_fair &= draw <= UINT64_MAX - excess;
		out[i] = (double)(int64_t)(lo + (span ? draw % span : draw));
	}
	return is_fair;
}

static void draw_beside(const struct kgb_arg *arg, struct kgb_rng *rng, double *out, size_t n)
{
	const struct kgb_points points = {arg->lo, arg->hi};

	for (size_t i = 0; i < n; i++)
		out[i] = kgb_values_draw_beside(&points, arg->view.dtype, rng);
}

static void draw_few(const struct kgb_arg *arg, struct kgb_rng *rng, double *out, size_t n)
{
	static const double signs[] = {-1, -0.0, 0, 1};
	uint32_t words[CHUNK];

	kgb_rng_words(rng, words, n);
	for (size_t i = 0; i < n; i++)
		out[i] = arg->fill == KGB_FILL_BOOL ? words[i] & 1 : signs[words[i] & 3];
}

/* Draw n elements, at most CHUNK. False: an integer must be drawn again. */
static bool draw(const struct kgb_arg *arg, struct kgb_rng *rng, double *out, size_t n)
{
	if (arg->fill == KGB_FILL_INT)
		return draw_integers(arg, rng, out, n);
	if (is_normal(arg->fill)) {
		kgb_rng_normals(rng, out, n);
		for (size_t i = 0; arg->fill == KGB_FILL_POSITIVE && i < n; i++)
			out[i] = fabs(out[i]);
	} else if (arg->fill == KGB_FILL_UNIFORM) {
		kgb_rng_uniforms(rng, out, n);
		for (size_t i = 0; i < n; i++)
			out[i] = arg->lo + (arg->hi - arg->lo) * out[i];
	} else if (arg->fill == KGB_FILL_TRIANGLE || arg->fill == KGB_FILL_CHAIN) {
		kgb_rng_uniforms(rng, out, n);
		for (size_t i = 0; i < n; i++)
			out[i] = (2 * out[i] - 1) / sqrt(arg->lo);
	} else if (arg->fill == KGB_FILL_BESIDE) {
		draw_beside(arg, rng, out, n);
	} else if (arg->fill == KGB_FILL_BOOL || arg->fill == KGB_FILL_SIGNS) {
		draw_few(arg, rng, out, n);
	} else {
		for (size_t i = 0; i < n; i++)
			out[i] = arg->fill == KGB_FILL_ONES ? 1 : (double)NAN;
	}
	return true;
}

/* Where to write the elements from `first` on: in the storage of a contiguous view, else in
 * `buffer`. */
static char *target(const struct job *job, int64_t first, char *buffer)
{
	const struct kgb_tensor_view *view = &job->arg->view;

	return job->is_contiguous
		       ? job->storage + (size_t)(view->offset + first) * kgb_dtype_size(view->dtype)
		       : buffer;
}

static void deliver(const struct job *job, int64_t first, int64_t n, const char *elements)
{
	if (!job->is_contiguous)
		kgb_tensor_view_scatter_part(&job->arg->view, elements, first, n, job->storage);
}

static void fill_piece(void *payload, int64_t begin, int64_t end)
{
	struct job *job = payload;
	struct kgb_rng rng = job->rng;
	double values[CHUNK];
	char buffer[CHUNK * sizeof(int64_t)];

	kgb_rng_skip(&rng, words_of(job->arg->fill, begin));
	for (int64_t first = begin; first < end; first += CHUNK) {
		int64_t n = end - first < CHUNK ? end - first : CHUNK;
		char *elements = target(job, first, buffer);
		if (!draw(job->arg, &rng, values, (size_t)n))
			job->is_biased = true;
		kgb_dtype_store_array(job->arg->view.dtype, values, (size_t)n, elements);
		deliver(job, first, n, elements);
	}
}

/* Draw one by one, again and again if needed, which is very rare because spans are far smaller than
 * 2^64. */
static void fill_integers_slowly(struct job *job)
{
	const struct kgb_tensor_view *view = &job->arg->view;
	int64_t n = kgb_tensor_view_numel(view);
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk)) {
		int64_t value = kgb_rng_int(&job->rng, (int64_t)ceil(job->arg->lo),
					    (int64_t)floor(job->arg->hi));
		kgb_dtype_store(view->dtype, element_at(view, job->storage, walk.at),
				(double)value);
	}
}

/* Elements for one thread: all of them if elements may share a place, which are written in
 * order. */
static int64_t piece_of(const struct kgb_tensor_view *view)
{
	return kgb_tensor_view_may_overlap(view) ? INT64_C(1) << 40 : PIECE;
}

static void fill_all(struct job *job)
{
	const struct kgb_tensor_view *view = &job->arg->view;
	int64_t n = kgb_tensor_view_numel(view);

	kgb_parallel_for(n, piece_of(view), fill_piece, job);
	if (job->is_biased)
		fill_integers_slowly(job);
	else
		kgb_rng_skip(&job->rng, words_of(job->arg->fill, n));
}

static size_t n_runs(int64_t n_elements)
{
	return ((size_t)n_elements + RUN - 1) / RUN;
}

/* Large tensors for timing: every RUN elements are neighbours in a table of TABLE fresh draws, from
 * a random one on. This is as fast as a copy, and benchmarks only measure times. */
static void pick_piece(void *payload, int64_t begin, int64_t end)
{
	struct job *job = payload;
	const size_t item = kgb_dtype_size(job->arg->view.dtype);
	struct kgb_rng rng = job->rng;
	uint32_t words[CHUNK / RUN];
	char buffer[CHUNK * sizeof(int64_t)];

	kgb_rng_skip(&rng, (uint64_t)begin / RUN);
	for (int64_t first = begin; first < end; first += CHUNK) {
		const int64_t n = end - first < CHUNK ? end - first : CHUNK;
		char *elements = target(job, first, buffer);
		kgb_rng_words(&rng, words, n_runs(n));
		for (int64_t i = 0; i < n; i += RUN) {
			const size_t from = words[i / RUN] % (TABLE - RUN + 1);
			const size_t count = (size_t)(n - i < RUN ? n - i : RUN);
			memcpy(elements + (size_t)i * item, job->table + from * item, count * item);
		}
		deliver(job, first, n, elements);
	}
}

static void fill_from_table(struct job *job)
{
	const struct kgb_tensor_view *view = &job->arg->view;
	size_t item = kgb_dtype_size(view->dtype);
	int64_t n = kgb_tensor_view_numel(view);
	struct kgb_arg all = *job->arg;
	KGB_AUTO(free) char *table = kgb_xreallocarray(NULL, TABLE, item);

	all.view = (struct kgb_tensor_view){.dtype = view->dtype,
					    .ndim = 1,
					    .sizes = {TABLE},
					    .strides = {1},
					    .storage_elements = TABLE};
	struct job draws = {.arg = &all, .storage = table, .rng = job->rng, .is_contiguous = true};
	fill_all(&draws);
	job->rng = draws.rng;
	job->table = table;
	kgb_parallel_for(n, piece_of(view), pick_piece, job);
	kgb_rng_skip(&job->rng, n_runs(n));
}

/* ---- the rest of the storage ---- */

static void noise_piece(void *payload, int64_t begin, int64_t end)
{
	struct job *job = payload;
	struct kgb_rng rng = job->rng;

	kgb_rng_skip(&rng, (uint64_t)begin / sizeof(uint32_t));
	kgb_rng_bytes(&rng, job->storage + begin, (size_t)(end - begin));
}

static void fill_storage(struct job *job)
{
	const struct kgb_tensor_view *view = &job->arg->view;
	int64_t n = view->storage_elements * (int64_t)kgb_dtype_size(view->dtype);

	kgb_parallel_for(n, 4 * PIECE, noise_piece, job);
	kgb_rng_skip(&job->rng, ((uint64_t)n + 3) / 4);
}

/* ---- modes ---- */

/* An element that would be infinite stays as it is: places of periodic functions may be large. */
static void enlarge(enum kgb_dtype dtype, void *p)
{
	const double value = kgb_dtype_round(dtype, kgb_dtype_load(dtype, p) * OUTLIER_FACTOR);

	if (isfinite(value))
		kgb_dtype_store(dtype, p, value);
}

static void outlier_piece(void *payload, int64_t begin, int64_t end)
{
	struct job *job = payload;
	const struct kgb_tensor_view *view = &job->arg->view;
	struct kgb_rng rng = job->rng;
	double uniforms[CHUNK];

	kgb_rng_skip(&rng, 2 * (uint64_t)begin);
	for (int64_t first = begin; first < end; first += CHUNK) {
		int64_t n = end - first < CHUNK ? end - first : CHUNK;
		kgb_rng_uniforms(&rng, uniforms, (size_t)n);
		for (int64_t i = 0; i < n; i++) {
			if (uniforms[i] >= OUTLIER_PROBABILITY)
				continue;
			enlarge(view->dtype, element_at(view, job->storage,
							kgb_tensor_view_element(view, first + i)));
			job->n_outliers++;
		}
	}
}

static void add_outliers(struct job *job)
{
	const struct kgb_tensor_view *view = &job->arg->view;
	int64_t n = kgb_tensor_view_numel(view);

	kgb_parallel_for(n, piece_of(view), outlier_piece, job);
	kgb_rng_skip(&job->rng, 2 * (uint64_t)n);
	if (job->n_outliers == 0)
		enlarge(view->dtype, random_element(view, job->storage, &job->rng));
}

/* Write the values of the argument's classes to `out`, which has room for N_SPECIAL_FLOATS. Returns
 * their number. Subnormal values are used for float16 and for exact results only, where nothing
 * flushes them. Elsewhere hardware and compilers may flush them (Triton's rsqrt and floor do), so
 * they would test the compiler and not the kernel. */
enum { N_SPECIAL_FLOATS = KGB_FILL_SPECIALS_OF / 4 };
static int64_t special_floats(const struct kgb_arg *arg, double *out)
{
	const enum kgb_dtype dtype = arg->view.dtype;
	double max = kgb_dtype_max(dtype), tiny = kgb_dtype_tiny(dtype), eps = kgb_dtype_eps(dtype);
	bool below = dtype == KGB_DTYPE_FLOAT16 || arg->has_subnormals;
	const struct {
		enum kgb_special special;
		double value;
	} values[N_SPECIAL_FLOATS] = {
		{KGB_SPECIAL_INFINITY, (double)INFINITY},
		{KGB_SPECIAL_NEGATIVE_INFINITY, -(double)INFINITY},
		{KGB_SPECIAL_NAN, (double)NAN},
		{KGB_SPECIAL_ZEROS, 0.0},
		{KGB_SPECIAL_ZEROS, -0.0},
		{KGB_SPECIAL_LARGEST, max},
		{KGB_SPECIAL_LARGEST, -max},
		{KGB_SPECIAL_SMALLEST, tiny},
		{KGB_SPECIAL_SMALLEST, -tiny},
		{KGB_SPECIAL_SMALLEST, below ? tiny * eps : tiny * (1 + eps)},
		{KGB_SPECIAL_SMALLEST, below ? tiny * (eps - 1) : -tiny * (1 + eps)},
	};
	int64_t n = 0;

	for (size_t i = 0; i < KGB_ARRAY_LEN(values); i++)
		if (arg->specials & 1U << values[i].special)
			out[n++] = values[i].value;
	return n;
}

static void store_special_int(enum kgb_dtype dtype, int64_t which, void *p)
{
	const int64_t values[] = {kgb_dtype_min_i64(dtype), kgb_dtype_max_i64(dtype), 0, 1, -1};
	kgb_dtype_store_i64(dtype, p, values[which % (int64_t)KGB_ARRAY_LEN(values)]);
}

struct specials {
	enum kgb_dtype dtype;
	double values[N_SPECIAL_FLOATS]; /* of a floating type */
	int64_t n_values;
	uint64_t nan_bits; /* 0: the usual NaN */
};

static void store_special(const struct specials *specials, int64_t which, void *p)
{
	if (!kgb_dtype_is_float(specials->dtype))
		store_special_int(specials->dtype, which, p);
	else if (specials->n_values > 0)
		kgb_dtype_store_special(specials->dtype, p,
					specials->values[which % specials->n_values],
					specials->nan_bits * (uint64_t)(2 * which + 1));
}

void kgb_fill_store_special(const struct kgb_arg *arg, int64_t which, void *element)
{
	struct specials specials = {.dtype = arg->view.dtype};

	specials.n_values = special_floats(arg, specials.values);
	store_special(&specials, which, element);
}

enum { LONG_LEAST = 1000 }; /* elements of a long dimension */

static int longest_dim(const struct kgb_tensor_view *view)
{
	int longest = 0;

	for (int d = 1; d < view->ndim; d++)
		if (view->sizes[d] > view->sizes[longest])
			longest = d;
	return longest;
}

/* The given value, where there is such a one, in half of the cases. */
static int64_t choose_special(const struct specials *specials, double preferred,
			      struct kgb_rng *rng)
{
	const int64_t which = kgb_rng_int(rng, 0, 10);

	if (kgb_rng_int(rng, 0, 1) || !kgb_dtype_is_float(specials->dtype))
		return which;
	for (int64_t i = 0; i < specials->n_values; i++)
		if (specials->values[i] == preferred ||
		    (isnan(specials->values[i]) && isnan(preferred)))
			return i;
	return which;
}

/* One special value on a stretch along one dimension, in half of the cases on all of it: a
 * reduction meets nothing else there. Vectors and long lines keep other elements in most cases. Of
 * the other stretches half begin or end with the line, and are half of it or more, as masks are.
 * Half of those have one special element, more often NaN, in the rest of the line: who stops
 * reading in the stretch, as nothing is lower, misses it. */
static void add_stretch(const struct kgb_tensor_view *view, struct kgb_rng *rng,
			const struct specials *specials, void *storage)
{
	/* Masks have the lowest value. */
	const int64_t which = choose_special(specials, -(double)INFINITY, rng);
	const int random = (int)kgb_rng_int(rng, 0, view->ndim - 1);
	const int d = kgb_rng_int(rng, 0, 1) ? random : longest_dim(view);
	const int64_t size = view->sizes[d];
	const bool is_whole = kgb_rng_int(rng, 0,
					  view->ndim == 1     ? 7
					  : size < LONG_LEAST ? 1
							      : 3) == 0;
	const int64_t kind = kgb_rng_int(rng, 0, 3); /* 0: from the beginning, 1: to the end */
	const int64_t length = is_whole   ? size
			       : kind < 2 ? kgb_rng_int(rng, (size + 1) / 2, size)
					  : kgb_rng_int(rng, 1, size);
	const int64_t from = kind == 0   ? 0
			     : kind == 1 ? size - length
					 : kgb_rng_int(rng, 0, size - length);
	int64_t line = view->offset;

	for (int other = 0; other < view->ndim; other++)
		if (other != d)
			line += kgb_rng_int(rng, 0, view->sizes[other] - 1) * view->strides[other];
	for (int64_t i = from; i < from + length; i++)
		store_special(specials, which,
			      element_at(view, storage, line + i * view->strides[d]));
	if (kind < 2 && length < size && kgb_rng_int(rng, 0, 1)) {
		const int64_t i = kind == 0 ? kgb_rng_int(rng, length, size - 1)
					    : kgb_rng_int(rng, 0, from - 1);
		store_special(specials, choose_special(specials, (double)NAN, rng),
			      element_at(view, storage, line + i * view->strides[d]));
	}
}

enum { STRETCHES = 3 }; /* in a tensor, at most */

/* One of each kind if there is room; small tensors get a few, from a random one on. Long lines get
 * nothing but stretches in half of the cases: one NaN would decide the result of a line. In half of
 * the others they get four of each kind: an infinity before a NaN in the same line. */
static void add_specials(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	int64_t quarter = kgb_tensor_view_numel(view) / 4;
	int64_t n = quarter < 1 ? 1 : quarter > N_SPECIAL_FLOATS ? N_SPECIAL_FLOATS : quarter;
	int64_t first = kgb_rng_int(rng, 0, 10);
	const uint64_t nan_bits = arg->has_nan_bits ? kgb_rng_u32(rng) | 1 : 0;
	struct specials specials = {.dtype = view->dtype, .nan_bits = nan_bits};

	specials.n_values = special_floats(arg, specials.values);
	const int64_t n_stretches = kgb_rng_int(rng, 0, STRETCHES);
	for (int64_t i = n_stretches; view->ndim > 0 && i > 0; i--)
		add_stretch(view, rng, &specials, storage);
	const bool is_long = view->ndim > 0 && view->sizes[longest_dim(view)] >= LONG_LEAST;
	if (is_long && n_stretches > 0 && kgb_rng_int(rng, 0, 1))
		return;
	if (is_long && kgb_rng_int(rng, 0, 1))
		n *= 4;
	for (int64_t i = 0; i < n; i++)
		store_special(&specials, first + i, random_element(view, storage, rng));
}

/* Each number of bits is equally likely, so that small numbers occur, too. */
static int64_t wide_number(int bits, bool is_signed, struct kgb_rng *rng)
{
	const int64_t word = kgb_rng_int(rng, INT64_MIN, INT64_MAX);
	const int64_t shift = kgb_rng_int(rng, 64 - bits, 63);

	return is_signed ? word >> shift : (int64_t)((uint64_t)word >> shift);
}

/* A small number times a power of two: its low bits are 0. */
static int64_t round_number(int bits, bool is_signed, struct kgb_rng *rng)
{
	const int64_t number = kgb_rng_int(rng, 1, 7) << kgb_rng_int(rng, 0, bits - 4);

	return is_signed && kgb_rng_int(rng, 0, 1) ? -number : number;
}

enum { ROUND_ONE_IN = 8 };

static void widen(const struct kgb_tensor_view *view, struct kgb_rng *rng, void *storage)
{
	const int bits = 8 * (int)kgb_dtype_size(view->dtype);
	const bool is_signed = kgb_dtype_min_i64(view->dtype) < 0;
	const int64_t n = kgb_tensor_view_numel(view);
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk)) {
		const bool is_round = kgb_rng_int(rng, 0, ROUND_ONE_IN - 1) == 0;
		kgb_dtype_store_i64(view->dtype, element_at(view, storage, walk.at),
				    is_round ? round_number(bits, is_signed, rng)
					     : wide_number(bits, is_signed, rng));
	}
}

bool kgb_fill_follows_mode(const struct kgb_arg *arg)
{
	return kgb_tensor_view_numel(&arg->view) > 0 && !arg->bounded &&
	       arg->view.dtype != KGB_DTYPE_BOOL;
}

bool kgb_fill_has_special_floats(const struct kgb_arg *arg)
{
	return arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent && !arg->is_repeated &&
	       kgb_dtype_is_float(arg->view.dtype) && kgb_fill_follows_mode(arg) &&
	       !arg->values.is_spared;
}

/* The elements of `arg` are real numbers, `n_parts` of them for each of the tensor. */
static void fill_parts(const struct kgb_arg *arg, int n_parts, enum kgb_mode mode,
		       struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	int64_t n = kgb_tensor_view_numel(view);
	struct job job = {.arg = arg,
			  .storage = storage,
			  .rng = *rng,
			  .is_contiguous = kgb_tensor_view_is_contiguous(view)};

	job.rng.has_spare = false;
	if (n != view->storage_elements)
		fill_storage(&job);
	if (kgb_fill_is_structured(arg->fill))
		kgb_fill_structured(arg, mode, &job.rng, storage);
	else if (mode == KGB_MODE_BENCHMARK)
		fill_from_table(&job);
	else
		fill_all(&job);
	kgb_fill_regular(arg, n_parts, &job.rng, storage);
	if (kgb_fill_follows_mode(arg)) {
		if (mode == KGB_MODE_OUTLIER)
			add_outliers(&job);
		else if (mode == KGB_MODE_SPECIAL && arg->specials & 1U << KGB_SPECIAL_WIDE &&
			 !kgb_dtype_is_float(view->dtype))
			widen(view, &job.rng, storage);
		else if (mode == KGB_MODE_SPECIAL && !arg->values.is_spared)
			add_specials(arg, &job.rng, storage);
		if (arg->values.has_sizes && !arg->values.is_spared)
			kgb_fill_sizes(arg, &job.rng, storage);
	}
	kgb_fill_numbers(arg, mode, &job.rng, storage);
	if (arg->values.has_neighbours)
		kgb_fill_neighbours(arg, &job.rng, storage);
	*rng = job.rng;
}

/* Move the elements of the diagonals to sizes between 1 and 2. Beside the small other elements such
 * a diagonal makes either triangle well conditioned: the entries of its inverse do not grow with
 * its size. The last dimension holds one matrix by columns. */
static void strengthen_diagonals(const struct kgb_arg *arg, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	enum kgb_dtype part = kgb_dtype_part(view->dtype);
	size_t part_size = kgb_dtype_size(part), n_parts = kgb_dtype_size(view->dtype) / part_size;
	int64_t n = kgb_tensor_view_numel(view),
		last = view->ndim > 0 ? view->sizes[view->ndim - 1] : 1;

	for (int64_t i = 0; i < n; i++) {
		if (i % last % ((int64_t)arg->lo + 1) != 0)
			continue;
		char *p = element_at(view, storage, kgb_tensor_view_element(view, i));
		for (size_t k = 0; k < n_parts; k++, p += part_size) {
			double value = kgb_dtype_load(part, p) * sqrt(arg->lo);
			kgb_dtype_store(part, p, value < 0 ? value - 1 : value + 1);
		}
	}
}

/* The number of a matrix's element by its distance from the diagonal; `random` is -1 .. 1. The
 * entries of the inverse shrink by 5 to 30 % from one to the next, so that all of them count and
 * none grows with the size. */
static double element_of_chain(int64_t distance, double random)
{
	const double size = distance == 0   ? 1 + 0.1 * fabs(random)
			    : distance == 1 ? 0.8 + 0.15 * fabs(random)
					    : 0;

	return random < 0 ? -size : size;
}

static void make_chains(const struct kgb_arg *arg, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const enum kgb_dtype part = kgb_dtype_part(view->dtype);
	const size_t part_size = kgb_dtype_size(part),
		     n_parts = kgb_dtype_size(view->dtype) / part_size;
	const int64_t n = kgb_tensor_view_numel(view), rows = (int64_t)arg->lo,
		      last = view->ndim > 0 ? view->sizes[view->ndim - 1] : 1;

	for (int64_t i = 0; i < n; i++) {
		const int64_t distance = i % last % rows - i % last / rows;
		char *p = element_at(view, storage, kgb_tensor_view_element(view, i));
		for (size_t k = 0; k < n_parts; k++, p += part_size) {
			const double random = kgb_dtype_load(part, p) * sqrt(arg->lo);
			kgb_dtype_store(
				part, p,
				element_of_chain(distance < 0 ? -distance : distance, random) /
					sqrt((double)n_parts));
		}
	}
}

/* Only the last elements are not 0. */
static void clear_beginning(const struct kgb_arg *arg, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const int64_t n = kgb_tensor_view_numel(view);

	for (int64_t i = 0; i < n && i < (int64_t)arg->lo; i++)
		memset(element_at(view, storage, kgb_tensor_view_element(view, i)), 0,
		       kgb_dtype_size(view->dtype));
}

void kgb_fill(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng, void *storage)
{
	struct kgb_arg parts = *arg;

	const int n_parts = kgb_dtype_is_complex(arg->view.dtype) ? 2 : 1;
	parts.view = kgb_tensor_view_parts(&arg->view);
	fill_parts(&parts, n_parts, mode, rng, storage);
	if (arg->fill == KGB_FILL_TRIANGLE)
		strengthen_diagonals(arg, storage);
	else if (arg->fill == KGB_FILL_CHAIN)
		make_chains(arg, storage);
	else if (arg->fill == KGB_FILL_LATE)
		clear_beginning(arg, storage);
	else if (kgb_fill_is_of_rows(arg->fill))
		kgb_fill_rows(&parts, n_parts, storage);
}
