/* SPDX-License-Identifier: MIT */
#include "verify/stages/lanes.h"

#include <pthread.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "verify/replay/replay.h"
#include "verify/stages/benchmark.h"

enum {
	LANES_MAX = 4, /* of one verification, unless its request has a number */
	/* With a GPU every lane has a CUDA context; of 3 to 6 lanes 6 were the fastest
	 * (docs/gpu-evidence.md). */
	GPU_LANES_MAX = 6,
	GPU_SEATS_MAX = 16,
};

struct thread {
	struct kgb_lane lane;
	struct kgb_verdict verdict;
	pthread_t thread;
	size_t number;
	kgb_lane_fn *fn;
	void *payload;
	int rc;
	struct kgb_err err;
};

size_t kgb_lanes_count(const struct kgb_judge *judge, size_t least, struct kgb_seats *seats)
{
	const size_t asked = (size_t)judge->options->request.lanes;
	const size_t n = judge->cases.n;
	const size_t most = asked ? n : n / least;
	const bool on_gpu = judge->options->device != KGB_DEVICE_CPU;
	size_t wanted = asked ? asked : on_gpu ? GPU_LANES_MAX : LANES_MAX;

	seats->n = 0;
	wanted = wanted < most ? wanted : most;
	if (asked || wanted < 2)
		return wanted > 1 ? wanted : 1;
	size_t total = (size_t)kgb_parallel_cores();
	if (on_gpu && total > GPU_SEATS_MAX)
		total = GPU_SEATS_MAX;
	/* With a GPU several verdicts at a time are the rule: leave the next one as many. */
	kgb_seats_take(seats, on_gpu ? 2 * wanted : wanted, total);
	if (on_gpu)
		kgb_seats_keep(seats, (seats->n + 1) / 2);
	return seats->n > 1 ? seats->n : 1;
}

void kgb_lane_close(struct kgb_lane *lane)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_err ignored = KGB_ERR_INIT;

	KGB_MEASURE(lane, KGB_PHASE_END);
	/* The end of a context disturbs kernels that are timed: wait, but not for ever. */
	(void)!kgb_gpu_share_enter(lane->judge->share, &lease, &ignored);
	kgb_lane_leave(lane, &lease);
	kgb_replay_leave(lane->replay, &lease);
	kgb_benchmarks_free(lane->benchmarks, &lease);
	lane->benchmarks = NULL;
	kgb_lane_release(lane);
	kgb_gpu_lease_give(&lease);
	/* This takes a lock, whose holder may wait for the GPU. */
	kgb_replay_free(lane->replay);
	lane->replay = NULL;
}

int kgb_lane_end_runner(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;

	if (kgb_gpu_share_enter(lane->judge->share, &lease, err) < 0)
		return -1;
	kgb_worker_leave(&lane->runner, &lease);
	kgb_worker_stop(&lane->runner);
	kgb_gpu_lease_give(&lease);
	return 0;
}

/* A lane for the verification of lane 0, with its own verdict. */
static void open_lane(struct thread *thread, const struct kgb_lane *first)
{
	const struct kgb_verdict *model = first->verdict;
	struct kgb_verdict *verdict = &thread->verdict;

	kgb_verdict_init(verdict);
	verdict->seed = model->seed;
	verdict->n_interfaces = model->n_interfaces;
	verdict->interfaces = kgb_arena_array(&verdict->arena, model->n_interfaces,
					      sizeof(verdict->interfaces[0]));
	kgb_lane_init(&thread->lane, first->judge, verdict);
	thread->lane.deadline_ms = first->deadline_ms;
	thread->lane.waited_ms = first->waited_ms;
}

static void *run_thread(void *payload)
{
	struct thread *thread = payload;
	char name[16];

	snprintf(name, sizeof(name), "lane %zu", thread->number);
	(void)pthread_setname_np(pthread_self(), name);
	thread->rc = thread->fn(&thread->lane, thread->number, thread->payload, &thread->err);
	/* Close the lane in its own thread, because processes may end with the thread that started
	 * them. */
	kgb_lane_close(&thread->lane);
	return NULL;
}

static void merge(struct kgb_lane *first, struct thread *thread)
{
	if (!first->needless.code)
		first->needless = thread->lane.needless;
	kgb_verdict_merge(first->verdict, &thread->verdict);
	kgb_verdict_release(&thread->verdict);
}

int kgb_lanes_run(struct kgb_lane *first, size_t n, kgb_lane_fn *fn, void *payload,
		  struct kgb_err *err)
{
	KGB_AUTO(free) struct thread *threads = kgb_xcalloc(n, sizeof(*threads));
	size_t n_started = 1;

	for (size_t i = 1; i < n; i++) {
		struct thread *thread = &threads[i];
		*thread = (struct thread){
			.number = i, .fn = fn, .payload = payload, .err = KGB_ERR_INIT};
		open_lane(thread, first);
		if (pthread_create(&thread->thread, NULL, run_thread, thread) != 0) {
			kgb_lane_close(&thread->lane);
			kgb_verdict_release(&thread->verdict);
			break;
		}
		n_started++;
	}
	first->verdict->lanes = (int)n_started;
	int rc = fn(first, 0, payload, err);
	for (size_t i = 1; i < n_started; i++) {
		struct thread *thread = &threads[i];
		(void)pthread_join(thread->thread, NULL);
		if (thread->rc < 0 && rc >= 0)
			*err = thread->err;
		if (thread->rc < 0 || (thread->rc > rc && rc == 0))
			rc = thread->rc;
		merge(first, thread);
	}
	return rc;
}
