/* SPDX-License-Identifier: MIT */
/** \file
 * The GPUs and processors that all judges of this machine share, as locks on files in /tmp; the
 * kernel releases a lock when its process ends, for any reason. The right to use a GPU is shared by
 * requests to processes that check kernels, and exclusive while a benchmark is timed. A
 * verification runs one lane (lanes.h) for each seat that it gets. */
#ifndef KGB_VERIFY_GPU_GPU_LEASE_H
#define KGB_VERIFY_GPU_GPU_LEASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** Longest total wait of one verification, for the GPU and for the start of its processes. It does
 * not count as time of the verification. */
#define KGB_WAITS_MAX_MS (INT64_C(300) * 1000)

struct kgb_gpu_lease {
	int fd; /* -1: none */
};
#define KGB_LEASE_NONE   \
	{                \
		.fd = -1 \
	}

/** Take the lease of device number `device`, or turn the lease that is held into the other kind.
 * `alone`: exclusive, else shared. Waits for other judges until `deadline_ms` (monotonic): BUSY
 * then, and nothing is held. */
KGB_MUST_CHECK int kgb_gpu_lease_take(struct kgb_gpu_lease *lease, int device, bool alone,
				      int64_t deadline_ms, struct kgb_err *err);
/** Accepts one that holds nothing. */
void kgb_gpu_lease_give(struct kgb_gpu_lease *lease);

/** The use of a GPU by all judges of the machine. */
enum kgb_gpu_use {
	KGB_GPU_IDLE, /* nobody has the lease */
	KGB_GPU_SHARED,
	KGB_GPU_ALONE,
};
/** Get the present use of device number `device` from its lease. Does not wait, and makes no file.
 * It may take the lease for some microseconds, for which a judge that wants it then tries once
 * more. */
KGB_MUST_CHECK int kgb_gpu_lease_look(int device, enum kgb_gpu_use *out, struct kgb_err *err);

/** The right of one verification to use a GPU: one request after the other shares it with other
 * verifications, so that one which needs the GPU alone waits for requests, not for verifications.
 * Any thread. */
struct kgb_gpu_share {
	int device;
	struct kgb_gpu_lease joined; /* held: other verifications know of this one */
	struct kgb_gpu_lease line; /* held: a place of those who take the GPU alone next */
	struct kgb_gpu_lease alone; /* held: requests need no lease */
	pthread_mutex_t lock; /* of the following */
	size_t n_waiting; /* threads that wait for other verifications */
	int64_t since_ms; /* n_waiting > 0 */
	int64_t waited_ms; /* time during which any thread waited, without the current wait */
};
#define KGB_GPU_SHARE_INIT(number)                                                    \
	{                                                                             \
		.device = (number), .joined = KGB_LEASE_NONE, .line = KGB_LEASE_NONE, \
		.alone = KGB_LEASE_NONE, .lock = PTHREAD_MUTEX_INITIALIZER            \
	}

/** Wait until has_room(payload) is true or no other verification uses the GPU, then join those that
 * do. So a verification starts no processes where those of others leave too little memory. After
 * KGB_WAITS_MAX_MS of waiting in all it joins all the same. Errors of the lock file. */
KGB_MUST_CHECK int kgb_gpu_share_join(struct kgb_gpu_share *share, bool (*has_room)(void *payload),
				      void *payload, struct kgb_err *err);
/** Accepts one that has not joined. */
void kgb_gpu_share_leave(struct kgb_gpu_share *share);
/** Begin a request that uses the GPU; kgb_gpu_lease_give ends it. A thread has at most one such
 * lease, and waits for no lock while it has it: the lock's holder may wait for the GPU. NULL: the
 * request uses no GPU. BUSY after KGB_WAITS_MAX_MS of waiting in all. */
KGB_MUST_CHECK int kgb_gpu_share_enter(struct kgb_gpu_share *share, struct kgb_gpu_lease *lease,
				       struct kgb_err *err);
/** Take one of KGB_GPU_LINE places before the GPU is filled with what is timed when it is taken
 * alone: else all verifications at once would keep that there while they wait for each other. After
 * KGB_WAITS_MAX_MS of waiting in all it goes on without a place. Errors of the lock files. */
KGB_MUST_CHECK int kgb_gpu_share_enter_line(struct kgb_gpu_share *share, struct kgb_err *err);
/** Accepts one that is not in line. */
void kgb_gpu_share_leave_line(struct kgb_gpu_share *share);
#define KGB_GPU_LINE 2 /* one is timed, and the next one is ready */
/** Take the GPU alone. No request of this verification may be under way. Errors as above. */
KGB_MUST_CHECK int kgb_gpu_share_take_alone(struct kgb_gpu_share *share, struct kgb_err *err);
/** Accepts one that is not alone. */
void kgb_gpu_share_give_alone(struct kgb_gpu_share *share);
/** Milliseconds of waiting for other verifications so far. They do not count as time of this one.
 */
int64_t kgb_gpu_share_waited_ms(struct kgb_gpu_share *share);

#define KGB_SEATS_MAX 32

/** Shares of the processors among judges: one seat for each processor. */
struct kgb_seats {
	int fds[KGB_SEATS_MAX];
	size_t n;
};
/** Take up to `wanted` of the machine's `n_all` seats, without waiting. Pair with kgb_seats_give.
 */
void kgb_seats_take(struct kgb_seats *seats, size_t wanted, size_t n_all);
void kgb_seats_give(struct kgb_seats *seats);
/** Give back all but `n`. */
void kgb_seats_keep(struct kgb_seats *seats, size_t n);

#endif
