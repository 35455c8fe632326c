/* SPDX-License-Identifier: MIT */
/** \file
 * The SM clock of a GPU, by NVML. Without NVML the clock is unknown, which is no error.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_CLOCK_H
#define KGB_VERIFY_EXEC_CUDA_CLOCK_H

#include <stdint.h>

struct kgb_clock {
	/* Functions of libnvidia-ml.so.1; NULL: not there. */
	int (*get_clock)(void *device, int type, unsigned int *out_mhz);
	void *device;
	uint32_t max_mhz; /* that it can run at; 0 unknown */
	char driver[32]; /* version of the driver; "" unknown */
	uint32_t mhz; /* as last read */
	int64_t looked_ns; /* when it was read; kgb_mono_ns */
	int64_t cost_ns; /* of one reading */
};

/** Find the device by its PCI bus id ("0000:0f:00.0"). */
void kgb_clock_open(struct kgb_clock *clock, const char *pci_bus_id);
/** MHz, 0 unknown. Reads the clock at most so often that reading takes a twentieth of the time. */
uint32_t kgb_clock_mhz(struct kgb_clock *clock);

#endif
