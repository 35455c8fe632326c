/* SPDX-License-Identifier: MIT */
/** \file
 * What a sandboxed process needs of this host to use its NVIDIA GPUs: one place for everything that
 * runs CUDA inside (kgb-exec, the runner).
 */
#ifndef KGB_VERIFY_JUDGE_DEVICES_H
#define KGB_VERIFY_JUDGE_DEVICES_H

#include "sandbox/isolation/policy.h"

/** Add the device nodes (/dev/nvidia0 ..., nvidiactl, nvidia-uvm) as far as they exist, and a
 * read-only /sys. Call it after kgb_policy_base, which gives the driver's libraries (/usr) and a
 * /proc where threads can name themselves: CUDA takes a refusal there for fatal. A host without a
 * GPU is no error: CUDA will say it. */
void kgb_policy_gpu(struct kgb_policy *policy);

#endif
