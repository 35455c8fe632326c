/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness by replays: each lane records one case after the other in its runner, and
 * replays it. On a GPU the lanes share the process that replays and the reference, because contexts
 * there are expensive; on the CPU each has its own.
 */
#include <pthread.h>

#include "verify/lane/case_judge.h"
#include "verify/provenance/provenance.h"
#include "verify/replay/replay.h"
#include "verify/stages/stage_correctness.h"

static int record_and_replay(struct kgb_lane *lane, const struct kgb_case_data *data,
			     struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->replayer;
	struct kgb_recorded recorded;
	int rc = kgb_replay_record(lane, data, &recorded, failure, err);

	if (rc == 0) {
		pthread_mutex_lock(&replayer->lock);
		rc = kgb_replay_check(lane, &recorded, failure, err);
		pthread_mutex_unlock(&replayer->lock);
	}
	kgb_recorded_release(&recorded);
	return rc;
}

static int judge_case(struct kgb_lane *lane, struct kgb_correctness *work, size_t turn,
		      struct kgb_err *err)
{
	struct kgb_case_data data;
	struct kgb_failure failure = {0};

	kgb_lane_fill(lane, &data, kgb_correctness_case(lane, work, turn), 0);
	int rc = kgb_lane_fetch_truth(lane, &data, err);
	/* Where nothing is computed there is nothing to replay: shape and type come from the
	 * runner's reply (docs/gpu.md). */
	if (rc == 0)
		rc = kgb_case_computes(lane->judge, &data)
			     ? record_and_replay(lane, &data, &failure, err)
			     : kgb_case_judge(lane, &data, &failure, err);
	if (rc >= 0)
		kgb_case_settle(lane, work, turn, rc == 0 ? NULL : &failure);
	kgb_case_data_release(&data);
	return rc < 0 ? -1 : 0;
}

static int judge_cases(struct kgb_lane *lane, struct kgb_correctness *work, struct kgb_err *err)
{
	struct kgb_case_share share = {0};
	size_t turn;
	int rc = 0;

	while (rc == 0 && (turn = kgb_case_queue_take(&work->queue, &share)) < work->queue.n)
		rc = judge_case(lane, work, turn, err);
	lane->verdict->n_inline_ptx += kgb_provenance_n_inline(lane->replay->provenance);
	return rc;
}

int kgb_correctness_by_replays(struct kgb_lane *lane, size_t number, struct kgb_correctness *work,
			       struct kgb_err *err)
{
	const bool on_gpu = lane->judge->options->device != KGB_DEVICE_CPU;
	const bool owns = number == 0 || !on_gpu;

	if (owns && kgb_replay_begin(lane, err) < 0)
		return -1;
	int rc = kgb_correctness_load(lane, err);
	if (rc != 0)
		return rc;
	if (owns && kgb_lane_start_reference(lane, err) < 0)
		return -1;
	if (on_gpu && number == 0 && kgb_gpu_facts_new(lane, err) < 0)
		return -1;
	if (number > 0 && !kgb_case_queue_wait_for_go(&work->queue))
		return 0;
	if (!owns)
		kgb_replay_borrow(lane, work->first);
	kgb_replay_new(lane);
	if (number == 0)
		kgb_case_queue_let_go(&work->queue);
	return judge_cases(lane, work, err);
}
