/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/gpu.h"

#include <stdarg.h>
#include <sys/random.h>

#include "verify/exec/cuda/kernels.h"
#include "verify/protocol/record.h"

/* The driver rounds requested addresses up to this. */
#define RESERVE_GRANULE (UINT64_C(32) << 20)
/* Our own buffers go somewhere into these 32 TiB: above arena and pool, below the host's mappings.
 */
#define PRIVATE_ADDRESS UINT64_C(0x400000000000)
#define PRIVATE_BYTES (UINT64_C(32) << 40)

/* The status for a result that has one meaning for all calls; `otherwise` for the rest. */
static const struct {
	CUresult result;
	enum kgb_exec_status status;
} meanings[] = {
	{CUDA_ERROR_OUT_OF_MEMORY, KGB_EXEC_NO_MEMORY},
	/* Kernels cannot cause these. */
	{CUDA_ERROR_NO_DEVICE, KGB_EXEC_UNAVAILABLE},
	{CUDA_ERROR_DEVICE_UNAVAILABLE, KGB_EXEC_UNAVAILABLE},
	{CUDA_ERROR_SYSTEM_NOT_READY, KGB_EXEC_UNAVAILABLE},
	{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, KGB_EXEC_UNAVAILABLE},
	{CUDA_ERROR_ECC_UNCORRECTABLE, KGB_EXEC_UNAVAILABLE},
	{CUDA_ERROR_NVLINK_UNCORRECTABLE, KGB_EXEC_UNAVAILABLE},
	{CUDA_ERROR_CONTAINED, KGB_EXEC_UNAVAILABLE},
	/* The context is lost: every later call fails. */
	{CUDA_ERROR_ILLEGAL_ADDRESS, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_LAUNCH_TIMEOUT, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_ASSERT, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_HARDWARE_STACK_ERROR, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_ILLEGAL_INSTRUCTION, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_MISALIGNED_ADDRESS, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_INVALID_ADDRESS_SPACE, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_INVALID_PC, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_LAUNCH_FAILED, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_CONTEXT_IS_DESTROYED, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_EXTERNAL_DEVICE, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_TENSOR_MEMORY_LEAK, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_DEINITIALIZED, KGB_EXEC_GPU_FAULT},
	{CUDA_ERROR_UNKNOWN, KGB_EXEC_GPU_FAULT},
};

static enum kgb_exec_status status_of(CUresult result, enum kgb_exec_status otherwise)
{
	for (size_t i = 0; i < KGB_ARRAY_LEN(meanings); i++) {
		if (meanings[i].result != result)
			continue;
		/* Before there is a context, such a result means that the driver is missing. */
		return meanings[i].status == KGB_EXEC_GPU_FAULT && otherwise == KGB_EXEC_UNAVAILABLE
			       ? otherwise
			       : meanings[i].status;
	}
	return otherwise;
}

int kgb_gpu_check(struct kgb_gpu *gpu, CUresult result, enum kgb_exec_status otherwise,
		  struct kgb_err *err, const char *what, ...)
{
	va_list ap;

	if (result == CUDA_SUCCESS)
		return 0;
	gpu->result = result;
	va_start(ap, what);
	KGB_AUTO(free) char *text = kgb_xvasprintf(what, ap);
	va_end(ap);
	return kgb_exec_fail(err, status_of(result, otherwise), "%s: %s", text,
			     kgb_cuda_error_name(gpu->cu, result));
}

static int read_attributes(struct kgb_gpu *gpu, struct kgb_err *err)
{
	int l2_bytes = 0;
	int persisting_bytes = 0;
	const struct {
		CUdevice_attribute attribute;
		int *out;
	} wanted[] = {
		{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &gpu->n_sms},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &gpu->shared_bytes_max},
		{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2_bytes},
		{CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, &persisting_bytes},
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(wanted); i++) {
		CUresult result = gpu->cu->cuDeviceGetAttribute(wanted[i].out, wanted[i].attribute,
								gpu->device);
		if (kgb_gpu_check(gpu, result, KGB_EXEC_UNAVAILABLE, err, "device attribute %d",
				  (int)wanted[i].attribute))
			return -1;
	}
	gpu->l2_bytes = (uint64_t)l2_bytes;
	gpu->keeps_lines = persisting_bytes > 0;
	return 0;
}

static int open_device(struct kgb_gpu *gpu, uint32_t device, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	const enum kgb_exec_status otherwise = KGB_EXEC_UNAVAILABLE;
	int n_devices = 0;

	if (kgb_gpu_check(gpu, cu->cuInit(0), otherwise, err, "start CUDA") ||
	    kgb_gpu_check(gpu, cu->cuDeviceGetCount(&n_devices), otherwise, err, "count GPUs"))
		return -1;
	if (device >= (uint32_t)n_devices)
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "no GPU %u: CUDA sees %d", device,
				     n_devices);
	if (kgb_gpu_check(gpu, cu->cuDeviceGet(&gpu->device, (int)device), otherwise, err, "GPU %u",
			  device) ||
	    kgb_gpu_check(gpu, cu->cuDeviceGetName(gpu->name, sizeof(gpu->name), gpu->device),
			  otherwise, err, "name of GPU %u", device))
		return -1;
	return read_attributes(gpu, err);
}

static int open_context(struct kgb_gpu *gpu, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	const enum kgb_exec_status otherwise = KGB_EXEC_UNAVAILABLE;

	/* Spin while waiting: a sleeping thread would notice the end of a run some 10 us late. */
	if (kgb_gpu_check(gpu, cu->cuDevicePrimaryCtxSetFlags(gpu->device, CU_CTX_SCHED_SPIN),
			  otherwise, err, "flags of the context") ||
	    kgb_gpu_check(gpu, cu->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device), otherwise,
			  err, "make a context") ||
	    kgb_gpu_check(gpu, cu->cuCtxSetCurrent(gpu->context), otherwise, err,
			  "set the context"))
		return -1;
	return kgb_gpu_check(gpu, cu->cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING),
			     otherwise, err, "make a stream");
}

int kgb_gpu_compile(struct kgb_gpu *gpu, const char *ptx, const struct kgb_gpu_symbol *symbols,
		    size_t n, CUmodule *module, struct kgb_err *err)
{
	if (kgb_gpu_check(gpu, gpu->cu->cuModuleLoadData(module, ptx), KGB_EXEC_UNAVAILABLE, err,
			  "compile our own kernels (is libnvidia-ptxjitcompiler.so.1 there?)"))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (kgb_gpu_check(
			    gpu,
			    gpu->cu->cuModuleGetFunction(symbols[i].out, *module, symbols[i].name),
			    KGB_EXEC_UNAVAILABLE, err, "our kernel %s", symbols[i].name))
			return -1;
	}
	return 0;
}

int kgb_gpu_launch(struct kgb_gpu *gpu, CUfunction function, unsigned int grid_x,
		   unsigned int grid_y, unsigned int shared_bytes, void **params,
		   struct kgb_err *err)
{
	const CUlaunchConfig config = {
		.gridDimX = grid_x,
		.gridDimY = grid_y,
		.gridDimZ = 1,
		.blockDimX = KGB_KERNEL_THREADS,
		.blockDimY = 1,
		.blockDimZ = 1,
		.sharedMemBytes = shared_bytes,
		.hStream = gpu->stream,
	};

	return kgb_gpu_check(gpu, gpu->cu->cuLaunchKernelEx(&config, function, params, NULL),
			     KGB_EXEC_UNAVAILABLE, err, "launch our own kernel");
}

int kgb_gpu_open(struct kgb_gpu *gpu, uint32_t device, struct kgb_err *err)
{
	const struct kgb_gpu_symbol symbols[] = {
		{"kgb_fill", &gpu->fill}, {"kgb_check", &gpu->check}, {"kgb_scrub", &gpu->scrub}};
	CUmodule module;

	if (kgb_cuda_load(&gpu->cu, err) < 0)
		return kgb_exec_refuse(err, KGB_EXEC_UNAVAILABLE);
	if (open_device(gpu, device, err) || open_context(gpu, err) ||
	    kgb_gpu_compile(gpu, kgb_kernels_ptx, symbols, KGB_ARRAY_LEN(symbols), &module, err))
		return -1;
	return kgb_gpu_check(gpu,
			     gpu->cu->cuFuncSetAttribute(
				     gpu->scrub, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				     gpu->shared_bytes_max),
			     KGB_EXEC_UNAVAILABLE, err, "%d bytes of shared memory",
			     gpu->shared_bytes_max);
}

int kgb_gpu_memory_new(struct kgb_gpu *gpu, uint64_t bytes, CUmemGenericAllocationHandle *out,
		       struct kgb_err *err)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
	};
	CUmemGenericAllocationHandle handle;

	if (kgb_gpu_check(gpu, gpu->cu->cuMemCreate(&handle, bytes, &prop, 0), KGB_EXEC_NO_MEMORY,
			  err, "%llu bytes of GPU memory", (unsigned long long)bytes))
		return -1;
	*out = handle;
	return 0;
}

int kgb_gpu_map(struct kgb_gpu *gpu, const struct kgb_mapping *mapping, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	const unsigned long long bytes = mapping->bytes;

	if (kgb_gpu_check(gpu, cu->cuMemMap(mapping->address, bytes, 0, mapping->handle, 0),
			  KGB_EXEC_BAD_PLAN, err, "map %llu bytes at 0x%llx", bytes,
			  mapping->address))
		return -1;
	if (kgb_gpu_check(gpu, cu->cuMemSetAccess(mapping->address, bytes, &access, 1),
			  KGB_EXEC_NO_MEMORY, err, "access to %llu bytes at 0x%llx", bytes,
			  mapping->address)) {
		(void)cu->cuMemUnmap(mapping->address, bytes);
		return -1;
	}
	return 0;
}

int kgb_gpu_map_new(struct kgb_gpu *gpu, struct kgb_mapping *mapping, struct kgb_err *err)
{
	if (!mapping->handle && kgb_gpu_memory_new(gpu, mapping->bytes, &mapping->handle, err))
		return -1;
	if (kgb_gpu_map(gpu, mapping, err) == 0)
		return 0;
	(void)gpu->cu->cuMemRelease(mapping->handle);
	return -1;
}

int kgb_gpu_free_bytes(struct kgb_gpu *gpu, uint64_t *out, struct kgb_err *err)
{
	size_t free_bytes = 0;
	size_t total_bytes = 0;

	if (kgb_gpu_check(gpu, gpu->cu->cuMemGetInfo(&free_bytes, &total_bytes), KGB_EXEC_NO_MEMORY,
			  err, "free GPU memory"))
		return -1;
	*out = free_bytes;
	return 0;
}

int kgb_gpu_reserve(struct kgb_gpu *gpu, uint64_t address, uint64_t bytes, struct kgb_err *err)
{
	CUdeviceptr got = 0;
	CUresult result = gpu->cu->cuMemAddressReserve(&got, bytes, 0, address, 0);

	if (result == CUDA_SUCCESS && got == address)
		return 0;
	if (result == CUDA_SUCCESS) {
		(void)gpu->cu->cuMemAddressFree(got, bytes);
		return kgb_exec_fail(
			err, KGB_EXEC_RESERVATION,
			"reserve %llu bytes at 0x%llx: taken, the driver offers 0x%llx",
			(unsigned long long)bytes, (unsigned long long)address, got);
	}
	gpu->result = result;
	return kgb_exec_fail(err, KGB_EXEC_RESERVATION, "reserve %llu bytes at 0x%llx: %s",
			     (unsigned long long)bytes, (unsigned long long)address,
			     kgb_cuda_error_name(gpu->cu, result));
}

void kgb_gpu_buffer_release(struct kgb_gpu *gpu, struct kgb_mapping *buffer)
{
	if (buffer->bytes > 0) {
		(void)gpu->cu->cuMemUnmap(buffer->address, buffer->bytes);
		(void)gpu->cu->cuMemRelease(buffer->handle);
		(void)gpu->cu->cuMemAddressFree(buffer->address, buffer->bytes);
	}
	*buffer = (struct kgb_mapping){0};
}

int kgb_gpu_buffer_reserve(struct kgb_gpu *gpu, struct kgb_mapping *buffer, uint64_t bytes,
			   struct kgb_err *err)
{
	struct kgb_mapping made = {0};
	uint64_t random = 0;

	if (bytes <= buffer->bytes)
		return 0;
	kgb_gpu_buffer_release(gpu, buffer);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "no random numbers");
	made.bytes = (bytes + KGB_GPU_PAGE - 1) & ~(KGB_GPU_PAGE - 1);
	random = PRIVATE_ADDRESS + random % (PRIVATE_BYTES / RESERVE_GRANULE) * RESERVE_GRANULE;
	/* If this place is taken, take any other. */
	if (kgb_gpu_check(gpu,
			  gpu->cu->cuMemAddressReserve(&made.address, made.bytes, 0, random, 0),
			  KGB_EXEC_NO_MEMORY, err, "addresses for %llu bytes",
			  (unsigned long long)made.bytes))
		return -1;
	if (kgb_gpu_map_new(gpu, &made, err)) {
		(void)gpu->cu->cuMemAddressFree(made.address, made.bytes);
		return -1;
	}
	*buffer = made;
	return 0;
}
