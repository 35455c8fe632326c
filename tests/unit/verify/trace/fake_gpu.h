/* SPDX-License-Identifier: MIT */
/** \file
 * A CUDA driver and a CUPTI for tests, as shared libraries of the real names: what the trace
 * library opens once they are loaded. The driver tells CUPTI of the few calls that matter, as the
 * real one does.
 */
#ifndef KGB_TESTS_UNIT_VERIFY_TRACE_FAKE_GPU_H
#define KGB_TESTS_UNIT_VERIFY_TRACE_FAKE_GPU_H

#include <cupti.h>
#include <stdbool.h>

/** State of the driver; symbol "fake_gpu". */
struct fake_gpu {
	bool capturing; /* every stream */
	unsigned n_memsets, n_copies, n_contexts;
	/* Set by the test: where calls are told. */
	void (*fire)(CUpti_CallbackId id, const char *name, const void *params, CUresult result);
};

/** State of CUPTI; symbol "fake_cupti". */
struct fake_cupti {
	CUpti_CallbackFunc callback;
	void *payload;
	bool enabled[CUPTI_DRIVER_TRACE_CBID_SIZE];
	CUptiResult subscribe_result;
	CUpti_CallbackId refused; /* cannot be enabled; 0: none */
	/* Enter and leave a call, if somebody asked for it. */
	void (*fire)(CUpti_CallbackId id, const char *name, const void *params, CUresult result);
};

#endif
