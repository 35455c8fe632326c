/* SPDX-License-Identifier: MIT */
/** \file
 * One GPU in this process: context, main stream, our own kernels, and how results of the driver
 * become statuses of the protocol. Functions return enum kgb_exec_status, KGB_EXEC_OK is 0, and
 * fill *err otherwise. One thread.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_GPU_H
#define KGB_VERIFY_EXEC_CUDA_GPU_H

#include "base/err.h"
#include "verify/cuda/driver.h"
#include "verify/protocol/exec_protocol.h"
#include "verify/protocol/spans.h"

struct kgb_gpu {
	const struct kgb_cuda *cu;
	CUdevice device;
	CUcontext context;
	CUstream stream; /* main: everything joins it in the end */
	CUresult result; /* of the last call that went wrong */
	int n_sms;
	int shared_bytes_max; /* of a block that asks for it */
	bool can_wait_value; /* a stream can wait for a word in host memory */
	bool keeps_lines; /* kernels can ask for lines to stay in the L2 cache */
	uint64_t l2_bytes;
	char name[128];
	CUmodule module; /* verify/exec/cuda/kernels.h */
	CUfunction fill, check, scrub;
};

/** Context, stream, our kernels. */
enum kgb_exec_status kgb_gpu_open(struct kgb_gpu *gpu, uint32_t device, struct kgb_err *err);

/** Fill *err from a format; the value is `status`. */
#define kgb_exec_fail(err, status, ...) \
	((void)kgb_fail((err), KGB_ERR_FAILED, __VA_ARGS__), (status))

/** KGB_EXEC_OK for a good result. Otherwise what `result` means: GPU_FAULT when the context is
 * lost, NO_MEMORY, UNAVAILABLE, else `otherwise`; *err says "<what>: CUDA_ERROR_...". */
enum kgb_exec_status kgb_gpu_check(struct kgb_gpu *gpu, CUresult result,
				   enum kgb_exec_status otherwise, struct kgb_err *err,
				   const char *what, ...) KGB_PRINTF(5, 6);

/** Our own device memory, at an address that nobody can guess, so that a hostile kernel that writes
 * blindly faults. Contents undefined. */
struct kgb_gpu_buffer {
	CUdeviceptr address;
	uint64_t bytes; /* whole pages; 0: none */
	CUmemGenericAllocationHandle handle;
};
/** Make it at least this large; old contents are lost when it grows. */
enum kgb_exec_status kgb_gpu_buffer_reserve(struct kgb_gpu *gpu, struct kgb_gpu_buffer *buffer,
					    uint64_t bytes, struct kgb_err *err);
void kgb_gpu_buffer_release(struct kgb_gpu *gpu, struct kgb_gpu_buffer *buffer);

/** Physical memory that is not mapped yet; whole pages. Release with cuMemRelease, or kgb_gpu_unmap
 * once it is mapped. */
enum kgb_exec_status kgb_gpu_memory_new(struct kgb_gpu *gpu, uint64_t bytes,
					CUmemGenericAllocationHandle *out, struct kgb_err *err);
/** Map all of it at a reserved address. When that fails it stays with the caller, not mapped. */
enum kgb_exec_status kgb_gpu_map(struct kgb_gpu *gpu, CUdeviceptr address, uint64_t bytes,
				 CUmemGenericAllocationHandle handle, struct kgb_err *err);
void kgb_gpu_unmap(struct kgb_gpu *gpu, CUdeviceptr address, uint64_t bytes,
		   CUmemGenericAllocationHandle handle);
/** Bytes of the GPU's memory that nobody uses. */
enum kgb_exec_status kgb_gpu_free_bytes(struct kgb_gpu *gpu, uint64_t *out, struct kgb_err *err);
/** Reserve exactly this place (multiples of 32 MiB). RESERVATION when it cannot be had. */
enum kgb_exec_status kgb_gpu_reserve(struct kgb_gpu *gpu, uint64_t address, uint64_t bytes,
				     struct kgb_err *err);

#endif
