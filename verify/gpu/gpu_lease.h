/* SPDX-License-Identifier: MIT */
/** \file
 * The GPUs and processors that all judges of this machine share, as locks on files in /tmp; the
 * kernel releases a lock when its process ends, for any reason. The right to use a GPU is shared
 * while kernels are checked, and exclusive while one is timed. A verification runs one lane
 * (lanes.h) for each seat that it gets. */
#ifndef KGB_VERIFY_GPU_GPU_LEASE_H
#define KGB_VERIFY_GPU_GPU_LEASE_H

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
 * `alone`: exclusive, else shared. Waits for other judges until `deadline_ms` (monotonic): TIMEOUT
 * then, and nothing is held. */
KGB_MUST_CHECK int kgb_gpu_lease_take(struct kgb_gpu_lease *lease, int device, bool alone,
				      int64_t deadline_ms, struct kgb_err *err);
/** Accepts one that holds nothing. */
void kgb_gpu_lease_give(struct kgb_gpu_lease *lease);

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

#endif
