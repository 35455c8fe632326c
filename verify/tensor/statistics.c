/* SPDX-License-Identifier: MIT */
#include "verify/tensor/statistics.h"

#include <math.h>

#include "base/mem.h"

#define NONE ((double)NAN)

int kgb_compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* A sorted copy, or NULL when there is nothing that can be sorted. */
static double *sorted_copy(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]))
			return NULL;
	if (n == 0)
		return NULL;
	double *copy = kgb_xreallocarray(NULL, n, sizeof(*copy));
	memcpy(copy, values, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), kgb_compare_doubles);
	return copy;
}

/* ---- one sample ---- */

static double sorted_quantile(const double *sorted, size_t n, double p)
{
	double at = p * (double)(n - 1);
	size_t below = (size_t)floor(at);

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double kgb_quantile(const double *values, size_t n, double p)
{
	KGB_ASSERT(p >= 0 && p <= 1);
	KGB_AUTO(free) double *sorted = sorted_copy(values, n);

	return sorted ? sorted_quantile(sorted, n, p) : NONE;
}

double kgb_median(const double *values, size_t n)
{
	return kgb_quantile(values, n, 0.5);
}

double kgb_mad(const double *values, size_t n)
{
	KGB_AUTO(free) double *away = sorted_copy(values, n);

	if (!away)
		return NONE;
	double middle = sorted_quantile(away, n, 0.5);
	for (size_t i = 0; i < n; i++)
		away[i] = fabs(away[i] - middle);
	return kgb_median(away, n);
}

/* A sample as sorted values, each of which is there `count` times: what a bootstrap draws. */
struct weighted {
	const double *sorted;
	const uint32_t *counts; /* NULL: each once */
	size_t n_values;
	size_t n; /* sum of counts */
};

struct trimmed {
	double mean, error; /* error NaN: too few values */
};

/* Number of the positions begin .. begin + count - 1 that lie in first .. last - 1. */
static size_t overlap(size_t begin, size_t count, size_t first, size_t last)
{
	size_t from = begin > first ? begin : first;
	size_t to = begin + count < last ? begin + count : last;
	return to > from ? to - from : 0;
}

/* Values are taken relative to `shift`, a number near their middle, so that squares of small
 * differences of large numbers stay exact. */
static struct trimmed trim(const struct weighted *w, double cut, double shift)
{
	size_t n = w->n, g = (size_t)floor(cut * (double)n), h = n - 2 * g, at = 0;
	double sum = 0, squares = 0, lowest = 0, highest = 0;

	for (size_t i = 0; i < w->n_values; i++) {
		size_t count = w->counts ? w->counts[i] : 1;
		size_t kept = overlap(at, count, g, n - g);
		double x = w->sorted[i] - shift;
		if (kept > 0) {
			lowest = at <= g ? x : lowest;
			highest = x;
			sum += (double)kept * x;
			squares += (double)kept * x * x;
		}
		at += count;
	}
	double ends = (double)g * (lowest + highest);
	double winsorized_mean = (sum + ends) / (double)n;
	squares += (double)g * (lowest * lowest + highest * highest) -
		   (double)n * winsorized_mean * winsorized_mean;
	struct trimmed out = {.mean = shift + sum / (double)h, .error = NONE};
	if (h >= 2)
		out.error = sqrt(fmax(squares, 0) / ((double)h * (double)(h - 1)));
	return out;
}

static struct trimmed trim_values(const double *values, size_t n, double cut)
{
	KGB_ASSERT(cut >= 0 && cut < 0.5);
	KGB_AUTO(free) double *sorted = sorted_copy(values, n);

	if (!sorted)
		return (struct trimmed){NONE, NONE};
	const struct weighted all = {.sorted = sorted, .n_values = n, .n = n};
	return trim(&all, cut, sorted[n / 2]);
}

double kgb_trimmed_mean(const double *values, size_t n, double cut)
{
	return trim_values(values, n, cut).mean;
}

double kgb_trimmed_error(const double *values, size_t n, double cut)
{
	return trim_values(values, n, cut).error;
}

/* ---- bootstrap ---- */

/* A random number below n. The bias of this multiplication is below n / 2^32. */
static uint32_t draw(struct kgb_rng *rng, size_t n)
{
	return (uint32_t)((uint64_t)kgb_rng_u32(rng) * n >> 32);
}

static void draw_counts(struct kgb_rng *rng, uint32_t *counts, size_t n)
{
	memset(counts, 0, n * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		counts[draw(rng, n)]++;
}

static double studentized(struct trimmed replica, double mean)
{
	double away = fabs(replica.mean - mean);

	if (away == 0)
		return 0;
	return replica.error > 0 ? away / replica.error : (double)INFINITY;
}

struct kgb_interval kgb_trimmed_bootstrap(const double *values, size_t n, double cut,
					  double confidence, size_t n_replicas, struct kgb_rng *rng)
{
	KGB_ASSERT(confidence > 0 && confidence < 1 && n_replicas > 0);
	struct trimmed all = trim_values(values, n, cut);
	struct kgb_interval out = {all.mean, NONE, NONE};

	KGB_AUTO(free) double *sorted = sorted_copy(values, n);

	if (n < 3 || !sorted || isnan(all.error))
		return out;
	KGB_AUTO(free) uint32_t *counts = kgb_xcalloc(n, sizeof(*counts));
	KGB_AUTO(free) double *t = kgb_xcalloc(n_replicas, sizeof(*t));
	const struct weighted replica = {.sorted = sorted, .counts = counts, .n_values = n, .n = n};
	for (size_t r = 0; r < n_replicas; r++) {
		draw_counts(rng, counts, n);
		t[r] = studentized(trim(&replica, cut, all.mean), all.mean);
	}
	/* No interpolation: the largest may be infinite. */
	qsort(t, n_replicas, sizeof(*t), kgb_compare_doubles);
	size_t rank = (size_t)ceil(confidence * (double)(n_replicas + 1));
	double reach =
		all.error > 0 ? t[(rank < n_replicas ? rank : n_replicas) - 1] * all.error : 0;
	out.low = out.value - reach;
	out.high = out.value + reach;
	return out;
}

static size_t end_of_group(const uint32_t *groups, size_t n, size_t begin)
{
	size_t end = begin + 1;

	while (end < n && groups[end] == groups[begin])
		end++;
	KGB_ASSERT(end >= n || groups[end] > groups[begin]);
	return end;
}

struct kgb_grouped kgb_group_values(const double *values, const uint32_t *groups, size_t n,
				    double cut, double *centred_out)
{
	struct kgb_grouped out = {.value = n ? 0 : NONE};
	double squares = 0, count = (double)n;

	for (size_t begin = 0, end; begin < n; begin = end) {
		end = end_of_group(groups, n, begin);
		double mean = kgb_trimmed_mean(values + begin, end - begin, cut);
		double weight = (double)(end - begin) / count;
		for (size_t i = begin; i < end; i++)
			centred_out[i] = values[i] - mean;
		out.value += weight * mean;
		out.share += weight * weight;
		squares += count * weight * mean * mean;
		out.n_groups++;
	}
	double k = (double)out.n_groups;
	double scale = count > k ? sqrt((count - 1) / (count - k)) : NONE;
	for (size_t i = 0; i < n; i++)
		centred_out[i] = out.value + scale * centred_out[i];
	out.error = kgb_trimmed_error(centred_out, n, cut);
	if (out.n_groups > 1) {
		squares -= count * out.value * out.value;
		double noise = (k - 1) * count * out.error * out.error;
		out.variance = fmax(0, (squares - noise) / (count * (1 - out.share)));
	}
	return out;
}

static int compare_round_values(const void *a, const void *b)
{
	return kgb_compare_doubles(&((const struct kgb_round_value *)a)->value,
				   &((const struct kgb_round_value *)b)->value);
}

static struct kgb_round_value *sorted_rounds(const struct kgb_round_value *values, size_t n,
					     uint32_t n_rounds)
{
	struct kgb_round_value *copy = kgb_xreallocarray(NULL, n, sizeof(*copy));

	memcpy(copy, values, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_round_values);
	for (size_t i = 0; i < n; i++)
		KGB_ASSERT(copy[i].round < n_rounds);
	return copy;
}

/* Median of the values, each counted as often as its round was drawn. */
static double weighted_median(const struct kgb_round_value *sorted, size_t n,
			      const uint32_t *counts)
{
	size_t total = 0, at = 0;
	double lower = NONE;

	for (size_t i = 0; i < n; i++)
		total += counts[sorted[i].round];
	for (size_t i = 0; i < n; i++) {
		at += counts[sorted[i].round];
		if (isnan(lower) && 2 * at >= total && total > 0)
			lower = sorted[i].value;
		if (2 * at > total)
			return (lower + sorted[i].value) / 2;
	}
	return lower;
}

struct kgb_interval kgb_median_ratio_bootstrap(const struct kgb_round_value *a, size_t n_a,
					       const struct kgb_round_value *b, size_t n_b,
					       uint32_t n_rounds, double confidence,
					       size_t n_replicas, struct kgb_rng *rng)
{
	KGB_ASSERT(confidence > 0 && confidence < 1 && n_replicas > 0);
	if (n_a == 0 || n_b == 0 || n_rounds == 0)
		return (struct kgb_interval){NONE, NONE, NONE};
	KGB_AUTO(free) struct kgb_round_value *sorted_a = sorted_rounds(a, n_a, n_rounds);
	KGB_AUTO(free) struct kgb_round_value *sorted_b = sorted_rounds(b, n_b, n_rounds);
	KGB_AUTO(free) uint32_t *counts = kgb_xcalloc(n_rounds, sizeof(*counts));
	KGB_AUTO(free) double *ratios = kgb_xcalloc(n_replicas, sizeof(*ratios));
	struct kgb_interval out;
	size_t n = 0;

	for (uint32_t i = 0; i < n_rounds; i++)
		counts[i] = 1;
	out.value = weighted_median(sorted_a, n_a, counts) / weighted_median(sorted_b, n_b, counts);
	for (size_t r = 0; r < n_replicas; r++) {
		draw_counts(rng, counts, n_rounds);
		ratios[n] = weighted_median(sorted_a, n_a, counts) /
			    weighted_median(sorted_b, n_b, counts);
		n += isfinite(ratios[n]) ? 1 : 0; /* a draw may have missed a side */
	}
	out.low = kgb_quantile(ratios, n, (1 - confidence) / 2);
	out.high = kgb_quantile(ratios, n, (1 + confidence) / 2);
	return out;
}

/* ---- of many cases, of counts ---- */

struct kgb_interval kgb_geometric_mean(const struct kgb_interval *values, const double *common,
				       size_t n)
{
	double sum = 0, below = 0, above = 0, shared = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(values[i].value > 0 && values[i].low > 0 && isfinite(values[i].high) &&
		      values[i].low <= values[i].value && values[i].value <= values[i].high))
			return (struct kgb_interval){NONE, NONE, NONE};
		double low = log(values[i].value / values[i].low);
		double high = log(values[i].high / values[i].value);
		sum += log(values[i].value);
		shared += common[i];
		below += fmax(0, low * low - common[i] * common[i]);
		above += fmax(0, high * high - common[i] * common[i]);
	}
	double mean = sum / (double)n; /* NaN for none */
	return (struct kgb_interval){
		.value = exp(mean),
		.low = exp(mean - hypot(sqrt(below), shared) / (double)n),
		.high = exp(mean + hypot(sqrt(above), shared) / (double)n),
	};
}

/* Bisection on the complementary error function: slow, exact and short. */
double kgb_normal_quantile(double p)
{
	KGB_ASSERT(p > 0 && p < 1);
	double low = -40, high = 40;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;
		if (erfc(-middle / M_SQRT2) / 2 < p)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

double kgb_t_quantile(double p, double freedom)
{
	double z = kgb_normal_quantile(p), z2 = z * z, v = freedom;
	double g1 = (z2 + 1) * z / 4;
	double g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
	double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
	double g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) * z / 92160;

	KGB_ASSERT(freedom > 0);
	return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}
