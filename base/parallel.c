/* SPDX-License-Identifier: MIT */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/err.h"

#define PIECE_BYTES ((int64_t)1 << 20) /* that are worth a thread */

struct loop {
	int64_t n, grain;
	kgb_parallel_fn fn;
	void *payload;
	_Atomic int64_t next; /* first item that no thread has taken */
};

static void work(struct loop *loop)
{
	int64_t begin;

	while ((begin = atomic_fetch_add(&loop->next, loop->grain)) < loop->n) {
		int64_t left = loop->n - begin;
		loop->fn(loop->payload, begin, begin + (left < loop->grain ? left : loop->grain));
	}
}

static void *on_thread(void *payload)
{
	work(payload);
	return NULL;
}

int64_t kgb_parallel_cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void kgb_parallel_for(int64_t n, int64_t grain, kgb_parallel_fn fn, void *payload)
{
	struct loop loop = {.n = n, .grain = grain, .fn = fn, .payload = payload};
	pthread_t threads[KGB_PARALLEL_MAX - 1];
	sigset_t all, before;
	int64_t wanted, n_started = 0;

	KGB_ASSERT(grain > 0 && n <= INT64_MAX - (KGB_PARALLEL_MAX + 1) * grain);
	wanted = (n + grain - 1) / grain;
	if (wanted > 1) {
		int64_t cores = kgb_parallel_cores();
		wanted = wanted < cores ? wanted : cores;
		wanted = wanted < KGB_PARALLEL_MAX ? wanted : KGB_PARALLEL_MAX;
	}
	if (wanted <= 1) {
		work(&loop);
		return;
	}
	/* Threads inherit the mask: handlers run where they were set up to run. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n_started < wanted - 1 &&
	       pthread_create(&threads[n_started], NULL, on_thread, &loop) == 0) {
		pthread_setname_np(threads[n_started], "kgb-parallel");
		n_started++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	work(&loop);
	for (int64_t i = 0; i < n_started; i++)
		pthread_join(threads[i], NULL);
}

struct bytes {
	char *to;
	const char *a, *b;
	_Atomic bool differ;
};

static void copy_piece(void *payload, int64_t begin, int64_t end)
{
	const struct bytes *bytes = payload;

	memcpy(bytes->to + begin, bytes->a + begin, (size_t)(end - begin));
}

void kgb_parallel_copy(void *to, const void *from, size_t len)
{
	struct bytes bytes = {.to = to, .a = from};

	kgb_parallel_for((int64_t)len, PIECE_BYTES, copy_piece, &bytes);
}

static void compare_piece(void *payload, int64_t begin, int64_t end)
{
	struct bytes *bytes = payload;

	if (!bytes->differ &&
	    memcmp(bytes->a + begin, bytes->b + begin, (size_t)(end - begin)) != 0)
		bytes->differ = true;
}

bool kgb_parallel_equal(const void *a, const void *b, size_t len)
{
	struct bytes bytes = {.a = a, .b = b};

	kgb_parallel_for((int64_t)len, PIECE_BYTES, compare_piece, &bytes);
	return !bytes.differ;
}
