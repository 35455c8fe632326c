/* SPDX-License-Identifier: MIT */
/** \file
 * Elements that no valid call has: negative indices, NaN where the semantics exclude it.
 */
#include <math.h>

#include "verify/fills/fill.h"
#include "verify/fills/values.h"

enum { FAR = 1 << 20 };

/* Numbers of which some lie outside of any range. */
static int64_t draw_whole(enum kgb_dtype dtype, struct kgb_rng *rng)
{
	const int64_t values[] = {-1,
				  -2,
				  -kgb_rng_int(rng, 1, FAR),
				  kgb_rng_int(rng, 1, FAR),
				  kgb_dtype_min_i64(dtype),
				  kgb_dtype_max_i64(dtype),
				  0};

	return values[kgb_rng_int(rng, 0, (int64_t)KGB_ARRAY_LEN(values) - 1)];
}

static bool excludes_whole(const struct kgb_arg *arg, int64_t value)
{
	const enum kgb_dtype dtype = arg->view.dtype;

	if (!arg->bounded || value < kgb_dtype_min_i64(dtype) || value > kgb_dtype_max_i64(dtype))
		return false;
	if (arg->fill == KGB_FILL_INT)
		return !kgb_values_fit(arg, (double)value);
	return kgb_fill_is_structured(arg->fill) && (value < 0 || value >= FAR);
}

static double draw_float(const struct kgb_arg *arg, struct kgb_rng *rng, enum kgb_special *class)
{
	static const struct {
		enum kgb_special class;
		double value;
	} rows[] = {
		{KGB_SPECIAL_NAN, (double)NAN},
		{KGB_SPECIAL_INFINITY, (double)INFINITY},
		{KGB_SPECIAL_NEGATIVE_INFINITY, -(double)INFINITY},
		{KGB_SPECIAL_ZEROS, 0},
		{KGB_SPECIAL_LARGEST, 1},
		{KGB_SPECIAL_LARGEST, -1},
	};
	const size_t i = (size_t)kgb_rng_int(rng, 0, (int64_t)KGB_ARRAY_LEN(rows) - 1);

	*class = rows[i].class;
	return rows[i].class == KGB_SPECIAL_LARGEST ? rows[i].value * kgb_dtype_max(arg->view.dtype)
						    : rows[i].value;
}

static bool excludes_float(const struct kgb_arg *arg, enum kgb_special class, double value)
{
	if (arg->fill == KGB_FILL_UNIFORM && arg->bounded)
		return !kgb_values_fit(arg, value);
	if (arg->fill == KGB_FILL_POSITIVE && !kgb_values_fit(arg, value))
		return true;
	return arg->bounded || !(arg->specials & 1U << class);
}

static void exclude(const struct kgb_arg *arg, struct kgb_rng *rng, char *element)
{
	enum kgb_special class;

	if (!kgb_dtype_is_float(arg->view.dtype)) {
		const int64_t value = draw_whole(arg->view.dtype, rng);
		if (excludes_whole(arg, value))
			kgb_dtype_store_i64(arg->view.dtype, element, value);
		return;
	}
	const double value = draw_float(arg, rng, &class);
	if (excludes_float(arg, class, value))
		kgb_dtype_store(arg->view.dtype, element, value);
}

void kgb_fill_excluded(const struct kgb_arg *arg, struct kgb_rng *rng, void *storage)
{
	const struct kgb_tensor_view view = kgb_tensor_view_parts(&arg->view);
	const int64_t n = kgb_tensor_view_numel(&view);
	struct kgb_arg part = *arg;
	struct kgb_tensor_view_walk walk;

	if (view.dtype == KGB_DTYPE_BOOL)
		return;
	part.view = view;
	kgb_tensor_view_walk_init(&walk, &view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk))
		if (kgb_rng_int(rng, 0, 1))
			exclude(&part, rng,
				(char *)storage + (size_t)walk.at * kgb_dtype_size(view.dtype));
}
