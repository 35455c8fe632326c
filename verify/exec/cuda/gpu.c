/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/gpu.h"

#include <stdarg.h>
#include <sys/random.h>

#include "verify/exec/cuda/kernels.h"
#include "verify/protocol/record.h"

/* The driver rounds addresses that it is asked for up to this. */
#define RESERVE_GRANULE (UINT64_C(32) << 20)
/* Our own buffers go somewhere into these 32 TiB: above arena and pool, below the host's mappings.
 */
#define PRIVATE_ADDRESS UINT64_C(0x400000000000)
#define PRIVATE_BYTES (UINT64_C(32) << 40)

/* Errors after which every call fails: the context is lost. */
static bool is_fatal(CUresult result)
{
	static const CUresult fatal[] = {
		CUDA_ERROR_ILLEGAL_ADDRESS,
		CUDA_ERROR_LAUNCH_TIMEOUT,
		CUDA_ERROR_ASSERT,
		CUDA_ERROR_HARDWARE_STACK_ERROR,
		CUDA_ERROR_ILLEGAL_INSTRUCTION,
		CUDA_ERROR_MISALIGNED_ADDRESS,
		CUDA_ERROR_INVALID_ADDRESS_SPACE,
		CUDA_ERROR_INVALID_PC,
		CUDA_ERROR_LAUNCH_FAILED,
		CUDA_ERROR_CONTEXT_IS_DESTROYED,
		CUDA_ERROR_EXTERNAL_DEVICE,
		CUDA_ERROR_TENSOR_MEMORY_LEAK,
		CUDA_ERROR_DEINITIALIZED,
		CUDA_ERROR_UNKNOWN,
	};

	for (size_t i = 0; i < KGB_ARRAY_LEN(fatal); i++)
		if (result == fatal[i])
			return true;
	return false;
}

/* Errors that no kernel causes. */
static bool is_the_machines(CUresult result)
{
	return result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_DEVICE_UNAVAILABLE ||
	       result == CUDA_ERROR_SYSTEM_NOT_READY ||
	       result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH ||
	       result == CUDA_ERROR_ECC_UNCORRECTABLE ||
	       result == CUDA_ERROR_NVLINK_UNCORRECTABLE || result == CUDA_ERROR_CONTAINED;
}

static enum kgb_exec_status status_of(CUresult result, enum kgb_exec_status otherwise)
{
	if (result == CUDA_SUCCESS)
		return KGB_EXEC_OK;
	if (result == CUDA_ERROR_OUT_OF_MEMORY)
		return KGB_EXEC_NO_MEMORY;
	if (is_the_machines(result))
		return KGB_EXEC_UNAVAILABLE;
	/* Before there is a context none can be lost: a driver that gives up is a missing one. */
	if (is_fatal(result) && otherwise != KGB_EXEC_UNAVAILABLE)
		return KGB_EXEC_GPU_FAULT;
	return otherwise;
}

enum kgb_exec_status kgb_gpu_check(struct kgb_gpu *gpu, CUresult result,
				   enum kgb_exec_status otherwise, struct kgb_err *err,
				   const char *what, ...)
{
	enum kgb_exec_status status = status_of(result, otherwise);
	va_list ap;

	if (status == KGB_EXEC_OK)
		return status;
	gpu->result = result;
	va_start(ap, what);
	KGB_AUTO(free) char *text = kgb_xvasprintf(what, ap);
	va_end(ap);
	(void)kgb_fail(err, KGB_ERR_FAILED, "%s: %s", text, kgb_cuda_error_name(gpu->cu, result));
	return status;
}

static enum kgb_exec_status read_attributes(struct kgb_gpu *gpu, struct kgb_err *err)
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
		enum kgb_exec_status status =
			kgb_gpu_check(gpu, result, KGB_EXEC_UNAVAILABLE, err, "device attribute %d",
				      (int)wanted[i].attribute);
		if (status)
			return status;
	}
	gpu->l2_bytes = (uint64_t)l2_bytes;
	gpu->keeps_lines = persisting_bytes > 0;
	return KGB_EXEC_OK;
}

static enum kgb_exec_status open_device(struct kgb_gpu *gpu, uint32_t device, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	enum kgb_exec_status status;
	int n_devices = 0;

	status = kgb_gpu_check(gpu, cu->cuInit(0), KGB_EXEC_UNAVAILABLE, err, "start CUDA");
	if (!status)
		status = kgb_gpu_check(gpu, cu->cuDeviceGetCount(&n_devices), KGB_EXEC_UNAVAILABLE,
				       err, "count GPUs");
	if (status)
		return status;
	if (device >= (uint32_t)n_devices)
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "no GPU %u: CUDA sees %d", device,
				     n_devices);
	status = kgb_gpu_check(gpu, cu->cuDeviceGet(&gpu->device, (int)device),
			       KGB_EXEC_UNAVAILABLE, err, "GPU %u", device);
	if (!status)
		status = kgb_gpu_check(
			gpu, cu->cuDeviceGetName(gpu->name, sizeof(gpu->name), gpu->device),
			KGB_EXEC_UNAVAILABLE, err, "name of GPU %u", device);
	return status ? status : read_attributes(gpu, err);
}

static enum kgb_exec_status open_context(struct kgb_gpu *gpu, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	enum kgb_exec_status status;

	/* A waiting thread that sleeps would see the end of a run some 10 us late. */
	status = kgb_gpu_check(gpu, cu->cuDevicePrimaryCtxSetFlags(gpu->device, CU_CTX_SCHED_SPIN),
			       KGB_EXEC_UNAVAILABLE, err, "flags of the context");
	if (!status)
		status =
			kgb_gpu_check(gpu, cu->cuDevicePrimaryCtxRetain(&gpu->context, gpu->device),
				      KGB_EXEC_UNAVAILABLE, err, "make a context");
	if (!status)
		status = kgb_gpu_check(gpu, cu->cuCtxSetCurrent(gpu->context), KGB_EXEC_UNAVAILABLE,
				       err, "set the context");
	if (!status)
		status =
			kgb_gpu_check(gpu, cu->cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING),
				      KGB_EXEC_UNAVAILABLE, err, "make a stream");
	return status;
}

static enum kgb_exec_status load_kernels(struct kgb_gpu *gpu, struct kgb_err *err)
{
	const struct {
		const char *name;
		CUfunction *out;
	} wanted[] = {
		{"kgb_fill", &gpu->fill}, {"kgb_check", &gpu->check}, {"kgb_scrub", &gpu->scrub}};
	enum kgb_exec_status status;

	status = kgb_gpu_check(gpu, gpu->cu->cuModuleLoadData(&gpu->module, kgb_kernels_ptx),
			       KGB_EXEC_UNAVAILABLE, err,
			       "compile our own kernels (is libnvidia-ptxjitcompiler.so.1 there?)");
	for (size_t i = 0; !status && i < KGB_ARRAY_LEN(wanted); i++)
		status = kgb_gpu_check(
			gpu,
			gpu->cu->cuModuleGetFunction(wanted[i].out, gpu->module, wanted[i].name),
			KGB_EXEC_UNAVAILABLE, err, "our kernel %s", wanted[i].name);
	if (!status)
		status = kgb_gpu_check(
			gpu,
			gpu->cu->cuFuncSetAttribute(gpu->scrub,
						    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
						    gpu->shared_bytes_max),
			KGB_EXEC_UNAVAILABLE, err, "%d bytes of shared memory",
			gpu->shared_bytes_max);
	return status;
}

enum kgb_exec_status kgb_gpu_open(struct kgb_gpu *gpu, uint32_t device, struct kgb_err *err)
{
	enum kgb_exec_status status;

	if (kgb_cuda_load(&gpu->cu, err) < 0)
		return KGB_EXEC_UNAVAILABLE;
	status = open_device(gpu, device, err);
	if (!status)
		status = open_context(gpu, err);
	return status ? status : load_kernels(gpu, err);
}

enum kgb_exec_status kgb_gpu_memory_new(struct kgb_gpu *gpu, uint64_t bytes,
					CUmemGenericAllocationHandle *out, struct kgb_err *err)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
	};
	CUmemGenericAllocationHandle handle;
	enum kgb_exec_status status = kgb_gpu_check(
		gpu, gpu->cu->cuMemCreate(&handle, bytes, &prop, 0), KGB_EXEC_NO_MEMORY, err,
		"%llu bytes of GPU memory", (unsigned long long)bytes);

	if (!status)
		*out = handle;
	return status;
}

enum kgb_exec_status kgb_gpu_map(struct kgb_gpu *gpu, CUdeviceptr address, uint64_t bytes,
				 CUmemGenericAllocationHandle handle, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->device},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	enum kgb_exec_status status;

	status = kgb_gpu_check(gpu, cu->cuMemMap(address, bytes, 0, handle, 0), KGB_EXEC_BAD_PLAN,
			       err, "map %llu bytes at 0x%llx", (unsigned long long)bytes, address);
	if (status)
		return status;
	status = kgb_gpu_check(gpu, cu->cuMemSetAccess(address, bytes, &access, 1),
			       KGB_EXEC_NO_MEMORY, err, "access to %llu bytes at 0x%llx",
			       (unsigned long long)bytes, address);
	if (status)
		(void)cu->cuMemUnmap(address, bytes);
	return status;
}

void kgb_gpu_unmap(struct kgb_gpu *gpu, CUdeviceptr address, uint64_t bytes,
		   CUmemGenericAllocationHandle handle)
{
	(void)gpu->cu->cuMemUnmap(address, bytes);
	(void)gpu->cu->cuMemRelease(handle);
}

enum kgb_exec_status kgb_gpu_free_bytes(struct kgb_gpu *gpu, uint64_t *out, struct kgb_err *err)
{
	size_t free_bytes = 0;
	size_t total_bytes = 0;
	enum kgb_exec_status status =
		kgb_gpu_check(gpu, gpu->cu->cuMemGetInfo(&free_bytes, &total_bytes),
			      KGB_EXEC_NO_MEMORY, err, "free GPU memory");

	if (!status)
		*out = free_bytes;
	return status;
}

enum kgb_exec_status kgb_gpu_reserve(struct kgb_gpu *gpu, uint64_t address, uint64_t bytes,
				     struct kgb_err *err)
{
	CUdeviceptr got = 0;
	CUresult result = gpu->cu->cuMemAddressReserve(&got, bytes, 0, address, 0);

	if (result == CUDA_SUCCESS && got == address)
		return KGB_EXEC_OK;
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

void kgb_gpu_buffer_release(struct kgb_gpu *gpu, struct kgb_gpu_buffer *buffer)
{
	if (buffer->bytes > 0) {
		kgb_gpu_unmap(gpu, buffer->address, buffer->bytes, buffer->handle);
		(void)gpu->cu->cuMemAddressFree(buffer->address, buffer->bytes);
	}
	*buffer = (struct kgb_gpu_buffer){0};
}

enum kgb_exec_status kgb_gpu_buffer_reserve(struct kgb_gpu *gpu, struct kgb_gpu_buffer *buffer,
					    uint64_t bytes, struct kgb_err *err)
{
	struct kgb_gpu_buffer made = {0};
	enum kgb_exec_status status;
	uint64_t random = 0;

	if (bytes <= buffer->bytes)
		return KGB_EXEC_OK;
	kgb_gpu_buffer_release(gpu, buffer);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return kgb_exec_fail(err, KGB_EXEC_UNAVAILABLE, "no random numbers");
	made.bytes = (bytes + KGB_GPU_PAGE - 1) & ~(KGB_GPU_PAGE - 1);
	random = PRIVATE_ADDRESS + random % (PRIVATE_BYTES / RESERVE_GRANULE) * RESERVE_GRANULE;
	/* Any other place will do where this one is taken. */
	status = kgb_gpu_check(
		gpu, gpu->cu->cuMemAddressReserve(&made.address, made.bytes, 0, random, 0),
		KGB_EXEC_NO_MEMORY, err, "addresses for %llu bytes",
		(unsigned long long)made.bytes);
	if (status)
		return status;
	status = kgb_gpu_memory_new(gpu, made.bytes, &made.handle, err);
	if (!status) {
		status = kgb_gpu_map(gpu, made.address, made.bytes, made.handle, err);
		if (status)
			(void)gpu->cu->cuMemRelease(made.handle);
	}
	if (status)
		(void)gpu->cu->cuMemAddressFree(made.address, made.bytes);
	else
		*buffer = made;
	return status;
}
