/* SPDX-License-Identifier: MIT */
/** \file
 * The use of one GPU by all judges of the machine while kernels of a run were judged. */
#ifndef KGB_AGENT_STORE_GPU_TIMES_H
#define KGB_AGENT_STORE_GPU_TIMES_H

#include <stdint.h>

/** Milliseconds by the lease of the GPU (verify/gpu/gpu_lease.h). */
struct kgb_gpu_times {
	const char *name; /* "cuda:0" */
	int64_t alone_ms; /* a judge timed benchmarks */
	int64_t shared_ms; /* judges used it for other work */
	int64_t idle_ms;
};

#endif
