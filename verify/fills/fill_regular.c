/* SPDX-License-Identifier: MIT */
/** \file
 * Regular data of drawn cases, and its scales. These tensors are small, so one thread makes them.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "verify/fills/values.h"
#include "verify/tensor/statistics.h"

enum { SIMPLE_BITS = 4 }; /* of the elements of regular data */

/* Elements in row-major order, seen as lines along one dimension. */
struct lines {
	const struct kgb_arg *arg;
	struct kgb_rng *rng;
	double *values;
	int64_t n; /* elements */
	int n_parts;
	int64_t length, inner; /* elements of a line, and from one of them to the next */
};

static double *in_line(const struct lines *lines, int64_t line, int64_t k)
{
	return &lines->values[line / lines->inner * lines->inner * lines->length +
			      k * lines->inner + line % lines->inner];
}

/* One chance in 2^bits. */
static bool is_drawn(struct kgb_rng *rng, int64_t bits)
{
	return (kgb_rng_u32(rng) >> (32 - bits)) == 0;
}

/* Take the lines of a dimension: of the last one in more than half of the cases. */
static void choose_lines(struct lines *lines, int n_parts)
{
	const struct kgb_tensor_view *view = &lines->arg->view;
	const int ndim = view->ndim - (n_parts > 1);
	int d = ndim - 1;

	if (ndim > 1 && kgb_rng_int(lines->rng, 0, 1))
		d = (int)kgb_rng_int(lines->rng, 0, ndim - 1);
	lines->length = ndim > 0 ? view->sizes[d] : 1;
	lines->inner = n_parts;
	for (int other = d + 1; other < ndim; other++)
		lines->inner *= view->sizes[other];
}

/* The distance of numbers of which thousands can be added up without rounding, in products with
 * others of their kind, too. Rounding errors of equal terms would add up instead of cancelling,
 * beyond any tolerance. 0: the numbers are such already. */
static double quantum_of(const struct lines *lines)
{
	double largest = 0;
	int exponent = 0;

	if (!kgb_dtype_is_float(lines->arg->view.dtype) || lines->arg->fill == KGB_FILL_INT)
		return 0;
	for (int64_t i = 0; i < lines->n; i++)
		largest = fmax(largest, fabs(lines->values[i]));
	(void)frexp(largest, &exponent);
	return ldexp(1, exponent - SIMPLE_BITS);
}

/* Move every element to the next such number that is not 0. */
static void simplify(const struct lines *lines)
{
	const double quantum = quantum_of(lines);

	for (int64_t i = 0; quantum > 0 && i < lines->n; i++) {
		const double near = nearbyint(lines->values[i] / quantum) * quantum;
		if (near != 0 && kgb_values_fit(lines->arg, near))
			lines->values[i] = near;
		else if (kgb_values_fit(lines->arg, quantum))
			lines->values[i] = quantum;
	}
}

static double random_value(const struct lines *lines)
{
	return lines->values[kgb_rng_int(lines->rng, 0, lines->n - 1)];
}

/* ---- patterns ---- */

/* One number, of the tensor or of each line; each line keeps one or more other elements. */
static void make_constant(const struct lines *lines)
{
	static const int64_t rarities[] = {3, 5, 7};
	const int64_t bits = rarities[kgb_rng_int(lines->rng, 0, 2)];
	const bool is_common = kgb_rng_int(lines->rng, 0, 1);
	const bool is_bool = lines->arg->fill == KGB_FILL_BOOL;
	simplify(lines);
	double value = random_value(lines);
	for (int64_t line = 0; line < lines->n / lines->length; line++) {
		const int64_t kept = kgb_rng_int(lines->rng, 0, lines->length - 1);
		value = is_common ? value : random_value(lines);
		for (int64_t k = 0; k < lines->length; k++) {
			double *p = in_line(lines, line, k);
			if (is_drawn(lines->rng, bits) || (k == kept && lines->length > 1))
				*p = is_bool ? 1 - value : *p;
			else
				*p = value;
		}
	}
}

static void make_two_values(const struct lines *lines)
{
	simplify(lines);
	const double values[] = {random_value(lines), random_value(lines)};
	const int64_t bits = kgb_rng_int(lines->rng, 0, 1) ? 1 : 3;

	for (int64_t i = 0; i < lines->n; i++)
		lines->values[i] = values[is_drawn(lines->rng, bits)];
}

/* The number of a random element that is not 0, if there is one. */
static int64_t choose_kept(const struct lines *lines)
{
	const int64_t from = kgb_rng_int(lines->rng, 0, lines->n - 1);
	int64_t kept = from;

	while (lines->values[kept] == 0 && (kept + 1) % lines->n != from)
		kept = (kept + 1) % lines->n;
	return kept;
}

/* Zeros as behind a ReLU, or for most elements. One element is kept. */
static void make_zeros(const struct lines *lines)
{
	const bool is_relu = lines->arg->fill == KGB_FILL_NORMAL && kgb_rng_int(lines->rng, 0, 1);
	const int64_t bits = kgb_rng_int(lines->rng, 1, 3);
	const int64_t kept = choose_kept(lines);

	for (int64_t i = 0; i < lines->n; i++) {
		const bool is_zero = is_relu ? lines->values[i] < 0 : !is_drawn(lines->rng, bits);
		if (is_zero && i != kept)
			lines->values[i] = 0;
	}
}

/* Half of the blocks of a power of two elements, or of the lines, are zero. One element is kept. */
static void make_zero_blocks(const struct lines *lines)
{
	const bool has_lines = kgb_rng_int(lines->rng, 0, 1);
	const int64_t block =
		has_lines ? lines->length : INT64_C(1) << kgb_rng_int(lines->rng, 2, 12);
	const int64_t kept = choose_kept(lines);
	const double value = lines->values[kept];

	for (int64_t first = 0; first < lines->n; first += block) {
		if (kgb_rng_int(lines->rng, 0, 1))
			continue;
		for (int64_t i = first; i < first + block && i < lines->n; i++) {
			double *p = has_lines ? in_line(lines, first / block, i - first)
					      : &lines->values[i];
			*p = 0;
		}
	}
	lines->values[kept] = value;
}

/* One element is kept if no other one is. */
static void make_zero_region(const struct lines *lines)
{
	const int64_t kept = choose_kept(lines);
	const double other = lines->values[kept];
	bool is_zero = true;

	kgb_fill_zero_region(lines->arg, lines->n_parts, lines->rng, lines->values);
	for (int64_t i = 0; i < lines->n && is_zero; i++)
		is_zero = lines->values[i] == 0;
	if (is_zero)
		lines->values[kept] = other;
}

/* Whole numbers one after the other, from a random one on. */
static void count_up(const struct lines *lines, double *line)
{
	const double lo = lines->arg->lo, span = lines->arg->hi - lo + 1;
	const double from = floor(kgb_rng_uniform(lines->rng) * span);

	for (int64_t k = 0; k < lines->length; k++)
		line[k] = lo + fmod(from + (double)k, span);
}

static void swap_some(const struct lines *lines, double *line)
{
	const int64_t length = lines->length;

	for (int64_t n = 1 + length / 16; n > 0; n--) {
		const int64_t a = kgb_rng_int(lines->rng, 0, length - 1);
		const int64_t far = a + kgb_rng_int(lines->rng, 1, 16);
		const int64_t b = far < length ? far : length - 1;
		const double kept = line[a];
		line[a] = line[b];
		line[b] = kept;
	}
}

/* Sorted lines: exactly, with some elements swapped, or beginning in the middle. */
static void make_sorted(const struct lines *lines)
{
	enum { EXACT, SWAPPED, ROTATED };
	static const int hows[] = {EXACT, SWAPPED, ROTATED, SWAPPED, ROTATED};
	const int how = hows[kgb_rng_int(lines->rng, 0, KGB_ARRAY_LEN(hows) - 1)];
	const bool counts = lines->arg->fill == KGB_FILL_INT && kgb_rng_int(lines->rng, 0, 1);
	const bool goes_down = kgb_rng_int(lines->rng, 0, 1);
	KGB_AUTO(free)
	double *line = kgb_xreallocarray(NULL, (size_t)lines->length, sizeof(*line));

	for (int64_t i = 0; i < lines->n / lines->length; i++) {
		const int64_t first =
			how == ROTATED ? kgb_rng_int(lines->rng, 0, lines->length - 1) : 0;
		for (int64_t k = 0; k < lines->length; k++)
			line[k] = *in_line(lines, i, k);
		if (counts)
			count_up(lines, line);
		else
			qsort(line, (size_t)lines->length, sizeof(*line), kgb_compare_doubles);
		if (how == SWAPPED)
			swap_some(lines, line);
		for (int64_t k = 0; k < lines->length; k++) {
			const int64_t from = (first + k) % lines->length;
			*in_line(lines, i, k) = line[goes_down ? lines->length - 1 - from : from];
		}
	}
}

static void make_periodic(const struct lines *lines)
{
	const bool has_lines = kgb_rng_int(lines->rng, 0, 1);
	const int64_t most = (has_lines ? lines->length : lines->n) / 2;
	const int64_t period = kgb_rng_int(lines->rng, 2, most < 2 ? 2 : most > 64 ? 64 : most);

	simplify(lines);
	for (int64_t i = 0; i < lines->n; i++) {
		const int64_t line = i / lines->length, k = i % lines->length;
		if (has_lines)
			*in_line(lines, line, k) = *in_line(lines, line, k % period);
		else
			lines->values[i] = lines->values[i % period];
	}
}

static void make_runs(const struct lines *lines)
{
	const int64_t bits = kgb_rng_int(lines->rng, 1, 5);

	simplify(lines);
	for (int64_t i = 0; i < lines->n; i++) {
		const int64_t line = i / lines->length, k = i % lines->length;
		if (k > 0 && !is_drawn(lines->rng, bits))
			*in_line(lines, line, k) = *in_line(lines, line, k - 1);
	}
}

/* Cut the numbers to those of bfloat16, to fewer bits, or to quarters. */
static void make_coarse(const struct lines *lines)
{
	static const int all_bits[] = {8, 8, 3, 0};
	const int bits = all_bits[kgb_rng_int(lines->rng, 0, 3)];

	for (int64_t i = 0; i < lines->n; i++) {
		int exponent = 0;
		const double value = lines->values[i], fraction = frexp(value, &exponent);
		const double cut = bits ? ldexp(trunc(ldexp(fraction, bits)), exponent - bits)
					: trunc(4 * value) / 4;
		if (kgb_values_fit(lines->arg, cut))
			lines->values[i] = cut;
	}
}

/* Elements that find no place near a point stay. */
static void make_points(const struct lines *lines)
{
	const struct kgb_arg *arg = lines->arg;

	for (int64_t i = 0; i < lines->n; i++) {
		const double value = kgb_dtype_round(
			arg->view.dtype,
			kgb_values_draw_beside(&arg->values.points, arg->view.dtype, lines->rng));
		if (kgb_values_fit(arg, value))
			lines->values[i] = value;
	}
}

/* Elements whose new number would lie outside of the fill's range stay. */
static void relate(const struct lines *lines)
{
	const int64_t n = lines->length;
	KGB_AUTO(free)
	double *line = kgb_xreallocarray(NULL, (size_t)n, 2 * sizeof(*line));

	for (int64_t i = 0; i < lines->n / n; i++) {
		for (int64_t k = 0; k < n; k++)
			line[k] = *in_line(lines, i, k);
		kgb_values_relate(lines->arg, lines->rng, line, line + n, n);
		for (int64_t k = 0; k < n; k++)
			if (kgb_values_fit(lines->arg, line[k]))
				*in_line(lines, i, k) = line[k];
	}
}

static void make_pattern(const struct lines *lines)
{
	switch (lines->arg->values.pattern) {
	case KGB_PATTERN_CONSTANT:
		make_constant(lines);
		break;
	case KGB_PATTERN_TWO_VALUES:
		make_two_values(lines);
		break;
	case KGB_PATTERN_ZEROS:
		make_zeros(lines);
		break;
	case KGB_PATTERN_ZERO_BLOCKS:
		make_zero_blocks(lines);
		break;
	case KGB_PATTERN_ZERO_REGION:
		make_zero_region(lines);
		break;
	case KGB_PATTERN_SORTED:
		make_sorted(lines);
		break;
	case KGB_PATTERN_PERIODIC:
		make_periodic(lines);
		break;
	case KGB_PATTERN_RUNS:
		make_runs(lines);
		break;
	case KGB_PATTERN_COARSE:
		make_coarse(lines);
		break;
	case KGB_PATTERN_POINTS:
		make_points(lines);
		break;
	case KGB_PATTERN_SHARES:
	case KGB_PATTERN_UNIT:
	case KGB_PATTERN_MIRRORED:
	case KGB_PATTERN_EVEN:
	case KGB_PATTERN_PEAK:
	case KGB_PATTERN_OPPOSITE:
		relate(lines);
		break;
	case KGB_PATTERN_NONE:
	case KGB_N_PATTERNS:
		break;
	}
}

/* ---- scales ---- */

static int choose_power(struct kgb_rng *rng, int power)
{
	return (int)kgb_rng_int(rng, power < 0 ? power : 0, power < 0 ? 0 : power);
}

/* One part has the power, the other one half of the time none: their difference matters. */
static void scale_parts(const struct lines *lines)
{
	const int power = lines->arg->values.scale;
	const int64_t whole = kgb_rng_int(lines->rng, 0, lines->n_parts - 1);
	const int drawn = choose_power(lines->rng, power);
	const int other = kgb_rng_int(lines->rng, 0, 1) ? drawn : 0;

	for (int64_t i = 0; i < lines->n; i++)
		lines->values[i] =
			ldexp(lines->values[i], i % lines->n_parts == whole ? power : other);
}

/* Multiply by the power of two; in rows by powers between it and 1. */
static void scale(const struct lines *lines)
{
	const int power = lines->arg->values.scale;

	for (int64_t line = 0; line < lines->n / lines->length; line++) {
		const int own =
			lines->arg->values.scales_rows ? choose_power(lines->rng, power) : power;
		for (int64_t k = 0; k < lines->length; k++) {
			double *p = in_line(lines, line, k);
			*p = ldexp(*p, own);
		}
	}
}

void kgb_fill_regular(const struct kgb_arg *arg, int n_parts, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const int64_t n = kgb_tensor_view_numel(view);
	struct lines lines = {.arg = arg, .rng = rng, .n = n, .n_parts = n_parts};

	if (n == 0 || (arg->values.pattern == KGB_PATTERN_NONE && arg->values.scale == 0))
		return;
	KGB_AUTO(free)
	char *elements = kgb_xreallocarray(NULL, (size_t)n, kgb_dtype_size(view->dtype));
	KGB_AUTO(free)
	double *values = kgb_xreallocarray(NULL, (size_t)n, sizeof(*values));
	kgb_tensor_view_gather_part(view, storage, 0, n, elements);
	kgb_dtype_load_array(view->dtype, elements, (size_t)n, values);
	lines.values = values;
	choose_lines(&lines, n_parts);
	make_pattern(&lines);
	if (arg->values.scales_parts)
		scale_parts(&lines);
	else if (arg->values.scale != 0)
		scale(&lines);
	kgb_dtype_store_array(view->dtype, values, (size_t)n, elements);
	kgb_tensor_view_scatter_part(view, elements, 0, n, storage);
}
