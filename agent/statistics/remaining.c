/* SPDX-License-Identifier: MIT */
#include "agent/statistics/remaining.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "verify/tensor/statistics.h"

#define N_SIMULATIONS 200
/* The ends of very many pieces differ little, so fewer simulations suffice and keep the time
 * short. */
#define N_SIMULATIONS_LEAST 50
#define N_DRAWS_MOST 400000
#define TAIL 0.05
/* Prior expectation of the standard deviation of logarithms: pieces that differ by a factor of two.
 * Its weight is less than that of one piece. */
#define PRIOR_SD 0.7
/* Smallest amount, as a share of the largest, since zero has no logarithm. No forecast exceeds the
 * largest amount by more than the inverse. */
#define LEAST_SHARE 1e-4
#define NEWTON_STEPS 25
#define NEWTON_ENOUGH 1e-4

/** The distribution of the amount of a piece of a kind, by one resample. */
struct estimate {
	const struct kgb_work *work;
	struct kgb_work_piece *pieces; /* owned; in ascending order of their amounts */
	double *logs; /* owned; of the amounts, the largest being 1 */
	size_t *weights; /* owned; of each piece in the resample */
	double *survival; /* owned; share of pieces that take more than that amount */
	size_t n_live;
	size_t n_left; /* that wait, within a simulation */
	/* Beyond the longest piece that has ended: a piece takes exp((x + shift) / precision) of
	 * the largest amount, where x is standard normal. */
	double longest, precision, shift;
};

/** Above 0, at most 1. */
static double draw_unit(uint64_t *stream)
{
	return (double)((kgb_splitmix64(stream) >> 11) + 1) * 0x1p-53;
}

/** Pieces that ended stand before those of the same amount that go on. */
static int by_amount(const void *a, const void *b)
{
	const struct kgb_work_piece *x = a, *y = b;
	if (x->amount != y->amount)
		return x->amount < y->amount ? -1 : 1;
	return (int)y->ended - (int)x->ended;
}

/* ---- the estimate ---- */

/** Density of the standard normal distribution at x over the share beyond it. */
static double hazard(double x)
{
	if (x > 20)
		return x + 1 / x;
	const double beyond = 0.5 * erfc(x / sqrt(2));
	return exp(-0.5 * x * x) / sqrt(2 * 3.141592653589793) / beyond;
}

/** First and second derivatives of a likelihood's logarithm by precision and shift. */
struct slope {
	double by_p, by_s, by_pp, by_ps, by_ss;
};

/** That of a log-normal distribution, in the form in which it is concave (Olsen 1978). */
static struct slope slope_of(const struct estimate *e)
{
	const double p = e->precision, v = PRIOR_SD * PRIOR_SD, q = 1 + p * p * v;
	/* The prior density of the precision is that of p / (1 + p * p * v). */
	struct slope d = {.by_p = 1 / p - 2 * p * v / q,
			  .by_pp = -1 / (p * p) - 2 * v * (2 - q) / (q * q)};
	for (size_t i = 0; i < e->work->n; i++) {
		const double weight = (double)e->weights[i], y = e->logs[i], x = p * y - e->shift;
		if (e->weights[i] == 0)
			continue;
		const double h = e->pieces[i].ended ? x : hazard(x);
		const double bend = weight * (e->pieces[i].ended ? 1 : h * (h - x));
		d.by_p += weight * ((e->pieces[i].ended ? 1 / p : 0) - h * y);
		d.by_s += weight * h;
		d.by_pp -= bend * y * y + (e->pieces[i].ended ? weight / (p * p) : 0);
		d.by_ps += bend * y;
		d.by_ss -= bend;
	}
	return d;
}

/** Newton's method from what was found last. */
static void fit_tail(struct estimate *e)
{
	for (int i = 0; i < NEWTON_STEPS; i++) {
		const struct slope d = slope_of(e);
		const double det = d.by_pp * d.by_ss - d.by_ps * d.by_ps;
		double step_p = -(d.by_ss * d.by_p - d.by_ps * d.by_s) / det;
		double step_s = -(d.by_pp * d.by_s - d.by_ps * d.by_p) / det;
		if (!isfinite(step_p) || !isfinite(step_s))
			return;
		const double most = e->precision / 2; /* it stays positive */
		const double scale = fabs(step_p) > most ? most / fabs(step_p) : 1;
		e->precision += scale * step_p;
		e->shift += scale * step_s;
		if (fabs(step_p) + fabs(step_s) < NEWTON_ENOUGH * e->precision)
			return;
	}
}

/** Whether a piece of the weighted ones has ended. */
static bool fit(struct estimate *e)
{
	double at_risk = (double)e->work->n, share = 1;
	e->longest = -1;
	for (size_t i = 0; i < e->work->n; i++) {
		const double weight = (double)e->weights[i];
		if (e->pieces[i].ended && weight > 0) {
			share *= 1 - weight / at_risk;
			e->longest = e->pieces[i].amount;
		}
		at_risk -= weight;
		e->survival[i] = share;
	}
	if (e->longest < 0)
		return false;
	fit_tail(e);
	return true;
}

static void weigh_alike(struct estimate *e)
{
	for (size_t i = 0; i < e->work->n; i++)
		e->weights[i] = 1;
	(void)fit(e);
}

static void resample(struct estimate *e, uint64_t *stream)
{
	if (e->work->n == 0)
		return;
	memset(e->weights, 0, e->work->n * sizeof(*e->weights));
	for (size_t i = 0; i < e->work->n; i++)
		e->weights[kgb_splitmix64(stream) % e->work->n]++;
	if (!fit(e))
		weigh_alike(e);
}

static void open_estimate(struct estimate *e, const struct kgb_work *work)
{
	const size_t n = work->n;
	*e = (struct estimate){.work = work,
			       .pieces = kgb_xcalloc(n + 1, sizeof(*e->pieces)),
			       .logs = kgb_xcalloc(n + 1, sizeof(*e->logs)),
			       .weights = kgb_xcalloc(n + 1, sizeof(*e->weights)),
			       .survival = kgb_xcalloc(n + 1, sizeof(*e->survival)),
			       .precision = 1 / PRIOR_SD};
	if (n == 0)
		return;
	memcpy(e->pieces, work->pieces, n * sizeof(*e->pieces));
	qsort(e->pieces, n, sizeof(*e->pieces), by_amount);
	const double largest = e->pieces[n - 1].amount;
	for (size_t i = 0; i < n; i++) {
		e->n_live += !e->pieces[i].ended;
		e->logs[i] =
			largest > 0 ? log(fmax(e->pieces[i].amount / largest, LEAST_SHARE)) : 0;
	}
	weigh_alike(e);
}

static void close_estimate(struct estimate *e)
{
	kgb_free(e->pieces);
	kgb_free(e->logs);
	kgb_free(e->weights);
	kgb_free(e->survival);
}

/* ---- one simulation ---- */

/** The first piece, from `low` on, that fewer than `share` of the pieces outlast; n: there is none.
 */
static size_t find_share(const struct estimate *e, size_t low, double share)
{
	size_t high = e->work->n;
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
	size_t low = 0, high = e->work->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (e->pieces[middle].amount > amount)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/** Draw the amount of a piece that takes more than `amount`, which is at least the largest amount
 * of an ended piece. */
static double draw_beyond(const struct estimate *e, double amount, uint64_t *stream)
{
	const double largest = e->pieces[e->work->n - 1].amount;
	if (largest <= 0)
		return 0;
	const double log_amount = log(fmax(amount / largest, LEAST_SHARE));
	const double from = e->precision * log_amount - e->shift, unit = draw_unit(stream);
	/* Far out the share beyond x falls as exp(-x * x / 2). */
	const double x =
		from > 4 ? sqrt(from * from - 2 * log(unit))
			 : -kgb_normal_quantile(fmin(unit * 0.5 * erfc(from / sqrt(2)), 1 - 1e-12));
	const double log_most = -log(LEAST_SHARE);
	const double drawn =
		fmax(amount, largest * exp(fmin((x + e->shift) / e->precision, log_most)));
	return e->work->limit > amount ? fmin(drawn, e->work->limit) : drawn;
}

/** Draw the further amount of a piece that has taken `so_far`. */
static double draw_rest(const struct estimate *e, double so_far, uint64_t *stream)
{
	const size_t first = count_up_to(e, so_far);
	const double alive = first > 0 ? e->survival[first - 1] : 1;
	const size_t at = alive > 0 ? find_share(e, first, alive * draw_unit(stream)) : e->work->n;
	return (at < e->work->n ? e->pieces[at].amount
				: draw_beyond(e, fmax(so_far, e->longest), stream)) -
	       so_far;
}

/** Replace the earliest time of a heap by a later one. */
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

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/** Places that the pieces of some kinds take. */
struct pool {
	KGB_VEC(struct estimate *) kinds;
	size_t n_places;
	double *free_at; /* owned; when each place becomes free */
};

/** The kind to serve next: the waiting kind with the largest share left; NULL: none waits. */
static struct estimate *next_kind(const struct pool *pool)
{
	struct estimate *next = NULL;
	double most = 0;
	KGB_VEC_FOREACH(kind, &pool->kinds) {
		const double share = (double)(*kind)->n_left / (double)(*kind)->work->n_waiting;
		if ((*kind)->n_left > 0 && share > most) {
			most = share;
			next = *kind;
		}
	}
	return next;
}

static double simulate_time(struct pool *pool, uint64_t *stream)
{
	size_t n_taken = 0;
	double *free_at = pool->free_at, last = 0;
	memset(free_at, 0, pool->n_places * sizeof(*free_at));
	KGB_VEC_FOREACH(kind, &pool->kinds) {
		const struct estimate *e = *kind;
		(*kind)->n_left = e->work->n_waiting;
		for (size_t i = 0; i < e->work->n; i++) {
			if (e->pieces[i].ended)
				continue;
			free_at[n_taken] = draw_rest(e, e->pieces[i].amount, stream);
			last = fmax(last, free_at[n_taken++]);
		}
	}
	qsort(free_at, pool->n_places, sizeof(*free_at), by_value);
	for (struct estimate *kind; (kind = next_kind(pool)); kind->n_left--) {
		const double end = free_at[0] + draw_rest(kind, 0, stream);
		replace_first(free_at, pool->n_places, end);
		last = fmax(last, end);
	}
	return last;
}

static double simulate_sum(const struct estimate *e, uint64_t *stream)
{
	double sum = 0;
	for (size_t i = 0; i < e->work->n; i++)
		sum += e->pieces[i].ended ? 0 : draw_rest(e, e->pieces[i].amount, stream);
	for (size_t i = 0; i < e->work->n_waiting; i++)
		sum += draw_rest(e, 0, stream);
	return sum;
}

/* ---- all simulations ---- */

struct simulation {
	struct estimate *kinds; /* owned */
	size_t n_kinds;
	struct pool *pools; /* owned; of places; none: amounts are added up */
	size_t n_pools;
	uint64_t stream;
};

/** Whether enough is known of each kind of which something is left. */
static bool is_known(const struct kgb_work *kinds, size_t n_kinds)
{
	for (size_t k = 0; k < n_kinds; k++) {
		size_t n_ended = 0;
		for (size_t i = 0; i < kinds[k].n; i++)
			n_ended += kinds[k].pieces[i].ended;
		if (n_ended < KGB_REMAINING_LEAST && n_ended < kinds[k].n + kinds[k].n_waiting)
			return false;
	}
	return true;
}

static double simulate(struct simulation *s)
{
	double result = 0;
	for (size_t k = 0; k < s->n_kinds; k++) {
		resample(&s->kinds[k], &s->stream);
		if (s->n_pools == 0)
			result += simulate_sum(&s->kinds[k], &s->stream);
	}
	for (size_t i = 0; i < s->n_pools; i++)
		result = fmax(result, simulate_time(&s->pools[i], &s->stream));
	return result;
}

static struct kgb_remaining summarise(struct simulation *s)
{
	size_t n_draws = 1, n = N_SIMULATIONS;
	for (size_t k = 0; k < s->n_kinds; k++)
		n_draws += s->kinds[k].work->n + s->kinds[k].work->n_waiting;
	if (n * n_draws > N_DRAWS_MOST)
		n = N_DRAWS_MOST / n_draws;
	if (n < N_SIMULATIONS_LEAST)
		n = N_SIMULATIONS_LEAST;
	double ends[N_SIMULATIONS];
	for (size_t i = 0; i < n; i++)
		ends[i] = simulate(s);
	return (struct kgb_remaining){kgb_median(ends, n), kgb_quantile(ends, n, TAIL),
				      kgb_quantile(ends, n, 1 - TAIL)};
}

/** Kinds that share places have the first pool; each other kind has a separate pool. */
static void open_pools(struct simulation *s, size_t n_shared)
{
	s->pools = kgb_xcalloc(s->n_kinds + 1, sizeof(*s->pools));
	s->n_pools = 1;
	s->pools[0].n_places = n_shared;
	for (size_t k = 0; k < s->n_kinds; k++) {
		struct estimate *kind = &s->kinds[k];
		const bool shares = kind->work->n_places == 0;
		struct pool *pool = &s->pools[shares ? 0 : s->n_pools++];
		if (!shares)
			pool->n_places = kind->work->n_places;
		KGB_VEC_ADD(&pool->kinds, kind);
	}
	for (size_t i = 0; i < s->n_pools; i++) {
		struct pool *pool = &s->pools[i];
		size_t n_live = 0;
		KGB_VEC_FOREACH(kind, &pool->kinds)
			n_live += (*kind)->n_live;
		pool->n_places = n_live > pool->n_places ? n_live : pool->n_places;
		pool->free_at = kgb_xcalloc(pool->n_places + 1, sizeof(*pool->free_at));
	}
}

static void close_pools(struct simulation *s)
{
	for (size_t i = 0; i < s->n_pools; i++) {
		KGB_VEC_RELEASE(&s->pools[i].kinds);
		kgb_free(s->pools[i].free_at);
	}
	kgb_free(s->pools);
}

static struct kgb_remaining foretell(const struct kgb_work *kinds, size_t n_kinds, bool is_time,
				     size_t n_shared)
{
	struct simulation s = {.kinds = kgb_xcalloc(n_kinds + 1, sizeof(*s.kinds)),
			       .n_kinds = n_kinds};
	struct kgb_remaining result = {(double)NAN, (double)NAN, (double)NAN};
	if (is_known(kinds, n_kinds)) {
		for (size_t k = 0; k < n_kinds; k++)
			open_estimate(&s.kinds[k], &kinds[k]);
		if (is_time)
			open_pools(&s, n_shared);
		result = summarise(&s);
		for (size_t k = 0; k < n_kinds; k++)
			close_estimate(&s.kinds[k]);
		close_pools(&s);
	}
	kgb_free(s.kinds);
	return result;
}

struct kgb_remaining kgb_remaining_time(const struct kgb_work *kinds, size_t n_kinds,
					size_t n_shared)
{
	return foretell(kinds, n_kinds, true, n_shared);
}

struct kgb_remaining kgb_remaining_sum(const struct kgb_work *kinds, size_t n_kinds)
{
	return foretell(kinds, n_kinds, false, 0);
}
