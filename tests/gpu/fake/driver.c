/* SPDX-License-Identifier: MIT */
/* A stand-in for libcuda.so.1, for tests of kgb-exec on machines without a GPU: device memory is
 * memory of this process at the addresses asked for, and everything is carried out at once, in the
 * order of the calls. It knows the kernels of verify/exec/cuda/kernels.ptx and
 * tests/gpu/exec_check.ptx by name. */
#include <cuda.h>
#include <cupti.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/gpu/fake/fake.h"

/* Names of parameters are this file's own. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

/* After a fault every call fails. */
static CUresult sticky;

CUresult fake_fault(CUresult result)
{
	sticky = result;
	return CUDA_SUCCESS; /* the launch itself was fine */
}

/* What a stream waits for is always over. */
#define RETURN_IF_FAULTED()            \
	do {                           \
		if (sticky)            \
			return sticky; \
	} while (0)

/* FAKE_CUDA: "none" is a driver without a GPU, "broken" one that lost it. */
static CUresult pretended(void)
{
	const char *text = getenv("FAKE_CUDA");

	if (text && strcmp(text, "none") == 0)
		return CUDA_ERROR_NO_DEVICE;
	return text && strcmp(text, "broken") == 0 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : pretended();
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
	switch ((int)error) {
	case CUDA_ERROR_INVALID_VALUE:
		*name = "CUDA_ERROR_INVALID_VALUE";
		return CUDA_SUCCESS;
	case CUDA_ERROR_ILLEGAL_ADDRESS:
		*name = "CUDA_ERROR_ILLEGAL_ADDRESS";
		return CUDA_SUCCESS;
	case CUDA_ERROR_LAUNCH_FAILED:
		*name = "CUDA_ERROR_LAUNCH_FAILED";
		return CUDA_SUCCESS;
	case CUDA_ERROR_NO_DEVICE:
		*name = "CUDA_ERROR_NO_DEVICE";
		return CUDA_SUCCESS;
	case CUDA_ERROR_UNKNOWN:
		*name = "CUDA_ERROR_UNKNOWN";
		return CUDA_SUCCESS;
	case CUDA_ERROR_ECC_UNCORRECTABLE:
		*name = "CUDA_ERROR_ECC_UNCORRECTABLE";
		return CUDA_SUCCESS;
	case CUDA_ERROR_NOT_FOUND:
		*name = "CUDA_ERROR_NOT_FOUND";
		return CUDA_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		*name = "CUDA_ERROR_OUT_OF_MEMORY";
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice device)
{
	static const char text[] = FAKE_DEVICE_NAME;

	if (device != 0 || len < (int)sizeof(text))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(name, text, sizeof(text));
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int len, CUdevice device)
{
	static const char text[] = "0000:0f:00.0";

	if (device != 0 || len < (int)sizeof(text))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(id, text, sizeof(text));
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	for (size_t i = 0; i < sizeof(uuid->bytes); i++)
		uuid->bytes[i] = (char)(17 * i);
	return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	switch ((int)attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = 2;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*value = FAKE_SHARED_BYTES;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*value = 1 << 20;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE:
		*value = 1 << 19;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = 9;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		*value = 1200000; /* kHz */
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		*value = 1000000;
		return CUDA_SUCCESS;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		*value = 256;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static int context; /* its address is the handle */

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	(void)device;
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
	(void)device;
	*out = (CUcontext)&context;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device)
{
	(void)device;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
	return ctx == (CUcontext)&context || !ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
	return limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE && value == 0 ? sticky
									: CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
	return sticky;
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
	return sticky;
}

/* Addresses are rounded up to 32 MiB, as by the real one. */
CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment,
				     CUdeviceptr address, unsigned long long flags)
{
	const CUdeviceptr granule = 32 << 20;
	const CUdeviceptr hint = (address + granule - 1) / granule * granule;

	(void)alignment;
	(void)flags;
	RETURN_IF_FAULTED();
	if (size % FAKE_PAGE != 0)
		return CUDA_ERROR_INVALID_VALUE;
	void *got = mmap((void *)hint, size, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (got == MAP_FAILED) {
		/* Elsewhere, aligned as the granule wants it. */
		got = mmap(NULL, size + granule, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (got == MAP_FAILED)
			return CUDA_ERROR_OUT_OF_MEMORY;
		got = (void *)(((CUdeviceptr)got + granule - 1) / granule * granule);
	}
	*out = (CUdeviceptr)got;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t size)
{
	return munmap((void *)address, size) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Physical memory: a handle is 1 + an index. It lives while it is not released or still mapped. */
static struct {
	size_t bytes; /* 0: none */
	CUdeviceptr address; /* 0: not mapped */
	int released;
} blocks[FAKE_HANDLES_MAX];
static size_t used_bytes;

static void free_block(size_t i)
{
	if (!blocks[i].released || blocks[i].address)
		return;
	used_bytes -= blocks[i].bytes;
	blocks[i].bytes = 0;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			     const CUmemAllocationProp *prop, unsigned long long flags)
{
	size_t i = 0;

	(void)flags;
	RETURN_IF_FAULTED();
	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || size == 0 || size % FAKE_PAGE != 0)
		return CUDA_ERROR_INVALID_VALUE;
	while (i < FAKE_HANDLES_MAX && blocks[i].bytes)
		i++;
	if (i == FAKE_HANDLES_MAX || size > FAKE_MEMORY_BYTES - used_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	used_bytes += size;
	blocks[i].bytes = size;
	blocks[i].released = 0;
	*handle = 1 + i;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
	const size_t i = (size_t)handle - 1;

	if (i >= FAKE_HANDLES_MAX || !blocks[i].bytes || blocks[i].released)
		return CUDA_ERROR_INVALID_VALUE;
	blocks[i].released = 1;
	free_block(i);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset,
			  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	const size_t i = (size_t)handle - 1;

	(void)flags;
	RETURN_IF_FAULTED();
	if (i >= FAKE_HANDLES_MAX || blocks[i].bytes != size || blocks[i].released ||
	    blocks[i].address || offset != 0 || address % FAKE_PAGE != 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t k = 0; k < FAKE_HANDLES_MAX; k++)
		if (blocks[k].address && blocks[k].address < address + size &&
		    address < blocks[k].address + blocks[k].bytes)
			return CUDA_ERROR_INVALID_VALUE;
	/* Only what was reserved is there to be protected. */
	if (mprotect((void *)address, size, PROT_NONE) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	blocks[i].address = address;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
				size_t n)
{
	RETURN_IF_FAULTED();
	if (n != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
	    mprotect((void *)address, size, PROT_READ | PROT_WRITE) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size)
{
	size_t i = 0;

	while (i < FAKE_HANDLES_MAX && blocks[i].address != address)
		i++;
	if (i == FAKE_HANDLES_MAX || blocks[i].bytes != size ||
	    mmap((void *)address, size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return CUDA_ERROR_INVALID_VALUE;
	blocks[i].address = 0;
	free_block(i);
	return sticky;
}

CUresult CUDAAPI cuMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = FAKE_MEMORY_BYTES - used_bytes;
	*total_bytes = FAKE_MEMORY_BYTES;
	return sticky;
}

CUresult CUDAAPI cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
	(void)flags;
	RETURN_IF_FAULTED();
	*out = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return *out == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeHost(void *pointer)
{
	(void)pointer; /* its size is not known, and a test does not live long */
	return sticky;
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *out, void *pointer, unsigned int flags)
{
	(void)flags;
	*out = (CUdeviceptr)pointer;
	return sticky;
}

static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	RETURN_IF_FAULTED();
	memmove((void *)to, (const void *)from, bytes);
	fake_activity(CUPTI_ACTIVITY_KIND_MEMCPY);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	(void)stream;
	return copy(dst, src, bytes);
}

CUresult CUDAAPI cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy((CUdeviceptr)dst, src, bytes);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	(void)stream;
	return copy((CUdeviceptr)dst, src, bytes);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	(void)stream;
	return copy(dst, (CUdeviceptr)src, bytes);
}

static CUresult set(CUdeviceptr dst, size_t pitch, const void *value, size_t size, size_t width,
		    size_t height)
{
	RETURN_IF_FAULTED();
	fake_activity(CUPTI_ACTIVITY_KIND_MEMSET);
	for (size_t y = 0; y < height; y++)
		for (size_t x = 0; x < width; x++)
			memcpy((char *)dst + y * pitch + x * size, value, size);
	return CUDA_SUCCESS;
}

#define MEMSET(flat, pitched, type)                                                       \
	CUresult CUDAAPI flat(CUdeviceptr dst, type value, size_t n, CUstream stream)     \
	{                                                                                 \
		(void)stream;                                                             \
		return set(dst, 0, &value, sizeof(value), n, 1);                          \
	}                                                                                 \
	CUresult CUDAAPI pitched(CUdeviceptr dst, size_t pitch, type value, size_t width, \
				 size_t height, CUstream stream)                          \
	{                                                                                 \
		(void)stream;                                                             \
		return set(dst, pitch, &value, sizeof(value), width, height);             \
	}
MEMSET(cuMemsetD8Async, cuMemsetD2D8Async, unsigned char)
MEMSET(cuMemsetD16Async, cuMemsetD2D16Async, unsigned short)
MEMSET(cuMemsetD32Async, cuMemsetD2D32Async, unsigned int)

/* A stream is a number, an event the time of its record. */
static uintptr_t n_streams;

CUresult CUDAAPI cuStreamCreate(CUstream *out, unsigned int flags)
{
	if (flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUstream)(++n_streams);
	return sticky;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream)
{
	(void)stream;
	return sticky;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream)
{
	(void)stream;
	return sticky;
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	(void)stream;
	(void)flags;
	/* One that was never recorded says that its user lost track. */
	return ((const int64_t *)(const void *)event)[0] ? sticky : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
				     unsigned int flags)
{
	(void)stream;
	(void)address;
	return value == 1 && flags == CU_STREAM_WAIT_VALUE_GEQ ? sticky : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
				      unsigned int flags)
{
	(void)stream;
	(void)flags;
	RETURN_IF_FAULTED();
	*(cuuint32_t *)address = value;
	return CUDA_SUCCESS;
}

struct event {
	int64_t ns;
	bool has_time;
};
static bool is_timed;

bool fake_is_timed(void)
{
	return is_timed;
}

CUresult CUDAAPI cuEventCreate(CUevent *out, unsigned int flags)
{
	struct event *event = calloc(1, sizeof(*event));

	event->has_time = !(flags & CU_EVENT_DISABLE_TIMING);
	*out = (CUevent)(void *)event;
	return sticky;
}

CUresult CUDAAPI cuEventDestroy(CUevent event)
{
	free(event);
	return sticky;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream)
{
	struct timespec now;

	(void)stream;
	struct event *recorded = (struct event *)(void *)event;
	clock_gettime(CLOCK_MONOTONIC, &now);
	recorded->ns = now.tv_sec * 1000000000 + now.tv_nsec;
	is_timed ^= recorded->has_time;
	return sticky;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event)
{
	(void)event;
	return sticky;
}

CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	RETURN_IF_FAULTED();
	*ms = (float)((double)(((const struct event *)(const void *)end)->ns -
			       ((const struct event *)(const void *)start)->ns) /
		      1e6);
	return CUDA_SUCCESS;
}

/* Images are only looked at so far as to tell code from noise. A library, a module and a kernel are
 * what their names lead to. */
CUresult CUDAAPI cuModuleLoadData(CUmodule *out, const void *image)
{
	if (!strstr(image, ".visible .entry kgb_"))
		return CUDA_ERROR_INVALID_IMAGE;
	*out = (CUmodule)&context;
	return sticky;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
	return module == (CUmodule)&context ? sticky : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	(void)module;
	*out = (CUfunction)(uintptr_t)fake_kernel_find(name);
	return *out ? sticky : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit,
				   void **jit_values, unsigned int n_jit, CUlibraryOption *options,
				   void **values, unsigned int n)
{
	(void)jit;
	(void)jit_values;
	(void)options;
	(void)values;
	if (memcmp(code, ELFMAG, SELFMAG) != 0 || n_jit > 0 || n > 0)
		return CUDA_ERROR_INVALID_IMAGE;
	*out = (CUlibrary)&context;
	return sticky;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
	(void)library;
	return sticky;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
	(void)library;
	*out = (CUkernel)(uintptr_t)fake_kernel_find(name);
	return *out ? sticky : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
	*out = (CUfunction)kernel;
	return sticky;
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	const struct fake_kernel *fake = (const void *)kernel;
	size_t at = 0;

	for (size_t i = 0; i < FAKE_PARAMS_MAX && fake->param_bytes[i]; i++) {
		at = (at + fake->param_bytes[i] - 1) / fake->param_bytes[i] * fake->param_bytes[i];
		if (i == index) {
			*offset = at;
			*size = fake->param_bytes[i];
			return sticky;
		}
		at += fake->param_bytes[i];
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	(void)function;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
	    value > FAKE_SHARED_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	return sticky;
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
				  void **extra)
{
	RETURN_IF_FAULTED();
	if (extra || config->sharedMemBytes > FAKE_SHARED_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	fake_activity(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	return ((const struct fake_kernel *)(const void *)function)->run(config, params);
}

/* The linker: whatever PTX becomes this cubin. */
static struct {
	Elf64_Ehdr head;
	Elf64_Shdr sections[1];
} cubin = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
		    .e_shoff = sizeof(Elf64_Ehdr),
		    .e_shentsize = sizeof(Elf64_Shdr),
		    .e_shnum = 1}};

CUresult CUDAAPI cuLinkCreate(unsigned int n, CUjit_option *options, void **values,
			      CUlinkState *out)
{
	(void)n;
	(void)options;
	(void)values;
	*out = (CUlinkState)&cubin;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			       const char *name, unsigned int n, CUjit_option *options,
			       void **values)
{
	(void)state;
	(void)data;
	(void)size;
	(void)name;
	(void)n;
	(void)options;
	(void)values;
	return type == CU_JIT_INPUT_PTX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **out, size_t *size)
{
	*out = state;
	*size = sizeof(cubin);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
	(void)state;
	return CUDA_SUCCESS;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
