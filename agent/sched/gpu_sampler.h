/* SPDX-License-Identifier: MIT */
/** \file
 * Samples the use of the GPUs while kernels of one run are judged, by the leases of all judges of
 * the machine (verify/gpu/gpu_lease.h). Time in which no judge works on a kernel of this run does
 * not count. Loop thread only. */
#ifndef KGB_AGENT_SCHED_GPU_SAMPLER_H
#define KGB_AGENT_SCHED_GPU_SAMPLER_H

#include <stddef.h>
#include <uv.h>

#include "agent/devices/devices.h"
#include "agent/store/events.h"

struct kgb_gpu_sampler;

/** Interval of the samples in milliseconds; each stands for that time. */
#define KGB_GPU_SAMPLE_MS 100

/** Begin to sample `devices`. The log and the devices are borrowed. NULL: no GPU judges. */
struct kgb_gpu_sampler *kgb_gpu_sampler_start(uv_loop_t *loop, const struct kgb_devices *devices,
					      const struct kgb_run_log *log);
/** The times so far, one for each GPU. They live until the sampler closes. `*n` is 0 when no sample
 * was taken. Accepts NULL. */
const struct kgb_gpu_times *kgb_gpu_sampler_times(const struct kgb_gpu_sampler *sampler, size_t *n);
/** Ends it; the loop frees it. Accepts NULL. */
void kgb_gpu_sampler_close(struct kgb_gpu_sampler *sampler);

#endif
