/* SPDX-License-Identifier: MIT */
/** \file
 * The identity of the open device and its peak rates. */
#ifndef KGB_VERIFY_EXEC_CUDA_MEASURE_H
#define KGB_VERIFY_EXEC_CUDA_MEASURE_H

#include "verify/exec/cuda/run.h"

/** The facts of the driver and of NVML, without any work of the device; 0: unknown. */
void kgb_measure_identity(struct kgb_run *run, struct kgb_exec_machine *out);

/** Test memory, then measure: fills the rest of *out. Wrong words are no error of this function.
 * Takes some 60 ms and 64 MiB of memory, more where the L2 cache is large. */
KGB_MUST_CHECK int kgb_measure(struct kgb_run *run, struct kgb_exec_machine *out,
			       struct kgb_err *err);

#endif
