/* SPDX-License-Identifier: MIT */
#include "verify/trace/handlers.h"

#include <string.h>

#include "base/mem.h"
#include "verify/trace/graph.h"
#include "verify/trace/watched.h"

#define PARAMS(function) const function##_params *p = call->params
/* A handler that is one statement. */
#define HANDLER(handler, function, ...)                         \
	static void handler(const struct kgb_driver_call *call) \
	{                                                       \
		PARAMS(function);                               \
		__VA_ARGS__;                                    \
	}

/* ---- Streams ---- */

/* As CU_STREAM_PER_THREAD, and the number of that stream in records. */
#define STREAM_PER_THREAD 2

static uint64_t stream_number(const struct kgb_driver_call *call, CUstream stream)
{
	const uint64_t number = (uint64_t)(uintptr_t)stream;

	if (number == 0)
		return call->per_thread ? STREAM_PER_THREAD : 0;
	return number == (uint64_t)(uintptr_t)CU_STREAM_LEGACY ? 0 : number;
}

/* Work on a capturing stream does not run; it becomes part of a graph. */
static bool capturing(const struct kgb_driver_call *call, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (atomic_load(&call->tracer->captures) == 0)
		return false;
	if (!stream && call->per_thread)
		stream = CU_STREAM_PER_THREAD;
	return call->tracer->cu->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void on_capture_begin(const struct kgb_driver_call *call)
{
	atomic_fetch_add(&call->tracer->captures, 1);
}

/* A capture that failed (results in the 900s) is over too; one that did not exist is not. */
static void on_capture_end(const struct kgb_driver_call *call)
{
	const bool over = call->result == CUDA_SUCCESS ||
			  (call->result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
			   call->result < CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);

	if (over && atomic_load(&call->tracer->captures) > 0)
		atomic_fetch_sub(&call->tracer->captures, 1);
}

/* ---- Launches ---- */

static void on_launch(const struct kgb_driver_call *call)
{
	PARAMS(cuLaunchKernel);
	const struct kgb_launch_request request = {
		.function = p->f,
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.shared_bytes = p->sharedMemBytes,
		.params = p->kernelParams,
		.extra = p->extra,
	};

	if (!capturing(call, p->hStream))
		kgb_tracer_launch(call->tracer, stream_number(call, p->hStream), &request);
}

static void on_launch_ex(const struct kgb_driver_call *call)
{
	PARAMS(cuLaunchKernelEx);
	const CUlaunchConfig *config = p->config;
	const struct kgb_launch_request request = {
		.function = p->f,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes,
		.params = p->kernelParams,
		.extra = p->extra,
		.attrs = config->attrs,
		.n_attrs = config->numAttrs,
	};

	if (!capturing(call, config->hStream))
		kgb_tracer_launch(call->tracer, stream_number(call, config->hStream), &request);
}

static void on_launch_cooperative(const struct kgb_driver_call *call)
{
	PARAMS(cuLaunchCooperativeKernel);
	CUlaunchAttribute attr;
	const struct kgb_launch_request request = {
		.function = p->f,
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.shared_bytes = p->sharedMemBytes,
		.params = p->kernelParams,
		.attrs = &attr,
		.n_attrs = 1,
	};

	memset(&attr, 0, sizeof(attr));
	attr.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	attr.value.cooperative = 1;
	if (!capturing(call, p->hStream))
		kgb_tracer_launch(call->tracer, stream_number(call, p->hStream), &request);
}

/* ---- Memsets ---- */

static void record_memset(const struct kgb_driver_call *call, CUstream stream,
			  const struct kgb_op *wanted)
{
	struct kgb_op op = *wanted;

	if (capturing(call, stream))
		return;
	op.kind = KGB_OP_MEMSET;
	op.stream = stream_number(call, stream);
	kgb_tracer_memset(call->tracer, &op, call->name);
}

/* One handler for each width of element, plain and 2-D, waiting and asynchronous. */
#define MEMSET(handler, function, field, size, stream)                          \
	static void handler(const struct kgb_driver_call *call)                 \
	{                                                                       \
		PARAMS(function);                                               \
		const struct kgb_op op = {                                      \
			.memset = {p->dstDevice, 0, p->N, 1, p->field, (size)}, \
		};                                                              \
                                                                                \
		record_memset(call, (stream), &op);                             \
	}
#define MEMSET_2D(handler, function, field, size, stream)                                    \
	static void handler(const struct kgb_driver_call *call)                              \
	{                                                                                    \
		PARAMS(function);                                                            \
		const struct kgb_op op = {                                                   \
			.memset = {p->dstDevice, p->dstPitch, p->Width, p->Height, p->field, \
				   (size)},                                                  \
		};                                                                           \
                                                                                             \
		record_memset(call, (stream), &op);                                          \
	}

MEMSET(on_memset_8, cuMemsetD8_v2, uc, 1, NULL)
MEMSET(on_memset_16, cuMemsetD16_v2, us, 2, NULL)
MEMSET(on_memset_32, cuMemsetD32_v2, ui, 4, NULL)
MEMSET(on_memset_8_async, cuMemsetD8Async, uc, 1, p->hStream)
MEMSET(on_memset_16_async, cuMemsetD16Async, us, 2, p->hStream)
MEMSET(on_memset_32_async, cuMemsetD32Async, ui, 4, p->hStream)
MEMSET_2D(on_memset_2d_8, cuMemsetD2D8_v2, uc, 1, NULL)
MEMSET_2D(on_memset_2d_16, cuMemsetD2D16_v2, us, 2, NULL)
MEMSET_2D(on_memset_2d_32, cuMemsetD2D32_v2, ui, 4, NULL)
MEMSET_2D(on_memset_2d_8_async, cuMemsetD2D8Async, uc, 1, p->hStream)
MEMSET_2D(on_memset_2d_16_async, cuMemsetD2D16Async, us, 2, p->hStream)
MEMSET_2D(on_memset_2d_32_async, cuMemsetD2D32Async, ui, 4, p->hStream)

/* ---- Copies ---- */

static void record_copy(const struct kgb_driver_call *call, CUstream stream, uint64_t dst,
			uint64_t src, uint64_t bytes)
{
	if (!capturing(call, stream))
		kgb_tracer_copy(call->tracer, stream_number(call, stream), dst, src, bytes,
				call->name);
}

#define COPY(handler, function, dst, src, stream)                                            \
	static void handler(const struct kgb_driver_call *call)                              \
	{                                                                                    \
		PARAMS(function);                                                            \
                                                                                             \
		record_copy(call, (stream), (uint64_t)(dst), (uint64_t)(src), p->ByteCount); \
	}

COPY(on_copy, cuMemcpy, p->dst, p->src, NULL)
COPY(on_copy_async, cuMemcpyAsync, p->dst, p->src, p->hStream)
COPY(on_copy_dd, cuMemcpyDtoD_v2, p->dstDevice, p->srcDevice, NULL)
COPY(on_copy_dd_async, cuMemcpyDtoDAsync_v2, p->dstDevice, p->srcDevice, p->hStream)
COPY(on_copy_hd, cuMemcpyHtoD_v2, p->dstDevice, (uintptr_t)p->srcHost, NULL)
COPY(on_copy_hd_async, cuMemcpyHtoDAsync_v2, p->dstDevice, (uintptr_t)p->srcHost, p->hStream)
COPY(on_copy_dh, cuMemcpyDtoH_v2, (uintptr_t)p->dstHost, p->srcDevice, NULL)
COPY(on_copy_dh_async, cuMemcpyDtoHAsync_v2, (uintptr_t)p->dstHost, p->srcDevice, p->hStream)

/* The address at which one side of a 2-D copy begins; false if it is in an array. */
static bool begin_of_side(CUmemorytype type, CUdeviceptr device, const void *host, size_t offset,
			  uint64_t *address)
{
	*address = (type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)host : device) + offset;
	return type != CU_MEMORYTYPE_ARRAY;
}

/* A 2-D copy whose rows lie one behind the other on both sides, as cuBLAS copies a vector. */
static void record_copy_2d(const struct kgb_driver_call *call, CUstream stream,
			   const CUDA_MEMCPY2D *copy)
{
	const size_t width = copy->WidthInBytes;
	const bool dense =
		copy->Height <= 1 || (copy->srcPitch == width && copy->dstPitch == width);
	uint64_t src, dst;

	if (dense &&
	    begin_of_side(copy->srcMemoryType, copy->srcDevice, copy->srcHost,
			  copy->srcY * copy->srcPitch + copy->srcXInBytes, &src) &&
	    begin_of_side(copy->dstMemoryType, copy->dstDevice, copy->dstHost,
			  copy->dstY * copy->dstPitch + copy->dstXInBytes, &dst))
		record_copy(call, stream, dst, src, width * copy->Height);
	else
		kgb_recorder_unsupported(&call->tracer->recorder, 0, call->name);
}

HANDLER(on_copy_2d, cuMemcpy2D_v2, record_copy_2d(call, NULL, p->pCopy))
HANDLER(on_copy_2d_unaligned, cuMemcpy2DUnaligned_v2, record_copy_2d(call, NULL, p->pCopy))
HANDLER(on_copy_2d_async, cuMemcpy2DAsync_v2, record_copy_2d(call, p->hStream, p->pCopy))

/* ---- Order between streams and the host ---- */

static void record_order(const struct kgb_driver_call *call, enum kgb_op_kind kind, CUstream stream,
			 CUevent event)
{
	const struct kgb_op op = {
		.kind = kind,
		.stream = stream_number(call, stream),
		.event = (uint64_t)(uintptr_t)event,
	};

	if (!capturing(call, stream))
		kgb_recorder_op(&call->tracer->recorder, &op);
}

HANDLER(on_event_record, cuEventRecord,
	record_order(call, KGB_OP_EVENT_RECORD, p->hStream, p->hEvent))
HANDLER(on_event_record_flags, cuEventRecordWithFlags,
	record_order(call, KGB_OP_EVENT_RECORD, p->hStream, p->hEvent))
HANDLER(on_event_wait, cuStreamWaitEvent,
	record_order(call, KGB_OP_EVENT_WAIT, p->hStream, p->hEvent))
HANDLER(on_stream_sync, cuStreamSynchronize, record_order(call, KGB_OP_SYNC, p->hStream, NULL))

static void on_sync(const struct kgb_driver_call *call)
{
	const struct kgb_op op = {.kind = KGB_OP_SYNC};

	kgb_recorder_op(&call->tracer->recorder, &op);
}

/* ---- Images and functions ---- */

static uint64_t number_of(const void *handle)
{
	return (uint64_t)(uintptr_t)handle;
}

/* The driver gives a handle out again: the facts kept for it describe the old image. */
static void forget_handle(struct kgb_tracer *tracer, uint64_t handle)
{
	const uint32_t id = kgb_images_unload(&tracer->images, handle);

	if (id)
		kgb_functions_forget(&tracer->functions, id);
}

static void load_image(const struct kgb_driver_call *call, uint64_t flag, const void *handle,
		       const void *image)
{
	forget_handle(call->tracer, number_of(handle));
	kgb_images_load(&call->tracer->images, flag, number_of(handle), image);
}

static void load_image_file(const struct kgb_driver_call *call, uint64_t flag, const void *handle,
			    const char *path)
{
	forget_handle(call->tracer, number_of(handle));
	kgb_images_load_file(&call->tracer->images, flag, number_of(handle), path);
}

HANDLER(on_module_file, cuModuleLoad, load_image_file(call, 0, *p->module, p->fname))
HANDLER(on_module_data, cuModuleLoadData, load_image(call, 0, *p->module, p->image))
HANDLER(on_module_data_ex, cuModuleLoadDataEx, load_image(call, 0, *p->module, p->image))
HANDLER(on_module_fatbin, cuModuleLoadFatBinary, load_image(call, 0, *p->module, p->fatCubin))
HANDLER(on_library_data, cuLibraryLoadData,
	load_image(call, KGB_IMAGE_IS_LIBRARY, *p->library, p->code))
HANDLER(on_library_file, cuLibraryLoadFromFile,
	load_image_file(call, KGB_IMAGE_IS_LIBRARY, *p->library, p->fileName))
HANDLER(on_module_unload, cuModuleUnload, forget_handle(call->tracer, number_of(p->hmod)))
HANDLER(on_library_unload, cuLibraryUnload, forget_handle(call->tracer, number_of(p->library)))

static void set_cache(const struct kgb_driver_call *call, uint64_t handle, CUfunc_cache cache)
{
	struct kgb_tracer *tracer = call->tracer;

	kgb_functions_get(&tracer->functions, tracer->cu, &tracer->images, handle)->cache = cache;
	kgb_functions_attribute_set(&tracer->functions);
}

HANDLER(on_function_cache, cuFuncSetCacheConfig, set_cache(call, number_of(p->hfunc), p->config))
HANDLER(on_kernel_cache, cuKernelSetCacheConfig, set_cache(call, number_of(p->kernel), p->config))

static void on_function_attribute(const struct kgb_driver_call *call)
{
	kgb_functions_attribute_set(&call->tracer->functions);
}

/* Variables of modules hold state that no plan restores. Asking for an address is harmless (the
 * CUDA runtime asks by itself), using it is not. The caller may have left out either result. */
static void on_module_global(const struct kgb_driver_call *call)
{
	PARAMS(cuModuleGetGlobal_v2);
	CUdeviceptr address = 0;
	size_t bytes = 0;

	if (call->tracer->cu->cuModuleGetGlobal(&address, &bytes, p->hmod, p->name) == CUDA_SUCCESS)
		kgb_address_table_put(&call->tracer->globals, address, bytes);
}

static void on_library_global(const struct kgb_driver_call *call)
{
	PARAMS(cuLibraryGetGlobal);
	CUdeviceptr address = 0;
	size_t bytes = 0;

	if (call->tracer->cu->cuLibraryGetGlobal(&address, &bytes, p->library, p->name) ==
	    CUDA_SUCCESS)
		kgb_address_table_put(&call->tracer->globals, address, bytes);
}

/* ---- Memory ---- */

/* In a stream capture an allocation or a free becomes part of a graph; it happens later. */
static void on_stream_block(const struct kgb_driver_call *call, CUstream stream, uint64_t address,
			    uint64_t bytes)
{
	if (capturing(call, stream))
		return;
	if (bytes)
		kgb_tracer_block(call->tracer, address, bytes, true);
	else
		kgb_tracer_block_gone(call->tracer, address, true);
}

HANDLER(on_alloc, cuMemAlloc_v2, kgb_tracer_block(call->tracer, *p->dptr, p->bytesize, true))
HANDLER(on_alloc_pitch, cuMemAllocPitch_v2,
	kgb_tracer_block(call->tracer, *p->dptr, *p->pPitch * p->Height, true))
HANDLER(on_alloc_async, cuMemAllocAsync, on_stream_block(call, p->hStream, *p->dptr, p->bytesize))
HANDLER(on_alloc_from_pool, cuMemAllocFromPoolAsync,
	on_stream_block(call, p->hStream, *p->dptr, p->bytesize))
HANDLER(on_free, cuMemFree_v2, kgb_tracer_block_gone(call->tracer, p->dptr, true))
HANDLER(on_free_async, cuMemFreeAsync, on_stream_block(call, p->hStream, p->dptr, 0))

/* Pages of the arena or the pool that other code maps or unmaps no longer hold the judge's data. */
static void guard_own_ranges(const struct kgb_driver_call *call, uint64_t address, uint64_t bytes)
{
	const uint64_t end = bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;

	if ((address < KGB_ARENA_ADDRESS + KGB_ARENA_SPAN && end > KGB_ARENA_ADDRESS) ||
	    (address < KGB_POOL_ADDRESS + KGB_POOL_BYTES && end > KGB_POOL_ADDRESS))
		kgb_tracer_stick(call->tracer, "mapping over the arena or the pool");
}

static void on_map(const struct kgb_driver_call *call)
{
	PARAMS(cuMemMap);

	guard_own_ranges(call, p->ptr, p->size);
	kgb_tracer_block(call->tracer, p->ptr, p->size, true);
}

static void on_unmap(const struct kgb_driver_call *call)
{
	PARAMS(cuMemUnmap);

	guard_own_ranges(call, p->ptr, p->size);
	kgb_address_table_drop_from(&call->tracer->foreign, p->ptr, p->size);
}

/* Numbers that were no host pointers before may be host pointers now. */
static void on_host_memory(const struct kgb_driver_call *call)
{
	kgb_address_table_release(&call->tracer->checked);
}

static void on_managed_memory(const struct kgb_driver_call *call)
{
	on_host_memory(call);
	kgb_recorder_unsupported(&call->tracer->recorder, 0, call->name);
}

/* ---- Graphs ---- */

/* The parameters of all variants begin with these two. */
HANDLER(on_instantiate, cuGraphInstantiate_v2,
	kgb_graphs_instantiate(call->tracer, *p->phGraphExec, p->hGraph))

static void on_graph_launch(const struct kgb_driver_call *call)
{
	PARAMS(cuGraphLaunch);

	if (!capturing(call, p->hStream))
		kgb_graphs_launch(call->tracer, p->hGraph, stream_number(call, p->hStream));
}

/* Every function that changes an executable graph has it as its first argument. */
HANDLER(on_graph_change, cuGraphExecDestroy,
	kgb_graphs_spoil(call->tracer, p->hGraphExec, "graph that was changed after it was made"))
HANDLER(on_graph_destroy, cuGraphExecDestroy, kgb_graphs_destroy(call->tracer, p->hGraphExec))

/* ---- What no replay can repeat ---- */

static void on_unsupported(const struct kgb_driver_call *call)
{
	kgb_recorder_unsupported(&call->tracer->recorder, 0, call->name);
}

/* Memory or a context that other processes can reach spoils later windows too. */
static void on_sticky(const struct kgb_driver_call *call)
{
	kgb_tracer_stick(call->tracer, call->name);
}

static void on_context_gone(const struct kgb_driver_call *call)
{
	kgb_functions_forget(&call->tracer->functions, 0);
	kgb_tracer_stick(call->tracer, call->name);
}

/* ---- The table ---- */

/* The names of the flags in watched.h. */
#define IN_WINDOW KGB_WATCH_IN_WINDOW
#define ON_ENTRY KGB_WATCH_ON_ENTRY
#define EVEN_FAILED KGB_WATCH_EVEN_FAILED
#define NEEDED KGB_WATCH_NEEDED
#define PER_THREAD KGB_WATCH_PER_THREAD

/* Pasted in place and not by another macro: cuda.h renames functions, and the old names have other
 * numbers. */
#define ROW(function, handler, flags) \
	{CUPTI_DRIVER_TRACE_CBID_##function, (flags), handler, #function},
#define ROW_PTSZ(function, handler, flags)                                                 \
	{CUPTI_DRIVER_TRACE_CBID_##function, (flags), handler, #function},                 \
		{CUPTI_DRIVER_TRACE_CBID_##function##_ptsz, (flags) | PER_THREAD, handler, \
		 #function},
#define ROW_PTDS(function, handler, flags)                                                 \
	{CUPTI_DRIVER_TRACE_CBID_##function, (flags), handler, #function},                 \
		{CUPTI_DRIVER_TRACE_CBID_##function##_ptds, (flags) | PER_THREAD, handler, \
		 #function},

static const struct kgb_watched rows[] = {KGB_WATCHED(ROW, ROW_PTSZ, ROW_PTDS)};

const struct kgb_watched *kgb_watched_rows(size_t *n)
{
	*n = KGB_ARRAY_LEN(rows);
	return rows;
}
