/* SPDX-License-Identifier: MIT */
/** \file
 * One GPU in this process: context, main stream, our own kernels. Errors are those of
 * verify/exec/serve.h. One thread.
 */
#ifndef KGB_VERIFY_EXEC_CUDA_GPU_H
#define KGB_VERIFY_EXEC_CUDA_GPU_H

#include "base/err.h"
#include "verify/cuda/driver.h"
#include "verify/exec/serve.h"
#include "verify/protocol/exec_protocol.h"
#include "verify/protocol/spans.h"

struct kgb_gpu {
	const struct kgb_cuda *cu;
	CUdevice device;
	CUcontext context;
	CUstream stream; /* main: everything joins it in the end */
	CUresult result; /* of the last failed call */
	int n_sms;
	int shared_bytes_max; /* of a block that asks for it */
	bool can_wait_value; /* a stream can wait for a word in host memory */
	bool keeps_lines; /* kernels can ask for lines to stay in the L2 cache */
	uint64_t l2_bytes;
	char name[128];
	CUfunction fill, check, scrub; /* verify/exec/cuda/kernels.h */
};

/** Open the context and the stream, compile our kernels. */
KGB_MUST_CHECK int kgb_gpu_open(struct kgb_gpu *gpu, uint32_t device, struct kgb_err *err);

/** -1 with "<what>: CUDA_ERROR_..." in *err if the result is an error. The status is GPU_FAULT when
 * the context is lost, NO_MEMORY or UNAVAILABLE where the result means that, else `otherwise`. */
KGB_MUST_CHECK int kgb_gpu_check(struct kgb_gpu *gpu, CUresult result,
				 enum kgb_exec_status otherwise, struct kgb_err *err,
				 const char *what, ...) KGB_PRINTF(5, 6);

/** One of our kernels, by its name in the PTX. */
struct kgb_gpu_symbol {
	const char *name;
	CUfunction *out;
};
/** Compile PTX of ours (verify/exec/cuda/kernels.h) and find its kernels. */
KGB_MUST_CHECK int kgb_gpu_compile(struct kgb_gpu *gpu, const char *ptx,
				   const struct kgb_gpu_symbol *symbols, size_t n, CUmodule *module,
				   struct kgb_err *err);
/** Put one of our kernels on the main stream, with KGB_KERNEL_THREADS threads a block. */
KGB_MUST_CHECK int kgb_gpu_launch(struct kgb_gpu *gpu, CUfunction function, unsigned int grid_x,
				  unsigned int grid_y, unsigned int shared_bytes, void **params,
				  struct kgb_err *err);

/** Physical memory at an address. */
struct kgb_mapping {
	CUdeviceptr address;
	uint64_t bytes; /* whole pages */
	CUmemGenericAllocationHandle handle;
};

/** Physical memory that is not mapped yet; whole pages. The caller releases it with cuMemRelease.
 */
KGB_MUST_CHECK int kgb_gpu_memory_new(struct kgb_gpu *gpu, uint64_t bytes,
				      CUmemGenericAllocationHandle *out, struct kgb_err *err);
/** Map the memory of `handle`, all of it, at a reserved address. On failure it stays with the
 * caller, not mapped. */
KGB_MUST_CHECK int kgb_gpu_map(struct kgb_gpu *gpu, const struct kgb_mapping *mapping,
			       struct kgb_err *err);
/** The same with new memory where the handle is 0. On failure the memory is released. */
KGB_MUST_CHECK int kgb_gpu_map_new(struct kgb_gpu *gpu, struct kgb_mapping *mapping,
				   struct kgb_err *err);

/** Make our own device memory at least this large; old contents are lost when it grows. It lies at
 * an address that a candidate cannot guess, so that a hostile kernel that writes blindly faults.
 * Contents are undefined. */
KGB_MUST_CHECK int kgb_gpu_buffer_reserve(struct kgb_gpu *gpu, struct kgb_mapping *buffer,
					  uint64_t bytes, struct kgb_err *err);
void kgb_gpu_buffer_release(struct kgb_gpu *gpu, struct kgb_mapping *buffer);

/** Bytes of the GPU's memory that are free. */
KGB_MUST_CHECK int kgb_gpu_free_bytes(struct kgb_gpu *gpu, uint64_t *out, struct kgb_err *err);
/** Reserve exactly this place (multiples of 32 MiB). RESERVATION when it is taken. */
KGB_MUST_CHECK int kgb_gpu_reserve(struct kgb_gpu *gpu, uint64_t address, uint64_t bytes,
				   struct kgb_err *err);

#endif
