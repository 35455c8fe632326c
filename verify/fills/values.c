/* SPDX-License-Identifier: MIT */
#include "verify/fills/values.h"

#include <math.h>
#include <string.h>

bool kgb_values_fit(const struct kgb_arg *arg, double value)
{
	if (arg->fill == KGB_FILL_UNIFORM)
		return value >= arg->lo && value < arg->hi;
	if (arg->fill == KGB_FILL_INT)
		return value >= arg->lo && value <= arg->hi && value == floor(value);
	if (arg->fill == KGB_FILL_BOOL)
		return value == 0 || value == 1;
	return arg->fill == KGB_FILL_POSITIVE ? value > 0 : value != 0 || arg->values.may_be_zero;
}

enum { MULTIPLES_BITS = 10 }; /* multiples of a step are below two to this power, most below 8 */

double kgb_values_draw_beside(const struct kgb_points *points, enum kgb_dtype dtype,
			      struct kgb_rng *rng)
{
	const double place = 2 * kgb_rng_uniform(rng) - 1, near = kgb_rng_uniform(rng);
	const double side = kgb_rng_uniform(rng) < 0.5 ? -1 : 1;
	const double multiple = floor(exp2(MULTIPLES_BITS * pow(place, 4))) - 1;
	const double point = points->first + points->step * copysign(multiple, place);
	const double size = point != 0 ? fabs(point) : points->step != 0 ? points->step : 1;

	if (fabs(point) + size / 4 > kgb_dtype_max(dtype)) /* multiples of 8-bit types */
		return points->first;
	if (near >= 0.375)
		return point;
	return point + side * size / 4 * exp2(near / 0.375 * log2(kgb_dtype_eps(dtype)));
}

bool kgb_values_store_step(const struct kgb_arg *arg, const char *from, int by, char *to)
{
	const enum kgb_dtype dtype = arg->view.dtype;
	const size_t size = kgb_dtype_size(dtype);
	char stepped[sizeof(int64_t)];

	if (!kgb_dtype_is_float(dtype)) {
		const int64_t value = kgb_dtype_load_i64(dtype, from);
		int64_t other = 0;
		if (__builtin_add_overflow(value, by, &other) || other < kgb_dtype_min_i64(dtype) ||
		    other > kgb_dtype_max_i64(dtype))
			return false;
		kgb_dtype_store_i64(dtype, stepped, other);
	} else {
		uint64_t bits = 0;
		memcpy(&bits, from, size);
		bits += (uint64_t)(int64_t)by;
		memcpy(stepped, &bits, size);
		const double value = kgb_dtype_load(dtype, from);
		const double other = kgb_dtype_load(dtype, stepped);
		if (!isfinite(value) || !isfinite(other) ||
		    !(fabs(value) > 2 * kgb_dtype_tiny(dtype)))
			return false;
	}
	const double value = kgb_dtype_load(dtype, stepped);
	if (!arg->values.is_wide && arg->fill != KGB_FILL_NORMAL && !kgb_values_fit(arg, value))
		return false;
	memcpy(to, stepped, size);
	return true;
}
