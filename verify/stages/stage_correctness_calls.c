/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness by what the runner returns from the interpreter: while the runner computes one
 * case, the reference computes the next.
 */
#include "verify/lane/case_judge.h"
#include "verify/stages/stage_correctness.h"

/* One step of the pipeline: the truth of `data` is asked for already; ask for that of `next` before
 * running. */
static int run_step(struct kgb_lane *lane, struct kgb_correctness *work, size_t turn,
		    struct kgb_case_data *data, struct kgb_case_data *next, struct kgb_err *err)
{
	struct kgb_failure failure = {0};

	if (kgb_lane_receive_truth(lane, data, err) < 0)
		return -1;
	if (next && kgb_lane_request_truth(lane, next, err) < 0)
		return -1;
	int rc = kgb_case_judge(lane, data, &failure, err);
	if (rc < 0)
		return -1;
	kgb_case_settle(lane, work, turn, rc == 0 ? NULL : &failure);
	return 0;
}

static void fill(struct kgb_lane *lane, const struct kgb_correctness *work, size_t turn,
		 struct kgb_case_data *out)
{
	kgb_lane_fill(lane, out, kgb_correctness_case(lane, work, turn), 0);
}

static int run_cases(struct kgb_lane *lane, struct kgb_correctness *work, struct kgb_err *err)
{
	struct kgb_case_queue *queue = &work->queue;
	struct kgb_case_share share = {0};
	struct kgb_case_data data[2] = {0};
	size_t turn = kgb_case_queue_take(queue, &share);
	int rc = 0;

	if (turn < queue->n) {
		fill(lane, work, turn, &data[0]);
		rc = kgb_lane_request_truth(lane, &data[0], err);
	}
	for (size_t i = 0; turn < queue->n && rc == 0; i++) {
		size_t next_turn = kgb_case_queue_take(queue, &share);
		struct kgb_case_data *next = next_turn < queue->n ? &data[(i + 1) % 2] : NULL;
		if (next)
			fill(lane, work, next_turn, next);
		rc = run_step(lane, work, turn, &data[i % 2], next, err);
		kgb_case_data_release(&data[i % 2]);
		turn = kgb_case_queue_is_over(queue) ? queue->n : next_turn;
	}
	kgb_case_data_release(&data[0]);
	kgb_case_data_release(&data[1]);
	return rc;
}

int kgb_correctness_by_calls(struct kgb_lane *lane, size_t number, struct kgb_correctness *work,
			     struct kgb_err *err)
{
	int rc = kgb_correctness_load(lane, err);

	if (rc == 0)
		rc = kgb_lane_start_reference(lane, err);
	if (rc == 0 && (number == 0 || kgb_case_queue_wait_for_go(&work->queue)))
		rc = run_cases(lane, work, err);
	return rc;
}
