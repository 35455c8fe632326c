/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/staging.h"

#include <errno.h>
#include <unistd.h>

#include "base/parallel.h"

#define BUFFER_BYTES (UINT64_C(8) << 20)
#define PIECE_BYTES (INT64_C(1) << 20)

static int make(struct kgb_staging *staging, struct kgb_gpu *gpu, struct kgb_err *err)
{
	for (int i = 0; i < KGB_STAGING_BUFFERS; i++) {
		void *buffer = NULL;
		if (staging->buffers[i])
			continue;
		if (kgb_gpu_check(
			    gpu, gpu->cu->cuEventCreate(&staging->ends[i], CU_EVENT_DISABLE_TIMING),
			    KGB_EXEC_NO_MEMORY, err, "make an event") ||
		    kgb_gpu_check(gpu, gpu->cu->cuMemHostAlloc(&buffer, BUFFER_BYTES, 0),
				  KGB_EXEC_NO_MEMORY, err, "pinned memory"))
			return -1;
		staging->buffers[i] = buffer;
	}
	return 0;
}

/* The bytes of part number i. */
static uint64_t part_bytes(uint64_t bytes, uint64_t i)
{
	const uint64_t left = bytes - i * BUFFER_BYTES;

	return left < BUFFER_BYTES ? left : BUFFER_BYTES;
}

static int await(struct kgb_staging *staging, struct kgb_gpu *gpu, uint64_t i, struct kgb_err *err)
{
	return kgb_gpu_check(gpu,
			     gpu->cu->cuEventSynchronize(staging->ends[i % KGB_STAGING_BUFFERS]),
			     KGB_EXEC_GPU_FAULT, err, "copy of large memory");
}

struct transfer {
	int fd;
	char *memory;
	uint64_t at; /* in the file */
	bool writes;
	_Atomic int code; /* errno of a failure; 0: none */
};

/* Read or write all bytes from `begin` to `end` - 1; the files are as long as their checked
 * requests say. */
static void transfer_piece(void *payload, int64_t begin, int64_t end)
{
	struct transfer *all = payload;

	while (begin < end) {
		char *memory = all->memory + begin;
		const size_t left = (size_t)(end - begin);
		const off_t at = (off_t)all->at + begin;
		const ssize_t n = all->writes ? pwrite(all->fd, memory, left, at)
					      : pread(all->fd, memory, left, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			all->code = n < 0 ? errno : EIO;
			return;
		}
		begin += n;
	}
}

/* Several threads: new pages of a file take one of them longer than the copy from the GPU. */
static int transfer(int fd, char *memory, uint64_t at, uint64_t bytes, bool writes,
		    struct kgb_err *err)
{
	struct transfer all = {.fd = fd, .memory = memory, .at = at, .writes = writes};

	kgb_parallel_for((int64_t)bytes, PIECE_BYTES, transfer_piece, &all);
	if (all.code == 0)
		return 0;
	(void)kgb_fail_errno(err, all.code, "%s the judge's memory", writes ? "write" : "read");
	return kgb_exec_refuse(err, KGB_EXEC_BAD_REQUEST);
}

int kgb_staging_upload(struct kgb_staging *staging, struct kgb_gpu *gpu, CUdeviceptr to, int fd,
		       uint64_t from, uint64_t bytes, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;

	if (make(staging, gpu, err))
		return -1;
	for (uint64_t i = 0; i * BUFFER_BYTES < bytes; i++) {
		char *buffer = staging->buffers[i % KGB_STAGING_BUFFERS];
		const uint64_t at = i * BUFFER_BYTES, n = part_bytes(bytes, i);
		/* An event that was not recorded yet has no copy to wait for. */
		if (await(staging, gpu, i, err) || transfer(fd, buffer, from + at, n, false, err))
			return -1;
		CUresult result = cu->cuMemcpyHtoDAsync(to + at, buffer, n, gpu->stream);
		if (result == CUDA_SUCCESS)
			result = cu->cuEventRecord(staging->ends[i % KGB_STAGING_BUFFERS],
						   gpu->stream);
		if (kgb_gpu_check(gpu, result, KGB_EXEC_UNAVAILABLE, err, "copy to 0x%llx",
				  (unsigned long long)(to + at)))
			return -1;
	}
	return 0;
}

/* Begin to bring back part number i. */
static int begin_download(struct kgb_staging *staging, struct kgb_gpu *gpu, CUdeviceptr from,
			  uint64_t bytes, uint64_t i, struct kgb_err *err)
{
	const struct kgb_cuda *cu = gpu->cu;
	const uint64_t at = i * BUFFER_BYTES;
	CUresult result;

	if (at >= bytes)
		return 0;
	result = cu->cuMemcpyDtoHAsync(staging->buffers[i % KGB_STAGING_BUFFERS], from + at,
				       part_bytes(bytes, i), gpu->stream);
	if (result == CUDA_SUCCESS)
		result = cu->cuEventRecord(staging->ends[i % KGB_STAGING_BUFFERS], gpu->stream);
	return kgb_gpu_check(gpu, result, KGB_EXEC_GPU_FAULT, err, "copy from 0x%llx",
			     (unsigned long long)(from + at));
}

int kgb_staging_download(struct kgb_staging *staging, struct kgb_gpu *gpu, int fd, uint64_t to,
			 CUdeviceptr from, uint64_t bytes, struct kgb_err *err)
{
	if (make(staging, gpu, err))
		return -1;
	for (uint64_t i = 0; i < KGB_STAGING_BUFFERS; i++)
		if (begin_download(staging, gpu, from, bytes, i, err))
			return -1;
	for (uint64_t i = 0; i * BUFFER_BYTES < bytes; i++) {
		if (await(staging, gpu, i, err) ||
		    transfer(fd, staging->buffers[i % KGB_STAGING_BUFFERS], to + i * BUFFER_BYTES,
			     part_bytes(bytes, i), true, err) ||
		    begin_download(staging, gpu, from, bytes, i + KGB_STAGING_BUFFERS, err))
			return -1;
	}
	return 0;
}
