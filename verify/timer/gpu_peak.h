/* SPDX-License-Identifier: MIT */
/** \file
 * A GPU's peak rates: the basis of the timer's physical floor (docs/timing.md, "Floor"). Memory
 * bandwidth and the time of an empty kernel are measured by a kgb-exec without hostile code;
 * arithmetic rates come from a table. Every figure errs in the candidate's favour: no honest kernel
 * is faster. */
#ifndef KGB_VERIFY_TIMER_GPU_PEAK_H
#define KGB_VERIFY_TIMER_GPU_PEAK_H

#include <stdint.h>

#include "base/formats/jsonw.h"
#include "base/system/disk_cache.h"
#include "verify/process/exec_client.h"
#include "verify/tensor/dtype.h"

#define KGB_MACHINE_ENTRY_MAX ((size_t)1 << 10)
#define KGB_MACHINE_TOTAL_MAX (UINT64_C(4) << 20)

struct kgb_gpu_peak {
	char name[128]; /* "NVIDIA H200" */
	char uuid[48]; /* "GPU-01234567-..." */
	char driver[32]; /* "580.159.03"; "" unknown */
	uint32_t cc_major, cc_minor; /* compute capability */
	uint32_t n_sms;
	uint32_t sm_mhz; /* the highest clock of the SMs */
	uint64_t l2_bytes;
	uint64_t launch_floor_ns; /* every kernel takes at least this long */
	double bytes_per_s; /* no kernel reads memory faster */
	bool cached; /* the two figures above come from an earlier measurement */
};

/** Finds the peak rates of the device of `spec`. If `cache_dir` (NULL: none) has a measurement of
 * this GPU under this driver that is younger than a day, that is the result. Else a new kgb-exec
 * measures the rates, which takes some 200 ms, and the cache keeps the figures; no other process
 * should use the GPU meanwhile. `identity` (NULL: unknown) comes from a kgb-exec before its first
 * plan: with it, no process has to be started to identify the GPU in the cache. */
KGB_MUST_CHECK int kgb_gpu_peak_find(struct kgb_gpu_peak *out, const struct kgb_exec_spec *spec,
				     const struct kgb_exec_machine *identity, const char *cache_dir,
				     int64_t timeout_ms, struct kgb_err *err);

/** Operations per second that no kernel on such data exceeds; 0: unknown. A multiplication and an
 * addition are two. */
double kgb_gpu_peak_flops_per_s(const struct kgb_gpu_peak *machine, enum kgb_dtype dtype);

/** An object of all figures. */
void kgb_gpu_peak_write(const struct kgb_gpu_peak *machine, struct kgb_jsonw *w);

/** Checks the figures that kgb-exec measured and rounds them in the candidate's favour. INVALID
 * names a figure that no GPU has. FAILED: memory does not hold what is written to it. */
KGB_MUST_CHECK int kgb_gpu_peak_take(const struct kgb_exec_machine *measured,
				     struct kgb_gpu_peak *out, struct kgb_err *err);

/** Fill in bytes_per_s and launch_floor_ns from the store's entry for this GPU (uuid) and driver.
 * False: there is none. *out_age_ms, the age of the entry, may be negative: clocks are set back. */
bool kgb_gpu_peak_recall(struct kgb_exec_machine *machine, const struct kgb_disk_cache *store,
			 int64_t *out_age_ms);
/** Store bytes_per_s and launch_floor_ns for this GPU and driver. */
void kgb_gpu_peak_keep(const struct kgb_exec_machine *machine, const struct kgb_disk_cache *store);

#endif
