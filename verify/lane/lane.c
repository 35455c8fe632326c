/* SPDX-License-Identifier: MIT */
#include "verify/lane/lane.h"

#include "verify/provenance/compiler.h"

void kgb_lane_init(struct kgb_lane *lane, const struct kgb_judge *judge,
		   struct kgb_verdict *verdict)
{
	*lane = (struct kgb_lane){
		.judge = judge,
		.verdict = verdict,
		.lease = KGB_LEASE_NONE,
		.runner = KGB_WORKER_INIT,
		.own_reference = KGB_REFERENCE_INIT,
		.reference = &lane->own_reference,
		.baseline = KGB_WORKER_INIT,
		.image = KGB_BUF_INIT(0),
		.after = KGB_BUF_INIT(0),
	};
}

void kgb_lane_kill(struct kgb_lane *lane)
{
	kgb_worker_kill(&lane->runner);
	kgb_worker_kill(&lane->baseline);
	kgb_worker_kill(&lane->own_reference.worker);
	kgb_compiler_leave(lane->seat);
	lane->seat = NULL;
}

void kgb_lane_release(struct kgb_lane *lane)
{
	kgb_lane_kill(lane);
	kgb_worker_stop(&lane->runner);
	kgb_worker_stop(&lane->own_reference.worker);
	kgb_shared_arena_release(&lane->own_reference.memory);
	kgb_worker_stop(&lane->baseline);
	kgb_shared_arena_release(&lane->baseline_memory);
	kgb_shared_arena_release(&lane->runner_memory);
	kgb_buf_release(&lane->image);
	kgb_buf_release(&lane->after);
}
