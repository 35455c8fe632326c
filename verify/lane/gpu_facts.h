/* SPDX-License-Identifier: MIT */
/** \file
 * Facts of the GPU that a verification runs on.
 */
#ifndef KGB_VERIFY_LANE_GPU_FACTS_H
#define KGB_VERIFY_LANE_GPU_FACTS_H

#include "verify/provenance/image_index.h"

struct kgb_device_policy;

/** Facts of the GPU and of the code that may run on it; the same for all lanes. */
struct kgb_gpu_facts {
	char name[128]; /* torch's name of the GPU, and the driver's version of CUDA */
	unsigned sm; /* compute capability: 90 for 9.0 */
	struct kgb_device_policy *policy; /* owned */
	struct kgb_image_index index; /* of torch's libraries */
};

#endif
