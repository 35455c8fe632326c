/* SPDX-License-Identifier: MIT */
/** \file
 * Stage correctness on a GPU: a lane records some cases, has the images of all of them proved
 * together, and replays one after the other.
 */
#include <pthread.h>

#include "verify/lane/case_judge.h"
#include "verify/provenance/provenance.h"
#include "verify/replay/replay.h"
#include "verify/stages/stage_correctness.h"

enum { BATCH_MAX = 32 };
#define BATCH_BYTES ((size_t)128 << 20) /* of inputs and records, about */

struct entry {
	size_t turn;
	struct kgb_case_data data;
	struct kgb_recorded recorded;
	bool waits; /* recorded, and to be replayed */
};
struct batch {
	struct entry entries[BATCH_MAX];
	size_t n;
};

static size_t bytes_of(const struct entry *entry)
{
	size_t sum = entry->recorded.bytes.len;

	for (size_t i = 0; i < entry->data.kase->n_args; i++)
		sum += 2 * entry->data.storage_bytes[i];
	return sum;
}

static int record_entry(struct kgb_lane *lane, struct kgb_correctness *work, struct entry *entry,
			struct kgb_err *err)
{
	const struct kgb_case *c = kgb_correctness_case(lane, work, entry->turn);
	struct kgb_failure failure = {0};
	int rc;

	kgb_lane_fill(lane, &entry->data, c, 0);
	if (kgb_lane_fetch_truth(lane, &entry->data, err) < 0)
		return -1;
	/* Where nothing is computed there is nothing to replay: shape and type come from the
	 * runner's reply (docs/gpu.md). */
	if (!kgb_case_computes(lane->judge, &entry->data)) {
		rc = kgb_case_judge(lane, &entry->data, &failure, err);
	} else {
		rc = kgb_replay_record(lane, &entry->data, &entry->recorded, &failure, err);
		entry->waits = rc == 0;
		if (rc != 0)
			kgb_recorded_release(&entry->recorded);
	}
	if (rc < 0)
		return -1;
	if (!entry->waits)
		kgb_case_settle(lane, work, entry->turn, rc == 0 ? NULL : &failure);
	return 0;
}

static int record_batch(struct kgb_lane *lane, struct kgb_correctness *work,
			struct kgb_case_share *share, struct batch *batch, struct kgb_err *err)
{
	size_t bytes = 0;
	size_t turn;

	while (batch->n < BATCH_MAX && bytes < BATCH_BYTES &&
	       (turn = kgb_case_queue_take(&work->queue, share)) < work->queue.n) {
		struct entry *entry = &batch->entries[batch->n++];
		*entry = (struct entry){.turn = turn};
		if (record_entry(lane, work, entry, err) < 0)
			return -1;
		bytes += bytes_of(entry);
		if (turn == 0)
			break; /* a broken kernel is refused at once */
	}
	return 0;
}

static int check_entry(struct kgb_lane *lane, struct entry *entry, struct kgb_failure *failure,
		       struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->replayer;

	pthread_mutex_lock(&replayer->lock);
	int rc = kgb_replay_check(lane, &entry->recorded, failure, err);
	pthread_mutex_unlock(&replayer->lock);
	return rc;
}

static int replay_batch(struct kgb_lane *lane, struct kgb_correctness *work, struct batch *batch,
			struct kgb_err *err)
{
	const struct kgb_recorded *list[BATCH_MAX];
	struct kgb_failure failure = {0};
	size_t n = 0;

	for (size_t i = 0; i < batch->n; i++)
		if (batch->entries[i].waits)
			list[n++] = &batch->entries[i].recorded;
	/* A runner that died since is what its last call was refused for. */
	int proved = n > 0 && !kgb_case_queue_is_over(&work->queue)
			     ? kgb_replay_prove(lane, list, n, &failure, err)
			     : 0;
	if (proved < 0)
		return -1;
	for (size_t i = 0; i < batch->n && !kgb_case_queue_is_over(&work->queue); i++) {
		struct entry *entry = &batch->entries[i];
		if (!entry->waits)
			continue;
		int rc = proved;
		if (rc == 0)
			rc = check_entry(lane, entry, &failure, err);
		if (rc < 0)
			return -1;
		kgb_case_settle(lane, work, entry->turn, rc == 0 ? NULL : &failure);
	}
	return 0;
}

static void release_batch(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		if (batch->entries[i].waits)
			kgb_recorded_release(&batch->entries[i].recorded);
		kgb_case_data_release(&batch->entries[i].data);
	}
	batch->n = 0;
}

static int replay_cases(struct kgb_lane *lane, struct kgb_correctness *work, struct kgb_err *err)
{
	struct kgb_case_share share = {0};
	KGB_AUTO(free) struct batch *batch = kgb_xcalloc(1, sizeof(*batch));
	size_t n;
	int rc;

	do {
		rc = record_batch(lane, work, &share, batch, err);
		if (rc == 0)
			rc = replay_batch(lane, work, batch, err);
		n = batch->n;
		release_batch(batch);
	} while (rc == 0 && n > 0);
	lane->verdict->n_inline_ptx += kgb_provenance_n_inline(lane->replay->provenance);
	lane->verdict->n_proofs_recalled += lane->replay->provenance->n_recalled;
	return rc;
}

/* Each lane has only a runner: contexts on a GPU are expensive, and the other processes need a
 * tenth of the runner's time. */
int kgb_correctness_on_gpu(struct kgb_lane *lane, size_t number, struct kgb_correctness *work,
			   struct kgb_err *err)
{
	if (number == 0 && kgb_replay_begin(lane, err) < 0)
		return -1;
	int rc = kgb_correctness_load(lane, err);
	if (rc != 0)
		return rc;
	if (number == 0 &&
	    (kgb_lane_start_reference(lane, err) < 0 || kgb_gpu_facts_new(lane, err) < 0))
		return -1;
	if (number > 0 && !kgb_case_queue_wait_for_go(&work->queue))
		return 0;
	if (number > 0)
		kgb_replay_borrow(lane, work->first);
	kgb_replay_new(lane);
	if (number == 0)
		kgb_case_queue_let_go(&work->queue);
	return replay_cases(lane, work, err);
}
