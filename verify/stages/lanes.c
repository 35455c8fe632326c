/* SPDX-License-Identifier: MIT */
#include "verify/stages/lanes.h"

#include <pthread.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "verify/stages/replay.h"

/* Each lane on a GPU has a context there. The driver makes and ends contexts one after the other,
 * 0.2 s each (tests/bench/contexts): many at once would only wait for each other. */
enum { LANES_ON_CPU = 4, LANES_ON_GPU = 2, SEATS_ON_GPU = 4, PROCESSORS_PER_SEAT = 2 };

struct lane {
	struct kgb_judge judge;
	struct kgb_verdict verdict;
	pthread_t thread;
	size_t number;
	kgb_lane_fn *fn;
	void *payload;
	int rc;
	struct kgb_err err;
};

size_t kgb_lanes_count(const struct kgb_judge *judge, size_t n, size_t least,
		       struct kgb_seats *seats)
{
	const bool gpu = judge->options->device != KGB_DEVICE_CPU;
	const size_t asked = (size_t)judge->options->request.lanes;
	const size_t most = asked ? n : n / least;
	const size_t processors = (size_t)kgb_parallel_cores() / PROCESSORS_PER_SEAT;
	const size_t n_seats = gpu && processors > SEATS_ON_GPU ? SEATS_ON_GPU : processors;
	size_t wanted = asked ? asked : gpu ? LANES_ON_GPU : LANES_ON_CPU;

	seats->n = 0;
	wanted = wanted < most ? wanted : most;
	if (asked || wanted < 2)
		return wanted > 1 ? wanted : 1;
	kgb_seats_take(seats, wanted, n_seats);
	return seats->n > 1 ? seats->n : 1;
}

/* A judge like `of`, with nothing of its own yet. */
static void open_lane(struct lane *lane, const struct kgb_judge *of)
{
	const struct kgb_verdict *model = of->verdict;
	struct kgb_verdict *verdict = &lane->verdict;

	kgb_verdict_init(verdict);
	verdict->seed = model->seed;
	verdict->n_interfaces = model->n_interfaces;
	verdict->interfaces = kgb_arena_array(&verdict->arena, model->n_interfaces,
					      sizeof(verdict->interfaces[0]));
	lane->judge = *of;
	lane->judge.verdict = verdict;
	kgb_judge_init_lane(&lane->judge);
}

static void *run_thread(void *payload)
{
	struct lane *lane = payload;
	char name[16];

	snprintf(name, sizeof(name), "lane %zu", lane->number);
	(void)pthread_setname_np(pthread_self(), name);
	lane->rc = lane->fn(&lane->judge, lane->number, lane->payload, &lane->err);
	/* Here, because processes that were started by a thread may end with it. */
	kgb_judge_release_lane(&lane->judge);
	return NULL;
}

static void merge(struct kgb_judge *judge, struct lane *lane)
{
	if (!judge->no_launch_case)
		judge->no_launch_case = lane->judge.no_launch_case;
	if (!judge->ghost.code)
		judge->ghost = lane->judge.ghost;
	kgb_verdict_merge(judge->verdict, &lane->verdict);
	kgb_verdict_release(&lane->verdict);
}

int kgb_lanes_run(struct kgb_judge *judge, size_t n, kgb_lane_fn *fn, void *payload,
		  struct kgb_err *err)
{
	KGB_AUTO(free) struct lane *lanes = kgb_xcalloc(n, sizeof(*lanes));
	size_t n_started = 1;

	for (size_t i = 1; i < n; i++) {
		struct lane *lane = &lanes[i];
		*lane = (struct lane){
			.number = i, .fn = fn, .payload = payload, .err = KGB_ERR_INIT};
		open_lane(lane, judge);
		if (pthread_create(&lane->thread, NULL, run_thread, lane) != 0) {
			kgb_judge_release_lane(&lane->judge);
			kgb_verdict_release(&lane->verdict);
			break;
		}
		n_started++;
	}
	judge->verdict->lanes = (int)n_started;
	int rc = fn(judge, 0, payload, err);
	for (size_t i = 1; i < n_started; i++) {
		struct lane *lane = &lanes[i];
		(void)pthread_join(lane->thread, NULL);
		if (lane->rc < 0 && rc >= 0)
			*err = lane->err;
		if (lane->rc < 0 || (lane->rc > rc && rc == 0))
			rc = lane->rc;
		merge(judge, lane);
	}
	return rc;
}
