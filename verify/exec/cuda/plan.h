/* SPDX-License-Identifier: MIT */
/** \file
 * A plan that is ready to run: checked, its memory mapped, its images loaded, its kernels found,
 * its streams and events made.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_PLAN_H
#define KGB_VERIFY_EXEC_CUDA_PLAN_H

#include "verify/exec/cuda/code.h"
#include "verify/exec/cuda/memory.h"
#include "verify/exec/exec_plan.h"
#include "verify/protocol/record.h"

struct kgb_gpu_plan_launch {
	struct kgb_kernel *kernel; /* borrowed from the loaded image */
	unsigned char *params; /* owned; aligned for tensor maps */
	void **pointers; /* owned; into params */
	CUlaunchAttribute *attrs; /* owned */
};

/** Data of an op beyond its record. */
struct kgb_gpu_plan_op {
	size_t stream; /* index into streams, 0: main */
	size_t event; /* EVENT_RECORD, EVENT_WAIT */
	bool waits; /* EVENT_WAIT: the event was recorded before, in this window */
	struct kgb_gpu_plan_launch launch; /* LAUNCH */
	const unsigned char *upload; /* UPLOAD: pinned */
};

struct kgb_gpu_plan_event {
	uint64_t number; /* in the record */
	CUevent event;
};

struct kgb_gpu_plan {
	struct kgb_gpu *gpu; /* borrowed; NULL: no such plan */
	const struct kgb_memory_set *set; /* borrowed; its own */
	struct kgb_exec_plan sent;
	const struct kgb_window *window; /* of `sent` */
	struct kgb_code_cache *code; /* borrowed */
	struct kgb_loaded **images; /* taken; one for each image of the record */
	size_t n_images;
	struct kgb_gpu_plan_op *ops; /* owned; one for each op of the window */

	CUstream streams[KGB_EXEC_STREAMS_MAX]; /* [0] is the main stream */
	CUevent joins[KGB_EXEC_STREAMS_MAX]; /* one for each stream */
	uint64_t stream_numbers[KGB_EXEC_STREAMS_MAX];
	size_t n_streams;
	KGB_VEC(struct kgb_gpu_plan_event) events;
	unsigned char *pinned; /* owned; payloads of uploads, then room for the largest download */
	uint64_t upload_bytes;
	uint64_t params_bytes; /* of all launches */
	size_t n_activities; /* launches, memsets and copies: activity records of one run */
	uint64_t last_ns; /* its last sample at this placement, by events; 0: none */
};

/** Make a plan of a memfd with a record. BAD_PLAN names the part that cannot be replayed. On
 * failure *plan is empty. */
KGB_MUST_CHECK int kgb_gpu_plan_load(struct kgb_gpu_plan *plan, struct kgb_device_memory *memory,
				     struct kgb_code_cache *code, int record_fd,
				     struct kgb_err *err);
void kgb_gpu_plan_release(struct kgb_gpu_plan *plan);

/** The next kgb_code_cache_move is to move its code, whose times it forgets. */
void kgb_gpu_plan_let_move(struct kgb_gpu_plan *plan);

/** Whether a launch has an attribute of this kind. */
bool kgb_launch_has(const struct kgb_launch *launch, CUlaunchAttributeID id);

#endif
