/* SPDX-License-Identifier: MIT */
/** \file
 * Facts of a GPU from the driver's management library: the processes that use it, and errors of its
 * hardware. Opened at run time; facts that a machine lacks (virtual GPUs, containers, old drivers)
 * are unknown, which is no error. One thread. */
#ifndef KGB_VERIFY_GPU_NVML_H
#define KGB_VERIFY_GPU_NVML_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define KGB_NVML_PROCESSES_MAX 64
#define KGB_NVML_XIDS_MAX 16

struct kgb_nvml;

struct kgb_nvml_process {
	pid_t pid; /* in the namespace of this process */
	int64_t bytes; /* of GPU memory; -1 unknown */
};

/** Numbers are -1 when unknown. */
struct kgb_nvml_state {
	struct kgb_nvml_process processes[KGB_NVML_PROCESSES_MAX]; /* that compute */
	int n_processes;
	int64_t free_bytes, total_bytes; /* of memory */
	int64_t uncorrected; /* memory errors since the driver was loaded */
	int retirement_pending, remap_pending, remap_failed; /* 0, 1 */
	int recovery_action; /* the action that the driver recommends, by NVML's numbers; 0: none */
};

/** Start the library and collect critical errors (Xid) of all GPUs from now on, if the machine
 * permits it. UNAVAILABLE. */
KGB_MUST_CHECK int kgb_nvml_open(struct kgb_nvml **out, struct kgb_err *err);
void kgb_nvml_close(struct kgb_nvml *nvml);

/** Choose the GPU for the following calls by its PCI bus id ("0000:0f:00.0"); "" is enough on a
 * machine with one GPU. NOT_FOUND. */
KGB_MUST_CHECK int kgb_nvml_choose(struct kgb_nvml *nvml, const char *pci, struct kgb_err *err);
/** The same by its number in the order of the PCI bus. NOT_FOUND. */
KGB_MUST_CHECK int kgb_nvml_choose_number(struct kgb_nvml *nvml, int number, struct kgb_err *err);
void kgb_nvml_look(struct kgb_nvml *nvml, struct kgb_nvml_state *out);
/** Reads the Xids of this GPU since the last call, at most n. Returns their number. */
size_t kgb_nvml_xids(struct kgb_nvml *nvml, uint64_t *xids, size_t n);

#endif
