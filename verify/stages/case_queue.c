/* SPDX-License-Identifier: MIT */
#include "verify/stages/case_queue.h"

#include <stdlib.h>

#include "base/mem.h"

static bool is_cheaper(const struct kgb_case *c, const struct kgb_case *than)
{
	return c->mode == KGB_MODE_STANDARD && !c->style.without_asserts &&
	       kgb_case_elements(c) > 0 &&
	       (kgb_case_elements(than) == 0 || kgb_case_elements(c) < kgb_case_elements(than));
}

/* The types of the tensors: cases that share them share most of their compiled kernels. */
static uint64_t types_of(const struct kgb_case *c)
{
	uint64_t types = 0;

	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && !c->args[i].is_absent)
			types = types * KGB_N_DTYPES + (uint64_t)c->args[i].view.dtype;
	return types;
}

struct place {
	size_t index;
	size_t group; /* number of the model for a twin, else of the case itself */
	uint64_t types;
	bool is_smoke;
	bool is_unlike_smoke; /* it needs another runner */
};

static int by_types(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	if (x->is_smoke != y->is_smoke)
		return x->is_smoke ? -1 : 1;
	if (x->is_unlike_smoke != y->is_unlike_smoke)
		return y->is_unlike_smoke ? -1 : 1;
	if (x->types != y->types)
		return x->types < y->types ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The number of the model of twin i; i itself if it is no twin. */
static size_t model_of(const struct kgb_cases *cases, size_t i)
{
	size_t k = i;

	while (cases->items[i].model && k > 0 && cases->items[k].line != cases->items[i].model)
		k--;
	return k;
}

void kgb_case_order(const struct kgb_cases *cases, size_t *order, bool *follows)
{
	KGB_AUTO(free) struct place *places = kgb_xcalloc(cases->n + 1, sizeof(*places));
	size_t smoke = 0;

	for (size_t i = 1; i < cases->n; i++)
		if (is_cheaper(&cases->items[i], &cases->items[smoke]))
			smoke = i;
	smoke = model_of(cases, smoke);
	for (size_t i = 0; i < cases->n; i++) {
		const size_t model = model_of(cases, i);
		places[i] = (struct place){
			.index = i,
			.group = model,
			.types = types_of(&cases->items[model]),
			.is_smoke = model == smoke,
			.is_unlike_smoke = cases->items[model].style.without_asserts !=
					   cases->items[smoke].style.without_asserts,
		};
	}
	qsort(places, cases->n, sizeof(*places), by_types);
	for (size_t i = 0; i < cases->n; i++) {
		order[i] = places[i].index;
		follows[i] = places[i].group != places[i].index;
	}
}

/* Holds the lock of a queue to the end of its scope. */
static void unlock(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

#define LOCKED(queue)                                                                      \
	__attribute__((cleanup(unlock), unused)) pthread_mutex_t *locked = &(queue)->lock; \
	pthread_mutex_lock(locked)

void kgb_case_queue_init(struct kgb_case_queue *queue, size_t n, int max_failures)
{
	*queue = (struct kgb_case_queue){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.n = n,
		.end = n,
		.border = n,
		.n_lanes = 1,
		.turns_for_a_runner = 16,
		.max_failures = max_failures,
	};
}

void kgb_case_queue_release(struct kgb_case_queue *queue)
{
	(void)pthread_cond_destroy(&queue->changed);
	(void)pthread_mutex_destroy(&queue->lock);
}

void kgb_case_queue_stop(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	queue->stop = true;
	pthread_cond_broadcast(&queue->changed);
}

void kgb_case_queue_let_go(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	queue->go = true;
	pthread_cond_broadcast(&queue->changed);
}

bool kgb_case_queue_wait_for_go(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	while (!queue->go && !queue->stop)
		pthread_cond_wait(&queue->changed, &queue->lock);
	return !queue->stop;
}

static bool follows(const struct kgb_case_queue *queue, size_t turn)
{
	return queue->follows && queue->follows[turn];
}

static void take_first(struct kgb_case_queue *queue, size_t size, struct kgb_case_share *share)
{
	share->next = queue->next;
	share->end = queue->next + size;
	while (share->end < queue->end && follows(queue, share->end))
		share->end++;
	queue->next = share->end;
}

static void take_last(struct kgb_case_queue *queue, size_t size, struct kgb_case_share *share)
{
	share->next = queue->end - size;
	share->end = queue->end;
	while (share->next > queue->next && follows(queue, share->next))
		share->next--;
	queue->end = share->next;
}

/* Turns that no lane has taken, for one of the two runners. */
static size_t n_left(const struct kgb_case_queue *queue, bool from_end)
{
	const size_t begin = from_end && queue->next < queue->border ? queue->border : queue->next;
	const size_t end = !from_end && queue->end > queue->border ? queue->border : queue->end;

	return begin < end ? end - begin : 0;
}

static void take_part(struct kgb_case_queue *queue, struct kgb_case_share *share)
{
	const size_t others = n_left(queue, !share->from_end);
	size_t left = n_left(queue, share->from_end);

	if (left == 0 && (queue->n_lanes == 1 || others >= queue->turns_for_a_runner)) {
		share->from_end = !share->from_end;
		left = others;
	}
	if (left == 0)
		return;
	const size_t part = left / (2 * queue->n_lanes);
	const size_t size = queue->next == 0 || part == 0 ? 1 : part;
	(share->from_end ? take_last : take_first)(queue, size, share);
}

size_t kgb_case_queue_take(struct kgb_case_queue *queue, struct kgb_case_share *share)
{
	LOCKED(queue);
	if (share->next == share->end)
		take_part(queue, share);
	return !queue->stop && share->next < share->end ? share->next++ : queue->n;
}

size_t kgb_case_queue_take_benchmark(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	if (queue->stop || queue->n_failed > 0)
		queue->next_benchmark = queue->n_benchmarks;
	return queue->next_benchmark < queue->n_benchmarks ? queue->next_benchmark++
							   : queue->n_benchmarks;
}

void kgb_case_queue_end_benchmarks(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	queue->next_benchmark = queue->n_benchmarks;
}

bool kgb_case_queue_is_over(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	return queue->stop;
}

bool kgb_case_queue_has_failed(struct kgb_case_queue *queue)
{
	LOCKED(queue);
	return queue->n_failed > 0;
}

void kgb_case_queue_note(struct kgb_case_queue *queue, bool failed, bool ends_all)
{
	LOCKED(queue);
	queue->go = true;
	queue->n_failed += failed;
	if (failed && (ends_all || queue->n_failed >= queue->max_failures))
		queue->stop = true;
	pthread_cond_broadcast(&queue->changed);
}
