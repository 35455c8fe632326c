/* SPDX-License-Identifier: MIT */
/** \file
 * Elements of drawn cases that lie next to others, and those of sizes between the usual ones and
 * the ends of the type.
 */
#include <math.h>
#include <string.h>

#include "verify/fills/fill.h"
#include "verify/fills/values.h"

/* ---- places ---- */

static char *place(const struct kgb_tensor_view *view, void *storage, int64_t i)
{
	return (char *)storage +
	       (size_t)kgb_tensor_view_element(view, i) * kgb_dtype_size(view->dtype);
}

/* A random line along a random dimension: its elements are first + k * step in row-major order. */
struct line {
	int64_t first, step, length;
};
static struct line random_line(const struct kgb_tensor_view *view, struct kgb_rng *rng)
{
	const int64_t i = kgb_rng_int(rng, 0, kgb_tensor_view_numel(view) - 1);
	struct line line = {.first = i, .step = 1, .length = 1};

	if (view->ndim == 0)
		return line;
	const int d = (int)kgb_rng_int(rng, 0, view->ndim - 1);
	for (int other = d + 1; other < view->ndim; other++)
		line.step *= view->sizes[other];
	line.length = view->sizes[d];
	line.first -= i / line.step % line.length * line.step;
	return line;
}

/* ---- sizes ---- */

/* Logarithms of the sizes between the usual ones and an end of the type. */
struct sizes {
	double from, to;
};

static struct sizes sizes_of(const struct kgb_arg *arg, struct kgb_rng *rng)
{
	const enum kgb_dtype dtype = arg->view.dtype;
	const bool may_grow = arg->specials & 1U << KGB_SPECIAL_LARGEST;
	const bool may_shrink = arg->specials & 1U << KGB_SPECIAL_SMALLEST;

	if (may_grow && (!may_shrink || kgb_rng_int(rng, 0, 1)))
		return (struct sizes){3, log2(kgb_dtype_max(dtype))};
	return (struct sizes){log2(kgb_dtype_tiny(dtype)), -3};
}

static double draw_size(const struct kgb_arg *arg, struct kgb_rng *rng)
{
	const struct sizes sizes = sizes_of(arg, rng);
	const double size = exp2(sizes.from + kgb_rng_uniform(rng) * (sizes.to - sizes.from));

	return arg->fill == KGB_FILL_NORMAL && kgb_rng_int(rng, 0, 1) ? -size : size;
}

void kgb_fill_sizes(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const int64_t n = kgb_tensor_view_numel(view);

	if (!kgb_dtype_is_float(view->dtype) || kgb_dtype_size(view->dtype) < 2 || n == 0 ||
	    !(arg->specials & (1U << KGB_SPECIAL_LARGEST | 1U << KGB_SPECIAL_SMALLEST)))
		return;
	for (int64_t i = n / 8 < 1 ? 1 : n / 8 > 16 ? 16 : n / 8; i > 0; i--)
		kgb_dtype_store(view->dtype, place(view, storage, kgb_rng_int(rng, 0, n - 1)),
				draw_size(arg, rng));
	if (view->ndim < 2)
		return;
	const struct line line = random_line(view, rng);
	const double size = draw_size(arg, rng);
	for (int64_t k = 0; k < line.length; k++)
		kgb_dtype_store(view->dtype, place(view, storage, line.first + k * line.step),
				size);
}

/* ---- neighbours ---- */

/* The same number or one beside it. */
static void store_neighbour(const struct kgb_arg *arg, struct kgb_rng *rng, const char *from,
			    char *to)
{
	const int by = (int)kgb_rng_int(rng, -1, 1);

	if (!kgb_values_store_step(arg, from, by, to))
		(void)kgb_values_store_step(arg, from, -by, to);
}

/* The number of the line's largest element, or of its smallest one. */
static int64_t find_end(const struct kgb_tensor_view *view, void *storage, const struct line *line,
			bool is_largest)
{
	double best = (double)-INFINITY;
	int64_t found = 0;

	for (int64_t k = 0; k < line->length; k++) {
		const double value = kgb_dtype_load(
			view->dtype, place(view, storage, line->first + k * line->step));
		if (isfinite(value) && (is_largest ? value : -value) > best) {
			best = is_largest ? value : -value;
			found = k;
		}
	}
	return found;
}

/* A line gets a second element beside its largest or smallest one. */
static void pair_end(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const struct line line = random_line(view, rng);
	const int64_t k = find_end(view, storage, &line, kgb_rng_int(rng, 0, 1));
	const int64_t other = kgb_rng_int(rng, 0, line.length - 1);

	store_neighbour(arg, rng, place(view, storage, line.first + k * line.step),
			place(view, storage, line.first + other * line.step));
}

/* Sums of equal numbers of so many bits are biased: rounding errors of doubles add up instead of
 * cancelling. */
enum { WIDE_MOST = 256 };

/* The elements of a line, or of a part of it, lie beside a number from the whole range of the type.
 */
static void make_wide_line(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const int bits = 8 * (int)kgb_dtype_size(view->dtype);
	const struct line line = random_line(view, rng);
	const int64_t word = kgb_rng_int(rng, INT64_MIN, INT64_MAX);
	const int64_t shift = 64 - bits + kgb_rng_int(rng, 1, 7); /* below 64 for 8 bits, too */
	const int64_t base = kgb_dtype_min_i64(view->dtype) < 0
				     ? word >> shift
				     : (int64_t)((uint64_t)word >> shift);

	const int64_t length = line.length < WIDE_MOST ? line.length : WIDE_MOST;
	const int64_t from = kgb_rng_int(rng, 0, line.length - length);

	for (int64_t k = from; k < from + length; k++)
		kgb_dtype_store_i64(view->dtype, place(view, storage, line.first + k * line.step),
				    base + kgb_rng_int(rng, -2, 2));
}

enum { PAIRS_OF = 16, PAIRS = 32 }; /* one element in so many is paired; at most so many */

static int64_t count_pairs(int64_t n)
{
	return n / PAIRS_OF < 1 ? 1 : n / PAIRS_OF > PAIRS ? PAIRS : n / PAIRS_OF;
}

void kgb_fill_neighbours(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view *view = &arg->view;
	const int64_t n = kgb_tensor_view_numel(view);

	if (n < 2 || !arg->values.may_repeat)
		return;
	if (arg->values.is_wide && !kgb_dtype_is_float(view->dtype))
		for (int64_t i = kgb_rng_int(rng, 1, 4); i > 0; i--)
			make_wide_line(arg, rng, storage);
	for (int64_t i = count_pairs(n); i > 0; i--) {
		const int64_t from = kgb_rng_int(rng, 0, n - 1);
		const int64_t near = from + kgb_rng_int(rng, 1, 3);
		const int64_t to =
			near < n && kgb_rng_int(rng, 0, 1) ? near : kgb_rng_int(rng, 0, n - 1);
		if (kgb_rng_int(rng, 0, 1))
			pair_end(arg, rng, storage);
		else
			store_neighbour(arg, rng, place(view, storage, from),
					place(view, storage, to));
	}
}

/* ---- couples ---- */

static bool is_coupled(const struct kgb_arg *arg)
{
	return arg->param->kind == KGB_PARAM_TENSOR && !arg->is_absent &&
	       (!arg->is_repeated || arg->is_part) && arg->values.has_neighbours &&
	       arg->view.storage_elements > 0;
}

/* Sizes to which both views broadcast. False: there are none. */
static bool find_common(const struct kgb_tensor_view *a, const struct kgb_tensor_view *b,
			struct kgb_tensor_view *out)
{
	out->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
	for (int k = 1; k <= out->ndim; k++) {
		const int64_t size_a = k <= a->ndim ? a->sizes[a->ndim - k] : 1;
		const int64_t size_b = k <= b->ndim ? b->sizes[b->ndim - k] : 1;
		if (size_a != size_b && size_a != 1 && size_b != 1)
			return false;
		out->sizes[out->ndim - k] = size_a == 1 ? size_b : size_a;
	}
	return true;
}

static void spread(struct kgb_tensor_view *view, const struct kgb_tensor_view *common)
{
	struct kgb_tensor_view wide;

	if (kgb_tensor_view_expand(view, common, &wide))
		*view = wide;
}

/* Give two views common sizes, if they broadcast to such. */
static bool align(struct kgb_tensor_view *a, struct kgb_tensor_view *b)
{
	struct kgb_tensor_view common;

	if (!find_common(a, b, &common))
		return false;
	spread(a, &common);
	spread(b, &common);
	return true;
}

/* A random place; of wide integers one of the larger ones, because only few are wide. */
static int64_t couple_at(const struct kgb_arg *arg, const struct kgb_tensor_view *view,
			 void *storage, struct kgb_rng *rng)
{
	const int64_t n = kgb_tensor_view_numel(view);
	int64_t best = kgb_rng_int(rng, 0, n - 1);

	for (int tried = 1; arg->values.is_wide && tried < PAIRS; tried++) {
		const int64_t at = kgb_rng_int(rng, 0, n - 1);
		if (fabs(kgb_dtype_load(view->dtype, place(view, storage, at))) >
		    fabs(kgb_dtype_load(view->dtype, place(view, storage, best))))
			best = at;
	}
	return best;
}

enum {
	COUPLES_MORE = 2, /* than pairs in one tensor */
	OPPOSITE_OF = 4, /* one couple in so many has numbers of opposite signs */
};

/* The number of the other sign, if the argument may have it. */
static bool store_opposite(const struct kgb_arg *arg, const char *from, char *to)
{
	const enum kgb_dtype dtype = arg->view.dtype;
	const double value = -kgb_dtype_load(dtype, from);

	if (!kgb_dtype_is_float(dtype) || !isfinite(value) || !kgb_values_fit(arg, value))
		return false;
	kgb_dtype_store(dtype, to, value);
	return true;
}

static void couple(const struct kgb_arg *arg, const struct kgb_tensor_view *from,
		   void *from_storage, struct kgb_rng *rng, void *storage)
{
	const int64_t n = kgb_tensor_view_numel(&arg->view);

	for (int64_t left = n > 0 ? COUPLES_MORE * count_pairs(n) : 0; left > 0; left--) {
		const int64_t at = couple_at(arg, from, from_storage, rng);
		const char *p = place(from, from_storage, at);
		char *to = place(&arg->view, storage, at);
		if (kgb_rng_int(rng, 0, OPPOSITE_OF - 1) == 0 && store_opposite(arg, p, to))
			continue;
		if (!arg->bounded || kgb_values_fit(arg, kgb_dtype_load(from->dtype, p)))
			store_neighbour(arg, rng, p, to);
	}
}

/* The views of two arguments' parts in common sizes. False: they do not broadcast to such. */
static bool view_both(const struct kgb_arg *one, const struct kgb_arg *other,
		      struct kgb_tensor_view *a, struct kgb_tensor_view *b)
{
	*a = one->view;
	*b = other->view;
	if (!align(a, b))
		return false;
	*a = kgb_tensor_view_parts(a);
	*b = kgb_tensor_view_parts(b);
	return true;
}

void kgb_fill_couples(const struct kgb_arg *args, size_t i, struct kgb_rng *rng,
		      void *const *storages)
{
	struct kgb_arg arg = args[i];
	bool is_done = !is_coupled(&arg);

	for (size_t k = 0; k < i && !is_done; k++) {
		struct kgb_tensor_view from;
		if (!is_coupled(&args[k]) || args[k].view.dtype != args[i].view.dtype ||
		    !view_both(&args[k], &args[i], &from, &arg.view))
			continue;
		couple(&arg, &from, storages[k], rng, storages[i]);
		is_done = true;
	}
}

/* ---- special couples ---- */

enum { SPECIAL_COUPLES = 32, SEARCHED_MOST = 1 << 16 };

static bool is_special(enum kgb_dtype dtype, const void *element)
{
	const double value = kgb_dtype_load(dtype, element);

	return !isfinite(value) || value == 0 || fabs(value) >= kgb_dtype_max(dtype) / 2 ||
	       fabs(value) <= kgb_dtype_tiny(dtype);
}

static void couple_specials(const struct kgb_arg *arg, const struct kgb_tensor_view *from,
			    void *from_storage, struct kgb_rng *rng, void *storage)
{
	const int64_t n = kgb_tensor_view_numel(&arg->view);
	const int64_t first = kgb_rng_int(rng, 0, n - 1);
	int64_t left = SPECIAL_COUPLES;

	for (int64_t i = 0; i < n && i < SEARCHED_MOST && left > 0; i++) {
		const int64_t at = (first + i) % n;
		if (!is_special(from->dtype, place(from, from_storage, at)) ||
		    kgb_rng_int(rng, 0, 1))
			continue;
		kgb_fill_store_special(arg, kgb_rng_int(rng, 0, INT32_MAX),
				       place(&arg->view, storage, at));
		left--;
	}
}

void kgb_fill_special_couples(const struct kgb_arg *args, size_t i, struct kgb_rng *rng,
			      void *const *storages)
{
	struct kgb_arg arg = args[i];

	for (size_t k = 0; k < i && kgb_fill_has_special_floats(&args[i]); k++) {
		struct kgb_tensor_view from;
		if (kgb_fill_has_special_floats(&args[k]) &&
		    view_both(&args[k], &args[i], &from, &arg.view) &&
		    kgb_tensor_view_numel(&arg.view) == kgb_tensor_view_numel(&from))
			couple_specials(&arg, &from, storages[k], rng, storages[i]);
	}
}
