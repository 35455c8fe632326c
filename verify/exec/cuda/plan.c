/* SPDX-License-Identifier: MIT */
#include "verify/exec/cuda/plan.h"

#include "base/mem.h"
#include "verify/protocol/op_limits.h"

enum { PARAMS_ALIGN = 128, PARAMS_PADDING_MAX = 16 };

static int load_images(struct kgb_gpu_plan *plan, struct kgb_err *err)
{
	plan->images = kgb_xcalloc(plan->sent.record.n_images + 1, sizeof(struct kgb_loaded *));
	for (size_t i = 0; i < plan->sent.record.n_images; i++) {
		const struct kgb_image *image = &plan->sent.record.images[i];
		if (kgb_code_cache_take(plan->code, image->bytes, image->len, &plan->images[i],
					err))
			return kgb_ctx(err, "image %u", image->id);
		plan->n_images++;
	}
	return 0;
}

static int find_kernel(struct kgb_gpu_plan *plan, const struct kgb_launch *launch,
		       struct kgb_kernel **out, struct kgb_err *err)
{
	size_t image = 0;

	while (plan->sent.record.images[image].id != launch->image)
		image++;
	if (kgb_code_cache_kernel(plan->code, plan->images[image], launch->kernel, out, err))
		return kgb_ctx(err, "image %u", launch->image);
	return 0;
}

bool kgb_launch_has(const struct kgb_launch *launch, CUlaunchAttributeID id)
{
	for (uint32_t i = 0; i < launch->n_attrs; i++)
		if (launch->attrs[i].id == id)
			return true;
	return false;
}

static void copy_attrs(struct kgb_gpu_plan_launch *made, const struct kgb_launch *launch)
{
	made->attrs = kgb_xcalloc(launch->n_attrs + 1, sizeof(made->attrs[0]));
	for (uint32_t i = 0; i < launch->n_attrs; i++) {
		made->attrs[i].id = (CUlaunchAttributeID)launch->attrs[i].id;
		_Static_assert(sizeof(made->attrs[i].value) == sizeof(launch->attrs[i].value),
			       "attributes are copied whole");
		memcpy(&made->attrs[i].value, launch->attrs[i].value, sizeof(made->attrs[i].value));
	}
}

static int prepare_launch(struct kgb_gpu_plan *plan, const struct kgb_launch *launch,
			  struct kgb_gpu_plan_launch *made, struct kgb_err *err)
{
	if (find_kernel(plan, launch, &made->kernel, err))
		return -1;
	const struct kgb_kernel *kernel = made->kernel;
	/* A buffer may be padded to the alignment of its largest member. */
	if (launch->params_bytes < kernel->params_bytes ||
	    launch->params_bytes - kernel->params_bytes >= PARAMS_PADDING_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN,
				     "%u bytes of parameters, kernel '%.100s' takes %llu",
				     launch->params_bytes, kernel->name,
				     (unsigned long long)kernel->params_bytes);
	/* Align by hand: there is room for all of it at any start. */
	made->params = kgb_xcalloc(1, launch->params_bytes + 2 * (size_t)PARAMS_ALIGN);
	unsigned char *aligned =
		made->params + (-(uintptr_t)made->params & (uintptr_t)(PARAMS_ALIGN - 1));
	if (launch->params_bytes > 0)
		memcpy(aligned, launch->params, launch->params_bytes);
	made->pointers = kgb_xcalloc(kernel->n_params + 1, sizeof(made->pointers[0]));
	for (size_t i = 0; i < kernel->n_params; i++)
		made->pointers[i] = aligned + kernel->offsets[i];
	plan->params_bytes += launch->params_bytes;
	copy_attrs(made, launch);
	if (kgb_launch_has(launch, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION))
		kgb_code_cache_allow_clusters(plan->code, made->kernel);
	return kgb_code_cache_allow_shared(plan->code, made->kernel, launch->shared_bytes, err);
}

static int make_event(struct kgb_gpu_plan *plan, CUevent *out, struct kgb_err *err)
{
	return kgb_gpu_check(plan->gpu, plan->gpu->cu->cuEventCreate(out, CU_EVENT_DISABLE_TIMING),
			     KGB_EXEC_NO_MEMORY, err, "make an event");
}

static int find_stream(struct kgb_gpu_plan *plan, uint64_t number, size_t *out, struct kgb_err *err)
{
	for (*out = 0; *out < plan->n_streams; (*out)++)
		if (plan->stream_numbers[*out] == number)
			return 0;
	if (plan->n_streams == KGB_EXEC_STREAMS_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN, "more than %d streams",
				     KGB_EXEC_STREAMS_MAX);
	plan->stream_numbers[*out] = number;
	plan->n_streams++;
	if (make_event(plan, &plan->joins[*out], err))
		return -1;
	/* Our main stream takes the place of the first stream of a plan. */
	if (*out == 0) {
		plan->streams[0] = plan->gpu->stream;
		return 0;
	}
	return kgb_gpu_check(
		plan->gpu,
		plan->gpu->cu->cuStreamCreate(&plan->streams[*out], CU_STREAM_NON_BLOCKING),
		KGB_EXEC_NO_MEMORY, err, "make a stream");
}

/* Index of the event with that number; the number of events: none. */
static size_t find_event(const struct kgb_gpu_plan *plan, uint64_t number)
{
	size_t i = 0;

	while (i < plan->events.n && plan->events.items[i].number != number)
		i++;
	return i;
}

static int add_event(struct kgb_gpu_plan *plan, uint64_t number, size_t *out, struct kgb_err *err)
{
	struct kgb_gpu_plan_event made = {.number = number};

	*out = find_event(plan, number);
	if (*out < plan->events.n)
		return 0;
	if (plan->events.n == KGB_EXEC_EVENTS_MAX)
		return kgb_exec_fail(err, KGB_EXEC_BAD_PLAN, "more than %d events",
				     KGB_EXEC_EVENTS_MAX);
	if (make_event(plan, &made.event, err))
		return -1;
	KGB_VEC_ADD(&plan->events, made);
	return 0;
}

static int prepare_op(struct kgb_gpu_plan *plan, size_t i, struct kgb_err *err)
{
	const struct kgb_op *op = &plan->window->ops[i];
	struct kgb_gpu_plan_op *made = &plan->ops[i];

	if (find_stream(plan, op->stream, &made->stream, err))
		return -1;
	plan->n_activities += kgb_op_writes(op) || op->kind == KGB_OP_DOWNLOAD;
	if (op->kind == KGB_OP_LAUNCH)
		return prepare_launch(plan, &op->launch, &made->launch, err);
	if (op->kind == KGB_OP_EVENT_RECORD)
		return add_event(plan, op->event, &made->event, err);
	/* Skip the wait for an event from before the window: it has happened. */
	if (op->kind == KGB_OP_EVENT_WAIT) {
		made->event = find_event(plan, op->event);
		made->waits = made->event < plan->events.n;
	}
	return 0;
}

/* Payloads of uploads in pinned memory: a copy from other memory would make the host wait for the
 * stream, and the stream may wait for the host. */
static int pin_payloads(struct kgb_gpu_plan *plan, struct kgb_err *err)
{
	uint64_t download_bytes = 0;
	uint64_t at = 0;

	for (size_t i = 0; i < plan->window->n_ops; i++) {
		const struct kgb_op *op = &plan->window->ops[i];
		if (op->kind == KGB_OP_UPLOAD)
			plan->upload_bytes += op->upload.bytes;
		if (op->kind == KGB_OP_DOWNLOAD && op->download.bytes > download_bytes)
			download_bytes = op->download.bytes;
	}
	const uint64_t bytes = plan->upload_bytes + download_bytes;
	void *pinned = NULL;
	if (bytes == 0)
		return 0;
	if (kgb_gpu_check(plan->gpu, plan->gpu->cu->cuMemHostAlloc(&pinned, bytes, 0),
			  KGB_EXEC_NO_MEMORY, err, "%llu bytes of pinned memory",
			  (unsigned long long)bytes))
		return -1;
	plan->pinned = pinned;
	for (size_t i = 0; i < plan->window->n_ops; i++) {
		const struct kgb_op *op = &plan->window->ops[i];
		if (op->kind != KGB_OP_UPLOAD || op->upload.bytes == 0)
			continue;
		memcpy(plan->pinned + at, op->upload.data, op->upload.bytes);
		plan->ops[i].upload = plan->pinned + at;
		at += op->upload.bytes;
	}
	return 0;
}

static int prepare_ops(struct kgb_gpu_plan *plan, struct kgb_err *err)
{
	const size_t n = plan->window->n_ops;

	plan->ops = kgb_xcalloc(n + 1, sizeof(plan->ops[0]));
	for (size_t i = 0; i < n; i++)
		if (prepare_op(plan, i, err))
			return kgb_ctx(err, "op %zu (%s)", i,
				       kgb_op_kind_name(plan->window->ops[i].kind));
	return pin_payloads(plan, err);
}

int kgb_gpu_plan_load(struct kgb_gpu_plan *plan, struct kgb_device_memory *memory,
		      struct kgb_code_cache *code, int record_fd, struct kgb_err *err)
{
	*plan = (struct kgb_gpu_plan){.gpu = memory->gpu, .set = memory->set, .code = code};
	if (kgb_exec_plan_read(&plan->sent, record_fd, kgb_exec_check_image, err) == 0) {
		plan->window = plan->sent.window;
		if (kgb_device_memory_map_blocks(memory, &plan->sent.blocks, err) == 0 &&
		    load_images(plan, err) == 0 && prepare_ops(plan, err) == 0)
			return 0;
	}
	kgb_gpu_plan_release(plan);
	return -1;
}

void kgb_gpu_plan_let_move(struct kgb_gpu_plan *plan)
{
	plan->last_ns = 0;
	for (size_t i = 0; i < plan->n_images; i++)
		plan->images[i]->moves = true;
}

void kgb_gpu_plan_release(struct kgb_gpu_plan *plan)
{
	if (!plan->gpu)
		return;
	const struct kgb_cuda *cu = plan->gpu->cu;
	for (size_t i = 0; plan->ops && i < plan->window->n_ops; i++) {
		kgb_free(plan->ops[i].launch.params);
		kgb_free(plan->ops[i].launch.pointers);
		kgb_free(plan->ops[i].launch.attrs);
	}
	for (size_t i = 0; i < plan->n_streams; i++) {
		if (plan->joins[i])
			(void)cu->cuEventDestroy(plan->joins[i]);
		if (i > 0 && plan->streams[i])
			(void)cu->cuStreamDestroy(plan->streams[i]);
	}
	for (size_t i = 0; i < plan->events.n; i++)
		(void)cu->cuEventDestroy(plan->events.items[i].event);
	KGB_VEC_RELEASE(&plan->events);
	for (size_t i = 0; i < plan->n_images; i++)
		kgb_code_cache_give(plan->code, plan->images[i]);
	if (plan->pinned)
		(void)cu->cuMemFreeHost(plan->pinned);
	kgb_free(plan->ops);
	kgb_free(plan->images);
	kgb_exec_plan_release(&plan->sent);
	*plan = (struct kgb_gpu_plan){0};
}
