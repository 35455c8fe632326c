/* SPDX-License-Identifier: MIT */
/** \file
 * The judge's side of one worker process: started from a zygote, with requests in datagrams and
 * replies in fixed structs, a deadline on every wait, and a pidfd that ends it with all its
 * descendants. One thread. */
#ifndef KGB_VERIFY_PROCESS_WORKER_H
#define KGB_VERIFY_PROCESS_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "verify/gpu/gpu_lease.h"
#include "verify/process/zygote.h"
#include "verify/protocol/wire.h"

enum kgb_worker_end {
	KGB_WORKER_ALIVE,
	KGB_WORKER_EXITED, /* value: exit status */
	KGB_WORKER_SIGNALED, /* value: signal number */
	KGB_WORKER_TIMED_OUT, /* the judge ended it at its deadline */
	KGB_WORKER_LIED, /* a reply that breaks the protocol; the judge ended it. `why` names the
			    fault */
	KGB_WORKER_LOST, /* its zygote or supervisor is gone: an infrastructure error */
};

struct kgb_worker {
	enum kgb_role role;
	int control_fd;
	int channel_fd;
	int stderr_fd;
	int pid_fd; /* ends the worker and all its descendants */
	bool is_lasting; /* it serves other verifications later: stop it by closing the channel */
	uint64_t last_id;
	struct kgb_buf stderr_text; /* its first 8 KiB and its last 8 KiB */
	enum kgb_worker_end end;
	int end_value;
	char why[256];
	char python[32], torch[64], triton[32]; /* versions as the supervisor reported them */
	struct kgb_gpu_share *share; /* of its requests; borrowed; NULL: it uses no GPU */
	pthread_mutex_t lock; /* of the following */
	struct kgb_gpu_lease lease; /* of the request under way */
	bool paused; /* that request has no lease meanwhile */
	char identity[KGB_SHA256_HEX_LEN]; /* digest of the software behind its answers; "" for a
					      runner */
};

struct kgb_worker_spec {
	const char *role; /* "runner", "facts", "reference" */
	int64_t memory_bytes; /* address space on top of what the zygote had mapped */
	int64_t cpu_s;
	int64_t tmp_bytes;
	int fds[2]; /* borrowed; passed on in this order */
	size_t n_fds;
	struct kgb_gpu_share *share; /* borrowed; NULL: the worker uses no GPU */
};

/** A worker that does not exist: kgb_worker_stop accepts it. */
#define KGB_WORKER_INIT                                                                            \
	{                                                                                          \
		.control_fd = -1, .channel_fd = -1, .stderr_fd = -1, .pid_fd = -1,                 \
		.end = KGB_WORKER_LOST, .lock = PTHREAD_MUTEX_INITIALIZER, .lease = KGB_LEASE_NONE \
	}

/** Fork a worker; waits until it exists. */
KGB_MUST_CHECK int kgb_worker_start(struct kgb_worker *worker, struct kgb_zygote *zygote,
				    const struct kgb_worker_spec *spec, int64_t timeout_ms,
				    struct kgb_err *err);
/** Send a request: `json` is an object without "id", which is added. Waits until the worker
 * may use the GPU, if it uses one (kgb_gpu_share_enter); it may until the wait for the reply has
 * ended. A worker that is gone is not an error here: the wait for the reply reports it. LIMIT when
 * the request is too long. */
KGB_MUST_CHECK int kgb_worker_send(struct kgb_worker *worker, const char *json, const int *fds,
				   size_t n_fds, struct kgb_err *err);
/** Wait until kgb_worker_wait has nothing left to wait for: a reply has come, or the worker is
 * gone. False: `deadline_ms` (monotonic) came first. */
bool kgb_worker_poll(struct kgb_worker *worker, int64_t deadline_ms);
/** Wait for the reply to the last request until `deadline_ms` (monotonic). True: *out is a checked
 * reply. False: the worker and its descendants are dead, `end` is its end. */
bool kgb_worker_wait(struct kgb_worker *worker, int64_t deadline_ms, struct kgb_wire_reply *out);
/** The worker waits for something else than the GPU and cannot answer its request before
 * kgb_worker_resume: others may have the GPU alone meanwhile. Any thread. Nothing happens if no
 * request is under way. */
void kgb_worker_pause(struct kgb_worker *worker);
/** The opposite; waits until the worker may use the GPU again. */
void kgb_worker_resume(struct kgb_worker *worker);
/** Add "; it wrote: " and the end of what the worker wrote to stderr, escaped. Nothing if it wrote
 * nothing. */
void kgb_worker_last_words(const struct kgb_worker *worker, struct kgb_buf *out);
/** Wait for the reply of a trusted worker, `what` in messages. -1: it ended or refused. */
KGB_MUST_CHECK int kgb_worker_await(struct kgb_worker *worker, int64_t deadline_ms,
				    const char *what, struct kgb_wire_reply *reply,
				    struct kgb_err *err);
/** End a worker for a breach of the protocol that only the caller can detect. */
void kgb_worker_refuse(struct kgb_worker *worker, const char *why);
/** Start to end a worker, or close the channel to a lasting one, without waiting. This shortens the
 * wait of kgb_worker_stop. */
void kgb_worker_kill(const struct kgb_worker *worker);
/** The same; its supervisor holds a copy of the lease until it has ended, and kgb_worker_stop,
 * which must follow, does not wait. `lease` may be NULL, or hold nothing: nothing changes then. */
void kgb_worker_leave(struct kgb_worker *worker, const struct kgb_gpu_lease *lease);
/** End a worker, wait for its supervisor's report, and free everything. */
void kgb_worker_stop(struct kgb_worker *worker);

#endif
