/* SPDX-License-Identifier: MIT */
#include "agent/statistics/remaining.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "verify/tensor/statistics.h"

#define N_SIMULATIONS 200
#define TAIL 0.05

/** How much a piece takes, as one resample shows it. */
struct estimate {
	struct kgb_piece *pieces; /* in ascending order of their amounts */
	size_t n;
	size_t *weights; /* of each piece in the resample */
	double *survival; /* share of pieces that take more than that amount */
	double tail_mean; /* beyond the largest amount */
	uint64_t stream;
};

/** Above 0, at most 1. */
static double draw_unit(struct estimate *e)
{
	return (double)((kgb_splitmix64(&e->stream) >> 11) + 1) * 0x1p-53;
}

/** Pieces that ended stand before those of the same amount that go on. */
static int by_amount(const void *a, const void *b)
{
	const struct kgb_piece *x = a, *y = b;
	if (x->amount != y->amount)
		return x->amount < y->amount ? -1 : 1;
	return (int)y->ended - (int)x->ended;
}

/** Whether a piece of the weighted ones has ended. */
static bool fit(struct estimate *e)
{
	double at_risk = (double)e->n, share = 1, exposure = 0, n_ended = 0;
	for (size_t i = 0; i < e->n; i++) {
		const double weight = (double)e->weights[i];
		if (e->pieces[i].ended && weight > 0) {
			share *= 1 - weight / at_risk;
			n_ended += weight;
		}
		at_risk -= weight;
		exposure += weight * e->pieces[i].amount;
		e->survival[i] = share;
	}
	e->tail_mean = exposure / n_ended;
	return n_ended > 0;
}

static void resample(struct estimate *e)
{
	memset(e->weights, 0, e->n * sizeof(*e->weights));
	for (size_t i = 0; i < e->n; i++)
		e->weights[kgb_splitmix64(&e->stream) % e->n]++;
	if (fit(e))
		return;
	for (size_t i = 0; i < e->n; i++)
		e->weights[i] = 1;
	(void)fit(e);
}

/** The first piece, from `low` on, that fewer than `share` of the pieces outlast; n: there is none.
 */
static size_t find_share(const struct estimate *e, size_t low, double share)
{
	size_t high = e->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (e->survival[middle] < share)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/** Pieces with an amount of at most that. */
static size_t count_up_to(const struct estimate *e, double amount)
{
	size_t low = 0, high = e->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (e->pieces[middle].amount > amount)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/** What a piece takes that has taken `so_far`, from then on. */
static double draw_rest(struct estimate *e, double so_far)
{
	const size_t first = count_up_to(e, so_far);
	const double alive = first > 0 ? e->survival[first - 1] : 1;
	const size_t at = alive > 0 ? find_share(e, first, alive * draw_unit(e)) : e->n;
	if (at < e->n)
		return e->pieces[at].amount - so_far;
	return fmax(0, e->pieces[e->n - 1].amount - so_far) - e->tail_mean * log(draw_unit(e));
}

/** Put a later time in the place of the earliest of a heap. */
static void replace_first(double *heap, size_t n, double value)
{
	size_t at = 0;
	for (size_t child = 1; child < n; child = 2 * at + 1) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= value)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = value;
}

static double simulate_sum(struct estimate *e, size_t n_waiting)
{
	double sum = 0;
	for (size_t i = 0; i < e->n; i++)
		sum += e->pieces[i].ended ? 0 : draw_rest(e, e->pieces[i].amount);
	for (size_t i = 0; i < n_waiting; i++)
		sum += draw_rest(e, 0);
	return sum;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/** \param places when each place becomes free. */
static double simulate_time(struct estimate *e, size_t n_waiting, double *places, size_t n_places)
{
	size_t n_taken = 0;
	memset(places, 0, n_places * sizeof(*places));
	for (size_t i = 0; i < e->n; i++)
		if (!e->pieces[i].ended)
			places[n_taken++] = draw_rest(e, e->pieces[i].amount);
	qsort(places, n_places, sizeof(*places), by_value);
	double last = places[n_places - 1];
	for (size_t i = 0; i < n_waiting; i++) {
		const double end = places[0] + draw_rest(e, 0);
		replace_first(places, n_places, end);
		last = fmax(last, end);
	}
	return last;
}

struct kgb_remaining kgb_remaining(const struct kgb_piece *pieces, size_t n, size_t n_waiting,
				   size_t at_a_time)
{
	struct kgb_remaining result = {(double)NAN, (double)NAN, (double)NAN};
	size_t n_ended = 0;
	for (size_t i = 0; i < n; i++)
		n_ended += pieces[i].ended;
	if (n_ended < KGB_REMAINING_LEAST)
		return result;
	const size_t n_places = n - n_ended > at_a_time ? n - n_ended : at_a_time;
	struct estimate e = {.n = n,
			     .pieces = kgb_xcalloc(n, sizeof(*e.pieces)),
			     .weights = kgb_xcalloc(n, sizeof(*e.weights)),
			     .survival = kgb_xcalloc(n, sizeof(*e.survival))};
	double *places = kgb_xcalloc(n_places + 1, sizeof(*places));
	double *ends = kgb_xcalloc(N_SIMULATIONS, sizeof(*ends));
	memcpy(e.pieces, pieces, n * sizeof(*pieces));
	qsort(e.pieces, n, sizeof(*e.pieces), by_amount);
	for (size_t i = 0; i < N_SIMULATIONS; i++) {
		resample(&e);
		ends[i] = at_a_time == 0 ? simulate_sum(&e, n_waiting)
					 : simulate_time(&e, n_waiting, places, n_places);
	}
	result.median = kgb_median(ends, N_SIMULATIONS);
	result.low = kgb_quantile(ends, N_SIMULATIONS, TAIL);
	result.high = kgb_quantile(ends, N_SIMULATIONS, 1 - TAIL);
	kgb_free(ends);
	kgb_free(places);
	kgb_free(e.pieces);
	kgb_free(e.weights);
	kgb_free(e.survival);
	return result;
}
