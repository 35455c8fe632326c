/* SPDX-License-Identifier: MIT */
/** \file
 * The right to use a GPU, among all judges of this machine: shared while a kernel is checked, alone
 * while one is timed. A lock file for each device; the kernel gives the lock back when we end,
 * however that happens.
 */
#ifndef KGB_VERIFY_JUDGE_LEASE_H
#define KGB_VERIFY_JUDGE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kgb_lease {
	int fd; /* -1: none */
};
#define KGB_LEASE_NONE   \
	{                \
		.fd = -1 \
	}

/** Take the lease of device number `device`, or turn the one that is held into the other kind, and
 * wait for others until `deadline_ms` (monotonic): TIMEOUT then, and nothing is held. */
KGB_MUST_CHECK int kgb_lease_take(struct kgb_lease *lease, int device, bool alone,
				  int64_t deadline_ms, struct kgb_err *err);
/** Accepts one that holds nothing. */
void kgb_lease_give(struct kgb_lease *lease);

#endif
