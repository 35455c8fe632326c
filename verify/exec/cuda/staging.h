/* SPDX-License-Identifier: MIT */
/** \file
 * Copies of large memory between the judge's files and the GPU, through pinned memory: the driver
 * copies other memory by spinning on a processor, and each of its pages would be mapped first. */
#ifndef KGB_VERIFY_EXEC_CUDA_STAGING_H
#define KGB_VERIFY_EXEC_CUDA_STAGING_H

#include "verify/exec/cuda/gpu.h"

/** Bytes from which this is faster than a copy by the driver. */
#define KGB_STAGED_LEAST (UINT64_C(1) << 20)

enum { KGB_STAGING_BUFFERS = 2 };

/** Zeros: not made yet. Its memory holds data of the latest copies; kernels cannot guess its
 * address. */
struct kgb_staging {
	char *buffers[KGB_STAGING_BUFFERS];
	CUevent ends[KGB_STAGING_BUFFERS]; /* of the latest copy of each */
};

/** Copy from a file to the GPU, on the main stream. Returns when the last copy is under way. */
KGB_MUST_CHECK int kgb_staging_upload(struct kgb_staging *staging, struct kgb_gpu *gpu,
				      CUdeviceptr to, int fd, uint64_t from, uint64_t bytes,
				      struct kgb_err *err);
/** Copy from the GPU to a file, after the work on the main stream. Returns when all is written. */
KGB_MUST_CHECK int kgb_staging_download(struct kgb_staging *staging, struct kgb_gpu *gpu, int fd,
					uint64_t to, CUdeviceptr from, uint64_t bytes,
					struct kgb_err *err);

#endif
