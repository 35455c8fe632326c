/* SPDX-License-Identifier: MIT */
/** \file
 * Parts of the stand-in for the CUDA driver (driver.c): its kernels and what it pretends to be.
 */
#ifndef KGB_TESTS_GPU_FAKE_FAKE_H
#define KGB_TESTS_GPU_FAKE_FAKE_H

#include <cuda.h>
#include <stdbool.h>

#define FAKE_DEVICE_NAME "no GPU, a stand-in"
#define FAKE_PAGE ((size_t)2 << 20)
#define FAKE_MEMORY_BYTES ((size_t)8 << 30)
#define FAKE_HANDLES_MAX 4096
#define FAKE_SHARED_BYTES (228 << 10)
#define FAKE_PARAMS_MAX 6

struct fake_kernel {
	const char *name;
	size_t param_bytes[FAKE_PARAMS_MAX];
	CUresult (*run)(const CUlaunchConfig *config, void **params);
};

const struct fake_kernel *fake_kernel_find(const char *name);

/** One kernel, memset or copy was carried out (CUpti_ActivityKind), for cupti.c. */
void fake_activity(int kind);

/** Whether an odd number of events with times have been recorded: between two of them. */
bool fake_is_timed(void);

/** From now on every call fails with this; returns what the launch itself returns. */
CUresult fake_fault(CUresult result);

#endif
