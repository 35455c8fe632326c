/* SPDX-License-Identifier: MIT */
/** \file
 * The driver functions that are watched; all others cost nothing. Each row: name, handler in
 * handlers.c, flags:
 *   IN_WINDOW    counts only while a window is open
 *   ON_ENTRY     handled before the driver acts, because what it names is gone afterwards
 *   EVEN_FAILED  handled also when the driver returns an error
 *   NEEDED       without it records would be wrong; the others only name what cannot be repeated,
 *                and an older CUPTI may lack such a function
 * X_PTSZ and X_PTDS: there is a second variant, whose default stream is the thread's own.
 */
#ifndef KGB_VERIFY_TRACE_WATCHED_H
#define KGB_VERIFY_TRACE_WATCHED_H

/* clang-format off */
#define KGB_WATCHED(X, X_PTSZ, X_PTDS) \
	/* Launches. */ \
	X_PTSZ(cuLaunchKernel, on_launch, IN_WINDOW | NEEDED) \
	X_PTSZ(cuLaunchKernelEx, on_launch_ex, IN_WINDOW | NEEDED) \
	X_PTSZ(cuLaunchCooperativeKernel, on_launch_cooperative, IN_WINDOW | NEEDED) \
	/* Memsets. */ \
	X_PTDS(cuMemsetD8_v2, on_memset_8, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemsetD16_v2, on_memset_16, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemsetD32_v2, on_memset_32, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemsetD8Async, on_memset_8_async, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemsetD16Async, on_memset_16_async, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemsetD32Async, on_memset_32_async, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemsetD2D8_v2, on_memset_2d_8, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemsetD2D16_v2, on_memset_2d_16, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemsetD2D32_v2, on_memset_2d_32, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemsetD2D8Async, on_memset_2d_8_async, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemsetD2D16Async, on_memset_2d_16_async, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemsetD2D32Async, on_memset_2d_32_async, IN_WINDOW | NEEDED) \
	/* Copies. Those without a direction in their name copy in any direction. */ \
	X_PTDS(cuMemcpy, on_copy, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemcpyAsync, on_copy_async, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemcpyDtoD_v2, on_copy_dd, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemcpyDtoDAsync_v2, on_copy_dd_async, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemcpyHtoD_v2, on_copy_hd, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemcpyHtoDAsync_v2, on_copy_hd_async, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemcpyDtoH_v2, on_copy_dh, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemcpyDtoHAsync_v2, on_copy_dh_async, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemcpy2D_v2, on_copy_2d, IN_WINDOW | NEEDED) \
	X_PTDS(cuMemcpy2DUnaligned_v2, on_copy_2d_unaligned, IN_WINDOW | NEEDED) \
	X_PTSZ(cuMemcpy2DAsync_v2, on_copy_2d_async, IN_WINDOW | NEEDED) \
	/* Order: events, waits of the host. */ \
	X_PTSZ(cuEventRecord, on_event_record, IN_WINDOW | NEEDED) \
	X_PTSZ(cuEventRecordWithFlags, on_event_record_flags, IN_WINDOW | NEEDED) \
	X_PTSZ(cuStreamWaitEvent, on_event_wait, IN_WINDOW | NEEDED) \
	X_PTSZ(cuStreamSynchronize, on_stream_sync, IN_WINDOW | NEEDED) \
	X(cuEventSynchronize, on_sync, IN_WINDOW | NEEDED) \
	X(cuCtxSynchronize, on_sync, IN_WINDOW | NEEDED) \
	X(cuCtxSynchronize_v2, on_sync, IN_WINDOW) \
	/* Captures and graphs. A change of an executable graph makes its recorded ops wrong. */ \
	X_PTSZ(cuStreamBeginCapture, on_capture_begin, NEEDED) \
	X_PTSZ(cuStreamBeginCapture_v2, on_capture_begin, NEEDED) \
	X_PTSZ(cuStreamBeginCaptureToGraph, on_capture_begin, NEEDED) \
	X_PTSZ(cuStreamEndCapture, on_capture_end, NEEDED | EVEN_FAILED) \
	X(cuGraphInstantiate, on_instantiate, NEEDED) \
	X(cuGraphInstantiate_v2, on_instantiate, NEEDED) \
	X(cuGraphInstantiateWithFlags, on_instantiate, NEEDED) \
	X_PTSZ(cuGraphInstantiateWithParams, on_instantiate, NEEDED) \
	X_PTSZ(cuGraphLaunch, on_graph_launch, IN_WINDOW | NEEDED) \
	X(cuGraphExecDestroy, on_graph_destroy, NEEDED | ON_ENTRY) \
	X(cuGraphExecKernelNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecKernelNodeSetParams_v2, on_graph_change, ON_ENTRY) \
	X(cuGraphExecMemcpyNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecMemsetNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecHostNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecChildGraphNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecEventRecordNodeSetEvent, on_graph_change, ON_ENTRY) \
	X(cuGraphExecEventWaitNodeSetEvent, on_graph_change, ON_ENTRY) \
	X(cuGraphExecExternalSemaphoresSignalNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecExternalSemaphoresWaitNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecBatchMemOpNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphExecNodeSetParams, on_graph_change, ON_ENTRY) \
	X(cuGraphNodeSetEnabled, on_graph_change, ON_ENTRY) \
	X(cuGraphExecUpdate, on_graph_change, ON_ENTRY) \
	X(cuGraphExecUpdate_v2, on_graph_change, ON_ENTRY) \
	/* Images, and attributes and variables of kernels. */ \
	X(cuModuleLoad, on_module_file, NEEDED) \
	X(cuModuleLoadData, on_module_data, NEEDED) \
	X(cuModuleLoadDataEx, on_module_data_ex, NEEDED) \
	X(cuModuleLoadFatBinary, on_module_fatbin, NEEDED) \
	X(cuLibraryLoadData, on_library_data, NEEDED) \
	X(cuLibraryLoadFromFile, on_library_file, NEEDED) \
	X(cuModuleUnload, on_module_unload, NEEDED | ON_ENTRY) \
	X(cuLibraryUnload, on_library_unload, NEEDED | ON_ENTRY) \
	X(cuFuncSetCacheConfig, on_function_cache, NEEDED) \
	X(cuKernelSetCacheConfig, on_kernel_cache, NEEDED) \
	X(cuFuncSetAttribute, on_function_attribute, NEEDED) \
	X(cuKernelSetAttribute, on_function_attribute, NEEDED) \
	X(cuModuleGetGlobal_v2, on_module_global, NEEDED) \
	X(cuLibraryGetGlobal, on_library_global, NEEDED) \
	/* Device memory outside our pool; memory of the host that kernels can reach. */ \
	X(cuMemAlloc_v2, on_alloc, NEEDED) \
	X(cuMemAllocPitch_v2, on_alloc_pitch, NEEDED) \
	X_PTSZ(cuMemAllocAsync, on_alloc_async, NEEDED) \
	X_PTSZ(cuMemAllocFromPoolAsync, on_alloc_from_pool, NEEDED) \
	X(cuMemFree_v2, on_free, NEEDED | ON_ENTRY) \
	X_PTSZ(cuMemFreeAsync, on_free_async, NEEDED | ON_ENTRY) \
	X(cuMemMap, on_map, NEEDED) \
	X(cuMemUnmap, on_unmap, NEEDED | ON_ENTRY) \
	X(cuMemAllocManaged, on_managed_memory, NEEDED) \
	X(cuLibraryGetManaged, on_managed_memory, NEEDED) \
	X(cuMemAllocHost_v2, on_host_memory, NEEDED) \
	X(cuMemHostAlloc, on_host_memory, NEEDED) \
	X(cuMemHostAlloc_v2, on_host_memory, 0) \
	X(cuMemHostRegister_v2, on_host_memory, NEEDED) \
	X(cuMemHostRegister, on_host_memory, NEEDED) \
	/* No replay can repeat these. */ \
	X(cuLaunch, on_unsupported, IN_WINDOW) \
	X(cuLaunchGrid, on_unsupported, IN_WINDOW) \
	X(cuLaunchGridAsync, on_unsupported, IN_WINDOW) \
	X(cuLaunchCooperativeKernelMultiDevice, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuLaunchHostFunc, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamAddCallback, on_unsupported, IN_WINDOW) \
	X(cuMemcpyHtoD, on_unsupported, IN_WINDOW) \
	X(cuMemcpyDtoH, on_unsupported, IN_WINDOW) \
	X(cuMemcpyDtoD, on_unsupported, IN_WINDOW) \
	X(cuMemcpyHtoDAsync, on_unsupported, IN_WINDOW) \
	X(cuMemcpyDtoHAsync, on_unsupported, IN_WINDOW) \
	X(cuMemcpyDtoDAsync, on_unsupported, IN_WINDOW) \
	X(cuMemcpyDtoA, on_unsupported, IN_WINDOW) \
	X(cuMemcpyAtoD, on_unsupported, IN_WINDOW) \
	X(cuMemcpyHtoA, on_unsupported, IN_WINDOW) \
	X(cuMemcpyAtoH, on_unsupported, IN_WINDOW) \
	X(cuMemcpyAtoA, on_unsupported, IN_WINDOW) \
	X(cuMemcpyHtoAAsync, on_unsupported, IN_WINDOW) \
	X(cuMemcpyAtoHAsync, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpyDtoA_v2, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpyAtoD_v2, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpyHtoA_v2, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpyAtoH_v2, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpyAtoA_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpyHtoAAsync_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpyAtoHAsync_v2, on_unsupported, IN_WINDOW) \
	X(cuMemcpy2D, on_unsupported, IN_WINDOW) \
	X(cuMemcpy2DUnaligned, on_unsupported, IN_WINDOW) \
	X(cuMemcpy2DAsync, on_unsupported, IN_WINDOW) \
	X(cuMemcpy3D, on_unsupported, IN_WINDOW) \
	X(cuMemcpy3DAsync, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpy3D_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpy3DAsync_v2, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpyPeer, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpyPeerAsync, on_unsupported, IN_WINDOW) \
	X_PTDS(cuMemcpy3DPeer, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpy3DPeerAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpyBatchAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpyBatchAsync_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpy3DBatchAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemcpy3DBatchAsync_v2, on_unsupported, IN_WINDOW) \
	X(cuMemsetD8, on_unsupported, IN_WINDOW) \
	X(cuMemsetD16, on_unsupported, IN_WINDOW) \
	X(cuMemsetD32, on_unsupported, IN_WINDOW) \
	X(cuMemsetD2D8, on_unsupported, IN_WINDOW) \
	X(cuMemsetD2D16, on_unsupported, IN_WINDOW) \
	X(cuMemsetD2D32, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWaitValue32, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWaitValue32_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWaitValue64, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWaitValue64_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWriteValue32, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWriteValue32_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWriteValue64, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamWriteValue64_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamBatchMemOp, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamBatchMemOp_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuSignalExternalSemaphoresAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuWaitExternalSemaphoresAsync, on_unsupported, IN_WINDOW) \
	X(cuCtxRecordEvent, on_unsupported, IN_WINDOW) \
	X(cuCtxWaitEvent, on_unsupported, IN_WINDOW) \
	X(cuGreenCtxRecordEvent, on_unsupported, IN_WINDOW) \
	X(cuGreenCtxWaitEvent, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemPrefetchAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemPrefetchAsync_v2, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemPrefetchBatchAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemDiscardBatchAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemDiscardAndPrefetchBatchAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemBatchDecompressAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuMemMapArrayAsync, on_unsupported, IN_WINDOW) \
	X_PTSZ(cuStreamAttachMemAsync, on_unsupported, IN_WINDOW) \
	/* After these no later window can be replayed. */ \
	X(cuCtxCreate, on_sticky, 0) \
	X(cuCtxCreate_v2, on_sticky, 0) \
	X(cuCtxCreate_v3, on_sticky, 0) \
	X(cuCtxCreate_v4, on_sticky, 0) \
	X(cuGreenCtxCreate, on_sticky, 0) \
	X(cuCtxEnablePeerAccess, on_sticky, 0) \
	X(cuMemPeerRegister, on_sticky, 0) \
	X(cuIpcGetMemHandle, on_sticky, 0) \
	X(cuIpcOpenMemHandle, on_sticky, 0) \
	X(cuIpcOpenMemHandle_v2, on_sticky, 0) \
	X(cuIpcGetEventHandle, on_sticky, 0) \
	X(cuIpcOpenEventHandle, on_sticky, 0) \
	X(cuMemExportToShareableHandle, on_sticky, 0) \
	X(cuMemImportFromShareableHandle, on_sticky, 0) \
	X(cuMemGetHandleForAddressRange, on_sticky, 0) \
	X(cuMemPoolExportToShareableHandle, on_sticky, 0) \
	X(cuMemPoolImportFromShareableHandle, on_sticky, 0) \
	X(cuMemPoolExportPointer, on_sticky, 0) \
	X(cuMemPoolImportPointer, on_sticky, 0) \
	X(cuImportExternalMemory, on_sticky, 0) \
	X(cuExternalMemoryGetMappedBuffer, on_sticky, 0) \
	X(cuImportExternalSemaphore, on_sticky, 0) \
	X(cuMulticastCreate, on_sticky, 0) \
	X(cuMulticastBindMem, on_sticky, 0) \
	X(cuMulticastBindAddr, on_sticky, 0) \
	X(cuTexObjectCreate, on_sticky, 0) \
	X(cuSurfObjectCreate, on_sticky, 0) \
	X(cuTexRefSetAddress_v2, on_sticky, 0) \
	X(cuTexRefSetAddress2D_v3, on_sticky, 0) \
	X(cuTexRefSetArray, on_sticky, 0) \
	X(cuSurfRefSetArray, on_sticky, 0) \
	X_PTSZ(cuGraphicsMapResources, on_sticky, 0) \
	X(cuEGLStreamConsumerConnect, on_sticky, 0) \
	X(cuEGLStreamProducerConnect, on_sticky, 0) \
	X(cuCheckpointProcessLock, on_sticky, 0) \
	X(cuCheckpointProcessCheckpoint, on_sticky, 0) \
	X(cuCheckpointProcessRestore, on_sticky, 0) \
	X(cuCtxDestroy, on_context_gone, 0) \
	X(cuCtxDestroy_v2, on_context_gone, 0) \
	X(cuDevicePrimaryCtxReset, on_context_gone, 0) \
	X(cuDevicePrimaryCtxReset_v2, on_context_gone, 0)
/* clang-format on */

#endif
