/* SPDX-License-Identifier: MIT */
/** \file
 * The CUDA driver as a table of functions that is filled at run time: programs that use a GPU start
 * on machines without one, and name the missing part. Prototypes come from the real header, so a
 * changed signature does not compile. Calls look like calls: cu->cuMemFree(address). */
#ifndef KGB_VERIFY_CUDA_DRIVER_H
#define KGB_VERIFY_CUDA_DRIVER_H

#include <cuda.h>

#include "base/err.h"

/* Every function that these programs call; all of them exist in CUDA 12.8 and newer. The header
 * renames some by macros (cuMemFree is cuMemFree_v2), which also rename the members below. */
/* clang-format off */
#define KGB_CUDA_FUNCTIONS(X) \
	X(cuInit) \
	X(cuGetErrorName) \
	X(cuDeviceGet) \
	X(cuDeviceGetAttribute) \
	X(cuDeviceGetCount) \
	X(cuDeviceGetName) \
	X(cuDeviceGetPCIBusId) \
	X(cuDeviceGetUuid) \
	X(cuDevicePrimaryCtxRetain) \
	X(cuDevicePrimaryCtxSetFlags) \
	X(cuCtxGetCurrent) \
	X(cuCtxSetCurrent) \
	X(cuCtxSetLimit) \
	X(cuCtxResetPersistingL2Cache) \
	X(cuCtxSynchronize) \
	X(cuMemAddressReserve) \
	X(cuMemAddressFree) \
	X(cuMemCreate) \
	X(cuMemGetAllocationGranularity) \
	X(cuMemGetInfo) \
	X(cuMemMap) \
	X(cuMemRelease) \
	X(cuMemSetAccess) \
	X(cuMemUnmap) \
	X(cuMemFree) \
	X(cuMemHostAlloc) \
	X(cuMemHostGetDevicePointer) \
	X(cuMemFreeHost) \
	X(cuMemcpyDtoDAsync) \
	X(cuMemcpyDtoH) \
	X(cuMemcpyDtoHAsync) \
	X(cuMemcpyHtoD) \
	X(cuMemcpyHtoDAsync) \
	X(cuMemsetD8Async) \
	X(cuMemsetD16Async) \
	X(cuMemsetD32Async) \
	X(cuMemsetD2D8Async) \
	X(cuMemsetD2D16Async) \
	X(cuMemsetD2D32Async) \
	X(cuPointerGetAttributes) \
	X(cuStreamCreate) \
	X(cuStreamDestroy) \
	X(cuStreamIsCapturing) \
	X(cuStreamSynchronize) \
	X(cuStreamWaitEvent) \
	X(cuStreamWaitValue32) \
	X(cuStreamWriteValue32) \
	X(cuThreadExchangeStreamCaptureMode) \
	X(cuEventCreate) \
	X(cuEventDestroy) \
	X(cuEventElapsedTime) \
	X(cuEventRecord) \
	X(cuEventSynchronize) \
	X(cuModuleGetFunction) \
	X(cuModuleGetGlobal) \
	X(cuModuleGetLoadingMode) \
	X(cuModuleLoadData) \
	X(cuModuleUnload) \
	X(cuLibraryGetGlobal) \
	X(cuLibraryGetKernel) \
	X(cuLibraryLoadData) \
	X(cuLibraryUnload) \
	X(cuFuncGetAttribute) \
	X(cuFuncGetModule) \
	X(cuFuncGetName) \
	X(cuFuncGetParamInfo) \
	X(cuFuncSetAttribute) \
	X(cuKernelGetFunction) \
	X(cuKernelGetLibrary) \
	X(cuKernelGetName) \
	X(cuKernelGetParamInfo) \
	X(cuLaunchKernelEx) \
	X(cuGraphGetNodes) \
	X(cuGraphKernelNodeGetAttribute) \
	X(cuGraphKernelNodeGetParams) \
	X(cuGraphMemcpyNodeGetParams) \
	X(cuGraphMemsetNodeGetParams) \
	X(cuGraphNodeGetDependencies) \
	X(cuGraphNodeGetDependentNodes) \
	X(cuGraphNodeGetType)
/* clang-format on */

struct kgb_cuda {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define KGB_CUDA_MEMBER(name) __typeof__(name) *name;
	KGB_CUDA_FUNCTIONS(KGB_CUDA_MEMBER)
#undef KGB_CUDA_MEMBER
};

/** Open the driver's library, once in a process: *out is shared and stays valid. Does not call
 * cuInit. UNAVAILABLE when there is no driver, or one that lacks a function (the message names it).
 */
KGB_MUST_CHECK int kgb_cuda_load(const struct kgb_cuda **out, struct kgb_err *err);

/** "CUDA_ERROR_INVALID_VALUE", or "CUDA error 4711" style text in a buffer of the thread that the
 * next call overwrites. */
const char *kgb_cuda_error_name(const struct kgb_cuda *cu, CUresult result);

/** Look a function up by name and store its address in *slot (any pointer to function). */
KGB_MUST_CHECK int kgb_dl_symbol(void *library, const char *name, void *slot, struct kgb_err *err);

#endif
