/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's side of one kgb-exec process: sandboxed, with requests in fixed structs, and a
 * deadline on every wait. Its answers are data to be checked. After an outcome of KGB_EXEC_FAULTED
 * or greater the process is gone; only kgb_exec_stop may follow. Each request but the first, which
 * makes a context, waits until the process may use the GPU (kgb_gpu_share_enter). One thread. */
#ifndef KGB_VERIFY_PROCESS_EXEC_CLIENT_H
#define KGB_VERIFY_PROCESS_EXEC_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "verify/process/exec_process.h"
#include "verify/protocol/exec_protocol.h"
#include "verify/protocol/exec_request.h"

/** The outcome of a request. All but KGB_EXEC_DONE fill the struct kgb_err too. */
enum kgb_exec_outcome {
	KGB_EXEC_DONE,
	KGB_EXEC_UNREPLAYABLE, /* BAD_PLAN: the plan cannot be replayed */
	KGB_EXEC_WROTE_OUTSIDE, /* SLACK; results were brought back. reply.value: address */
	KGB_EXEC_OUT_OF_MEMORY,
	KGB_EXEC_BROKE_RULE, /* KERNEL_FAULT. reply.device_error: enum kgb_exec_fault */
	KGB_EXEC_UNKNOWN_OPERATION, /* UNSUPPORTED: the machine on the CPU lacks an operation */
	KGB_EXEC_REFUSED, /* a fault of the judge: BAD_REQUEST */
	KGB_EXEC_FAULTED, /* GPU_FAULT. reply.value: op, UINT64_MAX unknown */
	KGB_EXEC_TIMED_OUT, /* the judge ended it at its deadline */
	KGB_EXEC_DIED, /* by itself: end_value is its exit status, 128 + N for signal N */
	KGB_EXEC_BROKE_PROTOCOL, /* an invalid reply; the judge ended it */
	KGB_EXEC_NO_GPU, /* no program, no sandbox, no driver, no device, addresses taken */
	KGB_EXEC_N_OUTCOMES,
};
/** "done", "unreplayable", ... */
const char *kgb_exec_outcome_name(enum kgb_exec_outcome outcome);

/** Of the last good kgb_exec_client_arena for a set. */
struct kgb_exec_client_set {
	uint64_t arena_bytes, output_bytes;
};

struct kgb_exec_client {
	struct kgb_exec_process process;
	struct kgb_gpu_share *share; /* of its requests; borrowed; NULL: it uses no GPU */
	uint64_t last_id;
	uint32_t device; /* that is open */
	uint32_t set; /* in force */
	struct kgb_exec_client_set sets[KGB_EXEC_SETS_MAX];
	int n_starts; /* number of processes started until the addresses were free */
	uint64_t l2_bytes; /* of the device */
	char device_name[256];
	struct kgb_exec_machine machine; /* of the last OPEN or MEASURE; texts are printable */
	struct kgb_exec_reply reply; /* the last one that came, checked: text is printable */
};
#define KGB_EXEC_CLIENT_INIT                      \
	{                                         \
		.process = KGB_EXEC_PROCESS_INIT, \
	}

/** Start a process and open the device; a new process when the fixed addresses are taken, three at
 * most. *exec needs no kgb_exec_stop when it fails (KGB_EXEC_NO_GPU: *err names the missing part,
 * _TIMED_OUT, _DIED, ...). */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_start(struct kgb_exec_client *exec,
							   const struct kgb_exec_spec *spec,
							   int64_t timeout_ms, struct kgb_err *err);

/** The same in two steps, so that the caller can work meanwhile. *exec starts as
 * KGB_EXEC_CLIENT_INIT. After a begin that gave DONE comes kgb_exec_finish or kgb_exec_stop. */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_begin(struct kgb_exec_client *exec,
							   const struct kgb_exec_spec *spec,
							   struct kgb_err *err);
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_finish(struct kgb_exec_client *exec,
							    const struct kgb_exec_spec *spec,
							    int64_t timeout_ms,
							    struct kgb_err *err);

/** The same for a process that the caller started without a sandbox: for tests. Takes `pid`,
 * our child, and its socket; both are gone when it fails. */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_adopt(struct kgb_exec_client *exec, pid_t pid,
							   int take_channel_fd, uint32_t device,
							   int64_t timeout_ms, struct kgb_err *err);

/** Measure the device: exec->machine is complete then. Only in a process without a plan so far:
 * hostile kernels could falsify the figures. */
KGB_MUST_CHECK enum kgb_exec_outcome
kgb_exec_client_measure(struct kgb_exec_client *exec, int64_t timeout_ms, struct kgb_err *err);

struct kgb_exec_arena_spec {
	int input_fd; /* n_slots - n_turned images of arena_bytes, one after the other */
	int output_fd; /* output_bytes */
	uint64_t arena_bytes, output_bytes;
	uint32_t n_slots;
	/** Borrowed. Only these parts of the arena (device addresses, in order, apart from each
	 * other) are memory; images and results count there only, and an access further than to the
	 * end of a page of theirs faults. */
	const struct kgb_exec_range *parts;
	size_t n_parts; /* at most KGB_EXEC_RANGES; 0: all of the arena */
	uint32_t n_turned; /* of the slots, on a GPU: they have turned images (KGB_EXEC_ARENA), and
			      `parts` is what turns */
	uint32_t inputs; /* bit i: part i is read-only, which the CPU enforces */
};
/** Give kgb-exec its memory. Both descriptors are memfds whose size is sealed (kgb_memfd_sized);
 * the input should also be sealed against writing by others. Call again after changing an image. */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_arena(struct kgb_exec_client *exec,
							   const struct kgb_exec_arena_spec *spec,
							   int64_t timeout_ms, struct kgb_err *err);

/** Make plan number `plan` of a record with one window (verify/protocol/record.h). */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_plan(struct kgb_exec_client *exec,
							  uint32_t plan, const void *record,
							  size_t len, int64_t timeout_ms,
							  struct kgb_err *err);
/** Bring back what the conditions of kernels were (KGB_EXEC_CONDITIONS): exec->reply.value of them,
 * which fit the output memory. */
KGB_MUST_CHECK enum kgb_exec_outcome
kgb_exec_client_conditions(struct kgb_exec_client *exec, int64_t timeout_ms, struct kgb_err *err);
KGB_MUST_CHECK enum kgb_exec_outcome
kgb_exec_client_forget(struct kgb_exec_client *exec, int64_t timeout_ms, struct kgb_err *err);

/** Put a set, a number below KGB_EXEC_SETS_MAX, in force. */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_select(struct kgb_exec_client *exec,
							    uint32_t set, int64_t timeout_ms,
							    struct kgb_err *err);

KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_place(struct kgb_exec_client *exec,
							   uint32_t placement, int64_t timeout_ms,
							   struct kgb_err *err);
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_load(struct kgb_exec_client *exec,
							  int64_t timeout_ms, struct kgb_err *err);

/** Run once: `request` has the fields of RUN, the client adds the others. *out: where the arena (at
 * 0) and the ranges lie in the output memory; valid with KGB_EXEC_DONE and KGB_EXEC_WROTE_OUTSIDE.
 * REFUSED when they do not fit there. */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_run(struct kgb_exec_client *exec,
							 const struct kgb_exec_request *request,
							 struct kgb_exec_layout *out,
							 int64_t timeout_ms, struct kgb_err *err);
/** The same for TIME: run n_samples times in fresh mode; samples lie at out->samples.
 * exec->reply.text gives the cause when an activity that was requested is missing. */
KGB_MUST_CHECK enum kgb_exec_outcome kgb_exec_client_time(struct kgb_exec_client *exec,
							  const struct kgb_exec_request *request,
							  struct kgb_exec_layout *out,
							  int64_t timeout_ms, struct kgb_err *err);

/** Let a process drop all that it holds, and wait until the driver has cleared its memory: in a
 * pool it would keep gigabytes, and where it ends nobody would wait. False: it did not. */
bool kgb_exec_client_begin_emptying(struct kgb_exec_client *exec);
bool kgb_exec_client_finish_emptying(struct kgb_exec_client *exec, int64_t timeout_ms);
#define KGB_EXEC_EMPTY_MS (10 * 1000) /* most that this takes */
/** End the process and its sandbox at once. Accepts one that was never started, or is gone. */
void kgb_exec_client_stop(struct kgb_exec_client *exec);
/** Begin that without waiting (kgb_exec_process_leave); kgb_exec_client_stop must follow.
 * `is_clean`: the process lives, ran no code of a candidate, and its last request was carried out:
 * a pool that lent it gets it back, and clears its memory; that of others is cleared with a lease.
 */
void kgb_exec_client_leave(struct kgb_exec_client *exec, bool is_clean,
			   const struct kgb_gpu_lease *lease);

#endif
