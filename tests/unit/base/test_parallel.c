/* SPDX-License-Identifier: MIT */
#include "base/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/unit/base/support.h"

/* ---- a machine with as many cores as a test wants, where threads may be refused ---- */

static int cores = 4;
static int threads_left = 100;
static int n_created;

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *payload);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *payload);

int __wrap_sched_getaffinity(KGB_UNUSED pid_t pid, KGB_UNUSED size_t size, cpu_set_t *set)
{
	if (cores == 0)
		return -1;
	CPU_ZERO(set);
	for (size_t i = 0; i < (size_t)cores; i++)
		CPU_SET(i, set);
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *payload)
{
	if (threads_left == 0)
		return EAGAIN;
	threads_left--;
	n_created++;
	return __real_pthread_create(thread, attr, fn, payload);
}

static void set_machine(int n_cores, int n_threads)
{
	cores = n_cores;
	threads_left = n_threads;
	n_created = 0;
}

/* ---- loops ---- */

enum { ITEMS = 1000 };

struct seen {
	int64_t n, grain;
	int times[ITEMS]; /* not atomic: each item belongs to one piece */
	_Atomic int n_bad;
};

static void note(void *payload, int64_t begin, int64_t end)
{
	struct seen *seen = payload;
	int64_t full = begin + seen->grain;

	if (begin < 0 || begin % seen->grain != 0 || end != (full < seen->n ? full : seen->n))
		seen->n_bad++;
	for (int64_t i = begin; i < end; i++)
		seen->times[i]++;
}

static void test_every_item_is_done_once_in_whole_pieces(KGB_UNUSED void **state)
{
	static const int64_t ns[] = {0, 1, 2, 7, 64, 65, 999, ITEMS};
	static const int64_t grains[] = {1, 2, 7, 64, ITEMS, 1 << 20};
	static const int n_cores[] = {0, 1, 2, 4, 200};

	for (size_t c = 0; c < KGB_ARRAY_LEN(n_cores); c++)
		for (size_t k = 0; k < KGB_ARRAY_LEN(ns) * KGB_ARRAY_LEN(grains); k++) {
			struct seen seen = {.n = ns[k % KGB_ARRAY_LEN(ns)],
					    .grain = grains[k / KGB_ARRAY_LEN(ns)]};
			set_machine(n_cores[c], 100);
			kgb_parallel_for(seen.n, seen.grain, note, &seen);
			assert_int_equal(seen.n_bad, 0);
			for (int64_t i = 0; i < ITEMS; i++)
				assert_int_equal(seen.times[i], i < seen.n);
		}
}

static void test_threads_are_as_many_as_cores_and_pieces(KGB_UNUSED void **state)
{
	static const struct {
		int cores;
		int64_t n, grain;
		int created;
	} rows[] = {
		{1, 1000, 1, 0}, {4, 1000, 1, 3},    {4, 1000, 1000, 0}, {4, 1000, 999, 1},
		{4, 3, 1, 2},    {200, 1000, 1, 15}, {0, 1000, 1, 0},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(rows); i++) {
		struct seen seen = {.n = rows[i].n, .grain = rows[i].grain};
		set_machine(rows[i].cores, 100);
		kgb_parallel_for(seen.n, seen.grain, note, &seen);
		if (n_created != rows[i].created)
			fail_msg("row %zu: %d threads, not %d", i, n_created, rows[i].created);
	}
}

static void test_refused_threads_leave_the_work_to_the_others(KGB_UNUSED void **state)
{
	for (int allowed = 0; allowed < 4; allowed++) {
		struct seen seen = {.n = ITEMS, .grain = 3};
		set_machine(8, allowed);
		kgb_parallel_for(ITEMS, 3, note, &seen);
		assert_int_equal(n_created, allowed);
		for (int i = 0; i < ITEMS; i++)
			assert_int_equal(seen.times[i], 1);
	}
}

static void wait_until(_Atomic int *value, int wanted)
{
	for (int i = 0; i < 60000 && *value < wanted; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Two pieces that each wait for the other to begin: only threads side by side get through. */
static void meet(void *payload, KGB_UNUSED int64_t begin, KGB_UNUSED int64_t end)
{
	_Atomic int *n_here = payload;

	(*n_here)++;
	wait_until(n_here, 2);
}

static void test_pieces_run_side_by_side(KGB_UNUSED void **state)
{
	_Atomic int n_here = 0;

	set_machine(2, 100);
	kgb_parallel_for(2, 1, meet, &n_here);
	assert_int_equal(n_here, 2);
	assert_int_equal(n_created, 1);
}

struct signals {
	pthread_t caller;
	_Atomic int n_open, n_others;
};

static void look_at_signals(void *payload, KGB_UNUSED int64_t begin, KGB_UNUSED int64_t end)
{
	struct signals *signals = payload;
	sigset_t mask;

	if (pthread_equal(pthread_self(), signals->caller)) {
		wait_until(&signals->n_others, 1); /* leave a piece for the other */
		return;
	}
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	signals->n_others++;
	signals->n_open += !sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGCHLD);
}

static void test_signals_stay_with_the_caller(KGB_UNUSED void **state)
{
	struct signals signals = {.caller = pthread_self()};
	sigset_t before, after;

	set_machine(2, 100);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	kgb_parallel_for(2, 1, look_at_signals, &signals);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_true(signals.n_others > 0);
	assert_int_equal(signals.n_open, 0);
	for (int number = 1; number < 32; number++)
		assert_int_equal(sigismember(&before, number), sigismember(&after, number));
}

static void test_large_memory_is_copied_and_compared(KGB_UNUSED void **state)
{
	static const size_t lens[] = {0, 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 17};

	for (size_t i = 0; i < KGB_ARRAY_LEN(lens); i++) {
		size_t len = lens[i];
		KGB_AUTO(free) char *a = kgb_xmalloc(len + 2), *b = kgb_xcalloc(len + 2, 1);
		for (size_t k = 0; k < len; k++)
			a[k] = (char)(k % 251 + 1);
		set_machine(1 + (int)i, 100);
		kgb_parallel_copy(b + 1, a, len);
		assert_int_equal(b[0], 0);
		assert_int_equal(b[len + 1], 0);
		assert_true(kgb_parallel_equal(a, b + 1, len));
		for (size_t k = 0; k<len; k += k> 10 ? len / 13 : 3) {
			b[k + 1] ^= 1;
			assert_false(kgb_parallel_equal(a, b + 1, len));
			b[k + 1] ^= 1;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_item_is_done_once_in_whole_pieces),
		cmocka_unit_test(test_threads_are_as_many_as_cores_and_pieces),
		cmocka_unit_test(test_refused_threads_leave_the_work_to_the_others),
		cmocka_unit_test(test_pieces_run_side_by_side),
		cmocka_unit_test(test_signals_stay_with_the_caller),
		cmocka_unit_test(test_large_memory_is_copied_and_compared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
