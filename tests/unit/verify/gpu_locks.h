/* SPDX-License-Identifier: MIT */
/** \file
 * The files of a GPU's locks (verify/gpu/gpu_lease.h), for tests that use a device no machine has.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_GPU_LOCKS_H
#define KGB_TESTS_UNIT_VERIFY_GPU_LOCKS_H

#include <unistd.h>

#include "base/mem.h"
#include "verify/gpu/gpu_lease.h"

/* The files of the device's locks go. */
static inline void unlink_locks(int device)
{
	static const char *const kinds[] = {"gpu", "gpu-turn", "gpu-users"};

	for (size_t i = 0; i < KGB_ARRAY_LEN(kinds); i++) {
		KGB_AUTO(free) char *path = kgb_xasprintf("/tmp/kgb-%s-%d.lock", kinds[i], device);
		(void)unlink(path);
	}
	for (int i = 0; i < KGB_GPU_LINE; i++) {
		KGB_AUTO(free)
		char *path = kgb_xasprintf("/tmp/kgb-gpu-line-%d.lock", device * KGB_GPU_LINE + i);
		(void)unlink(path);
	}
}

#endif
