/* SPDX-License-Identifier: MIT */
/** \file
 * NVIDIA GPUs of this host: their list, and the mounts that a sandboxed process needs to use them
 * (kgb-exec, the runner). */
#ifndef KGB_VERIFY_GPU_GPU_DEVICES_H
#define KGB_VERIFY_GPU_GPU_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sandbox/isolation/policy.h"

#define KGB_GPUS_MAX 64

/** The number of NVIDIA GPUs with a device node here. */
size_t kgb_gpu_count(void);
/** *out: the number, in the order of the PCI bus, of GPU `number` of those that
 * CUDA_VISIBLE_DEVICES lists. Whether the GPU exists is not checked. UNAVAILABLE: the GPU is
 * hidden; INVALID: the list is not one of numbers. */
KGB_MUST_CHECK int kgb_gpu_visible(int64_t number, int *out, struct kgb_err *err);

/** Add the device nodes (/dev/nvidia0 ..., nvidiactl, nvidia-uvm) as far as they exist, a read-only
 * /sys, a /proc where threads can set their names, because CUDA treats a refusal there as fatal,
 * and CUDA's environment. Call it after kgb_policy_base, which gives the driver's libraries (/usr).
 * A host without a GPU is no error here: CUDA reports it. */
KGB_MUST_CHECK int kgb_policy_gpu(struct kgb_policy *policy, struct kgb_err *err);

#endif
