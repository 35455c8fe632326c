/* SPDX-License-Identifier: MIT */
#include "verify/trace/cpu/cpu_trace.h"

#include <stdio.h>
#include <string.h>

#include "verify/machine/slots.h"
#include "verify/protocol/cpu_image.h"
#include "verify/recorder/recorder.h"
#include "verify/trace/cpu/cpu_pool.h"

/* Torch's image has this handle; kernels count from 1. */
#define TORCH_HANDLE UINT64_MAX

/* The state of the library: one per process, for the life of the process. */
static struct {
	struct kgb_cpu_pool pool;
	uint64_t arena_bytes;
	struct kgb_images images;
	struct kgb_recorder recorder;
	KGB_VEC(struct kgb_machine_program *) kernels;
	struct kgb_machine_fault fault;
	struct kgb_err err;
} trace;

__attribute__((constructor)) static void start(void)
{
	kgb_cpu_pool_init(&trace.pool);
	kgb_recorder_init(&trace.recorder, &trace.images);
	kgb_images_put(&trace.images, 0, TORCH_HANDLE, KGB_CPU_IMAGE_TORCH,
		       strlen(KGB_CPU_IMAGE_TORCH));
}

static void forget_error(void)
{
	trace.err = (struct kgb_err)KGB_ERR_INIT;
}

const char *kgb_cpu_trace_status(void)
{
	return trace.err.msg;
}

static int result_of(int status)
{
	if (status == 0)
		return KGB_CPU_TRACE_OK;
	if (trace.fault.kind != KGB_MACHINE_NO_FAULT)
		return KGB_CPU_TRACE_FAULT;
	return trace.err.kind == KGB_ERR_NOT_FOUND ? KGB_CPU_TRACE_UNKNOWN : KGB_CPU_TRACE_FAILED;
}

/* ---- memory ---- */

void *kgb_cpu_trace_take(uint64_t bytes)
{
	uint64_t address;

	forget_error();
	if (kgb_cpu_pool_take(&trace.pool, bytes, &address, &trace.err) < 0)
		return NULL;
	kgb_recorder_block(&trace.recorder, address, bytes, false);
	return (void *)(uintptr_t)address;
}

int kgb_cpu_trace_give(void *block)
{
	forget_error();
	return kgb_cpu_pool_give(&trace.pool, (uint64_t)(uintptr_t)block, &trace.err);
}

void kgb_cpu_trace_poison(int byte)
{
	trace.pool.poison = byte;
}

void kgb_cpu_trace_arena(uint64_t bytes)
{
	trace.arena_bytes = bytes;
}

/* ---- windows ---- */

int kgb_cpu_trace_open(int fd, uint64_t max_bytes)
{
	forget_error();
	return kgb_recorder_open(&trace.recorder, fd, max_bytes, &trace.err);
}

int kgb_cpu_trace_begin(uint32_t number)
{
	forget_error();
	if (kgb_recorder_begin(&trace.recorder, number, &trace.err) < 0)
		return -1;
	kgb_recorder_live(&trace.recorder, &trace.pool.live, false);
	trace.pool.call++;
	trace.pool.keeps_apart = true;
	return 0;
}

int kgb_cpu_trace_end(void)
{
	forget_error();
	trace.pool.keeps_apart = false;
	return kgb_recorder_end(&trace.recorder, &trace.err);
}

/* ---- kernels ---- */

int kgb_cpu_trace_load(const void *bytes, uint64_t len, uint32_t *kernel)
{
	const struct kgb_image image = {.bytes = bytes, .len = len};
	struct kgb_cpu_image parts;
	struct kgb_machine_program *program = NULL;

	forget_error();
	trace.fault.kind = KGB_MACHINE_NO_FAULT;
	if (kgb_cpu_image_split(&image, &parts, &trace.err) < 0)
		return result_of(-1);
	if (parts.is_torch)
		return result_of(kgb_fail(&trace.err, KGB_ERR_INVALID, "torch's image"));
	if (kgb_machine_program_parse(&program, parts.module, parts.module_len, &trace.err) < 0)
		return result_of(-1);
	KGB_VEC_ADD(&trace.kernels, program);
	*kernel = (uint32_t)trace.kernels.n;
	kgb_images_put(&trace.images, 0, *kernel, bytes, len);
	return KGB_CPU_TRACE_OK;
}

static void record_launch(uint64_t handle, const struct kgb_launch *launch)
{
	struct kgb_op op = {.kind = KGB_OP_LAUNCH, .launch = *launch};

	op.launch.image = kgb_images_of(&trace.images, handle);
	op.launch.carveout = -1;
	if (op.launch.params_bytes > KGB_LAUNCH_PARAMS_MAX)
		kgb_recorder_unsupported(&trace.recorder, 0, "too many parameters");
	else
		kgb_recorder_op(&trace.recorder, &op);
}

/* The arena and all blocks, each at its own address. */
static uint32_t list_buffers(struct kgb_machine_buffer *out)
{
	uint32_t n = 0;

	for (uint64_t i = 0; trace.arena_bytes && i < KGB_ARENA_WINDOWS; i++) {
		const uint64_t window = kgb_arena_window_at(i);
		out[n++] = (struct kgb_machine_buffer){(void *)(uintptr_t)window, trace.arena_bytes,
						       window, true};
	}
	for (size_t i = 0; i < trace.pool.live.n; i++) {
		const struct kgb_entry *block = &trace.pool.live.items[i];
		out[n++] = (struct kgb_machine_buffer){(void *)(uintptr_t)block->key, block->value,
						       block->key, true};
	}
	return n;
}

/* NULL: there is none. */
static const struct kgb_machine_program *program_of(uint32_t kernel)
{
	if (kernel > 0 && kernel <= trace.kernels.n)
		return trace.kernels.items[kernel - 1];
	(void)kgb_fail(&trace.err, KGB_ERR_INVALID, "no kernel %u", kernel);
	return NULL;
}

int kgb_cpu_trace_launch(uint32_t kernel, const uint32_t grid[3], uint32_t n_threads,
			 const void *params, uint64_t bytes)
{
	forget_error();
	const struct kgb_machine_program *program = program_of(kernel);
	if (!program)
		return KGB_CPU_TRACE_FAILED;
	const struct kgb_launch launch = {
		.grid = {grid[0], grid[1], grid[2]},
		.block = {n_threads, 1, 1},
		.params = params,
		.params_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.kernel = kgb_machine_program_name(program),
	};
	record_launch(kernel, &launch);
	return KGB_CPU_TRACE_OK;
}

int kgb_cpu_trace_run(uint32_t kernel, const uint32_t grid[3], const void *params, uint64_t bytes,
		      uint64_t seed)
{
	forget_error();
	trace.fault.kind = KGB_MACHINE_NO_FAULT;
	const struct kgb_machine_program *program = program_of(kernel);
	if (!program)
		return KGB_CPU_TRACE_FAILED;
	KGB_AUTO(free)
	struct kgb_machine_buffer *buffers =
		kgb_xcalloc(trace.pool.live.n + KGB_ARENA_WINDOWS, sizeof(*buffers));
	struct kgb_machine_slots slots = KGB_MACHINE_SLOTS_INIT;

	if (kgb_machine_slots_read(&slots, program, params, bytes, &trace.err) < 0)
		return result_of(-1);
	struct kgb_machine_launch spec = {
		.buffers = buffers,
		.n_buffers = list_buffers(buffers),
		.arguments = slots.arguments,
		.n_arguments = kgb_machine_program_n_arguments(program),
		.seed = seed,
		.n_threads = 1, /* a jailed runner may start none */
	};
	memcpy(spec.grid, grid, sizeof(spec.grid));
	int rc = kgb_machine_run(program, &spec, &trace.fault, &trace.err);
	kgb_machine_slots_release(&slots);
	return result_of(rc);
}

int kgb_cpu_trace_fault_line(void)
{
	return trace.fault.kind == KGB_MACHINE_NO_FAULT ? 0 : trace.fault.kernel_line;
}

/* ---- torch ---- */

void kgb_cpu_trace_move(const char *kernel, const void *params, uint64_t bytes)
{
	const struct kgb_launch launch = {
		.grid = {1, 1, 1},
		.block = {1, 1, 1},
		.params = params,
		.params_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
		.kernel = kernel,
	};

	record_launch(TORCH_HANDLE, &launch);
}

void kgb_cpu_trace_upload(const void *dst, uint64_t bytes)
{
	const struct kgb_op op = {
		.kind = KGB_OP_UPLOAD,
		.upload = {.dst = (uint64_t)(uintptr_t)dst, .bytes = bytes, .data = dst},
	};

	kgb_recorder_op(&trace.recorder, &op);
}

void kgb_cpu_trace_download(const void *src, uint64_t bytes)
{
	const struct kgb_op op = {
		.kind = KGB_OP_DOWNLOAD,
		.download = {.src = (uint64_t)(uintptr_t)src, .bytes = bytes},
	};

	kgb_recorder_op(&trace.recorder, &op);
}

void kgb_cpu_trace_unsupported(const char *why)
{
	kgb_recorder_unsupported(&trace.recorder, 0, why);
}
