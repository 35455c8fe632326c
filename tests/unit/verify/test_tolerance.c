/* SPDX-License-Identifier: MIT */
/** \file
 * The tolerance against synthetic kernels: what honest implementations do (another order, another
 * exp, one more rounding) must pass with a margin on every draw, what cheats and common bugs do
 * must fail on every draw. The figures in docs/tolerance.md are printed by this program when
 * KGB_TOLERANCE_FIGURES is set.
 */
#include <math.h>

#include "tests/unit/base/support.h"
#include "verify/comparator/compare.h"
#include "verify/fills/fill.h"

#define N_DRAWS 6

struct problem {
	enum kgb_dtype dtype;
	int64_t rows, columns, depth; /* of the result; terms per element */
	double *a, *b; /* inputs, values of dtype */
	double alpha;
};

typedef void (*compute_fn)(const struct problem *p, double *out);

struct variant {
	const char *name;
	compute_fn compute;
	enum kgb_dtype only; /* of this dtype only; KGB_N_DTYPES: all */
};

struct op {
	const char *name;
	int64_t rows, columns, depth;
	int64_t n_a, n_b;
	double outliers; /* share of elements of a that are 50 times as large */
	compute_fn exact, magnitude, native;
	struct kgb_tolerance tolerance;
	struct variant honest[6], wrong[9];
};

static double f32(double v)
{
	return (double)(float)v;
}

static double f16(double v)
{
	return kgb_dtype_round(KGB_DTYPE_FLOAT16, v);
}

static double own(const struct problem *p, double v)
{
	return kgb_dtype_round(p->dtype, v);
}

/* 10 explicit bits, the rest cut off, as tensor cores read float32. */
static double tf32(double v)
{
	return v == 0 ? 0 : ldexp(trunc(ldexp(v, 10 - ilogb(v))), ilogb(v) - 10);
}

static double pairwise(const double *x, int64_t n)
{
	if (n <= 4) {
		double sum = 0;
		for (int64_t i = 0; i < n; i++)
			sum = f32(sum + x[i]);
		return sum;
	}
	return f32(pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2));
}

/* exp as GPUs compute it: exp2 of a rounded product. */
static double fast_exp(double x)
{
	return f32(exp2(f32(x * f32(M_LOG2E))));
}

/* ---- wrong whatever the operator ---- */

static int64_t n_results(const struct problem *p)
{
	return p->rows * p->columns;
}

static void zeros(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = 0;
}

static void half_of_a(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = p->a[i] / 2;
}

/* ---- add: a + alpha * b ---- */

static void add_exact(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = p->a[i] + p->alpha * p->b[i];
}

static void add_magnitude(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = fabs(p->a[i]) + fabs(p->alpha * p->b[i]);
}

static void add_float(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = f32(p->a[i] + f32(f32(p->alpha) * p->b[i]));
}

static void add_fused(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = (double)fmaf((float)p->alpha, (float)p->b[i], (float)p->a[i]);
}

static void add_in_own_dtype(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = own(p, p->a[i] + own(p, own(p, p->alpha) * p->b[i]));
}

static void add_in_half(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = f16(f16(p->a[i]) + f16(f16(p->alpha) * f16(p->b[i])));
}

static void add_without_alpha(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = p->a[i] + p->b[i];
}

static void add_identity(const struct problem *p, double *out)
{
	memcpy(out, p->a, (size_t)p->columns * sizeof(*out));
}

static void add_without_last(const struct problem *p, double *out)
{
	add_float(p, out);
	out[p->columns - 1] = 0;
}

static void add_shifted(const struct problem *p, double *out)
{
	add_float(p, out);
	memmove(out, out + 1, (size_t)(p->columns - 1) * sizeof(*out));
}

/* ---- silu: x / (1 + exp(-x)) ---- */

static void silu_exact(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = p->a[i] / (1 + exp(-p->a[i]));
}

static void silu_float(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = f32(p->a[i] / f32(1 + (double)expf((float)-p->a[i])));
}

/* exp2 of a rounded product, as GPUs compute exp, and a reciprocal. */
static void silu_by_exp2(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++) {
		double e = f32(fast_exp(-p->a[i]) * (1 + 0x1p-23));
		out[i] = f32(p->a[i] * f32(1 / f32(1 + e)));
	}
}

static void silu_rounding_the_sigmoid(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = own(p, p->a[i] * own(p, 1 / (1 + exp(-p->a[i]))));
}

static void silu_in_half(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = f16(f16(p->a[i]) * f16(1 / f16(1 + f16(exp(f16(-p->a[i]))))));
}

static void silu_as_relu(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = fmax(p->a[i], 0);
}

static void silu_as_gelu(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = p->a[i] / (1 + exp(-1.702 * p->a[i]));
}

static void silu_without_tail(const struct problem *p, double *out)
{
	silu_float(p, out);
	memset(out + p->columns - 16, 0, 16 * sizeof(*out));
}

static void silu_in_bfloat(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < p->columns; i++)
		out[i] = kgb_dtype_round(KGB_DTYPE_BFLOAT16, p->a[i] / (1 + exp(-p->a[i])));
}

/* ---- softmax of rows ---- */

static double row_max(const double *x, int64_t n)
{
	double max = x[0];
	for (int64_t i = 1; i < n; i++)
		max = fmax(max, x[i]);
	return max;
}

static void softmax_exact(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double max = row_max(x, p->columns), sum = 0;
		for (int64_t i = 0; i < p->columns; i++)
			sum += exp(x[i] - max);
		for (int64_t i = 0; i < p->columns; i++)
			out[r * p->columns + i] = exp(x[i] - max) / sum;
	}
}

static void softmax_row_float(const double *x, int64_t n, double *out)
{
	double max = row_max(x, n), lanes[8] = {0}, sum = 0;
	for (int64_t i = 0; i < n; i++) {
		out[i] = (double)expf((float)(x[i] - max));
		lanes[i % 8] = f32(lanes[i % 8] + out[i]);
	}
	for (int k = 0; k < 8; k++)
		sum = f32(sum + lanes[k]);
	for (int64_t i = 0; i < n; i++)
		out[i] = f32(out[i] / sum);
}

static void softmax_float(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++)
		softmax_row_float(p->a + r * p->columns, p->columns, out + r * p->columns);
}

/* The sum is of positive terms; exp makes relative errors as large as its argument. */
static void softmax_magnitude(const struct problem *p, double *out)
{
	softmax_exact(p, out);
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double max = row_max(x, p->columns);
		for (int64_t i = 0; i < p->columns; i++)
			out[r * p->columns + i] *= 1 + max - x[i];
	}
}

/* Running maximum over blocks of 128, a tree within each, one reciprocal. */
static void softmax_online(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double max = -1e30, sum = 0, block[128];
		for (int64_t i = 0; i < p->columns; i += 128) {
			int64_t n = p->columns - i < 128 ? p->columns - i : 128;
			double fresh = fmax(max, row_max(x + i, n));
			for (int64_t k = 0; k < n; k++)
				block[k] = fast_exp(f32(x[i + k] - fresh));
			sum = f32(f32(sum * fast_exp(f32(max - fresh))) + pairwise(block, n));
			max = fresh;
		}
		double inverse = f32(1 / sum);
		for (int64_t i = 0; i < p->columns; i++)
			out[r * p->columns + i] = f32(fast_exp(f32(x[i] - max)) * inverse);
	}
}

/* As a block in one program: exp2, a tree for the sum, one division. */
static void softmax_in_one_block(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double *y = out + r * p->columns, max = row_max(x, p->columns);
		for (int64_t i = 0; i < p->columns; i++)
			y[i] = fast_exp(f32(x[i] - max));
		double sum = pairwise(y, p->columns);
		for (int64_t i = 0; i < p->columns; i++)
			y[i] = f32(y[i] / sum);
	}
}

static void softmax_in_half(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double max = row_max(x, p->columns), sum = 0;
		for (int64_t i = 0; i < p->columns; i++)
			sum = f16(sum + f16(exp(f16(x[i] - max))));
		for (int64_t i = 0; i < p->columns; i++)
			out[r * p->columns + i] = f16(f16(exp(f16(x[i] - max))) / sum);
	}
}

static void softmax_uniform(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = 1.0 / (double)p->columns;
}

static void softmax_skipping_a_row(const struct problem *p, double *out)
{
	softmax_float(p, out);
	memset(out + p->columns * (p->rows / 2), 0, (size_t)p->columns * sizeof(*out));
}

static void softmax_repeating_a_row(const struct problem *p, double *out)
{
	softmax_float(p, out);
	memcpy(out + p->columns, out, (size_t)p->columns * sizeof(*out));
}

/* The last column takes no part: the classic tail bug. */
static void softmax_without_last_column(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		softmax_row_float(p->a + r * p->columns, p->columns - 1, out + r * p->columns);
		out[(r + 1) * p->columns - 1] = 0;
	}
}

static void softmax_not_normalised(const struct problem *p, double *out)
{
	softmax_float(p, out);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] *= 1.01;
}

/* ---- sum of rows ---- */

static void sum_exact(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		out[r] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[r] += p->a[r * p->depth + k];
	}
}

static void sum_magnitude(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		out[r] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[r] += fabs(p->a[r * p->depth + k]);
	}
}

static void sum_pairwise(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++)
		out[r] = pairwise(p->a + r * p->depth, p->depth);
}

static void sum_sequential(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		out[r] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[r] = f32(out[r] + p->a[r * p->depth + k]);
	}
}

static void sum_backwards(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		out[r] = 0;
		for (int64_t k = p->depth; k-- > 0;)
			out[r] = f32(out[r] + p->a[r * p->depth + k]);
	}
}

static void sum_in_own_dtype(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		out[r] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[r] = own(p, out[r] + p->a[r * p->depth + k]);
	}
}

static void sum_of_halves(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		out[r] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[r] = f32(out[r] + f16(p->a[r * p->depth + k]));
	}
}

static void sum_without_last(const struct problem *p, double *out)
{
	for (int64_t r = 0; r < p->rows; r++)
		out[r] = pairwise(p->a + r * p->depth, p->depth - 1);
}

static void sum_skipping_a_row(const struct problem *p, double *out)
{
	sum_pairwise(p, out);
	out[p->rows / 2] = 0;
}

/* ---- mm: rows x depth by depth x columns; b is stored by column ---- */

static void mm_exact(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		out[i] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[i] += x[k] * y[k];
	}
}

static void mm_magnitude(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		out[i] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[i] += fabs(x[k] * y[k]);
	}
}

/* Sixteen running sums of fused products, then their sum: what a vector unit does. */
static void mm_lanes(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		double lanes[16] = {0};
		for (int64_t k = 0; k < p->depth; k++)
			lanes[k % 16] = f32(x[k] * y[k] + lanes[k % 16]);
		out[i] = pairwise(lanes, 16);
	}
}

static void mm_sequential(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		out[i] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[i] = f32(out[i] + f32(x[k] * y[k]));
	}
}

/* Blocks of 32 along the depth, each summed by itself from the end, as tl.dot in a loop. */
static void mm_blocks(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		out[i] = 0;
		for (int64_t k = 0; k < p->depth; k += 32) {
			double block = 0;
			int64_t end = k + 32 < p->depth ? k + 32 : p->depth;
			for (int64_t m = end; m-- > k;)
				block = f32(block + x[m] * y[m]);
			out[i] = f32(out[i] + block);
		}
	}
}

static void mm_tf32(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		out[i] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[i] = f32(out[i] + tf32(x[k]) * tf32(y[k]));
	}
}

static void mm_in_own_dtype(const struct problem *p, double *out)
{
	for (int64_t i = 0; i < n_results(p); i++) {
		const double *x = p->a + i / p->columns * p->depth,
			     *y = p->b + i % p->columns * p->depth;
		out[i] = 0;
		for (int64_t k = 0; k < p->depth; k++)
			out[i] = own(p, out[i] + x[k] * y[k]);
	}
}

static void mm_without_last(const struct problem *p, double *out)
{
	mm_exact(p, out);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] -= p->a[i / p->columns * p->depth + p->depth - 1] *
			  p->b[i % p->columns * p->depth + p->depth - 1];
}

static void mm_skipping_a_row(const struct problem *p, double *out)
{
	mm_lanes(p, out);
	memset(out, 0, (size_t)p->columns * sizeof(*out));
}

static void mm_transposed(const struct problem *p, double *out)
{
	KGB_AUTO(free) double *straight = kgb_xcalloc((size_t)n_results(p), sizeof(*straight));
	mm_lanes(p, straight);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = straight[i % p->columns * p->columns + i / p->columns];
}

/* ---- rms_norm: x / sqrt(mean(x^2) + epsilon) * w ---- */

static void rms_by(const struct problem *p, double epsilon, int64_t mean_of, double *out)
{
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double sum = 0;
		for (int64_t i = 0; i < mean_of; i++)
			sum += x[i] * x[i];
		double scale = 1 / sqrt(sum / (double)mean_of + epsilon);
		for (int64_t i = 0; i < p->columns; i++)
			out[r * p->columns + i] = x[i] * scale * p->b[i];
	}
}

static void rms_exact(const struct problem *p, double *out)
{
	rms_by(p, 1e-5, p->columns, out);
}

/* One over the root of each row's mean square, in float32. */
static void rms_scales(const struct problem *p, bool backwards, double *scales)
{
	for (int64_t r = 0; r < p->rows; r++) {
		const double *x = p->a + r * p->columns;
		double sum = 0;
		for (int64_t i = 0; i < p->columns; i++) {
			double v = x[backwards ? p->columns - 1 - i : i];
			sum = f32(sum + f32(v * v));
		}
		scales[r] = f32(1 / f32(sqrt(f32(f32(sum / (double)p->columns) + f32(1e-5)))));
	}
}

static void rms_float(const struct problem *p, double *out)
{
	double scales[8];
	rms_scales(p, false, scales);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = f32(f32(p->a[i] * scales[i / p->columns]) * p->b[i % p->columns]);
}

static void rms_backwards(const struct problem *p, double *out)
{
	double scales[8];
	rms_scales(p, true, scales);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = f32(p->a[i] * f32(scales[i / p->columns] * p->b[i % p->columns]));
}

/* Rounds to the dtype before the weight, as vLLM's kernel does. */
static void rms_rounding_twice(const struct problem *p, double *out)
{
	double scales[8];
	rms_scales(p, false, scales);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = own(p, p->a[i] * scales[i / p->columns]) * p->b[i % p->columns];
}

static void rms_without_epsilon(const struct problem *p, double *out)
{
	rms_by(p, 0, p->columns, out);
}

static void rms_without_last(const struct problem *p, double *out)
{
	rms_by(p, 1e-5, p->columns - 1, out);
}

static void rms_identity(const struct problem *p, double *out)
{
	memcpy(out, p->a, (size_t)n_results(p) * sizeof(*out));
}

static void rms_without_weight(const struct problem *p, double *out)
{
	rms_float(p, out);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] /= p->b[i % p->columns];
}

static void rms_in_half(const struct problem *p, double *out)
{
	double scales[8];
	rms_scales(p, false, scales);
	for (int64_t i = 0; i < n_results(p); i++)
		out[i] = f16(f16(f16(p->a[i]) * f16(scales[i / p->columns])) *
			     f16(p->b[i % p->columns]));
}

/* ---- the table ---- */

#define ANY KGB_N_DTYPES
#define F32 KGB_DTYPE_FLOAT32
#define F16 KGB_DTYPE_FLOAT16
#define BF16 KGB_DTYPE_BFLOAT16

#define STANDARD                             \
	{                                    \
		4, 2, KGB_ACCUMULATE_FLOAT32 \
	}
#define POINTWISE                           \
	{                                   \
		4, 2, KGB_ACCUMULATE_RESULT \
	}

#define ADD(count)                                                                         \
	.rows = 1, .columns = (count), .n_a = (count), .n_b = (count), .exact = add_exact, \
	.magnitude = add_magnitude, .native = add_float, .tolerance = POINTWISE

#define ADD_HONEST .honest = {{"fused", add_fused, ANY}, {"own dtype", add_in_own_dtype, ANY}}

#define SUM(n_rows, n_terms)                                                             \
	.rows = (n_rows), .columns = 1, .depth = (n_terms), .n_a = (n_rows) * (n_terms), \
	.exact = sum_exact, .magnitude = sum_magnitude, .native = sum_pairwise,          \
	.tolerance = STANDARD

#define SUM_HONEST \
	.honest = {{"sequential", sum_sequential, ANY}, {"backwards", sum_backwards, ANY}}

#define SOFTMAX(n_rows, n_columns)                                                       \
	.rows = (n_rows), .columns = (n_columns), .n_a = (n_rows) * (n_columns),         \
	.exact = softmax_exact, .magnitude = softmax_magnitude, .native = softmax_float, \
	.tolerance = STANDARD,                                                           \
	.honest = {{"online", softmax_online, ANY}, {"one block", softmax_in_one_block, ANY}}

#define MM(m, n, k)                                                                              \
	.rows = (m), .columns = (n), .depth = (k), .n_a = (m) * (k), .n_b = (n) * (k),           \
	.exact = mm_exact, .magnitude = mm_magnitude, .native = mm_lanes, .tolerance = STANDARD, \
	.honest = {{"sequential", mm_sequential, ANY}, {"blocks", mm_blocks, ANY}}

static const struct op ops[] = {
	{.name = "add [1000]",
	 ADD(1000),
	 ADD_HONEST,
	 .wrong = {{"zeros", zeros, ANY},
		   {"half of a", half_of_a, ANY},
		   {"in half", add_in_half, F32},
		   {"without alpha", add_without_alpha, ANY},
		   {"identity", add_identity, ANY},
		   {"last element 0", add_without_last, ANY},
		   {"shifted by one", add_shifted, ANY}}},
	{.name = "add [1]",
	 ADD(1),
	 ADD_HONEST,
	 .wrong = {{"zeros", zeros, F32}, {"identity", add_identity, F32}}},
	{.name = "add [5] outlier",
	 .outliers = 0.2,
	 ADD(5),
	 ADD_HONEST,
	 .wrong = {{"zeros", zeros, ANY}}},
	{.name = "silu [4000]",
	 .rows = 1,
	 .columns = 4000,
	 .n_a = 4000,
	 .exact = silu_exact,
	 .native = silu_float,
	 .tolerance = STANDARD,
	 .honest = {{"by exp2", silu_by_exp2, ANY},
		    {"rounded sigmoid", silu_rounding_the_sigmoid, ANY}},
	 .wrong = {{"zeros", zeros, ANY},
		   {"half of a", half_of_a, ANY},
		   {"in half", silu_in_half, F32},
		   {"relu", silu_as_relu, ANY},
		   {"gelu", silu_as_gelu, ANY},
		   {"tail of 16", silu_without_tail, ANY},
		   {"in bfloat16", silu_in_bfloat, F16}}},
	{.name = "silu [3]",
	 .rows = 1,
	 .columns = 3,
	 .n_a = 3,
	 .exact = silu_exact,
	 .native = silu_float,
	 .tolerance = STANDARD,
	 .honest = {{"by exp2", silu_by_exp2, ANY},
		    {"rounded sigmoid", silu_rounding_the_sigmoid, ANY}},
	 .wrong = {{"zeros", zeros, ANY}}},
	{.name = "silu [4000] outlier",
	 .outliers = 0.001,
	 .rows = 1,
	 .columns = 4000,
	 .n_a = 4000,
	 .exact = silu_exact,
	 .native = silu_float,
	 .tolerance = STANDARD,
	 .honest = {{"by exp2", silu_by_exp2, ANY},
		    {"rounded sigmoid", silu_rounding_the_sigmoid, ANY}},
	 .wrong = {{"relu", silu_as_relu, ANY},
		   {"gelu", silu_as_gelu, ANY},
		   {"in half", silu_in_half, F32}}},
	{.name = "softmax [8, 1000]",
	 SOFTMAX(8, 1000),
	 .wrong = {{"zeros", zeros, ANY},
		   {"uniform", softmax_uniform, ANY},
		   {"in half", softmax_in_half, F32},
		   {"a row skipped", softmax_skipping_a_row, ANY},
		   {"a row repeated", softmax_repeating_a_row, ANY},
		   {"without last column", softmax_without_last_column, ANY},
		   {"1 % off", softmax_not_normalised, F32}}},
	{.name = "softmax [4, 4099] outlier",
	 .outliers = 0.001,
	 SOFTMAX(4, 4099),
	 .wrong = {{"zeros", zeros, ANY},
		   {"uniform", softmax_uniform, ANY},
		   {"in half", softmax_in_half, F32},
		   {"a row skipped", softmax_skipping_a_row, ANY},
		   {"1 % off", softmax_not_normalised, F32}}},
	{.name = "softmax [2, 3]",
	 SOFTMAX(2, 3),
	 .wrong = {{"zeros", zeros, ANY},
		   {"a row skipped", softmax_skipping_a_row, ANY},
		   {"without last column", softmax_without_last_column, ANY}}},
	{.name = "sum [1, 8192]",
	 SUM(1, 8192),
	 SUM_HONEST,
	 .wrong = {{"zeros", zeros, F32}, {"without last", sum_without_last, F32}}},
	{.name = "sum [64, 4099]",
	 SUM(64, 4099),
	 SUM_HONEST,
	 .wrong = {{"zeros", zeros, ANY},
		   {"of halves", sum_of_halves, F32},
		   {"without last", sum_without_last, ANY},
		   {"a row skipped", sum_skipping_a_row, F32},
		   {"half accumulator", sum_in_own_dtype, F16},
		   {"half accumulator", sum_in_own_dtype, BF16}}},
	{.name = "sum [1, 3]",
	 SUM(1, 3),
	 SUM_HONEST,
	 .wrong = {{"zeros", zeros, F32}, {"without last", sum_without_last, F32}}},
	{.name = "sum [16, 1000] outlier",
	 .outliers = 0.001,
	 SUM(16, 1000),
	 SUM_HONEST,
	 .wrong = {{"zeros", zeros, ANY},
		   {"of halves", sum_of_halves, F32},
		   {"without last", sum_without_last, F32}}},
	{.name = "mm [8, 8], K = 4096",
	 MM(8, 8, 4096),
	 .wrong = {{"zeros", zeros, ANY},
		   {"tf32", mm_tf32, F32},
		   {"half accumulator", mm_in_own_dtype, F16},
		   {"half accumulator", mm_in_own_dtype, BF16},
		   {"without last", mm_without_last, F32},
		   {"without last", mm_without_last, F16},
		   {"a row skipped", mm_skipping_a_row, ANY},
		   {"transposed", mm_transposed, ANY}}},
	{.name = "mm [16, 16], K = 512",
	 MM(16, 16, 512),
	 .wrong = {{"zeros", zeros, ANY},
		   {"tf32", mm_tf32, F32},
		   {"half accumulator", mm_in_own_dtype, F16},
		   {"half accumulator", mm_in_own_dtype, BF16},
		   {"without last", mm_without_last, ANY},
		   {"a row skipped", mm_skipping_a_row, ANY}}},
	{.name = "mm [1, 1], K = 33",
	 MM(1, 1, 33),
	 .wrong = {{"zeros", zeros, F32}, {"tf32", mm_tf32, F32}}},
	{.name = "rms_norm [8, 497]",
	 .rows = 8,
	 .columns = 497,
	 .n_a = 8 * 497,
	 .n_b = 497,
	 .exact = rms_exact,
	 .native = rms_float,
	 .tolerance = STANDARD,
	 .honest = {{"backwards", rms_backwards, ANY}, {"rounded twice", rms_rounding_twice, ANY}},
	 .wrong = {{"zeros", zeros, ANY},
		   {"identity", rms_identity, ANY},
		   {"in half", rms_in_half, F32},
		   {"without epsilon", rms_without_epsilon, F32},
		   {"mean without last", rms_without_last, F32},
		   {"without weight", rms_without_weight, ANY}}},
};

/* ---- running it ---- */

static double *draw_inputs(const struct op *op, enum kgb_dtype dtype, int64_t n, double outliers,
			   struct kgb_rng *rng)
{
	double *x = kgb_xcalloc((size_t)n + 1, sizeof(*x));
	KGB_ASSERT(op->rows > 0);
	for (int64_t i = 0; i < n; i++) {
		double v = kgb_rng_normal(rng);
		x[i] = kgb_dtype_round(dtype, kgb_rng_uniform(rng) < outliers ? 50 * v : v);
	}
	return x;
}

static void *stored(enum kgb_dtype dtype, const double *values, int64_t n)
{
	char *bytes = kgb_xcalloc((size_t)n, kgb_dtype_size(dtype));
	for (int64_t i = 0; i < n; i++)
		kgb_dtype_store(dtype, bytes + (size_t)i * kgb_dtype_size(dtype), values[i]);
	return bytes;
}

/* Error over allowed error, the larger of element and bulk line; above 1 fails. */
static double strain(const struct op *op, const struct problem *p, const double *r,
		     const double *magnitude, const void *native, compute_fn compute)
{
	int64_t n = n_results(p);
	KGB_AUTO(free) double *values = kgb_xcalloc((size_t)n, sizeof(*values));
	struct kgb_tensor_view view = {
		.dtype = p->dtype, .ndim = 1, .sizes = {n}, .strides = {1}, .storage_elements = n};
	struct kgb_compare result;

	compute(p, values);
	KGB_AUTO(free) void *candidate = stored(p->dtype, values, n);
	kgb_compare(&view, candidate, native, r, op->magnitude ? magnitude : NULL, &op->tolerance,
		    &result);
	double element = fabs(result.got - result.expected) / result.allowed_abs_err;
	double all = fmax(element, result.rms_err / result.allowed_rms_err);
	assert_int_equal(result.ok, all <= 1);
	return all;
}

struct figure {
	double lowest, highest;
};

static void try_draw(const struct op *op, enum kgb_dtype dtype, uint32_t draw,
		     const struct variant *variants, size_t n_variants, struct figure *figures)
{
	static const struct kgb_seed seed = {"tolerance tests"};
	struct kgb_rng rng;
	kgb_rng_init(&rng, &seed, op->name, draw);
	struct problem p = {
		.dtype = dtype,
		.rows = op->rows,
		.columns = op->columns,
		.depth = op->depth,
		.alpha = -0.999,
		.a = draw_inputs(op, dtype, op->n_a, op->outliers, &rng),
		.b = draw_inputs(op, dtype, op->n_b, 0, &rng),
	};
	size_t n = (size_t)n_results(&p);
	KGB_AUTO(free) double *r = kgb_xcalloc(n, sizeof(*r));
	KGB_AUTO(free) double *magnitude = kgb_xcalloc(n, sizeof(*magnitude));
	KGB_AUTO(free) double *values = kgb_xcalloc(n, sizeof(*values));

	op->exact(&p, r);
	if (op->magnitude)
		op->magnitude(&p, magnitude);
	op->native(&p, values);
	KGB_AUTO(free) void *native = stored(dtype, values, (int64_t)n);
	for (size_t v = 0; v < n_variants && variants[v].name; v++) {
		if (variants[v].only != ANY && variants[v].only != dtype)
			continue;
		double s = strain(op, &p, r, magnitude, native, variants[v].compute);
		figures[v].lowest = fmin(figures[v].lowest, s);
		figures[v].highest = fmax(figures[v].highest, s);
	}
	kgb_free(p.a);
	kgb_free(p.b);
}

/* Returns how many variants went wrong, each with a line. */
static int try_variants(const struct op *op, enum kgb_dtype dtype, const struct variant *variants,
			size_t n_variants, bool honest)
{
	struct figure figures[9];
	int n_bad = 0;

	for (size_t v = 0; v < KGB_ARRAY_LEN(figures); v++)
		figures[v] = (struct figure){(double)INFINITY, 0};
	for (uint32_t draw = 0; draw < N_DRAWS; draw++)
		try_draw(op, dtype, draw, variants, n_variants, figures);
	for (size_t v = 0; v < n_variants && variants[v].name; v++) {
		/* An honest kernel keeps half of the bound in reserve; a wrong one must be over it
		 * each time. */
		bool bad = honest ? figures[v].highest > 0.5 : figures[v].lowest <= 1;
		if ((bad || getenv("KGB_TOLERANCE_FIGURES")) && figures[v].highest > 0)
			print_message("%-26s %-8s %-6s %-20s %10.3g .. %.3g%s\n", op->name,
				      kgb_dtype_name(dtype), honest ? "honest" : "wrong",
				      variants[v].name, figures[v].lowest, figures[v].highest,
				      bad ? "  <-- BAD" : "");
		n_bad += bad;
	}
	return n_bad;
}

static int try_all(bool honest)
{
	static const enum kgb_dtype dtypes[] = {F32, F16, BF16};
	int n_bad = 0;

	for (size_t o = 0; o < KGB_ARRAY_LEN(ops); o++) {
		const struct variant *variants = honest ? ops[o].honest : ops[o].wrong;
		size_t n = honest ? KGB_ARRAY_LEN(ops[o].honest) : KGB_ARRAY_LEN(ops[o].wrong);
		for (size_t d = 0; d < KGB_ARRAY_LEN(dtypes); d++)
			n_bad += try_variants(&ops[o], dtypes[d], variants, n, honest);
	}
	return n_bad;
}

static void test_honest_kernels_pass_with_a_margin(KGB_UNUSED void **state)
{
	assert_int_equal(try_all(true), 0);
}

static void test_wrong_kernels_fail_on_every_draw(KGB_UNUSED void **state)
{
	assert_int_equal(try_all(false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_honest_kernels_pass_with_a_margin),
		cmocka_unit_test(test_wrong_kernels_fail_on_every_draw),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
