/* SPDX-License-Identifier: MIT */
#include "verify/comparator/compare.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "verify/tensor/simd_clones.h"

/* Binades of |r|: slot 0 is zero itself, the others hold [2^e, 2^(e+1)) for every exponent of a
 * double. */
#define LOWEST_EXPONENT (-1074)
#define N_BINADES (1024 - LOWEST_EXPONENT + 1)

enum {
	CHUNK = 256, /* elements at once */
	LANES = 8, /* sums side by side */
	FEW_VALUES = 16,
};
#define PIECE ((int64_t)1 << 16) /* elements that are worth a thread; sums are made by piece */

/* The trusted implementation's error on elements of one binade; after all elements, with the other
 * binades included. */
struct binade {
	double abs; /* largest |n - r|, smaller elements included */
	double rel; /* largest |n - r| / |r|, larger elements included */
	int64_t count;
};

struct context {
	enum kgb_dtype dtype;
	const struct kgb_tensor_view *view; /* of the candidate */
	const char *candidate;
	const char *native;
	const double *ref64;
	const double *magnitude;
	const struct kgb_tolerance *tolerance;
	bool is_rounded; /* ref64 is the value before a rounding to a far coarser type */
	double slack; /* of a rounded result: error of that value, relative to S_i */
	double eps, eps_terms, tiny, max;
	double max_term; /* a larger term or partial sum may overflow on the way to a result */
	double chain; /* factor: S_i counts as at least this times abs(r_i) in the bound */
	double chain_of_sizes; /* factor of S_i itself in the bound */
	double flushed; /* absolute error that flushing subnormals to zero may make */
	double median; /* m: a power of two near the median |r|; 0 if all are zero */
	struct binade *binades; /* owned; N_BINADES, and one more of zeros */
};

/* Sums for the bulk line, and the largest error, by element number modulo LANES. */
struct lanes {
	double candidate[LANES], native[LANES], magnitude[LANES];
	double count[LANES];
	double max_abs_err[LANES];
};

static inline size_t binade_of(double magnitude)
{
	uint64_t bits;

	memcpy(&bits, &magnitude, sizeof(bits));
	size_t exponent = bits >> 52; /* biased by 1023; the sign is 0 */
	if (exponent > 0)
		return exponent + (size_t)(-1023 - LOWEST_EXPONENT + 1);
	return magnitude == 0 ? 0 : (size_t)(ilogb(magnitude) - LOWEST_EXPONENT + 1);
}

/* fmax without its handling of NaN, which would need a function call. */
KGB_SIMD_BODY double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Whether the number that is nearest to r in the dtype is finite. */
static inline bool fits(const struct context *x, double r)
{
	return fabs(r) <= x->max || (isfinite(r) && isfinite(kgb_dtype_round(x->dtype, r)));
}

/* Both the expected value and the trusted implementation's are ordinary numbers of the dtype. */
static inline bool is_regular(const struct context *x, double r, double n)
{
	return fabs(n) <= DBL_MAX && fits(x, r);
}

/* ---- the error of the trusted implementation ---- */

/* Lower end of the binade of the lower median over nonzero elements: a few huge or tiny ones do not
 * move it. */
static double median_binade(const struct binade *binades)
{
	int64_t total = 0, seen = 0;

	for (size_t b = 1; b < N_BINADES; b++)
		total += binades[b].count;
	for (size_t b = 1; b < N_BINADES; b++) {
		seen += binades[b].count;
		if (total > 0 && 2 * seen >= total)
			return ldexp(1.0, (int)b - 1 + LOWEST_EXPONENT);
	}
	return 0;
}

static struct binade *new_binades(void)
{
	return kgb_xcalloc(N_BINADES + 1, sizeof(struct binade));
}

static void merge_binades(struct binade *into, const struct binade *from)
{
	for (size_t b = 0; b < N_BINADES; b++) {
		into[b].abs = larger(into[b].abs, from[b].abs);
		into[b].rel = larger(into[b].rel, from[b].rel);
		into[b].count += from[b].count;
	}
}

/* One element. Divide only where the quotient can exceed the maximum so far: its rounding error is
 * far less than 2^-50 of it, and a product below DBL_MIN has no precision. */
static inline void add_native_error(struct binade *binades, double r, double n)
{
	double size = fabs(r), e = fabs(n - r);
	struct binade *binade = &binades[binade_of(size)];
	double enough = binade->rel * (1 - 0x1p-50) * size - DBL_MIN;

	binade->count++;
	binade->abs = larger(binade->abs, e);
	if ((e > 0) & (e > enough) & (size > 0))
		binade->rel = larger(binade->rel, e / size);
}

struct measuring {
	const struct context *x;
	pthread_mutex_t lock; /* of x->binades */
};

static void load_native(const struct context *x, int64_t first, int64_t n, double *out)
{
	kgb_dtype_load_array(x->dtype, x->native + (size_t)first * kgb_dtype_size(x->dtype),
			     (size_t)n, out);
}

static void measure_elements(const struct context *x, int64_t begin, int64_t end,
			     struct binade *binades)
{
	double native[CHUNK];

	for (int64_t first = begin; first < end; first += CHUNK) {
		int64_t n = end - first < CHUNK ? end - first : CHUNK;
		load_native(x, first, n, native);
		for (int64_t i = 0; i < n; i++)
			if (is_regular(x, x->ref64[first + i], native[i]))
				add_native_error(binades, x->ref64[first + i], native[i]);
	}
}

static void measure_piece(void *payload, int64_t begin, int64_t end)
{
	struct measuring *measuring = payload;
	struct binade *binades = new_binades();

	measure_elements(measuring->x, begin, end, binades);
	pthread_mutex_lock(&measuring->lock);
	merge_binades(measuring->x->binades, binades);
	pthread_mutex_unlock(&measuring->lock);
	kgb_free(binades);
}

static void measure_native(struct context *x, int64_t n_elements)
{
	struct measuring measuring = {.x = x, .lock = PTHREAD_MUTEX_INITIALIZER};
	double abs = 0, rel = 0;

	x->binades = new_binades();
	if (n_elements <= PIECE)
		measure_elements(x, 0, n_elements, x->binades);
	else
		kgb_parallel_for(n_elements, PIECE, measure_piece, &measuring);
	x->median = median_binade(x->binades);
	for (size_t b = 0; b < N_BINADES; b++)
		x->binades[b].abs = abs = larger(x->binades[b].abs, abs);
	for (size_t b = N_BINADES; b-- > 0;)
		x->binades[b].rel = rel = larger(x->binades[b].rel, rel);
}

/* E_i for an element of weight w. */
static inline double native_error_at(const struct context *x, double w)
{
	const struct binade *binade = &x->binades[binade_of(w)];

	return larger(binade[0].abs, w * binade[1].rel);
}

/* ---- element by element ---- */

/* Bounds of up to CHUNK elements before they are judged, padded with zeros to a multiple of
 * LANES. */
struct chunk {
	int64_t first, n;
	double c[CHUNK], r[CHUNK], n64[CHUNK];
	double w[CHUNK], magnitude[CHUNK]; /* w_i, S_i or the bound of a chain of additions */
	double native_error[CHUNK]; /* E_i */
	double allowed[CHUNK];
	double is_doubtful[CHUNK]; /* 1: needs a closer look, 0 */
};

struct element {
	int64_t i;
	double c, r, n;
	double w, magnitude;
	double allowed;
};

KGB_SIMD_BODY void weigh_body(const struct context *x, struct chunk *chunk, int64_t n)
{
	double median = x->median, tiny = x->tiny, chain = x->chain, sizes = x->chain_of_sizes;
	double least[CHUNK];

	for (int64_t i = 0; i < n; i++) {
		double size = fabs(chunk->r[i]);
		double own = size <= DBL_MAX ? size : 0; /* NaN too */
		chunk->w[i] = larger(larger(own, median), tiny);
		least[i] = larger(chain * own, chunk->w[i]);
	}
	/* Magnitudes that overflowed do not count. */
	for (int64_t i = 0; x->magnitude && i < n; i++) {
		double size = fabs(chunk->magnitude[i]);
		chunk->magnitude[i] = larger(size <= DBL_MAX ? sizes * size : 0, least[i]);
	}
	if (!x->magnitude)
		memcpy(chunk->magnitude, least, sizeof(least));
}
KGB_SIMD_CLONES(weigh, (const struct context *x, struct chunk *chunk, int64_t n), (x, chunk, n))

KGB_SIMD_BODY void allow_body(const struct context *x, struct chunk *chunk, int64_t n)
{
	double ulps = x->tolerance->ulps, factor = x->tolerance->factor;
	double eps = x->eps, eps_terms = x->eps_terms, flushed = x->flushed;

	for (int64_t i = 0; i < n; i++)
		chunk->allowed[i] = ulps * (eps * chunk->w[i] + eps_terms * chunk->magnitude[i]) +
				    factor * chunk->native_error[i] + flushed;
}
KGB_SIMD_CLONES(allow, (const struct context *x, struct chunk *chunk, int64_t n), (x, chunk, n))

/* An infinity is right if r or the native result is one, or if r is so large that an allowed error
 * carries it past the largest finite value. */
static bool infinity_is_right(const struct context *x, double c, double r, double n, double allowed)
{
	if (c == n || c == r)
		return true;
	return isfinite(r) && signbit(c) == signbit(r) && fabs(r) + allowed >= x->max;
}

/* Whether some order of additions may give NaN or the infinity c. S is the sum of the sizes of all
 * finite terms, so the positive ones come to (S + r) / 2 and the negative ones to (S - r) / 2 where
 * r is finite. NaN is the sum of two infinities; one of them may stand among the terms. */
static bool may_overflow_to(const struct context *x, const struct element *e)
{
	double r = isfinite(e->r) ? e->r : 0;
	double sum = x->magnitude ? fabs(x->magnitude[e->i]) : e->w;
	sum = sum <= DBL_MAX ? larger(sum, e->w) : e->w;
	bool up = (sum + r) / 2 >= x->max_term, down = (sum - r) / 2 >= x->max_term;

	if (isnan(e->c))
		return isfinite(e->r) ? up && down : isinf(e->r) && sum >= x->max_term;
	return isfinite(e->r) && (e->c > 0 ? up : down);
}

static bool finite_is_right(const struct context *x, double c, double r, double n, double allowed)
{
	double loosest = x->tolerance->ulps * x->eps;

	if (fits(x, r))
		return fabs(c - r) <= allowed;
	/* Only rounding overflowed: a saturating conversion is as good as an infinity. */
	if (isfinite(r))
		return signbit(c) == signbit(r) && fabs(c) >= x->max * (1 - loosest);
	/* The trusted implementation took another way around the special value. */
	return isfinite(n) && fabs(c - n) <= x->tolerance->factor * loosest * fabs(n) + x->tiny;
}

/* A zero with the wrong sign: the expected value and the trusted implementation's are both zeros of
 * the other sign. Where these two differ, or one of them is a tiny number, either sign is right. */
static inline bool is_other_zero(double c, double r, double n)
{
	return c == 0 && r == 0 && n == 0 && signbit(r) == signbit(n) && signbit(c) != signbit(n);
}

static bool is_right(const struct context *x, const struct element *e)
{
	if (x->tolerance->zeros && is_other_zero(e->c, e->r, e->n))
		return false;
	if (isnan(e->c))
		return isnan(e->r) || isnan(e->n) || may_overflow_to(x, e);
	if (isinf(e->c))
		return infinity_is_right(x, e->c, e->r, e->n, e->allowed) || may_overflow_to(x, e);
	return finite_is_right(x, e->c, e->r, e->n, e->allowed);
}

/* ---- the tensor as a whole ---- */

static void bulk_add(struct lanes *lanes, const struct element *e)
{
	int lane = (int)(e->i % LANES);
	double per_w = 1 / e->w, q_candidate = (e->c - e->r) * per_w,
	       q_native = (e->n - e->r) * per_w, q_magnitude = e->magnitude * per_w;

	lanes->candidate[lane] += q_candidate * q_candidate;
	lanes->native[lane] += q_native * q_native;
	lanes->magnitude[lane] += q_magnitude * q_magnitude;
	lanes->count[lane]++;
}

/* Below the normal range the spacing is absolute and flushing to zero is fair: the element bound
 * covers it. Numbers that are too large for the dtype but allowed are added one by one
 * (look_closer). */
KGB_SIMD_BODY void bulk_add_chunk_body(const struct context *x, const struct chunk *chunk,
				       int64_t n, struct lanes *lanes)
{
	double tiny = x->tiny, max = x->max;
	struct lanes sums = *lanes;

	for (int64_t i = 0; i < n; i += LANES)
		for (int64_t k = 0; k < LANES; k++) {
			double c = chunk->c[i + k], r = chunk->r[i + k], n64 = chunk->n64[i + k];
			double per_w = 1 / chunk->w[i + k];
			bool counts = (fabs(c) <= DBL_MAX) & (fabs(r) <= max) &
				      (fabs(n64) <= DBL_MAX) & (chunk->w[i + k] > tiny);
			double q_candidate = counts ? (c - r) * per_w : 0;
			double q_native = counts ? (n64 - r) * per_w : 0;
			double q_magnitude = counts ? chunk->magnitude[i + k] * per_w : 0;
			sums.candidate[k] += q_candidate * q_candidate;
			sums.native[k] += q_native * q_native;
			sums.magnitude[k] += q_magnitude * q_magnitude;
			sums.count[k] += counts ? 1 : 0;
		}
	*lanes = sums;
}
KGB_SIMD_CLONES(bulk_add_chunk,
		(const struct context *x, const struct chunk *chunk, int64_t n,
		 struct lanes *lanes),
		(x, chunk, n, lanes))

/* Sums over all lanes. */
struct bulk {
	double candidate, native, magnitude;
	double count;
};

static void bulk_sum(struct bulk *bulk, const struct lanes *lanes)
{
	for (int k = 0; k < LANES; k++) {
		bulk->candidate += lanes->candidate[k];
		bulk->native += lanes->native[k];
		bulk->magnitude += lanes->magnitude[k];
		bulk->count += lanes->count[k];
	}
}

static double allowed_rms(const struct context *x, const struct bulk *bulk, double n_values)
{
	return x->tolerance->factor * sqrt(bulk->native / bulk->count) +
	       x->tolerance->ulps * (x->eps * (0.25 + 1 / sqrt(n_values)) +
				     x->eps_terms * sqrt(bulk->magnitude / bulk->count));
}

/* The number of different values of r, if it is small; else that of all elements. */
static double count_values(const struct context *x)
{
	const int64_t n = kgb_tensor_view_numel(x->view);
	double values[FEW_VALUES];
	int n_values = 0;

	for (int64_t i = 0; i < n; i++) {
		int k = 0;
		while (k < n_values && values[k] != x->ref64[i])
			k++;
		if (k == FEW_VALUES)
			return (double)n;
		if (k == n_values)
			values[n_values++] = x->ref64[i];
	}
	return n_values;
}

/* Elements whose values are equal have equal errors, which count as one. */
static void bulk_judge(const struct context *x, const struct bulk *bulk, struct kgb_compare *out)
{
	if (bulk->count == 0)
		return;
	out->rms_err = sqrt(bulk->candidate / bulk->count);
	out->allowed_rms_err = allowed_rms(x, bulk, bulk->count);
	if (!(out->rms_err <= out->allowed_rms_err))
		out->allowed_rms_err = allowed_rms(x, bulk, fmin(count_values(x), bulk->count));
	out->rms_failed = !(out->rms_err <= out->allowed_rms_err);
	if (out->rms_err > 0)
		out->share = larger(out->rms_err / out->allowed_rms_err, out->share);
}

/* ---- all together ---- */

/* The findings in one piece of the tensor. */
struct finding {
	struct kgb_compare out; /* of its elements; fields about the whole are not set */
	bool has_misplaced; /* the reported element is a misplaced NaN or infinity: the first one
			       stays */
	double ratio; /* error over allowed error of the reported element */
	struct lanes lanes;
};

static void report(struct finding *found, const struct element *e)
{
	found->out.reported = e->i;
	found->out.expected = e->r;
	found->out.got = e->c;
	found->out.allowed_abs_err = e->allowed;
}

static void note_element(struct finding *found, const struct element *e, bool right)
{
	bool finite = isfinite(e->c) && isfinite(e->r);
	double err = finite ? fabs(e->c - e->r) : 0;
	double ratio = err == 0 ? 0 : err / e->allowed; /* infinite when no error is allowed */

	if (!right && err == 0) /* the other zero, or an integer with the same double */
		ratio = (double)INFINITY;

	found->out.max_abs_err = larger(found->out.max_abs_err, err);
	if (!right && found->out.n_wrong++ == 0)
		found->out.first_wrong = e->i;
	if (!right && !finite && !found->has_misplaced) {
		found->has_misplaced = true;
		report(found, e);
	} else if (!found->has_misplaced && (e->i == 0 || ratio > found->ratio)) {
		found->ratio = ratio;
		report(found, e);
	}
}

/* Most elements are right and farther from their bound than another one: then only the error
 * counts. If only a division can decide, the element is doubtful. Returns the number of doubtful
 * elements. */
KGB_SIMD_BODY void doubt_body(const struct context *x, struct chunk *chunk, int64_t n, double ratio,
			      struct lanes *lanes, double *n_doubtful)
{
	double max = x->max, less = ratio * (1 - 0x1p-50);
	double count[LANES] = {0}, worst[LANES];

	memcpy(worst, lanes->max_abs_err, sizeof(worst));
	for (int64_t i = 0; i < n; i += LANES)
		for (int64_t k = 0; k < LANES; k++) {
			double r = chunk->r[i + k], allowed = chunk->allowed[i + k];
			double err = fabs(chunk->c[i + k] - r);
			double wrong =
				((err <= DBL_MAX) & (fabs(r) <= max) & (err <= allowed)) ? 0 : 1;
			double worse = ((err > 0) & (err > less * allowed - DBL_MIN)) ? 1 : 0;
			double doubtful = larger(wrong, worse);
			double plain_err = doubtful > 0 ? 0 : err;
			worst[k] = larger(plain_err, worst[k]);
			chunk->is_doubtful[i + k] = doubtful;
			count[k] += doubtful;
		}
	memcpy(lanes->max_abs_err, worst, sizeof(worst));
	for (int k = 0; k < LANES; k++)
		*n_doubtful += count[k];
}
KGB_SIMD_CLONES(doubt,
		(const struct context *x, struct chunk *chunk, int64_t n, double ratio,
		 struct lanes *lanes, double *n_doubtful),
		(x, chunk, n, ratio, lanes, n_doubtful))

/* Find zeros of the wrong sign, whose error is 0. Returns their number. */
static double doubt_zeros(struct chunk *chunk)
{
	double count = 0;

	for (int64_t i = 0; i < chunk->n; i++)
		if (is_other_zero(chunk->c[i], chunk->r[i], chunk->n64[i]))
			count += chunk->is_doubtful[i] = 1;
	return count;
}

static void look_closer(const struct context *x, const struct chunk *chunk, int64_t i,
			struct finding *found)
{
	struct element e = {.i = chunk->first + i,
			    .c = chunk->c[i],
			    .r = chunk->r[i],
			    .n = chunk->n64[i],
			    .w = chunk->w[i],
			    .magnitude = chunk->magnitude[i],
			    .allowed = chunk->allowed[i]};

	note_element(found, &e, is_right(x, &e));
	if (fabs(e.r) > x->max && fabs(e.c) <= DBL_MAX && is_regular(x, e.r, e.n))
		bulk_add(&found->lanes, &e);
}

static void merge(struct finding *into, const struct finding *from)
{
	into->out.max_abs_err = larger(into->out.max_abs_err, from->out.max_abs_err);
	if (into->out.n_wrong == 0)
		into->out.first_wrong = from->out.first_wrong;
	into->out.n_wrong += from->out.n_wrong;
	if (into->has_misplaced || !(from->has_misplaced || from->ratio > into->ratio))
		return;
	into->has_misplaced = from->has_misplaced;
	into->ratio = from->ratio;
	into->out.reported = from->out.reported;
	into->out.expected = from->out.expected;
	into->out.got = from->out.got;
	into->out.allowed_abs_err = from->out.allowed_abs_err;
}

struct comparison {
	const struct context *x;
	bool is_contiguous;
	bool ends_early; /* at the first wrong element */
	struct finding *found; /* of each piece */
	_Atomic bool has_wrong;
};

/* The candidate's elements first to first + n - 1, in place or gathered in `buffer`. */
static const char *candidate_part(const struct comparison *comparison, int64_t first, int64_t n,
				  char *buffer)
{
	const struct context *x = comparison->x;

	if (comparison->is_contiguous)
		return x->candidate + (size_t)(x->view->offset + first) * kgb_dtype_size(x->dtype);
	kgb_tensor_view_gather_part(x->view, x->candidate, first, n, buffer);
	return buffer;
}

static void load_chunk(const struct context *x, const char *candidate, struct chunk *chunk)
{
	size_t n = (size_t)chunk->n, padding = (CHUNK - n) * sizeof(double);

	kgb_dtype_load_array(x->dtype, candidate, n, chunk->c);
	load_native(x, chunk->first, chunk->n, chunk->n64);
	memcpy(chunk->r, x->ref64 + chunk->first, n * sizeof(double));
	memset(chunk->c + n, 0, padding);
	memset(chunk->n64 + n, 0, padding);
	memset(chunk->r + n, 0, padding);
	if (!x->magnitude)
		return;
	memcpy(chunk->magnitude, x->magnitude + chunk->first, n * sizeof(double));
	memset(chunk->magnitude + n, 0, padding);
}

static void compare_floats(const struct context *x, struct finding *found, const char *candidate,
			   struct chunk *chunk)
{
	int64_t n = (chunk->n + LANES - 1) / LANES * LANES;
	double n_doubtful = 0;

	load_chunk(x, candidate, chunk);
	weigh(x, chunk, n);
	for (int64_t i = 0; i < n; i++)
		chunk->native_error[i] = native_error_at(x, chunk->w[i]);
	allow(x, chunk, n);
	for (int64_t i = chunk->n; i < n; i++)
		chunk->w[i] = 0; /* does not count */
	bulk_add_chunk(x, chunk, n, &found->lanes);
	doubt(x, chunk, n, found->ratio, &found->lanes, &n_doubtful);
	if (x->tolerance->zeros)
		n_doubtful += doubt_zeros(chunk);
	if (chunk->first == 0) /* reported if no other is */
		n_doubtful += chunk->is_doubtful[0] = 1;
	for (int64_t i = 0; n_doubtful > 0 && i < chunk->n; i++)
		if (chunk->is_doubtful[i] > 0)
			look_closer(x, chunk, i, found);
}

static void compare_integers(const struct context *x, struct finding *found, const char *candidate,
			     int64_t first, int64_t n)
{
	size_t size = kgb_dtype_size(x->dtype);
	const char *native = x->native + (size_t)first * size;

	/* If all elements are equal, only element 0 is reported. */
	if (first > 0 && memcmp(candidate, native, (size_t)n * size) == 0)
		return;
	for (int64_t i = 0; i < n; i++) {
		int64_t got = kgb_dtype_load_i64(x->dtype, candidate + (size_t)i * size);
		int64_t expected = kgb_dtype_load_i64(x->dtype, native + (size_t)i * size);
		struct element e = {
			.i = first + i, .c = (double)got, .r = (double)expected, .allowed = 0};
		note_element(found, &e, got == expected);
	}
}

static bool is_same(const struct context *x, double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	return a == b && (!x->tolerance->zeros || signbit(a) == signbit(b));
}

/* A NaN that was moved and not computed must have all bits of the trusted implementation's. */
static bool is_moved_nan(const struct context *x, const char *got, const char *expected)
{
	return !x->tolerance->has_nan_bits || memcmp(got, expected, kgb_dtype_size(x->dtype)) == 0;
}

/* The trusted implementation's result is right, and so is the truth rounded once: torch converts
 * whole numbers to 16 bits by way of float32. */
static void compare_exactly(const struct context *x, struct finding *found, const char *candidate,
			    int64_t first, int64_t n)
{
	size_t size = kgb_dtype_size(x->dtype);
	const char *native = x->native + (size_t)first * size;

	if (first > 0 && memcmp(candidate, native, (size_t)n * size) == 0)
		return;
	for (int64_t i = 0; i < n; i++) {
		double got = kgb_dtype_load(x->dtype, candidate + (size_t)i * size);
		double expected = kgb_dtype_load(x->dtype, native + (size_t)i * size);
		bool right = is_same(x, got, expected) ||
			     is_same(x, got, kgb_dtype_round(x->dtype, x->ref64[first + i]));
		if (isnan(got) && isnan(expected))
			right = is_moved_nan(x, candidate + (size_t)i * size,
					     native + (size_t)i * size);
		struct element e = {
			.i = first + i, .c = got, .r = right ? got : expected, .allowed = 0};
		note_element(found, &e, right);
	}
}

/* ---- rounded results ---- */

/* `value` rounded to the dtype; beyond its range the largest number of that sign. */
static double saturated(enum kgb_dtype dtype, double value)
{
	double max = kgb_dtype_max(dtype);

	if (!kgb_dtype_is_float(dtype))
		return kgb_dtype_round(dtype, value);
	return kgb_dtype_round(dtype, fmin(fmax(value, -max), max));
}

static bool is_rounding_of(enum kgb_dtype dtype, struct element *e, double slack)
{
	if (isnan(e->r) || isnan(e->c))
		return isnan(e->r) && isnan(e->c);
	double low = saturated(dtype, e->r - slack), high = saturated(dtype, e->r + slack);
	e->allowed = fmax(fabs(low - e->r), fabs(high - e->r));
	return low <= e->c && e->c <= high;
}

static void compare_roundings(const struct context *x, struct finding *found, const char *candidate,
			      int64_t first, int64_t n)
{
	const size_t size = kgb_dtype_size(x->dtype);

	for (int64_t i = first; i < first + n; i++, candidate += size) {
		const bool is_native = memcmp(candidate, x->native + (size_t)i * size, size) == 0;
		if (i > 0 && is_native)
			continue;
		struct element e = {
			.i = i, .c = kgb_dtype_load(x->dtype, candidate), .r = x->ref64[i]};
		double slack = x->slack * fabs(x->magnitude ? x->magnitude[i] : e.r);
		bool right = is_rounding_of(x->dtype, &e, slack) || is_native;
		note_element(found, &e, right);
	}
}

/* ---- all elements ---- */

static void compare_piece(void *payload, int64_t begin, int64_t end)
{
	struct comparison *comparison = payload;
	const struct context *x = comparison->x;
	struct finding found = {.out = {.first_wrong = -1, .reported = -1}};
	char buffer[CHUNK * sizeof(int64_t)];
	struct chunk chunk;

	for (int64_t first = begin; first < end; first += CHUNK) {
		if (comparison->ends_early && atomic_load(&comparison->has_wrong))
			return;
		int64_t n = end - first < CHUNK ? end - first : CHUNK;
		const char *candidate = candidate_part(comparison, first, n, buffer);
		chunk.first = first;
		chunk.n = n;
		if (x->is_rounded)
			compare_roundings(x, &found, candidate, first, n);
		else if (kgb_dtype_is_float(x->dtype) && x->tolerance->is_exact)
			compare_exactly(x, &found, candidate, first, n);
		else if (kgb_dtype_is_float(x->dtype))
			compare_floats(x, &found, candidate, &chunk);
		else
			compare_integers(x, &found, candidate, first, n);
		if (comparison->ends_early && found.out.n_wrong > 0)
			atomic_store(&comparison->has_wrong, true);
	}
	for (int k = 0; k < LANES; k++)
		found.out.max_abs_err = larger(found.out.max_abs_err, found.lanes.max_abs_err[k]);
	comparison->found[begin / PIECE] = found;
}

/* The findings of all pieces, in their order: sums are rounded the same for any number of threads.
 */
static void compare_all(const struct context *x, bool ends_early, struct kgb_compare *out)
{
	int64_t n = kgb_tensor_view_numel(x->view), n_pieces = (n + PIECE - 1) / PIECE;
	struct finding total = {.out = {.first_wrong = -1, .reported = -1}};
	KGB_AUTO(free)
	struct finding *found = kgb_xcalloc((size_t)n_pieces + 1, sizeof(*found));
	struct bulk bulk = {0};
	struct comparison comparison = {.x = x,
					.is_contiguous = kgb_tensor_view_is_contiguous(x->view),
					.ends_early = ends_early,
					.found = found};

	kgb_parallel_for(n, PIECE, compare_piece, &comparison);
	for (int64_t i = 0; i < n_pieces; i++) {
		bulk_sum(&bulk, &found[i].lanes);
		if (i == 0)
			total = found[0];
		else
			merge(&total, &found[i]);
	}
	*out = total.out;
	out->n_elements = n;
	out->share = kgb_dtype_is_float(x->dtype) && !x->is_rounded ? total.ratio : 0;
	bulk_judge(x, &bulk, out);
	out->ok = out->n_wrong == 0 && !out->rms_failed && !comparison.has_wrong;
}

/* A chain of float32 additions: rounding errors of a sequential sum of n positive terms come to
 * about eps / 6 * sqrt(n) of the sum. 4 eps (times ulps, 2) are four times as much for 144 terms;
 * for more of them see chain_of. Or, if that is more and the spec allows it, one rounding of each
 * term to the result's dtype. In float64 the truth has rounding errors of its own, and the native
 * result has the same ones, so that its error is no measure: 16 times as much. */
static double eps_of_terms(enum kgb_accumulate accumulate, double eps)
{
	const bool is_wide = eps < (double)FLT_EPSILON;
	double chain = is_wide ? 64 * eps : 4 * (double)FLT_EPSILON;

	return accumulate == KGB_ACCUMULATE_RESULT ? fmax(chain, eps / 2) : chain;
}

/* Where terms cancel, abs(r) is small beside S, and so is the error of their sums, if it is
 * rounded. A sequential sum of n equal terms errs up to n / 8 eps. Tensor cores cut off after 16
 * products, which are 32 terms: up to 1.9 eps each time were seen, always towards zero
 * (docs/tolerance.md). eps_S times ulps, 8 eps, allow n / 4 eps and 3.2 eps. Longer sums, as those
 * of losses, are not added up in one chain. */
static double chain_of(const struct kgb_tolerance *tolerance)
{
	const double n = tolerance->n_terms, longest = fmin(n, 40000);
	const double rounded = sqrt(n / 144);

	if (tolerance->has_equal_terms)
		return fmax(rounded, longest / 32);
	return tolerance->cuts_off ? fmax(rounded, longest / 80) : rounded;
}

/* The largest number of the coarsest type that terms may have: a little less, as they are rounded.
 */
static double largest_term(enum kgb_accumulate accumulate, enum kgb_dtype dtype)
{
	double max = kgb_dtype_max(dtype);

	if (accumulate != KGB_ACCUMULATE_RESULT)
		max = fmax(max, (double)FLT_MAX);
	return max * (1 - kgb_dtype_eps(dtype));
}

static void compare_parts(const struct kgb_tensor_view *cand_view, const void *candidate,
			  const void *native, const double *ref64, const double *magnitude,
			  const struct kgb_tolerance *tolerance, bool ends_early,
			  struct kgb_compare *out)
{
	const struct kgb_tensor_view parts = kgb_tensor_view_parts(cand_view);
	enum kgb_dtype dtype = parts.dtype;
	double eps = kgb_dtype_eps(dtype);
	struct context x = {
		.dtype = dtype,
		.view = &parts,
		.candidate = candidate,
		.native = native,
		.ref64 = ref64,
		.magnitude = magnitude,
		.tolerance = tolerance,
		.eps = eps,
		.eps_terms = eps_of_terms(tolerance->accumulate, eps),
		.tiny = kgb_dtype_tiny(dtype),
		.max = kgb_dtype_max(dtype),
		.max_term = largest_term(tolerance->accumulate, dtype),
		.chain = chain_of(tolerance),
		.chain_of_sizes = tolerance->cuts_off ? fmax(1, chain_of(tolerance)) : 1,
		/* No hardware flushes these, whose subnormals are of ordinary size. */
		.flushed = dtype == KGB_DTYPE_FLOAT16 || dtype == KGB_DTYPE_FLOAT8_E4M3FN
				   ? 0
				   : kgb_dtype_tiny(dtype),
	};

	if (!kgb_dtype_is_float(dtype) || tolerance->is_exact) {
		compare_all(&x, ends_early, out);
		return;
	}
	measure_native(&x, kgb_tensor_view_numel(&parts));
	compare_all(&x, ends_early, out);
	kgb_free(x.binades);
}

void kgb_compare(const struct kgb_tensor_view *cand_view, const void *candidate, const void *native,
		 const double *ref64, const double *magnitude,
		 const struct kgb_tolerance *tolerance, struct kgb_compare *out)
{
	compare_parts(cand_view, candidate, native, ref64, magnitude, tolerance, false, out);
	if (!kgb_dtype_is_complex(cand_view->dtype))
		return;
	out->first_wrong = out->first_wrong < 0 ? -1 : out->first_wrong / 2;
	out->reported = out->reported < 0 ? -1 : out->reported / 2;
}

bool kgb_compare_passes(const struct kgb_tensor_view *cand_view, const void *candidate,
			const void *native, const double *ref64, const double *magnitude,
			const struct kgb_tolerance *tolerance)
{
	struct kgb_compare out;

	compare_parts(cand_view, candidate, native, ref64, magnitude, tolerance, true, &out);
	return out.ok;
}

static void compare_rounded(const struct kgb_tensor_view *cand_view, const void *candidate,
			    const void *native, const double *ref64, const double *magnitude,
			    double slack, bool ends_early, struct kgb_compare *out)
{
	static const struct kgb_tolerance none = {0};
	const struct context x = {.dtype = cand_view->dtype,
				  .view = cand_view,
				  .candidate = candidate,
				  .native = native,
				  .ref64 = ref64,
				  .magnitude = magnitude,
				  .tolerance = &none,
				  .is_rounded = true,
				  .slack = slack};

	compare_all(&x, ends_early, out);
}

void kgb_compare_rounded(const struct kgb_tensor_view *cand_view, const void *candidate,
			 const void *native, const double *ref64, const double *magnitude,
			 double eps, const struct kgb_tolerance *tolerance, struct kgb_compare *out)
{
	compare_rounded(cand_view, candidate, native, ref64, magnitude, tolerance->ulps * eps,
			false, out);
}

bool kgb_compare_rounded_passes(const struct kgb_tensor_view *cand_view, const void *candidate,
				const void *native, const double *ref64, const double *magnitude,
				double eps, const struct kgb_tolerance *tolerance)
{
	struct kgb_compare out;

	compare_rounded(cand_view, candidate, native, ref64, magnitude, tolerance->ulps * eps, true,
			&out);
	return out.ok;
}
