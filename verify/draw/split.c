/* SPDX-License-Identifier: MIT */
#include "verify/draw/split.h"

#include <math.h>

enum { SHORT_MOST = 3 }; /* largest of the other sizes of a long shape */

int64_t kgb_throw_log(struct kgb_rng *rng, int64_t lo, int64_t hi)
{
	double low = log((double)lo), high = log((double)hi + 1);
	int64_t value = (int64_t)exp(low + kgb_rng_uniform(rng) * (high - low));

	return value < lo ? lo : value > hi ? hi : value;
}

void kgb_split_elements(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes)
{
	const int64_t least = kgb_rng_int(rng, 0, 3) > 0 && elements >> ndim > 0 ? 2 : 1;
	int64_t left = elements;

	for (int64_t k = 0; k < ndim; k++) {
		const double share = 2.0 / (double)(ndim - k) * kgb_rng_uniform(rng);
		const double size = pow((double)left, k == ndim - 1 ? 1 : fmin(share, 1));
		const int64_t most = least > 1 ? left >> (ndim - 1 - k) : left;
		sizes[k] = size < (double)least  ? least
			   : size > (double)most ? most
						 : (int64_t)size;
		left /= sizes[k];
	}
	for (int64_t k = ndim - 1; k > 0; k--) {
		const int64_t other = kgb_rng_int(rng, 0, k), size = sizes[k];
		sizes[k] = sizes[other];
		sizes[other] = size;
	}
	if (ndim > 0 && least == 1 && kgb_rng_int(rng, 0, 7) == 0)
		sizes[kgb_rng_int(rng, 0, ndim - 1)] = 1;
}

void kgb_split_with_one(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes)
{
	const int64_t place = kgb_rng_int(rng, 0, 1) ? ndim - 2 : kgb_rng_int(rng, 0, ndim - 1);

	kgb_split_elements(rng, elements, ndim - 1, sizes);
	for (int64_t k = ndim - 1; k > place; k--)
		sizes[k] = sizes[k - 1];
	sizes[place] = 1;
}

void kgb_split_exactly(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes)
{
	for (int64_t k = 0; k < ndim; k++)
		sizes[k] = 1;
	for (int64_t divisor = 2; elements > 1; divisor++) {
		if (divisor > elements / divisor)
			divisor = elements; /* the rest is a prime */
		for (; elements % divisor == 0; elements /= divisor)
			sizes[kgb_rng_int(rng, 0, ndim - 1)] *= divisor;
	}
}

void kgb_split_long(struct kgb_rng *rng, int64_t elements, int64_t ndim, int64_t *sizes)
{
	const int64_t place = kgb_rng_int(rng, 0, ndim - 1);

	for (int64_t k = 0; k < ndim; k++) {
		sizes[k] = k == place ? 1 : kgb_rng_int(rng, 1, SHORT_MOST);
		elements /= sizes[k];
	}
	sizes[place] = kgb_throw_log(rng, elements / 8, elements);
}
