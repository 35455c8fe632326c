/* SPDX-License-Identifier: MIT */
#include "verify/gpu/nvml.h"

#include <dlfcn.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "base/mem.h"

/* Declarations of NVML's header, which CUDA's packages lack; fixed since driver 510. */
enum {
	SUCCESS = 0,
	UNCORRECTED = 1,
	VOLATILE = 0, /* since the driver was loaded */
	FIELD_RECOVERY_ACTION = 230, /* driver 570 */
	VALUE_UINT = 1,
};
#define EVENT_XID UINT64_C(8)
#define BYTES_UNKNOWN UINT64_MAX

struct nvml_process {
	unsigned int pid;
	unsigned long long bytes;
	unsigned int gpu_instance, compute_instance;
};
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_field {
	unsigned int id, scope;
	long long timestamp, latency_us;
	int type, result;
	union {
		unsigned int u32;
		unsigned long long u64;
	} value;
};
struct nvml_event {
	void *device;
	unsigned long long type, data;
	unsigned int gpu_instance, compute_instance;
};

/* clang-format off */
#define FUNCTIONS(X) \
	X(init, "nvmlInit_v2", (void)) \
	X(shut_down, "nvmlShutdown", (void)) \
	X(count, "nvmlDeviceGetCount_v2", (unsigned int *n)) \
	X(by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned int i, void **out)) \
	X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", (const char *pci, void **out)) \
	X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", \
	  (void *device, unsigned int *n, struct nvml_process *out)) \
	X(memory, "nvmlDeviceGetMemoryInfo", (void *device, struct nvml_memory *out)) \
	X(ecc, "nvmlDeviceGetTotalEccErrors", \
	  (void *device, int type, int counter, unsigned long long *out)) \
	X(retired, "nvmlDeviceGetRetiredPagesPendingStatus", (void *device, int *pending)) \
	X(remapped, "nvmlDeviceGetRemappedRows", \
	  (void *device, unsigned int *correctable, unsigned int *uncorrectable, \
	   unsigned int *pending, unsigned int *failed)) \
	X(fields, "nvmlDeviceGetFieldValues", (void *device, int n, struct nvml_field *fields)) \
	X(event_set, "nvmlEventSetCreate", (void **out)) \
	X(register_events, "nvmlDeviceRegisterEvents", \
	  (void *device, unsigned long long types, void *set)) \
	X(wait_event, "nvmlEventSetWait_v2", \
	  (void *set, struct nvml_event *out, unsigned int timeout_ms)) \
	X(free_event_set, "nvmlEventSetFree", (void *set))
/* clang-format on */

struct kgb_nvml {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration. NULL: not there */
#define MEMBER(name, symbol, args) int(*name) args;
	FUNCTIONS(MEMBER)
#undef MEMBER
	void *device; /* the chosen GPU */
	void *events; /* NVML's set of events; NULL: none */
};

static void load(struct kgb_nvml *nvml, void *library)
{
	void *symbol;

	/* Copy the bytes: ISO C has no conversion of an object pointer to a function pointer. */
#define LOAD(name, text, args)         \
	symbol = dlsym(library, text); \
	memcpy(&nvml->name, &symbol, sizeof(symbol));
	FUNCTIONS(LOAD)
#undef LOAD
}

static unsigned int n_devices(const struct kgb_nvml *nvml)
{
	unsigned int n = 0;

	return nvml->count && nvml->by_index && nvml->count(&n) == SUCCESS ? n : 0;
}

/* From here on the driver queues critical errors; kgb_nvml_xids reads them. */
static void watch(struct kgb_nvml *nvml)
{
	const unsigned int n = n_devices(nvml);
	bool any = false;

	if (!nvml->event_set || !nvml->register_events || !nvml->wait_event ||
	    !nvml->free_event_set || nvml->event_set(&nvml->events) != SUCCESS) {
		nvml->events = NULL;
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		void *device;
		if (nvml->by_index(i, &device) == SUCCESS)
			any |= nvml->register_events(device, EVENT_XID, nvml->events) == SUCCESS;
	}
	if (any)
		return;
	(void)nvml->free_event_set(nvml->events);
	nvml->events = NULL;
}

int kgb_nvml_open(struct kgb_nvml **out, struct kgb_err *err)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "no libnvidia-ml.so.1");
	struct kgb_nvml *nvml = kgb_xcalloc(1, sizeof(*nvml));
	load(nvml, library);
	int result = nvml->init && nvml->shut_down ? nvml->init() : -1;
	if (result != SUCCESS) {
		kgb_free(nvml);
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "libnvidia-ml.so.1 does not start: %d",
				result);
	}
	watch(nvml);
	/* Set close-on-exec on the library's files, which children must not inherit. */
	(void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	*out = nvml;
	return 0;
}

void kgb_nvml_close(struct kgb_nvml *nvml)
{
	if (!nvml)
		return;
	if (nvml->events)
		(void)nvml->free_event_set(nvml->events);
	(void)nvml->shut_down();
	kgb_free(nvml);
}

int kgb_nvml_choose(struct kgb_nvml *nvml, const char *pci, struct kgb_err *err)
{
	void *device = NULL;

	bool found = pci[0] ? nvml->by_pci && nvml->by_pci(pci, &device) == SUCCESS
			    : n_devices(nvml) == 1 && nvml->by_index(0, &device) == SUCCESS;
	if (!found)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "libnvidia-ml.so.1 has no GPU '%s'", pci);
	nvml->device = device;
	return 0;
}

int kgb_nvml_choose_number(struct kgb_nvml *nvml, int number, struct kgb_err *err)
{
	void *device = NULL;

	if (!nvml->by_index || nvml->by_index((unsigned int)number, &device) != SUCCESS)
		return kgb_fail(err, KGB_ERR_NOT_FOUND, "libnvidia-ml.so.1 has no GPU %d", number);
	nvml->device = device;
	return 0;
}

/* If there are more processes than fit, their number stays unknown. */
static void look_at_processes(const struct kgb_nvml *nvml, struct kgb_nvml_state *out)
{
	struct nvml_process processes[KGB_NVML_PROCESSES_MAX];
	unsigned int n = KGB_NVML_PROCESSES_MAX;

	if (!nvml->processes)
		return;
	if (nvml->processes(nvml->device, &n, processes) != SUCCESS || n > KGB_NVML_PROCESSES_MAX)
		return;
	out->n_processes = (int)n;
	for (unsigned int i = 0; i < n; i++) {
		const struct nvml_process *process = &processes[i];
		bool known = process->bytes != BYTES_UNKNOWN && process->bytes <= INT64_MAX;
		out->processes[i].pid = (pid_t)process->pid;
		out->processes[i].bytes = known ? (int64_t)process->bytes : -1;
	}
}

static int recovery_action(const struct kgb_nvml *nvml)
{
	struct nvml_field field = {.id = FIELD_RECOVERY_ACTION};

	if (!nvml->fields || nvml->fields(nvml->device, 1, &field) != SUCCESS ||
	    field.result != SUCCESS || field.type != VALUE_UINT || field.value.u32 > INT32_MAX)
		return -1;
	return (int)field.value.u32;
}

void kgb_nvml_look(struct kgb_nvml *nvml, struct kgb_nvml_state *out)
{
	struct nvml_memory memory;
	unsigned long long n_errors;
	unsigned int rows[4];
	int pending;

	*out = (struct kgb_nvml_state){
		.n_processes = -1,
		.free_bytes = -1,
		.total_bytes = -1,
		.uncorrected = -1,
		.retirement_pending = -1,
		.remap_pending = -1,
		.remap_failed = -1,
		.recovery_action = -1,
	};
	if (!nvml->device)
		return;
	look_at_processes(nvml, out);
	if (nvml->memory && nvml->memory(nvml->device, &memory) == SUCCESS) {
		out->free_bytes = (int64_t)memory.free;
		out->total_bytes = (int64_t)memory.total;
	}
	if (nvml->ecc && nvml->ecc(nvml->device, UNCORRECTED, VOLATILE, &n_errors) == SUCCESS)
		out->uncorrected = (int64_t)n_errors;
	if (nvml->retired && nvml->retired(nvml->device, &pending) == SUCCESS)
		out->retirement_pending = pending != 0;
	if (nvml->remapped &&
	    nvml->remapped(nvml->device, &rows[0], &rows[1], &rows[2], &rows[3]) == SUCCESS) {
		out->remap_pending = rows[2] != 0;
		out->remap_failed = rows[3] != 0;
	}
	out->recovery_action = recovery_action(nvml);
}

size_t kgb_nvml_xids(struct kgb_nvml *nvml, uint64_t *xids, size_t n)
{
	struct nvml_event event = {0};
	size_t n_found = 0;

	while (nvml->events && n_found < n && nvml->wait_event(nvml->events, &event, 0) == SUCCESS)
		if (event.type == EVENT_XID && event.device == nvml->device)
			xids[n_found++] = event.data;
	return n_found;
}
