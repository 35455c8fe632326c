/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/clock.h"

#include <dlfcn.h>

#include "base/time.h"
#include "verify/cuda/driver.h"

enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, SHARE_OF_TIME = 20 };

static void read_facts(struct kgb_clock *clock, void *library)
{
	int (*get_max)(void *, int, unsigned int *);
	int (*get_version)(char *, unsigned int);
	struct kgb_err ignored = KGB_ERR_INIT;
	unsigned int mhz;

	if (kgb_dl_symbol(library, "nvmlDeviceGetMaxClockInfo", &get_max, &ignored) == 0 &&
	    get_max(clock->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS)
		clock->max_mhz = mhz;
	if (kgb_dl_symbol(library, "nvmlSystemGetDriverVersion", &get_version, &ignored) == 0 &&
	    get_version(clock->driver, sizeof(clock->driver)) != NVML_SUCCESS)
		clock->driver[0] = '\0';
}

void kgb_clock_open(struct kgb_clock *clock, const char *pci_bus_id)
{
	int (*init)(void);
	int (*find)(const char *, void **);
	struct kgb_err ignored = KGB_ERR_INIT;
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	*clock = (struct kgb_clock){0};
	if (!library || kgb_dl_symbol(library, "nvmlInit_v2", &init, &ignored) < 0 ||
	    kgb_dl_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2", &find, &ignored) < 0 ||
	    kgb_dl_symbol(library, "nvmlDeviceGetClockInfo", &clock->get_clock, &ignored) < 0 ||
	    init() != NVML_SUCCESS || find(pci_bus_id, &clock->device) != NVML_SUCCESS) {
		clock->get_clock = NULL;
		return;
	}
	read_facts(clock, library);
}

uint32_t kgb_clock_mhz(struct kgb_clock *clock)
{
	const int64_t now = kgb_mono_ns();
	unsigned int mhz = 0;

	if (!clock->get_clock)
		return 0;
	if (clock->looked_ns && now - clock->looked_ns < SHARE_OF_TIME * clock->cost_ns)
		return clock->mhz;
	if (clock->get_clock(clock->device, NVML_CLOCK_SM, &mhz) != NVML_SUCCESS)
		mhz = 0;
	clock->mhz = mhz;
	clock->looked_ns = kgb_mono_ns();
	clock->cost_ns = clock->looked_ns - now;
	return mhz;
}
