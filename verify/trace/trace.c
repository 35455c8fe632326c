/* SPDX-License-Identifier: MIT */
#include "verify/trace/trace.h"

#include <stdio.h>

#include "verify/trace/capture.h"
#include "verify/trace/pool.h"

/* The state of the library: one per process, for the life of the process. Lock order: memory before
 * capture. */
static struct {
	pthread_once_t once;
	const struct kgb_cuda *cu; /* NULL: no driver, load_error has the reason */
	struct kgb_err load_error;

	pthread_mutex_t mutex; /* of the status */
	bool injected;
	struct kgb_err start_error; /* no message: callbacks arrive; written before `injected` */
	char status[512]; /* of the last failed call, or how it started */

	pthread_mutex_t memory_mutex; /* of the pool */
	struct kgb_pool pool;

	pthread_mutex_t window_mutex; /* of the test whether callbacks arrive */
	struct kgb_capture capture; /* has its own mutex */
} trace = {
	.once = PTHREAD_ONCE_INIT,
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.memory_mutex = PTHREAD_MUTEX_INITIALIZER,
	.window_mutex = PTHREAD_MUTEX_INITIALIZER,
	.capture.mutex = PTHREAD_MUTEX_INITIALIZER,
};

static void set_status(const char *text)
{
	pthread_mutex_lock(&trace.mutex);
	snprintf(trace.status, sizeof(trace.status), "%s", text);
	pthread_mutex_unlock(&trace.mutex);
}

/* 0 or -1 as the caller should return. */
static int result_of(int status, const struct kgb_err *err)
{
	if (status)
		set_status(err->msg);
	return status ? -1 : 0;
}

static void load_driver(void)
{
	if (kgb_cuda_load(&trace.cu, &trace.load_error)) {
		trace.cu = NULL;
		return;
	}
	kgb_pool_init(&trace.pool, trace.cu);
	kgb_tracer_init(&trace.capture.tracer, trace.cu);
}

static int need_driver(struct kgb_err *err)
{
	pthread_once(&trace.once, load_driver);
	if (trace.cu)
		return 0;
	*err = trace.load_error;
	return -1;
}

static int need_callbacks(struct kgb_err *err)
{
	bool injected;

	if (need_driver(err))
		return -1;
	pthread_mutex_lock(&trace.mutex);
	injected = trace.injected;
	pthread_mutex_unlock(&trace.mutex);
	if (!injected)
		return kgb_fail(
			err, KGB_ERR_UNAVAILABLE,
			"not injected: CUDA has not started yet, or CUDA_INJECTION64_PATH does "
			"not name this library");
	if (!trace.start_error.msg[0])
		return 0;
	*err = trace.start_error;
	return -1;
}

static pthread_once_t start_once = PTHREAD_ONCE_INIT;

static void start_callbacks(void)
{
	struct kgb_err err = KGB_ERR_INIT;
	uint32_t version = 0;

	kgb_capture_mute();
	if (need_driver(&err) == 0 && kgb_capture_start(&trace.capture, &err) == 0)
		trace.capture.cupti.cuptiGetVersion(&version);
	kgb_capture_unmute();
	pthread_mutex_lock(&trace.mutex);
	trace.injected = true;
	trace.start_error = err;
	if (err.msg[0])
		snprintf(trace.status, sizeof(trace.status), "%s", err.msg);
	else
		snprintf(trace.status, sizeof(trace.status), "ready: callbacks from %s, version %u",
			 trace.capture.cupti.path, version);
	pthread_mutex_unlock(&trace.mutex);
}

int InitializeInjection(void)
{
	pthread_once(&start_once, start_callbacks);
	return 1;
}

const char *kgb_trace_status(void)
{
	static _Thread_local char text[sizeof(trace.status)];
	struct kgb_err err = KGB_ERR_INIT;
	const int status = need_callbacks(&err);

	pthread_mutex_lock(&trace.mutex);
	snprintf(text, sizeof(text), "%s", status && !trace.status[0] ? err.msg : trace.status);
	pthread_mutex_unlock(&trace.mutex);
	return text;
}

/* ---- Windows ---- */

int kgb_trace_open(int fd, uint64_t max_bytes)
{
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_callbacks(&err);

	if (status == 0) {
		pthread_mutex_lock(&trace.capture.mutex);
		atomic_store(&trace.capture.in_window, false);
		status = kgb_recorder_open(&trace.capture.tracer.recorder, fd, max_bytes, &err);
		pthread_mutex_unlock(&trace.capture.mutex);
	}
	return result_of(status, &err);
}

static bool callbacks_come(void)
{
	bool alive;

	if (need_callbacks(&(struct kgb_err)KGB_ERR_INIT))
		return false;
	pthread_mutex_lock(&trace.window_mutex);
	alive = kgb_capture_alive(&trace.capture);
	pthread_mutex_unlock(&trace.window_mutex);
	return alive;
}

int kgb_trace_begin(uint32_t number)
{
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_callbacks(&err);

	if (status == 0 && !callbacks_come())
		status = kgb_fail(&err, KGB_ERR_FAILED, "window %u: callbacks were switched off",
				  number);
	if (status == 0) {
		pthread_mutex_lock(&trace.capture.mutex);
		status = kgb_tracer_begin(&trace.capture.tracer, number, &err);
		if (status == 0)
			atomic_store(&trace.capture.in_window, true);
		pthread_mutex_unlock(&trace.capture.mutex);
	}
	return result_of(status, &err);
}

int kgb_trace_end(void)
{
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_driver(&err);

	if (status == 0) {
		const bool alive = callbacks_come();
		struct kgb_tracer *tracer = &trace.capture.tracer;

		pthread_mutex_lock(&trace.capture.mutex);
		atomic_store(&trace.capture.in_window, false);
		if (!alive)
			kgb_recorder_break(&tracer->recorder, "callbacks were switched off");
		if (atomic_load(&tracer->captures) != 0)
			kgb_recorder_unsupported(&tracer->recorder, 0,
						 "stream capture that does not end");
		status = kgb_recorder_end(&tracer->recorder, &err);
		pthread_mutex_unlock(&trace.capture.mutex);
	}
	return result_of(status, &err);
}

/* ---- Launches that are only recorded ---- */

int kgb_trace_load(const void *image, uint64_t bytes, uint32_t *kernel)
{
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_driver(&err);

	if (status == 0) {
		pthread_mutex_lock(&trace.capture.mutex);
		*kernel = kgb_tracer_load_text(&trace.capture.tracer, image, bytes);
		pthread_mutex_unlock(&trace.capture.mutex);
	}
	return result_of(status, &err);
}

/* The driver's two names of the default stream are one stream in a record (handlers.c). */
static uint64_t stream_number(uint64_t stream)
{
	return stream == (uint64_t)(uintptr_t)CU_STREAM_LEGACY ? 0 : stream;
}

int kgb_trace_launch(uint32_t kernel, const char *name, const uint32_t grid[3], uint32_t n_threads,
		     uint64_t stream, const void *params, uint64_t bytes)
{
	const struct kgb_launch launch = {
		.grid = {grid[0], grid[1], grid[2]},
		.block = {n_threads, 1, 1},
		.params = params,
		.params_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.kernel = name,
	};
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_driver(&err);

	if (status == 0) {
		/* Places of addresses are asked of the driver. */
		kgb_capture_mute();
		pthread_mutex_lock(&trace.capture.mutex);
		kgb_tracer_launch_text(&trace.capture.tracer, stream_number(stream), kernel,
				       &launch);
		pthread_mutex_unlock(&trace.capture.mutex);
		kgb_capture_unmute();
	}
	return result_of(status, &err);
}

uint64_t kgb_trace_ops(void)
{
	pthread_mutex_lock(&trace.capture.mutex);
	const uint64_t n = trace.capture.tracer.recorder.n_window_ops;
	pthread_mutex_unlock(&trace.capture.mutex);
	return n;
}

int kgb_trace_move(uint64_t first, const char *name, uint64_t stream, const void *params,
		   uint64_t bytes)
{
	const struct kgb_launch launch = {
		.grid = {1, 1, 1},
		.block = {1, 1, 1},
		.params = params,
		.params_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.kernel = name,
	};
	struct kgb_tracer *tracer = &trace.capture.tracer;
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_driver(&err);

	if (status == 0) {
		kgb_capture_mute();
		pthread_mutex_lock(&trace.capture.mutex);
		if (first < tracer->recorder.n_window_ops)
			kgb_tracer_replace(tracer, stream_number(stream),
					   tracer->recorder.n_window_ops - first, &launch);
		pthread_mutex_unlock(&trace.capture.mutex);
		kgb_capture_unmute();
	}
	return result_of(status, &err);
}

/* ---- Memory ---- */

/* Our own calls are not recorded, and are fine while some stream captures. */
static CUstreamCaptureMode enter_memory(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	pthread_mutex_lock(&trace.memory_mutex);
	kgb_capture_mute();
	trace.cu->cuThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

static void leave_memory(CUstreamCaptureMode mode)
{
	trace.cu->cuThreadExchangeStreamCaptureMode(&mode);
	kgb_capture_unmute();
	pthread_mutex_unlock(&trace.memory_mutex);
}

/* A context, and with it the injection of this library. */
static int need_context(int device, struct kgb_err *err)
{
	const struct kgb_cuda *cu;
	CUcontext context = NULL;
	CUdevice handle = 0;
	CUresult result;

	if (need_driver(err))
		return -1;
	cu = trace.cu;
	result = cu->cuInit(0);
	if (result == CUDA_SUCCESS)
		result = cu->cuCtxGetCurrent(&context);
	if (result == CUDA_SUCCESS && !context) {
		result = cu->cuDeviceGet(&handle, device);
		if (result == CUDA_SUCCESS)
			result = cu->cuDevicePrimaryCtxRetain(&context, handle);
		if (result == CUDA_SUCCESS)
			result = cu->cuCtxSetCurrent(context);
	}
	if (result != CUDA_SUCCESS)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "GPU %d: %s", device,
				kgb_cuda_error_name(cu, result));
	return 0;
}

int kgb_trace_arena_map(uint64_t bytes, int device)
{
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_context(device, &err);

	if (status == 0) {
		const CUstreamCaptureMode mode = enter_memory();

		status = kgb_pool_arena_map(&trace.pool, bytes, device, &err);
		leave_memory(mode);
	}
	return result_of(status, &err);
}

static int check_arena(uint64_t offset, uint64_t bytes, struct kgb_err *err)
{
	const uint64_t mapped = trace.pool.arena_bytes;

	if (offset > mapped || bytes > mapped - offset)
		return kgb_fail(err, KGB_ERR_INVALID,
				"arena: %llu bytes at %llu are not in its %llu",
				(unsigned long long)bytes, (unsigned long long)offset,
				(unsigned long long)mapped);
	return 0;
}

/* Copy to the arena, or from it when `to` is not NULL. */
static int copy_arena(uint64_t offset, const void *from, void *to, uint64_t bytes)
{
	struct kgb_err err = KGB_ERR_INIT;
	int status = need_context(0, &err);

	if (status == 0) {
		const CUstreamCaptureMode mode = enter_memory();

		status = check_arena(offset, bytes, &err);
		if (status == 0 && bytes) {
			const CUdeviceptr arena = KGB_ARENA_ADDRESS + offset;
			const CUresult result = to ? trace.cu->cuMemcpyDtoH(to, arena, bytes)
						   : trace.cu->cuMemcpyHtoD(arena, from, bytes);

			if (result != CUDA_SUCCESS)
				status = kgb_fail(&err, KGB_ERR_FAILED, "arena: %s: %s",
						  to ? "read" : "write",
						  kgb_cuda_error_name(trace.cu, result));
		}
		leave_memory(mode);
	}
	return result_of(status, &err);
}

int kgb_trace_arena_write(uint64_t offset, const void *from, uint64_t bytes)
{
	return copy_arena(offset, from, NULL, bytes);
}

int kgb_trace_arena_read(uint64_t offset, void *to, uint64_t bytes)
{
	return copy_arena(offset, NULL, to, bytes);
}

void *kgb_trace_malloc(ssize_t bytes, int device, struct CUstream_st *stream)
{
	struct kgb_err err = KGB_ERR_INIT;
	struct kgb_tracer *tracer = &trace.capture.tracer;
	CUstreamCaptureMode mode;
	uint64_t address = 0;
	int status;

	if (bytes <= 0)
		return NULL;
	if (need_driver(&err)) {
		result_of(-1, &err);
		return NULL;
	}
	mode = enter_memory();
	status = kgb_pool_alloc(&trace.pool, (uint64_t)bytes, device, stream,
				atomic_load(&tracer->captures) != 0, &address, &err);
	pthread_mutex_lock(&trace.capture.mutex);
	if (status == 0)
		kgb_tracer_block(tracer, address, (uint64_t)bytes, false);
	else
		kgb_recorder_break(&tracer->recorder, "%s", err.msg);
	pthread_mutex_unlock(&trace.capture.mutex);
	leave_memory(mode);
	result_of(status, &err);
	return (void *)(uintptr_t)address;
}

void kgb_trace_free(void *block, ssize_t bytes, int device, struct CUstream_st *stream)
{
	struct kgb_err err = KGB_ERR_INIT;
	const uint64_t address = (uint64_t)(uintptr_t)block;
	CUstreamCaptureMode mode;
	bool gone = false;
	int status;

	(void)bytes;
	(void)device;
	if (!block || need_driver(&err))
		return;
	mode = enter_memory();
	status = kgb_pool_free(&trace.pool, address, stream, &gone, &err);
	pthread_mutex_lock(&trace.capture.mutex);
	if (gone)
		kgb_tracer_block_gone(&trace.capture.tracer, address, false);
	if (status)
		kgb_recorder_break(&trace.capture.tracer.recorder, "%s", err.msg);
	pthread_mutex_unlock(&trace.capture.mutex);
	leave_memory(mode);
	result_of(status, &err);
}

void kgb_trace_call(int keeps_apart)
{
	struct kgb_err err = KGB_ERR_INIT;

	if (need_driver(&err))
		return;
	pthread_mutex_lock(&trace.memory_mutex);
	trace.pool.call++;
	trace.pool.keeps_apart = keeps_apart != 0;
	pthread_mutex_unlock(&trace.memory_mutex);
}

void kgb_trace_poison(int byte)
{
	struct kgb_err err = KGB_ERR_INIT;

	if (need_driver(&err))
		return;
	pthread_mutex_lock(&trace.memory_mutex);
	trace.pool.poison = byte < 0 || byte > 255 ? -1 : byte;
	pthread_mutex_unlock(&trace.memory_mutex);
}
