/* SPDX-License-Identifier: MIT */
/** \file
 * A test of the GPU at the end of a verdict, before the next candidate gets the device: a broken
 * device must not reject a kernel.
 */
#ifndef KGB_VERIFY_STAGES_GPU_HEALTH_H
#define KGB_VERIFY_STAGES_GPU_HEALTH_H

#include "verify/gpu/nvml.h"
#include "verify/lane/lane.h"

/** Watch for hardware errors from now on (lane->nvml). Does nothing without a GPU or the library.
 */
void kgb_gpu_health_watch(struct kgb_lane *lane);

/** Wait while other verifications leave less than a quarter of the GPU's memory free. Call it after
 * kgb_gpu_health_watch. Without a GPU, or if the amount is unknown, nothing is waited for. */
KGB_MUST_CHECK int kgb_gpu_health_await_room(struct kgb_lane *lane, struct kgb_err *err);

/** Check the GPU after all stages; ends every process of the verdict. If something crashed, hung,
 * ran out of memory or failed in the judge, new processes test the device. If the device is broken,
 * or other processes hold its memory, the verdict becomes an infra_error (infra.gpu_health,
 * infra.gpu_memory) in place of a decision against the candidate; it never becomes better. The
 * findings are in verdict->health. */
void kgb_gpu_health_check(struct kgb_lane *lane);

/** Whether a verdict with this code requires a test of the device. */
bool kgb_gpu_health_is_due(enum kgb_code code);

/** The fault of the hardware, as a sentence in `out`; false: no known fault. */
bool kgb_gpu_health_bad(const struct kgb_nvml_state *state, const uint64_t *xids, size_t n_xids,
			char *out, size_t cap);

/** Whether memory that other processes hold could also cause a failure of this code. `free_bytes`
 * of `total_bytes` were free when the candidate had ended; a total of 0 means unknown. */
bool kgb_gpu_health_starved(enum kgb_code code, uint64_t free_bytes, uint64_t total_bytes);

#endif
