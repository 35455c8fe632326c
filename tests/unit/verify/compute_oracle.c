/* SPDX-License-Identifier: MIT */
#include "tests/unit/verify/compute_oracle.h"

#include <float.h>
#include <math.h>

#include "base/mem.h"

/* ---- comparison ---- */

/* Binades of |r|: slot 0 is zero itself, the others hold [2^e, 2^(e+1)) for every exponent of a
 * double. */
#define LOWEST_EXPONENT (-1074)
#define N_BINADES (1024 - LOWEST_EXPONENT + 1)

/* The trusted implementation's own error by size of the element. */
struct native_error {
	double *abs; /* [b]: largest |n - r| over elements of binade <= b */
	double *rel; /* [b]: largest |n - r| / |r| over elements of binade >= b */
	int64_t *count; /* [b]: elements of binade b */
};

struct context {
	enum kgb_dtype dtype;
	const char *candidate;
	const char *native;
	const double *ref64;
	const double *magnitude;
	const struct kgb_tolerance *tolerance;
	double eps, eps_terms, tiny, max;
	double flushed; /* absolute error that flushing subnormals to zero may make */
	double median; /* m: a power of two near the median |r|; 0 if all are zero */
	struct native_error error;
};

/* Sums for the bulk line. */
struct bulk {
	double candidate, native, magnitude;
	int64_t count;
};

static size_t binade_of(double magnitude)
{
	uint64_t bits;

	memcpy(&bits, &magnitude, sizeof(bits));
	size_t exponent = bits >> 52; /* biased by 1023; the sign is 0 */
	if (exponent > 0)
		return exponent + (size_t)(-1023 - LOWEST_EXPONENT + 1);
	return magnitude == 0 ? 0 : (size_t)(ilogb(magnitude) - LOWEST_EXPONENT + 1);
}

/* fmax without its care for NaN, which makes it a call. */
static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Is the number that is nearest to r in the dtype finite? */
static bool fits(const struct context *x, double r)
{
	return fabs(r) <= x->max || (isfinite(r) && isfinite(kgb_dtype_round(x->dtype, r)));
}

static double load_native(const struct context *x, int64_t i)
{
	return kgb_dtype_load(x->dtype, x->native + (size_t)i * kgb_dtype_size(x->dtype));
}

/* Both what is expected and what the trusted implementation made of it are ordinary numbers of the
 * dtype. */
static bool is_regular(const struct context *x, double r, double n)
{
	return isfinite(n) && fits(x, r);
}

/* ---- what the trusted implementation tells ---- */

/* Lower end of the binade of the lower median over nonzero elements: a few huge or tiny ones do not
 * move it. */
static double median_binade(const int64_t *count)
{
	int64_t total = 0, seen = 0;

	for (size_t b = 1; b < N_BINADES; b++)
		total += count[b];
	for (size_t b = 1; b < N_BINADES; b++) {
		seen += count[b];
		if (total > 0 && 2 * seen >= total)
			return ldexp(1.0, (int)b - 1 + LOWEST_EXPONENT);
	}
	return 0;
}

static void measure_native(struct context *x, int64_t n_elements)
{
	struct native_error *error = &x->error;

	error->abs = kgb_xcalloc(N_BINADES, sizeof(*error->abs));
	error->rel = kgb_xcalloc(N_BINADES, sizeof(*error->rel));
	error->count = kgb_xcalloc(N_BINADES, sizeof(*error->count));
	for (int64_t i = 0; i < n_elements; i++) {
		double r = x->ref64[i], n = load_native(x, i);
		if (!is_regular(x, r, n))
			continue;
		size_t b = binade_of(fabs(r));
		double e = fabs(n - r);
		error->count[b]++;
		error->abs[b] = larger(error->abs[b], e);
		if (b > 0)
			error->rel[b] = larger(error->rel[b], e / fabs(r));
	}
	for (size_t b = 1; b < N_BINADES; b++)
		error->abs[b] = larger(error->abs[b], error->abs[b - 1]);
	for (size_t b = N_BINADES - 1; b > 0; b--)
		error->rel[b - 1] = larger(error->rel[b - 1], error->rel[b]);
	x->median = median_binade(error->count);
}

/* E_i for an element of weight w. */
static double native_error_at(const struct context *x, double w)
{
	size_t b = binade_of(w);
	double from_larger = b + 1 < N_BINADES ? w * x->error.rel[b + 1] : 0;
	return larger(x->error.abs[b], from_larger);
}

/* ---- element by element ---- */

static double weight_at(const struct context *x, double r)
{
	double own = isfinite(r) ? fabs(r) : 0;
	return larger(larger(own, x->median), x->tiny);
}

/* S_i. Magnitudes that overflowed say nothing. */
static double magnitude_at(const struct context *x, int64_t i, double w)
{
	return x->magnitude && isfinite(x->magnitude[i]) ? larger(fabs(x->magnitude[i]), w) : w;
}

static double allowed_at(const struct context *x, int64_t i)
{
	double w = weight_at(x, x->ref64[i]);
	return x->tolerance->ulps * (x->eps * w + x->eps_terms * magnitude_at(x, i, w)) +
	       x->tolerance->factor * native_error_at(x, w) + x->flushed;
}

/* An infinity is right where r is one, where the native result is one, and where r is so large that
 * an allowed error carries it past the largest finite value. */
static bool infinity_is_right(const struct context *x, double c, double r, double n, double allowed)
{
	if (c == n || c == r)
		return true;
	return isfinite(r) && signbit(c) == signbit(r) && fabs(r) + allowed >= x->max;
}

/* A sum of terms of one sign that leaves the range of their type. */
static bool may_overflow_to(const struct context *x, double c, double r, double magnitude)
{
	bool by_terms = x->tolerance->accumulate == KGB_ACCUMULATE_RESULT;
	double max = by_terms ? x->max : larger(x->max, (double)FLT_MAX),
	       limit = max - max * x->eps;
	double positive = (magnitude + r) / 2, negative = (magnitude - r) / 2;

	if (isnan(r))
		return false;
	if (isinf(r))
		return isnan(c) && magnitude >= limit;
	return (positive >= limit || (isinf(c) && c < 0)) &&
	       (negative >= limit || (isinf(c) && c > 0));
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

static bool element_is_right(const struct context *x, double c, double r, double n, double allowed,
			     double magnitude)
{
	if (x->tolerance->zeros && c == 0 && r == 0 && n == 0 && signbit(r) == signbit(n) &&
	    signbit(c) != signbit(n))
		return false;
	if (isnan(c))
		return isnan(r) || isnan(n) || may_overflow_to(x, c, r, magnitude);
	if (isinf(c))
		return infinity_is_right(x, c, r, n, allowed) ||
		       may_overflow_to(x, c, r, magnitude);
	return finite_is_right(x, c, r, n, allowed);
}

/* ---- the tensor as a whole ---- */

static void bulk_add(const struct context *x, struct bulk *bulk, int64_t i, double c, double r,
		     double n)
{
	double w = weight_at(x, r);

	/* Below the normal range the spacing is absolute and flushing to zero is fair: the element
	 * bound covers it. */
	if (!is_regular(x, r, n) || !isfinite(c) || w <= x->tiny)
		return;
	double q_candidate = (c - r) / w, q_native = (n - r) / w,
	       q_magnitude = magnitude_at(x, i, w) / w;
	bulk->candidate += q_candidate * q_candidate;
	bulk->native += q_native * q_native;
	bulk->magnitude += q_magnitude * q_magnitude;
	bulk->count++;
}

static void bulk_judge(const struct context *x, const struct bulk *bulk, struct kgb_compare *out)
{
	if (bulk->count == 0)
		return;
	double count = (double)bulk->count;
	out->rms_err = sqrt(bulk->candidate / count);
	out->allowed_rms_err = x->tolerance->factor * sqrt(bulk->native / count) +
			       x->tolerance->ulps * (x->eps * (0.25 + 1 / sqrt(count)) +
						     x->eps_terms * sqrt(bulk->magnitude / count));
	out->rms_failed = !(out->rms_err <= out->allowed_rms_err);
}

/* ---- all together ---- */

/* Which element the report speaks of. */
struct worst {
	bool has_misplaced; /* the reported element is a misplaced NaN or infinity: the first one
			       stays */
	double ratio; /* error over allowed error of the reported element */
};

static void report(struct kgb_compare *out, int64_t i, double expected, double got, double allowed)
{
	out->reported = i;
	out->expected = expected;
	out->got = got;
	out->allowed_abs_err = allowed;
}

static void note_element(struct kgb_compare *out, struct worst *worst, int64_t i, double c,
			 double r, double allowed, bool right)
{
	bool finite = isfinite(c) && isfinite(r);
	double err = finite ? fabs(c - r) : 0;
	double ratio = err == 0 ? 0 : err / allowed; /* infinite when nothing is allowed */

	if (!right && err == 0)
		ratio = (double)INFINITY;
	out->max_abs_err = larger(out->max_abs_err, err);
	if (!right && out->n_wrong++ == 0)
		out->first_wrong = i;
	if (!right && !finite && !worst->has_misplaced) {
		worst->has_misplaced = true;
		report(out, i, r, c, allowed);
	} else if (!worst->has_misplaced && (out->reported < 0 || ratio > worst->ratio)) {
		worst->ratio = ratio;
		report(out, i, r, c, allowed);
	}
}

static void compare_floats(struct context *x, const struct kgb_tensor_view *view,
			   struct kgb_compare *out)
{
	struct worst worst = {0};
	struct bulk bulk = {0};
	struct kgb_tensor_view_walk walk;

	measure_native(x, out->n_elements);
	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < out->n_elements; i++, kgb_tensor_view_walk_next(&walk)) {
		double c = kgb_dtype_load(
			x->dtype, x->candidate + (size_t)walk.at * kgb_dtype_size(x->dtype));
		double r = x->ref64[i], n = load_native(x, i);
		double allowed = allowed_at(x, i);
		double magnitude = magnitude_at(x, i, weight_at(x, r));
		note_element(out, &worst, i, c, r, allowed,
			     element_is_right(x, c, r, n, allowed, magnitude));
		bulk_add(x, &bulk, i, c, r, n);
	}
	bulk_judge(x, &bulk, out);
	kgb_free(x->error.abs);
	kgb_free(x->error.rel);
	kgb_free(x->error.count);
}

static bool same_number(const struct context *x, double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	if (x->tolerance->zeros && !signbit(a) != !signbit(b))
		return false;
	return a == b;
}

static void compare_exactly(const struct context *x, const struct kgb_tensor_view *view,
			    struct kgb_compare *out)
{
	size_t size = kgb_dtype_size(x->dtype);
	struct worst worst = {0};
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < out->n_elements; i++, kgb_tensor_view_walk_next(&walk)) {
		double c = kgb_dtype_load(x->dtype, x->candidate + (size_t)walk.at * size);
		double n = load_native(x, i), once = kgb_dtype_round(x->dtype, x->ref64[i]);
		bool right = same_number(x, c, n) || same_number(x, c, once);
		note_element(out, &worst, i, c, right ? c : n, 0, right);
	}
}

static void compare_integers(const struct context *x, const struct kgb_tensor_view *view,
			     struct kgb_compare *out)
{
	size_t size = kgb_dtype_size(x->dtype);
	struct worst worst = {0};
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < out->n_elements; i++, kgb_tensor_view_walk_next(&walk)) {
		int64_t c = kgb_dtype_load_i64(x->dtype, x->candidate + (size_t)walk.at * size);
		int64_t n = kgb_dtype_load_i64(x->dtype, x->native + (size_t)i * size);
		note_element(out, &worst, i, (double)c, (double)n, 0, c == n);
	}
}

/* A chain of float32 additions, or one rounding of each term where that is more: docs/tolerance.md.
 */
static double eps_of_terms(enum kgb_accumulate accumulate, double eps)
{
	const bool is_wide = eps < (double)FLT_EPSILON;
	double chain = is_wide ? 64 * eps : 4 * (double)FLT_EPSILON;

	return accumulate == KGB_ACCUMULATE_RESULT ? fmax(chain, eps / 2) : chain;
}

void oracle_compare(const struct kgb_tensor_view *cand_view, const void *candidate,
		    const void *native, const double *ref64, const double *magnitude,
		    const struct kgb_tolerance *tolerance, struct kgb_compare *out)
{
	enum kgb_dtype dtype = cand_view->dtype;
	double eps = kgb_dtype_eps(dtype);
	struct context x = {
		.dtype = dtype,
		.candidate = candidate,
		.native = native,
		.ref64 = ref64,
		.magnitude = magnitude,
		.tolerance = tolerance,
		.eps = eps,
		.eps_terms = eps_of_terms(tolerance->accumulate, eps),
		.tiny = kgb_dtype_tiny(dtype),
		.max = kgb_dtype_max(dtype),
		/* No hardware flushes float16, whose subnormals are of ordinary size. */
		.flushed = dtype == KGB_DTYPE_FLOAT16 || dtype == KGB_DTYPE_FLOAT8_E4M3FN
				   ? 0
				   : kgb_dtype_tiny(dtype),
	};

	*out = (struct kgb_compare){
		.n_elements = kgb_tensor_view_numel(cand_view), .first_wrong = -1, .reported = -1};
	if (kgb_dtype_is_float(dtype) && tolerance->is_exact)
		compare_exactly(&x, cand_view, out);
	else if (kgb_dtype_is_float(dtype))
		compare_floats(&x, cand_view, out);
	else
		compare_integers(&x, cand_view, out);
	out->ok = out->n_wrong == 0 && !out->rms_failed;
}

/* ---- inputs ---- */

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

/* Integers are drawn as such, so that every value of int64 can come exactly. */
static void draw(const struct kgb_arg *arg, struct kgb_rng *rng, void *p)
{
	double value = 1;

	switch ((int)arg->fill) { /* others are drawn for whole tensors: fill_structured.c */
	case KGB_FILL_NORMAL:
		value = kgb_rng_normal(rng);
		break;
	case KGB_FILL_POSITIVE:
		value = fabs(kgb_rng_normal(rng));
		break;
	case KGB_FILL_UNIFORM:
		value = arg->lo + (arg->hi - arg->lo) * kgb_rng_uniform(rng);
		break;
	case KGB_FILL_INT:
		value = (double)kgb_rng_int(rng, (int64_t)ceil(arg->lo), (int64_t)floor(arg->hi));
		break;
	case KGB_FILL_BOOL:
		value = kgb_rng_u32(rng) & 1;
		break;
	case KGB_FILL_SIGNS: {
		uint32_t bits = kgb_rng_u32(rng);
		value = (bits & 2) ? (double)(bits & 1) : (bits & 1) ? -0.0 : -1;
		break;
	}
	case KGB_FILL_ONES:
		break;
	default:
		KGB_UNREACHABLE();
	}
	kgb_dtype_store(arg->view.dtype, p, value);
}

static void enlarge(enum kgb_dtype dtype, void *p)
{
	const double value = kgb_dtype_load(dtype, p) * OUTLIER_FACTOR;

	if (isfinite(kgb_dtype_round(dtype, value)))
		kgb_dtype_store(dtype, p, value);
}

static void add_outliers(const struct kgb_tensor_view *view, struct kgb_rng *rng, void *storage)
{
	int64_t n = kgb_tensor_view_numel(view), n_outliers = 0;
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk)) {
		if (kgb_rng_uniform(rng) >= OUTLIER_PROBABILITY)
			continue;
		enlarge(view->dtype, element_at(view, storage, walk.at));
		n_outliers++;
	}
	if (n_outliers == 0)
		enlarge(view->dtype, random_element(view, storage, rng));
}

/* Subnormal inputs of float16 only: hardware and compilers flush those of the other types as they
 * like (Triton's rsqrt and floor do), so they would tell of the compiler and not of the kernel. */
static void store_special_float(enum kgb_dtype dtype, int64_t which, void *p)
{
	double max = kgb_dtype_max(dtype), tiny = kgb_dtype_tiny(dtype), eps = kgb_dtype_eps(dtype);
	bool is_half = dtype == KGB_DTYPE_FLOAT16;
	const double values[] = {(double)INFINITY,
				 -(double)INFINITY,
				 (double)NAN,
				 0.0,
				 -0.0,
				 max,
				 -max,
				 tiny,
				 -tiny,
				 is_half ? tiny * eps : tiny * (1 + eps),
				 is_half ? tiny * (eps - 1) : -tiny * (1 + eps)};
	kgb_dtype_store(dtype, p, values[which % (int64_t)KGB_ARRAY_LEN(values)]);
}

static void store_special_int(enum kgb_dtype dtype, int64_t which, void *p)
{
	const int64_t values[] = {kgb_dtype_min_i64(dtype), kgb_dtype_max_i64(dtype), 0, 1, -1};
	kgb_dtype_store_i64(dtype, p, values[which % (int64_t)KGB_ARRAY_LEN(values)]);
}

static void store_special(enum kgb_dtype dtype, int64_t which, void *p)
{
	if (kgb_dtype_is_float(dtype))
		store_special_float(dtype, which, p);
	else
		store_special_int(dtype, which, p);
}

static int first_of_longest(const struct kgb_tensor_view *view)
{
	int d = view->ndim - 1;

	for (int k = view->ndim - 1; k >= 0; k--)
		d = view->sizes[k] >= view->sizes[d] ? k : d;
	return d;
}

static void store_between(const struct kgb_tensor_view *view, const int64_t *low,
			  const int64_t *high, int64_t which, void *storage)
{
	for (int64_t i = 0; i < kgb_tensor_view_numel(view); i++) {
		int64_t rest = i;
		bool inside = true;
		for (int k = view->ndim - 1; k >= 0; k--, rest /= view->sizes[k + 1])
			inside &=
				rest % view->sizes[k] >= low[k] && rest % view->sizes[k] <= high[k];
		if (inside)
			store_special(view->dtype, which,
				      element_at(view, storage, kgb_tensor_view_element(view, i)));
	}
}

/* The elements whose index is that of a random element, but along one dimension any of a range. */
static void add_stretch(const struct kgb_tensor_view *view, struct kgb_rng *rng, void *storage)
{
	int64_t which = kgb_rng_int(rng, 0, 10), low[KGB_MAX_DIMS], high[KGB_MAX_DIMS];
	if (kgb_rng_int(rng, 0, 1) == 0 && kgb_dtype_is_float(view->dtype))
		which = 1; /* minus infinity */
	int d = (int)kgb_rng_int(rng, 0, view->ndim - 1);
	if (kgb_rng_int(rng, 0, 1) == 0)
		d = first_of_longest(view);
	int64_t size = view->sizes[d];
	bool whole = kgb_rng_int(rng, 0, view->ndim == 1 ? 7 : size >= 1000 ? 3 : 1) == 0;
	int64_t kind = kgb_rng_int(rng, 0, 3);
	int64_t length = size;
	if (!whole)
		length = kgb_rng_int(rng, kind == 0 || kind == 1 ? size - size / 2 : 1, size);

	low[d] = kind == 0 ? 0 : size - length;
	if (kind > 1)
		low[d] = kgb_rng_int(rng, 0, size - length);
	high[d] = low[d] + length - 1;
	for (int k = 0; k < view->ndim; k++)
		if (k != d)
			low[k] = high[k] = kgb_rng_int(rng, 0, view->sizes[k] - 1);
	store_between(view, low, high, which, storage);
	if (length == size || kind > 1 || kgb_rng_int(rng, 0, 1) == 0)
		return;
	low[d] = high[d] =
		kind == 0 ? kgb_rng_int(rng, length, size - 1) : kgb_rng_int(rng, 0, low[d] - 1);
	which = kgb_rng_int(rng, 0, 10);
	if (kgb_rng_int(rng, 0, 1) == 0 && kgb_dtype_is_float(view->dtype))
		which = 2; /* NaN */
	store_between(view, low, high, which, storage);
}

/* One of each kind where there is room; small tensors get a few, beginning at any of them. */
static void add_specials(const struct kgb_tensor_view *view, struct kgb_rng *rng, void *storage)
{
	int64_t quarter = kgb_tensor_view_numel(view) / 4;
	int64_t n = quarter < 1 ? 1 : quarter > 11 ? 11 : quarter;
	int64_t first = kgb_rng_int(rng, 0, 10);
	int64_t n_stretches = kgb_rng_int(rng, 0, 3);
	bool is_long = view->ndim > 0 && view->sizes[first_of_longest(view)] >= 1000;

	for (int64_t i = 0; i < n_stretches && view->ndim > 0; i++)
		add_stretch(view, rng, storage);
	if (n_stretches > 0 && is_long && kgb_rng_int(rng, 0, 1) == 1)
		return;
	if (is_long && kgb_rng_int(rng, 0, 1) == 1)
		n *= 4;
	for (int64_t i = 0; i < n; i++)
		store_special(view->dtype, first + i, random_element(view, storage, rng));
}

/* Large tensors for timing: every element is one of TABLE fresh draws, chosen by 16 random bits.
 * Eight times as fast; nobody asks these values for their distribution. */
static void fill_from_table(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	enum { TABLE = 1 << 16, RUN = 128 };
	const struct kgb_tensor_view *view = &arg->view;
	size_t item = kgb_dtype_size(view->dtype);
	char *table = kgb_xreallocarray(NULL, TABLE, item);
	struct kgb_tensor_view_walk walk;
	uint32_t from = 0;
	int64_t n = kgb_tensor_view_numel(view);

	for (size_t i = 0; i < TABLE; i++)
		draw(arg, rng, table + i * item);
	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk)) {
		from = i % RUN == 0 ? kgb_rng_u32(rng) % (TABLE - RUN + 1) : from + 1;
		memcpy(element_at(view, storage, walk.at), table + from * item, item);
	}
	kgb_free(table);
}

void oracle_fill(const struct kgb_arg *arg, enum kgb_mode mode, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	int64_t n = kgb_tensor_view_numel(view);
	struct kgb_tensor_view_walk walk;

	if (n != view->storage_elements)
		kgb_rng_bytes(rng, storage,
			      (size_t)view->storage_elements * kgb_dtype_size(view->dtype));
	if (mode == KGB_MODE_BENCHMARK) {
		fill_from_table(arg, rng, storage);
		return;
	}
	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk))
		draw(arg, rng, element_at(view, storage, walk.at));
	if (n == 0 || arg->bounded || view->dtype == KGB_DTYPE_BOOL)
		return;
	if (mode == KGB_MODE_OUTLIER)
		add_outliers(view, rng, storage);
	else if (mode == KGB_MODE_SPECIAL)
		add_specials(view, rng, storage);
}
