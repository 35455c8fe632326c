/* SPDX-License-Identifier: MIT */
#include "verify/stages/case_queue.h"

void kgb_case_queue_init(struct kgb_case_queue *queue, size_t n, int max_failures)
{
	*queue = (struct kgb_case_queue){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.n = n,
		.n_lanes = 1,
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
	pthread_mutex_lock(&queue->lock);
	queue->stop = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

void kgb_case_queue_let_go(struct kgb_case_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->go = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

bool kgb_case_queue_wait_for_go(struct kgb_case_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (!queue->go && !queue->stop)
		pthread_cond_wait(&queue->changed, &queue->lock);
	bool go = !queue->stop;
	pthread_mutex_unlock(&queue->lock);
	return go;
}

size_t kgb_case_queue_take(struct kgb_case_queue *queue, struct kgb_case_share *share)
{
	size_t turn = queue->n;

	pthread_mutex_lock(&queue->lock);
	if (share->next == share->end && queue->next < queue->n) {
		size_t left = queue->n - queue->next;
		size_t size = queue->next == 0 ? 1 : left / (2 * queue->n_lanes);
		share->next = queue->next;
		share->end = queue->next + (size > 0 ? size : 1);
		queue->next = share->end;
	}
	if (!queue->stop && share->next < share->end)
		turn = share->next++;
	pthread_mutex_unlock(&queue->lock);
	return turn;
}

bool kgb_case_queue_is_over(struct kgb_case_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	bool over = queue->stop;
	pthread_mutex_unlock(&queue->lock);
	return over;
}

void kgb_case_queue_note(struct kgb_case_queue *queue, bool failed, bool ends_all)
{
	pthread_mutex_lock(&queue->lock);
	queue->go = true;
	queue->n_failed += failed;
	if (failed && (ends_all || queue->n_failed >= queue->max_failures))
		queue->stop = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}
