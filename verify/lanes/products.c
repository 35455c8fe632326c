/* SPDX-License-Identifier: MIT */
#include "verify/lanes/products.h"

#include <math.h>

#ifdef KGB_LANES_AVX2
#include <immintrin.h>

/* Four rows and sixteen columns at a time: their sums stay in registers. */
#define ROWS 4
#define COLUMNS 16
static void tile(float *c, const float *a, const float *b, size_t n, size_t k)
{
	__m256 sums[ROWS][2];

	for (size_t r = 0; r < ROWS; r++)
		for (size_t h = 0; h < 2; h++)
			sums[r][h] = _mm256_loadu_ps(c + r * n + 8 * h);
	for (size_t p = 0; p < k; p++) {
		const __m256 left = _mm256_loadu_ps(b + p * n);
		const __m256 right = _mm256_loadu_ps(b + p * n + 8);
		for (size_t r = 0; r < ROWS; r++) {
			const __m256 x = _mm256_set1_ps(a[r * k + p]);
			sums[r][0] = _mm256_fmadd_ps(x, left, sums[r][0]);
			sums[r][1] = _mm256_fmadd_ps(x, right, sums[r][1]);
		}
	}
	for (size_t r = 0; r < ROWS; r++)
		for (size_t h = 0; h < 2; h++)
			_mm256_storeu_ps(c + r * n + 8 * h, sums[r][h]);
}
#else
#define ROWS 1
#define COLUMNS 1
static void tile(float *c, const float *a, const float *b, size_t n, size_t k)
{
	for (size_t p = 0; p < k; p++)
		c[0] = fmaf(a[p], b[p * n], c[0]);
}
#endif

/* The rows and columns that fill no tile. */
static void corner_f32(float *c, const float *a, const float *b, size_t m, size_t columns, size_t n,
		       size_t k)
{
	for (size_t i = 0; i < m; i++)
		for (size_t p = 0; p < k; p++)
			for (size_t j = 0; j < columns; j++)
				c[i * n + j] = fmaf(a[i * k + p], b[p * n + j], c[i * n + j]);
}

void KGB_LANES_NAMED(kgb_product_f32)(float *c, const float *a, const float *b, size_t m, size_t n,
				      size_t k)
{
	const size_t whole = n / COLUMNS * COLUMNS;
	size_t i = 0;

	for (; i + ROWS <= m; i += ROWS) {
		for (size_t j = 0; j < whole; j += COLUMNS)
			tile(c + i * n + j, a + i * k, b + j, n, k);
		corner_f32(c + i * n + whole, a + i * k, b + whole, ROWS, n - whole, n, k);
	}
	corner_f32(c + i * n, a + i * k, b, m - i, n, n, k);
}

void KGB_LANES_NAMED(kgb_product_f64)(double *c, const double *a, const double *b, size_t m,
				      size_t n, size_t k)
{
	for (size_t i = 0; i < m; i++)
		for (size_t p = 0; p < k; p++)
			for (size_t j = 0; j < n; j++)
				c[i * n + j] = fma(a[i * k + p], b[p * n + j], c[i * n + j]);
}

void KGB_LANES_NAMED(kgb_product_i8)(int32_t *c, const int8_t *a, const int8_t *b, size_t m,
				     size_t n, size_t k)
{
	for (size_t i = 0; i < m; i++) {
		for (size_t p = 0; p < k; p++) {
			const int32_t x = (int32_t)a[i * k + p];
			for (size_t j = 0; j < n; j++) {
				uint32_t sum =
					(uint32_t)c[i * n + j] + (uint32_t)(x * b[p * n + j]);
				c[i * n + j] = (int32_t)sum;
			}
		}
	}
}
