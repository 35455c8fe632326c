/* SPDX-License-Identifier: MIT */
#include "verify/program/order.h"

#include <pthread.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#define FIRST_SLOTS 64
#define PAUSES_MAX 4096 /* in a launch; each costs some switches of threads */
#define LAST_ACQUIRED 8 /* a program's latest atomics that is_known() examines */

/* An atomic in the list of a program (`where` is a place), or of a place (`where` is a program). */
struct event {
	uint32_t where, time;
};

/* An address of atomics. */
struct place {
	uint64_t address;
	KGB_VEC(struct event) acquirers; /* programs; by time */
	uint32_t released; /* time of the last release here */
	uint32_t search, reached; /* `search` found: acquirers after `reached` are ordered */
};

struct program {
	KGB_VEC(struct event) releases, acquired; /* places; by time */
};

struct kgb_order {
	pthread_mutex_t lock; /* recursive; guards all fields */
	pthread_cond_t moved; /* n_left or n_threads has changed */
	uint32_t n_left; /* number of calls of kgb_order__leave */
	uint32_t n_threads, n_paused; /* that run programs; those that are held back */
	uint32_t n_pauses; /* pauses that are still permitted */
	struct program *programs; /* owned */
	uint64_t n_programs;
	KGB_VEC(struct place) places;
	uint32_t *slots; /* owned; index + 1 of a place, by the address's hash; 0: none */
	uint32_t n_slots; /* a power of two, at least twice the places */
	uint32_t time, search;
	KGB_VEC(uint32_t) waiting; /* places of a search */
};

struct kgb_order *kgb_order__new(uint64_t n_programs)
{
	struct kgb_order *order = kgb_xcalloc(1, sizeof(*order));
	pthread_mutexattr_t recursive;

	(void)pthread_mutexattr_init(&recursive);
	(void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(&order->lock, &recursive);
	(void)pthread_mutexattr_destroy(&recursive);
	(void)pthread_cond_init(&order->moved, NULL);
	order->n_pauses = PAUSES_MAX;
	order->n_programs = n_programs;
	order->programs = kgb_xcalloc(n_programs + 1, sizeof(*order->programs));
	order->n_slots = FIRST_SLOTS;
	order->slots = kgb_xcalloc(order->n_slots, sizeof(*order->slots));
	return order;
}

void kgb_order__free(struct kgb_order *order)
{
	if (!order)
		return;
	for (uint64_t i = 0; i < order->n_programs; i++) {
		KGB_VEC_RELEASE(&order->programs[i].releases);
		KGB_VEC_RELEASE(&order->programs[i].acquired);
	}
	KGB_VEC_FOREACH(place, &order->places)
		KGB_VEC_RELEASE(&place->acquirers);
	KGB_VEC_RELEASE(&order->places);
	KGB_VEC_RELEASE(&order->waiting);
	(void)pthread_cond_destroy(&order->moved);
	(void)pthread_mutex_destroy(&order->lock);
	kgb_free(order->slots);
	kgb_free(order->programs);
	kgb_free(order);
}

uint32_t kgb_order__time(const struct kgb_order *order)
{
	return __atomic_load_n(&order->time, __ATOMIC_RELAXED);
}

void kgb_order__enter(struct kgb_order *order)
{
	(void)pthread_mutex_lock(&order->lock);
}

void kgb_order__leave(struct kgb_order *order)
{
	order->n_left++;
	if (order->n_paused > 0)
		(void)pthread_cond_broadcast(&order->moved);
	(void)pthread_mutex_unlock(&order->lock);
}

/* ---- pauses ---- */

void kgb_order__begin(struct kgb_order *order, uint32_t n_threads)
{
	kgb_order__enter(order);
	order->n_threads += n_threads;
	(void)pthread_mutex_unlock(&order->lock);
}

void kgb_order__end(struct kgb_order *order)
{
	kgb_order__enter(order);
	order->n_threads--;
	(void)pthread_cond_broadcast(&order->moved);
	(void)pthread_mutex_unlock(&order->lock);
}

void kgb_order__pause(struct kgb_order *order, uint32_t n)
{
	kgb_order__enter(order);
	if (n > 0 && order->n_pauses > 0) {
		const uint32_t first = order->n_left;
		order->n_pauses--;
		order->n_paused++;
		while (order->n_left - first < n && order->n_paused < order->n_threads)
			(void)pthread_cond_wait(&order->moved, &order->lock);
		order->n_paused--;
	}
	(void)pthread_mutex_unlock(&order->lock);
}

/* ---- places ---- */

/* The slot of an address, or the empty slot for it. */
static uint32_t *find_slot(const struct kgb_order *order, uint64_t address)
{
	uint32_t i = (uint32_t)kgb_mix64(address) & (order->n_slots - 1);

	while (order->slots[i] && order->places.items[order->slots[i] - 1].address != address)
		i = (i + 1) & (order->n_slots - 1);
	return &order->slots[i];
}

static void grow_slots(struct kgb_order *order)
{
	kgb_free(order->slots);
	order->n_slots *= 2;
	order->slots = kgb_xcalloc(order->n_slots, sizeof(*order->slots));
	for (uint32_t i = 0; i < order->places.n; i++)
		*find_slot(order, order->places.items[i].address) = i + 1;
}

static uint32_t find_place(struct kgb_order *order, uint64_t address)
{
	uint32_t *slot = find_slot(order, address);

	if (*slot)
		return *slot - 1;
	const struct place place = {.address = address};
	KGB_VEC_ADD(&order->places, place);
	*slot = (uint32_t)order->places.n;
	if (order->places.n > order->n_slots / 2)
		grow_slots(order);
	return (uint32_t)order->places.n - 1;
}

/* Whether the program has acquired here since the last release. */
static bool is_known(const struct program *program, uint32_t where, uint32_t released)
{
	const size_t n = program->acquired.n;

	for (size_t i = 0; i < n && i < LAST_ACQUIRED; i++) {
		const struct event *event = &program->acquired.items[n - 1 - i];
		if (event->where == where)
			return event->time > released;
	}
	return false;
}

void kgb_order__note(struct kgb_order *order, uint32_t program, uint64_t address, bool acquires,
		     bool releases)
{
	const uint32_t where = find_place(order, address);
	struct program *mine = &order->programs[program];
	struct place *place = &order->places.items[where];

	if (acquires && !is_known(mine, where, place->released)) {
		const uint32_t now = __atomic_add_fetch(&order->time, 1, __ATOMIC_RELAXED);
		KGB_VEC_ADD(&mine->acquired, (struct event){where, now});
		KGB_VEC_ADD(&place->acquirers, (struct event){program, now});
	}
	if (releases) {
		place->released = __atomic_add_fetch(&order->time, 1, __ATOMIC_RELAXED);
		KGB_VEC_ADD(&mine->releases, (struct event){where, place->released});
	}
}

/* ---- searches ---- */

/* Index of the first event after a time. */
static size_t first_after(const struct event *events, size_t n, uint32_t time)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		if (events[middle].time > time)
			n = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Reaches the places at which a program released after a time: what acquires there after the
 * release is ordered. Returns whether `later` did. */
static bool reach_releases(struct kgb_order *order, uint32_t program, uint32_t time, uint32_t later)
{
	const struct program *from = &order->programs[program], *to = &order->programs[later];

	for (size_t i = first_after(from->releases.items, from->releases.n, time);
	     i < from->releases.n; i++) {
		const struct event *release = &from->releases.items[i];
		struct place *place = &order->places.items[release->where];
		if (place->search == order->search && place->reached <= release->time)
			continue;
		place->search = order->search;
		place->reached = release->time;
		KGB_VEC_ADD(&order->waiting, release->where);
		for (size_t k = to->acquired.n; k > 0; k--) {
			const struct event *acquired = &to->acquired.items[k - 1];
			if (acquired->time <= release->time)
				break;
			if (acquired->where == release->where)
				return true;
		}
	}
	return false;
}

static bool search(struct kgb_order *order, uint32_t earlier, uint32_t time, uint32_t later)
{
	order->search++;
	order->waiting.n = 0;
	if (reach_releases(order, earlier, time, later))
		return true;
	while (order->waiting.n > 0) {
		const struct place *place =
			&order->places.items[order->waiting.items[--order->waiting.n]];
		for (size_t i = first_after(place->acquirers.items, place->acquirers.n,
					    place->reached);
		     i < place->acquirers.n; i++) {
			const struct event *acquirer = &place->acquirers.items[i];
			if (reach_releases(order, acquirer->where, acquirer->time, later))
				return true;
		}
	}
	return false;
}

bool kgb_order__holds(struct kgb_order *order, uint32_t earlier, uint32_t time, uint32_t later)
{
	kgb_order__enter(order);
	const bool holds = search(order, earlier, time, later);
	(void)pthread_mutex_unlock(&order->lock);
	return holds;
}
