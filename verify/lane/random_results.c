/* SPDX-License-Identifier: MIT */
#include "verify/lane/random_results.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"
#include "verify/draw/dictionary.h"
#include "verify/tensor/uniformity_test.h"

enum {
	CHUNK = 1024,
	N_WINDOWS = 4, /* of a tensor beyond KGB_UNIFORMITY_MAX elements only this many windows are
			  tested, as one sample */
	/* random streams of a case; its arguments and calls use the numbers below */
	PLACES_STREAM = 3000,
	RANDOM_RESULTS_STREAM = 3100,
	SEED_STREAM = 3200,
	MODULUS_LEAST = 3, /* that a seed may be shortened by */
	VARIANT_STREAMS = 100000,
	TERMS_MAX = 1 << 20,
};

#define IMPOSSIBLE 0x1p-64 /* elements of a lower probability are wrong */
#define IMPOSSIBLE_COST (64 * M_LN2) /* its negative logarithm */

/* ---- one element ---- */

/* The real numbers >= 0 that are rounded to x. */
struct range {
	double lo, hi;
};

static struct range rounded_to(enum kgb_dtype dtype, double x)
{
	double tiny = kgb_dtype_tiny(dtype), eps = kgb_dtype_eps(dtype);
	double binade = x < tiny ? tiny : ldexp(1.0, ilogb(x));
	double below = x == binade && x > tiny ? binade / 2 : binade;

	return (struct range){fmax(x - below * eps / 2, 0), x + binade * eps / 2};
}

/* The whole numbers that are rounded to x; a tie at either end counts only if it is rounded to
 * x. */
static struct range counts_rounded_to(enum kgb_dtype dtype, double x)
{
	struct range range = rounded_to(dtype, x);

	range.lo = ceil(range.lo);
	range.hi = floor(range.hi);
	range.lo += kgb_dtype_round(dtype, range.lo) != x;
	range.hi -= kgb_dtype_round(dtype, range.hi) != x;
	return range;
}

/* P(a, x), the lower incomplete gamma function over Gamma(a), by its series, for x < a + 1:
 * Abramowitz and Stegun 6.5.29. */
static double gamma_series(double a, double x, double scale)
{
	double term = 1 / a, sum = term;

	for (int n = 1; n < TERMS_MAX && term > sum * 1e-17; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * scale;
}

/* 1 - P(a, x) by its continued fraction, for x >= a + 1: 6.5.31, evaluated by Lentz's method. */
static double gamma_fraction(double a, double x, double scale)
{
	double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;

	for (int n = 1; n < TERMS_MAX; n++) {
		double an = -n * (n - a);
		b += 2;
		d = 1 / (an * d + b);
		c = b + an / c;
		h *= c * d;
		if (fabs(c * d - 1) < 1e-16)
			break;
	}
	return h * scale;
}

double kgb_poisson_cdf(double k, double rate)
{
	double a = k + 1; /* P(X <= k) = 1 - P(k + 1, rate): 26.4.21 */
	int sign;

	if (k < 0)
		return 0;
	if (rate <= 0)
		return 1;
	double scale = exp(a * log(rate) - rate - lgamma_r(a, &sign));
	return rate < a + 1 ? 1 - gamma_series(a, rate, scale) : gamma_fraction(a, rate, scale);
}

/* P(X >= k) for k > rate, and P(X <= k) for k < rate, are at most exp(-cost) (Chernoff). */
static double poisson_cost(double k, double rate)
{
	return k > 0 ? k * log(k / rate) - k + rate : rate;
}

/* An element and the arguments of its distribution. */
struct element {
	double args[KGB_RANDOM_ARGS];
	double x;
};

/* Bernoulli: 1 with probability args[0], else 0. */
static bool bernoulli_draws(const struct element *e)
{
	return e->args[0] > 0 && e->args[0] < 1;
}

static bool bernoulli_allows(KGB_UNUSED enum kgb_dtype dtype, const struct element *e)
{
	return (e->x == 0 && e->args[0] < 1) || (e->x == 1 && e->args[0] > 0);
}

static struct range bernoulli_place(KGB_UNUSED enum kgb_dtype dtype, const struct element *e)
{
	const double zeros = 1 - e->args[0];

	return e->x == 0 ? (struct range){0, zeros} : (struct range){zeros, 1};
}

/* Exponential with the rate args[0]. */
static bool exponential_draws(KGB_UNUSED const struct element *e)
{
	return true;
}

static bool exponential_allows(enum kgb_dtype dtype, const struct element *e)
{
	const double rate = e->args[0];

	if (!(e->x >= 0) || isinf(e->x))
		return false;
	struct range range = rounded_to(dtype, e->x);
	return -expm1(-rate * range.hi) >= IMPOSSIBLE && exp(-rate * range.lo) >= IMPOSSIBLE;
}

static struct range exponential_place(enum kgb_dtype dtype, const struct element *e)
{
	struct range range = rounded_to(dtype, e->x);

	return (struct range){-expm1(-e->args[0] * range.lo), -expm1(-e->args[0] * range.hi)};
}

/* Poisson with the rate args[0]. */
static bool poisson_draws(const struct element *e)
{
	return e->args[0] > 0;
}

static bool poisson_allows(enum kgb_dtype dtype, const struct element *e)
{
	const double rate = e->args[0];

	if (!(e->x >= 0) || e->x != floor(e->x) || isinf(e->x))
		return false;
	if (rate == 0)
		return e->x == 0;
	struct range range = counts_rounded_to(dtype, e->x);
	double nearest = fmin(fmax(rate, range.lo), range.hi);
	return poisson_cost(nearest, rate) <= IMPOSSIBLE_COST;
}

static struct range poisson_place(enum kgb_dtype dtype, const struct element *e)
{
	struct range range = counts_rounded_to(dtype, e->x);

	return (struct range){kgb_poisson_cdf(range.lo - 1, e->args[0]),
			      kgb_poisson_cdf(range.hi, e->args[0])};
}

/* The noise of rrelu: uniform in args[1] .. args[2] where args[0] <= 0, else 1. */
static bool rrelu_draws(const struct element *e)
{
	return e->args[0] <= 0 && e->args[1] < e->args[2];
}

static bool rrelu_allows(enum kgb_dtype dtype, const struct element *e)
{
	if (!(e->args[0] <= 0))
		return e->x == 1;
	if (!(e->x >= 0) || isinf(e->x))
		return false;
	struct range range = rounded_to(dtype, e->x);
	return range.hi >= e->args[1] && range.lo <= e->args[2];
}

static double within_0_1(double x)
{
	return fmin(fmax(x, 0), 1);
}

static struct range rrelu_place(enum kgb_dtype dtype, const struct element *e)
{
	struct range range = rounded_to(dtype, e->x);
	const double low = e->args[1], width = e->args[2] - low;

	return (struct range){within_0_1((range.lo - low) / width),
			      within_0_1((range.hi - low) / width)};
}

static const struct distribution {
	size_t n_args; /* number of arguments of the distribution */
	bool is_continuous;
	bool is_alike; /* all draws of a result have the same distribution */
	bool (*draws)(const struct element *e); /* whether more than one value is possible */
	bool (*allows)(enum kgb_dtype dtype, const struct element *e);
	/* The values of the distribution function on both sides of a possible element. */
	struct range (*place)(enum kgb_dtype dtype, const struct element *e);
} distributions[KGB_N_RANDOM_KINDS] = {
	[KGB_RANDOM_BERNOULLI] = {1, false, false, bernoulli_draws, bernoulli_allows,
				  bernoulli_place},
	[KGB_RANDOM_EXPONENTIAL] = {1, true, false, exponential_draws, exponential_allows,
				    exponential_place},
	[KGB_RANDOM_POISSON] = {1, false, false, poisson_draws, poisson_allows, poisson_place},
	[KGB_RANDOM_RRELU] = {3, true, true, rrelu_draws, rrelu_allows, rrelu_place},
	[KGB_RANDOM_PRODUCT] = {.n_args = 1},
};

/* ---- a result's elements and the arguments of their distributions ---- */

/* Elements of a result side by side with the arguments of their distribution. */
struct reader {
	const struct kgb_random_result *distribution;
	const struct kgb_tensor_view *view; /* of the result */
	const char *values; /* contiguous */
	double constants[KGB_RANDOM_ARGS];
	struct kgb_tensor_view args[KGB_RANDOM_ARGS]; /* spread to the result's sizes */
	const void *storages[KGB_RANDOM_ARGS]; /* NULL: the constant */
	size_t n_args;
	double x[CHUNK], arg[KGB_RANDOM_ARGS][CHUNK];
	double raw[CHUNK];
};

/* Broadcast as torch does it. */
static struct kgb_tensor_view spread(const struct kgb_tensor_view *view,
				     const struct kgb_tensor_view *like)
{
	struct kgb_tensor_view out = *like;

	out.dtype = view->dtype;
	out.offset = view->offset;
	out.storage_elements = view->storage_elements;
	for (int d = 0; d < like->ndim; d++) {
		int own = d - (like->ndim - view->ndim);
		out.strides[d] = own < 0 || view->sizes[own] == 1 ? 0 : view->strides[own];
	}
	return out;
}

static double number_of(const struct kgb_case_value *value)
{
	return value->kind == KGB_CASE_VALUE_INT ? (double)value->integer : value->number;
}

static struct reader *open_reader(const struct kgb_case_data *data, void *const *values, size_t i)
{
	struct reader *reader = kgb_xcalloc(1, sizeof(*reader));

	reader->distribution = &data->kase->interface->random_results[i];
	reader->view = &data->results[i].view;
	reader->values = values[i];
	reader->n_args = distributions[reader->distribution->kind].n_args;
	for (size_t k = 0; k < reader->n_args; k++) {
		const struct kgb_arg *arg = &data->kase->args[reader->distribution->args[k]];
		reader->storages[k] = data->storages[reader->distribution->args[k]];
		if (reader->storages[k])
			reader->args[k] = spread(&arg->view, reader->view);
		else
			reader->constants[k] = number_of(&arg->value);
	}
	return reader;
}

/* Read elements first to first + n - 1, n <= CHUNK. */
static void read_chunk(struct reader *reader, int64_t first, int64_t n)
{
	enum kgb_dtype dtype = reader->view->dtype;

	kgb_dtype_load_array(dtype, reader->values + (size_t)first * kgb_dtype_size(dtype),
			     (size_t)n, reader->x);
	for (size_t k = 0; k < reader->n_args; k++) {
		if (reader->storages[k]) {
			kgb_tensor_view_gather_part(&reader->args[k], reader->storages[k], first, n,
						    reader->raw);
			kgb_dtype_load_array(reader->args[k].dtype, reader->raw, (size_t)n,
					     reader->arg[k]);
		}
		for (int64_t i = 0; !reader->storages[k] && i < n; i++)
			reader->arg[k][i] = reader->constants[k];
	}
}

static struct element element_at(const struct reader *reader, int64_t i)
{
	struct element e = {.x = reader->x[i]};

	for (size_t k = 0; k < reader->n_args; k++)
		e.args[k] = reader->arg[k][i];
	return e;
}

static bool are_possible(struct reader *reader, struct kgb_compare *out)
{
	int64_t n_elements = kgb_tensor_view_numel(reader->view);

	for (int64_t first = 0; first < n_elements; first += CHUNK) {
		int64_t n = n_elements - first < CHUNK ? n_elements - first : CHUNK;
		read_chunk(reader, first, n);
		for (int64_t i = 0; i < n; i++) {
			const struct element e = element_at(reader, i);
			if (distributions[reader->distribution->kind].allows(reader->view->dtype,
									     &e))
				continue;
			if (out->n_wrong++ > 0)
				continue;
			out->first_wrong = out->reported = first + i;
			out->got = e.x;
		}
	}
	return out->n_wrong == 0;
}

/* ---- the elements as uniform numbers ---- */

struct draws {
	double *u; /* owned; -1: only one value is possible */
	double *values; /* owned; the elements themselves */
	double *masses; /* owned; the probabilities of these */
	size_t n;
};

static void release_draws(struct draws *draws)
{
	kgb_free(draws->u);
	kgb_free(draws->values);
	kgb_free(draws->masses);
}

static void take_window(struct reader *reader, int64_t first, int64_t n_elements,
			struct kgb_rng *rng, struct draws *out)
{
	for (int64_t end = first + n_elements; first < end; first += CHUNK) {
		int64_t n = end - first < CHUNK ? end - first : CHUNK;
		read_chunk(reader, first, n);
		for (int64_t i = 0; i < n; i++) {
			const struct element e = element_at(reader, i);
			double v = kgb_rng_uniform(rng);
			out->values[out->n] = e.x;
			out->u[out->n] = -1;
			out->masses[out->n] = 1;
			if (distributions[reader->distribution->kind].draws(&e)) {
				struct range place =
					distributions[reader->distribution->kind].place(
						reader->view->dtype, &e);
				out->u[out->n] = place.lo + v * (place.hi - place.lo);
				out->masses[out->n] = place.hi - place.lo;
			}
			out->n++;
		}
	}
}

/* The first element of window w: one window in each quarter, the first at the beginning, the last
 * at the end, the others at random. */
static int64_t window_at(int64_t n, int w, struct kgb_rng *places)
{
	int64_t width = (int64_t)KGB_UNIFORMITY_MAX / N_WINDOWS, quarter = n / N_WINDOWS;

	if (w == N_WINDOWS - 1)
		return n - width;
	return w == 0 ? 0 : w * quarter + kgb_rng_int(places, 0, quarter - width);
}

/* All variants of a case have the same windows, but other random numbers within the elements'
 * intervals. */
static void take_draws(const struct kgb_case_data *data, void *const *values, size_t i,
		       struct draws *out)
{
	struct reader *reader = open_reader(data, values, i);
	int64_t n = kgb_tensor_view_numel(reader->view),
		width = (int64_t)KGB_UNIFORMITY_MAX / N_WINDOWS;
	struct kgb_rng places, rng;

	kgb_rng_init(&places, &data->seed, data->kase->name, PLACES_STREAM);
	kgb_rng_init(&rng, &data->seed, data->kase->name,
		     data->variant * VARIANT_STREAMS + RANDOM_RESULTS_STREAM + (uint32_t)i);
	size_t n_max = n < (int64_t)KGB_UNIFORMITY_MAX ? (size_t)n : KGB_UNIFORMITY_MAX;
	*out = (struct draws){.u = kgb_xreallocarray(NULL, n_max + 1, sizeof(double)),
			      .values = kgb_xreallocarray(NULL, n_max + 1, sizeof(double)),
			      .masses = kgb_xreallocarray(NULL, n_max + 1, sizeof(double))};
	if (n == (int64_t)n_max)
		take_window(reader, 0, n, &rng, out);
	for (int w = 0; n > (int64_t)n_max && w < N_WINDOWS; w++)
		take_window(reader, window_at(n, w, &places), width, &rng, out);
	kgb_free(reader);
}

/* Drop the elements for which one of the two draws had only one possible value, from both. */
static void keep_drawn(struct draws *a, struct draws *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->u[i] < 0 || b->u[i] < 0)
			continue;
		a->u[kept] = a->u[i];
		a->values[kept] = a->values[i];
		a->masses[kept] = a->masses[i];
		b->u[kept] = b->u[i];
		b->masses[kept] = b->masses[i];
		b->values[kept++] = b->values[i];
	}
	a->n = b->n = kept;
}

static const char *doubt(const struct kgb_case_data *data, void *const *values, size_t i)
{
	const enum kgb_dtype dtype = data->results[i].view.dtype;
	const bool is_wide = dtype == KGB_DTYPE_FLOAT32 || dtype == KGB_DTYPE_FLOAT64;
	const struct distribution *distribution =
		&distributions[data->kase->interface->random_results[i].kind];
	struct draws draws;

	take_draws(data, values, i, &draws);
	keep_drawn(&draws, &draws);
	const char *why = kgb_uniformity_doubt(draws.u, draws.n);
	if (!why && distribution->is_continuous && is_wide)
		why = kgb_uniformity_coarse(draws.values, draws.n);
	else if (!why && distribution->is_continuous && distribution->is_alike)
		why = kgb_uniformity_sparse(draws.values, draws.masses, draws.n);
	release_draws(&draws);
	return why;
}

/* ---- results ---- */

/* Compare a result that is x times the draws of this call, which another result holds. */
static void check_product(const struct kgb_case_data *data, void *const *values, size_t i,
			  struct kgb_compare *out)
{
	const struct kgb_interface *interface = data->kase->interface;
	const size_t drawn = (size_t)interface->params[interface->random_results[i].args[1]].result;
	const struct kgb_tensor_view *view = &data->results[i].view;
	const enum kgb_dtype dtype = data->results[drawn].view.dtype;
	const char *draws = values[drawn] ? values[drawn] : data->results[drawn].native;
	struct reader *reader = open_reader(data, values, i);
	size_t n_elements = (size_t)kgb_tensor_view_numel(view);
	KGB_AUTO(free) double *exact = kgb_xcalloc(n_elements, sizeof(*exact));
	KGB_AUTO(free) char *native = kgb_xcalloc(n_elements, kgb_dtype_size(view->dtype));

	for (size_t first = 0; first < n_elements; first += CHUNK) {
		size_t n = n_elements - first < CHUNK ? n_elements - first : CHUNK;
		read_chunk(reader, (int64_t)first, (int64_t)n);
		kgb_dtype_load_array(dtype, draws + first * kgb_dtype_size(dtype), n,
				     exact + first);
		for (size_t k = 0; k < n; k++)
			exact[first + k] *= reader->arg[0][k];
	}
	kgb_dtype_store_array(view->dtype, exact, n_elements, native);
	kgb_compare(view, values[i], native, exact, NULL, &interface->tolerance, out);
	kgb_free(reader);
}

void kgb_random_result_check(const struct kgb_case_data *data, void *const *values, size_t i,
			     struct kgb_compare *out)
{
	const struct kgb_random_result *distribution = &data->kase->interface->random_results[i];
	const struct kgb_tensor_view *view = &data->results[i].view;

	*out = (struct kgb_compare){
		.n_elements = kgb_tensor_view_numel(view), .first_wrong = -1, .reported = -1};
	if (out->n_elements == 0 || !values[i]) {
		out->ok = out->n_elements == 0;
		return;
	}
	if (distribution->kind == KGB_RANDOM_PRODUCT) {
		check_product(data, values, i, out);
		return;
	}
	struct reader *reader = open_reader(data, values, i);
	out->ok = are_possible(reader, out);
	kgb_free(reader);
	if (out->ok)
		out->unlikely = doubt(data, values, i);
	out->ok = out->ok && !out->unlikely;
}

void kgb_random_result_explain(struct kgb_lane *lane, const struct kgb_case_data *data, size_t i,
			       const struct kgb_compare *compare, struct kgb_failure *failure)
{
	const char *distribution = data->kase->interface->random_results[i].text;

	failure->code = KGB_CODE_VERIFY_DISTRIBUTION;
	if (compare->unlikely) {
		failure->message = kgb_lane_text(lane, "result %zu is not drawn from %s: %s", i,
						 distribution, compare->unlikely);
		failure->hint =
			"Every element needs a random number of its own, made from the seed and the "
			"element's number (tl.rand), with at least 24 bits.";
		return;
	}
	/* There is no single right value. */
	failure->has_values = false;
	failure->message = kgb_lane_text(
		lane, "result %zu: %lld of %lld elements cannot come from %s, the first is %g", i,
		(long long)compare->n_wrong, (long long)compare->n_elements, distribution,
		compare->got);
	failure->hint =
		"Look at the ends of the range of the random numbers (0 and 1), and whether "
		"every element is written.";
}

#define SEED_HINT                                                                               \
	"Make all random numbers from the seed that is passed and from the elements' numbers: " \
	"the same seed must give the same elements, another seed other elements."

int kgb_random_result_refuse_repetition(struct kgb_failure *failure)
{
	return kgb_refuse(failure, KGB_CODE_VERIFY_SEED,
			  "two calls with the same seed gave different elements", SEED_HINT);
}

/* The element of the tensor 'seed', and its argument; NULL: the case has none. */
static int64_t *seed_of(const struct kgb_case_data *data, const struct kgb_arg **out)
{
	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_arg *arg = &data->kase->args[i];
		*out = arg;
		if (kgb_str_eq(arg->param->name, "seed") && data->storages[i] &&
		    arg->view.dtype == KGB_DTYPE_INT64)
			return (int64_t *)(void *)data->storages[i] + arg->view.offset;
	}
	return NULL;
}

/* The seed plus or minus the modulus, whichever lies in the argument's range; else the seed + 1. */
static int64_t move_by(const struct kgb_arg *arg, int64_t seed, int64_t modulus, bool is_down)
{
	const int64_t lo = (int64_t)arg->lo, hi = (int64_t)arg->hi;
	const bool has_room_above = seed <= hi - modulus;
	const bool has_room_below = seed >= lo + modulus;

	if (has_room_below && (is_down || !has_room_above))
		return seed - modulus;
	return seed + (has_room_above ? modulus : 1);
}

void kgb_random_result_relate_seeds(const struct kgb_dictionary *numbers,
				    struct kgb_case_data *other, const struct kgb_case_data *to)
{
	/* That of Lehmer's generator, and one of a slip. Powers of two up to 2^32 need no place
	 * here: the flipped bit is a multiple of each. */
	static const int64_t moduli[] = {INT32_MAX, UINT32_MAX};
	const struct kgb_arg *arg = NULL;
	int64_t *seed = seed_of(other, &arg);
	const int64_t *first = seed_of(to, &arg);
	struct kgb_rng rng;

	if (!seed || !first)
		return;
	kgb_rng_init(&rng, &to->seed, to->kase->name, SEED_STREAM);
	const uint32_t card = kgb_rng_u32(&rng);
	const bool is_down = kgb_rng_int(&rng, 0, 1);
	int64_t modulus = moduli[kgb_rng_int(&rng, 0, KGB_ARRAY_LEN(moduli) - 1)];
	int64_t number = modulus;
	const struct kgb_whole_range range = {.lo = MODULUS_LEAST, .hi = (int64_t)(arg->hi / 2)};
	if (numbers)
		(void)kgb_dictionary_deal_exact(numbers, &to->seed, to->kase->name, card, range,
						&number);
	/* Seeds may be numbers of the candidate's text, and then the same one. */
	const int64_t own = *seed != *first ? *seed : *first + 1;
	const int64_t related[] = {own,
				   *first + 1,
				   *first ^ 1,
				   *first ^ INT64_C(1) << 32,
				   move_by(arg, *first, modulus, is_down),
				   move_by(arg, *first, number, is_down)};
	*seed = related[card % KGB_ARRAY_LEN(related)];
}

int kgb_random_result_check_seeds(struct kgb_lane *lane, const struct kgb_case_data *data_a,
				  void *const *values_a, const struct kgb_case_data *data_b,
				  void *const *values_b, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data_a->kase->interface;
	const char *why = NULL;

	for (size_t i = 0; i < data_a->n_results && !why; i++) {
		struct draws first, second;
		if (interface->random_results[i].kind == KGB_RANDOM_NONE ||
		    interface->random_results[i].kind == KGB_RANDOM_PRODUCT || !values_a[i] ||
		    !values_b[i])
			continue;
		take_draws(data_a, values_a, i, &first);
		take_draws(data_b, values_b, i, &second);
		keep_drawn(&first, &second);
		why = kgb_uniformity_relation(first.u, second.u, first.n);
		release_draws(&first);
		release_draws(&second);
	}
	return why ? kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_SEED, SEED_HINT,
				     "two calls with different seeds: %s", why)
		   : 0;
}
