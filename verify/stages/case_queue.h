/* SPDX-License-Identifier: MIT */
/** \file
 * The queue from which lanes (lanes.h) take cases. A case's turn is its place in the order; turn 0
 * is the cheapest case.
 */
#ifndef KGB_VERIFY_STAGES_CASE_QUEUE_H
#define KGB_VERIFY_STAGES_CASE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "verify/cases/cases.h"

/** Write the numbers of all cases to order[], which has room for them: the cheapest ordinary case
 * with asserts first, so that a broken kernel is refused at once; then the others as listed, first
 * those with asserts, because others need another runner, those of the same types together. A twin
 * comes right after its model; follows[] is true for it. */
void kgb_case_order(const struct kgb_cases *cases, size_t *order, bool *follows);

/** Shared by all lanes; every change holds the lock. */
struct kgb_case_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t n; /* number of turns */
	size_t next, end; /* no lane has taken the turns from `next` to `end` - 1 */
	size_t border; /* the turns from here on need another runner than those before; to be set
			  before the lanes start; n: all need the same */
	size_t next_benchmark, n_benchmarks; /* n_benchmarks is to be set before the lanes start */
	size_t n_lanes; /* to be set before the lanes start */
	size_t turns_for_a_runner; /* so many are worth the start of another runner; likewise */
	const bool *follows; /* borrowed; true: the turn goes to the lane of the turn before; NULL:
				none does */
	int n_failed, max_failures; /* after this many failed cases the queue ends */
	bool go; /* other lanes than the first may begin */
	bool stop; /* no more cases are handed out */
};

/** The turns that one lane has taken and not yet judged. */
struct kgb_case_share {
	size_t next, end;
	bool from_end; /* the lane's runner is that of the turns from the border on, which it takes
			  from the end */
};

void kgb_case_queue_init(struct kgb_case_queue *queue, size_t n, int max_failures);
void kgb_case_queue_release(struct kgb_case_queue *queue);

/** The lane's next turn; queue->n when there is none. Neighbours in the order go to one lane: most
 * of them need the same compiled kernels. A lane gets turns for its runner as long as there are
 * some, and turns for the other runner (share->from_end changes) only if there are many, or there
 * is no other lane: it takes time to start a runner. With several lanes there must be one of each
 * kind. */
size_t kgb_case_queue_take(struct kgb_case_queue *queue, struct kgb_case_share *share);

/** The number of a benchmark that no lane has taken; n_benchmarks when there is none, or when a
 * case has failed: then nothing is timed. For a lane without cases. */
size_t kgb_case_queue_take_benchmark(struct kgb_case_queue *queue);
/** Hand out no more benchmarks, because one of them fails. */
void kgb_case_queue_end_benchmarks(struct kgb_case_queue *queue);

/** Let the other lanes begin. Lane 0 calls this when the objects that lanes share exist. */
void kgb_case_queue_let_go(struct kgb_case_queue *queue);
/** Wait until lanes may begin. False: the queue ended before. */
bool kgb_case_queue_wait_for_go(struct kgb_case_queue *queue);

/** Count a judged case. The queue ends after max_failures failures, or when this case failed and
 * `ends_all` is true. */
void kgb_case_queue_note(struct kgb_case_queue *queue, bool failed, bool ends_all);
/** End the queue, because a lane cannot go on. */
void kgb_case_queue_stop(struct kgb_case_queue *queue);
bool kgb_case_queue_is_over(struct kgb_case_queue *queue);
bool kgb_case_queue_has_failed(struct kgb_case_queue *queue);

#endif
