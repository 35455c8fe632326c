/* SPDX-License-Identifier: MIT */
/* A stand-in for libnvidia-ml.so.1 with one GPU. What it tells is what FAKE_NVML says when it is
 * asked: words as "xid=79 recovery=1 processes=2 free=1024 total=4096 uncorrected=1 remap_pending=1
 * remap_failed=1 retired=1", "none" for a library that does not start, "bare" for one that tells
 * nothing of the hardware. */
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, TIMEOUT = 10 };

/* Names are NVIDIA's. */
/* NOLINTBEGIN(readability-identifier-naming) */
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *out, unsigned int len);
int nvmlDeviceGetCount_v2(unsigned int *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **out);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out);
int nvmlDeviceGetClockInfo(void *which, int type, unsigned int *mhz);
int nvmlDeviceGetMaxClockInfo(void *which, int type, unsigned int *mhz);
int nvmlDeviceGetComputeRunningProcesses_v3(void *which, unsigned int *n, void *out);
int nvmlDeviceGetMemoryInfo(void *which, void *out);
int nvmlDeviceGetTotalEccErrors(void *which, int type, int counter, unsigned long long *out);
int nvmlDeviceGetRetiredPagesPendingStatus(void *which, int *pending);
int nvmlDeviceGetRemappedRows(void *which, unsigned int *correctable, unsigned int *uncorrectable,
			      unsigned int *pending, unsigned int *failed);
int nvmlDeviceGetFieldValues(void *which, int n, void *fields);
int nvmlEventSetCreate(void **out);
int nvmlDeviceRegisterEvents(void *which, unsigned long long types, void *events);
int nvmlEventSetWait_v2(void *events, void *out, unsigned int timeout_ms);
int nvmlEventSetFree(void *events);

static int started;
static int device, set;
static int registered;
static unsigned long long told_xid;

static const char *word(const char *name)
{
	const char *text = getenv("FAKE_NVML");
	const size_t len = strlen(name);

	for (; text && *text; text += strcspn(text, " "), text += strspn(text, " "))
		if (strncmp(text, name, len) == 0)
			return text + len;
	return NULL;
}

static unsigned long long number(const char *name, unsigned long long otherwise)
{
	const char *text = word(name);
	unsigned long long value = 0;

	for (; text && *text >= '0' && *text <= '9'; text++)
		value = 10 * value + (unsigned long long)(*text - '0');
	return word(name) ? value : otherwise;
}

static int asked(const void *which)
{
	if (!started)
		return UNINITIALIZED;
	return which == &device ? SUCCESS : INVALID_ARGUMENT;
}

static int asked_for_hardware(const void *which)
{
	return word("bare") ? NOT_SUPPORTED : asked(which);
}

int nvmlInit_v2(void)
{
	if (word("none"))
		return NOT_FOUND;
	started++;
	return SUCCESS;
}

int nvmlShutdown(void)
{
	if (!started)
		return UNINITIALIZED;
	started--;
	return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *out, unsigned int len)
{
	static const char version[] = "999.1";

	if (!started || len < sizeof(version))
		return INVALID_ARGUMENT;
	memcpy(out, version, sizeof(version));
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *n)
{
	*n = 1;
	return started ? SUCCESS : UNINITIALIZED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **out)
{
	*out = &device;
	return i == 0 ? asked(&device) : NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out)
{
	*out = &device;
	return strcmp(pci, "0000:0f:00.0") == 0 ? asked(&device) : NOT_FOUND;
}

int nvmlDeviceGetClockInfo(void *which, int type, unsigned int *mhz)
{
	*mhz = 1000;
	return type == 1 ? asked(which) : INVALID_ARGUMENT;
}

int nvmlDeviceGetMaxClockInfo(void *which, int type, unsigned int *mhz)
{
	*mhz = 1500;
	return type == 1 ? asked(which) : INVALID_ARGUMENT;
}

/* They are process 1 and those of numbers that none can have. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *which, unsigned int *n, void *out)
{
	struct {
		unsigned int pid;
		unsigned long long bytes;
		unsigned int gpu_instance, compute_instance;
	} *processes = out;
	const unsigned long long wanted = number("processes=", 0);

	if (wanted > *n)
		return 7; /* INSUFFICIENT_SIZE */
	*n = (unsigned int)wanted;
	for (unsigned int i = 0; i < wanted; i++) {
		processes[i].pid = i == 0 ? 1 : 2000000000 + i;
		processes[i].bytes = i == 0 ? 5ull << 20 : ~0ull;
	}
	return asked_for_hardware(which);
}

int nvmlDeviceGetMemoryInfo(void *which, void *out)
{
	unsigned long long *memory = out;

	memory[0] = number("total=", 8ull << 30);
	memory[1] = number("free=", 8ull << 30);
	memory[2] = memory[0] - memory[1];
	return asked(which);
}

int nvmlDeviceGetTotalEccErrors(void *which, int type, int counter, unsigned long long *out)
{
	*out = number("uncorrected=", 0);
	return type == 1 && counter == 0 ? asked_for_hardware(which) : INVALID_ARGUMENT;
}

int nvmlDeviceGetRetiredPagesPendingStatus(void *which, int *pending)
{
	*pending = (int)number("retired=", 0);
	return asked_for_hardware(which);
}

int nvmlDeviceGetRemappedRows(void *which, unsigned int *correctable, unsigned int *uncorrectable,
			      unsigned int *pending, unsigned int *failed)
{
	*correctable = *uncorrectable = 0;
	*pending = (unsigned int)number("remap_pending=", 0);
	*failed = (unsigned int)number("remap_failed=", 0);
	return asked_for_hardware(which);
}

int nvmlDeviceGetFieldValues(void *which, int n, void *fields)
{
	struct {
		unsigned int id, scope;
		long long timestamp, latency_us;
		int type, result;
		unsigned int value[2];
	} *field = fields;

	if (n != 1)
		return INVALID_ARGUMENT;
	field->result = field->id == 230 ? SUCCESS : NOT_SUPPORTED;
	field->type = 1;
	field->value[0] = (unsigned int)number("recovery=", 0);
	return asked_for_hardware(which);
}

int nvmlEventSetCreate(void **out)
{
	*out = &set;
	return started && !word("bare") ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceRegisterEvents(void *which, unsigned long long types, void *events)
{
	if (types != 8 || events != &set)
		return INVALID_ARGUMENT;
	registered = 1;
	told_xid = 0;
	return asked(which);
}

/* Each error is told once. */
int nvmlEventSetWait_v2(void *events, void *out, unsigned int timeout_ms)
{
	struct {
		void *device;
		unsigned long long type, data;
		unsigned int gpu_instance, compute_instance;
	} *event = out;
	const unsigned long long xid = number("xid=", 0);

	if (events != &set || !registered || timeout_ms != 0)
		return INVALID_ARGUMENT;
	if (xid == 0 || xid == told_xid)
		return TIMEOUT;
	told_xid = xid;
	event->device = &device;
	event->type = 8;
	event->data = xid;
	return SUCCESS;
}

int nvmlEventSetFree(void *events)
{
	registered = 0;
	return events == &set ? SUCCESS : INVALID_ARGUMENT;
}

/* NOLINTEND(readability-identifier-naming) */
