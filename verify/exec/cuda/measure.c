/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/measure.h"

#include <sys/random.h>

#include "base/hash.h"
#include "base/time.h"
#include "verify/exec/cuda/kernels.h"

enum {
	L2_TIMES = 8, /* memory to read, in sizes of the L2 cache: only a small part stays in it */
	BLOCKS_PER_SM = 8,
	READS_MIN = 20,
	READ_MS = 40, /* at least: clocks need some ms to rise, and other processes use the GPU */
	LAUNCHES = 100,
	FOUND_AT = 64, /* in the buffer of small objects; the table of spans is at 0 */
	SINK_AT = 128,
};
#define LEAST_BYTES (UINT64_C(64) << 20)

struct measurement {
	struct kgb_run *run;
	struct kgb_mapping memory, small;
	CUmodule module; /* NULL: not loaded */
	CUfunction read, nothing;
	uint64_t bytes; /* of memory that are used */
	unsigned int n_blocks;
};

/* ---- identity ---- */

static uint64_t attribute(const struct kgb_gpu *gpu, CUdevice_attribute which)
{
	int value = 0;

	if (gpu->cu->cuDeviceGetAttribute(&value, which, gpu->device) != CUDA_SUCCESS || value < 0)
		return 0;
	return (uint64_t)value;
}

/* "GPU-01234567-89ab-cdef-0123-456789abcdef" */
static void read_uuid(const struct kgb_gpu *gpu, char *out, size_t cap)
{
	CUuuid uuid;
	char hex[2 * sizeof(uuid.bytes) + 1];

	if (gpu->cu->cuDeviceGetUuid(&uuid, gpu->device) != CUDA_SUCCESS)
		return;
	kgb_hex(uuid.bytes, sizeof(uuid.bytes), hex);
	(void)snprintf(out, cap, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		       hex + 20);
}

void kgb_measure_identity(struct kgb_run *run, struct kgb_exec_machine *out)
{
	const struct kgb_gpu *gpu = run->gpu;
	struct kgb_exec_machine made = {.l2_bytes = gpu->l2_bytes, .n_sms = (uint32_t)gpu->n_sms};
	size_t free_bytes = 0;
	size_t total_bytes = 0;

	(void)snprintf(made.name, sizeof(made.name), "%.127s", gpu->name);
	(void)snprintf(made.driver, sizeof(made.driver), "%.31s", run->clock.driver);
	read_uuid(gpu, made.uuid, sizeof(made.uuid));
	if (gpu->cu->cuDeviceGetPCIBusId(made.pci, sizeof(made.pci), gpu->device) != CUDA_SUCCESS)
		made.pci[0] = '\0';
	made.cc_major = (uint32_t)attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	made.cc_minor = (uint32_t)attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	/* CUDA reports the nominal clock; the highest clock, from NVML, may be higher. */
	made.sm_mhz = (uint32_t)(attribute(gpu, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000);
	if (made.sm_mhz < run->clock.max_mhz)
		made.sm_mhz = run->clock.max_mhz;
	if (gpu->cu->cuMemGetInfo(&free_bytes, &total_bytes) == CUDA_SUCCESS) {
		made.free_bytes = free_bytes;
		made.memory_bytes = total_bytes;
	}
	/* The clock is in kHz, the width in bits; memory transfers on both edges of the clock. */
	made.peak_bytes_per_s = attribute(gpu, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1000 * 2 *
				attribute(gpu, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
	*out = made;
}

/* ---- kernels ---- */

static int load_kernels(struct measurement *m, struct kgb_err *err)
{
	const struct kgb_gpu_symbol symbols[] = {{"kgb_read", &m->read},
						 {"kgb_nothing", &m->nothing}};

	return kgb_gpu_compile(m->run->gpu, kgb_measure_ptx, symbols, KGB_ARRAY_LEN(symbols),
			       &m->module, err);
}

static int reserve(struct measurement *m, struct kgb_err *err)
{
	struct kgb_gpu *gpu = m->run->gpu;

	m->n_blocks = (unsigned int)gpu->n_sms * BLOCKS_PER_SM;
	const uint64_t step = (uint64_t)m->n_blocks * KGB_KERNEL_THREADS * 16 * KGB_READ_UNROLLED;
	m->bytes = L2_TIMES * gpu->l2_bytes > LEAST_BYTES ? L2_TIMES * gpu->l2_bytes : LEAST_BYTES;
	m->bytes = (m->bytes + step - 1) / step * step;
	if (kgb_gpu_buffer_reserve(gpu, &m->memory, m->bytes, err))
		return -1;
	return kgb_gpu_buffer_reserve(gpu, &m->small, KGB_GPU_PAGE, err);
}

/* Write all of the memory, then check the words. */
static int test_memory(struct measurement *m, struct kgb_exec_machine *out, struct kgb_err *err)
{
	struct kgb_gpu *gpu = m->run->gpu;
	const struct kgb_cuda *cu = gpu->cu;
	const struct kgb_span span = {.start = m->memory.address, .bytes = m->bytes};
	struct kgb_found found = {.lowest = UINT64_MAX};
	CUdeviceptr table = m->small.address;
	CUdeviceptr found_at = m->small.address + FOUND_AT;
	uint64_t seed = 0;
	void *params[] = {&table, &seed, &found_at};

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "no random numbers");
	if (kgb_gpu_check(gpu, cu->cuMemcpyHtoDAsync(table, &span, sizeof(span), gpu->stream),
			  KGB_EXEC_UNAVAILABLE, err, "copy to the GPU") ||
	    kgb_gpu_check(gpu, cu->cuMemcpyHtoDAsync(found_at, &found, sizeof(found), gpu->stream),
			  KGB_EXEC_UNAVAILABLE, err, "copy to the GPU") ||
	    kgb_gpu_launch(gpu, gpu->fill, m->n_blocks, 1, 0, params, err) ||
	    kgb_gpu_launch(gpu, gpu->check, m->n_blocks, 1, 0, params, err) ||
	    kgb_gpu_check(gpu, cu->cuStreamSynchronize(gpu->stream), KGB_EXEC_GPU_FAULT, err,
			  "test of memory") ||
	    kgb_gpu_check(gpu, cu->cuMemcpyDtoH(&found, found_at, sizeof(found)),
			  KGB_EXEC_GPU_FAULT, err, "result of the test of memory"))
		return -1;
	out->tested_bytes = m->bytes;
	out->n_wrong = found.n_words;
	return 0;
}

static int issue_read(struct kgb_run *run, void *payload, struct kgb_err *err)
{
	struct measurement *m = payload;
	CUdeviceptr table = m->small.address;
	CUdeviceptr sink = m->small.address + SINK_AT;
	void *params[] = {&table, &sink};

	return kgb_gpu_launch(run->gpu, m->read, m->n_blocks, 1, 0, params, err);
}

static int issue_nothing(struct kgb_run *run, void *payload, struct kgb_err *err)
{
	const struct measurement *m = payload;

	return kgb_gpu_launch(run->gpu, m->nothing, 1, 1, 0, NULL, err);
}

/* The shortest of at least n measurements that take at least least_ms in all, in ns. */
static int shortest(struct measurement *m, kgb_run_issue_fn issue, int n, int64_t least_ms,
		    uint64_t *out_ns, struct kgb_err *err)
{
	const int64_t end_ms = kgb_mono_ms() + least_ms;
	uint64_t best = UINT64_MAX;
	int64_t host_ns;

	for (int i = 0; i < n || kgb_mono_ms() < end_ms; i++) {
		uint64_t ns = 0;
		if (kgb_run_measure(m->run, issue, m, m->run->gpu->can_wait_value, &host_ns, err) ||
		    kgb_run_event_ns(m->run, &ns, err))
			return -1;
		/* The first launch loads code. */
		if (i > 0 && ns < best)
			best = ns;
	}
	*out_ns = best;
	return 0;
}

/* Measure reads first: they raise the clocks. */
static int measure(struct measurement *m, struct kgb_exec_machine *out, struct kgb_err *err)
{
	uint64_t read_ns = 0;

	if (test_memory(m, out, err) ||
	    shortest(m, issue_read, READS_MIN, READ_MS, &read_ns, err) ||
	    shortest(m, issue_nothing, LAUNCHES, 0, &out->launch_floor_ns, err))
		return -1;
	/* Subtract the time of the launch itself. */
	if (read_ns > out->launch_floor_ns)
		out->bytes_per_s = (uint64_t)((double)m->bytes /
					      (double)(read_ns - out->launch_floor_ns) * 1e9);
	return 0;
}

int kgb_measure(struct kgb_run *run, struct kgb_exec_machine *out, struct kgb_err *err)
{
	struct measurement m = {.run = run};
	const bool failed = load_kernels(&m, err) || reserve(&m, err) || measure(&m, out, err);

	if (m.module)
		(void)run->gpu->cu->cuModuleUnload(m.module);
	kgb_gpu_buffer_release(run->gpu, &m.memory);
	kgb_gpu_buffer_release(run->gpu, &m.small);
	return failed ? -1 : 0;
}
