/* SPDX-License-Identifier: MIT */
#include "verify/exec/cpu/convert.h"

#include <string.h>

#include "base/mem.h"

/* The intermediate form of a type's elements. */
enum form { WHOLE, SINGLE, DOUBLE };

union wide {
	int64_t whole[KGB_CPU_CONVERT_MAX];
	float single[KGB_CPU_CONVERT_MAX];
	double real[KGB_CPU_CONVERT_MAX];
};

static enum form form_of(enum kgb_dtype dtype)
{
	return !kgb_dtype_is_float(dtype) ? WHOLE : dtype == KGB_DTYPE_FLOAT64 ? DOUBLE : SINGLE;
}

static void load(enum kgb_dtype dtype, const char *from, size_t n, union wide *out)
{
	const size_t size = kgb_dtype_size(dtype);

	if (dtype == KGB_DTYPE_FLOAT64)
		memcpy(out->real, from, n * size);
	else if (dtype == KGB_DTYPE_FLOAT32)
		memcpy(out->single, from, n * size);
	else if (form_of(dtype) == SINGLE)
		kgb_dtype_load_floats(dtype, from, n, out->single);
	else
		for (size_t i = 0; i < n; i++) {
			const int64_t value = kgb_dtype_load_i64(dtype, from + i * size);
			out->whole[i] = dtype == KGB_DTYPE_BOOL ? value != 0 : value;
		}
}

/* Truncate as the x86 instruction with a result of this many bits. */
static int64_t truncate(double value, int bits)
{
	const double end = bits == 32 ? 0x1p31 : 0x1p63;
	const int64_t least = bits == 32 ? INT32_MIN : INT64_MIN;
	/* -2^31 - 0.5 truncates to an int32; the next double below -2^63 truncates to no int64. */
	const bool fits = value < end && value > (bits == 32 ? -end - 1 : -0x1.0000000000001p63);

	return fits ? (int64_t)value : least;
}

static double real_of(enum form form, const union wide *in, size_t i)
{
	return form == SINGLE ? (double)in->single[i] : in->real[i];
}

static void to_whole(enum kgb_dtype dtype, enum form form, const union wide *in, size_t n,
		     int64_t *out)
{
	const int bits = dtype == KGB_DTYPE_INT64 || dtype == KGB_DTYPE_UINT8 ? 64 : 32;

	for (size_t i = 0; i < n; i++)
		if (dtype == KGB_DTYPE_BOOL)
			out[i] = form == WHOLE ? in->whole[i] != 0 : real_of(form, in, i) != 0;
		else
			out[i] =
				form == WHOLE ? in->whole[i] : truncate(real_of(form, in, i), bits);
}

static void to_single(enum form form, const union wide *in, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = form == WHOLE    ? (float)in->whole[i]
			 : form == SINGLE ? in->single[i]
					  : (float)in->real[i];
}

/* An overflow of the 8-bit type gives its largest number in torch 2.13; in earlier versions NaN. */
static void saturate(float *values, size_t n)
{
	const float most = (float)kgb_dtype_max(KGB_DTYPE_FLOAT8_E4M3FN);

	for (size_t i = 0; i < n; i++)
		if (values[i] > most)
			values[i] = most;
		else if (values[i] < -most)
			values[i] = -most;
}

static void to_double(enum form form, const union wide *in, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = form == WHOLE ? (double)in->whole[i] : real_of(form, in, i);
}

static void store(enum kgb_dtype dtype, enum form form, const union wide *in, size_t n, char *to)
{
	const size_t size = kgb_dtype_size(dtype);
	union wide out;

	if (form_of(dtype) == DOUBLE) {
		to_double(form, in, n, out.real);
		memcpy(to, out.real, n * size);
	} else if (form_of(dtype) == SINGLE) {
		to_single(form, in, n, out.single);
		if (dtype == KGB_DTYPE_FLOAT8_E4M3FN)
			saturate(out.single, n);
		if (dtype == KGB_DTYPE_FLOAT32)
			memcpy(to, out.single, n * size);
		else
			kgb_dtype_store_floats(dtype, out.single, n, to);
	} else {
		to_whole(dtype, form, in, n, out.whole);
		for (size_t i = 0; i < n; i++) /* the low bytes */
			memcpy(to + i * size, &out.whole[i], size);
	}
}

static void convert_parts(enum kgb_dtype to_dtype, void *to, enum kgb_dtype from_dtype,
			  const void *from, size_t n)
{
	union wide wide;

	load(from_dtype, from, n, &wide);
	store(to_dtype, form_of(from_dtype), &wide, n, to);
}

/* Copy one part of complex numbers to or from a separate array. */
static void gather_part(const char *from, size_t size, size_t part, size_t n, char *to)
{
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * size, from + (2 * i + part) * size, size);
}

static void scatter_part(char *to, size_t size, size_t part, size_t n, const char *from)
{
	for (size_t i = 0; i < n; i++)
		memcpy(to + (2 * i + part) * size, from + i * size, size);
}

void kgb_cpu_convert(enum kgb_dtype to_dtype, void *to, enum kgb_dtype from_dtype, const void *from,
		     size_t n)
{
	const enum kgb_dtype to_part = kgb_dtype_part(to_dtype);
	const enum kgb_dtype from_part = kgb_dtype_part(from_dtype);
	const size_t to_size = kgb_dtype_size(to_part), from_size = kgb_dtype_size(from_part);
	const bool to_complex = to_part != to_dtype, from_complex = from_part != from_dtype;
	_Alignas(16) char part[KGB_CPU_CONVERT_MAX * sizeof(double)];
	_Alignas(16) char made[KGB_CPU_CONVERT_MAX * sizeof(double)];

	KGB_ASSERT(n <= KGB_CPU_CONVERT_MAX);
	if (!to_complex && !from_complex) {
		convert_parts(to_dtype, to, from_dtype, from, n);
		return;
	}
	memset(made, 0, sizeof(made));
	for (size_t k = 0; k < 2; k++) {
		if (from_complex)
			gather_part(from, from_size, k, n, part);
		if (from_complex || k == 0)
			convert_parts(to_part, made, from_part, from_complex ? part : from, n);
		else
			memset(made, 0, n * to_size);
		if (to_complex)
			scatter_part(to, to_size, k, n, made);
		else if (k == 0)
			memcpy(to, made, n * to_size);
		else if (to_dtype == KGB_DTYPE_BOOL) /* true where either part is not 0 */
			for (size_t i = 0; i < n; i++)
				((bool *)to)[i] |= made[i] != 0;
	}
}
