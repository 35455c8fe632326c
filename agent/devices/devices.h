/* SPDX-License-Identifier: MIT */
/** \file
 * The devices that judge kernels: this machine's CPU or its GPUs (the setting run.device). */
#ifndef KGB_AGENT_DEVICES_DEVICES_H
#define KGB_AGENT_DEVICES_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "verify/gpu/gpu_devices.h"
#include "verify/protocol/exec_protocol.h"

struct kgb_device {
	char name[16]; /* for kgb-judge: "cpu", "cuda:0" */
	int number; /* N of "cuda:N"; -1: the CPU */
	int own; /* the GPU's number on this machine, independent of CUDA_VISIBLE_DEVICES */
};

struct kgb_devices {
	struct kgb_device items[KGB_GPUS_MAX];
	size_t n; /* at least 1 */
	char target[160]; /* the first GPU that was tried: "NVIDIA H200, sm_90"; else "" */
};

/** Resolve `text` on this machine: "cpu"; "auto": GPUs if there are any that this build can use,
 * else the CPU; "cuda": the first GPUs, as many as there are and at most `wanted`; "cuda:0,2":
 * these. Opens no device. INVALID, UNAVAILABLE with the remedy. */
KGB_MUST_CHECK int kgb_devices_find(struct kgb_devices *out, const char *text, int64_t wanted,
				    const char *bin_dir, struct kgb_err *err);
/** The device of number `slot` of those that work at the same time. */
const struct kgb_device *kgb_devices_at(const struct kgb_devices *devices, int slot);
/** "cpu", "cuda" */
const char *kgb_devices_platform(const struct kgb_devices *devices);

/** Open a GPU as a verdict would, and close it again (some 0.2 s), and describe it. */
KGB_MUST_CHECK int kgb_device_try(const struct kgb_device *device, struct kgb_exec_machine *out,
				  struct kgb_err *err);
/** All GPUs of the list; the first one becomes its target. */
KGB_MUST_CHECK int kgb_devices_try(struct kgb_devices *devices, struct kgb_err *err);

#endif
