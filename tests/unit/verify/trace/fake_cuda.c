/* SPDX-License-Identifier: MIT */
/* Parameters have the names that the real header gives them. */
/* NOLINTBEGIN(readability-identifier-naming) */
#include <string.h>

#include "tests/unit/verify/trace/fake_gpu.h"

extern struct fake_gpu fake_gpu;
struct fake_gpu fake_gpu;

#define FIRE(function, params)                                                                 \
	do {                                                                                   \
		if (fake_gpu.fire)                                                             \
			fake_gpu.fire(CUPTI_DRIVER_TRACE_CBID_##function, #function, (params), \
				      CUDA_SUCCESS);                                           \
	} while (0)

CUresult cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **str)
{
	(void)error;
	*str = "CUDA_ERROR_SOMETHING";
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	*pctx = fake_gpu.n_contexts ? (CUcontext)(void *)&fake_gpu : NULL;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	(void)dev;
	*pctx = (CUcontext)(void *)&fake_gpu;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	(void)ctx;
	fake_gpu.n_contexts++;
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	FIRE(cuCtxSynchronize, NULL);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
			     unsigned long long flags)
{
	(void)size;
	(void)alignment;
	(void)flags;
	*ptr = addr;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	(void)prop;
	(void)option;
	*granularity = 2 << 20;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	(void)prop;
	(void)flags;
	*handle = 1;
	return size > ((size_t)1 << 36) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	(void)handle;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	const cuMemMap_params params = {ptr, size, offset, handle, flags};

	FIRE(cuMemMap, &params);
	return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	const cuMemUnmap_params params = {ptr, size};

	FIRE(cuMemUnmap, &params);
	return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	(void)ptr;
	(void)size;
	(void)desc;
	(void)count;
	return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	(void)mode;
	return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	const cuMemsetD8Async_params params = {dstDevice, uc, N, hStream};

	fake_gpu.n_memsets++;
	FIRE(cuMemsetD8Async, &params);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n)
{
	const cuMemcpyHtoD_v2_params params = {dst, src, n};

	fake_gpu.n_copies++;
	FIRE(cuMemcpyHtoD_v2, &params);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n)
{
	const cuMemcpyDtoH_v2_params params = {dst, src, n};

	fake_gpu.n_copies++;
	memset(dst, 0x77, n);
	FIRE(cuMemcpyDtoH_v2, &params);
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	(void)stream;
	*status = fake_gpu.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
				     : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/* Not told to anybody: another function has to do as a sign of life. */
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	FIRE(cuDeviceGetCount, NULL);
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned numAttributes, CUpointer_attribute *attributes,
				void **data, CUdeviceptr ptr)
{
	(void)attributes;
	(void)ptr;
	for (unsigned i = 0; i < numAttributes; i++)
		memset(data[i], 0, sizeof(unsigned));
	return CUDA_SUCCESS;
}

/* One module, handle 0x1000, with one function, handle 0x1001, that takes a pointer. */

CUresult cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	*hmod = (CUmodule)(uintptr_t)0x1000;
	return (uintptr_t)hfunc == 0x1001 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetName(const char **name, CUfunction hfunc)
{
	(void)hfunc;
	*name = "function";
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
			    size_t *paramSize)
{
	(void)func;
	*paramOffset = 0;
	*paramSize = 8;
	return paramIndex == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	(void)attrib;
	(void)hfunc;
	*pi = -1;
	return CUDA_SUCCESS;
}
/* NOLINTEND(readability-identifier-naming) */
